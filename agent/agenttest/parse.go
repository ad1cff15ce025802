package agenttest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/agent"
)

// Parse reads a script: a txtar archive whose files are turns. The text before the first is
// a comment. A turn is lines of a key and a value, an empty line, and what the model writes:
//
//	-- turn --
//	want: fill the form
//	want tool: get_skill
//	call read_skill: {"name": "pdf"}
//
//	I will look at the skill.
//	-- turn --
//	want: # PDF
//
//	Done.
//
// The keys, each as often as needed:
//
//	want: TEXT         the messages since the last answer have the text
//	want PLACE: TEXT   so has system, all (messages), tools (names and descriptions), or
//	                   tool (a whole name)
//	not: TEXT          they do not have it; also "not PLACE:"
//	call NAME: JSON    the model calls a tool; the arguments may be malformed
//	usage: IN OUT      the tokens that the server counts
//	pause: 10ms        before the answer, and before each piece of a stream
//	status: 429        an HTTP error, with the text as its message
//	retry-after: 1     its header
//	cut: 20            the connection ends after 20 characters of the text
//	hang: yes          no answer
//	panic: yes         the model panics with the text
func Parse(text []byte) ([]Turn, error) {
	var turns []Turn
	for i, f := range txtar.Parse(text).Files {
		if f.Name != "turn" {
			return nil, fmt.Errorf("script: there is a file %q; each must be called turn", f.Name)
		}
		t, err := ParseTurn(string(f.Data))
		if err != nil {
			return nil, fmt.Errorf("script: turn %d: %w", i+1, err)
		}
		turns = append(turns, t)
	}
	if len(turns) == 0 {
		return nil, errors.New(`script: it has no turn; a turn starts with a line "-- turn --"`)
	}
	return turns, nil
}

// ParseTurn reads one turn, in the form that Parse says, without the line that starts it.
func ParseTurn(text string) (Turn, error) {
	var t Turn
	for n := 1; text != ""; n++ {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return Turn{}, fmt.Errorf("line %d: %q has no colon after its key; an empty line must stand before what the model writes", n, line)
		}
		key, name, _ := strings.Cut(strings.TrimSpace(key), " ")
		if err := t.set(key, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return Turn{}, fmt.Errorf("line %d: %s: %w", n, key, err)
		}
	}
	t.Text = strings.TrimRight(text, "\r\n")
	return t, nil
}

// set sets what one line says.
func (t *Turn) set(key, name, value string) (err error) {
	if name != "" && key != "want" && key != "not" && key != "call" {
		return fmt.Errorf("unexpected %q before the colon", name)
	}
	switch key {
	case "want", "not":
		return t.addWant(name, value, key == "not")
	case "call":
		if name == "" {
			return errors.New(`the name of the tool is missing; write "call NAME: JSON"`)
		}
		t.Calls = append(t.Calls, agent.Call{Name: name, Arguments: value})
	case "usage":
		in, out, _ := strings.Cut(value, " ")
		if t.Usage.In, err = number(in, 0); err == nil {
			t.Usage.Out, err = number(strings.TrimSpace(out), 0)
		}
	case "pause":
		if t.Pause, err = time.ParseDuration(value); err == nil && t.Pause < 0 {
			err = errors.New("it is negative")
		}
	case "status":
		t.Status, err = number(value, 100)
		if t.Status > 599 {
			err = errors.New("it is over 599")
		}
	case "retry-after":
		t.RetryAfter = value
	case "cut":
		t.Cut, err = number(value, 1)
	case "hang":
		t.Hang, err = yes(value)
	case "panic":
		t.Panic, err = yes(value)
	default:
		return errors.New("there is no such key; the keys are want, not, call, usage, pause, status, retry-after, cut, hang, panic")
	}
	return err
}

func (t *Turn) addWant(place, text string, not bool) error {
	switch Place(place) {
	case Last, System, Tool, Tools, All:
	default:
		return fmt.Errorf("there is no place %q; the places are system, tool, tools, all", place)
	}
	if text == "" {
		return errors.New("the text is missing")
	}
	t.Want = append(t.Want, Want{In: Place(place), Text: text, Not: not})
	return nil
}

func number(s string, least int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return 0, fmt.Errorf("%q is not a number from %d", s, least)
	}
	return n, nil
}

func yes(s string) (bool, error) {
	if s != "yes" && s != "no" {
		return false, fmt.Errorf("%q is neither yes nor no", s)
	}
	return s == "yes", nil
}
