package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// mostSubmodules bounds the submodules of a commit that are fetched. Their own submodules never are.
const mostSubmodules = 32

// A module is a submodule that was fetched.
type module struct {
	Repo
	at     string // its path
	commit string
	subs   []string // files and folders in it that are wanted; nil means all
	has    listing  // of these
}

// modules returns the submodules of a commit that may have skills of some folders, or files of one, and
// adds what they have to the listing t of these folders. If fetch is true, it fetches them, and says
// why some could not be fetched, by their paths.
func (r Repo) modules(ctx context.Context, commit string, subs []string, t *listing, fetch bool) (got []module, missing map[string]error, err error) {
	if err := r.above(ctx, commit, subs, func(line string) error { t.link(line); return nil }); err != nil {
		return nil, nil, err
	}
	own := slices.Clone(t.skills)
	links := slices.DeleteFunc(slices.Sorted(maps.Keys(t.links)), func(dir string) bool { return !mayHaveSkills(dir, subs, own) })
	if len(links) == 0 {
		return nil, nil, nil
	}
	urls, unread := map[string]string(nil), error(nil)
	if fetch {
		urls, unread = r.moduleURLs(ctx, commit)
	}
	missing = make(map[string]error)
	for i, dir := range links {
		m := r.module(dir, t.links[dir], below(dir, subs))
		_, failed := os.Stat(m.dir)
		switch {
		case failed == nil:
		case !fetch:
			continue
		case i >= mostSubmodules:
			failed = fmt.Errorf("there are more than %d", mostSubmodules)
		case unread != nil:
			failed = unread
		default:
			failed = m.get(ctx, r, urls[dir])
		}
		if failed == nil {
			m.has, failed = m.list(ctx, m.commit, m.subs)
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if failed != nil {
			missing[dir] = fmt.Errorf("%s is a submodule that is not fetched: %w; \"git clone --recurse-submodules\" fetches it: then install the folder by its path", dir, failed)
			continue
		}
		if len(t.trees)+len(m.has.trees) > maxTree {
			return nil, nil, fmt.Errorf("the repository and its submodules have more than %d folders; name one of them", maxTree)
		}
		got = append(got, m)
		for sub, object := range m.has.trees { // "." is the submodule
			t.trees[path.Join(dir, sub)] = object
		}
		for _, file := range m.has.skills {
			t.skills = append(t.skills, path.Join(dir, file))
		}
	}
	return got, missing, nil
}

// below returns the paths in a submodule of those folders that lie in it; nil means all of it.
func below(dir string, subs []string) (inside []string) {
	for _, sub := range subs {
		if In(dir, sub) {
			return nil
		}
		if In(sub, dir) {
			inside = append(inside, sub[len(dir)+1:])
		}
	}
	return inside
}

// mayHaveSkills reports whether a submodule may have skills of some folders, or files of one: it is
// one of the folders or above one, beside or in a skill, or there are no other skills.
func mayHaveSkills(dir string, subs, skills []string) bool {
	return len(skills) == 0 ||
		slices.ContainsFunc(subs, func(sub string) bool { return In(sub, dir) }) ||
		slices.ContainsFunc(skills, func(file string) bool {
			return In(dir, path.Dir(file)) || path.Dir(path.Dir(file)) == path.Dir(dir)
		})
}

// isUnused reports whether nothing of a submodule is wanted, given all SKILL.md files: it has none, no path
// in it was named, and it lies in no skill.
func (m module) isUnused(skills []string) bool {
	return len(m.subs) == 0 && len(m.has.skills) == 0 && !slices.ContainsFunc(skills, func(file string) bool { return In(m.at, path.Dir(file)) })
}

// In reports whether a slash-separated path is a folder, or lies in it; "." is the top.
func In(name, folder string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

// link notes a submodule that git lists.
func (t *listing) link(line string) {
	about, name, _ := strings.Cut(line, "\t")
	if object, ok := strings.CutPrefix(about, "160000 commit "); ok {
		t.links[name] = object
	}
}

// moduleURLs returns what .gitmodules says, by the paths of the submodules. Without --no-includes
// git would read any file of this machine that it names.
func (r Repo) moduleURLs(ctx context.Context, commit string) (map[string]string, error) {
	out, err := r.Run(ctx, "config", "--no-includes", "-z", "--blob", commit+":.gitmodules", "--get-regexp", `^submodule\..*\.(path|url)$`)
	if err != nil {
		return nil, errors.New("the repository has no .gitmodules that can be read")
	}
	paths, urls := make(map[string]string), make(map[string]string)
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if name, ok := strings.CutSuffix(key, ".path"); ok {
			paths[name] = strings.Trim(value, "/")
		} else if name, ok := strings.CutSuffix(key, ".url"); ok {
			urls[name] = value
		}
	}
	at := make(map[string]string)
	for name, dir := range paths {
		at[dir] = urls[name]
	}
	return at, nil
}

// module returns a submodule, whose repository is kept below .git.
func (r Repo) module(dir, commit string, subs []string) module {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))
	return module{Repo: Repo{dir: filepath.Join(r.dir, ".git", "repertoire", name), allowed: r.allowed, most: r.most}, at: dir, commit: commit, subs: subs}
}

