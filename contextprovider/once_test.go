package contextprovider_test

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A counter is a file system that counts how often each file is opened. With
// edit, every open finds another text in SKILL.md.
type counter struct {
	fstest.MapFS
	mu    sync.Mutex // guards what follows
	opens map[string]int
	edit  bool
	last  int
}

func (c *counter) Open(name string) (fs.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.MapFS[name]; f != nil {
		c.opens[name]++
		if c.last++; c.edit && strings.HasSuffix(name, "SKILL.md") {
			return fstest.MapFS{name: {Data: fmt.Appendf(nil, "%sEdit %d.\n", f.Data, c.last)}}.Open(name)
		}
	}
	return c.MapFS.Open(name)
}

// Stat and ReadDir, of which fs.FS has general forms, would count as opens.
func (c *counter) Stat(name string) (fs.FileInfo, error)      { return c.MapFS.Stat(name) }
func (c *counter) Lstat(name string) (fs.FileInfo, error)     { return c.MapFS.Lstat(name) }
func (c *counter) ReadDir(name string) ([]fs.DirEntry, error) { return c.MapFS.ReadDir(name) }

// Sub of MapFS would open files past the counter.
func (c *counter) Sub(dir string) (fs.FS, error) { return fs.Sub(withoutSub{c}, dir) }

// withoutSub is a counter that has no Sub, so that fs.Sub opens files through Open.
type withoutSub struct{ c *counter }

func (w withoutSub) Open(name string) (fs.File, error)          { return w.c.Open(name) }
func (w withoutSub) Stat(name string) (fs.FileInfo, error)      { return w.c.Stat(name) }
func (w withoutSub) Lstat(name string) (fs.FileInfo, error)     { return w.c.Lstat(name) }
func (w withoutSub) ReadLink(name string) (string, error)       { return w.c.ReadLink(name) }
func (w withoutSub) ReadDir(name string) ([]fs.DirEntry, error) { return w.c.ReadDir(name) }

func (c *counter) opened(f func()) map[string]int {
	c.opens = make(map[string]int)
	f()
	return c.opens
}
func (c *counter) source(t *testing.T, label string) *source.FS {
	s, err := source.New(c, &source.Options{Label: label})
	must.Do(t, err)
	return s
}

func counting() *counter {
	return &counter{opens: make(map[string]int), MapFS: fstest.MapFS{
		"pdf/SKILL.md":            {Data: []byte(doc("pdf", "Reads PDF files.", "Body.\n"))},
		"pdf/scripts/fill.py":     {Data: []byte("print()\n")},
		"pdf/references/forms.md": {Data: []byte("Forms.\n")},
		"pdf/assets/logo.png":     {Data: []byte("logo")},
		"pdf/notes.txt":           {Data: []byte("notes")},
	}}
}

// TestOpens: loading a skill opens its SKILL.md once and no other file; reading a
// file opens that one. Only what has the digests of all files opens them all.
func TestOpens(t *testing.T) {
	c := counting()
	k := open(t, c.source(t, "tools"))
	one := map[string]int{"pdf/SKILL.md": 1}
	all := make(map[string]int)
	for name := range c.MapFS {
		all[name] = 1
	}
	for _, tt := range []struct {
		name string
		do   func() error
		want map[string]int
	}{
		{"Body", func() error { _, err := k.Body(t.Context(), "pdf", nil); return err }, one},
		{"Outline", func() error { _, err := k.Manifest(t.Context(), "pdf", nil, false); return err }, one},
		{"Listing", func() error { _, err := k.Listing(t.Context(), "pdf", nil, false); return err }, one},
		{"File", func() error { _, err := k.File(t.Context(), "pdf", "notes.txt", nil); return err }, map[string]int{"pdf/notes.txt": 1}},
		{"Listing with digests", func() error { _, err := k.Listing(t.Context(), "pdf", nil, true); return err }, all},
		{"Manifest", func() error { _, err := k.Manifest(t.Context(), "pdf", nil, true); return err }, all},
	} {
		got := c.opened(func() { must.Do(t, tt.do()) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s opens (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestBodyOfOneRead: what is said of a text is said of its own bytes, also when
// the file changes at every look.
func TestBodyOfOneRead(t *testing.T) {
	c := counting()
	k := open(t, c.source(t, "tools"))
	c.edit = true
	first, second := k.body(t, "pdf", nil), k.body(t, "pdf", nil)
	if first.Text == second.Text || !first.Stale || !second.Stale {
		t.Fatalf("texts %q and %q, stale %t and %t", first.Text, second.Text, first.Stale, second.Stale)
	}
	m, err := k.Manifest(t.Context(), "pdf", nil, true)
	must.Do(t, err)
	if m.TextDigest == "" || m.TextDigest == sum(string(c.MapFS["pdf/SKILL.md"].Data)) {
		t.Errorf("digest %q", m.TextDigest)
	}
	for _, f := range m.Files {
		if f.Path == "SKILL.md" && f.SHA256 != m.TextDigest {
			t.Errorf("the manifest has %s for SKILL.md, its text %s", f.SHA256, m.TextDigest)
		}
	}
	c.edit = false
	if b := k.body(t, "pdf", nil); b.Stale || b.Text != string(c.MapFS["pdf/SKILL.md"].Data) {
		t.Errorf("as it was indexed: stale %t, text %q", b.Stale, b.Text)
	}
}

func TestListing(t *testing.T) {
	c := counting()
	k := open(t, c.source(t, "tools"))
	want := contextprovider.Listing{ID: "pdf", Folder: "tools:pdf", Files: []contextprovider.Resource{
		{Path: "SKILL.md", Kind: skill.Other, Size: int64(len(c.MapFS["pdf/SKILL.md"].Data))},
		{Path: "assets/logo.png", Kind: skill.Asset, Size: 4},
		{Path: "notes.txt", Kind: skill.Other, Size: 5},
		{Path: "references/forms.md", Kind: skill.Reference, Size: 7},
		{Path: "scripts/fill.py", Kind: skill.Script, Size: 8},
	}}
	got, err := k.Listing(t.Context(), "pdf", nil, false)
	must.Do(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without digests (-want +got)\n%s", diff)
	}
	for i, f := range want.Files {
		want.Files[i].SHA256 = sum(string(c.MapFS["pdf/"+f.Path].Data))
	}
	entry, err := k.search.Lookup(t.Context(), "pdf", nil)
	must.Do(t, err)
	want.Digest = entry.Digest
	got, err = k.Listing(t.Context(), "pdf", nil, true)
	must.Do(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with digests (-want +got)\n%s", diff)
	}
	if _, err := k.Listing(t.Context(), "nothing", nil, false); err == nil {
		t.Error("the files of no skill")
	}
}
