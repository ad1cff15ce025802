package contextprovider_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestManifest(t *testing.T) {
	team, dir := folder(t, "team", map[string]string{
		"pdf/SKILL.md":    doc("pdf", "Reads PDF files.", "Body.", "license: MIT"),
		"pdf/a/b.md":      "b",
		"shadow/SKILL.md": doc("twice", "Is one of two.", ""),
	})
	k := open(t, team, memory(t, "other", map[string]string{"twice/SKILL.md": doc("twice", "Is the other.", "")}))
	m, err := k.Manifest(t.Context(), "pdf", nil, true)
	must.Do(t, err)
	if m.ID != "pdf" || m.Name != "pdf" || m.Source != "team" || m.Description != "Reads PDF files." || m.Frontmatter["license"] != "MIT" || m.Stale {
		t.Errorf("%+v", m)
	}
	var paths []string
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	if !slices.Equal(paths, []string{"SKILL.md", "a/b.md"}) || m.Files[1].SHA256 == "" || m.Files[1].Size != 1 {
		t.Errorf("files %+v", m.Files)
	}
	must.Write(t, dir+"/pdf/c.md", "c")
	if m, err = k.Manifest(t.Context(), "pdf", nil, true); err != nil || !m.Stale || len(m.Files) != 3 {
		t.Errorf("changed: %+v, %v", m, err)
	}
	if _, err := k.Manifest(t.Context(), "other/twice", nil, true); !errors.Is(err, contextprovider.ErrUnpublishable) || !strings.Contains(err.Error(), "twice has its name") {
		t.Errorf("a shadowed copy: %v", err)
	}
	if _, err := k.Manifest(t.Context(), "nothing", nil, true); !errors.Is(err, skill.ErrNotFound) || errors.Is(err, contextprovider.ErrUnpublishable) {
		t.Errorf("no skill: %v", err)
	}
	if _, err := k.Manifest(t.Context(), "pdf", &search.Agent{Name: "a", Exclude: search.Rules{Names: []string{"pdf"}}}, true); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("outside of the scope: %v", err)
	}
}

// shifting is a reader of sources in which SKILL.md is gone once it was read.
type shifting struct{ reader }

func (r shifting) Instructions(ctx context.Context, e *search.Entry, digests bool) (contextprovider.Instructions, error) {
	in, err := r.reader.Instructions(ctx, e, digests)
	in.Files = slices.DeleteFunc(in.Files, func(f skill.File) bool { return f.Path == "SKILL.md" })
	return in, err
}

// TestManifestShifting: servers look for SKILL.md among the files.
func TestManifestShifting(t *testing.T) {
	src := memory(t, "team", map[string]string{"pdf/SKILL.md": doc("pdf", "Reads PDF files.", "Body."), "pdf/a.md": "a"})
	p := contextprovider.New(open(t, src).search, shifting{reader{"team": src}})
	if _, err := p.Manifest(t.Context(), "pdf", nil, false); !errors.Is(err, contextprovider.ErrUnpublishable) || !strings.Contains(err.Error(), "lists no SKILL.md") {
		t.Errorf("error %v", err)
	}
}
