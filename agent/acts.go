package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// acts does what a model asks for, for one conversation. Both modes, instructions and
// tools, go through it; they differ in how they are asked and how they write results.
type acts struct {
	cfg    *Config
	files  *sandbox.Session // of this conversation
	before []loadedSkill    // by other calls of a Session; nil means none

	mu      sync.Mutex
	loaded  []contextprovider.Body // in the order in which they were loaded, each skill once
	allowed map[string][32]byte    // the skills whose scripts may run as they were then, by ID
	refused map[string]refusal     // the skills whose scripts may not run, by ID; nil while no prompt is answered
	scripts map[string]readScripts // of the loaded skills, by ID, as far as they are tools
	events  []usage.Event
}

// load returns the instructions of a skill, and whether the conversation has them already.
func (s *acts) load(ctx context.Context, name string) (b contextprovider.Body, again bool, err error) {
	b, err = s.body(ctx, name)
	if err != nil {
		return b, false, s.failed("", name, err)
	}
	return b, !s.give(b), nil
}

// give notes that the model gets the instructions of a skill. It reports whether they are
// new to the conversation.
func (s *acts) give(b contextprovider.Body) bool {
	s.mu.Lock()
	i := slices.IndexFunc(s.loaded, func(l contextprovider.Body) bool { return l.ID == b.ID })
	if i >= 0 && s.loaded[i].Text == b.Text {
		s.mu.Unlock()
		return false
	}
	if i >= 0 { // the file changed since
		s.loaded = slices.Delete(s.loaded, i, i+1)
	}
	s.loaded = append(s.loaded, b)
	s.mu.Unlock()
	s.note(usage.Event{Kind: usage.Loaded, Skills: usage.Named(b.ID), Tokens: b.Tokens, Stale: b.Stale})
	return true
}

// body returns the instructions of a skill as they are now, without noting it.
func (s *acts) body(ctx context.Context, name string) (contextprovider.Body, error) {
	return byName(name, func(name string) (contextprovider.Body, error) {
		return s.cfg.Catalog.Body(ctx, name, s.cfg.Agent)
	})
}

// byName gets something of a skill, whose name is tried as it is and in lower case.
func byName[T any](name string, get func(name string) (T, error)) (T, error) {
	name = strings.TrimSpace(name)
	got, err := get(name)
	if lower := strings.ToLower(name); errors.Is(err, skill.ErrNotFound) && lower != name {
		if low, no := get(lower); !errors.Is(no, skill.ErrNotFound) {
			return low, no
		}
	}
	return got, err
}

// read returns a file of a skill.
func (s *acts) read(ctx context.Context, name, file string) (contextprovider.File, error) {
	f, err := byName(name, func(name string) (contextprovider.File, error) {
		return s.cfg.Catalog.File(ctx, name, file, s.cfg.Agent)
	})
	if err != nil {
		b, unknown := s.body(ctx, name)
		if unknown != nil {
			return f, s.failed("", name, err)
		}
		return f, s.failed(b.ID, file, err)
	}
	s.note(usage.Event{Kind: usage.Read, Skills: usage.Named(f.ID), What: f.Path, Tokens: words.Tokens(f.Text)})
	return f, nil
}

// run runs a command of a skill.
func (s *acts) run(ctx context.Context, name string, r sandbox.Request) (sandbox.Result, error) {
	b, err := s.body(ctx, name)
	if err != nil {
		return sandbox.Result{}, s.failed("", name, err)
	}
	r.Command, r.Args = inFolder(r.Command), each(r.Args, inFolder) // commands run in the folder of the skill
	if err := s.allow(ctx, b, whole(&r)); err != nil {
		return sandbox.Result{}, s.failed(b.ID, r.Command, err)
	}
	x, err := s.prepare(ctx, &b, &r)
	if err != nil {
		return sandbox.Result{}, s.failed(b.ID, r.Command, err)
	}
	start := time.Now()
	res, err := s.execute(ctx, x, r)
	if err != nil {
		return res, s.failed(b.ID, r.Command, err)
	}
	s.noteRun(b.ID, r.Command, start, &res)
	return res, nil
}

// inFolder returns a command, or a rule for commands, in which "." stands for placeholders of the
// skill's folder.
func inFolder(text string) string { return contextprovider.Filled(text, ".", "") }

// each returns what change makes of each text.
func each(list []string, change func(string) string) []string {
	changed := make([]string, len(list))
	for i, text := range list {
		changed[i] = change(text)
	}
	return changed
}

// execute lets an executor run the command of a request, if it may. A command of no skill is a
// program of a sandbox.Shell.
func (s *acts) execute(ctx context.Context, x sandbox.Executor, r sandbox.Request) (sandbox.Result, error) {
	if err := sandbox.Check(x, r); err != nil {
		return sandbox.Result{}, err
	}
	if err := s.mountAll(ctx, x, r.Command); err != nil {
		return sandbox.Result{}, err
	}
	return guard(ctx, "the executor", func() (sandbox.Result, error) {
		if sh, ok := x.(sandbox.Shell); ok && r.Skill == "" {
			return sh.Run(ctx, r.Command)
		}
		return x.Execute(ctx, r)
	})
}

