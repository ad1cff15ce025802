package event

import (
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
