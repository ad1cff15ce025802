//go:build soak && unix

package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire"
)

// startLibrary opens the catalog in this process, with the settings of now.
func (w *world) startLibrary() error {
	if w.library != nil {
		return nil
	}
	cfg, err := repertoire.ReadConfig(w.path(project), &repertoire.ConfigOptions{File: w.path("config.yaml"), DB: w.db()})
	if err != nil {
		return err
	}
	cfg.Schedule = repertoire.Never
	w.library, err = repertoire.Open(w.s.t.Context(), cfg)
	return err
}

func (w *world) stopLibrary() {
	if w.library != nil {
		w.library.Close()
		w.library = nil
	}
}

// compareLibrary compares what a catalog answers that is open all the time, after
// one rescan, which is what its schedule would do.
func (w *world) compareLibrary(asks []ask, truth []answer) *difference {
	if !w.doors.library {
		return nil
	}
	if err := w.startLibrary(); err != nil {
		return &difference{door: "library", what: "the library cannot open the catalog", detail: err.Error()}
	}
	if _, err := w.library.Rescan(w.s.t.Context(), nil); err != nil {
		d := &difference{door: "library", what: "the library cannot rescan: " + err.Error(), heals: "healed by: the next rescan"}
		if _, err := w.library.Rescan(w.s.t.Context(), nil); err != nil {
			d.heals = "not healed by the next rescan"
		}
		return d
	}
	for i, a := range asks {
		if diff := w.differ(truth[i], w.askLibrary(a)); diff != "" {
			d := &difference{door: "library", what: "an open catalog answers otherwise: " + firstLine(diff), detail: a.String() + "\n" + diff, heals: "not healed by the next rescan"}
			w.library.Rescan(w.s.t.Context(), nil)
			if w.differ(truth[i], w.askLibrary(a)) == "" {
				d.heals = "healed by: the next rescan"
			}
			return d
		}
	}
	return nil
}

// askLibrary asks the open catalog.
func (w *world) askLibrary(a ask) answer {
	ctx, c := w.s.t.Context(), w.library
	agent, err := c.Agent(a.agent)
	var got answer
	switch {
	case err != nil:
	case a.kind == "list":
		var list []repertoire.Entry
		list, err = c.List(ctx, agent, true)
		for _, e := range list {
			got.Skills = append(got.Skills, hitOf(e))
		}
	case a.kind == "search":
		var found repertoire.Answer
		found, err = c.Search(ctx, repertoire.Query{Text: a.text, Limit: 1000, Agent: agent})
		got.Mode, got.Results = found.Mode, hitsOf(found.Hits)
	default:
		var block repertoire.Block
		block, err = c.Block(ctx, a.text, repertoire.Budget{}, agent)
		got.Mode, got.Skills = block.Mode, hitsOf(block.Skills)
		for _, body := range block.Pinned {
			got.Pinned = append(got.Pinned, body.ID)
		}
	}
	if err != nil {
		got.failed = err.Error()
	}
	return got
}

func hitOf(e repertoire.Entry) hit {
	return hit{ID: e.ID, Name: e.Name, Description: e.Description, Source: e.Source, Path: e.Location, ShadowedBy: e.ShadowedBy, Tags: e.Tags}
}

func hitsOf(list []repertoire.Hit) []hit {
	var hits []hit
	for _, h := range list {
		one := hitOf(h.Entry)
		one.Tags, one.Score, one.Probability = nil, h.Score, h.Probability
		for _, c := range h.Copies {
			one.Copies = append(one.Copies, c.ID)
		}
		hits = append(hits, one)
	}
	return hits
}

// A server is a process of "skills mcp".
type server struct {
	cmd     *exec.Cmd
	session *mcp.ClientSession
	stderr  *logged
}

// logged is a buffer that a process writes to while the test reads it.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// startServer starts the server with the configuration of now.
func (w *world) startServer() error {
	if w.server != nil {
		return nil
	}
	s := &server{cmd: w.command(context.WithoutCancel(w.s.t.Context()), w.db(), "mcp"), stderr: new(logged)}
	s.cmd.Stderr = s.stderr
	ctx, cancel := context.WithTimeout(w.s.t.Context(), patience)
	defer cancel()
	var err error
	client := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil)
	s.session, err = client.Connect(ctx, &mcp.CommandTransport{Command: s.cmd}, nil)
	if err != nil {
		if s.cmd.Process != nil {
			s.cmd.Process.Kill()
		}
		return fmt.Errorf("%w: %s", err, s.stderr)
	}
	w.server = s
	return nil
}

