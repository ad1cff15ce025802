package remote

import "runtime"

// WriteState writes a state.
func WriteState(s *State, path string) error { return s.write(path) }

// Exchanges says whether this system exchanges two folders in one step.
const Exchanges = runtime.GOOS == "linux" || runtime.GOOS == "darwin"
