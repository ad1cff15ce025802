package remote_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
)

// packed returns a tar of files.
func packed(t *testing.T, files map[string]string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must.Do(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := io.WriteString(w, files[name])
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// An archiveServer serves files as one archive, or a page in its place.
type archiveServer struct {
	mu    sync.Mutex
	files map[string]string
	page  string
	asked int
	url   string
}

func serveArchive(t *testing.T, files map[string]string) *archiveServer {
	a := &archiveServer{files: maps.Clone(files)}
	a.url = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.asked++; a.page != "" {
			http.Error(w, a.page, http.StatusServiceUnavailable)
			return
		}
		w.Write(packed(t, a.files))
	}) + "/skills.tar"
	return a
}

func (a *archiveServer) change(act func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	act()
}

func open(t *testing.T, r remote.Root) *remote.Source {
	t.Helper()
	s, err := source.Dir(r.Path, &source.Options{Label: r.Label, Kind: source.KindRoot})
	must.Do(t, err)
	return remote.Wrap(s, r)
}

func (a *archiveServer) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func rootOf(t *testing.T) remote.Root {
	return remote.Root{Path: filepath.Join(t.TempDir(), "roots", "team-1a2b3c4d"), Label: "team"}
}

func fetch(t *testing.T, r remote.Root, want bool) *remote.State {
	t.Helper()
	changed, err := remote.Fetch(t.Context(), r)
	must.Do(t, err)
	s := state(t, r)
	if changed != want || s.Error != "" || s.FetchedAt.IsZero() || !s.FetchedAt.Equal(s.TriedAt) {
		t.Errorf("changed is %v; state %+v", changed, s)
	}
	return s
}

func state(t *testing.T, r remote.Root) *remote.State {
	t.Helper()
	s, err := remote.ReadState(r.Path)
	must.Do(t, err)
	return s
}

// fails fetches a root that cannot be fetched, and checks that nothing changes.
func fails(t *testing.T, r remote.Root, want string) *remote.State {
	t.Helper()
	var before map[string]string
	if _, err := os.Stat(r.Path); err == nil {
		before = tree(t, r.Path)
	}
	changed, err := remote.Fetch(t.Context(), r)
	if changed || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("changed is %v: %v, want %q", changed, err, want)
	}
	var after map[string]string
	if _, err := os.Stat(r.Path); err == nil {
		after = tree(t, r.Path)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the folder changed:\n%s", diff)
	}
	if _, err := os.Lstat(r.Path + ".new"); err == nil {
		t.Error("what was fetched is left")
	}
	s := state(t, r)
	if !strings.Contains(s.Error, want) || s.FailedSince.IsZero() {
		t.Errorf("state %+v", s)
	}
	return s
}

// TestSource: the source of a fetched root keeps the contract of sources, through changes on
// the server too.
func TestSource(t *testing.T) {
	sourcetest.TestSource(t, func(t *testing.T, files map[string]string) sourcetest.Store {
		a := serveArchive(t, files)
		r := rootOf(t)
		r.URL = a.url
		fetch(t, r, true)
		return sourcetest.Store{
			Source: open(t, r),
			Put: func(t *testing.T, name, text string) {
				a.change(func() { a.files[name] = text })
				fetch(t, r, true)
			},
			Remove: func(t *testing.T, name string) {
				a.change(func() { delete(a.files, name) })
				fetch(t, r, true)
			},
		}
	})
}

// TestArchive: an archive is unpacked when its content is new, and a failure leaves
// everything as it was, and says since when.
func TestArchive(t *testing.T) {
	a := serveArchive(t, map[string]string{"pdf/SKILL.md": doc("pdf", "One."), "README.md": "x"})
	r := rootOf(t)
	r.URL = a.url
	fetch(t, r, true)
	fetch(t, r, false)
	a.change(func() { a.files["pdf/SKILL.md"] = doc("pdf", "Two.") })
	first := fetch(t, r, true)
	if got := tree(t, r.Path); got["pdf/SKILL.md"] != doc("pdf", "Two.") || len(got) != 1 {
		t.Errorf("got %v", got)
	}
	a.change(func() { a.page = "down" })
	s := fails(t, r, "503 Service Unavailable")
	if s.Digest != first.Digest || !s.FetchedAt.Equal(first.FetchedAt) {
		t.Errorf("%+v, before %+v", s, first)
	}
	since := s.FailedSince
	if s := fails(t, r, "503"); !s.FailedSince.Equal(since) || !strings.Contains(s.Problem(), "could not be fetched since") {
		t.Errorf("%+v: %s", s, s.Problem())
	}
	a.change(func() { a.page, a.files["../evil"] = "", "x" })
	fails(t, r, "(parent)")
	a.change(func() { delete(a.files, "../evil") })
	if s := fetch(t, r, false); s.Problem() != "" {
		t.Error(s.Problem())
	}
	must.Do(t, os.RemoveAll(r.Path))
	fetch(t, r, true) // what somebody removed comes back
}