// get fetches a submodule. It may have what is left of the bytes that its repository r may have.
func (m *module) get(ctx context.Context, r Repo, said string) (err error) {
	if m.url, err = beside(r.url, said); err != nil {
		return err
	}
	used, err := regular.Size(r.dir)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(m.dir), 0o700)
	}
	if err != nil {
		return err
	}
	m.most = r.most - used
	if _, err = m.Fetch(ctx, Version{Name: m.commit, Commit: m.commit}); err != nil {
		return errors.Join(err, os.RemoveAll(m.dir))
	}
	return nil
}

// An address is where a repository is: what comes before its path, with the user, its host and its path.
type address struct{ scheme, prefix, host, path string }

func cutAddress(url string) (a address) {
	var ok bool
	if a.scheme, a.path, ok = strings.Cut(url, "://"); ok {
		a.host, a.path, _ = strings.Cut(a.path, "/")
		a.prefix, a.path = a.scheme+"://"+a.host+"/", "/"+a.path
	} else {
		a.scheme = "ssh"
		end := strings.Index(url, "]:") + 1 // of an address of IPv6; 0 without one
		a.host, a.path, _ = strings.Cut(url[end:], ":")
		a.host = url[:end] + a.host
		a.prefix = a.host + ":"
	}
	a.host = strings.ToLower(a.host[strings.LastIndexByte(a.host, '@')+1:])
	return a
}

// beside returns the URL of a submodule, given the URL of its repository and what .gitmodules says. It
// is on the same host, and is asked for as the repository is: so it gets no login and reaches no
// place that the repository's own URL would not. Nothing on this machine is read.
func beside(origin, said string) (string, error) {
	a := cutAddress(origin)
	switch {
	case a.scheme == "file":
		return "", errors.New("its repository is a folder on this machine, where it could name any other one")
	case said == "" || strings.ContainsAny(said, "?#%\\") || strings.ContainsFunc(said, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", errors.New(".gitmodules has no URL for it that is used here")
	case strings.HasPrefix(said, "./"), strings.HasPrefix(said, "../"):
		return a.prefix + strings.TrimPrefix(path.Join("/", a.path, said), "/"), nil
	case !strings.Contains(said, ":") || strings.Contains(said, "::") && !strings.Contains(said, "["): // a path, or a helper of git
		return "", errors.New("its URL is a path or a command of the machine of its author")
	}
	b := cutAddress(said)
	switch b.scheme {
	case a.scheme, "https", "ssh", "http":
	default:
		return "", fmt.Errorf("its URL begins with %s", tidy.Line(b.scheme))
	}
	name := func(x address) string {
		if a.scheme == b.scheme || strings.HasPrefix(x.host, "[") {
			return x.host
		}
		host, _, _ := strings.Cut(x.host, ":")
		return host
	}
	if name(a) != name(b) || name(a) == "" {
		return "", fmt.Errorf("it is on %s, another host", tidy.Line(b.host))
	}
	return a.prefix + strings.TrimPrefix(path.Join("/", b.path), "/"), nil
}

// prepare makes the folder of a submodule in the checkout top, for its files. No link is followed to there.
func (m *module) prepare(top string) error {
	if skill.IsExcluded(m.at) || !filepath.IsLocal(filepath.FromSlash(m.at)) {
		return fmt.Errorf("%s cannot have a submodule", m.at)
	}
	m.tree = top
	for part := range strings.SplitSeq(m.at, "/") {
		m.tree = filepath.Join(m.tree, part)
		info, err := os.Lstat(m.tree)
		if errors.Is(err, os.ErrNotExist) {
			err = os.Mkdir(m.tree, 0o700)
		} else if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no folder, and cannot have a submodule", m.at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
