package push

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestNormalRemote(t *testing.T) {
	for want, remotes := range map[string][]string{
		"git.example/team/skills": {
			"https://git.example/team/skills", "https://git.example/team/skills.git", "https://git.example/team/skills/", "https://git.example/team/skills.git/",
			"https://ann:secret@Git.Example:443/team/skills.git", "http://git.example:80/team/skills", "ssh://git@git.example/team/skills.git",
			"ssh://git@git.example:22/team/skills", "git@git.example:team/skills.git", "git.example:/team/skills/", "GIT.example:team/skills",
			"git+https://git.example/team/skills", "git+ssh://git@git.example/team/skills", "git://git.example:9418/team/skills", "https://git.example//team/./skills?token=x",
			" https://git.example/team/%73kills\n", "HTTPS://x@y@git.example/team/skills",
		},
		"git.example:8443/team/skills": {"https://git.example:8443/team/skills", "ssh://git@git.example:8443/team/skills.git"},
		"git.example/Team/skills":      {"git@git.example:Team/skills"},
		"git.example/":                 {"https://git.example", "https://git.example/"},
		"::1/x":                        {"https://[::1]/x", "git@[::1]:x", "ssh://[::1]:22/x.git"},
		"":                             {"", "/srv/skills.git", "../skills", "./a:b", "file:///srv/skills.git", "file://host/x", `C:\skills`, "C:/skills", "skills", "https://", "https:///x", "[", "]:", "@:x"},
	} {
		for _, remote := range remotes {
			if got, ok := normalRemote(remote); got != want || ok != (want != "") {
				t.Errorf("%q is %q, %t; want %q", remote, got, ok, want)
			}
		}
	}
}

func FuzzNormalRemote(f *testing.F) {
	for _, seed := range []string{"https://u:p@h:443/a.git/", "u@h:a/b", "[::1]:x", "file:///x", "git+ssh://h/~a", "https://h/%2e%2e/x?y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		normal, ok := normalRemote(remote)
		if ok != (normal != "") || strings.HasSuffix(normal, "/..") {
			t.Errorf("%q is %q, %t", remote, normal, ok)
		}
	})
}

func TestRemoteOf(t *testing.T) {
	for config, want := range map[string]string{
		"": "",
		"[core]\n\turl = x\n[remote \"origin\"]\n\turl = https://h/a\n\tpushurl = https://h/b\n":             "https://h/a",
		"[remote \"fork\"]\nurl=f\n[remote \"origin\"]\nURL =  \"o\"  \n[remote \"origin\"]\nurl = second\n": "o",
		"[Remote \"up\"]\r\n\turl = u # theirs\r\n[remote \"b\"]\r\n\turl = v\r\n":                           "u",
		"[branch \"main\"]\nremote = origin\n[remote \"origin\"]\nfetch = x\n":                               "",
	} {
		if got := remoteOf(config); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}

func FuzzRemoteOf(f *testing.F) {
	f.Add("[remote \"origin\"]\n\turl = https://h/a\n")
	f.Add("[remote \"a\"]\nurl = \"x\n[")
	f.Fuzz(func(t *testing.T, config string) {
		if got := remoteOf(config); strings.Contains(got, "\n") || !strings.Contains(config, got) {
			t.Errorf("%q is no value in %q", got, config)
		}
	})
}

// git runs git in a folder.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v, %s", args, err, out)
	}
}

// cloned makes a repository with a folder of skills, as a clone of a remote; "" means none.
func cloned(t *testing.T, remote string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	if remote != "" {
		git(t, dir, "remote", "add", "origin", remote)
	}
	must.Do(t, os.MkdirAll(filepath.Join(dir, "skills", "a"), 0o700))
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	return dir
}

