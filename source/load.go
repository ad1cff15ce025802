package source

import (
	"io/fs"
	"path"

	"github.com/repertoire-skills/repertoire/skill"
)

// load reads and parses the skill in a folder.
func (s *FS) load(dir string) (*skill.Skill, error) {
	m, err := s.manifest(dir)
	if err != nil {
		return nil, err
	}
	sk, err := skill.ParseBytes(m.text, join(dir, m.file), s.folderName(dir))
	if err != nil {
		return nil, err
	}
	sk.Source = s.opts.Label
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

// folderName returns what a folder is called, as opposed to its path: the top of
// the source has the name of the source's folder, and the top of a disk none.
func (s *FS) folderName(dir string) string {
	switch {
	case dir != ".":
		return path.Base(dir)
	case s.base == "." || !fs.ValidPath(s.base):
		return "skill"
	}
	return s.base
}
