package sandbox

import (
	"context"
	"sync"
)

// A Box is an Executor with files of its own, which stay from one run to the next. It is a
// pointer, so that it can be compared.
type Box interface {
	Executor

	// Fork returns an executor of the same kind that begins with the same files. What happens
	// in one of them, the other does not see.
	Fork() Box

	// MountSkill copies the files of the skill of a request into the box, unless they are there.
	MountSkill(ctx context.Context, r Request) error

	// SkillPath returns where commands see the files of a skill that is mounted.
	SkillPath(name string) string

	// Size returns how many bytes of memory the files take, about.
	Size() int64
}

// A Session keeps the files of one conversation: of each Box it has a fork that no other session
// sees. The zero value is ready for use, also from several goroutines.
type Session struct {
	mu    sync.Mutex
	forks []fork
}

type fork struct{ of, own Box }

// Executor returns the executor that runs the commands of the session in place of e. An executor
// that keeps no files is its own.
func (s *Session) Executor(e Executor) Executor {
	box, ok := e.(Box)
	if !ok {
		return e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.forks {
		if f.of == box {
			return f.own
		}
	}
	own := box.Fork()
	s.forks = append(s.forks, fork{box, own})
	return own
}

// Size returns how many bytes of memory the files of the session take, about.
func (s *Session) Size() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.forks {
		n += f.own.Size()
	}
	return n
}
