package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/registry"
	"github.com/repertoire-skills/repertoire/internal/server"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestScopeOfDoors: whatever an agent asks, by a command or a hook, a tool, a resource or
// a method of a server, the answer is the same as if the skills that its rules keep out
// had never been there, also after edits while the server runs, and while a source is
// away. For work in another folder the same holds with the skills of the project.
func TestScopeOfDoors(t *testing.T) {
	testsize.Long(t)
	asked, skills := 0, 0
	seeds := []uint64{1, 2, 7, 22} // which show defects that there were, of pins, shadowing, projects and patterns
	for i := range testsize.Rounds(1, 80) {
		seed := uint64(i)
		if i < len(seeds) {
			seed = seeds[i]
		}
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newRealm(t, seed)
			full := r.world(t, true, r.answers, func(realmSkill) bool { return true })
			rest := r.world(t, false, r.answers, func(s realmSkill) bool { return !r.outside(s) })
			for i, when := range []string{"at first", "after the edit"} {
				asked, skills = asked+len(full[i]), skills+len(r.skills)
				if diff := cmp.Diff(rest[i], full[i]); diff != "" {
					t.Fatalf("%s, the agent %v of %+v; without the others, and with them (+)\n%s", when, r.agent, r.skills, diff)
				}
			}
			elsewhere := r.world(t, false, r.pinned, func(s realmSkill) bool { return !r.outside(s) && !strings.HasPrefix(s.place, "project") })
			for i := range elsewhere {
				want, got := elsewhere[i]["pinned elsewhere"], full[i]["pinned elsewhere"]
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("pinned for work elsewhere, the agent %v; without the others, and with them (+)\n%s", r.agent, diff)
				}
				if diff := cmp.Diff(elsewhere[i]["pinned"], got); diff != "" {
					t.Fatalf("pinned for work elsewhere, the agent %v; without a project, and with it (+)\n%s", r.agent, diff)
				}
			}
		})
		if !ok {
			t.Fatalf("the first failure has the seed %d", seed)
		}
	}
	t.Logf("%d questions about catalogs of %d skills in all", asked, skills)
}

// world returns the answers to questions before and after the edit, in a catalog of some
// of the skills, with the rules of the agent or without.
func (r *realm) world(t *testing.T, rules bool, ask func(*testing.T, *post) map[string]any, in func(realmSkill) bool) [2]map[string]any {
	t.Helper()
	r.configure(t, rules)
	kept := func(list []realmSkill) []realmSkill {
		return slices.DeleteFunc(slices.Clone(list), func(s realmSkill) bool { return !in(s) })
	}
	r.build(t, kept(r.skills), false)
	c, p := r.serve(t)
	before := ask(t, p)
	r.build(t, kept(r.edited), r.away)
	_, err := c.Owner().Rescan(t.Context(), nil)
	if err == nil {
		err = c.Owner().Calibrate(t.Context()) // the edit may have changed which skills are held back
	}
	must.Do(t, err)
	after := ask(t, p)
	must.Do(t, c.Close())
	if log := hookLog(t, r.home); strings.Contains(log, "index started") {
		t.Fatalf("a hook found the catalog out of date:\n%s", log)
	}
	return [2]map[string]any{before, after}
}

// serve starts a resident server as "skills mcp --http" does, with a client.
func (r *realm) serve(t *testing.T) (*server.Server, *post) {
	t.Helper()
	s := &session{screen: &screen{env: env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, raw: io.Discard, start: time.Now()}, quiet: true}, agent: "a"}
	var o server.Options
	must.Do(t, s.serverOptions(&o))
	c, err := server.Open(t.Context(), o)
	must.Do(t, err)
	if _, err := c.Owner().Rescan(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	whole, err := c.MCP()
	must.Do(t, err)
	h, err := mcpserver.NewHTTP(map[string]*mcpserver.Server{"": whole}, &mcpserver.HTTPOptions{
		Rate: -1, Registry: registry.New(c.Catalog, slog.New(slog.DiscardHandler)), PublicURL: "https://skills.example",
	})
	must.Do(t, err)
	at := httptest.NewServer(h)
	t.Cleanup(at.Close)
	p := &post{url: at.URL + "/mcp"}
	p.call(t, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	return c, p
}

// pinned asks which skills are pinned for work in the project and elsewhere.
func (r *realm) pinned(t *testing.T, p *post) map[string]any {
	t.Helper()
	return map[string]any{"pinned": p.suggested(t, smallTalk, r.project), "pinned elsewhere": p.suggested(t, smallTalk, r.home)}
}

// answers asks everything through every door, and returns the answers by question.
func (r *realm) answers(t *testing.T, p *post) map[string]any {
	t.Helper()
	m := r.pinned(t, p)
	r.askCommand(t, m)
	r.askHook(t, m)
	r.askServer(t, p, m)
	r.askRegistry(t, p, m)
	return m
}

// some returns every n-th of the IDs.
func (r *realm) some(n int) (list []string) {
	for i, id := range r.ids() {
		if i%n == int(r.seed)%n {
			list = append(list, id)
		}
	}
	return list
}

// command asks in this process as the command does.
func command(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"--agent", "a"}, args...), strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// result returns what a command prints as JSON. It must not fail.
func result[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	code, stdout, stderr := command(t, "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
		t.Fatalf("%q: %d %v in %s%s", args, code, err, stdout, stderr)
	}
	return v
}

