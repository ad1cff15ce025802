package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// The environment variables that make the test binary a second process: it
// publishes changes of the source of that label in the catalog at that path.
const (
	publisherPath  = "INDEX_TEST_PUBLISHER"
	publisherLabel = "INDEX_TEST_LABEL"
)

// publishChild is the work of such a process: versions of a source, each of which
// it publishes.
func publishChild(path string) error {
	ctx, label := context.Background(), os.Getenv(publisherLabel)
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	x := searchtest.Join(db, path, nil, nil)
	defer x.Close()
	for version := range 15 {
		if _, err := x.Sync(ctx, store.Source{Label: label, Root: "/" + label}, versionOf(label, version, 12).Refs()); err != nil {
			return err
		}
		if err := x.Publish(ctx, version%3 == 0); err != nil {
			return err
		}
		a, err := x.Search(ctx, search.Query{Text: "constant words", Limit: 100})
		if err != nil {
			return err
		}
		for _, h := range a.Hits {
			if h.Source == label && h.Description != describe(label, version) {
				return fmt.Errorf("%s published version %d and finds %q", label, version, h.Description)
			}
		}
	}
	return nil
}

func describe(label string, version int) string {
	return fmt.Sprintf("constant words of %s, version%d", label, version)
}

// versionOf returns n skills that all say which version they are.
func versionOf(label string, version, n int) searchtest.Tree {
	t := make(searchtest.Tree)
	for i := range n {
		name := fmt.Sprintf("%s-%02d", label, i)
		t[name] = searchtest.Skill(name, describe(label, version), fmt.Sprintf("body%d of number%d", version, i))
	}
	return t
}

// filesBeside returns how many snapshots lie beside the catalog, by suffix, and how
// many temporary files.
func filesBeside(t testing.TB, x *searchtest.Catalog) map[string]int {
	t.Helper()
	snapshots := regexp.MustCompile(`^[^.-]+-[0-9a-f]{8}-[0-9]+-[0-9a-f]+(\.base|\.delta)$`)
	m := make(map[string]int)
	for _, path := range beside(t, x.Path, "") {
		if parts := snapshots.FindStringSubmatch(strings.TrimPrefix(path, x.Path+".")); parts != nil {
			m[parts[1]]++
		} else if filepath.Ext(path) == atomicfile.Suffix {
			m[atomicfile.Suffix]++
		}
	}
	return m
}

// TestCurrentAfterFirstWalk: the first complete walk of a source is published
// also when it finds nothing new.
func TestCurrentAfterFirstWalk(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := store.Source{Label: "a", Root: "/a"}
	skills := searchtest.Many(3)
	searchtest.SyncSource(t, x, src, failing(skills.Refs(), errors.New("a folder could not be read")))
	searchtest.Publish(t, x, true)
	if x.Published(t.Context(), []store.Source{src}) {
		t.Error("the source has not been walked completely, and nobody knows")
	}
	searchtest.SyncSource(t, x, src, skills.Refs())
	searchtest.Publish(t, x, true)
	if !x.Published(t.Context(), []store.Source{src}) {
		t.Error("the source has been walked completely, and the published files do not say so")
	}
}

