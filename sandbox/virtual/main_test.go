package virtual

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

func TestMain(m *testing.M) {
	if runtime.GOOS == "windows" {
		fmt.Println("skipped: the virtual executor does not run on Windows")
		os.Exit(0)
	}
	os.Exit(m.Run())
}
