package remote

import (
	"errors"
	"runtime"
)

// WriteState writes a state.
func WriteState(s *State, path string) error { return s.write(path) }

// Exchanges says whether this system exchanges two folders in one step.
const Exchanges = runtime.GOOS == "linux" || runtime.GOOS == "darwin"

// ParseIndex reads an index that was at a URL.
func ParseIndex(from string, data []byte) (*Site, error) {
	s := &Site{Index: from}
	return s, s.parse(data)
}

// SwapSlowly puts a folder in place as on a system that cannot exchange two folders.
func SwapSlowly(fresh, path string) error {
	return swapWith(func(a, b string) error { return errors.ErrUnsupported }, fresh, path)
}
