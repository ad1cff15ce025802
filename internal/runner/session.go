package runner

import (
	"context"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// Bounds of what the clients of a server take at once.
const (
	maxRunning = 8         // calls that are answered: each may take the memory and the processes of a whole command; the others wait
	maxKept    = 128 << 20 // bytes of the files that sessions keep
	maxSandbox = 32 << 20  // bytes of the files of one sandbox
)

// A Room bounds what sessions take. It may be shared by runners and used from several
// goroutines.
type Room struct {
	running chan struct{} // holds a value for each call that is answered
	most    int64         // bytes that sessions keep

	mu       sync.Mutex
	kept     int64
	sessions []*Session // those that keep files, the one that was used last at the end
}

// NewRoom returns a room in which nothing runs.
func NewRoom() *Room { return &Room{running: make(chan struct{}, maxRunning), most: maxKept} }

// A Session answers the calls of one session of a client, which has the files of its sandboxes
// for itself. It may be used from several goroutines.
type Session struct {
	runner *Runner
	client string

	// Guarded by Room.mu.
	files *sandbox.Session
	size  int64 // of files after the last call
	busy  int   // calls that use files
	lost  bool  // files were dropped, and the client does not know yet
	ended bool
}

// Begin returns a new session of a client.
func (r *Runner) Begin(client string) *Session {
	return &Session{runner: r, client: client, files: new(sandbox.Session)}
}

// Call answers a call, and returns the skill whose script ran or was refused, "" for none.
func (s *Session) Call(ctx context.Context, name, arguments string) (answer, skill string) {
	room := s.runner.room
	select {
	case room.running <- struct{}{}:
		defer func() { <-room.running }()
	case <-ctx.Done():
		return `{"error":"not done: too many other scripts run now"}`, ""
	}
	files, leave := room.enter(s)
	defer leave()
	if room.lost(s) {
		return `{"error":"not done: the files of this sandbox are gone, because the server had no room for them","hint":"write again what you need of them, then call again"}`, ""
	}
	answer, events := s.runner.agent.HandleEvents(ctx, files, name, arguments)
	for _, e := range events {
		if len(e.Skills) > 0 {
			skill = e.Skills[0]
		}
	}
	return answer, skill
}

// Mount returns where commands of the session see the files of a skill that the model has
// loaded, and copies them there if that is not its folder. "" means that its scripts do not run.
func (s *Session) Mount(ctx context.Context, id string) string {
	files, leave := s.runner.room.enter(s)
	defer leave()
	at, err := s.runner.agent.Mount(ctx, files, id)
	if err != nil {
		return ""
	}
	return at
}

// End drops the files of the session.
func (s *Session) End() {
	s.runner.room.mu.Lock()
	defer s.runner.room.mu.Unlock()
	s.ended = true
	s.runner.room.drop(s)
}

// enter returns the files of a session for a call, which calls leave at its end.
func (r *Room) enter(s *Session) (files *sandbox.Session, leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.busy++
	files = s.files
	return files, func() { r.leave(s, files.Size()) }
}

// lost reports, once, whether the files of a session were dropped.
func (r *Room) lost(s *Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := s.lost
	s.lost = false
	return was
}

// leave notes the end of a call, and drops files if sessions keep too many.
func (r *Room) leave(s *Session, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.busy--; s.ended {
		return
	}
	r.forget(s)
	if size > 0 {
		s.size = size
		r.kept += size
		r.sessions = append(r.sessions, s)
	}
	for r.kept > r.most {
		x := r.heaviest()
		if x == nil {
			return // all are busy; each of them comes here
		}
		x.lost = true
		r.drop(x)
	}
}

// heaviest returns, of the client whose sessions keep most, the idle session that was not used
// for the longest time: no client costs another one its files.
func (r *Room) heaviest() (old *Session) {
	kept := make(map[string]int64)
	for _, s := range r.sessions {
		kept[s.client] += s.size
	}
	for _, s := range r.sessions {
		if s.busy == 0 && (old == nil || kept[s.client] > kept[old.client]) {
			old = s
		}
	}
	return old
}

// drop removes the files of a session.
func (r *Room) drop(s *Session) {
	r.forget(s)
	s.files = new(sandbox.Session)
}

// forget no longer counts the files of a session.
func (r *Room) forget(s *Session) {
	r.kept -= s.size
	s.size = 0
	r.sessions = slices.DeleteFunc(r.sessions, func(o *Session) bool { return o == s })
}
