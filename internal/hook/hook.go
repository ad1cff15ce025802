// Package hook speaks the protocols in which clients ask a command for context:
// it decodes the event that a client writes to the command's standard input, and
// encodes the answer, which is all that standard output may hold.
package hook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A Client is a program whose protocol is spoken.
type Client string

// The clients. SessionStart stands for all that can be told something at the
// start of a session only: its events are told apart by their form.
const (
	Claude       Client = "claude"
	Codex        Client = "codex"
	Gemini       Client = "gemini"
	Cursor       Client = "cursor"
	Copilot      Client = "copilot"
	SessionStart Client = "sessionstart"
)

// Clients are all clients.
func Clients() []Client { return []Client{Claude, Codex, Gemini, Cursor, Copilot, SessionStart} }

// A Kind is what an event is about.
type Kind int

// The kinds.
const (
	Other   Kind = iota
	Prompt       // the user has sent a prompt
	Start        // a session begins or goes on
	Compact      // the client replaces the conversation by a summary
	Tool         // the model has used a tool
)

// An Event is what a client told.
type Event struct {
	Kind    Kind
	Asks    bool // the client takes a text for the model in answer to it
	Prompt  string
	Session string // any text, "" when the client does not tell
	Turn    string // identifies the prompt in its session, or ""
	Dir     string // the client's working folder, absolute, or ""
	Source  string // of Start: what began the session, such as "resume" or "clear"
	Loads   []Load // of Tool: skills whose instructions the model has read

	name   string // of the event, as the client calls it
	answer form
	prompt json.RawMessage // what copilotPrompt replaces, a string
}

// A Load is a skill that was read: its name or ID, or the path of its SKILL.md.
type Load struct {
	Name string
	Path string // absolute
}

// A form is the shape of an answer.
type form int

const (
	wrapped       form = iota // as of Claude Code, which most clients have taken over
	cursorPrompt              // of beforeSubmitPrompt
	cursorStart               // of sessionStart
	copilotPrompt             // of userPromptTransformed
	copilotStart              // of sessionStart
)

// MaxEvent is the size in bytes of the largest event that is read.
const MaxEvent = 1 << 20

// Read reads an event, one JSON value, at most MaxEvent bytes. It does not wait
// for the end of r: not every client closes its side. What is no event is read to
// its end, because a client may not bear that nobody reads what it writes. A byte
// order mark, which some shells on Windows write, is skipped.
func Read(r io.Reader) ([]byte, error) {
	data, err := readEvent(r)
	if err != nil {
		io.Copy(io.Discard, r)
		return nil, fmt.Errorf("reading event: %w", err)
	}
	return data, nil
}

func readEvent(r io.Reader) ([]byte, error) {
	in := bufio.NewReader(io.LimitReader(r, MaxEvent+4))
	if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" {
		in.Discard(3)
	}
	var data json.RawMessage
	if err := json.NewDecoder(in).Decode(&data); err != nil {
		return nil, err
	}
	if len(data) > MaxEvent {
		return nil, fmt.Errorf("longer than %d bytes", MaxEvent)
	}
	return data, nil
}

// kinds maps the names of events to their kinds. The same event has the same
// name in all clients that have it, but for the case of its first letter.
var kinds = map[string]Kind{
	"UserPromptSubmit": Prompt, "BeforeAgent": Prompt, "beforeSubmitPrompt": Prompt,
	"SessionStart": Start, "sessionStart": Start,
	"PreCompact": Compact, "preCompact": Compact, "PostCompact": Compact, "PreCompress": Compact,
	"PostToolUse": Tool, "postToolUse": Tool, "AfterTool": Tool,
}