// TestTwoProcessesPublish: after two processes have published at the same time, the
// newest version is there, whole, with no more files than needed.
func TestTwoProcessesPublish(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	x := searchtest.Open(t, path, nil, nil)
	searchtest.SyncSource(t, x, store.Source{Label: "a", Root: "/a"}, versionOf("a", 0, 12).Refs())
	searchtest.SyncSource(t, x, store.Source{Label: "b", Root: "/b"}, versionOf("b", 0, 12).Refs())
	searchtest.Publish(t, x, true)
	var wg sync.WaitGroup
	for _, label := range []string{"a", "b"} {
		cmd := child(t, publisherPath+"="+path, publisherLabel+"="+label)
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !x.Published(t.Context(), []store.Source{{Label: "a", Root: "/a"}, {Label: "b", Root: "/b"}}) {
		t.Errorf("what is published cannot be used; there are %q", beside(t, path, ""))
	}
	for _, h := range searchtest.Ask(t, x, search.Query{Text: "constant words", Limit: 100}).Hits {
		if want := describe(h.Source, 14); h.Description != want {
			t.Errorf("%s is %q, want %q", h.ID, h.Description, want)
		}
	}
	if n := filesBeside(t, x); n[".base"] != 1 || n[".delta"] > 1 || n[atomicfile.Suffix] != 0 {
		t.Errorf("there are %v", n)
	}
}

// TestSameGenerationPublished: two processes compile one generation, one of them a
// base and the other a delta. One publishes, and the other adopts its files: neither
// sweeps what is published.
func TestSameGenerationPublished(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	path := filepath.Join(t.TempDir(), "catalog.db")
	x, y := searchtest.Open(t, path, nil, nil), searchtest.Open(t, path, nil, nil)
	for round := range testsize.Rounds(6, 15) {
		searchtest.Sync(t, x, "a", versionOf("a", round, index.Few+20).Refs())
		var wg sync.WaitGroup
		for z, merge := range map[*searchtest.Catalog]bool{x: true, y: false} {
			wg.Go(func() {
				if err := z.Publish(t.Context(), merge); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, ok := x.Directory().Published(generationOf(t, x)); !ok {
			t.Fatalf("round %d: what is published cannot be used; there are %q", round, beside(t, path, ""))
		}
	}
}

// outrun is a store in which something happens while its first View is under way.
type outrun struct {
	store.Store
	meanwhile func()
}

func (o *outrun) View(ctx context.Context, f func(store.Reader) error) error {
	return o.Store.View(ctx, func(r store.Reader) error {
		if do := o.meanwhile; do != nil {
			o.meanwhile = nil
			if _, err := r.State(ctx); err != nil { // from here on the view sees this state
				return err
			}
			do()
		}
		return f(r)
	})
}

// TestOutrunLeavesNothing: a process that is outrun by another removes what it compiled in
// vain.
func TestOutrunLeavesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	y := searchtest.Open(t, path, nil, nil)
	searchtest.Sync(t, y, "a", versionOf("a", 0, 12).Refs())
	searchtest.Publish(t, y, true)
	changed := func(version int) searchtest.Tree { // in one skill
		tree := versionOf("a", 0, 12)
		tree["a-07"] = versionOf("a", version, 12)["a-07"]
		return tree
	}
	searchtest.Sync(t, y, "a", changed(1).Refs())
	db, err := sqlite.Open(t.Context(), path, nil)
	must.Do(t, err)
	defer db.Close()
	x := searchtest.Join(&outrun{db, func() {
		searchtest.Sync(t, y, "a", changed(2).Refs())
		searchtest.Publish(t, y, false)
	}}, path, nil, nil)
	searchtest.Publish(t, x, false)
	defer x.Close()
	if n := filesBeside(t, x); n[".base"] != 1 || n[".delta"] != 1 {
		t.Errorf("there are %v, want a base and a delta", n)
	}
	if !x.Published(t.Context(), []store.Source{{Label: "a", Root: "/a"}}) {
		t.Error("what is published cannot be used")
	}
}

// TestMerged: changes stay in a delta until it takes too long to compile or makes
// scores too inexact.
func TestMerged(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	x := searchtest.New(t, nil)
	skills := versionOf("a", 0, 400)
	sync := func(want int, merge bool, what string) {
		t.Helper()
		searchtest.Sync(t, x, "a", skills.Refs())
		searchtest.Publish(t, x, merge)
		if n := filesBeside(t, x); n[".base"] != 1 || n[".delta"] != want {
			t.Errorf("%s: there are %v, want %d with a change", what, n, want)
		}
	}
	change := func(n, version int) {
		for i := range n {
			name := fmt.Sprintf("a-%02d", i)
			skills[name] = searchtest.Skill(name, describe("a", version), fmt.Sprintf("body%d of number%d", version, i))
		}
	}
	sync(0, true, "the first time")
	change(index.Few, 1)
	sync(1, true, "as many as the bound")
	change(index.Few+1, 2)
	sync(1, false, "one more, without merging")
	change(index.Few, 3)
	sync(0, true, "one more")
	skills["long"] = searchtest.Skill("long", "describes much", strings.Repeat("very long ", 5000))
	sync(0, false, "one that is longer than all others together")
	delete(skills, "long")
	sync(0, false, "and gone again")
	change(1, 4)
	sync(1, true, "one")
}

// TestSweep: files that nothing needs any more are removed; the files of others only
// after a day.
func TestSweep(t *testing.T) {
	t.Parallel()
	now := time.Now()
	path := filepath.Join(t.TempDir(), "catalog.db")
	opts := &searchtest.Options{Index: index.Options{Now: func() time.Time { return now }}}
	e := &searchtest.Embedder{}
	x, hybrid := searchtest.Open(t, path, nil, opts), searchtest.Open(t, path, e, nil)
	src := []store.Source{{Label: "a", Root: "/a"}}
	searchtest.Sync(t, x, "a", versionOf("a", 0, 10).Refs())
	searchtest.Embed(t, hybrid)
	searchtest.Publish(t, x, true)
	searchtest.Publish(t, hybrid, true)
	if !x.Published(t.Context(), src) || !hybrid.Published(t.Context(), src) {
		t.Error("two embedders do not publish side by side")
	}
	leave := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, path+"."+name)
			must.Do(t, os.WriteFile(path+"."+name, []byte("x"), 0o600))
		}
		return paths
	}
	gone := leave("former-0011aabb-3-f00.base", "former-0011aabb-4-f00.delta", "former-0011aabb-3.base")
	temp := leave("former-0011aabb-3-f00.base.123.tmp", "current.77.tmp")
	kept := leave("old.1234-0011aabb-3-f00.base", "mine", "a-b.base", "a-b-c.base", "a-b-c-d.base")
	there := func(paths []string, want bool, when string) {
		t.Helper()
		for _, p := range paths {
			if _, err := os.Stat(p); (err == nil) != want {
				t.Errorf("%s: %s is there: %v, want %v", when, filepath.Base(p), !want, want)
			}
		}
	}
	searchtest.Sync(t, x, "a", versionOf("a", 1, 10).Refs())
	searchtest.Publish(t, x, true)
	there(gone, false, "files of a former catalog")
	there(temp, true, "those that may be under way")
	if n := filesBeside(t, x); n[".base"] != 2 {
		t.Errorf("there are %v, want one base for each embedder", n)
	}
	if got := searchtest.Ask(t, hybrid, search.Query{Text: "version1"}).Hits; len(got) == 0 || got[0].Description != describe("a", 1) {
		t.Errorf("the other embedder finds %+v", got)
	}
	now = now.Add(24*time.Hour + time.Minute)
	searchtest.Sync(t, x, "a", versionOf("a", 2, 10).Refs())
	searchtest.Publish(t, x, true)
	there(temp, false, "files of a killed process")
	there(kept, true, "those that are not of this catalog")
	if n := filesBeside(t, x); n[".base"] != 1 || n[atomicfile.Suffix] != 0 {
		t.Errorf("after a day there are %v", n)
	}
	if got := searchtest.Ask(t, hybrid, search.Query{Text: "version2"}).Hits; len(got) == 0 || got[0].Description != describe("a", 2) {
		t.Errorf("the other embedder finds %+v, without its files", got)
	}
	searchtest.Embed(t, hybrid)
	searchtest.Publish(t, hybrid, true)
	if !hybrid.Published(t.Context(), src) {
		t.Error("the other embedder has not published again")
	}
}

