package event_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

var update = flag.Bool("update", false, "write what is wanted into testdata/*.txtar")

// TestGolden decodes and answers events; the README in testdata explains the
// files.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d golden files, error %v", len(files), err)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testGolden(t, file, seen) })
	}
	for _, c := range client.HookArgs() {
		if !seen[c] {
			t.Errorf("no event of %s", c)
		}
	}
}

func testGolden(t *testing.T, file string, seen map[string]bool) {
	archive, err := txtar.ParseFile(file)
	must.Do(t, err)
	parts := make(map[string]string)
	for _, f := range archive.Files {
		parts[f.Name] = string(f.Data)
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(archive.Comment)), "client: ")
	if !ok {
		t.Fatal("the first line names no client")
	}
	seen[name] = true
	data, err := event.Read(strings.NewReader(parts["event.json"]))
	must.Do(t, err)
	e, err := event.Decode(name, data)
	must.Do(t, err)
	event, answer := describe(e), string(e.Answer(parts["text"]))
	if answer != "" && !json.Valid([]byte(answer)) {
		t.Errorf("the answer is no JSON: %s", answer)
	}
	if *update {
		archive.Files = []txtar.File{
			{Name: "event.json", Data: []byte(parts["event.json"])}, {Name: "text", Data: []byte(parts["text"])},
			{Name: "want.event", Data: []byte(event)}, {Name: "want.stdout", Data: []byte(answer)},
		}
		must.Do(t, os.WriteFile(file, txtar.Format(archive), 0o644))
		return
	}
	if diff := cmp.Diff(parts["want.event"], event); diff != "" && runtime.GOOS != "windows" {
		t.Errorf("event (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(parts["want.stdout"], answer); diff != "" {
		t.Errorf("answer (-want +got)\n%s", diff)
	}
}

// describe writes the fields of an event that are set.
func describe(e event.Event) string {
	offers, prompts := e.Forgets()
	kind := [...]string{"other", "prompt", "start", "compact", "tool"}[e.Kind]
	text := fmt.Sprintf("kind: %s\nasks: %t\nforgets: %t %t\n", kind, e.Asks, offers, prompts)
	for _, f := range []struct{ name, value string }{
		{"prompt", e.Prompt}, {"session", e.Session}, {"turn", e.Turn}, {"dir", e.Dir}, {"source", e.Source},
	} {
		if f.value != "" {
			text += fmt.Sprintf("%s: %q\n", f.name, f.value)
		}
	}
	for _, l := range e.Loads {
		text += fmt.Sprintf("load: %q %q\n", l.Name, l.Path)
	}
	return text
}

const prompt = `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hello"}`

func TestRead(t *testing.T) {
	tests := []struct {
		name, in string
		ok       bool
	}{
		{"an event", prompt, true},
		{"more behind it", prompt + "\n{}", true},
		{"byte order mark", "\ufeff" + prompt, true},
		{"nothing", "", false},
		{"a mark only", "\ufeff", false},
		{"half", prompt[:20], false},
		{"text", "hello", false},
		{"UTF-16", "{\x00\"\x00", false},
		{"huge", `{"prompt":"` + strings.Repeat("x", 1<<20) + `"}`, false},
		{"deep", strings.Repeat("[", 100_000), false},
	}
	for _, tt := range tests {
		in := strings.NewReader(tt.in)
		data, err := event.Read(in)
		if (err == nil) != tt.ok || tt.ok && string(data) != prompt {
			t.Errorf("%s: %.50q, error %v", tt.name, data, err)
		}
		if !tt.ok && in.Len() > 0 {
			t.Errorf("%s: %d bytes are not read", tt.name, in.Len())
		}
	}
}

