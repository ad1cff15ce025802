package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// edited returns the sources with other texts in some skills, different ones for
// each edition.
func edited(sources []searchtest.Source, edition string) []searchtest.Source {
	return replaced(sources, 0, func(i int, s *searchtest.Source) {
		if sk := s.Skills[i]; i < 3 {
			text := fmt.Sprintf("%s of number%d", edition, i)
			s.Skills[i] = searchtest.NewSkill(sk.Dir(), sk.Name, text, sk.Body+" "+text, sk.Tags...)
		}
	})
}

// lives opens the catalog at path, brings it in step, publishes and closes it.
func lives(t *testing.T, path string, e embed.Embedder, sources []searchtest.Source) {
	t.Helper()
	x := searchtest.Open(t, path, e, nil)
	searchtest.Fill(t, x, sources)
	searchtest.Publish(t, x, false)
	must.Do(t, errors.Join(x.Close(), x.Store.Close()))
}

// TestRolledBack: somebody restores an older copy of the database, and other changes
// take it to a generation that it once had before. The files that were published at
// that generation then still lie beside it, and must never be used.
func TestRolledBack(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	for name, e := range map[string]embed.Embedder{"text": nil, "vectors": &embedtest.Fake{}} {
		// Whether the base was published before the copy was taken, and whether the
		// manifest of the other life is there when the copy is back.
		for _, base := range []bool{false, true} {
			for _, manifest := range []bool{false, true} {
				if e != nil && base != manifest && testsize.Rounds(0, 1) == 0 {
					continue // without vectors there are all four
				}
				t.Run(fmt.Sprintf("%s, base %v, manifest %v", name, base, manifest), func(t *testing.T) {
					t.Parallel()
					testRolledBack(t, e, base, manifest)
				})
			}
		}
	}
}

func testRolledBack(t *testing.T, e embed.Embedder, base, manifest bool) {
	path, sources := filepath.Join(t.TempDir(), "catalog.db"), searchtest.Generate(30, 3)
	first := searchtest.Open(t, path, e, nil)
	searchtest.Fill(t, first, sources)
	if base {
		searchtest.Publish(t, first, false)
	}
	must.Do(t, errors.Join(first.Close(), first.Store.Close()))
	aside, err := os.ReadFile(path)
	must.Do(t, err)
	lives(t, path, e, edited(sources, "marsupials"))
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	must.Do(t, os.WriteFile(path, aside, 0o600))
	other := searchtest.Open(t, path, e, nil)
	if !manifest { // as if whoever restored the copy had removed it
		must.Do(t, os.Remove(path+".current"))
	}
	now := edited(sources, "crustaceans")
	searchtest.Fill(t, other, now)
	queries := append(searchtest.Queries(now, 5, testsize.Rounds(8, 12), nil), search.Query{Text: "marsupials"}, search.Query{Text: "crustaceans of number1"})
	want := truth(t, e, now)
	searchtest.Compare(t, want, other, queries)
	searchtest.Compare(t, want, searchtest.Open(t, path, e, nil), queries)
	searchtest.Publish(t, other, false)
	searchtest.Compare(t, want, other, queries)
	again := searchtest.Open(t, path, e, nil)
	if !again.Published(t.Context(), sourcesOf(now)) {
		t.Errorf("what is published cannot be used: %q", beside(t, path, ""))
	}
	searchtest.Compare(t, want, again, queries)
}

