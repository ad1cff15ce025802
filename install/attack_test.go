package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestNothingRuns: nothing in a repository, and nothing that the user's own configuration
// says about hooks, filters and the like, runs a program or leads out of the repository.
func TestNothingRuns(t *testing.T) {
	repo := repository(t, "cat", "dog")
	traps := t.TempDir()
	trap := func(name string) string { // a program that leaves a file when it runs
		file := filepath.Join(traps, name+".sh")
		must.Write(t, file, "#!/bin/sh\necho ran > "+filepath.Join(traps, name+".ran")+"\ncat\n")
		must.Do(t, os.Chmod(file, 0o755))
		return file
	}
	hooks, templates := filepath.Join(traps, "hooks"), filepath.Join(traps, "templates")
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "post-index-change"} {
		for _, dir := range []string{hooks, filepath.Join(templates, "hooks"), filepath.Join(repo, ".git", "hooks")} {
			must.Write(t, filepath.Join(dir, hook), "#!/bin/sh\necho ran > "+filepath.Join(traps, hook+".ran")+"\n")
			must.Do(t, os.Chmod(filepath.Join(dir, hook), 0o755))
		}
	}
	other := t.TempDir()
	gitIn(t, other, "init", "--quiet", "--initial-branch=main")
	skills(t, other, "hidden")
	record(t, other, "hidden")
	must.Write(t, filepath.Join(repo, ".gitattributes"), "*.sh filter=evil\n*.md filter=evil diff=evil merge=evil ident\n")
	must.Write(t, filepath.Join(repo, ".gitmodules"), "[submodule \"skills/sub\"]\n\tpath = skills/sub\n\turl = file://"+other+"\n\tupdate = !"+trap("submodule")+"\n")
	gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+gitIn(t, other, "rev-parse", "HEAD")+",skills/sub")
	gitIn(t, repo, "add", ".gitattributes", ".gitmodules")
	gitIn(t, repo, "commit", "--quiet", "--message", "traps")
	for key, program := range map[string]string{
		"core.fsmonitor": trap("fsmonitor"), "filter.evil.smudge": trap("smudge"), "filter.evil.process": trap("process"), "filter.evil.clean": trap("clean"),
		"diff.evil.command": trap("diff"), "diff.evil.textconv": trap("textconv"), "core.askPass": trap("askpass"), "core.pager": trap("pager"),
		"core.editor": trap("editor"), "core.hooksPath": hooks, "init.templateDir": templates, "submodule.recurse": "true", "protocol.ext.allow": "always",
		"filter.evil.required": "true", "merge.evil.driver": trap("driver"),
	} {
		gitIn(t, repo, "config", "--global", key, program)
	}
	ran := func() []string {
		files, err := filepath.Glob(filepath.Join(traps, "*.ran"))
		must.Do(t, err)
		for _, f := range files {
			must.Do(t, os.Remove(f))
		}
		return files
	}
	ran() // when the repository was made
	in := installer(t, nil)
	r, err := in.Install(t.Context(), Request{Source: "file://" + repo, All: true}, &caller{})
	if must.Do(t, err); summary(r) != "cat add, dog add, sub refuse" {
		t.Error(summary(r))
	}
	clean(t, in, "cat", "dog")
	if files := ran(); len(files) > 0 {
		t.Errorf("these ran: %q", files)
	}
	exec.Command("git", "clone", "--quiet", "file://"+repo, t.TempDir()).Run() // it may fail: the filters do not work
	if files := ran(); len(files) < 2 {
		t.Errorf("of the traps only %q work", files)
	}
}

// TestLinks: a link in a source brings in nothing from outside of the source.
func TestLinks(t *testing.T) {
	secret := skills(t, t.TempDir(), "secret")
	repo := repository(t, "ape", "bat", "cat", "dog", "owl")
	for link, to := range map[string]string{
		"skills/ape/SKILL.md": filepath.Join(secret, "secret", "SKILL.md"), "skills/bat/config": "../../.git/config",
		"skills/cat/notes.md": "../../out/passwd", "out": "/etc", "skills/dog/more": secret, "skills/away": filepath.Join(secret, "secret"), "skills/loop": "..",
	} {
		link = filepath.Join(repo, link)
		os.Remove(link)
		must.Do(t, os.Symlink(to, link))
	}
	record(t, repo, "links")
	for _, source := range []string{"file://" + repo, repo} {
		in := installer(t, nil)
		r, err := in.Install(t.Context(), Request{Source: source, All: true}, &caller{})
		must.Do(t, err)
		if got := summary(r); got != "ape refuse, bat refuse, cat refuse, dog refuse, owl add" {
			t.Fatal(got)
		}
		for i, want := range []string{secret, "no part of a skill", `"/etc", outside of its source`, secret} {
			if c := r.Changes[i]; !strings.Contains(c.Reason, "it is a symbolic link that leads to") || !strings.Contains(c.Reason, want) {
				t.Errorf("%s: %s", c.Name, c.Reason)
			}
		}
		clean(t, in, "owl")
	}
}

// TestArguments: no source and no ref becomes an option of git, or another program.
func TestArguments(t *testing.T) {
	gitEnvFor(t)
	in := installer(t, nil)
	for source, want := range map[string]string{
		"--upload-pack=touch /tmp/x":         "it begins with a hyphen",
		"ext::sh -c touch% /tmp/x":           "could run any program",
		"git+ext::sh":                        "could run any program",
		"ssh://-oProxyCommand=touch/x":       "is no host",
		"ssh://-oProxyCommand=touch@host/x":  "is no host",
		"-oProxyCommand=x@host:repo":         "begins with a hyphen",
		"git@-oProxyCommand=x:repo":          "this is no source",
		"git@host:-repo":                     "this is no source",
		"http://example.com/o/r":             "use https",
		"git://example.com/o/r":              "use https, ssh or file",
		"https://user:password@host/o/r":     "holds a password",
		"https://host/o/r#--upload-pack=x":   "is no name of a branch",
		"file://host/o/r":                    "a file URL is file:///path",
		"owner/repo/../../x":                 "no folder of a source",
		"owner/repo/.git":                    "no folder of a source",
		"owner/repo#v1@--x":                  "this is no source",
		"https://github.com/o/r/tree/-x/sub": "names no branch",
		"":                                   "it is empty",
		"a\x00b/c":                           "control characters",
	} {
		_, err := in.Install(t.Context(), Request{Source: source}, &caller{})
		says(t, err, want)
	}
	for _, ref := range []string{"--upload-pack=x", "a..b", "a b", "a:b", "HEAD~1", "x@{1}", "^main", "a\nb"} {
		_, err := in.Install(t.Context(), Request{Source: "owner/repo", Ref: ref}, &caller{})
		says(t, err, "is no name of a branch, a tag or a commit")
	}
	if _, err := os.Lstat(in.dir); err == nil {
		t.Errorf("%s was made", in.dir)
	}
}
