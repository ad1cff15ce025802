package executors_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/executors"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// TestNew: each name gives an executor, or an error that says what is missing.
func TestNew(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		name string
		o    executors.Options
		want string // in the error; "" means none
	}{
		{"plain", executors.Options{}, "--allow-unconfined"},
		{"plain", executors.Options{AllowUnconfined: true}, ""},
		{"plain", executors.Options{AllowUnconfined: true, Strict: true}, "strict"},
		{"bubblewrap", executors.Options{}, "install bubblewrap"},
		{"container", executors.Options{}, "install podman or docker"},
		{"container", executors.Options{Program: none}, "is not installed"},
		{"", executors.Options{AllowUnconfined: true}, ""},
		{"confind", executors.Options{}, "did you mean confined?"},
		{"Plain", executors.Options{AllowUnconfined: true}, "did you mean plain?"},
		{"x", executors.Options{}, "there are: confined, bubblewrap, container, plain"},
	} {
		e, err := executors.New(c.name, c.o)
		if c.want == "" {
			if e == nil || err != nil {
				t.Errorf("%q with %+v gives %v, %v", c.name, c.o, e, err)
			}
			continue
		}
		f, ok := errors.AsType[*sandbox.Error](err)
		if e != nil || !ok || f.Reason != sandbox.Unavailable || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "; ;") {
			t.Errorf("%q with %+v gives %v and the error %v, want %q", c.name, c.o, e, err, c.want)
		}
	}
}

// TestBest: without a name, commands run inside of walls, or not at all.
func TestBest(t *testing.T) {
	confined, missing := executors.New("confined", executors.Options{})
	best, err := executors.New("", executors.Options{})
	if (missing == nil) != (err == nil) || (confined == nil) != (best == nil) {
		t.Errorf("confined gives %v, %v, and the best executor %v, %v", confined, missing, best, err)
	}
	if missing != nil && !strings.Contains(err.Error(), "--allow-unconfined") {
		t.Errorf("the error is %v", err)
	}
}