// TestFile: an archive on this machine is unpacked when it has changed, and only then.
func TestFile(t *testing.T) {
	r := rootOf(t)
	r.File = filepath.Join(t.TempDir(), "skills.zip")
	put := func(text string) {
		must.Do(t, os.WriteFile(r.File, packed(t, map[string]string{"pdf/SKILL.md": doc("pdf", text)}), 0o600))
	}
	due := func(want bool) {
		t.Helper()
		if got := remote.Due(r, time.Now()); got != want {
			t.Errorf("due is %v", got)
		}
	}
	put("One.")
	due(true)
	fetch(t, r, true)
	due(false)
	put(strings.Repeat("Two. ", 200))
	due(true)
	fetch(t, r, true)
	must.Do(t, os.WriteFile(r.File, []byte("no archive"), 0o600))
	fails(t, r, "(format)")
	due(false) // it is not tried again until it changes
	must.Do(t, os.Remove(r.File))
	due(true)
	fails(t, r, "no such file")
	due(false)
	if got := tree(t, r.Path)["pdf/SKILL.md"]; !strings.Contains(got, "Two.") {
		t.Errorf("got %q", got)
	}
}

// TestRefusedSkill: a skill that is refused is left out and is a problem of the source.
func TestRefusedSkill(t *testing.T) {
	a := serveArchive(t, map[string]string{"pdf/SKILL.md": doc("pdf", "x"), "ocr/SKILL.md": doc("ocr", "x"), "ocr/aux.md": "x"})
	r := rootOf(t)
	r.URL = a.url
	fetch(t, r, true)
	s := open(t, r)
	var got []string
	for ref, err := range s.Skills(t.Context(), nil) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, ref.Path)
	}
	want := []string{"pdf/SKILL.md", a.url + `: a skill is left out, or stays as it was: ocr/aux.md: "aux.md" is the name of a device on Windows (reserved)`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestUnfetched: a root that was never fetched says so.
func TestUnfetched(t *testing.T) {
	r := rootOf(t)
	r.URL = "http://127.0.0.1:1/a.zip"
	s := open(t, r)
	problems := func() (list []string) {
		for _, err := range s.Skills(t.Context(), nil) {
			list = append(list, err.Error())
		}
		return list
	}
	if got := problems(); !strings.Contains(got[len(got)-1], "it has not been fetched yet") {
		t.Error(got)
	}
	fails(t, r, "connection refused")
	if got := problems(); !strings.Contains(got[len(got)-1], "it could not be fetched yet: ") {
		t.Error(got)
	}
}

// TestSiteRoot: of a site only new digests are fetched; a skill that is refused stays as it
// was, and one that is gone goes.
func TestSiteRoot(t *testing.T) {
	pdf, ocr, web := doc("pdf", "One."), doc("ocr", "One."), doc("web", "One.")
	type m = map[string]string
	files := m{"pdf/SKILL.md": pdf, "ocr/SKILL.md": ocr, "web/SKILL.md": web}
	entry := func(name string) m { return m{"name": name, "url": name + "/SKILL.md"} }
	r := rootOf(t)
	r.URL = site(t, files, entry("pdf"), entry("ocr"), entry("web"))
	from := r.URL
	fetch(t, r, true)
	fetch(t, r, false)

	// The next site answers at the same address, as the state remembers.
	next := func(entries ...m) {
		s := site(t, files, entries...)
		must.Do(t, replaceInFile(r.Path+".json", from, s))
		r.URL, from = s, s
	}
	files["pdf/SKILL.md"] = doc("pdf", "Two.")
	wrong := entry("ocr")
	wrong["digest"] = sum("other")
	next(entry("pdf"), wrong)
	s := fetch(t, r, true)
	if diff := cmp.Diff(m{"pdf/SKILL.md": doc("pdf", "Two."), "ocr/SKILL.md": ocr}, tree(t, r.Path)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(s.Refused) != 1 || !strings.Contains(s.Refused[0], "skill ocr: ") || s.Skills["ocr"] != sum(ocr) {
		t.Errorf("state %+v", s)
	}
	delete(files, "pdf/SKILL.md") // its digest is known, so nobody asks for it
	known := entry("pdf")
	known["digest"] = sum(doc("pdf", "Two."))
	next(known)
	fetch(t, r, true)
	if got := tree(t, r.Path); len(got) != 1 || got["pdf/SKILL.md"] != doc("pdf", "Two.") {
		t.Errorf("got %v", got)
	}
}

func replaceInFile(name, from, to string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, bytes.ReplaceAll(data, []byte(from), []byte(to)), 0o600)
}

// TestReaders: readers of a folder that changes find one version of it or the other, and
// what they have open stays.
func TestReaders(t *testing.T) {
	if !remote.Exchanges {
		t.Skip("this system cannot exchange two folders in one step")
	}
	version := func(i int) map[string]string {
		return map[string]string{"pdf/SKILL.md": doc("pdf", fmt.Sprint(i)), "pdf/a.md": fmt.Sprint(i)}
	}
	a := serveArchive(t, version(0))
	r := rootOf(t)
	r.URL = a.url
	fetch(t, r, true)
	done := make(chan struct{})
	errs := make(chan error, 1)
	go func() {
		defer close(errs)
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := readOnce(r.Path); err != nil {
				errs <- err
				return
			}
		}
	}()
	root, err := os.OpenRoot(r.Path)
	must.Do(t, err)
	defer root.Close()
	for i := 1; i < 6; i++ {
		a.change(func() { a.files = version(i) })
		fetch(t, r, true)
		if i == 1 {
			if data, err := root.ReadFile("pdf/a.md"); string(data) != "0" {
				t.Errorf("what is open has changed: %q, %v", data, err)
			}
		}
	}
	close(done)
	if err := <-errs; err != nil {
		t.Error(err)
	}
}

