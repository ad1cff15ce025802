package install

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// ErrNoGit means that the git command is not on this machine.
var ErrNoGit = errors.New("git is not installed, or not in PATH; install it, or name a folder or an archive (.zip, .tar.gz) instead")

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
	"gc.auto=0",
	"maintenance.auto=false",
	"advice.detachedHead=false",
	"checkout.workers=1",
	"http.lowSpeedLimit=1", // a server that says nothing for a minute is given up
	"http.lowSpeedTime=60",
}

// noFilters overrides the attributes of a repository: no file goes through a filter, which
// is a program (Git LFS is one), and no file is converted.
const noFilters = "* -filter -text -eol -ident -working-tree-encoding -diff -merge\n"

// A repo is a repository that is being fetched.
type repo struct {
	url     string
	dir     string // of the checkout; "" means none yet
	allowed string // protocols, separated by colons
}

func newRepo(s Source, dir string) repo {
	r := repo{url: strings.TrimPrefix(s.Origin, "git+"), dir: dir, allowed: "https:ssh"} // "insteadOf" may turn one into the other
	for _, scheme := range []string{"file", "http"} {
		if strings.HasPrefix(r.url, scheme+"://") {
			r.allowed += ":" + scheme
		}
	}
	return r
}

// git runs the git command and returns what it prints. No command asks a question.
func (r repo) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd, stderr, err := r.command(ctx, args)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	return out, r.failure(ctx, args[0], err, stderr)
}

func (r repo) command(ctx context.Context, args []string) (*exec.Cmd, *bytes.Buffer, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, nil, ErrNoGit
	}
	var all []string
	for _, c := range gitConfig {
		all = append(all, "-c", c)
	}
	if r.dir != "" {
		all = append(all, "-C", r.dir)
	}
	cmd := exec.CommandContext(ctx, program, append(all, args...)...)
	cmd.Env = append(gitEnv(os.Environ()), "GIT_ALLOW_PROTOCOL="+r.allowed)
	cmd.WaitDelay = 5 * time.Second
	detach(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr, nil
}

// gitEnv returns the environment without what makes git work on another repository, use
// another configuration, or ask somebody.
func gitEnv(env []string) []string {
	drop := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF", "GIT_ATTR_SOURCE", "GIT_ASKPASS",
		"SSH_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER", "GIT_LFS_SKIP_SMUDGE", "LC_ALL", "LANGUAGE"}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(drop, name)
	})
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_LFS_SKIP_SMUDGE=1", "GIT_PAGER=cat", "LC_ALL=C")
}

// failure returns the error of a git command, with what git said about it.
func (r repo) failure(ctx context.Context, what string, err error, stderr *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := lastWords(stderr.String())
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
	lines := strings.Split(strings.TrimSpace(words.Clean(stderr)), "\n")
	for _, start := range []string{"fatal: ", "ERROR: ", "error: "} {
		for _, line := range lines {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "remote: "), start); ok {
				return words.Shorten(rest, 300)
			}
		}
	}
	return words.Shorten(lines[len(lines)-1], 300)
}

// A version is what a ref leads to.
type version struct {
	name   string // full name of the ref, such as refs/tags/v1; a commit if nobody advertises it
	object string // what the ref is; a tag of its own is not the commit
	commit string // "" if it is not known yet
}

// resolve asks the server what a ref is. A tag wins over a branch, as everywhere in git.
func (r repo) resolve(ctx context.Context, ref string) (version, error) {
	if err := CheckRef(ref); err != nil {
		return version{}, err
	}
	names := []string{"HEAD"}
	switch {
	case strings.HasPrefix(ref, "refs/"):
		names = []string{ref}
	case ref != "":
		names = []string{"refs/tags/" + ref, "refs/heads/" + ref}
	}
	refs, err := r.remote(ctx, names...)
	if err != nil {
		return version{}, err
	}
	for _, name := range names {
		if object, ok := refs[name]; ok {
			v := version{name, object, object}
			if peeled, ok := refs[name+"^{}"]; ok {
				v.commit = peeled
			}
			return v, nil
		}
	}
	if isCommit(ref) {
		return version{ref, ref, ref}, nil
	}
	return version{}, r.unknown(ctx, ref)
}

