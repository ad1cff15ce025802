//go:build soak && unix

package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// startLibrary opens the catalog in this process, with the settings of now.
func (w *world) startLibrary() error {
	if w.library != nil {
		// Without a schedule it does not notice usual folders that come and go.
		now, err := w.library.Config().Discover()
		if err != nil {
			return err
		}
		same := func(a, b source.Source) bool { return a.Info() == b.Info() }
		if slices.EqualFunc(now, w.library.Config().Sources, same) {
			return nil
		}
		w.stopLibrary()
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
	if _, err := w.library.Owner().Rescan(w.s.t.Context(), nil); err != nil {
		d := &difference{door: "library", what: "the library cannot rescan: " + err.Error(), heals: "healed by: the next rescan"}
		if _, err := w.library.Owner().Rescan(w.s.t.Context(), nil); err != nil {
			d.heals = "not healed by the next rescan"
		}
		return d
	}
	for i, a := range asks {
		if diff := w.differ(truth[i], w.askLibrary(a)); diff != "" {
			d := &difference{door: "library", what: "an open catalog answers otherwise: " + firstLine(diff), detail: a.String() + "\n" + diff, heals: "not healed by the next rescan"}
			w.library.Owner().Rescan(w.s.t.Context(), nil)
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
	got := answer{kind: a.kind}
	switch {
	case err != nil:
	case a.kind == "list":
		var list []repertoire.Entry
		list, err = c.List(ctx, agent, &repertoire.ListOptions{Shadowed: true})
		list, _ = repertoire.SplitLinks(list) // as the command does
		for _, e := range list {
			got.Skills = append(got.Skills, hitOf(e))
		}
	case a.kind == "search":
		var found repertoire.Answer
		found, err = c.Search(ctx, repertoire.Query{Text: a.text, Limit: 1000, Agent: agent})
		got.Mode, got.Results = found.Mode, hitsOf(found.Hits)
	case a.kind == "show":
		var body repertoire.Body
		body, err = c.Body(ctx, a.text, agent)
		got.Text, got.Stale = body.Text, body.Stale
	default:
		var block repertoire.Block
		block, err = c.Block(ctx, a.text, repertoire.Budget{Offer: contextprovider.Relevant}, agent) // as the command does
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
	return hit{ID: e.ID, Name: e.Name, Description: e.Description, Source: e.Source, Path: e.Location, ShadowedBy: e.ShadowedBy, Tags: e.Tags, Away: e.Away}
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
	stderr  *must.Log
}

// startServer starts the server with the configuration of now.
func (w *world) startServer() error {
	if w.server != nil {
		return nil
	}
	s := &server{cmd: w.command(context.WithoutCancel(w.s.t.Context()), w.db(), "mcp"), stderr: new(must.Log)}
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

// A server looks once a second. It may need two looks to notice a change and to answer,
// on a busy machine a bit more.
const ticks = 4 * time.Second

// stopPrograms closes the open catalog and kills the server.
func (w *world) stopPrograms() {
	w.stopLibrary()
	w.stopServer()
}

// compareServer compares what the server answers, when it has had time to notice what
// has changed.
func (w *world) compareServer(asks []ask, truth []answer) *difference {
	if !w.doors.server {
		return nil
	}
	if err := w.startServer(); err != nil {
		return &difference{door: "server", what: "the server does not start", detail: err.Error()}
	}
	diff, start := "", time.Now()
	for time.Since(start) < ticks {
		diff = ""
		for i, a := range asks {
			if diff = w.differServer(a, truth[i]); diff != "" {
				break
			}
		}
		if diff == "" {
			w.s.counts[fmt.Sprintf("answers of a server that were right after %d s", int(time.Since(start).Seconds()))]++
			return nil
		}
		<-time.After(100 * time.Millisecond)
	}
	return &difference{door: "server", what: fmt.Sprintf("the server answers otherwise after %v: %s", ticks, firstLine(diff)), detail: diff + "\nlog of the server:\n" + w.server.stderr.String()}
}

// differServer asks the server what its tools can tell, and compares it. Tools do not
// tell all that the command tells.
func (w *world) differServer(a ask, truth answer) string {
	var got answer
	switch {
	case a.kind == "list" && a.agent == "" && !w.excused(): // or else places matter, see readable
		truth.Skills = slices.DeleteFunc(slices.Clone(truth.Skills), func(h hit) bool { return h.ShadowedBy != "" })
		got = w.listServer()
		return w.differ(withoutPlaces(truth), got)
	case a.kind == "search" && (truth.failed != "" || len(truth.Results) < 45):
		got = w.callServer("search_skills", map[string]any{"query": a.text, "limit": 50, "all": true, "agent": a.agent})
	case a.kind == "context" && a.agent == "":
		got = asSuggested(truth, w.callServer("suggest_skills", map[string]any{"prompt": a.text, "cwd": w.path(project)}))
	case a.kind == "show" && a.agent == "":
		got = asRead(w.callServer("read_skill", map[string]any{"id": a.text}))
	default:
		return ""
	}
	return w.differ(truth, got)
}

// withoutPlaces returns a list as the server's tool gives it: without names and paths, and
// with the start of each description.
func withoutPlaces(a answer) answer {
	a.Skills = slices.Clone(a.Skills)
	for i, h := range a.Skills {
		a.Skills[i] = hit{ID: h.ID, Description: startOf(h.Description), Source: h.Source, Tags: h.Tags, Path: h.ID}
	}
	return a
}

// listedSkill is a skill in the block of the server, and pinnedSkill one that it holds in full.
var (
	listedSkill = regexp.MustCompile(`(?m)^<skill name="([^"]*)">`)
	pinnedSkill = regexp.MustCompile(`(?m)^<skill_content name="([^"]*)"`)
)

// asSuggested returns the skills of the server's block, which has their names, as the truth
// has them.
func asSuggested(truth, got answer) answer {
	left := slices.Clone(truth.Skills)
	for _, m := range listedSkill.FindAllStringSubmatch(got.Text, -1) {
		name := html.UnescapeString(m[1])
		h := hit{ID: name, Name: name, Path: name}
		if i := slices.IndexFunc(left, func(h hit) bool { return h.Name == name }); i >= 0 {
			h = left[i]
			left = slices.Delete(left, i, i+1)
		}
		got.Skills = append(got.Skills, h)
	}
	for _, m := range pinnedSkill.FindAllStringSubmatch(got.Text, -1) {
		got.Pinned = append(got.Pinned, html.UnescapeString(m[1]))
	}
	return got
}

// asRead returns what a text of the server says of a skill, and its instructions.
func asRead(got answer) answer {
	head, text, _ := strings.Cut(got.Text, "written by its author.\n\n")
	got.Text, got.Stale = text, strings.Contains(head, "It changed since it was indexed")
	return got
}

func startOf(description string) string { return description[:min(len(description), 100)] }

// listServer returns all pages of the list.
func (w *world) listServer() answer {
	var all answer
	for args := map[string]any{}; ; {
		page := w.callServer("list_skills", args)
		if all.failed = page.failed; all.failed != "" {
			return all
		}
		for _, h := range page.Skills {
			h.Path, h.Description = h.ID, startOf(h.Description)
			all.Skills = append(all.Skills, h)
		}
		if page.note == "" {
			return all
		}
		args = map[string]any{"cursor": page.note}
	}
}

// callServer calls a tool. The cursor of the next page is the note of the answer.
func (w *world) callServer(tool string, args map[string]any) answer {
	ctx, cancel := context.WithTimeout(w.s.t.Context(), patience)
	defer cancel()
	r, err := w.server.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return answer{failed: err.Error()}
	}
	text := ""
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	if r.IsError {
		return answer{failed: text}
	}
	data, err := json.Marshal(r.StructuredContent)
	var page struct {
		Skills []hit
		Next   string `json:"next_cursor"`
	}
	if err == nil {
		err = json.Unmarshal(data, &page)
	}
	if err != nil {
		return answer{failed: err.Error()}
	}
	for i, h := range page.Skills {
		page.Skills[i].Path = h.Location
	}
	return answer{note: page.Next, output: output{Skills: page.Skills, Text: text}}
}
