// Package event decodes the event that an agent client writes to the standard input of a
// hook, and encodes the answer, which is all that standard output may hold. Package client
// describes the forms of both.
package event

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/intent"
)

// An Event is what a client says to a hook.
type Event struct {
	Kind    client.Kind
	Asks    bool     // the client takes a text for the model as an answer
	Prompt  string   // what a person typed of it, see intent.Typed
	Names   []string // of Prompt: skills that it names in the way in which the client loads them itself
	Session string   // any text, "" when the client does not tell
	Turn    string   // identifies the prompt in its session, or ""
	Dir     string   // the client's working folder, absolute, or ""
	Source  string   // of Start: what began the session, such as "resume" or "clear"
	Loads   []Load   // of Tool: skills whose instructions the model has read

	name   string          // of the event, as the client calls it
	form   string          // of the answer, see client.Event
	prompt json.RawMessage // what client.MarkPrompt continues, a JSON string
}

// A Load is a skill that was read: its name or ID, or the path of its SKILL.md.
type Load struct {
	Name string
	Path string // absolute
}

// maxEvent is the size in bytes of the largest event that is read.
const maxEvent = 1 << 20

// Read reads an event, one JSON value, at most maxEvent bytes. It does not wait for the
// end of r: not every client closes its side. If r holds no event, it is read to its end,
// because a client may fail when nobody reads what it writes.
func Read(r io.Reader) ([]byte, error) {
	in := bufio.NewReader(io.LimitReader(r, maxEvent+4))
	if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" {
		in.Discard(3) // some shells on Windows write a byte order mark
	}
	var data json.RawMessage
	err := json.NewDecoder(in).Decode(&data)
	if err == nil && len(data) > maxEvent {
		err = fmt.Errorf("longer than %d bytes", maxEvent)
	}
	if err != nil {
		io.Copy(io.Discard, r)
		return nil, fmt.Errorf("reading event: %w", err)
	}
	return data, nil
}

// Decode decodes an event for a hook that is called with arg, one of client.HookArgs. An
// event without need of an answer is of kind Other; what is no event is an error. Fields
// that a client leaves out, and optional ones of another type, are empty.
func Decode(arg string, data []byte) (Event, error) {
	if !utf8.Valid(data) {
		return Event{}, errors.New("decoding event: not UTF-8")
	}
	var f fields
	if err := json.Unmarshal(data, &f); err != nil {
		return Event{}, fmt.Errorf("decoding event: %w", err)
	}
	e := Event{
		name:    f.text("hook_event_name", "hookEventName"),
		Session: f.text("conversation_id", "session_id", "sessionId"),
		Turn:    f.text("prompt_id", "turn_id", "generation_id"),
		Dir:     f.dir(),
		Source:  f.text("source"),
		Prompt:  f.text("submitted_prompt", "prompt"), // Qwen Code puts the text of a called skill into the second
	}
	// The context of a sub-agent is its own.
	if agent := f.text("agent_id"); agent != "" && e.Session != "" {
		e.Session += "/" + agent
	}
	p := protocolOf(arg)
	p.classify(&e, f)
	switch e.Kind {
	case client.Prompt:
		e.Prompt = intent.Typed(e.Prompt)
		e.Names = p.names(f.text("command_name"), e.Prompt)
		e.Asks = arg != client.SessionStart && strings.TrimSpace(e.Prompt) != ""
	case client.Start:
		// A session that goes on still has what it was told.
		e.Asks = arg == client.SessionStart && e.Source != "resume"
	case client.Tool:
		e.Loads = f.loads(p.all, e.Dir)
	}
	return e, nil
}

// A protocol is what the clients say to a hook.
type protocol struct {
	all []*client.Hook // own first: where clients differ, its meaning counts
	own *client.Hook   // of the client that the hook is called for; nil at the start of a session
}

func protocolOf(arg string) protocol {
	var p protocol
	for _, c := range client.All() {
		switch {
		case c.Hook == nil:
		case c.Name == arg:
			p.own = c.Hook
			p.all = slices.Insert(p.all, 0, c.Hook)
		default:
			p.all = append(p.all, c.Hook)
		}
	}
	return p
}

