package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Version is what a ref leads to.
type Version struct {
	Ref    string // as people name it; "" means the default branch
	Sub    string // folder that a page shows; "" means all
	Name   string // full name of the ref, such as refs/tags/v1; a commit if nobody advertises it
	Commit string // "" if it is not known yet
}

// Resolve asks the server what a ref is; "" and HEAD mean the default branch. A tag wins over a
// branch, as everywhere in git. If page is not empty, it names the ref: it is REF/FOLDER, and
// the longest ref that is there wins.
func (r Repo) Resolve(ctx context.Context, ref, page string) (Version, error) {
	all := []Version{{Ref: ref}}
	if page != "" {
		all = partings(page)
	} else if err := CheckRef(ref); err != nil {
		return Version{}, err
	}
	var names []string
	for _, v := range all {
		names = append(names, v.names()...)
		if branch, ok := strings.CutPrefix(v.Ref, Heads); ok {
			names = append(names, Tags+branch)
		}
	}
	refs, err := r.remote(ctx, names...)
	if err != nil {
		return Version{}, err
	}
	for _, v := range all {
		for _, name := range v.names() {
			object, ok := refs[name]
			if !ok {
				continue
			}
			if v.Name, v.Commit = name, object; refs[name+"^{}"] != "" {
				v.Commit = refs[name+"^{}"]
			}
			if page != "" {
				v.Ref = v.short(refs)
			}
			return v, nil
		}
		if isCommit(v.Ref) {
			v.Name, v.Commit = v.Ref, v.Ref
			return v, nil
		}
	}
	return Version{}, r.unknown(ctx, cmp.Or(page, ref))
}

// Where a repository has its branches and tags.
const (
	Heads = "refs/heads/"
	Tags  = "refs/tags/"
)

// ShortRef returns the name of a branch or tag as people type it.
func ShortRef(name string) string { return strings.TrimPrefix(strings.TrimPrefix(name, Heads), Tags) }

// partings returns what a page may show, the longest ref first. No ref has very many parts.
func partings(page string) (all []Version) {
	const most = 32
	for end := range page + "/" {
		if end < len(page) && page[end] != '/' || len(all) == most || CheckRef(page[:end]) != nil {
			continue
		}
		all = append(all, Version{Ref: page[:end], Sub: strings.TrimPrefix(page[end:], "/")})
	}
	slices.Reverse(all)
	return all
}

// names returns the full names that the ref of a version may have, the best first.
func (v Version) names() []string {
	switch {
	case v.Ref == "", v.Ref == "HEAD":
		return []string{"HEAD"}
	case strings.HasPrefix(v.Ref, "refs/"):
		return []string{v.Ref}
	}
	return []string{Tags + v.Ref, Heads + v.Ref}
}

// short returns the ref as people name it, given all refs that it may be taken for.
func (v Version) short(refs map[string]string) string {
	if tag, ok := strings.CutPrefix(v.Ref, Tags); ok {
		return tag
	}
	if branch, ok := strings.CutPrefix(v.Ref, Heads); ok && refs[Tags+branch] == "" {
		return branch
	}
	if v.Ref == "HEAD" {
		return ""
	}
	return v.Ref
}

