package server

import (
	"fmt"

	"refrain/api"
)

// access is who may use the API.
func (s *Server) access() (api.Access, error) {
	if len(s.cfg.Auth.Tokens) == 0 {
		return api.LoopbackOnly(s.cfg.Auth.Hosts...), nil
	}
	tokens := make([]api.Token, len(s.cfg.Auth.Tokens))
	for i, t := range s.cfg.Auth.Tokens {
		secret, err := t.Token.Read()
		if err != nil {
			return nil, fmt.Errorf("configuration: auth.tokens[%d]: %w", i, err)
		}
		tokens[i] = api.Token{Name: t.Name, Token: secret}
		for _, scope := range t.Scopes {
			tokens[i].Scopes = append(tokens[i].Scopes, api.Scope(scope))
		}
	}
	return api.Tokens(tokens), nil
}
