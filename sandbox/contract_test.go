package sandbox_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/sandboxtest"
)

func TestContractPlain(t *testing.T) {
	sandboxtest.Test(t, func(*testing.T) sandbox.Executor {
		return sandbox.NewPlain(sandbox.Options{AllowUnconfined: true})
	}, sandboxtest.Options{Unconfined: true})
}
