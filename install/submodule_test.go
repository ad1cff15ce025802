package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// hosted makes repositories of one host, and returns its folder and its URL. The repository kit has
// the skill skills/cat, and as submodules skills/ext, which is a skill, skills/cat/data, files
// of a skill, and lib/many with two skills; further ones are given with their URLs.
func hosted(t *testing.T, more map[string]string) (dir, url string) {
	t.Helper()
	gitEnvFor(t)
	dir = t.TempDir()
	url = served(t, dir, 0)
	made := func(name string) string {
		repo := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(repo, 0o755))
		gitIn(t, repo, "init", "--quiet", "--initial-branch=main")
		gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
		return repo
	}
	kit, ext, data, many := made("kit"), made("ext"), made("data"), made("many")
	skills(t, filepath.Join(ext, ".."), "ext")
	must.Write(t, filepath.Join(data, "table.csv"), "a,b\n")
	skills(t, many, "dog", "owl")
	skills(t, filepath.Join(kit, "skills"), "cat")
	for name, at := range map[string]string{"ext": "skills/ext", "data": "skills/cat/data", "many": "lib/many"} {
		record(t, filepath.Join(dir, name), "first")
		link(t, kit, at, "../../"+name+"/.git", gitIn(t, filepath.Join(dir, name), "rev-parse", "HEAD"))
	}
	for at, url := range more {
		link(t, kit, at, url, gitIn(t, ext, "rev-parse", "HEAD"))
	}
	record(t, kit, "first")
	return dir, url + "/kit/.git"
}

// link adds a submodule to a repository, without fetching it.
func link(t *testing.T, repo, at, url, commit string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Join(repo, at), 0o755))
	gitIn(t, repo, "config", "--file", ".gitmodules", "submodule."+at+".path", at)
	gitIn(t, repo, "config", "--file", ".gitmodules", "submodule."+at+".url", url)
	gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+at)
}

// TestSubmodules: submodules of the same host are fetched where skills or their files lie in them, and
// updated with the repository.
func TestSubmodules(t *testing.T) {
	dir, url := hosted(t, map[string]string{"vendor/far": "https://far.example/x.git"})
	for _, c := range []struct {
		source string
		skills []string
		want   string
	}{
		{url, []string{"ext"}, "ext add"},
		{url, []string{"cat"}, "cat add"},
		{url, []string{"*"}, "cat add, ext add"}, // lib/many is not where the skills are
		{url + "/tree/main/lib", []string{"*"}, "dog add, owl add"},
		{url + "/tree/main/lib/many/owl", nil, "owl add"},
		{url + "/tree/main/skills/ext", nil, "ext add"},
	} {
		in := installer(t, nil)
		r, err := in.Install(t.Context(), Request{Source: c.source, Skills: c.skills}, &caller{})
		must.Do(t, err)
		slices.SortFunc(r.Changes, func(a, b *Change) int { return strings.Compare(a.Name, b.Name) })
		if got := summary(r); got != c.want || len(r.Changes[0].Findings) > 0 {
			t.Errorf("%s %q: %s, want %s; %v", c.source, c.skills, got, c.want, r.Changes[0].Findings)
		}
		locked, err := ReadLock(in.dir)
		must.Do(t, err)
		if _, cat := locked.Skills["cat"]; cat != exists(filepath.Join(in.dir, "cat", "data", "table.csv")) {
			t.Errorf("%q: the files of cat are not what they should be", c.skills)
		}
		if u, err := in.Update(t.Context(), Order{}, &caller{}); err != nil || strings.Contains(summary(u), "update") || u.Refused() > 0 {
			t.Errorf("%q: update says %s, %v", c.skills, summary(u), err)
		}
	}
	in := installer(t, nil)
	add(t, in, url, "ext", "cat")
	ext, kit := filepath.Join(dir, "ext"), filepath.Join(dir, "kit")
	must.Write(t, filepath.Join(ext, "SKILL.md"), doc("ext", "Is new."))
	record(t, ext, "second")
	link(t, kit, "skills/ext", "../../ext/.git", gitIn(t, ext, "rev-parse", "HEAD"))
	gitIn(t, kit, "commit", "--quiet", "--message", "second")
	u, err := in.Update(t.Context(), Order{}, &caller{})
	if must.Do(t, err); summary(u) != "cat unchanged, ext update" {
		t.Error(summary(u))
	}
	clean(t, in, "cat", "ext")
}

// TestSubmodulesElsewhere: a submodule on another host or on this machine is not fetched. A skill in it is
// refused, and a skill around it is installed with a warning; both say what to type.
func TestSubmodulesElsewhere(t *testing.T) {
	_, url := hosted(t, map[string]string{"skills/far": "git@far.example:o/x.git", "skills/near": "/etc", "skills/cat/more": "file:///etc", "skills/run": "ext::sh -c x"})
	in := installer(t, nil)
	r, err := in.Install(t.Context(), Request{Source: url, All: true}, &caller{})
	must.Do(t, err)
	got := make(map[string]string)
	for _, c := range r.Changes {
		got[c.Name] = string(c.Action) + " " + c.Reason
		for _, f := range c.Findings {
			got[c.Name] += f.Message
		}
	}
	for name, want := range map[string]string{
		"cat":  `add skills/cat/more is a submodule that is not fetched: its URL begins with file; "git clone --recurse-submodules" fetches it`,
		"ext":  "add ",
		"far":  `refuse it cannot be installed: skills/far is a submodule that is not fetched: it is on far.example, another host; "git clone --recurse-submodules"`,
		"near": "its URL is a path or a command of the machine of its author",
		"run":  ".gitmodules has no URL for it that is used here",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	clean(t, in, "cat", "ext")
	for _, source := range []string{url + "/tree/main/skills/far", url + "/tree/main/skills/far/pdf"} {
		_, err = in.Install(t.Context(), Request{Source: source}, &caller{})
		says(t, err, "skills/far is a submodule that is not fetched")
	}
}

// TestHostileModules: .gitmodules reads no file of this machine, and names no more than a few submodules.
func TestHostileModules(t *testing.T) {
	more := make(map[string]string)
	for i := range 40 {
		more[fmt.Sprintf("skills/n%02d", i)] = "https://far.example/x"
	}
	dir, url := hosted(t, more)
	secret := filepath.Join(t.TempDir(), "secret")
	must.Write(t, secret, "[submodule \"s\"]\n\tpath = skills/secret\n\turl = ../../ext/.git\n")
	kit := filepath.Join(dir, "kit")
	gitIn(t, kit, "config", "--file", ".gitmodules", "include.path", secret)
	commit := gitIn(t, filepath.Join(dir, "ext"), "rev-parse", "HEAD")
	must.Do(t, os.MkdirAll(filepath.Join(kit, "skills", "secret"), 0o755))
	gitIn(t, kit, "update-index", "--add", "--cacheinfo", "160000,"+commit+",skills/secret")
	gitIn(t, kit, "commit", "--quiet", "--all", "--message", "second")
	for name, want := range map[string]string{"secret": "there are more than 32", "n00": "another host", "n39": "there are more than 32"} {
		r, err := installer(t, nil).Install(t.Context(), Request{Source: url, Skills: []string{name}}, &caller{})
		if must.Do(t, err); r.Refused() != 1 || !strings.Contains(r.Changes[0].Reason, want) {
			t.Errorf("%s: %s %s, want %q", name, summary(r), r.Changes[0].Reason, want)
		}
	}
	_, err := installer(t, nil).Install(t.Context(), Request{Source: url + "/tree/main/skills/secret"}, &caller{})
	says(t, err, ".gitmodules has no URL for it")
}