// readOnce reads both files of the skill through one open folder.
func readOnce(path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	first, err1 := root.ReadFile("pdf/SKILL.md")
	second, err2 := root.ReadFile("pdf/a.md")
	switch {
	case err1 != nil || err2 != nil: // after two changes the folder is removed
		return nil
	case string(first) != doc("pdf", string(second)):
		return fmt.Errorf("read %q and %q", first, second)
	}
	return nil
}

// TestKilled: what a killed process has left is put in order by the next one.
func TestKilled(t *testing.T) {
	a := serveArchive(t, map[string]string{"pdf/SKILL.md": doc("pdf", "x")})
	for name, left := range map[string]string{"while it fetched": ".new", "between two renames": ".old"} {
		t.Run(name, func(t *testing.T) {
			r := rootOf(t)
			r.URL = a.url
			fetch(t, r, true)
			if left == ".old" {
				must.Do(t, os.Rename(r.Path, r.Path+".old"))
			} else {
				must.Do(t, os.MkdirAll(filepath.Join(r.Path+".new", "tree", "half"), 0o700))
			}
			fetch(t, r, left == ".old")
			if got := tree(t, r.Path); len(got) != 1 {
				t.Errorf("got %v", got)
			}
			if _, err := os.Lstat(r.Path + ".new"); err == nil {
				t.Error("what was fetched is left")
			}
		})
	}
}

