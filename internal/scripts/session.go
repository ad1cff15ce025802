package scripts

import (
	"context"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/agent"
)

// Bounds of what the clients of a server take at once.
const (
	maxRunning = 8         // calls that are answered: each may take the memory and the processes of a whole command; the others wait
	maxClient  = 4         // calls of one client that are answered, if the server may have several clients
	maxKept    = 128 << 20 // bytes of the files that sessions keep
	maxFiles   = 32 << 20  // bytes of the files of one sandbox
	maxWork    = 128 << 20 // bytes that one program of a sandbox processes: it may take as much memory
)

// Limits bound what sessions take. It may be shared by runners and used from several
// goroutines.
type Limits struct {
	running chan struct{} // holds a value for each call that is answered
	most    int64         // bytes that sessions keep

	mu       sync.Mutex
	clients  map[string]*queue
	kept     int64
	sessions []*Session // those that keep files, the one that was used last at the end
}

// NewLimits returns limits under which nothing runs yet.
func NewLimits() *Limits {
	return &Limits{running: make(chan struct{}, maxRunning), clients: make(map[string]*queue), most: maxKept}
}

// A Session answers the calls of one session of a client, which has the files of its sandboxes
// for itself. It may be used from several goroutines.
type Session struct {
	runner *Runner
	client string

	// Guarded by Limits.mu.
	files *agent.Session
	size  int64 // of files after the last call
	busy  int   // calls that use files
	lost  bool  // files were dropped, and the client does not know yet
	ended bool
}

// Begin returns a new session of a client.
func (r *Runner) Begin(client string) *Session {
	return &Session{runner: r, client: client, files: new(agent.Session)}
}

// Call answers a call.
func (s *Session) Call(ctx context.Context, name, arguments string) agent.Reply {
	room := s.runner.room
	end, ok := room.begin(ctx, s.client)
	if !ok {
		return agent.Refuse("not done: too many other scripts run now", "")
	}
	defer end()
	files, leave := room.enter(s)
	defer leave()
	if room.lost(s) {
		return agent.Refuse("not done: the files of this sandbox are gone, because the server had no room for them", "write again what you need of them, then call again")
	}
	return s.runner.agent.CallIn(ctx, files, name, arguments)
}

// Load notes that the model has loaded a skill, and returns where commands of the session see
// its files; "" means that its scripts do not run.
func (s *Session) Load(ctx context.Context, id string) string {
	s.runner.room.mu.Lock()
	files := s.files
	s.runner.room.mu.Unlock()
	at, err := s.runner.agent.Load(ctx, files, id)
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

// A queue is the calls of one client.
type queue struct {
	running chan struct{} // holds a value for each that is answered
	calls   int           // that are answered or wait
}

// begin waits until a call of a client may be answered, and returns what ends it; ok is false if
// ctx ends before. Calls of one client wait for each other first, and so keep nobody else waiting.
func (r *Limits) begin(ctx context.Context, client string) (end func(), ok bool) {
	q := r.queue(client)
	end = func() { r.leaveQueue(client, q) }
	for _, running := range []chan struct{}{q.running, r.running} {
		select {
		case running <- struct{}{}:
			before := end
			end = func() { <-running; before() }
		case <-ctx.Done():
			end()
			return nil, false
		}
	}
	return end, true
}

// queue adds a call to the queue of a client. The only client of a server has no name.
func (r *Limits) queue(client string) *queue {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.clients[client]
	if q == nil {
		q = &queue{running: make(chan struct{}, maxClient)}
		if client == "" {
			q.running = make(chan struct{}, maxRunning)
		}
		r.clients[client] = q
	}
	q.calls++
	return q
}

func (r *Limits) leaveQueue(client string, q *queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.calls--; q.calls == 0 {
		delete(r.clients, client)
	}
}

// enter returns the files of a session for a call, which calls leave at its end.
func (r *Limits) enter(s *Session) (files *agent.Session, leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.busy++
	files = s.files
	return files, func() { r.leave(s, files.Size()) }
}

// lost reports, once, whether the files of a session were dropped.
func (r *Limits) lost(s *Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := s.lost
	s.lost = false
	return was
}

// leave notes the end of a call, and drops files if sessions keep too many.
func (r *Limits) leave(s *Session, size int64) {
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
func (r *Limits) heaviest() (old *Session) {
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
func (r *Limits) drop(s *Session) {
	r.forget(s)
	s.files = new(agent.Session)
}

// forget no longer counts the files of a session.
func (r *Limits) forget(s *Session) {
	r.kept -= s.size
	s.size = 0
	r.sessions = slices.DeleteFunc(r.sessions, func(o *Session) bool { return o == s })
}
