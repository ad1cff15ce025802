package trust

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

// digest returns the n-th digest.
func digest(n int) string { return fmt.Sprintf("sha256:%064x", n) }

func seen(n int, name, folder string, files ...skill.File) Seen {
	return Seen{Skill{digest(n), name, folder, time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)}, files}
}

// TestFile: what one process adds or removes, another one that has the file open sees.
func TestFile(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	f, other := Open(state), Open(state)
	before := other.Version()
	if list, err := f.List(); err != nil || len(list) != 0 || f.Trusted(digest(1)) {
		t.Errorf("a missing file has %v, %v", list, err)
	}
	must.Do(t, f.Add(t.Context(), seen(2, "pdf", "/p"), seen(1, "git\n", "/q\t\"")))
	must.Do(t, f.Add(t.Context(), seen(2, "pdf", "/elsewhere")))
	after := other.Version()
	if before == after || other.Version() != after || !other.Trusted(digest(2)) || other.Trusted(digest(3)) {
		t.Errorf("version %s, then %s; trusted %v", before, after, other.trusted.Value().all)
	}
	data, err := os.ReadFile(f.Path())
	must.Do(t, err)
	want := header + digest(1) + "\t2026-01-01T00:00:00Z\t\"git\\n\"\t\"/q\\t\\\"\"\n" + digest(2) + "\t2026-01-02T00:00:00Z\tpdf\t/p\n"
	if string(data) != want {
		t.Errorf("the file is\n%s\nwant\n%s", data, want)
	}
	list, err := other.List()
	if err != nil || len(list) != 2 || list[0].Name != "git\n" || list[0].Folder != "/q\t\"" {
		t.Errorf("%+v, %v", list, err)
	}
	gone, err := f.Forget(t.Context(), func(s Skill) bool { return s.Name == "pdf" })
	if err != nil || len(gone) != 1 || other.Version() == after || other.Trusted(digest(2)) || !other.Trusted(digest(1)) {
		t.Errorf("forgot %v, %v; trusted %v", gone, err, other.trusted.Value().all)
	}
	must.Do(t, os.Remove(f.Path()))
	if other.Version(); other.Trusted(digest(1)) {
		t.Error("trusted without the file")
	}
}

// TestMalformed: a bad line trusts nothing, costs no other line, and is not overwritten.
func TestMalformed(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	f := Open(state)
	good := digest(7) + "\t2026-01-02T00:00:00Z\tpdf\t/p\n"
	for line, want := range map[string]string{
		digest(8):                                    ":2: 1 fields",
		digest(8) + "0\t2026-01-02\tx\ty":            "is no digest",
		strings.ToUpper(digest(10)) + "\tx\ty\tz":    "is no digest",
		digest(8) + "\tyesterday\tx\ty":              "is no date",
		digest(8) + "\t2026-01-02T00:00:00Z\t\"x\ty": "is not a text in quotes",
	} {
		content := "# mine\n" + line + "\n\r\n" + good
		must.Do(t, os.WriteFile(f.Path(), []byte(content), 0o600))
		f := Open(state)
		if !f.Trusted(digest(7)) || f.Trusted(digest(8)) {
			t.Errorf("%q: trusted %v", line, f.trusted.Value())
		}
		list, err := f.List()
		if err == nil || !strings.Contains(err.Error(), want) || len(list) != 1 {
			t.Errorf("%q: %v, %v; want %s", line, list, err, want)
		}
		err = f.Add(t.Context(), seen(9, "a", "/a"))
		if data, _ := os.ReadFile(f.Path()); err == nil || string(data) != content {
			t.Errorf("%q: %v; the file is\n%s", line, err, data)
		}
	}
	if err := f.Add(t.Context(), Seen{Skill: Skill{Name: "x"}}); err == nil {
		t.Error("a skill without a digest was added")
	}
}