// noteRun notes a command that ran; id is "" if it is of no skill.
func (s *acts) noteRun(id, command string, start time.Time, r *sandbox.Result) {
	stdout, stderr, _ := printed(r)
	e := usage.Event{Kind: usage.Ran, What: command, Exit: r.ExitCode, Duration: time.Since(start),
		Tokens: words.Tokens(stdout) + words.Tokens(stderr), Unprotected: r.Unprotected}
	if id != "" {
		e.Skills = usage.Named(id)
	}
	s.note(e)
}

// A refusal is the answer that scripts of a skill may not run.
type refusal struct {
	skill [32]byte // as it was then
	err   error
}

// allow asks once for each skill whether its scripts may run, and again when its SKILL.md or
// the list of its files changes: a script that may write to a folder that holds skills can
// change them. While a prompt is answered, a refusal holds: a model must not ask until its
// user is tired.
func (s *acts) allow(ctx context.Context, b contextprovider.Body, command string) error {
	if s.cfg.Executor == nil {
		return errors.New("scripts do not run here: the program that runs this agent has no executor")
	}
	if s.cfg.Allow == nil {
		return nil
	}
	now := fingerprint(&b)
	s.mu.Lock()
	then, known := s.allowed[b.ID]
	no, refused := s.refused[b.ID]
	s.mu.Unlock()
	switch {
	case known && then == now:
		return nil
	case refused && no.skill == now:
		return no.err
	}
	err := s.cfg.Allow(ctx, b, command)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.refused != nil && ctx.Err() == nil {
			s.refused[b.ID] = refusal{now, err}
		}
		return err
	}
	if s.allowed == nil {
		s.allowed = make(map[string][32]byte)
	}
	s.allowed[b.ID] = now
	return nil
}

// maxAsked is how many characters of a command are shown to who is asked.
const maxAsked = 500

// whole returns a command with its arguments as one line for people, shortened.
func whole(r *sandbox.Request) string {
	line := r.Command
	for _, arg := range r.Args {
		if len(line) > 4*maxAsked {
			break
		}
		line += " " + sandbox.Quote(arg)
	}
	return tidy.Shorten(tidy.Line(line), maxAsked)
}

// fingerprint tells a skill from what it was before.
func fingerprint(b *contextprovider.Body) [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q", b.Text)
	for _, r := range b.Resources {
		fmt.Fprintf(h, "%q %d %s\n", r.Path, r.Size, r.SHA256)
	}
	return [32]byte(h.Sum(nil))
}

// prepare completes a request with what the skill and the agent say, and returns who
// executes it.
func (s *acts) prepare(ctx context.Context, b *contextprovider.Body, r *sandbox.Request) (sandbox.Executor, error) {
	parsed, err := skill.ParseBytes([]byte(b.Text), "SKILL.md", b.Name)
	if err != nil {
		return nil, fmt.Errorf("reading which tools it allows: %w", err)
	}
	r.Skill, r.Allowed, r.Workspace = mountName(b), slices.Concat(r.Allowed, each(parsed.AllowedTools, inFolder)), s.cfg.Workspace
	if filepath.IsAbs(b.Location) && !b.Shared {
		r.Dir = b.Folder
		if !b.Partial { // all that is digested is listed
			r.Listed = append(r.Listed, filepath.Base(b.Location))
			for _, file := range b.Resources {
				r.Listed = append(r.Listed, file.Path)
			}
		}
	} else {
		r.Files = filesOf(ctx, s.cfg, b)
	}
	x, how, err := s.executor(ctx, b.ID)
	r.Limits.Timeout, r.Limits.Output, r.Limits.Network = cmp.Or(r.Limits.Timeout, how.Timeout), how.Output, how.Network
	return x, err
}

// executor returns who executes commands of a skill in this conversation, and how.
func (s *acts) executor(ctx context.Context, id string) (sandbox.Executor, search.Script, error) {
	how, err := s.cfg.Catalog.Script(ctx, id, s.cfg.Agent)
	if err != nil {
		return nil, how, fmt.Errorf("reading how its scripts run: %w", err)
	}
	x := s.cfg.Executor
	if how.Executor != "" && s.cfg.Executors != nil {
		if x, err = s.cfg.Executors(how); err != nil {
			return nil, how, err
		}
	}
	return s.files.Executor(x), how, nil
}

// failed notes that something that the model asked for could not be done. id is "" when
// there is no such skill. what is a file or command of the skill, or a name that no skill has.
func (s *acts) failed(id, what string, err error) error {
	e := usage.Event{Kind: usage.Failed, What: what, Err: err}
	if id != "" {
		e.Skills = usage.Named(id)
	}
	s.note(e)
	return err
}

// note keeps an event, and tells the observer and the log of it.
func (s *acts) note(e usage.Event) {
	e.Time = time.Now()
	if e.Err != nil {
		e.Error = e.Err.Error()
	}
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	if s.cfg.Observe != nil {
		s.cfg.Observe(e)
	}
	if s.cfg.Logger != nil {
		s.cfg.Logger.Info("agent", attrs(&e)...)
	}
}

// happened returns how many events there are.
func (s *acts) happened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// eventsFrom returns the events from the one with index i.
func (s *acts) eventsFrom(i int) []usage.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events[i:])
}
