// Package hook answers one event of an agent client: within its deadline or not
// at all, from the catalog of the event's project, and without what the session
// was told before. Whatever goes wrong is written to a log and costs the answer,
// never the client.
package hook

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/internal/slots"
	"github.com/repertoire-skills/repertoire/internal/steps"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

// Deadline is the deadline of a hook whose command names none, while it is kept.
const Deadline = 300 * time.Millisecond

// A Call is one call of a hook. All fields but Patience, Server, Name, Ask, Switches, Digest,
// Index and Usage are needed.
type Call struct {
	Arg      string        // which hook, one of client.HookArgs
	Deadline time.Duration // after the event has been read; nothing is answered later
	Patience time.Duration // most time until the event has been read; 0 means 4 s
	Server   string        // the MCP server that loads skills for the model; "": it reads their files
	Name     string        // of this program, for a model that reads files; "" means "skills"

	Stdin   io.Reader // the event
	Stdout  io.Writer // the answer
	Verbose io.Writer // gets what the log gets

	Getenv func(string) string
	// StateDir returns the folder of the log and of what sessions were told; "" means that
	// nothing is remembered.
	StateDir func() (string, error)
	// Sessions is the state folder whose sessions are read, and stay as they are, where StateDir is "".
	Sessions string

	// Ask asks a server; nil means that there is none. The catalog of this machine answers
	// if the server does not.
	Ask func(context.Context, api.Prompt) (*api.Suggestion, error)
	// Agent is the agent of the server's configuration whose skills to ask for; "" means
	// that the server decides.
	Agent string

	// Switches returns what is set for skills in the settings of a client, for a server that cannot
	// read them; nil means nothing. warn is called for what cannot be read.
	Switches func(ctx context.Context, dir, client string, warn func(error)) []search.Switch

	// Digest returns the digest of the skill in a folder, "" if it cannot be read; nil means that a
	// server's skills are not looked for on this machine.
	Digest func(ctx context.Context, folder string) string

	// Open opens the catalog of a project for an agent; nil means all agents.
	Open func(context.Context, Opening) (Catalog, *repertoire.Agent, error)
	// Index returns the arguments with which this program indexes the catalog in
	// the file db while it holds a lock and a place; nil means that nothing is indexed.
	Index func(db, lock, place string) ([]string, error)
	// Usage returns the log of the use of skills, nil if the user wants none.
	Usage func(dir string) *usage.Log
	// Command returns how a model calls this program for the catalog.
	Command func() string
	// Waiting returns how many proposed changes of skills in the state folder wait for a
	// decision.
	Waiting func(state string) int
}

// A Result is what a hook has answered to a prompt, and why.
type Result struct {
	Prompt string
	Took   time.Duration     // from the event to the answer
	Block  *repertoire.Block // what the catalog says; nil if it was not asked or is not complete
	Server *api.Suggestion   // what the server says; nil if there is none or it has not answered
}

// An Opening says which catalog to open, and how.
type Opening struct {
	Client string       // that asks; "" means that it is not known
	Dir    string       // of the project, absolute; "" means the working folder
	Log    *slog.Logger // the only place for messages
	// Bound lowers the deadlines of embedder and reranker: text answers when they are late.
	Bound func(*repertoire.Config)
	// Warn gets what cannot be used and stops nothing, such as a project's configuration
	// with a mistake. The log has each once a session.
	Warn func(error)
}

// A Catalog is the open catalog that a hook asks; *repertoire.Catalog is one.
type Catalog interface {
	session.Catalog // which makes blocks

	Path() string // of the database
	Owner() repertoire.Owner
	Shared() repertoire.Shared
	Count(ctx context.Context, a *repertoire.Agent) (int, error)
	Unread(ctx context.Context) (int, error)
	Pinned(ctx context.Context, a *repertoire.Agent) ([]repertoire.Entry, error)
	Close() error
}

// run is a Call that is being answered.
type run struct {
	Call
	end    time.Time // when the answer must be there
	state  string    // the state folder, "" without one
	dir    string    // of the project, "" for the working folder
	log    *slog.Logger
	memory *session.Memory
	result Result
	// stale is the catalog that should be indexed and calibrated in the background; nil
	// means none.
	stale atomic.Pointer[stale]
}

