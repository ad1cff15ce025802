package contextprovider_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

// A hasher counts how often all files of a skill are hashed.
type hasher struct {
	reader
	hashed int
}

func (h *hasher) Instructions(ctx context.Context, e *search.Entry, digests bool) (contextprovider.Instructions, error) {
	if digests {
		h.hashed++
	}
	return h.reader.Instructions(ctx, e, digests)
}

// sealed opens a catalog of a folder of skills that are served only as long as they stay as
// they are.
func sealed(t testing.TB, files map[string]string) (*kit, *hasher, string) {
	t.Helper()
	src, dir := folder(t, "tools", files)
	age(t, dir, time.Now().Add(-time.Hour))
	k := open(t, src)
	k.search.SetPolicy(&search.Policy{Ask: []string{"tools"}, Trusted: func(string) bool { return true }}, nil)
	h := &hasher{reader: reader{"tools": src}}
	k.Provider = contextprovider.New(k.search, h)
	return k, h, dir
}

// age gives all files in a folder a time.
func age(t testing.TB, dir string, at time.Time) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, at, at))
	}))
}

// TestSealed: all files of a skill are hashed once, not for each that is read, and again as
// soon as one may have changed.
func TestSealed(t *testing.T) {
	k, h, dir := sealed(t, map[string]string{"pdf/SKILL.md": doc("pdf", "Reads PDF files.", ""), "pdf/a.txt": "a", "pdf/b.txt": "b", "pdf/c/d.txt": "d"})
	at := func(name string) string { return filepath.Join(dir, "pdf", filepath.FromSlash(name)) }
	old := time.Now().Add(-30 * time.Minute)
	put := func(name, text string) {
		must.Do(t, os.WriteFile(at(name), []byte(text), 0o600))
		old = old.Add(time.Minute)
		must.Do(t, os.Chtimes(at(name), old, old))
	}
	read := func(name string) error {
		f, err := k.File(t.Context(), "pdf", name, nil)
		if text := strings.TrimSuffix(filepath.Base(name), ".txt"); err == nil && !strings.Contains(f.Text, text) {
			t.Errorf("%s holds %q", name, f.Text)
		}
		return err
	}
	all := func(what string, served bool, hashed int) {
		t.Helper()
		h.hashed = 0
		for range 3 {
			for _, name := range []string{"a.txt", "b.txt", "c/d.txt"} {
				if err := read(name); (err == nil) != served {
					t.Errorf("%s, %s: %v", what, name, err)
				}
			}
			body, err := k.Body(t.Context(), "pdf", nil)
			if (err == nil) != served || served && (len(body.Resources) != 3 || body.Resources[0].SHA256 != "") {
				t.Errorf("%s: %+v, %v", what, body.Resources, err)
			}
		}
		if served && h.hashed != hashed || !served && h.hashed < hashed {
			t.Errorf("%s: hashed %d times, want %d", what, h.hashed, hashed)
		}
	}
	all("at first", true, 1)
	all("again", true, 0)
	put("b.txt", "other")
	all("a file changed", false, 12)
	put("b.txt", "b")
	all("it is as before", true, 1)
	put("more.txt", "more")
	all("one more file", false, 12)
	must.Do(t, os.Remove(at("more.txt")))
	must.Do(t, os.Chtimes(dir+"/pdf", old, old))
	all("without it", true, 1)

	// What is served has its digest, even if a change shows in no time and no size.
	info, err := os.Stat(at("b.txt"))
	must.Do(t, err)
	must.Do(t, os.WriteFile(at("b.txt"), []byte("x"), 0o600))
	must.Do(t, os.Chtimes(at("b.txt"), info.ModTime(), info.ModTime()))
	if err := read("b.txt"); err == nil {
		t.Error("a file was served that is not the one that may be")
	}
	if err := read("a.txt"); err != nil {
		t.Error(err)
	}

	// A listing with digests always reads.
	h.hashed = 0
	for range 2 {
		if _, err := k.Listing(t.Context(), "pdf", nil, true); err == nil {
			t.Error("listed with a file that is not the one that may be")
		}
	}
	if h.hashed != 2 {
		t.Errorf("hashed %d times for two listings", h.hashed)
	}
}

// TestSealedFresh: as long as times cannot be trusted, all files are hashed each time.
func TestSealedFresh(t *testing.T) {
	k, h, dir := sealed(t, map[string]string{"pdf/SKILL.md": doc("pdf", "Reads PDF files.", ""), "pdf/a.txt": "a"})
	age(t, dir, time.Now())
	for range 3 {
		_, err := k.File(t.Context(), "pdf", "a.txt", nil)
		must.Do(t, err)
	}
	if h.hashed != 3 {
		t.Errorf("hashed %d times, want 3", h.hashed)
	}
}

// TestManySealed: more skills than are remembered are served too.
func TestManySealed(t *testing.T) {
	files := make(map[string]string)
	for i := range 100 {
		files[fmt.Sprintf("s%d/SKILL.md", i)] = doc(fmt.Sprintf("s%d", i), "Does it.", "")
	}
	k, h, _ := sealed(t, files)
	for range 2 {
		for i := range 100 {
			_, err := k.Body(t.Context(), fmt.Sprintf("s%d", i), nil)
			must.Do(t, err)
		}
	}
	if h.hashed < 100+36 || h.hashed > 200 {
		t.Errorf("hashed %d times", h.hashed)
	}
}

// BenchmarkSealed reads each of 20 files of a skill that must not change.
func BenchmarkSealed(b *testing.B) {
	files := map[string]string{"pdf/SKILL.md": doc("pdf", "Reads PDF files.", "")}
	for i := range 20 {
		files[fmt.Sprintf("pdf/references/%02d.md", i)] = strings.Repeat("Read the form first.\n", 10_000)
	}
	k, _, _ := sealed(b, files)
	for b.Loop() {
		for i := range 20 {
			_, err := k.File(b.Context(), "pdf", fmt.Sprintf("references/%02d.md", i), nil)
			must.Do(b, err)
		}
	}
}