// remote returns the objects of refs on the server.
func (r Repo) remote(ctx context.Context, names ...string) (map[string]string, error) {
	args := []string{"ls-remote", "--", r.url}
	for _, name := range names {
		args = append(args, name, name+"^{}")
	}
	out, err := r.Run(ctx, args...)
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
func (r Repo) unknown(ctx context.Context, ref string) error {
	refs, err := r.remote(ctx, Tags+"*", Heads+"*")
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		return errors.New("the repository is empty")
	}
	var names []string
	for name := range refs {
		if !strings.HasSuffix(name, "^{}") {
			names = append(names, ShortRef(name))
		}
	}
	slices.Sort(names)
	if first, _, _ := strings.Cut(ref, "/"); ref == "" || first == "HEAD" {
		return fmt.Errorf("its default branch is missing: HEAD leads to none; %s; choose one with --ref, such as --ref %s", words.ThereAre(names), names[0])
	}
	hint := ""
	if similar := words.Similar(ref, names); len(similar) > 0 {
		hint = "; " + words.DidYouMean(similar)
	} else if len(names) > 0 {
		hint = "; " + words.ThereAre(names)
	}
	if isHex(ref) {
		hint += "; a commit is named with all of its 40 digits"
	}
	if strings.Contains(ref, "/") {
		return fmt.Errorf("the repository has no branch or tag %q, nor one with which this begins%s", ref, hint)
	}
	return fmt.Errorf("the repository has no branch or tag %q%s", ref, hint)
}

