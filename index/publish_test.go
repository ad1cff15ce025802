package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/store"
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
	db, err := store.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	x := New(db, nil, nil)
	defer x.Close()
	for version := range 15 {
		if _, err := x.Sync(ctx, Source{Label: label, Root: "/" + label}, versionOf(label, version, 12).refs()); err != nil {
			return err
		}
		if err := x.Publish(ctx, version%3 == 0); err != nil {
			return err
		}
		a, err := x.Search(ctx, Query{Text: "constant words", Limit: 100})
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
func versionOf(label string, version, n int) tree {
	t := make(tree)
	for i := range n {
		name := fmt.Sprintf("%s-%02d", label, i)
		t[name] = newSkill(name, describe(label, version), fmt.Sprintf("body%d of number%d", version, i))
	}
	return t
}

// filesBeside returns the snapshots beside the catalog of x, by suffix.
func filesBeside(x *Index) map[string]int {
	m := make(map[string]int)
	for _, f := range x.beside() {
		m[f.suffix]++
	}
	return m
}

// publish compiles what the catalog holds.
func publish(t testing.TB, x *Index, merge bool) {
	t.Helper()
	if err := x.Publish(t.Context(), merge); err != nil {
		t.Fatal(err)
	}
}

// TestCurrentAfterFirstWalk: the first complete walk of a source is published
// also when it finds nothing new.
func TestCurrentAfterFirstWalk(t *testing.T) {
	x := newIndex(t, nil)
	src := Source{Label: "a", Root: "/a"}
	skills := manySkills(3)
	syncSource(t, x, src, failing(skills.refs(), errors.New("a folder could not be read")))
	publish(t, x, true)
	if x.Current([]Source{src}) {
		t.Error("the source has not been walked completely, and nobody knows")
	}
	syncSource(t, x, src, skills.refs())
	publish(t, x, true)
	if !x.Current([]Source{src}) {
		t.Error("the source has been walked completely, and the published files do not say so")
	}
}

// TestTwoProcessesPublish: what two processes publish at the same time is in the
// end the newest of both, whole, and no more files than needed.
func TestTwoProcessesPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	x := New(openDB(t, path), nil, nil)
	defer x.Close()
	syncSource(t, x, Source{Label: "a", Root: "/a"}, versionOf("a", 0, 12).refs())
	syncSource(t, x, Source{Label: "b", Root: "/b"}, versionOf("b", 0, 12).refs())
	publish(t, x, true)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, label := range []string{"a", "b"} {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), publisherPath+"="+path, publisherLabel+"="+label)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if x.manifest() == nil {
		t.Fatal("nothing is published")
	}
	if !x.Current([]Source{{Label: "a", Root: "/a"}, {Label: "b", Root: "/b"}}) {
		t.Errorf("what is published cannot be used: %+v; there are %+v", x.manifest(), x.beside())
	}
	for _, h := range search(t, x, Query{Text: "constant words", Limit: 100}).Hits {
		if want := describe(h.Source, 14); h.Description != want {
			t.Errorf("%s is %q, want %q", h.ID, h.Description, want)
		}
	}
	if n := filesBeside(x); n[baseSuffix] != 1 || n[deltaSuffix] > 1 || n[atomicfile.Suffix] != 0 {
		t.Errorf("there are %v", n)
	}
}