// remote returns the objects of refs on the server.
func (r repo) remote(ctx context.Context, names ...string) (map[string]string, error) {
	args := []string{"ls-remote", "--", r.url}
	for _, name := range names {
		args = append(args, name, name+"^{}")
	}
	out, err := r.git(ctx, args...)
	if err != nil {
		return nil, err
	}
	refs := make(map[string]string)
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if object, name, ok := strings.Cut(s.Text(), "\t"); ok {
			refs[name] = object
		}
	}
	return refs, nil
}

// unknown returns the error for a ref that the server does not have.
func (r repo) unknown(ctx context.Context, ref string) error {
	refs, err := r.remote(ctx, "refs/tags/*", "refs/heads/*")
	if err != nil {
		return err
	}
	if ref == "" {
		return errors.New("the repository is empty")
	}
	var names []string
	for name := range refs {
		if !strings.HasSuffix(name, "^{}") {
			names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/"))
		}
	}
	slices.Sort(names)
	hint := ""
	if similar := words.Similar(ref, names); len(similar) > 0 {
		hint = "; " + words.DidYouMean(similar)
	} else if len(names) > 0 {
		hint = "; there are: " + list(names)
	}
	if isHex(ref) {
		hint += "; a commit is named with all of its 40 digits"
	}
	return fmt.Errorf("the repository has no branch or tag %q%s", ref, hint)
}

func isCommit(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

func isHex(s string) bool { return len(s) > 6 && strings.Trim(s, "0123456789abcdef") == "" }

// fetch gets a version, without its history and, where the server can do that, without the
// contents of its files. It returns the commit.
func (r repo) fetch(ctx context.Context, v version) (string, error) {
	init := repo{allowed: r.allowed}
	if _, err := init.git(ctx, "init", "--quiet", "--template=", "--", r.dir); err != nil {
		return "", err
	}
	info := filepath.Join(r.dir, ".git", "info")
	if err := errors.Join(os.MkdirAll(info, 0o700), os.WriteFile(filepath.Join(info, "attributes"), []byte(noFilters), 0o600)); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "config", "remote.origin.url", r.url); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"origin", "+"+v.name+":"+fetchedRef); err != nil {
		return "", err
	}
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", fetchedRef+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// fetchedRef names what was fetched.
const fetchedRef = "refs/repertoire/fetched"

// checkout writes the files of a commit, or of some folders in it.
func (r repo) checkout(ctx context.Context, commit string, subs []string) error {
	if len(subs) > 0 && !slices.Contains(subs, ".") {
		args := append([]string{"sparse-checkout", "set", "--cone", "--"}, subs...)
		if _, err := r.git(ctx, args...); err != nil {
			return err
		}
	}
	_, err := r.git(ctx, "checkout", "--quiet", "--detach", commit, "--")
	return err
}

// trees returns the folders of a commit, or of some folders in it, with their objects, which
// differ if anything in the folders differs, and those that have a SKILL.md. It needs the
// contents of no file. It refuses a version with more files and folders than
// maxTree, and stops to read there, so that it comes to an end.
func (r repo) trees(ctx context.Context, commit string, subs []string) (trees map[string]string, dirs []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := []string{"ls-tree", "-r", "-t", "-z", commit, "--"}
	if !slices.Contains(subs, ".") {
		args = append(args, subs...)
	}
	cmd, stderr, err := r.command(ctx, args)
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	trees = map[string]string{".": commit} // for a skill that is the whole repository
	n := 0
	for buf := bufio.NewReader(out); n <= maxTree; n++ {
		line, err := buf.ReadString(0)
		if err != nil {
			break // the status of the command says more
		}
		about, name, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
		if object, ok := strings.CutPrefix(about, "040000 tree "); ok {
			trees[name] = object
		} else if slices.Contains(skill.FileNames, path.Base(name)) {
			dirs = append(dirs, path.Dir(name))
		}
	}
	if n > maxTree {
		cancel()
		cmd.Wait() // it was killed
		return nil, nil, fmt.Errorf("the repository has more than %d files and folders; name one of its folders", maxTree)
	}
	return trees, dirs, r.failure(ctx, "ls-tree", cmd.Wait(), stderr)
}
