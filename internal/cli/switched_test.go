package cli

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/web"
)

// A switching is a person's setting for the skill lamplighter in a client.
type switching struct {
	client, file, text string
	means              string // "on", "user" or "off"
}

func switchings() []switching {
	claude := func(text, means string) switching {
		return switching{"claude", ".claude/settings.json", text, means}
	}
	return []switching{
		claude(`{}`, "on"),
		claude(`{"skillOverrides": {"lamplighter": "on"}}`, "on"),
		claude(`{"skillOverrides": {"lamplighter": "name-only"}}`, "on"),
		claude(`{"skillOverrides": {"kettle": "off"}}`, "on"),
		claude(`{"skillOverrides": {"lamplighter": "user-invocable-only"}}`, "user"),
		claude(`{"skillOverrides": {"lamplighter": "off"}}`, "off"),
		claude(`{"permissions": {"deny": ["Skill(lamplighter)"]}}`, "off"),
		claude(`{"permissions": {"deny": ["Skill(lamp:*)"]}, "skillOverrides": {"lamplighter": "on"}}`, "off"),
		claude(`{"permissions": {"deny": ["Skill"]}}`, "off"), // so Claude Code has no tool that loads any
		{"codex", ".codex/config.toml", "[[skills.config]]\nname = \"lamplighter\"\nenabled = false\n", "off"},
		{"codex", ".codex/config.toml", "[[skills.config]]\npath = \"PLACE\"\nenabled = false\n", "off"},
		{"codex", ".codex/config.toml", "[[skills.config]]\npath = \"PLACE/SKILL.md\"\nenabled = true\n", "on"},
		{"gemini", ".gemini/settings.json", `{"skills": {"disabled": ["lamplighter"]}}`, "off"},
		{"gemini", ".gemini/settings.json", `{"skills": {"disabled": ["kettle"]}}`, "on"},
		{"qwen", ".qwen/settings.json", `{"skills": {"disabled": ["lamplighter"]}}`, "off"},
		{"opencode", ".config/opencode/opencode.json", `{"permission": {"skill": {"*": "allow", "lamp*": "deny"}}}`, "off"},
		{"opencode", ".config/opencode/opencode.json", `{"permission": {"skill": {"lamp*": "deny", "lamplighter": "allow"}}}`, "on"},
		{"openclaw", ".openclaw/openclaw.json", `{"skills": {"entries": {"lamplighter": {"enabled": false}}}}`, "off"},
	}
}

// doors are all ways to a catalog in a home, each with what it shows of a task that the skill
// lamplighter is for.
type doors struct {
	t         *testing.T
	home      string
	asking    client.Client
	elsewhere string // a server of another machine, with the same skill
	session   int
}

const wick = "trim the wick of the harbour lanterns"

// mcp returns the answers to calls over a pipe by a client that calls itself by a name.
func (d *doors) mcp(name string, calls ...string) string {
	lines := append([]string{strings.Replace(initialize, `"name":"t"`, `"name":"`+name+`"`, 1), initialized}, calls...)
	var out, errs bytes.Buffer
	if code := run(d.t.Context(), []string{"mcp"}, strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, &errs); code != 0 {
		d.t.Errorf("skills mcp: %d, %s", code, &errs)
	}
	_, answers, _ := strings.Cut(out.String(), "\n") // the first has the instructions of the server
	return answers
}

// hook returns what the hook of the client tells the model.
func (d *doors) hook(prompt string, args ...string) string {
	d.session++
	e := event.Event{Kind: client.Prompt, Session: fmt.Sprint(d.t.Name(), d.session), Turn: "1", Dir: d.home, Prompt: prompt}
	sample, err := event.Sample(d.asking.Name, e)
	must.Do(d.t, err)
	var out, errs bytes.Buffer
	if code := run(d.t.Context(), append([]string{"hook", d.asking.Name, "--deadline", "1m"}, args...), bytes.NewReader(sample), &out, &errs); code != 0 || errs.Len() > 0 {
		d.t.Errorf("skills hook: %d, %s", code, &errs)
	}
	told, err := event.Told(d.asking.Name, e, out.Bytes())
	must.Do(d.t, err)
	return told
}

