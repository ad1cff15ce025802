package source

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// load reads and parses the skill in a folder.
func (s *FS) load(dir string) (*skill.Skill, error) {
	m, err := s.manifest(dir)
	if err != nil {
		return nil, err
	}
	sk, err := s.parse(m)
	if err != nil {
		return nil, err
	}
	sk.Source = s.opts.Label
	sk.Path = join(dir, m.file)
	sk.Location = s.tree.location(s.opts.Label, sk.Path)
	sk.Name = s.rename(dir, sk.Name)
	sk.Files = m.files
	sk.Digest, sk.TextDigest = m.digest(), hexSum(m.text)
	sk.Problems = append(sk.Problems, m.problems...)
	if m.complete {
		sk.Problems = append(sk.Problems, m.missing(sk.Body, sk.BodyLine)...)
	}
	return sk, nil
}

// rename applies Options.Names, in which a folder counts before a name.
func (s *FS) rename(dir, name string) string {
	if to, ok := s.opts.Names[dir]; ok {
		return to
	}
	if to, ok := s.opts.Names[name]; ok {
		return to
	}
	return name
}

// parse parses the bytes that were hashed, not the file a second time. The
// skill at the top of a source is shown to the parser in a folder with the
// source's own name, as that is what the parser compares names with.
func (s *FS) parse(m *manifest) (*skill.Skill, error) {
	dir := m.dir
	if dir == "." {
		dir = s.topName()
	}
	sk, err := skill.Load(textFS{dir, m.file, m.text}, dir)
	if dir == m.dir {
		return sk, err
	}
	var bad *skill.ParseError
	if errors.As(err, &bad) {
		bad.Problem.Path = strings.TrimPrefix(bad.Problem.Path, dir+"/")
	}
	if err != nil {
		return nil, err
	}
	for i := range sk.Problems {
		sk.Problems[i].Path = strings.TrimPrefix(sk.Problems[i].Path, dir+"/")
	}
	return sk, nil
}

// topName returns what the top folder is called; the top of a disk has no
// usable name.
func (s *FS) topName() string {
	if s.base == "." || !fs.ValidPath(s.base) {
		return "skill"
	}
	return s.base
}