// stopServer kills the server.
func (w *world) stopServer() {
	if w.server != nil {
		w.server.cmd.Process.Kill()
		w.server.session.Close()
		w.server = nil
		w.s.counts["kills"]++
	}
}

// compareServer compares what the server answers, when it has had time to notice
// what has changed: it looks once a second.
func (w *world) compareServer(asks []ask, truth []answer) *difference {
	if !w.doors.server {
		return nil
	}
	if err := w.startServer(); err != nil {
		return &difference{door: "server", what: "the server does not start", detail: err.Error()}
	}
	diff := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-time.After(200 * time.Millisecond) {
		diff = ""
		for i, a := range asks {
			if diff = w.differServer(a, truth[i]); diff != "" {
				break
			}
		}
		if diff == "" {
			return nil
		}
	}
	return &difference{door: "server", what: "the server answers otherwise after 10 seconds: " + firstLine(diff), detail: diff + "\nlog of the server:\n" + w.server.stderr.String()}
}

// differServer asks the server what its tools can tell, and compares it.
func (w *world) differServer(a ask, truth answer) string {
	switch {
	case a.kind == "list" && a.agent == "":
		truth.Skills = slices.DeleteFunc(slices.Clone(truth.Skills), func(h hit) bool { return h.ShadowedBy != "" })
		return w.sameIDs(truth, w.listServer())
	case a.kind == "search" && len(truth.Results) < 45 && truth.failed == "":
		return w.sameIDs(truth, w.callServer("search_skills", map[string]any{"query": a.text, "limit": 50, "agent": a.agent}))
	}
	return ""
}

// listServer returns all pages of the list.
func (w *world) listServer() answer {
	var all answer
	for args := map[string]any{}; ; {
		page := w.callServer("list_skills", args)
		if all.failed = page.failed; all.failed != "" {
			return all
		}
		all.Skills = append(all.Skills, page.Skills...)
		if page.note == "" {
			return all
		}
		args = map[string]any{"cursor": page.note}
	}
}

// callServer calls a tool. The cursor of the next page is the note of the answer.
func (w *world) callServer(tool string, args map[string]any) (got answer) {
	ctx, cancel := context.WithTimeout(w.s.t.Context(), patience)
	defer cancel()
	r, err := w.server.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return answer{failed: err.Error()}
	}
	data, err := json.Marshal(r.StructuredContent)
	if r.IsError || err != nil {
		text, _ := json.Marshal(r.Content)
		return answer{failed: string(text)}
	}
	var page struct {
		Skills []hit
		Next   string `json:"next_cursor"`
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return answer{failed: err.Error()}
	}
	got.Skills, got.note = page.Skills, page.Next
	return got
}

// sameIDs compares the skills of an answer by what the tools tell of them.
func (w *world) sameIDs(want, got answer) string {
	w.s.counts["answers"]++
	if want.failed != "" || got.failed != "" {
		if (want.failed == "") == (got.failed == "") {
			return ""
		}
		return fmt.Sprintf("got %q, want %q", got.failed, want.failed)
	}
	if len(w.unreadable) > 0 {
		return "" // the tools do not tell in which folder a skill lies
	}
	ids := func(list []hit) []string {
		var all []string
		for _, h := range list {
			all = append(all, h.ID+" "+h.Source)
			all = append(all, h.Copies...)
		}
		slices.Sort(all)
		return all
	}
	a, b := ids(want.hits()), ids(got.hits())
	for _, id := range a {
		if !slices.Contains(b, id) && strings.Contains(id, " ") && !w.isCopy(want, id) {
			return fmt.Sprintf("missing: %s; got %d skills, want %d", id, len(b), len(a))
		}
	}
	for _, id := range b {
		if name, _, _ := strings.Cut(id, " "); !slices.Contains(a, id) && !slices.Contains(a, name) {
			return fmt.Sprintf("too many: %s; got %d skills, want %d", id, len(b), len(a))
		}
	}
	return ""
}

// isCopy reports whether an answer has copies of the skill, which may stand for it.
func (w *world) isCopy(a answer, id string) bool {
	return slices.ContainsFunc(a.Results, func(h hit) bool { return h.ID+" "+h.Source == id && len(h.Copies) > 0 })
}
