package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/usage"
)

// A chatScreen prints what happens in a chat: what the model writes on standard output, all
// else on standard error. On a terminal the model is read as it writes; a pipe gets the last
// thing that it wrote, which is the answer.
type chatScreen struct {
	ui     *screen
	stream bool // standard output is a terminal
	dim    bool // of standard error, lines can be dim

	mu      sync.Mutex
	open    bool         // the model has written a part of a line
	told    []string     // what was said about walls
	waiting *usage.Event // a failure that is printed only if more of the answer follows; the end prints its own
}

func newChatScreen(ui *screen) *chatScreen {
	s := &chatScreen{ui: ui}
	_, s.stream = terminal(ui.stdout)
	_, s.dim = terminal(ui.stderr)
	s.stream = s.stream && !ui.json
	s.dim = s.dim && os.Getenv("NO_COLOR") == ""
	return s
}

// chatLine is a line that "chat --json" prints.
type chatLine struct {
	Event  *usage.Event `json:"event,omitempty"`
	Answer *chatAnswer  `json:"answer,omitempty"`
	Error  string       `json:"error,omitempty"`
	Hint   string       `json:"hint,omitempty"`
}

// chatAnswer is an answer that "chat --json" prints.
type chatAnswer struct {
	Text       string      `json:"text"`
	Iterations int         `json:"iterations"`
	Usage      agent.Usage `json:"usage"`
	Cut        bool        `json:"cut,omitempty"`
}

// print prints one line of JSON.
func (s *chatScreen) print(l chatLine) { s.ui.encoder().Encode(l) }

// piece prints what the model writes.
func (s *chatScreen) piece(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" || !s.stream {
		return
	}
	io.WriteString(s.ui.stdout, text)
	s.open = !strings.HasSuffix(text, "\n")
}

// end prints what is left to print of an answer.
func (s *chatScreen) end(a *agent.Answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.waiting; e != nil && (err == nil || !errors.Is(err, e.Err)) {
		s.aside("%s", e.Error)
	}
	s.waiting = nil
	s.close()
	switch {
	case s.ui.json && err == nil:
		s.print(chatLine{Answer: &chatAnswer{a.Text, a.Iterations, a.Usage, a.Cut}})
	case !s.ui.json && !s.stream && a.Text != "":
		s.ui.printText(a.Text)
	}
	if a.Cut {
		s.aside("the answer was cut off: it reached the most tokens that the server writes, or the server ended it half-way")
	}
}

// close ends a line that the model began.
func (s *chatScreen) close() {
	if s.open {
		io.WriteString(s.ui.stdout, "\n")
		s.open = false
	}
}

// aside prints a dim line on standard error.
func (s *chatScreen) aside(format string, args ...any) {
	if s.ui.quiet || s.ui.json {
		return
	}
	s.close()
	line := "  " + message(fmt.Sprintf(format, args...))
	if s.dim {
		lipgloss.Fprintln(bare(s.ui.stderr), lipgloss.NewStyle().Faint(true).Render(line))
		return
	}
	fmt.Fprintln(s.ui.stderr, line)
}

// problem says what went wrong, and what to do.
func (s *chatScreen) problem(text, hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	if s.ui.json {
		s.print(chatLine{Error: text, Hint: hint})
	}
	fmt.Fprintf(s.ui.stderr, "skills: %s\n", message(text))
	if hint != "" {
		fmt.Fprintf(s.ui.stderr, "skills: hint: %s\n", message(hint))
	}
}

// event prints an event.
func (s *chatScreen) event(e usage.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ui.json {
		s.print(chatLine{Event: &e})
		return
	}
	if s.waiting != nil {
		s.aside("%s", s.waiting.Error)
		s.waiting = nil
	}
	skills := strings.Join(e.IDs(), ", ")
	switch e.Kind {
	case usage.Offered:
		if len(e.Skills) > 0 {
			s.aside("offered: %s", skills)
		}
	case usage.Loaded:
		s.aside("loaded %s (%s)", skills, count(e.Tokens, "token"))
	case usage.Read:
		s.aside("read %s: %s", skills, e.What)
	case usage.Ran:
		s.ran(e, skills)
	case usage.Compacted:
		s.aside("compacted: %s fewer", count(e.Tokens, "token"))
	case usage.Failed:
		if len(e.Skills) == 0 && e.What == "" {
			s.waiting = &e
			return
		}
		s.aside("not done: %s", e.Error)
	}
}

// ran prints a run, and once what nothing kept it from.
func (s *chatScreen) ran(e usage.Event, skill string) {
	if skill != "" {
		skill += ": "
	}
	status := ""
	if e.Exit != 0 {
		status = fmt.Sprintf("exit status %d, ", e.Exit)
	}
	s.aside("ran %s%s (%s%s)", skill, e.What, status, figures.Duration(e.Duration))
	for _, gap := range e.Unprotected {
		if !slices.Contains(s.told, gap) {
			s.told = append(s.told, gap)
			s.aside("not confined: %s", gap)
		}
	}
}