// TestSwapSlowly: where two folders cannot be exchanged, they are renamed.
func TestSwapSlowly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "root")
	for i := range 3 {
		fresh := filepath.Join(dir, "fresh")
		must.Do(t, os.Mkdir(fresh, 0o700))
		must.Do(t, os.WriteFile(filepath.Join(fresh, "a"), []byte{byte('0' + i)}, 0o600))
		must.Do(t, remote.SwapSlowly(fresh, path))
	}
	if diff := cmp.Diff(map[string]string{"root/a": "2", "root.old/a": "1"}, tree(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := remote.SwapSlowly(filepath.Join(dir, "none"), path); err == nil || len(tree(t, path)) != 1 {
		t.Errorf("%v", err)
	}
}

// TestAtOnce: several processes that find a root due fetch it once.
func TestAtOnce(t *testing.T) {
	a := serveArchive(t, map[string]string{"SKILL.md": doc("pdf", "x")})
	r := rootOf(t)
	r.URL = a.url
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := remote.FetchDue(t.Context(), []remote.Root{r}, false, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := a.count(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	must.Do(t, remote.FetchDue(t.Context(), []remote.Root{r}, false, nil))
	if a.count() != 1 {
		t.Error("it was not due")
	}
	must.Do(t, remote.FetchDue(t.Context(), []remote.Root{r}, true, nil))
	if a.count() != 2 {
		t.Error("all were asked for")
	}
}

// TestOneFails: a root that cannot be fetched does not hold up the others.
func TestOneFails(t *testing.T) {
	a := serveArchive(t, map[string]string{"SKILL.md": doc("pdf", "x")})
	bad, good := rootOf(t), rootOf(t)
	bad.URL, bad.Label, good.URL = "http://127.0.0.1:1/a.zip", "bad", a.url
	err := remote.FetchDue(t.Context(), []remote.Root{bad, good}, false, nil)
	if err == nil || !strings.Contains(err.Error(), "fetching bad: ") || len(tree(t, good.Path)) != 1 {
		t.Errorf("%v", err)
	}
}

// TestLimits: the user's limits hold for what is fetched.
func TestLimits(t *testing.T) {
	a := serveArchive(t, map[string]string{"pdf/SKILL.md": doc("pdf", "x"), "pdf/a.md": "x"})
	r := rootOf(t)
	r.URL, r.Limits = a.url, &remote.Limits{Unpack: &unpack.Limits{Files: 1}}
	fails(t, r, "(too-many-files)")
	r.Limits = &remote.Limits{Bytes: 100}
	fails(t, r, "larger than 100 bytes")
}

// TestPasswords: no message and no file has the password of a URL.
func TestPasswords(t *testing.T) {
	r := rootOf(t)
	r.URL, r.Label = "http://me:secret@127.0.0.1:1/a.zip", ""
	_, err := remote.Fetch(t.Context(), r)
	data, readErr := os.ReadFile(r.Path + ".json")
	if err == nil || readErr != nil || strings.Contains(err.Error()+string(data), "secret") {
		t.Errorf("%v, %s", err, data)
	}
}

// TestDue: when a root is fetched anew.
func TestDue(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	ok := remote.State{FetchedAt: start, TriedAt: start}
	failed := remote.State{FetchedAt: start, TriedAt: start, Error: "no"}
	for name, c := range map[string]struct {
		root  remote.Root
		state remote.State
		due   int // minutes after start; -1 means not within a month
	}{
		"repository":          {remote.Root{Git: "x"}, ok, -1},
		"repository failed":   {remote.Root{Git: "x"}, failed, -1},
		"never fetched":       {remote.Root{Git: "x"}, remote.State{TriedAt: start, Error: "no"}, 10},
		"URL":                 {remote.Root{URL: "x"}, ok, 24 * 60},
		"URL failed":          {remote.Root{URL: "x"}, failed, 10},
		"hourly":              {remote.Root{Git: "x", Schedule: "@hourly"}, ok, 60},
		"hourly failed":       {remote.Root{Git: "x", Schedule: "@hourly"}, failed, 10},
		"each minute":         {remote.Root{Git: "x", Schedule: "* * * * *"}, ok, 1},
		"each minute, failed": {remote.Root{Git: "x", Schedule: "* * * * *"}, failed, 1},
		"never":               {remote.Root{URL: "x", Schedule: remote.Never}, ok, -1},
		"no schedule":         {remote.Root{URL: "x", Schedule: "TZ=0"}, ok, -1},
		"not yet":             {remote.Root{URL: "x"}, remote.State{}, 0},
	} {
		c.root.Path = filepath.Join(t.TempDir(), "x")
		must.Do(t, os.Mkdir(c.root.Path, 0o700))
		must.Do(t, remote.WriteState(&c.state, c.root.Path))
		last := 31 * 24 * 60
		if c.due < 0 {
			if remote.Due(c.root, at(last)) {
				t.Errorf("%s: due", name)
			}
			continue
		}
		if !remote.Due(c.root, at(c.due)) || c.due > 0 && remote.Due(c.root, at(c.due).Add(-time.Second)) {
			t.Errorf("%s: not due exactly %d minutes later", name, c.due)
		}
	}
	r := rootOf(t)
	if !remote.Due(r, start) {
		t.Error("a root without a state is due")
	}
	must.Do(t, os.MkdirAll(filepath.Dir(r.Path), 0o700))
	must.Do(t, os.WriteFile(r.Path+".json", []byte("{"), 0o600))
	if !remote.Due(r, start) {
		t.Error("a root whose state is damaged is due")
	}
}