// TestSearchWhilePublishing: every answer is of one version, and never of an older
// one than the answer before.
func TestSearchWhilePublishing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	writer := searchtest.Open(t, path, nil, nil)
	searchtest.Sync(t, writer, "a", versionOf("a", 0, 40).Refs())
	readers := []*searchtest.Catalog{writer, searchtest.Open(t, path, nil, nil), searchtest.Open(t, path, nil, &searchtest.Options{Index: index.Options{FTS5: true}})}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, x := range append(readers, readers[1]) {
		wg.Go(func() {
			last := 0
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				version, err := oneVersion(x, n%2 == 0)
				if err != nil || version < last {
					t.Errorf("version %d after %d, %v", version, last, err)
					return
				}
				last = version
			}
		})
	}
	versions := testsize.Rounds(6, 16)
	for version := 1; version <= versions; version++ {
		searchtest.Sync(t, writer, "a", versionOf("a", version, 40).Refs())
		searchtest.Publish(t, writer, version%4 == 0)
	}
	close(done)
	wg.Wait()
	for _, x := range readers {
		if version, err := oneVersion(x, true); version != versions || err != nil {
			t.Errorf("in the end there is version %d, %v", version, err)
		}
	}
}

// oneVersion returns the version of all skills that are found, or listed.
func oneVersion(x *searchtest.Catalog, find bool) (version int, err error) {
	var list []search.Entry
	if find {
		a, e := x.Search(context.Background(), search.Query{Text: "constant words", Limit: 100})
		for _, h := range a.Hits {
			list = append(list, h.Entry)
			list = append(list, h.Copies...)
		}
		err = e
	} else {
		list, err = x.List(context.Background(), nil, nil)
	}
	if err != nil || len(list) != 40 {
		return 0, fmt.Errorf("%d skills of 40: %w", len(list), err)
	}
	for i := range list {
		var v int
		if _, err := fmt.Sscanf(list[i].Description, "constant words of a, version%d", &v); err != nil || i > 0 && v != version {
			return 0, fmt.Errorf("%q beside version %d: %w", list[i].Description, version, err)
		}
		version = v
	}
	return version, nil
}