// TestReplaced: a new database lies beside the published files of a former one, and
// comes to the same generation. It uses none of these files.
func TestReplaced(t *testing.T) {
	t.Parallel()
	path, sources := filepath.Join(t.TempDir(), "catalog.db"), searchtest.Generate(30, 3)
	lives(t, path, nil, edited(sources, "marsupials"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	now := edited(sources, "crustaceans")
	x := searchtest.Open(t, path, nil, nil)
	searchtest.Fill(t, x, now)
	queries := append(searchtest.Queries(now, 5, 12, nil), search.Query{Text: "marsupials"}, search.Query{Text: "crustaceans of number1"})
	want := truth(t, nil, now)
	searchtest.Compare(t, want, x, queries)
	searchtest.Publish(t, x, false)
	searchtest.Compare(t, want, searchtest.Open(t, path, nil, nil), queries)
	if n := filesBeside(t, x); n[".base"] != 1 || n[".delta"] != 0 {
		t.Errorf("there are %v, want what was published last", n)
	}
}

// counting is a store that counts how often all texts are counted.
type counting struct {
	store.Store
	counts int
}

func (c *counting) Coverage(ctx context.Context, s store.Space, rows []int64) (texts, embedded int, err error) {
	if rows == nil {
		c.counts++
	}
	return c.Store.Coverage(ctx, s, rows)
}

// TestEmbedProgress: progress counts up to all texts, a batch at a time, and does
// not count what is embedded after each batch.
func TestEmbedProgress(t *testing.T) {
	t.Parallel()
	const n = 6 * index.EmbedBatch
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Many(n).Refs())
	st := &counting{Store: x.Store}
	y := searchtest.Over(t, st, "", &searchtest.Embedder{}, nil)
	var steps []int
	err := y.Embed(t.Context(), func(done, all int) {
		if steps = append(steps, done); all != n {
			t.Errorf("%d texts, want %d", all, n)
		}
	})
	want := []int{32, 64, 96, 128, 160, 192}
	if err != nil || !slices.Equal(steps, want) {
		t.Errorf("progress %v, %v; want %v", steps, err, want)
	}
	if st.counts > 2 { // at first and at last
		t.Errorf("all texts were counted %d times in %d batches", st.counts, len(steps))
	}
	searchtest.Embed(t, y)
	if st.counts > 2 {
		t.Errorf("all texts were counted again, although nothing has changed: %d times", st.counts)
	}
}

// TestAnswersWithoutDatabase: what is published answers prompts, lists and looks up
// when the database cannot be opened, also prompts whose hits are copies of each other.
func TestAnswersWithoutDatabase(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]embed.Embedder{"text": nil, "vectors": &embedtest.Fake{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, sources := filepath.Join(t.TempDir(), "catalog.db"), searchtest.Generate(60, 4)
			lives(t, path, e, sources)
			sources = edited(sources, "crustaceans") // a delta beside the base
			lives(t, path, e, sources)
			whole := searchtest.Open(t, path, e, nil)
			queries := append(searchtest.Queries(sources, 9, 40, searchtest.Agents()[:2]), copied(t, whole, sources)...)
			want := answers(t, whole, queries)
			list, err := whole.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
			must.Do(t, err)
			must.Do(t, errors.Join(whole.Close(), whole.Store.Close(), os.Remove(path+".lock"), os.Mkdir(path+".lock", 0o700)))
			db := sqlite.Defer(path, nil)
			defer db.Close()
			x := searchtest.Over(t, db, path, e, nil)
			if !x.Published(t.Context(), sourcesOf(sources)) {
				t.Fatal("what is published is not current")
			}
			for i, a := range answers(t, x, queries) {
				if diff := searchtest.Differ(want[i], a, 10); diff != "" {
					t.Errorf("%.60q: %s", queries[i].Text, diff)
				}
			}
			got, err := x.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
			if err != nil || len(got) != len(list) {
				t.Errorf("lists %d skills, %v; want %d", len(got), err, len(list))
			}
			for i := range list {
				if found, err := x.Lookup(t.Context(), list[i].ID, nil); err != nil || found.Digest != list[i].Digest {
					t.Errorf("looking up %s: %s, %v", list[i].ID, found.ID, err)
				}
			}
			if err := db.Ready(t.Context()); err == nil {
				t.Error("the database can be opened: the test proves nothing")
			}
		})
	}
}

// copied returns queries whose hits have copies.
func copied(t *testing.T, x *searchtest.Catalog, sources []searchtest.Source) (list []search.Query) {
	t.Helper()
	for _, s := range sources[1].Skills {
		q := search.Query{Text: "please " + s.Description}
		if slices.ContainsFunc(searchtest.Ask(t, x, q).Hits, func(h search.Hit) bool { return len(h.Copies) > 0 }) {
			list = append(list, q)
		}
	}
	if len(list) < 2 {
		t.Fatalf("only %d queries hit copies", len(list))
	}
	return list
}
