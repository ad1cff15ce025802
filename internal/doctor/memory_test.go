package doctor

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// A remembered is a catalog on disk whose checks are kept.
type remembered struct {
	*repertoire.Catalog
	dir, file string
}

func newRemembered(t *testing.T, files map[string]string) remembered {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour) // stamps of what is younger are not trusted
	must.Files(t, dir, files)
	must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { return cmp.Or(err, os.Chtimes(path, old, old)) }))
	src, err := source.Dir(dir, &source.Options{Label: "lib"})
	must.Do(t, err)
	c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return remembered{c, dir, c.Path() + findingsSuffix}
}

// check returns a report, which is the same as one without memory, and whether the check has left the file as it was.
func (c *remembered) check(t *testing.T) (r *Report, same bool) {
	t.Helper()
	reports, err := c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	all, err := c.List(t.Context(), nil, &repertoire.ListOptions{Shadowed: true, Held: true})
	must.Do(t, err)
	before := regular.Look(c.file)
	r, err = Catalog(t.Context(), c.Catalog, all, Options{Reports: reports})
	must.Do(t, err)
	after := regular.Look(c.file)
	kept, err := os.ReadFile(c.file)
	must.Do(t, err)
	must.Do(t, os.Remove(c.file))
	anew, err := Catalog(t.Context(), c.Catalog, all, Options{Reports: reports})
	must.Do(t, err)
	if changes := diff.Diff(anew, r, cmpopts.IgnoreUnexported(Report{}, Finding{})); changes != "" {
		t.Errorf("with memory it differs (-without +with):\n%s", changes)
	}
	must.Do(t, os.WriteFile(c.file, kept, 0o600))
	return r, after == before
}

func (r *Report) has(rule, id string) (n int) {
	for _, f := range r.Findings {
		if f.Rule == rule && f.isAbout(id) {
			n++
		}
	}
	return n
}

var rememberedFiles = map[string]string{
	"cat/SKILL.md":        "---\nname: cat\ndescription: Feeds the cat. Use when it is hungry.\n---\nRun scripts/feed.sh.\n",
	"cat/scripts/feed.sh": "#!/bin/sh\necho fed\n",
	"dog/SKILL.md":        "---\nname: dog\ndescription: Walks the dog in the park.\n---\nWalk it.\n",
	"hamster/SKILL.md":    "---\nname: hamster\ndescription: Cleans the cage of a small animal that sleeps all day and runs at night. Use when asked.\n---\nClean it.\n",
}

// TestMemory: a second check finds the same without a change of what is kept, and whatever changes shows at once.
func TestMemory(t *testing.T) {
	c := newRemembered(t, rememberedFiles)
	if r, _ := c.check(t); r.has("no-trigger", "dog") != 1 || runtime.GOOS != "windows" && r.has("script-not-executable", "cat") != 1 {
		t.Fatalf("the first check finds %+v", r.Findings)
	}
	c.check(t)
	if _, same := c.check(t); !same {
		t.Error("a check that finds nothing new has written the file")
	}
	for _, tt := range []struct {
		name, rule, id string
		want           int
		change         func(dir string) error
	}{
		{"an instruction", "no-trigger", "dog", 0, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "dog/SKILL.md"), []byte("---\nname: dog\ndescription: Walks the dog. Use when it barks.\n---\nWalk it.\n"), 0o600)
		}},
		{"a mode", "script-not-executable", "cat", 0, func(dir string) error { return os.Chmod(filepath.Join(dir, "cat/scripts/feed.sh"), 0o700) }},
		{"a twin", "near-duplicate", "hamster", 1, func(dir string) error {
			must.Do(t, os.Mkdir(filepath.Join(dir, "mouse"), 0o700))
			return os.WriteFile(filepath.Join(dir, "mouse/SKILL.md"), []byte("---\nname: mouse\ndescription: Cleans the cage of a small animal that sleeps all day and runs by night. Use when asked.\n---\nClean it well.\n"), 0o600)
		}},
	} {
		must.Do(t, tt.change(c.dir))
		r, same := c.check(t)
		if got := r.has(tt.rule, tt.id); got != tt.want && runtime.GOOS != "windows" || same {
			t.Errorf("%s: %d findings %s, the file is the same: %t", tt.name, got, tt.rule, same)
		}
	}
	must.Do(t, c.Owner().SetRules(&repertoire.Policy{Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"mouse"}}}}}, nil))
	if r, _ := c.check(t); r.has("near-duplicate", "hamster") != 0 || r.has("disabled", "mouse") != 1 {
		t.Errorf("after a change of the policy it finds %+v", r.Findings)
	}
}

// TestMemoryOfOthers: what another version of the program or a damaged file says counts for nothing.
func TestMemoryOfOthers(t *testing.T) {
	c := newRemembered(t, rememberedFiles)
	c.check(t)
	data, err := os.ReadFile(c.file)
	must.Do(t, err)
	var kept findings
	must.Do(t, gob.NewDecoder(bytes.NewReader(data)).Decode(&kept))
	kept.Program += "older"
	for key := range kept.Skills {
		kept.Skills[key] = looked{Unread: 100}
	}
	other := new(bytes.Buffer)
	must.Do(t, gob.NewEncoder(other).Encode(kept))
	for _, data := range [][]byte{other.Bytes(), data[:len(data)/2], {}} {
		must.Do(t, os.WriteFile(c.file, data, 0o600))
		if _, same := c.check(t); same {
			t.Error("it is not made anew")
		}
	}
}