func isCommit(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

func isHex(s string) bool { return len(s) > 6 && strings.Trim(s, "0123456789abcdef") == "" }

// Fetch gets a version, without its history and, where the server can do that, without the
// contents of its files. It returns the commit.
func (r Repo) Fetch(ctx context.Context, v Version) (string, error) {
	init := Repo{allowed: r.allowed, most: r.most}
	if _, err := init.Run(ctx, "init", "--quiet", "--template=", "--", r.dir); err != nil {
		return "", err
	}
	info := filepath.Join(r.dir, ".git", "info")
	if err := errors.Join(os.MkdirAll(info, 0o700), os.WriteFile(filepath.Join(info, "attributes"), []byte(noFilters), 0o600)); err != nil {
		return "", err
	}
	if _, err := r.Run(ctx, "config", "remote.origin.url", r.url); err != nil {
		return "", err
	}
	if _, err := r.Run(ctx, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"origin", "+"+v.Name+":"+fetchedRef); err != nil {
		return "", err
	}
	out, err := r.Run(ctx, "rev-parse", "--verify", "--quiet", fetchedRef+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// fetchedRef names what was fetched.
const fetchedRef = "refs/repertoire/fetched"

// Checkout writes the files of a commit, or some of its files and folders; "." is all of it. Of a path
// that the commit does not have, a link on the way is written, if there is one. It refuses files that are
// too large together before it writes any. Of the submodules, it writes those that Trees has fetched.
func (r Repo) Checkout(ctx context.Context, commit string, paths []string) error {
	t, err := r.list(ctx, commit, paths)
	if err != nil {
		return err
	}
	sum, err := r.write(ctx, commit, paths, t)
	if err != nil {
		return err
	}
	modules, _, err := r.modules(ctx, commit, paths, &t, false)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if m.isUnused(t.skills) {
			continue
		}
		if err := m.prepare(r.dir); err != nil {
			return err
		}
		m.most = r.most - sum
		n, err := m.write(ctx, m.commit, m.subs, m.has)
		if err != nil {
			return err
		}
		sum += n
	}
	return nil
}

// write writes files and folders of a repository itself, given their listing, and returns their bytes.
func (r Repo) write(ctx context.Context, commit string, paths []string, t listing) (sum int64, err error) {
	if len(paths) == 0 || slices.Contains(paths, ".") {
		paths = []string{"."}
	} else if paths, err = r.present(ctx, commit, paths, &t); err != nil {
		return 0, err
	}
	if len(paths) == 0 || len(t.files) == 0 {
		return 0, nil // to git, no path is all of it
	}
	if err := r.complete(ctx, commit, t.files); err != nil {
		return 0, err
	}
	if sum, err = r.checkSum(ctx, t.files); err != nil {
		return 0, err
	}
	_, err = r.run(ctx, strings.Join(paths, "\x00"), "checkout", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", commit)
	return sum, err
}

// present returns which of some paths a commit has. For a path that it lacks, it returns the link that stands
// on the way to it, if there is one, and adds that to the listing.
func (r Repo) present(ctx context.Context, commit string, paths []string, t *listing) (there []string, err error) {
	var missing []string
	for _, name := range paths {
		if t.trees[name] != "" || t.singles[name] {
			there = append(there, name)
		} else {
			missing = append(missing, name)
		}
	}
	err = r.above(ctx, commit, missing, func(line string) error {
		about, name, _ := strings.Cut(line, "\t")
		if object, ok := strings.CutPrefix(about, linkMode); ok && !slices.Contains(there, name) {
			there = append(there, name)
			t.files[object]++
		}
		return nil
	})
	return there, err
}

// above calls visit with what git lists of the folders that some paths lie in: those that are links or
// submodules have no paths of their own in a commit.
func (r Repo) above(ctx context.Context, commit string, paths []string, visit func(line string) error) error {
	var dirs []string
	for _, name := range paths {
		for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	slices.Sort(dirs)
	return r.each(ctx, 0, "", append([]string{"ls-tree", "-z", commit, "--"}, slices.Compact(dirs)...), visit)
}

// linkMode is how ls-tree begins the line of a symbolic link.
const linkMode = "120000 blob "

// complete fetches the contents of files that Fetch has left out, all at once.
func (r Repo) complete(ctx context.Context, commit string, files map[string]int64) error {
	var missing strings.Builder
	list := []string{"rev-list", "--objects", "--no-object-names", "--missing=print", "--max-count=1", commit}
	err := r.each(ctx, '\n', "", list, func(line string) error {
		if object, ok := strings.CutPrefix(line, "?"); ok && files[object] > 0 {
			fmt.Fprintln(&missing, object)
		}
		return nil
	})
	if err != nil || missing.Len() == 0 {
		return err
	}
	_, err = r.run(ctx, missing.String(), "fetch", "--quiet", "--filter=blob:none", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--stdin", "origin")
	return err
}

// checkSum refuses files that have too many bytes together. One content can be in thousands
// of files, and all of them in a pack of a few hundred bytes.
func (r Repo) checkSum(ctx context.Context, files map[string]int64) (sum int64, err error) {
	objects := strings.Join(slices.Collect(maps.Keys(files)), "\n") + "\n"
	err = r.each(ctx, '\n', objects, []string{"cat-file", "--batch-check=%(objectname) %(objectsize)"}, func(line string) error {
		object, size, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return fmt.Errorf("the server did not send the contents of all files (%s); try again", line)
		}
		if n > r.most || n*files[object] > r.most-sum { // n*files[object] does not overflow: maxTree bounds files
			return fmt.Errorf("its files have more than %d bytes; name one of its folders", r.most)
		}
		sum += n * files[object]
		return nil
	})
	return sum, err
}

// A listing is what a commit has, or some folders in it.
type listing struct {
	trees   map[string]string // objects of folders by their paths; of a folder with links it is the commit, as what they lead to may change
	skills  []string          // paths of the SKILL.md files
	files   map[string]int64  // objects of files, with the number of files that have this content
	singles map[string]bool   // paths that were asked for and are files
	links   map[string]string // commits of submodules by their paths
}

// Trees returns the folders of a commit, or of some folders in it, with their objects, which
// differ if anything in the folders differs, or anything to which they have links, and the paths of
// the SKILL.md files. It needs the contents of no file. Submodules that may have skills, or files
// of one, are fetched; missing says why some are not there, by their paths.
func (r Repo) Trees(ctx context.Context, commit string, subs []string) (trees map[string]string, skills []string, missing map[string]error, err error) {
	t, err := r.list(ctx, commit, subs)
	if err == nil {
		_, missing, err = r.modules(ctx, commit, subs, &t, true)
	}
	return t.trees, t.skills, missing, err
}

// Added returns the folders with a SKILL.md that a fetched commit has, and another commit has not.
func (r Repo) Added(ctx context.Context, commit, other string) ([]string, error) {
	if !isCommit(other) {
		return nil, fmt.Errorf("%q is no commit", other)
	}
	if _, err := r.Run(ctx, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "origin", other); err != nil {
		return nil, err
	}
	before, err := r.list(ctx, other, nil)
	if err != nil {
		return nil, err
	}
	had := make(map[string]bool, len(before.skills))
	for _, file := range before.skills {
		had[path.Dir(file)] = true
	}
	now, err := r.list(ctx, commit, nil)
	var added []string
	for _, file := range now.skills {
		if dir := path.Dir(file); !had[dir] {
			added, had[dir] = append(added, dir), true
		}
	}
	return added, err
}

// maxArgs bounds the paths in the arguments of a command: systems do.
const maxArgs = 256

// list refuses a version with more files and folders than maxTree. It stops to read there, so
// that it comes to an end.
func (r Repo) list(ctx context.Context, commit string, subs []string) (listing, error) {
	args := []string{"ls-tree", "-r", "-t", "-z", commit, "--"}
	asked := make(map[string]bool, len(subs))
	for _, sub := range subs {
		asked[sub] = true
	}
	all := len(subs) == 0 || asked["."]
	if !all && len(subs) <= maxArgs {
		args = append(args, subs...)
	}
	t, n := listing{trees: map[string]string{".": commit}, files: make(map[string]int64), singles: make(map[string]bool), links: make(map[string]string)}, 0 // "." is for a skill that is the whole repository
	err := r.each(ctx, 0, "", args, func(line string) error {
		if n++; n > maxTree {
			return fmt.Errorf("the repository has more than %d files and folders; name one of its folders", maxTree)
		}
		about, name, _ := strings.Cut(line, "\t")
		if object, ok := strings.CutPrefix(about, "040000 tree "); ok {
			t.trees[name] = object
			return nil
		}
		if !all && !isIn(name, asked) {
			return nil
		}
		t.link(line)
		if strings.HasPrefix(about, linkMode) {
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				t.trees[dir] = commit
			}
		}
		if _, object, ok := strings.Cut(about, " blob "); ok {
			t.files[object]++
			if asked[name] {
				t.singles[name] = true
			}
		}
		if slices.Contains(skill.FileNames, path.Base(name)) {
			t.skills = append(t.skills, name)
		}
		return nil
	})
	return t, err
}

// isIn reports whether a path or a folder above it is one of some.
func isIn(name string, some map[string]bool) bool {
	for ; name != "."; name = path.Dir(name) {
		if some[name] {
			return true
		}
	}
	return false
}

// Tag returns the text of the fetched tag, with its signature. It is the text of the commit
// if the tag is a mere name of one.
func (r Repo) Tag(ctx context.Context) (string, error) {
	out, err := r.Run(ctx, "cat-file", "-p", fetchedRef)
	return string(out), err
}

// VerifyTag lets git check the signature of the fetched tag. signers is a file with the SSH
// keys that may sign, see ssh-keygen. For other signatures, status is what gpg says.
func (r Repo) VerifyTag(ctx context.Context, signers string) (status string, err error) {
	cmd, stderr, err := r.command(ctx, []string{"-c", "gpg.ssh.allowedSignersFile=" + signers, "-c", "gpg.ssh.revocationFile=", "verify-tag", "--raw", fetchedRef})
	if err != nil {
		return "", err
	}
	err = r.failure(ctx, "verify-tag", cmd.Run(), stderr)
	return stderr.String(), err
}

// CheckRef checks the name of a branch, tag or commit.
func CheckRef(ref string) error {
	if strings.HasPrefix(ref, "-") || strings.Contains(ref, "..") || strings.ContainsFunc(ref, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\+@{`, r)
	}) || strings.HasSuffix(ref, ".lock") || strings.HasSuffix(ref, "/") {
		return fmt.Errorf("%q is no name of a branch, a tag or a commit", ref)
	}
	return nil
}
