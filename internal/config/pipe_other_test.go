//go:build !unix

package config_test

import (
	"errors"
	"testing"
)

func makePipe(*testing.T, string) error { return errors.New("no pipes here") }
