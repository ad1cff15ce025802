package contextprovider

import (
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// mostSeals bounds how many skills are remembered as checked: a conversation uses a few.
const mostSeals = 64

// seals remembers the files of skills that were found as they must be to be served, so that
// reading n files of a skill does not hash all of it n times.
type seals struct {
	mu    sync.Mutex
	known map[[2]string]seal // by source and folder
}

// A seal is what is known of a skill all of whose files were hashed.
type seal struct {
	digest    string
	files     []skill.File
	unchanged func() bool // see Reader.Watch
}

// find returns the files of a skill, if they had the digest that it must have and have not
// changed since.
func (s *seals) find(e *search.Entry) (files []skill.File, ok bool) {
	s.mu.Lock()
	found, ok := s.known[[2]string{e.Source, e.Dir()}]
	s.mu.Unlock()
	return found.files, ok && found.digest == e.Digest && found.unchanged()
}

// keep remembers a skill.
func (s *seals) keep(e *search.Entry, files []skill.File, unchanged func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[[2]string]seal)
	}
	for key := range s.known { // any one
		if len(s.known) < mostSeals {
			break
		}
		delete(s.known, key)
	}
	s.known[[2]string{e.Source, e.Dir()}] = seal{e.Digest, files, unchanged}
}

// has reports whether a file is among some files, as it was just read.
func has(files []skill.File, name string, c *Content) bool {
	return slices.ContainsFunc(files, func(f skill.File) bool { return f.Path == name && f.SHA256 == c.SHA256 })
}