func (r *realm) askCommand(t *testing.T, m map[string]any) {
	t.Helper()
	call := func(args ...string) int {
		code, stdout, stderr := command(t, "", args...)
		m[fmt.Sprintf("%q", args)] = []any{code, stdout, stderr}
		return code
	}
	call("list", "--json")
	call("list", "--json", "--shadowed")
	call("list", "--json", "--tag", "quality")
	call("list", "--source", "two")
	call("list", "--source", "nothing")
	call("list", "--tag", "nothing")
	must.Do(t, os.RemoveAll("site"))
	call("well-known", "site", "--json")
	site := make(map[string]string)
	for _, name := range filesBelow(t, "site") {
		data := must.Read(t, name)
		site[name] = data
	}
	m["site"] = site
	for _, id := range r.some(testsize.Rounds(60, 12)) {
		call("show", "--json", "--", id)
		call("read", "--json", "--", id, "scripts/run.sh")
		call("read", "--json", "--", id)
		if call("show", "--manifest", "--", id) == 0 { // why is for the owner, who may ask for all skills
			why := result[whyResult](t, "why", id, "everything")
			m["why "+id] = []string{why.ID, why.Path, why.Filter, why.ShadowedBy}
		}
	}
	listed := make(map[string]bool)
	for _, e := range result[listResult](t, "list").Skills {
		listed[e.ID] = !e.Away
	}
	m["search"] = groupsOf(result[searchResult](t, "search", "everything", "--limit", "999").Results)
	offered := result[contextResult](t, "context", "everything", "--threshold", "0")
	m["context pins"] = offered.Pinned
	for _, s := range offered.Skills {
		if !listed[s.ID] {
			t.Errorf("the context has %s, and the list %v", s.ID, slices.Sorted(maps.Keys(listed)))
		}
	}
}

// groupsOf returns the IDs of skills with their copies, whatever their order.
func groupsOf(results []resultHit) (groups []string) {
	for _, hit := range results {
		ids := append(slices.Clone(hit.Copies), hit.ID)
		slices.Sort(ids)
		groups = append(groups, strings.Join(ids, ", "))
	}
	slices.Sort(groups)
	return groups
}

func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return names
}

// smallTalk is a prompt for which only pinned skills are offered.
const smallTalk = "ok, thanks"

// askHook asks as clients do at the start of a session and for a prompt.
func (r *realm) askHook(t *testing.T, m map[string]any) {
	t.Helper()
	start := jsonOf(t, map[string]string{"hook_event_name": "SessionStart", "cwd": r.project})
	_, told, _ := command(t, start, "hook", "sessionstart", "--deadline", "20s")
	_, block, _ := command(t, promptEvent("", r.project, smallTalk), "hook", "claude", "--deadline", "20s")
	if pins := len(m["pinned"].([]string)); (block != "") != (pins > 0) || pins > 0 && told == "" {
		t.Errorf("%d skills are pinned; a hook answers %q and %q", pins, told, block)
	}
	m["start"], m["prompt"] = told, block
}

