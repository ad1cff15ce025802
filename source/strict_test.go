package source

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestStrictStamp: a strict stamp shows each change, also one that leaves size and time as they
// were, and there is none as long as the next change may not show.
func TestStrictStamp(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "x.txt")
	must.Write(t, filepath.Join(dir, "a", "SKILL.md"), "---\nname: a\ndescription: Does a.\n---\n")
	old := time.Now().Add(-time.Hour)
	put := func(file, text string, at time.Time) {
		must.Write(t, file, text)
		must.Do(t, os.Chtimes(file, at, at))
	}
	put(file, "one", old)
	info, err := os.Stat(file)
	must.Do(t, err)
	if ctime, _ := changeOf(info); ctime == 0 {
		t.Skip("this system does not tell when a file was changed")
	}
	s, err := Dir(dir, nil)
	must.Do(t, err)
	stamp := func(start time.Time, strict bool) string {
		entries, err := s.tree.readDir("a")
		must.Do(t, err)
		return s.stamp("a", s.list("a", entries), start, strict)
	}
	if got := stamp(time.Now(), true); got != "" {
		t.Errorf("stamp %q of a file that was written just now", got)
	}
	later := time.Now().Add(time.Hour)
	same := stamp(later, false)
	last := stamp(later, true)
	if last == "" || last != stamp(later, true) {
		t.Errorf("stamp %q of files that nobody changes", last)
	}
	for name, change := range map[string]func(){
		"another text": func() { put(file, "two", old) },
		"another file": func() {
			put(file+".new", "six", old)
			must.Do(t, os.Rename(file+".new", file))
		},
		"another mode and back": func() {
			must.Do(t, os.Chmod(file, 0o400))
			must.Do(t, os.Chmod(file, info.Mode()))
		},
	} {
		time.Sleep(10 * time.Millisecond) // the clock of a file system advances in steps
		change()
		now := stamp(later, true)
		if now == "" || now == last || stamp(later, false) != same {
			t.Errorf("%s: the stamp is %q, and was %q", name, now, last)
		}
		last = now
	}
	put(file, "old", time.Unix(1, 0))
	if got := stamp(later, true); got == "" || got == last {
		t.Errorf("stamp %q of a file of 1970", got)
	}
	for ref, err := range s.Stamped(t.Context()) {
		if err != nil || ref.Path != "a/SKILL.md" || ref.Stamp != "" {
			t.Errorf("found %+v, %v", ref, err)
		}
	}
}
