package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestScopeOfDoors: whatever an agent asks, by a command or a tool, a resource or a method
// of a server, the answer is the same as after all skills that its rules keep out have
// been deleted from disk.
func TestScopeOfDoors(t *testing.T) {
	for seed := range testsize.Rounds(8, 300) {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newRealm(t, uint64(seed))
			full := r.answers(t)
			r.forgetOutside(t)
			if diff := cmp.Diff(r.answers(t), full); diff != "" {
				t.Fatalf("the agent %+v; without the others, and with them (+)\n%s", r.agent, diff)
			}
		})
		if !ok {
			t.Fatalf("the first failure has the seed %d", seed)
		}
	}
}

// A realm is a folder with skills and a configuration with an agent.
type realm struct {
	seed   uint64
	rng    *rand.Rand
	agent  map[string]any
	skills []realmSkill
}

type realmSkill struct{ root, folder, name, tag string }

// realmNames are names that must not confuse a scope.
var realmNames = []string{"code-review", "Code-Review", "secret", "secret/b", "..", "one/f1", "git", "GIT", "x y", "数据", "[x]", "a*b"}

func newRealm(t *testing.T, seed uint64) *realm {
	t.Helper()
	fixture(t)
	r := &realm{seed: seed, rng: rand.New(rand.NewPCG(seed, 3))}
	pick := func(list ...string) string { return list[r.rng.IntN(len(list))] }
	for i := range 2 + r.rng.IntN(14) {
		s := realmSkill{pick("one", "two", "three"), fmt.Sprintf("f%d", i), pick(realmNames...), pick("", "quality", "office")}
		r.skills = append(r.skills, s)
		text := fmt.Sprintf("Number %d of everything.", r.rng.IntN(5))
		requires, err := json.Marshal([]string{pick(realmNames...), "nothing"})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.root, s.folder, "SKILL.md"), fmt.Sprintf("---\nname: %q\ndescription: %s\ntags: [%s]\nrequires: %s\n---\n%s\n",
			s.name, text, s.tag, requires, strings.Repeat(text+" ", 20)))
		write(t, filepath.Join(s.root, s.folder, "scripts", "run.sh"), text)
	}
	rules := func() map[string][]string {
		m := map[string][]string{"names": {"no-such-skill"}}
		for range 1 + r.rng.IntN(2) {
			switch r.rng.IntN(4) {
			case 0:
				m["tags"] = []string{pick("quality", "office", "no-such-tag")}
			case 1:
				m["sources"] = []string{pick("one", "two", "three", "project:.claude")}
			default:
				m["names"] = append(m["names"], pick("code-review", "secret*", "s*b", "g?t", "*/*", `\[x]`, `a\*b`))
			}
		}
		return m
	}
	r.agent = map[string]any{"exclude": rules()}
	if r.rng.IntN(2) == 0 {
		r.agent["include"] = rules()
	}
	pinned := []string{} // not nil, which would be no value
	for range r.rng.IntN(4) {
		name := pick(realmNames...)
		a := repertoire.Agent{Include: rulesOf(r.agent["include"]), Exclude: rulesOf(r.agent["exclude"]), Pinned: []string{name}}
		if a.Check() == nil {
			pinned = append(pinned, name)
		}
	}
	r.agent["pinned"] = pinned
	r.configure(t)
	return r
}

func rulesOf(v any) repertoire.Rules {
	m, _ := v.(map[string][]string)
	return repertoire.Rules{Names: m["names"], Tags: m["tags"], Sources: m["sources"]}
}

