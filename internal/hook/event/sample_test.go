package event_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestSample: every client's prompts and starts can be made, hold the fields that the client
// documents (those of its events in testdata), and say after Decode what they were made
// from, whatever stands in the prompt.
func TestSample(t *testing.T) {
	dir := t.TempDir()
	for _, c := range client.All() {
		if c.Hook == nil {
			continue
		}
		for _, ev := range c.Hook.Events {
			if ev.Kind != client.Prompt && ev.Kind != client.Start {
				continue
			}
			want := event.Event{Kind: ev.Kind, Session: "s-1", Dir: dir}
			arg := client.SessionStart
			switch ev.Kind {
			case client.Prompt:
				arg, want.Prompt, want.Turn = c.Hook.Arg, "Fill in \"$DIR\" </x> \\ \u2028\n$PROMPT 😀", "t-1"
			case client.Start:
				want.Source = "startup"
			}
			checkSample(t, c, arg, want)
			file := "testdata/sessionstart-" + c.Name + ".txtar"
			if ev.Kind == client.Prompt {
				file = "testdata/" + c.Name + "-prompt.txtar"
			}
			checkFields(t, c.Name, want, file)
		}
	}
}

func checkSample(t *testing.T, c client.Client, arg string, want event.Event) {
	t.Helper()
	data, err := event.Sample(c.Name, want)
	must.Do(t, err)
	read, err := event.Read(bytes.NewReader(data))
	must.Do(t, err)
	got, err := event.Decode(arg, read)
	must.Do(t, err)
	if got.Kind != want.Kind || !got.Asks || got.Prompt != want.Prompt || got.Session != want.Session || got.Dir != want.Dir {
		t.Errorf("%s: %s is decoded as %+v", c.Name, data, got)
	}
	// Some clients do not number their prompts, or do not say what began a session.
	if got.Turn != "" && want.Turn != "" && got.Turn != want.Turn || got.Source != "" && got.Source != want.Source {
		t.Errorf("%s: turn %q, source %q", c.Name, got.Turn, got.Source)
	}
	const text = "Skills: <a> & \"b\"\n"
	if told, err := event.Told(c.Name, want, got.Answer(text)); err != nil || told != text {
		t.Errorf("%s: %s tells %q, error %v", c.Name, got.Answer(text), told, err)
	}
}

// checkFields: a sample has the fields of the event in a golden file.
func checkFields(t *testing.T, name string, e event.Event, file string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	must.Do(t, err)
	data, err := event.Sample(name, e)
	must.Do(t, err)
	var documented, sample map[string]any
	must.Do(t, json.Unmarshal(archive.Files[0].Data, &documented))
	must.Do(t, json.Unmarshal(data, &sample))
	for field := range documented {
		if _, ok := sample[field]; !ok {
			t.Errorf("%s: the sample lacks %s of %s", name, field, file)
		}
	}
}

// TestSampleRefuses: a client without such an event is an error.
func TestSampleRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind client.Kind
	}{{"zed", client.Prompt}, {"vscode", client.Prompt}, {"nobody", client.Prompt}, {"claude", client.Tool}} {
		if data, err := event.Sample(tt.name, event.Event{Kind: tt.kind}); err == nil {
			t.Errorf("%s: %s", tt.name, data)
		}
	}
}

// TestToldRefuses: an answer in another form gives the model nothing.
func TestToldRefuses(t *testing.T) {
	e := event.Event{Kind: client.Prompt, Prompt: "x"}
	for _, tt := range []struct{ name, answer string }{
		{"claude", `{"additional_context":"Skills"}`},
		{"claude", `{"hookSpecificOutput":{"hookEventName":"BeforeAgent","additionalContext":"Skills"}}`},
		{"claude", `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":5}}`},
		{"cursor", `{"continue":false,"additional_context":"Skills"}`},
		{"cursor", `Skills`},
		{"zed", `{}`},
	} {
		if text, err := event.Told(tt.name, e, []byte(tt.answer)); err == nil {
			t.Errorf("%s: %s tells %q", tt.name, tt.answer, text)
		}
	}
	if text, err := event.Told("claude", e, nil); err != nil || text != "" {
		t.Errorf("no answer tells %q, error %v", text, err)
	}
}
