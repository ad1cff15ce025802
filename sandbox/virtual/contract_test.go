package virtual_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/sandboxtest"
	"github.com/repertoire-skills/repertoire/sandbox/virtual"
)

func TestContract(t *testing.T) {
	sandboxtest.Test(t, func(*testing.T) sandbox.Executor { return virtual.New(virtual.Options{}) }, sandboxtest.Options{Shell: true})
}
