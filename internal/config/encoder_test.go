package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestContextualKey: which value holds, and what a wrong one says.
func TestContextualKey(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.yaml")
	for _, c := range []struct{ file, variable, want string }{
		{"", "", ""}, {"contextual: on", "", "on"}, {"contextual: on", "off", "off"}, {"", "auto", "auto"},
		{"contextual: yes", "", ":1: "}, {"", "maybe", "REPERTOIRE_CONTEXTUAL=maybe: use auto, on, off"},
	} {
		must.Write(t, name, c.file+"\n")
		t.Setenv("REPERTOIRE_CONTEXTUAL", c.variable)
		s, err := config.Read("", &config.Options{File: name})
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && s.Contextual != c.want {
			t.Errorf("%+v: %q, %v", c, s.Contextual, err)
		}
	}
}

// TestPace: the built-in encoder is used unless the machine turned out to be too slow for it
// within a day, and then only where the configuration says so. What was measured is measured no
// more.
func TestPace(t *testing.T) {
	own, err := contextual.Default()
	must.Do(t, err)
	now := time.Now().UTC()
	kept := func(model string, took int, at time.Time) string {
		return fmt.Sprintf(`{"model": %q, "processor": %q, "took_ms": %d, "taken": %q}`, model, contextual.Processor(), took, at.Format(time.RFC3339))
	}
	for name, c := range map[string]struct {
		file                 string
		embedder, contextual embed.Embedder
		slow, none           bool
	}{
		"fast":                        {file: kept(own.Model(), 7, now.AddDate(-1, 0, 0))},
		"slow":                        {file: kept(own.Model(), 61, now), slow: true, none: true},
		"configured":                  {file: kept(own.Model(), 61, now), contextual: own},
		"off":                         {file: kept(own.Model(), 7, now), contextual: embed.None{}, none: true},
		"no embedder":                 {embedder: embed.None{}, none: true},
		"no embedder, but an encoder": {embedder: embed.None{}, contextual: own},
		"a server":                    {file: kept(own.Model(), 7, now), embedder: new(embedtest.Fake)},
		"measured yesterday":          {file: kept(own.Model(), 61, now.Add(-25*time.Hour))},
		"another model":               {file: kept("other", 61, now)},
		"not measured":                {},
		"damaged":                     {file: "{"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("REPERTOIRE_CACHE", dir)
			file := filepath.Join(dir, "encoder.json")
			if c.file != "" {
				must.Write(t, file, c.file)
			}
			e, err := config.EmbeddingBy(c.embedder, c.contextual)
			must.Do(t, err)
			if (e.Slow != "") != c.slow || (e.Contextual == nil) != c.none {
				t.Errorf("encoder %v, slow %q", e.Contextual, e.Slow)
			}
			if c.none || c.contextual != nil {
				if slow := e.Measured().Slow; slow != e.Slow {
					t.Errorf("measured nevertheless: %q", slow)
				}
				return
			}
			slow := e.Measured().Slow // as this machine is
			again, err := config.EmbeddingBy(c.embedder, nil)
			must.Do(t, err)
			if again.Slow != slow || (again.Contextual == nil) != (slow != "") {
				t.Errorf("measured %q, kept %q", slow, again.Slow)
			}
			if data := must.Read(t, file); !strings.Contains(data, contextual.Processor()) {
				t.Errorf("kept: %s", data)
			}
		})
	}
}
