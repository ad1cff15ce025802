package doctor_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// sick are skills with everything that can be fixed, in files that may be and may not be.
var sick = map[string]string{
	"a/SKILL.md":       "\ufeff---\nname: a\ndescription: Sorts: mail. Use when asked.\n---\nRun scripts/run.sh.\n",
	"a/scripts/run.sh": "#!/bin/sh\r\necho a\r\n",
	"a/scripts/ok.py":  "print()\r\n",
	"sound/SKILL.md":   "---\nname: sound\ndescription: Sorts letters. Use when asked.\n---\nSort.\n",
	"refused/SKILL.md": "---\nname: refused\n---\n",
}

// fixes returns the fixes of a folder with these options.
func fixes(t *testing.T, dir, fetched string, o *source.Options) []*doctor.Fix {
	t.Helper()
	src, err := source.Dir(dir, o)
	must.Do(t, err)
	list, err := doctor.Fixes(t.Context(), []source.Source{src, src}, fetched)
	must.Do(t, err)
	return list
}

// TestFix: a fix removes its findings, keeps the permissions and nothing else changes.
func TestFix(t *testing.T) {
	dir := write(t, sick)
	list := fixes(t, dir, filepath.Join(dir, "none"), nil)
	var got []string
	for _, f := range list {
		got = append(got, f.Rules...)
		must.Do(t, f.Apply(t.Context()))
		if !f.Written || f.Warning != "" || !strings.Contains(f.Diff, f.Path) {
			t.Errorf("%+v", f)
		}
	}
	want := []string{"byte-order-mark", "yaml-repaired", "script-crlf"}
	modes := []fs.FileMode{0o600, 0o600}
	if runtime.GOOS != "windows" {
		want, modes[1] = append(want, "script-not-executable"), 0o700
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i, f := range list {
		if info, err := os.Stat(f.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != modes[i] {
			t.Errorf("%s has %v, %v", f.Path, info.Mode(), err)
		}
	}
	text, err := os.ReadFile(list[1].Path)
	if err != nil || string(text) != "#!/bin/sh\necho a\n" {
		t.Errorf("%q, %v", text, err)
	}
	if list := fixes(t, dir, "", nil); len(list) != 0 {
		t.Errorf("after the fixes there are %d", len(list))
	}
	if lines := found(t, dir); slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, "crlf") || strings.Contains(s, "repaired") }) {
		t.Errorf("after the fixes doctor finds %q", lines)
	}
}

// TestFixKeepsAway: bundled skills, what is fetched, and files outside of the source stay.
func TestFixKeepsAway(t *testing.T) {
	dir := write(t, sick)
	if list := fixes(t, dir, "", &source.Options{Kind: source.KindBundled}); len(list) != 0 {
		t.Errorf("bundled skills have %d fixes", len(list))
	}
	if list := fixes(t, filepath.Join(dir, "a"), dir, nil); len(list) != 0 {
		t.Errorf("fetched skills have %d fixes", len(list))
	}
	memory, err := source.Files(sick, nil)
	must.Do(t, err)
	if list, err := doctor.Fixes(t.Context(), []source.Source{memory}, ""); len(list) != 0 || err != nil {
		t.Errorf("skills in memory have %d fixes, %v", len(list), err)
	}
	list := fixes(t, dir, "", &source.Options{Kind: "installed"})
	if len(list) != 2 || !strings.Contains(list[0].Warning, "skills update --verify") {
		t.Errorf("installed skills: %d fixes, %+v", len(list), list[0])
	}
	other := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(other, "a")); err != nil {
		t.Skip("no links: ", err)
	}
	if list := fixes(t, other, "", nil); len(list) != 0 {
		t.Errorf("skills outside of the source have %d fixes", len(list))
	}
}

// TestFixChanged: a file that has changed since, or that cannot be written, stays.
func TestFixChanged(t *testing.T) {
	dir := write(t, sick)
	list := fixes(t, dir, "", nil)
	must.Do(t, os.WriteFile(list[0].Path, []byte("mine"), 0o600))
	if err := list[0].Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "changed meanwhile") || list[0].Written {
		t.Errorf("a changed file: %v", err)
	}
	if text, _ := os.ReadFile(list[0].Path); string(text) != "mine" {
		t.Errorf("the file became %q", text)
	}
	// Without its SKILL.md the skill is gone, and nobody can tell that the finding is.
	must.Do(t, os.Remove(list[1].Path))
	if err := list[1].Apply(t.Context()); err == nil || list[1].Written {
		t.Errorf("a removed file: %v", err)
	}
}
