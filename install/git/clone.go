package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A Clone is a repository of the user, in which a folder is. Nothing that is checked out there
// changes.
type Clone struct {
	repo   Repo
	prefix string // of the folder, slash-separated; "" means the top
	head   string // commit that was checked out when it was opened
}

// ErrNoRepository means that a folder is in no repository.
var ErrNoRepository = errors.New("it is in no git repository")

// A File is a file in a commit.
type File struct {
	Data []byte
	Mode fs.FileMode // 0o755 for a script, else 0o644; of others it counts whether they run
}

// OpenClone returns the repository in which a folder is.
func OpenClone(ctx context.Context, dir string) (*Clone, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Clone{repo: Repo{dir: dir, allowed: "https:ssh:http:git:file", most: math.MaxInt64}}
	prefix, err := c.run(ctx, "", nil, "rev-parse", "--show-prefix")
	switch {
	case err != nil && strings.Contains(err.Error(), "not a git repository"):
		return nil, fmt.Errorf("%s: %w", dir, ErrNoRepository)
	case err != nil:
		return nil, err
	}
	c.prefix = strings.TrimSuffix(strings.TrimSpace(prefix), "/")
	if c.head, err = c.line(ctx, "", nil, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return nil, fmt.Errorf("%s: its repository has no commit", dir)
	}
	return c, nil
}

// run returns what git prints. env is added to its environment.
func (c *Clone) run(ctx context.Context, stdin string, env []string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	cmd, stderr, err := c.repo.command(ctx, args)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Env = strings.NewReader(stdin), &out, append(cmd.Env, env...)
	err = c.repo.failure(ctx, args[0], cmd.Run(), stderr)
	return out.String(), err
}

// line is run for one line.
func (c *Clone) line(ctx context.Context, stdin string, env []string, args ...string) (string, error) {
	out, err := c.run(ctx, stdin, env, args...)
	return strings.TrimSpace(out), err
}

// Files returns the files that the commit has below a folder of the Clone's folder, by
// their path in it; none if there is no such folder.
func (c *Clone) Files(ctx context.Context, dir string) (map[string]File, error) {
	top := path.Join(c.prefix, dir)
	args := []string{"ls-tree", "-r", "-z", "--full-tree", c.head}
	if top != "" {
		args = append(args, "--", top+"/")
	}
	list, err := c.run(ctx, "", nil, args...)
	if err != nil {
		return nil, err
	}
	files, names, hashes := make(map[string]File), []string{}, ""
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(about) // mode, type, hash
		if !ok || len(fields) != 3 {
			continue
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(name, top), "/")
		mode := fs.FileMode(0o644)
		switch fields[0] {
		case "100755":
			mode = 0o755
		case "100644":
		default:
			return nil, fmt.Errorf("%s is a link or a submodule", name)
		}
		files[rel] = File{Mode: mode}
		names, hashes = append(names, rel), hashes+fields[2]+"\n"
	}
	if len(names) == 0 {
		return nil, nil
	}
	out, err := c.run(ctx, hashes, nil, "cat-file", "--batch")
	r := bufio.NewReader(strings.NewReader(out))
	for _, name := range names {
		head, failed := r.ReadString('\n') // hash, type, size
		fields := strings.Fields(head)
		if err = cmp.Or(err, failed); err != nil || len(fields) != 3 {
			return nil, cmp.Or(err, fmt.Errorf("git cat-file says %q of %s", head, name))
		}
		n, failed := strconv.Atoi(fields[2])
		data := make([]byte, max(n, 0))
		_, short := io.ReadFull(r, data)
		if err = errors.Join(failed, short); err != nil {
			return nil, err
		}
		r.Discard(1)
		files[name] = File{data, files[name].Mode}
	}
	return files, nil
}

// Branch makes a branch with one commit on top of the one that is checked out, and returns the
// commit. changes are files below a folder of the Clone's folder; nil removes one.
// A branch of that name with the same files is taken as it is.
func (c *Clone) Branch(ctx context.Context, name, dir, message string, changes map[string]*File) (commit string, err error) {
	temp, err := os.MkdirTemp("", "repertoire-index")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	if _, err := c.run(ctx, "", index, "read-tree", c.head); err != nil {
		return "", err
	}
	var lines strings.Builder
	for file, f := range changes {
		at := path.Join(c.prefix, dir, file)
		if f == nil {
			fmt.Fprintf(&lines, "0 %0*d\t%s\x00", len(c.head), 0, at)
			continue
		}
		mode := "100644"
		if f.Mode&0o111 != 0 {
			mode = "100755"
		}
		hash, err := c.line(ctx, string(f.Data), nil, "hash-object", "-w", "--stdin", "--no-filters")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "%s %s\t%s\x00", mode, hash, at)
	}
	if _, err := c.run(ctx, lines.String(), index, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := c.line(ctx, "", index, "write-tree")
	if err != nil {
		return "", err
	}
	ref := Heads + name
	if there, err := c.line(ctx, "", nil, "rev-parse", "--verify", "--quiet", ref); err == nil {
		if has, err := c.line(ctx, "", nil, "rev-parse", there+"^{tree}"); err == nil && has == tree {
			return there, nil
		}
		return "", fmt.Errorf("there is a branch %s with other files; remove it with \"git branch -D %s\" if nobody needs it", name, name)
	}
	if commit, err = c.line(ctx, message, nil, "commit-tree", tree, "-p", c.head, "-F", "-"); err != nil {
		return "", err
	}
	_, err = c.run(ctx, "", nil, "update-ref", ref, commit, "")
	return commit, err
}

// Push brings a branch to a remote.
func (c *Clone) Push(ctx context.Context, remote, branch string) error {
	out, err := c.run(ctx, "", nil, "push", "--porcelain", "--", remote, Heads+branch)
	if _, said, ok := strings.Cut(out, "!\t"); err != nil && ok { // which refs, and why
		said, _, _ = strings.Cut(said, "\n")
		err = fmt.Errorf("git push: it was refused: %s", tidy.Line(said))
	}
	return err
}
