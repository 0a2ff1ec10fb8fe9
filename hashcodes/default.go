package hashcodes

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"
)

// defaultModel is made by lab/defaultmodel; default_vocabulary.txt lists its words.
//
//go:embed default.model
var defaultModel []byte

// Default returns the model that is part of the program: codes of common words of English, Chinese, Russian, Ukrainian,
// German, French and Spanish. Its description has the recipe, with what it was measured to be worth (docs/models.md).
var Default = sync.OnceValue(func() *Model {
	m, err := Read(bytes.NewReader(defaultModel))
	if err != nil {
		panic(fmt.Sprintf("default model: %v", err)) // the tests read it too
	}
	return m
})