// models returns the doors through which a model of the client sees skills.
func (d *doors) models(c *repertoire.Catalog) map[string]string {
	a := (*repertoire.Agent)(nil).For(d.asking.Name)
	list, err := c.List(d.t.Context(), a, nil)
	must.Do(d.t, err)
	found, err := c.Search(d.t.Context(), repertoire.Query{Text: wick, Agent: a})
	must.Do(d.t, err)
	block, err := c.Block(d.t.Context(), wick, repertoire.Budget{}, a)
	must.Do(d.t, err)
	all := map[string]string{"List": fmt.Sprint(list), "Search": fmt.Sprint(found.Hits), "Block": block.Text}
	for tool, args := range map[string]string{"suggest_skills": `{"prompt":"` + wick + `"}`, "search_skills": `{"query":"` + wick + `"}`, "list_skills": `{}`} {
		all[tool] = d.mcp(d.asking.MCP.Caller, toolCall(tool, args, ""))
	}
	all["skills/list"] = d.mcp(d.asking.MCP.Caller, `{"jsonrpc":"2.0","id":2,"method":"skills/list"}`)
	all["resources/list"] = d.mcp(d.asking.MCP.Caller, `{"jsonrpc":"2.0","id":2,"method":"resources/list","params":{}}`)
	if d.asking.Hook != nil {
		all["hook"] = d.hook(wick)
		all["hook --url"] = d.hook(wick, "--url", d.elsewhere, "--mcp-server", "skills")
	}
	return all
}