// classify sets the kind of an event and the form of the answer. The same event has the
// same meaning in all clients, but a client that runs the hooks of another one reads
// answers in its own form.
func (p protocol) classify(e *Event, f fields) {
	ev := p.find(e.name, f)
	e.Kind, e.form = ev.Kind, ev.Answer
	if ev.Trigger != "" && f.text("trigger") != ev.Trigger {
		e.Kind = client.Other
	}
	switch {
	case e.Kind != client.Prompt:
	case ev.Field != "":
		if e.prompt = f[ev.Field]; f.text(ev.Field) == "" {
			e.Kind = client.Other
		}
	case p.drops(e.name, f):
		e.Kind = client.Other
	}
	if p.own == nil || p.own.RunsHooksOf == "" {
		return
	}
	if ev, ok := p.own.Event(e.Kind); ok {
		e.form = ev.Answer
	}
}

// find returns the description of an event, by its name or, without one, by its fields.
func (p protocol) find(name string, f fields) client.Event {
	for _, h := range p.all {
		for _, ev := range h.Events {
			if name != "" && ev.Field == "" && ev.Name == name || name == "" && ev.Field != "" && f.has(ev.Field) {
				return ev
			}
		}
	}
	return client.Event{}
}

// drops reports whether the client drops the answer to a prompt, whose skills would count
// as offered: some clients run the hooks of others too, but take no context from them.
func (p protocol) drops(name string, f fields) bool {
	if p.own != nil {
		if ev, ok := p.own.Event(client.Prompt); ok && ev.Field != "" {
			return true // it takes an answer to prompts in its own form only
		}
	}
	return slices.ContainsFunc(p.all, func(h *client.Hook) bool { return h.Drops != nil && h.Drops(name, f.has) })
}

// Forgets reports whether the session has lost earlier offers after the event, and prompts.
func (e *Event) Forgets() (offers, prompts bool) {
	clear := e.Kind == client.Start && e.Source == "clear"
	return clear || e.Kind == client.Compact || e.Kind == client.Start && e.Source == "compact", clear
}

// Room returns how many characters of text, as a JSON string, the answer to the
// event has room for. The prompt that a client wants back does not count.
func (e *Event) Room() int {
	empty := *e
	empty.prompt = json.RawMessage(`""`)
	return client.Room - len(empty.encode(""))
}

// Answer returns what is to be written to standard output so that the model sees
// the text: nothing for no text, or where the client takes none.
func (e *Event) Answer(text string) []byte {
	if text == "" || !e.Asks {
		return nil
	}
	return e.encode(text)
}

// encode puts a text into the form of the answer.
func (e *Event) encode(text string) []byte {
	marks := []string{client.MarkEvent, quoted(e.name), client.MarkText, quoted(text)}
	if e.prompt != nil {
		// What is there stays byte for byte: a JSON string need not be one of Go.
		marks = append(marks, client.MarkPrompt, string(e.prompt[:len(e.prompt)-1])+quoted("\n\n" + text)[1:])
	}
	return []byte(strings.NewReplacer(marks...).Replace(e.form) + "\n")
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(text) // ignore the error: every string can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// fields are the fields of an event, by name.
type fields map[string]json.RawMessage

func (f fields) has(name string) bool { return f[name] != nil }

// text returns the first of the fields that is a text.
func (f fields) text(names ...string) string {
	for _, name := range names {
		var s string
		if json.Unmarshal(f[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// dir returns the working folder, of Cursor the first root of its workspace.
func (f fields) dir() string {
	dir := f.text("cwd")
	var roots []string
	if dir == "" && json.Unmarshal(f["workspace_roots"], &roots) == nil && len(roots) > 0 {
		dir = roots[0]
	}
	// Cursor writes C:\x as /c:/x.
	if len(dir) > 3 && dir[0] == '/' && dir[2] == ':' && filepath.IsAbs(filepath.FromSlash(dir[1:])) {
		dir = dir[1:]
	}
	if dir = filepath.FromSlash(dir); !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}
