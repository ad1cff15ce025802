package openai

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// checkConfig checks the settings other than the address, and fills in defaults.
func checkConfig(cfg *Config) error {
	switch {
	case cfg.Model == "":
		return errors.New("model is empty")
	case cfg.Encoding != "" && cfg.Encoding != "float" && cfg.Encoding != "base64":
		return fmt.Errorf("encoding %q is neither float nor base64", cfg.Encoding)
	case cfg.Dimensions < 0 || cfg.MaxBatch < 0 || cfg.MaxChars < 0 || cfg.Timeout < 0:
		return errors.New("the settings Dimensions, MaxBatch, MaxChars and Timeout must not be negative")
	}
	cfg.Encoding = cmp.Or(cfg.Encoding, "float")
	cfg.MaxBatch = cmp.Or(cfg.MaxBatch, 32)
	cfg.MaxChars = cmp.Or(cfg.MaxChars, 8000)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	return nil
}

// identity returns the identifier of the model. Its readable part is for people. The hash
// also covers how texts are prepared, and separates fields that the readable part may
// run together.
func identity(base string, e *Embedder) string {
	all := fmt.Sprintf("%q %q %d %q %q %d", base, e.model, e.dimensions, e.query, e.doc, e.maxChars)
	return fmt.Sprintf("openai %s %s dim=%d %.6x", base, e.model, e.dimensions, sha256.Sum256([]byte(all)))
}