// readers returns the doors that answer who knows the exact name of the skill.
func (d *doors) readers(c *repertoire.Catalog) map[string]string {
	all := map[string]string{
		"read_skill":     d.mcp(d.asking.MCP.Caller, toolCall("read_skill", `{"name":"lamplighter"}`, "")),
		"resources/read": d.mcp(d.asking.MCP.Caller, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"skill://lamplighter/SKILL.md"}}`),
	}
	body, err := c.Body(d.t.Context(), "lamplighter", (*repertoire.Agent)(nil).For(d.asking.Name))
	all["Body"] = fmt.Sprint(body.Text, err)
	return all
}

// people returns the doors for people and for other clients, which show the skill in any case.
func (d *doors) people() map[string]string {
	return map[string]string{
		"search": call(d.t, 0, "search", wick), "context": call(d.t, 0, "context", wick), "show": call(d.t, 0, "show", "lamplighter"),
		"another client": d.mcp("zed", toolCall("search_skills", `{"query":"`+wick+`"}`, "")),
	}
}

// tellers returns the doors that tell people what is switched off where.
func (d *doors) tellers(c *repertoire.Catalog) map[string]string {
	site, err := web.New(c, &web.Options{Open: true})
	must.Do(d.t, err)
	page := httptest.NewRecorder()
	site.ServeHTTP(page, httptest.NewRequest("GET", "/skill?id=lamplighter", nil))
	_, list, _ := strings.Cut(call(d.t, 0, "list"), "lamplighter") // it is the last but one
	return map[string]string{"list": list, "why": call(d.t, 0, "why", "lamplighter", wick), "page": page.Body.String()}
}

// teamServer starts a server, as one on another machine, of the skills in a folder, and returns its URL.
func teamServer(t *testing.T, dir string) string {
	t.Helper()
	src, err := source.Dir(dir, &source.Options{Label: "team", Priority: 1})
	must.Do(t, err)
	team, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "team.db"), Schedule: repertoire.Never})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, team.Close()) })
	_, err = team.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	h, err := mcpserver.NewHTTP(map[string]*mcpserver.Server{"": mcpserver.New(team, nil)}, &mcpserver.HTTPOptions{Rate: -1})
	must.Do(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// TestOwnOfServer: a hook that asks a server names the client's own way for a skill that the client has in
// its own folders as the server has it, and the server's for all others.
func TestOwnOfServer(t *testing.T) {
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\n")
	write := func(dir, name, text string) {
		must.Write(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: Trims the wick of harbour lanterns, "+text+". Use when trimming the wick of a lantern.\n---\nUse scissors.\n")
	}
	for _, name := range []string{"brass", "copper", "steel"} {
		write("team", name, "of "+name)
	}
	url := teamServer(t, filepath.Join(home, "team"))
	d := &doors{t: t, home: home, elsewhere: url}
	for own, folder := range map[string]string{"claude": ".claude/skills", "codex": ".codex/skills"} {
		write(folder, "brass", "of brass")
		write(folder, "copper", "of copper that somebody has edited")
		d.asking, _ = client.Find(own)
		all := d.hook(wick, "--url", url, "--mcp-server", "skills")
		if want := map[string]string{"claude": "Your tool `Skill` loads each of these by its name: brass.", "codex": "to be used as such: $brass."}[own]; !strings.Contains(all, want+" The tool `read_skill` of the MCP server skills returns the instructions of each of the others") {
			t.Errorf("%s: %s", own, all)
		}
		for name, want := range map[string]string{"brass": map[string]string{"claude": "Your tool `Skill` loads it, called with the name brass.", "codex": "It is a skill of your own, $brass"}[own], "copper": "returns its instructions, called with the name copper."} {
			if one := d.hook("use the skill "+name, "--url", url, "--mcp-server", "skills"); !strings.Contains(one, want) {
				t.Errorf("%s, %s: %s, want %s", own, name, one, want)
			}
		}
	}
}

// TestSwitchedOff asks every door for every setting of every client: what a person has switched off in a client
// is off for that client's model, and for nobody else. A server on another machine learns it from the hook.
func TestSwitchedOff(t *testing.T) {
	testsize.Long(t)
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\n")
	must.Write(t, ".agents/skills/lamplighter/SKILL.md", "---\nname: lamplighter\ndescription: Trims the wick of harbour lanterns. Use when trimming the wick of a lantern.\n---\nUse the brass scissors.\n")
	must.Write(t, ".agents/skills/kettle/SKILL.md", "---\nname: kettle\ndescription: Boils water in the kettle. Use when boiling water.\n---\nFill it.\n")
	call(t, 0, "index")
	server := teamServer(t, filepath.Join(home, ".agents/skills"))
	clients := make(map[string]bool)
	for _, s := range switchings() {
		asking, _ := client.Find(s.client)
		clients[s.client] = true
		t.Run(s.client+" "+s.text, func(t *testing.T) {
			place := filepath.ToSlash(filepath.Join(home, ".agents/skills/lamplighter"))
			must.Write(t, s.file, strings.ReplaceAll(s.text, "PLACE", place))
			defer os.Remove(s.file)
			d := &doors{t: t, home: home, asking: asking, elsewhere: server}
			c, err := repertoire.OpenDefault(t.Context(), home)
			must.Do(t, err)
			defer c.Close()
			check := func(doors map[string]string, text string, want bool) {
				t.Helper()
				for door, said := range doors {
					if got := strings.Contains(said, text); got != want {
						t.Errorf("%s: %q is in it: %t, want %t: %.600s", door, text, got, want, said)
					}
				}
			}
			check(d.models(c), "lamplighter", s.means == "on")
			check(d.readers(c), "brass scissors", s.means != "off")
			check(d.people(), "amplighter", true)
			told := map[string]string{"off": "switched off in " + asking.Title, "user": "only the user starts it in " + asking.Title}
			for means, text := range told {
				check(d.tellers(c), text, means == s.means)
			}
			if s.means == "user" {
				check(map[string]string{"hook": d.hook("use the lamplighter skill"), "hook --url": d.hook("use the lamplighter skill", "--url", server)}, "lamplighter", true)
			}
		})
	}
	for _, c := range client.All() {
		if c.SkillSwitches != nil && !clients[c.Name] {
			t.Errorf("%s is not tried", c.Title)
		}
		if c.SkillSwitches != nil && c.MCP.Caller == "" {
			t.Errorf("nobody knows how %s introduces itself", c.Title)
		}
	}
}
