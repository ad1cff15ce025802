package event

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
)

// Sample returns the event e, a prompt or the start of a session, as a client writes it: the
// fields are those that the client documents. Decode reads it; what Sample does not know,
// such as the model, is empty. It is for trying a hook without the client.
func Sample(name string, e Event) ([]byte, error) {
	c, ok := client.Find(name)
	if !ok || c.Hook == nil {
		return nil, fmt.Errorf("making a sample event: %q has no hook", name)
	}
	ev, ok := c.Hook.Event(e.Kind)
	if !ok || ev.Sample == "" {
		return nil, fmt.Errorf("making a sample event: the hook of %s gets no such event", c.Title)
	}
	return []byte(strings.NewReplacer(
		client.MarkEvent, quoted(ev.Name),
		client.MarkPrompt, quoted(e.Prompt),
		client.MarkSession, quoted(e.Session),
		client.MarkTurn, quoted(e.Turn),
		client.MarkDir, quoted(e.Dir),
		client.MarkSource, quoted(e.Source),
	).Replace(ev.Sample) + "\n"), nil
}

// Told returns the text that an answer to the sample of e gives to the model of a client; ""
// for no answer. It is an error if the answer has not the form that the client takes.
func Told(name string, e Event, answer []byte) (string, error) {
	if len(answer) == 0 {
		return "", nil
	}
	c, _ := client.Find(name)
	if c.Hook == nil {
		return "", fmt.Errorf("reading an answer: %q has no hook", name)
	}
	ev, _ := c.Hook.Event(e.Kind)
	form := strings.NewReplacer(client.MarkEvent, quoted(ev.Name), client.MarkText, quoted(client.MarkText), client.MarkPrompt, quoted(client.MarkText)).Replace(ev.Answer)
	var want, got any
	if err := json.Unmarshal([]byte(form), &want); err != nil {
		return "", fmt.Errorf("reading an answer: the form of %s: %w", c.Title, err)
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return "", fmt.Errorf("reading an answer: %w", err)
	}
	text, ok := textAt(want, got)
	if !ok {
		return "", fmt.Errorf("reading an answer: not in the form of %s: %.100s", c.Title, answer)
	}
	return strings.TrimPrefix(text, e.Prompt+"\n\n"), nil
}

// textAt returns the text of got that stands where want has the mark of the text. Everything
// else has to be the same in both.
func textAt(want, got any) (text string, ok bool) {
	w, isObject := want.(map[string]any)
	if !isObject {
		if want == client.MarkText {
			text, ok = got.(string)
			return text, ok
		}
		return "", want == got
	}
	g, _ := got.(map[string]any)
	if len(g) != len(w) {
		return "", false
	}
	for name, part := range w {
		found, ok := textAt(part, g[name])
		if !ok {
			return "", false
		}
		text += found
	}
	return text, true
}
