package sandbox_test

import (
	"runtime"
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/sandboxtest"
)

func TestContractPlain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs scripts of sh, and links")
	}
	sandboxtest.Test(t, func(*testing.T) sandbox.Executor {
		return sandbox.NewPlain(sandbox.Options{AllowUnconfined: true})
	}, sandboxtest.Options{Unconfined: true})
}
