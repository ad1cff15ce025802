package static

import _ "embed" // for the weights

//go:embed model.bin
var builtin string

// Default returns the built-in embedder. It fails only when the program was
// built with weights that are not a model.
func Default() (*Embedder, error) { return New(builtin) }