// askServer asks the resident server.
func (r *realm) askServer(t *testing.T, p *post, m map[string]any) {
	t.Helper()
	call := func(method string, params map[string]any) { m[fmt.Sprint(method, params)] = p.call(t, method, params) }
	tool := func(name string, args map[string]any) {
		call("tools/call", map[string]any{"name": name, "arguments": args})
	}
	tool("list_skills", nil)
	tool("list_skills", map[string]any{"tag": "nothing"})
	tool("list_skills", map[string]any{"source": "nothing"})
	tool("list_skills", map[string]any{"source": "two"})
	m["skills/list"] = sorted(p.call(t, "skills/list", map[string]any{}))
	m["resources/list"] = sorted(p.call(t, "resources/list", map[string]any{}))
	call("resources/templates/list", map[string]any{})
	call("prompts/list", map[string]any{})
	for _, id := range r.some(testsize.Rounds(9, 2)) {
		tool("read_skill", map[string]any{"id": id})
		tool("read_skill_resource", map[string]any{"id": id, "path": "scripts/run.sh"})
		tool("read_skill", map[string]any{"id": id, "section": "nothing"})
		tool("search_skill_files", map[string]any{"query": "run", "id": id})
		uri := "skill://" + url.PathEscape(id)
		for _, more := range []string{"", "/SKILL.md", "/code-review/SKILL.md", "/git/scripts/run.sh"} {
			call("skills/get", map[string]any{"uri": uri + more})
			call("resources/read", map[string]any{"uri": uri + more})
			call("resources/directory/read", map[string]any{"uri": uri + more})
		}
	}
	listed := fmt.Sprint(m["tools/callmap[arguments:map[] name:list_skills]"])
	for _, id := range p.suggested(t, "use the code-review skill", r.project) {
		if !strings.Contains(listed, id) {
			t.Errorf("suggested %s, and the list %s", id, listed)
		}
	}
	var found []string
	for _, s := range p.tool(t, "search_skills", map[string]any{"query": "everything", "limit": 50})["skills"].([]any) {
		found = append(found, s.(map[string]any)["description"].(string)) // which of several copies stands for them depends on scores
	}
	slices.Sort(found)
	m["found by the server"] = slices.Compact(found)
}

// askRegistry asks the registry of the resident server, without what goes by scores.
func (r *realm) askRegistry(t *testing.T, p *post, m map[string]any) {
	t.Helper()
	base := strings.TrimSuffix(p.url, "/mcp")
	get := func(path string) {
		status, text := get(t, base+path)
		m[path] = fmt.Sprint(status, " ", regexp.MustCompile(`\(error [A-Z2-7]{10}: `).ReplaceAllString(text, "(error: "))
	}
	get("/.well-known/ard.json")
	get("/agents?pageSize=3")
	get("/agents?filter=tags%3Dquality")
	resp, err := http.Post(base+"/explore", "application/json", strings.NewReader(`{"resultType": {"facets": [{"field": "tags"}, {"field": "metadata.source"}]}}`))
	must.Do(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must.Do(t, err)
	m["explore"] = string(text)
	for _, id := range r.some(testsize.Rounds(9, 2)) {
		get("/agents/" + url.PathEscape("urn:air:skills.example:skill:"+id))
		get("/skill/" + url.PathEscape(id) + "/.well-known/agent-skills/index.json")
		get("/skill/" + url.PathEscape(id) + "/" + strings.Repeat("0", 64) + ".zip")
	}
}

// sorted returns the entries of a list, whose order depends on what was used last.
func sorted(answer any) (list []string) {
	result := answer.([]any)[0].(map[string]any)
	for _, key := range []string{"skills", "resources"} {
		entries, _ := result[key].([]any)
		for _, e := range entries {
			list = append(list, fmt.Sprint(e))
		}
	}
	slices.Sort(list)
	return list
}

// post calls a server over HTTP in one session.
type post struct{ url, session string }

// call returns the result or the error of a call.
func (p *post) call(t *testing.T, method string, params any) any {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	must.Do(t, err)
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.url, bytes.NewReader(body))
	must.Do(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.session != "" {
		req.Header.Set("Mcp-Session-Id", p.session)
	}
	resp, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must.Do(t, err)
	if method == "initialize" {
		p.session = resp.Header.Get("Mcp-Session-Id")
	}
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			text = []byte(data)
		}
	}
	text = regexp.MustCompile(`\(error [A-Z2-7]{10}: `).ReplaceAll(text, []byte("(error: ")) // ids are random
	var message struct{ Result, Error any }
	if err := json.Unmarshal(text, &message); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %q, %v", method, resp.Status, text, err)
	}
	return []any{message.Result, message.Error}
}

// tool returns the structured result of a tool.
func (p *post) tool(t *testing.T, name string, args map[string]any) map[string]any {
	t.Helper()
	answer := p.call(t, "tools/call", map[string]any{"name": name, "arguments": args})
	result, _ := answer.([]any)[0].(map[string]any)
	structured, ok := result["structuredContent"].(map[string]any)
	if !ok {
		t.Fatalf("%s: %v", name, answer)
	}
	return structured
}

// suggested returns the names of the skills that are suggested for work in a folder.
func (p *post) suggested(t *testing.T, prompt, dir string) (names []string) {
	t.Helper()
	answer := p.call(t, "tools/call", map[string]any{"name": "suggest_skills", "arguments": map[string]any{"prompt": prompt, "cwd": dir}})
	for _, m := range regexp.MustCompile(`<skill name="([^"]*)">`).FindAllStringSubmatch(fmt.Sprint(answer), -1) {
		names = append(names, m[1])
	}
	return names
}