// TestPublishLeaksNothing: replaced snapshots are closed.
func TestPublishLeaksNothing(t *testing.T) {
	testsize.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("counts in /proc")
	}
	x := searchtest.New(t, nil)
	dir := filepath.Dir(x.Path)
	count := func() (maps, files, goroutines int) {
		data := must.Read(t, "/proc/self/maps")
		for line := range strings.Lines(data) {
			if strings.Contains(line, dir) && (strings.Contains(line, ".base") || strings.Contains(line, ".delta")) {
				maps++
			}
		}
		fds, err := os.ReadDir("/proc/self/fd")
		must.Do(t, err)
		return maps, len(fds), runtime.NumGoroutine()
	}
	step := func(version int) {
		searchtest.Sync(t, x, "a", versionOf("a", version, 5).Refs())
		searchtest.Ask(t, x, search.Query{Text: "version"}) // before the change is compiled
		searchtest.Publish(t, x, version%2 == 0)
		searchtest.Ask(t, x, search.Query{Text: "version"})
	}
	step(0)
	_, files, goroutines := count()
	for version := range 80 {
		step(version + 1)
	}
	maps, files2, goroutines2 := count()
	for goroutines2 > goroutines+4 { // goroutines of a transaction end a little after it, or the test times out
		runtime.Gosched()
		maps, files2, goroutines2 = count()
	}
	if maps > 2 || files2 > files+4 {
		t.Errorf("%d snapshots are mapped; %d open files, then %d", maps, files, files2)
	}
	must.Do(t, x.Close())
	if maps, _, _ := count(); maps != 0 {
		t.Errorf("%d snapshots are mapped after Close", maps)
	}
}

// TestDamagedSegmentShared: a search finds a file of a former view damaged, which the
// current view has too. The current view is replaced, and not left closed.
func TestDamagedSegmentShared(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Many(40).Refs())
	searchtest.Publish(t, x, true)
	former := current(t, x)
	searchtest.Sync(t, x, "b", versionOf("b", 1, 1).Refs())
	searchtest.Publish(t, x, true)
	if now := current(t, x); now == former || !now.Shares(former) {
		t.Fatal("the sets share no file")
	}
	x.Discard(former)
	for range 2 {
		if got := searchtest.Found(t, x, "topic3"); len(got) == 0 || got[0] != "skill-03" {
			t.Errorf("found %q", got)
		}
	}
	searchtest.Publish(t, x, true)
	if !current(t, x).Compiled {
		t.Error("the file was not made again")
	}
}

// current returns the current set.
func current(t testing.TB, x *searchtest.Catalog) *snapshot.Set {
	t.Helper()
	s, err := x.Current(t.Context())
	must.Do(t, err)
	return s
}
