//go:build !linux

package proposal

import "errors"

// exchange is for systems that can do it in one step.
func exchange(a, b string) error { return errors.ErrUnsupported }