// TestChange: how a skill differs from the one of its name that was trusted last.
func TestChange(t *testing.T) {
	t.Parallel()
	f := Open(t.TempDir())
	must.Do(t, f.Add(t.Context(), seen(1, "pdf", "/p", skill.File{Path: "SKILL.md", SHA256: "a"}, skill.File{Path: "old\n.sh", SHA256: "b"}, skill.File{Path: "x", SHA256: "c"})))
	must.Do(t, f.Add(t.Context(), seen(2, "pdf", "/elsewhere", skill.File{Path: "SKILL.md", SHA256: "z"})))
	now := []skill.File{{Path: "SKILL.md", SHA256: "new"}, {Path: "run.sh", SHA256: "d"}, {Path: "x", SHA256: "c"}}
	for folder, want := range map[string]string{
		"/p":     `/p [SKILL.md] [run.sh] ["old\n.sh"]`,
		"/clone": `/elsewhere [SKILL.md] [run.sh x] []`,
	} {
		c, err := f.Change(seen(3, "pdf", folder, now...))
		must.Do(t, err)
		if got := fmt.Sprintf("%s %v %v %q", c.Since.Folder, c.Changed, c.Added, c.Removed); got != want {
			t.Errorf("%s: %s, want %s", folder, got, want)
		}
	}
	if c, err := f.Change(seen(3, "git", "/p", now...)); c != nil || err != nil {
		t.Errorf("%v, %v of a skill that nobody knows", c, err)
	}
	must.Do(t, os.RemoveAll(f.dir))
	if c, err := f.Change(seen(3, "pdf", "/p", now...)); err != nil || c.Since.Date.Day() != 1 || c.Added != nil {
		t.Errorf("%v, %v without the files", c, err)
	}
}

// TestAtOnce: of writers at the same time none loses what another one adds.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			if err := Open(state).Add(t.Context(), seen(n+1, fmt.Sprint(n), "/p")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := Open(state).List(); err != nil || len(list) != 8 {
		t.Errorf("%d skills, %v", len(list), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(format([]Skill{seen(1, "pdf", "/p").Skill, seen(2, "\"a\t", "").Skill}))
	f.Add("# x\n\nsha256:\t\t\t")
	f.Fuzz(func(t *testing.T, content string) {
		list, _ := parse("trusted", content)
		again, err := parse("trusted", format(list))
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d skills, then %d, %v", len(list), len(again), err)
		}
		for i := range list {
			if a, b := list[i], again[i]; a.Digest != b.Digest || a.Name != b.Name || a.Folder != b.Folder || !a.Date.Truncate(time.Second).Equal(b.Date) {
				t.Fatalf("%+v, then %+v", a, b)
			}
		}
	})
}

// TestOlder: trust in a skill holds after an upgrade, although the digest that was written down
// covered files that are no part of a skill any more.
func TestOlder(t *testing.T) {
	t.Parallel()
	folder, f := t.TempDir(), Open(t.TempDir())
	texts := map[string]string{".DS_Store": "left", "SKILL.md": "text", "scripts/__pycache__/b.pyc": "compiled", "scripts/b.py": "x = 1"}
	must.Files(t, folder, texts)
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	var all, own []skill.File
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		file := skill.File{Path: name, Size: int64(len(texts[name])), SHA256: sum(texts[name])}
		if all = append(all, file); !skill.IsExcluded(name) {
			own = append(own, file)
		}
	}
	old, now := skill.DigestOf(sum("text"), all), skill.DigestOf(sum("text"), own)
	must.Do(t, f.Add(t.Context(), Seen{Skill{old, "charts", folder, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, all}))
	f.Version()
	if !f.Trusted(now) || f.Trusted("") || f.Trusted(skill.DigestOf(sum("text"), own[:1])) {
		t.Errorf("trusted: %t, without a digest %t, another one %t", f.Trusted(now), f.Trusted(""), f.Trusted(skill.DigestOf(sum("text"), own[:1])))
	}
	must.Files(t, folder, map[string]string{"scripts/b.py": "x = 2, and more"})
	if other := Open(filepath.Dir(f.Path())); other.Trusted(now) {
		t.Error("trusted with files of another size")
	}
}
