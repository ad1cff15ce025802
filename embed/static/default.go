package static

import _ "embed" // for the weights

//go:embed model.bin
var builtin string

// Default returns the built-in embedder. It fails only if the program was built with
// broken weights.
func Default() (*Embedder, error) { return New(builtin) }
