package contextprovider_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// reader serves the files of real sources, by label.
type reader map[string]source.Source

func (r reader) Instructions(ctx context.Context, e *search.Entry, digests bool) (contextprovider.Instructions, error) {
	label, dir := e.Source, e.Dir()
	if digests {
		m, err := source.ReadManifest(ctx, r[label], dir)
		if err != nil {
			return contextprovider.Instructions{}, err
		}
		return contextprovider.Instructions{
			Content: contextprovider.Content{Data: m.Text, SHA256: m.TextDigest()}, Files: m.Files, Digest: m.Digest, Unserved: m.Unserved,
		}, nil
	}
	f, err := source.ReadInstructions(ctx, r[label], dir)
	if err != nil {
		return contextprovider.Instructions{}, err
	}
	l, err := r[label].List(ctx, dir)
	return contextprovider.Instructions{Content: contextprovider.Content{Data: f.Data, SHA256: f.SHA256}, Files: l.Files, Unserved: l.Unserved}, err
}

func (r reader) File(ctx context.Context, e *search.Entry, name string) (contextprovider.Content, error) {
	f, err := source.ReadFile(ctx, r[e.Source], e.Dir(), name)
	if err != nil {
		return contextprovider.Content{}, err
	}
	return contextprovider.Content{Data: f.Data, SHA256: f.SHA256, Binary: f.Binary}, nil
}

func (r reader) Watch(e *search.Entry) func() bool {
	_, t, _ := r[e.Source].Skill(e.Dir())
	return func() bool { return r[e.Source].Unchanged(t) }
}

// A kit is a provider over a real catalog.
type kit struct {
	*contextprovider.Provider
	index   *index.Index
	search  *search.Searcher
	sources []source.Source
}

// open indexes sources in a new catalog; the first has the highest priority.
func open(t testing.TB, sources ...source.Source) *kit {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"), nil)
	must.Do(t, err)
	t.Cleanup(func() { db.Close() })
	x := index.New(db, nil, nil)
	found, r := search.New(x, db, nil, nil), make(reader)
	for _, s := range sources {
		r[s.Info().Label] = s
	}
	k := &kit{contextprovider.New(found, r), x, found, sources}
	k.sync(t)
	return k
}

func (k *kit) sync(t testing.TB) {
	t.Helper()
	for i, s := range k.sources {
		at := store.Source{Label: s.Info().Label, Root: s.Info().Root, Priority: len(k.sources) - i}
		_, err := k.index.Sync(t.Context(), at, s.Skills(t.Context(), nil))
		must.Do(t, err)
	}
}

func (k *kit) block(t testing.TB, prompt string, b contextprovider.Budget, a *search.Agent) contextprovider.Block {
	t.Helper()
	block, err := k.Block(t.Context(), prompt, b, a)
	must.Do(t, err)
	return block
}

func (k *kit) body(t testing.TB, id string, a *search.Agent) contextprovider.Body {
	t.Helper()
	body, err := k.Body(t.Context(), id, a)
	must.Do(t, err)
	return body
}

// memory is a source of files in memory.
func memory(t testing.TB, label string, files map[string]string) *source.FS {
	t.Helper()
	s, err := source.Files(files, &source.Options{Label: label})
	must.Do(t, err)
	return s
}

// folder is a source of files on disk, with its path.
func folder(t testing.TB, label string, files map[string]string) (*source.FS, string) {
	t.Helper()
	dir := t.TempDir()
	must.Files(t, dir, files)
	s, err := source.Dir(dir, &source.Options{Label: label})
	must.Do(t, err)
	return s, dir
}

// everyday is a source of short ordinary skills, so that words have frequencies.
func everyday(t testing.TB) *source.FS {
	t.Helper()
	nouns := []string{"invoices", "recipes", "contracts", "slides", "letters", "charts", "photos", "songs"}
	files := make(map[string]string)
	for _, verb := range []string{"Sorts", "Prints", "Translates", "Checks", "Archives", "Signs"} {
		for _, noun := range nouns {
			name := strings.ToLower(verb) + "-" + noun
			files[name+"/SKILL.md"] = doc(name, verb+" "+noun+" for the office.", strings.Repeat("Look at all of the papers first, then ask who needs them and when.\n", 12))
		}
	}
	return memory(t, "everyday", files)
}

// doc is a SKILL.md; fields are further lines of its frontmatter.
func doc(name, description, body string, fields ...string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n%s---\n%s", name, description, lines(fields), body)
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

func names(hits []search.Hit) []string {
	var list []string
	for _, h := range hits {
		list = append(list, h.Name)
	}
	return list
}
