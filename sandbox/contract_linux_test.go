package sandbox_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/sandboxtest"
)

func TestConfinedContract(t *testing.T) {
	sandboxtest.Test(t, func(t *testing.T) sandbox.Executor {
		e, err := sandbox.New(sandbox.Options{})
		if err != nil {
			t.Skip(err) // it says what the kernel lacks
		}
		return e
	}, sandboxtest.Options{})
}