// stale is a catalog that should be indexed.
type stale struct {
	db   string
	once func() bool // whether its session has not asked for that yet; nil means each time
}

// patience is how long a hook waits for a client that is slow to write the event. Setup
// has clients stop a hook after 5 s, and their own limits are 30 s and more, so that the
// rest is enough for an answer.
const patience = 4 * time.Second

// Run answers one event, and returns the result. The deadline starts when the event has
// been read, because the client may write it late.
func Run(ctx context.Context, c Call) Result {
	r := &run{Call: c}
	r.prepare()
	data, err := r.read(ctx)
	if err != nil {
		r.log.Error("no answer", "error", err)
		r.memory.Sweep()
		return Result{}
	}
	steps.Done("command line and event")
	start := time.Now()
	r.end = start.Add(c.Deadline - c.Deadline/10)
	result := r.respond(ctx, data)
	result.Took = time.Since(start)
	if s := r.stale.Load(); s != nil && r.Index != nil {
		b := Background{State: r.state, Dir: r.dir, DB: s.db, Args: r.Index, Log: r.log, Once: s.once}
		if err := b.Start(); err != nil {
			r.log.Error("starting an index in the background", "error", err)
		}
	}
	r.memory.Sweep()
	steps.Done("answer written")
	return result
}

// read reads the event. A client that never writes it leaves a goroutine behind.
func (r *run) read(ctx context.Context) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := event.Read(r.Stdin)
		done <- result{data, err}
	}()
	wait := cmp.Or(r.Patience, patience)
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case got := <-done:
		return got.data, got.err
	case <-late.C:
		return nil, fmt.Errorf("reading event: the client has not written it within %v", wait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// respond writes the answer to an event. A goroutine does the work, and is left behind when
// it is late: whatever it waits for, the client does not.
func (r *run) respond(ctx context.Context, event []byte) Result {
	ctx, cancel := context.WithDeadline(ctx, r.end)
	defer cancel()
	type reply struct {
		out    []byte
		result Result
	}
	answer := make(chan reply, 1)
	go func() {
		var out []byte
		defer func() {
			if p := recover(); p != nil {
				r.log.Error("panic", "cause", p)
			}
			answer <- reply{out, r.result}
		}()
		data, err := r.answer(ctx, event)
		if err != nil {
			r.log.Error("no answer", "error", err)
			return
		}
		out = data
	}()
	select {
	case a := <-answer:
		if len(a.out) > 0 {
			if _, err := r.Stdout.Write(a.out); err != nil {
				r.log.Error("writing the answer", "error", err)
			}
		}
		return a.result
	case <-ctx.Done():
		r.log.Warn(tooLate, "deadline", r.Deadline)
		return Result{}
	}
}

// prepare finds the state folder and opens the log and the memory in it.
func (r *run) prepare() {
	var err error
	r.state, err = r.StateDir()
	r.log = slog.New(slog.NewTextHandler(r.logWriter(), nil)).With("client", r.Arg)
	if err != nil {
		r.log.Warn("nothing is remembered", "error", err)
	}
	r.memory = session.New(cmp.Or(r.state, r.Sessions), session.Options{Logger: r.log, Frozen: r.state == ""})
}

func (r *run) answer(ctx context.Context, data []byte) ([]byte, error) {
	e, err := event.Decode(r.caller(), data)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(e.Dir); err == nil && info.IsDir() {
		r.dir = e.Dir
	}
	for _, l := range e.Loads {
		r.memory.Load(ctx, e.Session, l.Name, l.Path)
		r.note(usage.Event{Kind: usage.Loaded, Session: e.Session, Skills: []usage.Skill{{ID: l.Name, Location: l.Path}}})
	}
	if offers, prompts := e.Forgets(); offers {
		r.memory.Forget(ctx, e.Session, prompts)
	}
	if !e.Asks {
		return nil, nil
	}
	r.result.Prompt = e.Prompt
	r.noteNames(ctx, &e)
	text, err := r.text(ctx, &e)
	return e.Answer(text), err
}

// noteNames remembers the skills that a prompt names and the client loads itself.
func (r *run) noteNames(ctx context.Context, e *event.Event) {
	if len(e.Names) == 0 {
		return
	}
	c, m := r.client()
	for _, name := range e.Names {
		if m.HasSkill(c, name) {
			r.memory.Load(ctx, e.Session, name[strings.LastIndex(name, ":")+1:], "")
		}
	}
}

// client returns the client that calls the hook, and the machine with the working folder.
func (r *run) client() (client.Client, *client.Machine) {
	c, _ := client.Find(r.caller())
	home, _ := os.UserHomeDir() // ignore the error: then there are no folders of the user
	return c, &client.Machine{OS: runtime.GOOS, Home: home, Project: r.dir, Getenv: r.Getenv}
}

// own returns how the client loads the skills in its own folders; nil if it has no means that
// a model could be told.
func (r *run) own() *contextprovider.Own {
	c, m := r.client()
	if c.Hook == nil || len(c.Hook.Tools.Skill) == 0 && c.Hook.Mark != "$" {
		return nil
	}
	o := &contextprovider.Own{Mark: c.Hook.Mark, Name: func(e *repertoire.Entry) string { return m.OwnName(c, e.Source, e.Location) }}
	if len(c.Hook.Tools.Skill) > 0 {
		o.Tool = c.Hook.Tools.Skill[0]
	}
	return o
}

// caller returns the client that calls the hook: some clients run the hooks that are set
// up for another one too, but read their own form of answers. The session is the same,
// so that only the first of two hooks answers a prompt.
func (r *run) caller() string {
	for _, c := range client.All() {
		if c.Hook != nil && c.Hook.RunsHooksOf == r.Arg && r.Getenv(c.Hook.RunsVar) != "" {
			return c.Name
		}
	}
	return r.Arg
}

// text returns the text that the model should see; "" means none.
func (r *run) text(ctx context.Context, e *event.Event) (string, error) {
	if r.Ask != nil {
		text, err := r.asked(ctx, e)
		if err == nil {
			return text, nil
		}
		r.log.Error(instead, "error", err)
		r.Server = "" // it may be the server that does not answer; paths lead to what is here
	}
	asks, _ := r.client()
	c, agent, err := r.Open(ctx, Opening{Client: asks.Name, Dir: r.dir, Log: r.log, Bound: r.bound, Warn: func(err error) {
		if r.memory.First(ctx, e.Session, err.Error()) {
			r.log.Warn("not used", "cause", err)
		}
	}})
	if err != nil {
		return "", err
	}
	steps.Done("settings and catalog")
	ready, err := r.ready(ctx, c)
	steps.Done("look for changes")
	if r.stale.Load() == nil {
		defer c.Close() // which waits for a rescan
	}
	if !ready {
		return "", err
	}
	if e.Kind == client.Start {
		return r.introduction(ctx, c, agent, e.Room())
	}
	budget := repertoire.Budget{Chars: e.Room(), Server: r.Server, Command: cmp.Or(r.Name, "skills"), ListPinned: true, Local: true, Own: r.own()}
	if r.markdown() {
		budget.Format = contextprovider.Markdown
	}
	p := session.Prompt{Session: e.Session, Turn: e.Turn, Text: e.Prompt, Dir: r.dir, Keep: r.Usage != nil && r.Usage(r.dir).Prompts()}
	block, err := r.memory.Suggest(ctx, c, p, budget, agent)
	if err != nil {
		return "", err
	}
	r.result.Block = &block
	r.noteOffer(e, agent, &block)
	if block.Background.Due || block.Unencoded { // which takes seconds, so not here
		once := func() bool {
			return r.memory.First(context.WithoutCancel(ctx), e.Session, "completing the catalog in the background")
		}
		r.stale.CompareAndSwap(nil, &stale{c.Path(), once})
	}
	return block.Text, nil
}

// markdown reports whether Markdown is the best form for the client.
func (r *run) markdown() bool {
	asks, _ := client.Find(r.Arg)
	return asks.Hook != nil && asks.Hook.Markdown
}

// noteOffer notes what a prompt got, unless another hook has answered it.
func (r *run) noteOffer(e *event.Event, a *repertoire.Agent, b *repertoire.Block) {
	if b.Mode == "" {
		return
	}
	u := usage.Answered(usage.Offered, e.Prompt, &b.Ranking)
	u.Session, u.Wording = e.Session, b.Wording
	if a != nil {
		u.Agent = a.Name
	}
	for _, s := range b.Skills {
		u.Skills = append(u.Skills, usage.Skill{ID: s.ID, Location: s.Location})
	}
	r.note(u)
}

// note notes an event in the log of usage.
func (r *run) note(u usage.Event) {
	if r.Usage == nil {
		return
	}
	u.Client = r.Arg
	if err := r.Usage(r.dir).Add(u); err != nil {
		r.log.Warn("usage is not noted", "error", err)
	}
}

// ready reports whether the catalog can answer. If there is no time to bring it up to date, a
// process in the background will.
func (r *run) ready(ctx context.Context, c Catalog) (bool, error) {
	// A hook must not be felt, so it looks at a part of a large catalog each time.
	if c.Owner().Glance(ctx, time.Millisecond).Current {
		return true, nil
	}
	r.stale.Store(&stale{db: c.Path()})
	if usable, err := c.Owner().Usable(ctx); err != nil || !usable {
		return false, err
	}
	if copied := c.Shared(); copied.State != "" && time.Since(copied.Heard).Abs() < slots.Pause {
		r.stale.Store(nil) // nothing but a prompt a moment ago would be older
		return true, nil
	}
	indexed, err := c.Owner().Indexed(ctx)
	if err != nil {
		return false, err
	}
	if r.rescan(ctx, c, indexed) && indexed {
		r.stale.Store(nil) // otherwise thresholds of its own are still to be made
	}
	return true, nil
}

// rescan brings the catalog up to date and reports whether the time was enough: a quarter of
// the rest, or half if folders have never been read, as those of a new clone: these come
// first, and an answer about them takes longer than from a compiled catalog.
func (r *run) rescan(ctx context.Context, c Catalog, indexed bool) bool {
	quarters := time.Duration(1)
	if !indexed {
		quarters = 2
	}
	bounded, cancel := context.WithTimeout(ctx, time.Until(r.end)*quarters/4)
	defer cancel() // not in the goroutine: a rescan that has ended would count as late
	// A writer may wait for another for longer than ctx allows.
	fresh := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				fresh <- fmt.Errorf("panic: %v", p)
			}
		}()
		_, err := c.Owner().Rescan(bounded, nil)
		fresh <- err
	}()
	select {
	case err := <-fresh:
		return err == nil
	case <-bounded.Done():
		return false
	}
}

