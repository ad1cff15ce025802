package source_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// doc is a valid SKILL.md.
func doc(name string) string {
	return "---\nname: " + name + "\ndescription: Does thing " + name + ".\n---\nBody of " + name + ".\n"
}

// folder makes a folder of files; one whose text is "-> target" is a link, and
// one whose name ends in a slash, an empty folder. All are old enough for a
// stamp.
func folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must.Do(tb, os.MkdirAll(path, 0o700))
			continue
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must.Do(tb, os.MkdirAll(filepath.Dir(path), 0o700))
			link(tb, target, path)
			continue
		}
		must.Write(tb, path, text)
	}
	age(tb, dir)
	return dir
}

func link(tb testing.TB, target, path string) {
	tb.Helper()
	if err := os.Symlink(filepath.FromSlash(target), path); err != nil {
		tb.Skipf("no symbolic links here: %v", err)
	}
}

// age makes everything below dir an hour old.
func age(tb testing.TB, dir string) {
	tb.Helper()
	old := time.Now().Add(-time.Hour)
	must.Do(tb, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.Chtimes(path, old, old)
	}))
}

func open(tb testing.TB, dir string, opts *source.Options) *source.FS {
	tb.Helper()
	s, err := source.Dir(dir, opts)
	must.Do(tb, err)
	return s
}

// walk returns the paths of the skills, the errors as "path rule", with
// " incomplete" after those, and the refs by path.
func walk(tb testing.TB, s *source.FS) (paths, errs []string, refs map[string]*skill.Ref) {
	tb.Helper()
	refs = make(map[string]*skill.Ref)
	for ref, err := range s.Skills(tb.Context(), func(source.Trace) {}) {
		if err == nil {
			paths = append(paths, ref.Path)
			refs[ref.Path] = ref
			continue
		}
		errs = append(errs, describe(tb, err))
	}
	return paths, errs, refs
}

func describe(tb testing.TB, err error) string {
	tb.Helper()
	var seen interface {
		error
		Incomplete() bool
		Problem() skill.Problem
	}
	if !errors.As(err, &seen) {
		tb.Fatalf("walk yielded %T: %v", err, err)
	}
	p := seen.Problem()
	if want := map[bool]skill.Severity{true: skill.Warning, false: skill.Note}[seen.Incomplete()]; p.Severity != want {
		tb.Errorf("%v: severity %s, want %s", err, p.Severity, want)
	}
	if seen.Incomplete() {
		p.Rule += " incomplete"
	}
	return p.Path + " " + p.Rule
}

// load loads the one skill of s whose path is given.
func load(tb testing.TB, s *source.FS, path string) *skill.Skill {
	tb.Helper()
	_, _, refs := walk(tb, s)
	if refs[path] == nil {
		tb.Fatalf("no skill %s", path)
	}
	sk, err := refs[path].Load()
	must.Do(tb, err)
	return sk
}

// problems returns the problems of a skill, as "path:line rule".
func problems(sk *skill.Skill) []string {
	var list []string
	for _, p := range sk.Problems {
		list = append(list, strings.TrimSuffix(p.String()[:strings.Index(p.String(), ": ")], ":")+" "+p.Rule)
	}
	slices.Sort(list)
	return list
}
