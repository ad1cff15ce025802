package unpack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// A space is a tree seen by clean paths that lead through no link; "." is its top. Links are
// resolved by their texts alone, one name after the other, so that a tree on a disk and one
// in an archive take the same links, and the system never follows one.
type space interface {
	// at describes what is at a path; a link is a link. An error that wraps fs.ErrNotExist
	// means that there is nothing.
	at(name string) (entry, error)
	// list returns the sorted names in a folder.
	list(dir string) ([]string, error)
}

const (
	maxLinks = 40      // links on the way of one path, as systems have it
	maxSteps = 1 << 20 // names that are looked up for the links of one tree
)

// A resolver follows the links of one tree.
type resolver struct {
	space space
	steps int
}

// step counts a name that is looked up.
func (r *resolver) step() error {
	if r.steps++; r.steps > maxSteps {
		return refuse("", "too-many-links", "its links lead to more than %d files and folders", maxSteps)
	}
	return nil
}

// A wayOut says why a link leads to nothing that can be taken in its place.
type wayOut struct {
	reason  string
	missing string // path at which nothing is; "" if there is another reason
}

func (w *wayOut) Error() string { return w.reason }

func (w *wayOut) at(link string) *Error {
	return refuse(link, "symlink", "it is a symbolic link that leads to %s; put the file itself in its place", w.reason)
}

// resolve returns the path to which a path leads when all links are followed, and what is
// there. If it leads out of the tree, to nothing, or to what is never part of a skill, the error is a *wayOut.
func (r *resolver) resolve(name string) (real string, e entry, err error) {
	at, rest, said := ".", name, name // said is the text of the last link
	e.mode = fs.ModeDir
	for links := 0; rest != ""; {
		if err := r.step(); err != nil {
			return "", e, err
		}
		var part string
		switch part, rest, _ = strings.Cut(rest, "/"); {
		case part == "" || part == ".":
			continue
		case part == ".." && at == ".":
			return "", e, &wayOut{reason: fmt.Sprintf("%q, outside of its source", said)}
		case part == "..":
			at, e = path.Dir(at), entry{mode: fs.ModeDir}
			continue
		case skill.IsExcluded(part):
			return "", e, &wayOut{reason: fmt.Sprintf("%q, which is no part of a skill", said)}
		}
		next := path.Join(at, part)
		e, err = r.space.at(next)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", e, &wayOut{reason: fmt.Sprintf("%q, which cannot be read", said)}
		case err != nil || rest != "" && !e.isLink() && !e.mode.IsDir():
			return "", e, &wayOut{fmt.Sprintf("%q, where nothing is", said), path.Join(next, rest)}
		case !e.isLink():
			at = next
			continue
		case isAbsolute(e.link):
			return "", e, &wayOut{reason: fmt.Sprintf("%q, outside of its source", e.link)}
		}
		if links++; links > maxLinks {
			return "", e, &wayOut{reason: fmt.Sprintf("%q, and so to itself", e.link)}
		}
		said, rest, e = e.link, e.link+"/"+rest, entry{mode: fs.ModeDir} // as at is a folder
	}
	return at, e, nil
}

// isAbsolute reports whether a link begins at the top of a system, as any system sees it.
func isAbsolute(link string) bool {
	bad := escape(link)
	return bad != nil && bad.Rule != "parent"
}

// A follower puts what links lead to in the place of the links in skills.
type follower struct {
	resolver
	gate *gate
	room map[string]int // files and folders that may still come into a skill through links, by its folder
}

// follow replaces the links in skills by what they lead to, as if it were there in the tree: it
// passes the same checks and counts in the same bounds. Links outside of skills stay: what they
// lead to is in the tree, or none of its business.
func (g *gate) follow(ctx context.Context, t tree) error {
	all := g.entries
	if !slices.ContainsFunc(all, func(e checked) bool { return e.isLink() }) {
		return nil
	}
	tops := g.skills()
	s, ok := t.(space)
	if !ok {
		s = newListed(all)
	}
	f := follower{resolver{space: s}, g, make(map[string]int)}
	g.entries, g.bytes = nil, 0
	for _, e := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		top, ok := topOf(e.clean, tops)
		if !ok || !e.isLink() {
			g.entries, g.bytes = append(g.entries, e), g.bytes+max(0, e.size)
			continue
		}
		if _, ok := f.room[top]; !ok {
			f.room[top] = g.limits.Files + g.limits.Folders + 1
		}
		// Below a skill at the top of a shared tree, a link to a folder may lead to other skills.
		apart := g.limits.Shared && top == "." && len(tops) > 1 && !skill.IsMaterial(e.clean)
		if err := f.link(ctx, e.path, e.from, place{top: top, apart: apart}); err != nil {
			return err
		}
	}
	return nil
}

