package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestUnread: the commands say that a folder has not been read yet, once and in JSON.
func TestUnread(t *testing.T) {
	t.Parallel()
	files := func(label, name string) source.Source {
		s, err := source.Files(map[string]string{name + "/SKILL.md": "---\nname: " + name + "\ndescription: Bakes a " + name + ".\n---\nBake it.\n"}, &source.Options{Label: label})
		must.Do(t, err)
		return s
	}
	cfg := repertoire.Config{Sources: []source.Source{files("old", "cake")}}
	held := catalogtest.Half(t, &cfg, files("new", "pie"))
	opened, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { held.Release(); opened.Close() })

	const part = "part of the catalog: 1 folder has not been read yet"
	for name, ask := range map[string]func(s *session, c *catalog) error{
		"list": func(s *session, c *catalog) error { return new(listFlags).run(t.Context(), s, c, nil) },
		"show": func(s *session, c *catalog) error { return runShow(t.Context(), s, c, "cake", false) },
		"why": func(s *session, c *catalog) error {
			return runWhy(t.Context(), s, c, []string{"cake", "bake a cake"})
		},
	} {
		var out, errs bytes.Buffer
		s := newSession(env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, raw: &out})
		c := &catalog{Catalog: opened, session: s}
		must.Do(t, s.notePart(t.Context(), c))
		if err := ask(s, c); err != nil || strings.Count(errs.String(), part) != 1 {
			t.Errorf("%s: %v, %s", name, err, &errs)
		}
		out.Reset()
		s.json = true
		var got struct {
			Partial bool
			Unread  int
		}
		if err := ask(s, c); err != nil || json.Unmarshal(out.Bytes(), &got) != nil || !got.Partial || got.Unread != 1 {
			t.Errorf("%s --json: %v, %s", name, err, &out)
		}
		if err := ask(s, c); err != nil {
			t.Error(err)
		}
	}
	var errs bytes.Buffer
	s := newSession(env{stdin: strings.NewReader(""), stdout: &errs, stderr: &errs, raw: &errs})
	if err := runShow(t.Context(), s, &catalog{Catalog: opened, session: s}, "no-such-skill", false); err == nil || !strings.Contains(err.Error(), part+", so try again in a moment") {
		t.Errorf("show: %v", err)
	}
	held.Release()
	if err := runShow(t.Context(), s, &catalog{Catalog: opened, session: s}, "pie", false); err != nil || strings.Contains(errs.String(), "part of") {
		t.Errorf("show: %v, %s", err, &errs)
	}
}