// TestSameGenerationPublished: of two who compile one generation, the one all of it
// and the other what changed, one publishes, and the other takes that for its
// own: neither sweeps what is published.
func TestSameGenerationPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector, and starts nothing that could race")
	}
	path := filepath.Join(t.TempDir(), "catalog.db")
	x, y := New(openDB(t, path), nil, nil), New(openDB(t, path), nil, nil)
	defer x.Close()
	defer y.Close()
	for round := range 15 {
		syncTree(t, x, "a", versionOf("a", round, few+20).refs())
		var wg sync.WaitGroup
		for z, merge := range map[*Index]bool{x: true, y: false} {
			wg.Go(func() {
				if err := z.Publish(t.Context(), merge); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, ok := x.published(generationOf(t, x)); !ok {
			t.Fatalf("round %d: what is published cannot be used: %+v; there are %+v", round, x.manifest(), x.beside())
		}
	}
}

// TestMerged: what changed stands beside what was compiled before until it is too
// much, for the time that it takes to compile or for the scores.
func TestMerged(t *testing.T) {
	x := newIndex(t, nil)
	skills := versionOf("a", 0, 400)
	sync := func(want int, merge bool, what string) {
		t.Helper()
		syncTree(t, x, "a", skills.refs())
		publish(t, x, merge)
		if n := filesBeside(x); n[baseSuffix] != 1 || n[deltaSuffix] != want {
			t.Errorf("%s: there are %v, want %d with a change", what, n, want)
		}
	}
	change := func(n, version int) {
		for i := range n {
			name := fmt.Sprintf("a-%02d", i)
			skills[name] = newSkill(name, describe("a", version), fmt.Sprintf("body%d of number%d", version, i))
		}
	}
	sync(0, true, "the first time")
	change(few, 1)
	sync(1, true, "as many as the bound")
	change(few+1, 2)
	sync(1, false, "one more, without merging")
	change(few, 3)
	sync(0, true, "one more")
	skills["long"] = newSkill("long", "describes much", strings.Repeat("very long ", 5000))
	sync(0, false, "one that is longer than all others together")
	delete(skills, "long")
	sync(0, false, "and gone again")
	change(1, 4)
	sync(1, true, "one")
}

// TestSweep: what nothing needs any more is removed, and that of others after a
// day.
func TestSweep(t *testing.T) {
	now := time.Now()
	path := filepath.Join(t.TempDir(), "catalog.db")
	opts := &Options{Now: func() time.Time { return now }}
	e := &fakeEmbedder{}
	x, hybrid := New(openDB(t, path), nil, opts), New(openDB(t, path), e, nil)
	defer x.Close()
	defer hybrid.Close()
	src := []Source{{Label: "a", Root: "/a"}}
	syncTree(t, x, "a", versionOf("a", 0, 10).refs())
	embedAll(t, hybrid)
	publish(t, x, true)
	publish(t, hybrid, true)
	if !x.Current(src) || !hybrid.Current(src) {
		t.Error("two embedders do not publish side by side")
	}
	leave := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, path+"."+name)
			if err := os.WriteFile(path+"."+name, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return paths
	}
	gone := leave("former-0011aabb-3.base", "former-0011aabb-4.delta")
	temp := leave("former-0011aabb-3.base.123.tmp", "current.77.tmp")
	kept := leave("old.1234-0011aabb-3.base", "mine", "a-b-c.base")
	there := func(paths []string, want bool, when string) {
		t.Helper()
		for _, p := range paths {
			if stamp(p).exists() != want {
				t.Errorf("%s: %s is there: %v, want %v", when, filepath.Base(p), !want, want)
			}
		}
	}
	syncTree(t, x, "a", versionOf("a", 1, 10).refs())
	publish(t, x, true)
	there(gone, false, "those of a former catalog")
	there(temp, true, "those that may be under way")
	if n := filesBeside(x); n[baseSuffix] != 2 {
		t.Errorf("there are %v, want one base for each embedder", n)
	}
	if got := search(t, hybrid, Query{Text: "version1"}).Hits; len(got) == 0 || got[0].Description != describe("a", 1) {
		t.Errorf("the other embedder finds %+v", got)
	}
	now = now.Add(abandoned + time.Minute)
	syncTree(t, x, "a", versionOf("a", 2, 10).refs())
	publish(t, x, true)
	there(temp, false, "those of a killed process")
	there(kept, true, "those that are not of this catalog")
	if n := filesBeside(x); n[baseSuffix] != 1 || n[atomicfile.Suffix] != 0 {
		t.Errorf("after a day there are %v", n)
	}
	if got := search(t, hybrid, Query{Text: "version2"}).Hits; len(got) == 0 || got[0].Description != describe("a", 2) {
		t.Errorf("the other embedder finds %+v, without its files", got)
	}
	embedAll(t, hybrid)
	publish(t, hybrid, true)
	if !hybrid.Current(src) {
		t.Error("the other embedder has not published again")
	}
}

// TestSearchWhilePublishing: every answer is of one version, and never of an older
// one than the answer before.
func TestSearchWhilePublishing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	writer := New(openDB(t, path), nil, nil)
	defer writer.Close()
	syncTree(t, writer, "a", versionOf("a", 0, 40).refs())
	readers := []*Index{writer, New(openDB(t, path), nil, nil), New(openDB(t, path), nil, &Options{FTS5: true})}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, x := range append(readers, readers[1]) {
		if x != writer {
			defer x.Close()
		}
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
	versions := 40
	if testing.Short() {
		versions = 8
	}
	for version := 1; version <= versions; version++ {
		syncTree(t, writer, "a", versionOf("a", version, 40).refs())
		publish(t, writer, version%4 == 0)
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
func oneVersion(x *Index, find bool) (version int, err error) {
	var list []Entry
	if find {
		a, e := x.Search(context.Background(), Query{Text: "constant words", Limit: 100})
		for _, h := range a.Hits {
			list = append(list, h.Entry)
			list = append(list, h.Copies...)
		}
		err = e
	} else {
		list, err = x.List(context.Background(), nil, false)
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

// TestPublishLeaksNothing: what is replaced is given up.
func TestPublishLeaksNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector, and starts nothing that could race")
	}
	if runtime.GOOS != "linux" {
		t.Skip("counts in /proc")
	}
	x := newIndex(t, nil)
	dir := filepath.Dir(x.db.Path())
	count := func() (maps, files, goroutines int) {
		data, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, dir) && (strings.Contains(line, baseSuffix) || strings.Contains(line, deltaSuffix)) {
				maps++
			}
		}
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return maps, len(fds), runtime.NumGoroutine()
	}
	step := func(version int) {
		syncTree(t, x, "a", versionOf("a", version, 5).refs())
		search(t, x, Query{Text: "version"}) // of what is not compiled yet
		publish(t, x, version%2 == 0)
		search(t, x, Query{Text: "version"})
	}
	step(0)
	_, files, goroutines := count()
	for version := range 200 {
		step(version + 1)
	}
	maps, files2, goroutines2 := count()
	for wait := 0; goroutines2 > goroutines+4 && wait < 500; wait++ {
		time.Sleep(10 * time.Millisecond) // those of a transaction end behind it
		maps, files2, goroutines2 = count()
	}
	if maps > 2 || files2 > files+4 || goroutines2 > goroutines+4 {
		t.Errorf("%d snapshots are mapped; %d open files, then %d; %d goroutines, then %d", maps, files, files2, goroutines, goroutines2)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if maps, _, _ := count(); maps != 0 {
		t.Errorf("%d snapshots are mapped after Close", maps)
	}
}

// TestDamagedSegmentShared: a search that finds the file of a former view damaged,
// while the present view has it too, does not leave that one closed.
func TestDamagedSegmentShared(t *testing.T) {
	x := newIndex(t, nil)
	syncTree(t, x, "a", manySkills(40).refs())
	publish(t, x, true)
	former := x.view.Load()
	syncTree(t, x, "b", versionOf("b", 1, 1).refs())
	publish(t, x, true)
	if now := x.view.Load(); len(now.segments) != 2 || !former.has(now.segments[0].Snapshot) {
		t.Fatal("the views share no file")
	}
	x.discard(former)
	for range 2 {
		if got := found(t, x, "topic3"); len(got) == 0 || got[0] != "skill-03" {
			t.Errorf("found %q", got)
		}
	}
	publish(t, x, true)
	if !x.view.Load().bodies {
		t.Error("the file was not made again")
	}
}