// bound divides most of the remaining time between embedder and reranker.
func (r *run) bound(cfg *repertoire.Config) {
	rest := time.Until(r.end) * 3 / 5
	if cfg.Reranker != nil {
		rest /= 2
		cfg.RerankDeadline = sooner(cfg.RerankDeadline, rest)
	}
	cfg.Deadline = sooner(cfg.Deadline, rest)
}

// sooner returns the shorter of a configured deadline, 0 for the usual one, and most.
func sooner(configured, most time.Duration) time.Duration {
	return max(min(cmp.Or(configured, 250*time.Millisecond), most), time.Millisecond)
}

// introduction is what is said at the start of a session, in at most so many characters of JSON.
func (r *run) introduction(ctx context.Context, c Catalog, agent *repertoire.Agent, room int) (string, error) {
	text, err := contextprovider.Introduce(ctx, c, agent, r.Server, r.Command())
	if err != nil || text == "" || r.Arg != client.SessionStart {
		return r.withProposals(text), err
	}
	// No prompt of such a client gets a block: what there is, is told now.
	b, err := c.Block(ctx, "", repertoire.Budget{Offer: contextprovider.All, Chars: room - contextprovider.JSONLength(text), Server: r.Server, Command: r.Command(), ListPinned: true}, agent)
	if err != nil {
		return "", err
	}
	return r.withProposals(text + b.Text), nil
}

// withProposals adds to an introduction how many proposed changes wait on this machine.
func (r *run) withProposals(text string) string {
	if r.state == "" || text == "" {
		return text
	}
	if n := r.Waiting(r.state); n > 0 {
		text += fmt.Sprintf("Proposed changes of skills that wait for the user's decision: %d (`%s proposals` lists them).\n", n, tidy.Line(r.Command()))
	}
	return text
}
