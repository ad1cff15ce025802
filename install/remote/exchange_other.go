//go:build !linux && !darwin

package remote

import "errors"

// exchange fails: the system cannot exchange two folders in one step.
func exchange(a, b string) error { return errors.ErrUnsupported }
