package index_test

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// childPath names the environment variable that makes the test binary sync
// childTree into the catalog at that path, as a second process.
const childPath = "INDEX_TEST_CHILD"

func TestMain(m *testing.M) {
	for name, work := range map[string]func(path string) error{
		childPath: syncChild, publisherPath: publishChild, tracedPath: tracedChild, unwritableDir: unwritableChild,
	} {
		if path := os.Getenv(name); path != "" {
			if err := work(path); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	testsize.Main(m)
}

// child returns a command that runs the test binary as a second process, with
// these variables.
func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must.Do(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// fallback returns the options of an index with that fallback embedder.
func fallback(e embed.Embedder) *searchtest.Options {
	return &searchtest.Options{Index: index.Options{Fallback: e}}
}

// mapped returns refs, each changed by f.
func mapped(refs iter.Seq2[*skill.Ref, error], f func(*skill.Ref)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range refs {
			if ref != nil {
				f(ref)
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

// failing returns refs and then an error.
func failing(refs iter.Seq2[*skill.Ref, error], err error) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range refs {
			if !yield(ref, err) {
				return
			}
		}
		yield(nil, err)
	}
}

func generationOf(t testing.TB, c *searchtest.Catalog) store.Generation {
	t.Helper()
	s, err := c.Store.State(t.Context())
	must.Do(t, err)
	return s.Generation
}

// beside returns the names of the files beside a catalog that end in the suffix.
func beside(t testing.TB, path, suffix string) []string {
	t.Helper()
	list, err := filepath.Glob(path + ".*" + suffix)
	must.Do(t, err)
	return list
}

// copyCatalog copies a catalog that is closed, with what is published of it.
func copyCatalog(t testing.TB, from, to string) {
	t.Helper()
	for _, name := range append(beside(t, from, ""), from) {
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(to+strings.TrimPrefix(name, from), data, 0o600)
		}
		must.Do(t, err)
	}
}

// dump writes down all that searches depend on, without row IDs and stamps:
// equal dumps are equal catalogs.
func dump(t testing.TB, c *searchtest.Catalog) string {
	t.Helper()
	entries, err := c.Store.Entries(t.Context(), nil)
	must.Do(t, err)
	var b strings.Builder
	names := map[int64]string{}
	terms := map[string]bool{}
	for i := range entries {
		names[entries[i].Row] = entries[i].Source + "/" + entries[i].Path
	}
	for _, e := range entries {
		s, ok, err := c.Store.Skill(t.Context(), e.Row)
		if err != nil || !ok {
			t.Fatalf("skill %s: %v, %v", e.Name, ok, err)
		}
		ranked, err := c.Store.Rankings(t.Context(), "", []int64{e.Row})
		must.Do(t, err)
		fmt.Fprintln(&b, names[e.Row], e.Name, e.Digest, e.Location, e.Refused, names[e.ShadowedBy], s.Body, s.Problems, ranked[e.Row])
		for _, term := range words.Terms(e.Name + " " + e.Description + " " + s.Body) {
			terms[term] = true
		}
	}
	counts, all, err := c.Store.(store.TextSearcher).Frequencies(t.Context(), slices.Collect(maps.Keys(terms)))
	must.Do(t, err)
	fmt.Fprintln(&b, all, counts) // maps print sorted
	return b.String()
}