// A place is where a link is met.
type place struct {
	top   string   // folder of the skill
	apart bool     // links to folders are left out
	links []string // paths of the links that led there
}

// link puts what the link at a path of the space leads to at a path in a skill.
func (f *follower) link(ctx context.Context, name, from string, p place) error {
	real, e, err := f.resolve(from)
	out, bad := errors.AsType[*wayOut](err)
	p.links = append(slices.Clone(p.links), from)
	switch {
	case bad:
		e = entry{mode: fs.ModeSymlink, bad: out.at(name)}
	case err != nil:
		return err
	case !e.mode.IsDir():
	case p.apart:
		return nil
	case slices.ContainsFunc(p.links, func(link string) bool { return within(link, real) }):
		e = entry{mode: fs.ModeSymlink, bad: (&wayOut{reason: fmt.Sprintf("the folder %q, in which it lies itself", real)}).at(name)}
	}
	return f.put(ctx, name, real, e, p)
}

// put puts what is at a path of the space, no link, at a path in a skill.
func (f *follower) put(ctx context.Context, name, real string, e entry, p place) error {
	if f.room[p.top]--; f.room[p.top] < 0 {
		return nil // its skill has too many files or folders by now
	}
	e.path, e.from = name, real
	if err := f.gate.add(e); err != nil || !e.mode.IsDir() || e.bad != nil || len(name) > skill.MaxPath {
		return err
	}
	names, err := f.space.list(real)
	if err != nil {
		return err
	}
	for _, base := range names {
		if err := cmp.Or(ctx.Err(), f.step()); err != nil {
			return err
		}
		if skill.IsExcluded(base) {
			continue
		}
		name, real := path.Join(name, base), path.Join(real, base)
		e, err := f.space.at(real)
		switch {
		case err != nil:
		case e.isLink():
			err = f.link(ctx, name, real, p)
		default:
			err = f.put(ctx, name, real, e, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// within reports whether a clean path is a folder or below it.
func within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// A listed space is what an archive lists.
type listed struct {
	entries map[string]entry
	names   map[string][]string // of what is in a folder
}

// newListed returns the space of entries. What an archive has twice is in it as a bad entry: readers
// differ in which they take.
func newListed(all []checked) listed {
	l := listed{make(map[string]entry), make(map[string][]string)}
	for _, c := range all {
		e := c.entry
		if old, ok := l.entries[c.clean]; ok && !(old.mode.IsDir() && e.mode.IsDir()) {
			e.bad = refuse(e.path, "duplicate", "the path occurs twice")
		}
		l.put(c.clean, e)
	}
	for dir := range l.names {
		slices.Sort(l.names[dir])
	}
	return l
}

// put puts an entry at a path, with the folders above, which need no entries of their own.
func (l listed) put(name string, e entry) {
	if _, ok := l.entries[name]; !ok && name != "." {
		l.names[path.Dir(name)] = append(l.names[path.Dir(name)], path.Base(name))
	}
	l.entries[name] = e
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		above, ok := l.entries[dir]
		if ok && above.mode.IsDir() {
			return
		}
		if ok {
			above.bad = refuse(above.path, "duplicate", "the path occurs twice")
			l.entries[dir] = above
			return
		}
		l.put(dir, entry{path: dir, from: dir, mode: fs.ModeDir})
	}
}

func (l listed) at(name string) (entry, error) {
	if e, ok := l.entries[name]; ok {
		return e, nil
	}
	return entry{mode: fs.ModeDir}, fs.ErrNotExist
}

func (l listed) list(dir string) ([]string, error) { return l.names[dir], nil }