// Decode decodes an event of a client. An event that says nothing worth an
// answer is one of kind Other; what is no event at all is an error. Fields that
// a client leaves out, and optional ones of another type, are empty.
func Decode(c Client, data []byte) (Event, error) {
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
		Prompt:  f.text("prompt"),
	}
	// The context of a sub-agent is its own.
	if agent := f.text("agent_id"); agent != "" && e.Session != "" {
		e.Session += "/" + agent
	}
	e.Kind = kinds[e.name]
	if e.name == "" {
		e.copilot(f)
	}
	switch {
	case e.Kind == Prompt && e.answer != copilotPrompt && f.dropped(c):
		e.Kind = Other
	case e.name == "beforeSubmitPrompt" || c == Cursor && e.Kind == Prompt:
		e.answer = cursorPrompt
	case e.name == "sessionStart" || c == Cursor && e.Kind == Start:
		e.answer = cursorStart
	}
	switch e.Kind {
	case Prompt:
		e.Asks = c != SessionStart && strings.TrimSpace(e.Prompt) != ""
	case Start:
		// A session that goes on still has what it was told.
		e.Asks = c == SessionStart && e.Source != "resume"
	case Tool:
		e.Loads = f.loads(e.Dir)
	}
	return e, nil
}

// copilot tells which event of Copilot this is, whose events have no name where
// they are configured in its own form.
func (e *Event) copilot(f fields) {
	switch {
	case f["transformedPrompt"] != nil:
		e.Kind, e.answer, e.prompt = Prompt, copilotPrompt, f["transformedPrompt"]
		if f.text("transformedPrompt") == "" {
			e.Kind = Other
		}
	case f["toolName"] != nil:
		e.Kind = Tool
	case f["trigger"] != nil:
		e.Kind = Compact
	case f["source"] != nil:
		e.Kind, e.answer = Start, copilotStart
	}
}

// dropped reports whether the client drops the answer to this prompt. Copilot and
// VS Code run the hooks that are set up for Claude Code too, but take no context
// from them: what they are told would count as offered.
func (f fields) dropped(c Client) bool {
	copilot := f["timestamp"] != nil && f["transcript_path"] == nil && f.text("hook_event_name") == "UserPromptSubmit"
	return c == Copilot || copilot || f["hookEventName"] != nil
}

// Forgets reports whether what the session was told before is gone after the
// event, and whether its prompts are too.
func (e *Event) Forgets() (offers, prompts bool) {
	clear := e.Kind == Start && e.Source == "clear"
	return clear || e.Kind == Compact || e.Kind == Start && e.Source == "compact", clear
}

// MaxAnswer bounds an answer, in UTF-16 code units: the smallest bound of a
// client on what is put into a prompt is 10,000, or 2,500 tokens. The prompt
// that Copilot wants back does not count.
const MaxAnswer = 6000

// Room returns how many characters of text, as a JSON string, the answer to the
// event has room for.
func (e *Event) Room() int {
	empty := *e
	empty.prompt = json.RawMessage(`""`)
	return MaxAnswer - len(empty.encode(""))
}

// Answer returns what is to be written to standard output so that the model sees
// the text: nothing for no text, or where the client takes none.
func (e *Event) Answer(text string) []byte {
	if text == "" || !e.Asks {
		return nil
	}
	return e.encode(text)
}

func (e *Event) encode(text string) []byte {
	type output struct {
		HookEventName     string `json:"hookEventName"`
		AdditionalContext string `json:"additionalContext"`
	}
	switch e.answer {
	case cursorPrompt:
		return encode(struct {
			Continue bool   `json:"continue"`
			Context  string `json:"additional_context"`
		}{true, text})
	case cursorStart:
		return encode(struct {
			Context string `json:"additional_context"`
		}{text})
	case copilotStart:
		return encode(struct {
			Context string `json:"additionalContext"`
		}{text})
	case copilotPrompt:
		// What is there stays byte for byte: a JSON string need not be one of Go.
		added := bytes.TrimSuffix(encode("\n\n"+text), []byte("\n"))
		out := append([]byte(`{"modifiedTransformedPrompt":`), e.prompt[:len(e.prompt)-1]...)
		return append(append(out, added[1:]...), "}\n"...)
	}
	return encode(struct {
		Output output `json:"hookSpecificOutput"`
	}{output{e.name, text}})
}

// encode returns v as one line of JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // unreachable: strings can be encoded
	}
	return b.Bytes()
}

// fields are those of an event.
type fields map[string]json.RawMessage

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
	if dir == "" {
		var roots []string
		if json.Unmarshal(f["workspace_roots"], &roots) == nil && len(roots) > 0 {
			dir = roots[0]
		}
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
