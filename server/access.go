package server

import (
	"fmt"

	"refrain/lookup"
)

// access is who may use the API.
func (s *Server) access() (lookup.Access, error) {
	if len(s.cfg.Auth.Tokens) == 0 {
		return lookup.LoopbackOnly(), nil
	}
	tokens := make([]lookup.Token, len(s.cfg.Auth.Tokens))
	for i, t := range s.cfg.Auth.Tokens {
		secret, err := t.Token.Read()
		if err != nil {
			return nil, fmt.Errorf("configuration: auth.tokens[%d]: %w", i, err)
		}
		tokens[i] = lookup.Token{Name: t.Name, Token: secret}
		for _, scope := range t.Scopes {
			tokens[i].Scopes = append(tokens[i].Scopes, lookup.Scope(scope))
		}
	}
	return lookup.Tokens(tokens), nil
}
