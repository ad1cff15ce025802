package contextual

import _ "embed" // for the weights and what comes with them

// weights are the model, see MODEL.md.
//
//go:embed model.bin
var weights string

// extras are what cmd/skills-fit fitted to them.
//
//go:embed extras.bin
var extras string

// Default returns a new embedder for the built-in model.
func Default() (*Embedder, error) {
	e, err := New(weights)
	if err != nil {
		return nil, err
	}
	return e, e.SetExtras(extras)
}
