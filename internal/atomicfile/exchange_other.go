//go:build !linux && !darwin

package atomicfile

import "errors"

// Exchange gives each of two folders the name of the other, in one step, where the system
// can do that. Here it is errors.ErrUnsupported.
func Exchange(a, b string) error { return errors.ErrUnsupported }
