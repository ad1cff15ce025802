// Package git runs the git command on repositories that somebody else made.
//
// The one rule: nothing in a repository runs. No hook, filter or helper of it is used, and git
// asks nobody a question. Git itself never sees submodules: they are fetched as repositories of
// their own, from the same host.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// ErrMissing means that the git command is not on this machine.
var ErrMissing = errors.New("git is not installed, or not in PATH; install it, or name a folder or an archive (.zip, .tar.gz) instead")

// maxTree bounds the files and folders of a version of a repository. A repository of a few
// hundred bytes can have billions.
const maxTree = 200_000

// gitConfig turns off everything in a configuration that runs programs, except what
// connects to a server: core.sshCommand, credential.helper and the settings of proxies are
// the user's way to get at repositories. So the configuration of the user and the system
// is read, and this wins over it.
var gitConfig = []string{
	"core.hooksPath=" + os.DevNull,
	"core.fsmonitor=false",
	"core.attributesFile=" + os.DevNull,
	"core.autocrlf=false",
	"core.symlinks=true",
	"protocol.ext.allow=never",
	"submodule.recurse=false",
	"fetch.recurseSubmodules=false",
	"fetch.negotiationAlgorithm=noop", // there is no history that the server could build on
	"gc.auto=0",
	"maintenance.auto=false",
	"advice.detachedHead=false",
	"checkout.workers=1",
	"core.bigFileThreshold=16m", // larger files, which no skill has, are not held in memory
	"fetch.unpackLimit=1",       // what comes stays packed: many small files would be many large ones
	"http.lowSpeedLimit=1000",   // bytes a second: a server that sends less for a minute is given up
	"http.lowSpeedTime=60",
}

// noFilters overrides the attributes of a repository: no file goes through a filter, which
// is a program (Git LFS is one), and no file is converted.
const noFilters = "* -filter -text -eol -ident -working-tree-encoding -diff -merge\n"

// A Repo is a repository that is being fetched.
type Repo struct {
	url     string
	dir     string // of the checkout; "" means none yet
	tree    string // folder into which files are written; "" means dir
	allowed string // protocols, separated by colons
	most    int64  // bytes of what is fetched, and of what is checked out
}

// New returns the repository at a URL, of which at most a number of bytes is fetched, and as
// many are checked out.
func New(url string, most int64) Repo {
	r := Repo{url: strings.TrimPrefix(url, "git+"), allowed: "https:ssh", most: most} // "insteadOf" may turn one into the other
	for _, scheme := range []string{"file", "http"} {
		if strings.HasPrefix(r.url, scheme+"://") {
			r.allowed += ":" + scheme
		}
	}
	return r
}

// In returns the repository with the folder into which it is fetched.
func (r Repo) In(dir string) Repo {
	r.dir = dir
	return r
}

// Dir returns the folder into which the repository is fetched.
func (r Repo) Dir() string { return r.dir }

// Run runs the git command and returns what it prints. No command asks a question.
func (r Repo) Run(ctx context.Context, args ...string) ([]byte, error) {
	return r.run(ctx, "", args...)
}

func (r Repo) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	ctx, stop := r.watch(ctx)
	defer stop()
	cmd, stderr, err := r.command(ctx, args)
	if err != nil {
		return nil, err
	}
	var out whole
	cmd.Stdin, cmd.Stdout = strings.NewReader(stdin), &out
	if err = r.failure(ctx, args[0], cmd.Run(), stderr); err == nil {
		err = r.checkSize() // it may have ended before anybody looked
	}
	return out.Bytes(), err
}

func (r Repo) command(ctx context.Context, args []string) (*exec.Cmd, *tail, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, nil, ErrMissing
	}
	var all []string
	for _, c := range gitConfig {
		all = append(all, "-c", c)
	}
	if r.tree != "" {
		all = append(all, "-C", r.tree, "--work-tree=.", "--git-dir="+filepath.Join(r.dir, ".git"))
	} else if r.dir != "" {
		all = append(all, "-C", r.dir)
	}
	cmd := exec.CommandContext(ctx, program, append(all, args...)...)
	cmd.Env = append(gitEnv(os.Environ()), "GIT_ALLOW_PROTOCOL="+r.allowed)
	cmd.WaitDelay = 5 * time.Second
	detach(cmd)
	var stderr tail
	cmd.Stderr = &stderr
	return cmd, &stderr, nil
}

// gitEnv returns the environment without what makes git work on another repository, use
// another configuration, or ask somebody.
func gitEnv(env []string) []string {
	drop := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF", "GIT_ATTR_SOURCE", "GIT_ASKPASS",
		"SSH_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER", "GIT_LFS_SKIP_SMUDGE",
		"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "LC_ALL", "LANGUAGE"}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(drop, name)
	})
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_LFS_SKIP_SMUDGE=1", "GIT_LITERAL_PATHSPECS=1", "GIT_PAGER=cat", "LC_ALL=C")
}

// failure returns the error of a git command, with what git said about it.
func (r Repo) failure(ctx context.Context, what string, err error, stderr *tail) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	said := cmp.Or(lastWords(stderr.String()), err.Error())
	hint := ""
	for _, h := range []struct{ said, hint string }{
		{"could not resolve host", "check the name and the network"},
		{"failed to connect", "check the name and the network"},
		{"couldn't connect", "check the name and the network"},
		{"could not read username", "there is no such repository, or it needs a login: give one to git's credential helper, or use an ssh URL"},
		{"not our ref", "the repository has no such commit, or does not hand it out; name a branch or a tag"},
		{"not found", "check the name of the repository"},
		{"does not appear to be a git repository", "check the path; skills in a folder that is no repository are installed by its path, without file://"},
		{"does not exist", "check the name of the repository"},
		{"permission denied (publickey", "load your key into the ssh agent, and try: ssh -T git@HOST"},
		{"host key verification failed", "connect once with ssh to accept the key of the host"},
		{"early eof", "the connection was cut; try again"},
		{"unexpected disconnect", "the connection was cut; try again"},
		{"hung up", "the connection was cut; try again"},
		{"transfer closed", "the connection was cut; try again"},
		{"auto-detect", "say who makes commits: git config user.name NAME, and git config user.email ADDRESS"},
		{"empty ident name", "say who makes commits: git config user.name NAME"},
		{"dubious ownership", "run this as the owner of the repository, or: git config --global --add safe.directory FOLDER"},
		{"no space left", "make room on the disk of the installed skills"},
	} {
		if strings.Contains(strings.ToLower(stderr.String()), h.said) {
			hint = "; " + h.hint
			break
		}
	}
	return fmt.Errorf("git %s: %s%s", what, said, hint)
}

// lastWords returns the line in which git says why it ended.
func lastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(tidy.Clean(stderr)), "\n")
	for _, start := range []string{"fatal: ", "ERROR: ", "error: "} {
		for _, line := range lines {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "remote: "), start); ok {
				return tidy.Shorten(rest, 300)
			}
		}
	}
	return tidy.Shorten(lines[len(lines)-1], 300)
}
