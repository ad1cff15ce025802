package unpack

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// A gate collects the entries of a tree and decides which are written.
type gate struct {
	limits  Limits
	entries []checked
	bytes   int64
}

// A checked entry has a path without "./", "//" and a final "/".
type checked struct {
	entry
	clean string
	rel   string // clean, below the folder of the skill; "" for that folder, and until it is known
}

// add takes one entry. It refuses at once what could lead out of the folder, and trees
// that are too large for any number of skills.
func (g *gate) add(e entry) error {
	clean, bad, escapes := checkPath(e.path)
	if escapes {
		return bad
	}
	if clean == "" || skill.IsExcluded(clean) {
		return nil
	}
	if bad != nil && e.bad == nil {
		e.bad = bad
	}
	if e.bad == nil {
		e.bad = checkKind(e)
	}
	e.open, e.from = nil, e.key()
	g.entries = append(g.entries, checked{entry: e, clean: clean})
	g.bytes += max(0, e.size)
	members, expanded := g.limits.most()
	if len(g.entries) > members {
		return refuse("", "too-many-members", "it has more than %d files and folders", members)
	}
	if g.bytes > expanded || e.size > expanded { // the sum may overflow
		return refuse(e.path, "too-large", "with this file it has more than %d bytes", expanded)
	}
	return nil
}

// checkKind refuses what is neither a folder nor a plain file, nor a link that may be followed.
func checkKind(e entry) *Error {
	const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	bits := e.mode & special
	if e.mode.IsDir() {
		bits &^= fs.ModeSetgid // folders that a group shares have it, and it runs nothing
	}
	switch mode := e.mode; {
	case mode&fs.ModeSymlink != 0 && e.link != "":
		return nil
	case mode&fs.ModeSymlink != 0:
		return refuse(e.path, "symlink", "it is a symbolic link that leads nowhere; put the file itself in its place")
	case mode&fs.ModeNamedPipe != 0:
		return refuse(e.path, "fifo", "it is a named pipe")
	case mode&fs.ModeSocket != 0:
		return refuse(e.path, "socket", "it is a socket")
	case mode&fs.ModeDevice != 0:
		return refuse(e.path, "device", "it is a device")
	case !mode.IsDir() && strings.HasSuffix(e.path, "/"):
		return refuse(e.path, "not-regular", "it is a file with the name of a folder")
	case !mode.IsRegular() && !mode.IsDir():
		return refuse(e.path, "not-regular", "it is neither a file nor a folder")
	case bits != 0:
		return refuse(e.path, "special-bits", "it has a setuid, setgid or sticky bit (%v); remove the bit", mode)
	case e.size < 0:
		return refuse(e.path, "lying-size", "its size is negative")
	}
	return nil
}

// A plan has the files to write by the paths in the space of their tree from which they come:
// several if links lead to one.
type plan map[string][]checked

// plan decides about the tree as a whole.
func (g *gate) plan() (plan, error) {
	tops := g.skills()
	if len(tops) == 0 {
		return nil, g.noSkill()
	}
	members, expanded := g.limits.mostFor(len(tops))
	if len(g.entries) > members {
		return nil, refuse("", "too-many-members", "it has %d files and folders; the limit is %d for %d skill(s)", len(g.entries), members, len(tops))
	}
	if g.bytes > expanded {
		return nil, refuse("", "too-large", "it has %d bytes; the limit is %d for %d skill(s)", g.bytes, expanded, len(tops))
	}
	s := sorter{limits: g.limits, names: names{}, skills: make(map[string]*skillSize)}
	for _, e := range g.entries {
		if top, ok := topOf(e.clean, tops); ok {
			if err := s.add(e, top); err != nil {
				return nil, err
			}
		}
	}
	return s.plan()
}

// A sorter sorts entries by skill, and checks each skill.
type sorter struct {
	limits Limits
	names  names
	skills map[string]*skillSize
	first  *Error // what was refused first
}