// TestOrigin: clones of one repository have one origin on all machines; other folders and
// repositories have others, and folders without a remote differ on each machine.
func TestOrigin(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	home, other := t.TempDir(), t.TempDir()
	origin := func(state string, p Place) string {
		t.Helper()
		got, err := p.Origin(func() (string, error) { return state, nil })
		if err != nil || len(got.ID) != 32 || len(got.Repository) != 32 || got.ID == got.Repository {
			t.Fatalf("%+v: %+v, %v", p, got, err)
		}
		return got.ID
	}
	in := func(dir string, names ...string) Place {
		return Place{Dir: filepath.Join(append([]string{dir}, names...)...)}
	}
	https, ssh := cloned(t, "https://ann:secret@git.example/team/repo.git"), cloned(t, "git@git.example:team/repo")
	plain, local := cloned(t, ""), cloned(t, "/srv/repo.git")
	for _, repo := range []string{https, plain} {
		git(t, repo, "worktree", "add", "-q", filepath.Join(repo, "tree"))
		must.Do(t, os.MkdirAll(filepath.Join(repo, "tree", "skills"), 0o700))
	}
	git(t, plain, "submodule", "add", "-q", https, "module")
	git(t, filepath.Join(plain, "module"), "remote", "set-url", "origin", "ssh://git.example/team/repo")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(ssh, "skills"), link); err != nil {
		t.Skip(err)
	}
	skills := origin(home, in(https, "skills"))
	for what, p := range map[string]Place{
		"ssh": in(ssh, "skills"), "a worktree": in(https, "tree", "skills"), "a submodule": in(plain, "module", "skills"), "a link": in(link),
		"fetched": {Dir: t.TempDir(), Remote: "https://git.example/team/repo", Sub: "skills"}, "fetched, another way": {Remote: "git.example:team/repo.git", Sub: "skills/"},
	} {
		if got := origin(other, p); got != skills {
			t.Errorf("%s has another origin", what)
		}
	}
	seen := map[string]string{skills: "the folder"}
	for what, p := range map[string]Place{
		"the repository": in(https), "a folder in it": in(https, "skills", "a"), "another repository": in(cloned(t, "https://git.example/team/other"), "skills"),
		"a repository without a remote": in(plain, "skills"), "with a remote on this machine": in(local, "skills"), "no repository": in(t.TempDir()), "another folder": in(t.TempDir()),
		"an archive": {Dir: t.TempDir(), Remote: "/srv/skills.zip"}, "a site": {Remote: "https://git.example"},
	} {
		got := origin(home, p)
		if seen[got] != "" {
			t.Errorf("%s has the origin of %s", what, seen[got])
		}
		seen[got] = what
		if again := origin(home, p); again != got {
			t.Errorf("%s has another origin the next time", what)
		}
		_, elsewhere := normalRemote(p.Remote)
		elsewhere = elsewhere || strings.HasPrefix(p.Dir, https) || what == "another repository"
		if same := origin(other, p) == got; same != elsewhere {
			t.Errorf("%s: the same on another machine: %t", what, same)
		}
	}
	if got := origin(home, in(plain, "tree", "skills")); got != origin(home, in(plain, "skills")) {
		t.Error("a worktree without a remote has another origin")
	}
}

// TestMachineKey: programs that start at once have one key, and without a folder for it there
// is no origin.
func TestMachineKey(t *testing.T) {
	state := filepath.Join(t.TempDir(), "deep", "state")
	var keys sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			key, err := machineKey(state)
			if err != nil {
				t.Error(err)
			}
			keys.Store(key, true)
		})
	}
	all.Wait()
	n := 0
	keys.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d keys", n)
	}
	must.Do(t, os.WriteFile(filepath.Join(state, "push-key"), nil, 0o600))
	homeless := errors.New("no home")
	for want, state := range map[string]func() (string, error){
		"remove it": func() (string, error) { return state, nil }, "no home": func() (string, error) { return "", homeless },
	} {
		if _, err := (Place{Dir: t.TempDir()}).Origin(state); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := (Place{Remote: "host:x"}).Origin(func() (string, error) { return "", homeless }); err != nil {
		t.Errorf("a remote needs no key: %v", err)
	}
}
