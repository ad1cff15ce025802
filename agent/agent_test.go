package agent

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
)

func TestNewRefuses(t *testing.T) {
	catalog := struct{ Catalog }{}
	for want, cfg := range map[string]Config{
		"Catalog is nil":       {},
		"MaxIterations is -1":  {Catalog: catalog, MaxIterations: -1},
		"not an absolute path": {Catalog: catalog, Workspace: sandbox.Workspace{Dir: "work"}},
	} {
		if a, err := New(cfg); a != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
	a, err := New(Config{Catalog: catalog})
	if err != nil || a.cfg.MaxIterations != DefaultIterations {
		t.Errorf("New: %v, %+v", err, a)
	}
}