func (s *sorter) add(e checked, top string) error {
	one := s.skills[top]
	if one == nil {
		one = &skillSize{folders: make(map[string]bool)}
		s.skills[top] = one
	}
	if one.refused {
		return nil
	}
	bad := e.bad
	if bad == nil {
		bad = s.names.add(e)
	}
	if bad == nil {
		bad = one.add(e, top, s.limits)
	}
	switch {
	case bad == nil:
		return nil
	case s.limits.Refused == nil:
		return bad
	}
	one.refused = true
	s.first = cmp.Or(s.first, bad)
	s.limits.Refused(bad)
	return nil
}

// plan returns the files of all skills that were not refused. There must be one.
func (s *sorter) plan() (plan, error) {
	p := make(plan)
	for _, one := range s.skills {
		if one.refused {
			continue
		}
		for _, e := range one.entries {
			p[e.from] = append(p[e.from], e)
		}
	}
	if len(p) == 0 {
		return nil, s.first
	}
	return p, nil
}

// skills returns the outermost folders with a SKILL.md. In a shared tree those below a skill at
// the top are skills too.
func (g *gate) skills() map[string]bool {
	all := make(map[string]bool)
	for _, e := range g.entries {
		if !e.mode.IsDir() && slices.Contains(skill.FileNames, path.Base(e.clean)) {
			all[path.Dir(e.clean)] = true
		}
	}
	tops := make(map[string]bool)
	if g.limits.Shared && all["."] {
		maps.DeleteFunc(all, func(dir string, _ bool) bool { return dir == "." || skill.IsMaterial(dir) })
		tops["."] = true
	}
	for dir := range all {
		if _, inside := topOf(path.Dir(dir), all); dir == "." || !inside {
			tops[dir] = true
		}
	}
	return tops
}

// topOf returns the folder of tops that is at or above a path.
func topOf(clean string, tops map[string]bool) (string, bool) {
	for dir := clean; ; dir = path.Dir(dir) {
		if tops[dir] {
			return dir, true
		}
		if dir == "." {
			return "", false
		}
	}
}

func (g *gate) noSkill() error {
	for _, e := range g.entries {
		if e.bad != nil {
			return e.bad // it may be the reason why there is no skill
		}
	}
	for _, e := range g.entries {
		if strings.EqualFold(path.Base(e.clean), skill.FileNames[0]) {
			return refuse(e.path, "no-skill", "it has no %s; rename this file", skill.FileNames[0])
		}
	}
	return refuse("", "no-skill", "it has no %s", skill.FileNames[0])
}

// A skillSize is what is in one skill.
type skillSize struct {
	refused bool
	entries []checked // the files
	bytes   int64
	folders map[string]bool
}

func (s *skillSize) add(e checked, top string, l Limits) *Error {
	e.rel = e.clean
	if top != "." {
		e.rel = strings.TrimPrefix(strings.TrimPrefix(e.clean, top), "/")
	}
	dir := path.Dir(e.rel)
	if e.mode.IsDir() {
		dir = cmp.Or(e.rel, ".")
	} else {
		s.entries = append(s.entries, e)
		s.bytes += e.size
	}
	depth := 0
	for d := dir; d != "."; d = path.Dir(d) {
		s.folders[d] = true
		depth++
	}
	switch {
	case depth > l.Depth:
		return refuse(e.path, "too-deep", "it is %d folders below its skill; the limit is %d", depth, l.Depth)
	case len(s.entries) > l.Files:
		return refuse(e.path, "too-many-files", "with this file the skill has more than %d files", l.Files)
	case len(s.folders) > l.Folders:
		return refuse(e.path, "too-many-folders", "with this folder the skill has more than %d folders", l.Folders)
	case slices.Contains(skill.FileNames, path.Base(e.rel)) && e.size > l.SkillFile:
		return refuse(e.path, "skill-file-too-large", "it has %s; the limit is %s", size(e.size), size(l.SkillFile))
	case s.bytes > l.Bytes || e.size > l.Bytes:
		return refuse(e.path, "skill-too-large", "with this file the skill has more than %s", size(l.Bytes))
	}
	return nil
}

func size(n int64) string { return fmt.Sprintf("%d bytes", n) }