// configure writes the configuration. JSON is YAML too.
func (r *realm) configure(t *testing.T) {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"bundled": false, "user": false, "project": false, "embedder": "none", "agents": map[string]any{"a": r.agent},
		"roots": []map[string]string{{"path": "one", "label": "one"}, {"path": "two", "label": "two"}, {"path": "three", "label": "three"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, "config.yaml", string(data))
	for _, root := range []string{"one", "two", "three"} {
		if err := os.MkdirAll(root, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// forgetOutside deletes the skills that the agent's rules keep out, the rules, and the
// catalog.
func (r *realm) forgetOutside(t *testing.T) {
	t.Helper()
	include, exclude := rulesOf(r.agent["include"]), rulesOf(r.agent["exclude"])
	for _, s := range r.skills {
		if s.matches(exclude) || r.agent["include"] != nil && !s.matches(include) {
			if err := os.RemoveAll(filepath.Join(s.root, s.folder)); err != nil {
				t.Fatal(err)
			}
		}
	}
	delete(r.agent, "include")
	delete(r.agent, "exclude")
	r.configure(t)
	if err := os.RemoveAll("cache"); err != nil {
		t.Fatal(err)
	}
}

// matches works out which rules match a skill from a table of the patterns.
func (s realmSkill) matches(r repertoire.Rules) bool {
	lower := strings.ToLower(s.name)
	patterns := map[string]bool{
		"code-review": lower == "code-review", "secret*": strings.HasPrefix(lower, "secret"), "g?t": lower == "git",
		"s*b": lower == "secret/b", "*/*": strings.Contains(lower, "/"), `\[x]`: lower == "[x]", `a\*b`: lower == "a*b",
	}
	return slices.ContainsFunc(r.Names, func(p string) bool { return patterns[p] }) ||
		slices.Contains(r.Tags, s.tag) || slices.Contains(r.Sources, s.root)
}

// ids are all IDs by which somebody may ask for skills, seen or not.
func (r *realm) ids() []string {
	list := []string{"code-reviev", "nothing"}
	for _, s := range r.skills {
		list = append(list, s.name, s.root+"/"+s.folder, s.root+"/"+s.name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// answers asks everything through every door, and returns the answers by question.
func (r *realm) answers(t *testing.T) map[string]any {
	t.Helper()
	m := make(map[string]any)
	r.askCommand(t, m)
	r.askServer(t, m)
	return m
}

// askCommand asks in this process as the command does.
func (r *realm) askCommand(t *testing.T, m map[string]any) {
	t.Helper()
	ask := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"--agent", "a"}, args...), strings.NewReader("{}"), &stdout, &stderr)
		return fmt.Sprint(code, "\n", &stdout, &stderr)
	}
	call := func(args ...string) { m[fmt.Sprintf("%q", args)] = ask(args...) }
	call("list", "--json")
	call("list", "--json", "--shadowed")
	call("list", "--json", "--tag", "quality")
	call("list", "--source", "two")
	call("list", "--source", "nothing")
	call("list", "--tag", "nothing")
	call("hook", "sessionstart", "--deadline", "20s")
	call("well-known", "site", "--json")
	for i, id := range r.ids() {
		if i%3 != int(r.seed%3) {
			continue // a command takes longer than a call of the server, which is asked for all
		}
		call("show", "--json", "--", id)
		call("show", "--", id)
		call("read", "--json", "--", id, "scripts/run.sh")
		call("read", "--json", "--", id)
	}
	_, listed, _ := strings.Cut(ask("list"), "\n")
	_, found, _ := strings.Cut(ask("search", "--json", "--limit", "999", "everything"), "\n")
	var result searchResult
	if err := json.Unmarshal([]byte(found), &result); err != nil {
		t.Fatalf("%v in %s", err, found)
	}
	var groups []string
	for _, hit := range result.Results {
		ids := append(hit.Copies, hit.ID)
		slices.Sort(ids)
		groups = append(groups, strings.Join(ids, ", "))
	}
	slices.Sort(groups)
	m["search"] = groups
	_, block, _ := strings.Cut(ask("context", "--json", "--threshold", "0", "everything"), "\n")
	var offered contextResult
	if err := json.Unmarshal([]byte(block), &offered); err != nil {
		t.Fatalf("%v in %s", err, block)
	}
	m["pinned"] = offered.Pinned
	for _, s := range offered.Skills {
		if !strings.Contains("\n"+listed, "\n"+s.ID+"\t") {
			t.Errorf("the context has %s, which is not in the list\n%s", s.ID, listed)
		}
	}
}

// askServer asks over a loopback server.
func (r *realm) askServer(t *testing.T, m map[string]any) {
	t.Helper()
	cfg, err := repertoire.ReadConfig("", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Schedule = repertoire.Never
	c, err := repertoire.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	agent, err := c.Agent("a")
	if err != nil {
		t.Fatal(err)
	}
	h, err := mcpserver.NewHTTP(map[string]*mcpserver.Server{"": mcpserver.New(c, &mcpserver.Options{Agent: agent, Sources: c.Labels})}, &mcpserver.HTTPOptions{Rate: -1})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	p := &post{url: server.URL + "/mcp"}
	p.call(t, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	call := func(method string, params map[string]any) { m[fmt.Sprint(method, params)] = p.call(t, method, params) }
	tool := func(name string, args map[string]any) {
		call("tools/call", map[string]any{"name": name, "arguments": args})
	}
	tool("list_skills", nil)
	tool("list_skills", map[string]any{"tag": "nothing"})
	tool("list_skills", map[string]any{"source": "nothing"})
	tool("list_skills", map[string]any{"source": "two"})
	call("skills/list", map[string]any{})
	call("resources/list", map[string]any{})
	for _, id := range r.ids() {
		tool("read_skill", map[string]any{"id": id})
		tool("read_skill_resource", map[string]any{"id": id, "path": "scripts/run.sh"})
		uri := "skill://" + url.PathEscape(id)
		for _, more := range []string{"", "/SKILL.md", "/code-review/SKILL.md", "/git/scripts/run.sh"} {
			call("skills/get", map[string]any{"uri": uri + more})
			call("resources/read", map[string]any{"uri": uri + more})
			call("resources/directory/read", map[string]any{"uri": uri + more})
		}
	}
	suggested := p.tool(t, "suggest_skills", map[string]any{"prompt": "use the code-review skill"})
	m["pinned by the server"] = suggested["pinned"]
	var found []string
	for _, s := range p.tool(t, "search_skills", map[string]any{"query": "everything", "limit": 50})["skills"].([]any) {
		found = append(found, s.(map[string]any)["description"].(string)) // which of several copies stands for them depends on scores
	}
	slices.Sort(found)
	m["found by the server"] = slices.Compact(found)
}

// post calls a server over HTTP in one session.
type post struct{ url, session string }

// call returns the result or the error of a call.
func (p *post) call(t *testing.T, method string, params any) any {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.session != "" {
		req.Header.Set("Mcp-Session-Id", p.session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if method == "initialize" {
		p.session = resp.Header.Get("Mcp-Session-Id")
	}
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			text = []byte(data)
		}
	}
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
