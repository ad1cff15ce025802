package origins

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

const lock = `{
  "version": 3,
  "skills": {
    "pdf-forms": {"source": "acme/skills", "sourceType": "github", "sourceUrl": "https://github.com/acme/skills.git",
      "skillPath": "skills/pdf-forms/SKILL.md", "skillFolderHash": "1f0c", "ref": "v2", "installedAt": "2026-10-01T10:00:00.000Z"},
    "Café Notes": {"source": "", "sourceUrl": "https://user:hunter22@host.example/x.git", "skillPath": "SKILL.md"},
    "gone": {"source": "acme/gone", "pinnedRef": "v1\u001b[31m"},
    "../../etc": null,
    "..": {"source": "acme/up"},
    "nowhere": {}
  },
  "dismissed": {"findSkillsPrompt": true}
}`

// TestRead reads the lock of others in both of its places, and the own one.
func TestRead(t *testing.T) {
	home, own := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	skills := filepath.Join(home, ".agents", "skills")
	must.Write(t, filepath.Join(home, ".agents", ".skill-lock.json"), lock)
	must.Write(t, filepath.Join(home, "state", "skills", ".skill-lock.json"), `{"version": 3, "skills": {"dog": {"source": "acme/dog"}}}`)
	for _, dir := range []string{"pdf-forms/scripts", "caf-notes", "dog", "mine"} {
		must.Do(t, os.MkdirAll(filepath.Join(skills, filepath.FromSlash(dir)), 0o700))
	}
	link := filepath.Join(home, "linked")
	must.Do(t, os.Symlink(filepath.Join(skills, "pdf-forms"), link))
	o, err := Read(own, home)
	must.Do(t, err)
	for path, want := range map[string]Origin{
		skills + "/pdf-forms":           {"acme/skills", Others, "v2", "skills/pdf-forms"},
		skills + "/pdf-forms/scripts/a": {"acme/skills", Others, "v2", "skills/pdf-forms"},
		link + "/SKILL.md":              {"acme/skills", Others, "v2", "skills/pdf-forms"},
		skills + "/caf-notes":           {"https://user:xxxxx@host.example/x.git", Others, "", ""},
		skills + "/dog/SKILL.md":        {"acme/dog", Others, "", ""},
		skills + "/mine":                {},
		skills:                          {},
		"bundled:x/SKILL.md":            {},
		"":                              {},
	} {
		if got, ok := o.Of(filepath.FromSlash(path)); got != want || ok != (want.By != "") {
			t.Errorf("%s: %+v, %v", path, got, ok)
		}
	}
	if there := o.Others(); !slices.Equal(there, []string{"Café Notes", "dog", "pdf-forms"}) {
		t.Errorf("others %q", there)
	}
	if gone, ok := o.Named("gone"); !ok || gone.Ref != "v1[31m" {
		t.Errorf("gone: %+v, %v", gone, ok)
	}
	problems := o.Problems(nil)
	if len(problems) != 1 || problems[0].Rule != "other-gone" || !strings.HasSuffix(problems[0].Message, "1 skill that is not there: gone") {
		t.Errorf("problems %+v", problems)
	}
}

// TestReadTolerant: a lock is read as the program that wrote it reads it.
func TestReadTolerant(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	home := t.TempDir()
	must.Write(t, filepath.Join(home, ".agents", ".skill-lock.json"), "\ufeff{ // by hand\n\"version\": 3, \"skills\": {\"pdf\": {\"source\": \"acme/tools\",},},}\n")
	o, err := Read(t.TempDir(), home)
	if origin, ok := o.Named("pdf"); err != nil || !ok || origin.From != "acme/tools" {
		t.Errorf("%+v, %t, %v", origin, ok, err)
	}
}

// TestReadBroken: a lock that cannot be read costs what it says, and no more.
func TestReadBroken(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	for text, want := range map[string]string{
		"{":                            "it is damaged",
		`{"version": 4, "skills": {}}`: "it has version 4, and this program reads version 3",
		`{"version": 3, "skills": []}`: "it is damaged",
		strings.Repeat("[", 1<<20):     "it is damaged",
		`{"skills": {"a": {"source": `: "it is damaged",
	} {
		home, own := t.TempDir(), t.TempDir()
		file := filepath.Join(home, ".agents", ".skill-lock.json")
		must.Write(t, file, text)
		o, err := Read(own, home)
		unknown, ok := errors.AsType[*UnknownError](err)
		if !ok || unknown.Err.Error() != want {
			t.Errorf("%.20s: error %v, want %s", text, err, want)
			continue
		}
		if p := o.Problems(err); len(p) != 1 || p[0].Rule != "other-lock" || p[0].Path != file {
			t.Errorf("%.20s: problems %+v", text, p)
		}
	}
}

func FuzzParseOther(f *testing.F) {
	f.Add([]byte(lock))
	f.Add([]byte(`{"version": 3, "skills": {"a": {"source": "b/c", "skillPath": "..\\SKILL.md"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseOther(data)
		for name, origin := range all {
			if dir := folderOf(name); err != nil || !filepath.IsLocal(dir) || strings.ContainsAny(dir, `/\`) {
				t.Errorf("skill %q in %q, error %v", name, dir, err)
			}
			if strings.ContainsAny(origin.From+origin.Ref+origin.Path, "\n\x1b") {
				t.Errorf("skill %q is from %+v", name, origin)
			}
		}
	})
}