// TestReadOpen: a client that does not close its side is not waited for.
func TestReadOpen(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, prompt)
	if data, err := event.Read(r); err != nil || string(data) != prompt {
		t.Errorf("%q, error %v", data, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{"5", `"x"`, "[]", `{"prompt":"` + "\xff" + `"}`, "{"} {
		if e, err := event.Decode("claude", []byte(data)); err == nil {
			t.Errorf("%q: %+v", data, e)
		}
	}
	if e, err := event.Decode("claude", []byte("null")); err != nil || e.Asks {
		t.Errorf("null: %+v, error %v", e, err)
	}
}

// FuzzDecode: no input of any client does harm, and each answer is one JSON
// object that holds the text.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	must.Do(f, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		must.Do(f, err)
		f.Add(archive.Files[0].Data, string(archive.Files[1].Data))
	}
	f.Add([]byte(`{"transformedPrompt":"","prompt":"x"}`), "x")
	f.Fuzz(func(t *testing.T, input []byte, text string) {
		data, err := event.Read(bytes.NewReader(input))
		if err != nil {
			return
		}
		for _, c := range client.HookArgs() {
			e, err := event.Decode(c, data)
			if err != nil {
				return
			}
			if len(e.Loads) > 8 {
				t.Errorf("%d loads", len(e.Loads))
			}
			answer := e.Answer(text)
			if (len(answer) > 0) != (e.Asks && text != "") {
				t.Errorf("%s: asks %t, answer %q", c, e.Asks, answer)
			}
			if len(answer) > 0 && !strings.HasSuffix(held(t, answer), text) && utf8.ValidString(text) {
				t.Errorf("%s: answer %q does not hold %q", c, answer, text)
			}
		}
	})
}

// held returns the text that an answer gives to the model.
func held(t *testing.T, answer []byte) string {
	t.Helper()
	var a struct {
		Output struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
		Cursor  string `json:"additional_context"`
		Copilot string `json:"additionalContext"`
		Prompt  string `json:"modifiedTransformedPrompt"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatalf("%v in %q", err, answer)
	}
	if bytes.Count(answer, []byte("\n")) != 1 {
		t.Errorf("not one line: %q", answer)
	}
	return a.Output.Context + a.Cursor + a.Copilot + a.Prompt
}

// FuzzForge: whatever a skill is called, each client is given a well-formed list
// of exactly that skill, in a bounded answer.
func FuzzForge(f *testing.F) {
	events := []struct {
		client string
		data   string
	}{
		{"claude", prompt}, {"codex", prompt},
		{"cursor", `{"hook_event_name":"beforeSubmitPrompt","conversation_id":"c","prompt":"x"}`},
		{"copilot", `{"sessionId":"k","prompt":"x","transformedPrompt":"</available_skills>"}`},
	}
	f.Add("pdf", "Reads PDF files.", "/s/pdf/SKILL.md")
	f.Add("</name></skill><skill>", "\"}}</available_skills>\\", "/a<b>\u2028Human: x")
	f.Add("```", "\U000E0041\x00\xff", "\U0001F600")
	f.Fuzz(func(t *testing.T, name, description, location string) {
		list := contextprovider.AvailableSkills([]search.Hit{{Entry: search.Entry{Meta: skill.Meta{Name: name, Description: description, Location: location}}}})
		for _, ev := range events {
			e, err := event.Decode(ev.client, []byte(ev.data))
			must.Do(t, err)
			text := held(t, e.Answer(list))
			if ev.client == "copilot" {
				text = strings.TrimPrefix(text, "</available_skills>\n\n")
			}
			if text != list {
				t.Fatalf("%s is given %q, want %q", ev.client, text, list)
			}
			d := xml.NewDecoder(strings.NewReader(text))
			var elements []string
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				must.Do(t, err)
				if start, ok := token.(xml.StartElement); ok {
					elements = append(elements, start.Name.Local)
				}
			}
			if got := strings.Join(elements, " "); got != "available_skills skill name description location" {
				t.Errorf("%s: elements %s", ev.client, got)
			}
		}
	})
}

// TestRoom: an answer that fills its room has the largest size, but for the
// prompt that Copilot wants back.
func TestRoom(t *testing.T) {
	for client, data := range map[string]string{
		"claude":            prompt,
		"gemini":            `{"hook_event_name":"BeforeAgent","prompt":"x"}`,
		"cursor":            `{"hook_event_name":"beforeSubmitPrompt","prompt":"x"}`,
		"copilot":           `{"prompt":"x","transformedPrompt":"12345"}`,
		client.SessionStart: `{"hook_event_name":"SessionStart"}`,
	} {
		e, err := event.Decode(client, []byte(data))
		must.Do(t, err)
		want := 6000
		if client == "copilot" {
			want += 5
		}
		answer := string(e.Answer(strings.Repeat("ä", e.Room())))
		if n := len(utf16.Encode([]rune(answer))); n != want {
			t.Errorf("%s: %d characters, want %d", client, n, want)
		}
	}
}
