package cli

import (
	"bufio"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// A visitor is a browser at the page of one node.
type visitor struct {
	t    *testing.T
	base string
	http.Client
}

// visit signs in at a node.
func (s *httpServer) visit(t *testing.T, secret string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must.Do(t, err)
	v := &visitor{t, strings.TrimSuffix(s.url, "mcp") + "ui/", http.Client{Jar: jar}}
	v.post("signin", "token", secret)
	return v
}

// openPage starts "skills web" and signs in.
func openPage(t *testing.T) *visitor {
	t.Helper()
	cmd := exec.Command("skills", "web", "--no-open", "--json")
	pipe, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	text, err := bufio.NewReader(pipe).ReadString('}')
	must.Do(t, err)
	address, query, _ := strings.Cut(object(t, text)["url"].(string), "?")
	jar, err := cookiejar.New(nil)
	must.Do(t, err)
	v := &visitor{t, address, http.Client{Jar: jar}}
	v.get("?" + query)
	return v
}

// post sends a form, of names and values, and returns the page that follows.
func (v *visitor) post(page string, fields ...string) string {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	req, err := http.NewRequestWithContext(v.t.Context(), "POST", v.base+page, strings.NewReader(form.Encode()))
	must.Do(v.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	_, body := send(v.t, &v.Client, req)
	return body
}

// get returns a page.
func (v *visitor) get(page string) string {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), "GET", v.base+page, nil)
	must.Do(v.t, err)
	_, body := send(v.t, &v.Client, req)
	return body
}

// field returns the value of a hidden field of a page.
func field(t *testing.T, page, name string) string {
	t.Helper()
	return first(t, page, `name="`+name+`" value="([^"]*)"`)
}

// first returns the first group of an expression in a text.
func first(t *testing.T, text, expression string) string {
	t.Helper()
	found := regexp.MustCompile(expression).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in %s", expression, text)
	}
	return found[1]
}

// gitIn runs git in a folder and returns what it prints.
func gitIn(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Cleo", "-c", "user.email=cleo@team.example"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v, %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestProposalsOfNodes: colleagues propose over MCP and on the page, at different nodes; the one
// whose token may decides on the page of another node; what is approved becomes a branch of the
// repository, and after the next push every node has it. The history says who approved.
func TestProposalsOfNodes(t *testing.T) {
	testsize.Long(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	address := pgtest.URL(t)
	fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nagents: {lead: {}, cats: {include: {names: [cat]}}}\n")
	must.Write(t, "repo/skills/pets/cat/SKILL.md", "---\nname: cat\ndescription: Feeds the cat. Use when it is hungry.\n---\nFeed it.\n")
	must.Write(t, "repo/skills/pets/cat/scripts/feed.sh", "#!/bin/sh\n")
	must.Write(t, "repo/skills/dog/SKILL.md", "---\nname: dog\ndescription: Walks the dog. Use when it barks.\n---\nWalk it.\n")
	must.Do(t, os.Chmod("repo/skills/pets/cat/scripts/feed.sh", 0o755))
	gitIn(t, "repo", "", "init", "--quiet", "--initial-branch=main", "--template=")
	gitIn(t, "repo", "", "config", "user.name", "Cleo")
	gitIn(t, "repo", "", "config", "user.email", "cleo@team.example")
	gitIn(t, "repo", "", "add", "--all")
	gitIn(t, "repo", "", "commit", "--quiet", "-m", "Skills")
	t.Setenv("REPERTOIRE_STORE", address)
	roots := []string{"--only-root", "--root", "repo/skills"}
	call(t, 0, append([]string{"push", "-q"}, roots...)...)
	secret := func(args ...string) string {
		return strings.TrimSpace(call(t, 0, append([]string{"token", "add", "-q"}, args...)...))
	}
	lead, ben, cats := secret("anna", "--agent", "lead"), secret("ben"), secret("carl", "--agent", "cats")
	a := serveHTTP(t, "--allow-proposals", "--reviewer", "lead", "--ui")
	b := serveHTTP(t, "--allow-proposals", "--reviewer", "lead", "--ui")
	a.ready(t)
	b.ready(t)

	// Carl's agent proposes at one node, and Ben types at the other.
	a.token = cats
	propose := func(s *httpServer, id, diff string) string {
		return s.call(t, "127.0.0.1", "", "tools/call", "propose_skill_update", `{"id":"`+id+`","diff":"`+diff+`","justification":"It was too little."}`)
	}
	if out := propose(a, "dog", `@@\n-Walk it.\n+Run.\n`); !strings.Contains(out, `"isError":true`) {
		t.Errorf("a skill outside the scope: %s", out)
	}
	change := first(t, propose(a, "cat", `@@\n-Feed it.\n+Feed it well.\n`), `"proposal":"([0-9a-z-]+)"`)
	bens := b.visit(t, ben)
	draft := bens.get("propose?id=dog")
	if text := field(t, bens.get("propose?id=cat"), "seen"); text == "" {
		t.Error("no digest")
	}
	kept := bens.post("propose", "id", "dog", "seen", field(t, draft, "seen"), "why", "Dogs like it.",
		"text", "---\r\nname: dog\r\ndescription: Walks the dog. Use when it barks.\r\n---\r\nRun with it.\r\n")
	typed := first(t, kept, `Kept as <code>([0-9a-z-]+)</code>`)
	added := first(t, bens.post("propose", "name", "fish", "why", "We have one.", "text", "---\nname: fish\ndescription: Feeds the fish. Use when it swims up.\n---\nFeed it.\n"),
		`Kept as <code>([0-9a-z-]+)</code>`)
	for page, want := range map[string]string{
		bens.post("propose", "id", "dog", "seen", "0", "why", "x", "text", "y"): "has changed since you opened it",
		bens.post("propose", "name", "Fish!", "why", "x", "text", "y"):          "is no name for a skill",
		bens.get("proposals"): "2 proposed changes of yours wait",
		(&visitor{t, bens.base, http.Client{}}).post("propose", "id", "dog", "text", "x", "why", "x"): "name=\"token\"",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("want %q in %s", want, page)
		}
	}

	// The path of the agent who decides shows Ben its scope, and no more.
	a.token = ben
	for tool, args := range map[string]string{"list_proposals": "{}", "show_proposal": `{"proposal":"` + change + `"}`,
		"approve_proposal": `{"proposal":"` + change + `","reason":"x"}`, "reject_proposal": `{"proposal":"` + change + `","reason":"x"}`} {
		if out := a.call(t, "127.0.0.1", "/lead", "tools/call", tool, args); !strings.Contains(out, "only tokens of the agent") {
			t.Errorf("%s by Ben: %s", tool, out)
		}
	}
	a.token = lead
	if out := a.call(t, "127.0.0.1", "", "tools/call", "list_proposals", `{}`); !strings.Contains(out, change) {
		t.Errorf("Anna's agent sees %s", out)
	}
	if out := a.call(t, "127.0.0.1", "", "tools/call", "approve_proposal", `{"proposal":"`+typed+`","reason":"x"}`); !strings.Contains(out, "once somebody has made it") {
		t.Errorf("Anna's agent approves: %s", out)
	}

	// Anna decides at another node than where it was proposed.
	annas := a.visit(t, lead)
	if list := annas.get("proposals"); !strings.Contains(list, change) || !strings.Contains(list, typed) || !strings.Contains(list, "token ben") {
		t.Errorf("the list is %s", list)
	}
	decide := func(v *visitor, id, action string) string {
		page := v.get("proposal?id=" + id)
		return v.post("proposal", "id", id, "seen", field(t, page, "seen"), "action", action, "reason", "Tried it")
	}
	if page := decide(annas, added, "approve"); !strings.Contains(page, "It was approved by token anna") || !strings.Contains(page, "not applied yet") {
		t.Errorf("approved: %s", page)
	}
	if page := decide(b.visit(t, lead), change, "approve"); !strings.Contains(page, "It was approved") {
		t.Errorf("at the other node: %s", page)
	}
	if page := annas.post("proposal", "id", typed, "seen", "x", "action", "approve", "reason", "No"); !strings.Contains(page, "is approved already") {
		t.Errorf("decided twice: %s", page)
	}
	own := first(t, annas.post("propose", "id", "cat", "why", "Mine.", "text", "---\nname: cat\ndescription: Feeds the cat. Use when it is hungry.\n---\nPet it.\n"),
		`Kept as <code>([0-9a-z-]+)</code>`)
	if page := decide(annas, own, "approve"); !strings.Contains(page, "somebody else must decide") {
		t.Errorf("the own one: %s", page)
	}

	// What is approved becomes branches, and what is checked out stays.
	stdio := startServer(t, "--agent", "lead", "--allow-proposals", "--reviewer", "lead")
	stdio.say(initialize, initialized, toolCall("list_proposals", "{}", ""))
	if list := jsonOf(t, stdio.hear(`"id":2`)); !strings.Contains(list, own) || strings.Contains(list, change) {
		t.Errorf("what waits, over a pipe: %s", list)
	}
	stdio.say(toolCall("reject_proposal", `{"proposal":"`+own+`","reason":"Anna took it back"}`, ""))
	if out := jsonOf(t, stdio.hear(`"id":2`)); !strings.Contains(out, "is rejected") {
		t.Errorf("rejected over a pipe: %s", out)
	}
	stdio.stdin.Close()
	stdio.end()
	if _, errs := outputs(t, 0, "proposals", "apply", "--only-root", "--root", "repo"); !strings.Contains(errs, "3 approved changes to apply where other roots are pushed from: root:skills\n") {
		t.Errorf("from another root: %q", errs)
	}
	out := call(t, 0, append([]string{"proposals", "apply"}, roots...)...)
	for _, want := range []string{change + "\tcat\tcommit ", typed + "\tdog\tcommit ", added + "\tfish\tcommit ", " on the branch proposal/" + change} {
		if !strings.Contains(out, want) {
			t.Errorf("apply prints %q, want %q", out, want)
		}
	}
	if status := gitIn(t, "repo", "", "status", "--porcelain"); status != "" || must.Read(t, "repo/skills/dog/SKILL.md") != "---\nname: dog\ndescription: Walks the dog. Use when it barks.\n---\nWalk it.\n" {
		t.Errorf("what is checked out has changed: %s", status)
	}
	message := gitIn(t, "repo", "", "log", "-1", "--format=%B", "proposal/"+change)
	for _, want := range []string{"Change the skill cat", "> It was too little.", "Proposed-by: token carl", "Approved-by: token anna", "Proposal: " + change} {
		if !strings.Contains(message, want) {
			t.Errorf("the commit says %q, want %q", message, want)
		}
	}
	if diff := gitIn(t, "repo", "", "diff", "main", "proposal/"+change); !strings.Contains(diff, "+Feed it well.") || strings.Count(diff, "diff --git") != 1 {
		t.Errorf("the branch changes %s", diff)
	}
	if _, errs := outputs(t, 0, append([]string{"proposals", "apply"}, roots...)...); !strings.Contains(errs, "no approved change of these roots") {
		t.Errorf("applied twice: %q", errs)
	}
	if out := call(t, 0, append([]string{"proposals", "apply", change[:len(change)-1]}, roots...)...); strings.Count(out, "\n") > 3 || !strings.Contains(out, "on the branch") {
		t.Errorf("by its ID once more: %q", out)
	}

	// A patch does the same in another clone.
	gitIn(t, ".", "", "clone", "--quiet", "repo", "clone")
	gitIn(t, "clone", call(t, 0, "proposals", "patch", typed), "am", "--quiet", "--directory=skills")
	gitIn(t, "clone", call(t, 0, "proposals", "patch", added), "am", "--quiet", "--directory=skills")
	if text := must.Read(t, "clone/skills/dog/SKILL.md"); !strings.Contains(text, "Run with it.\n") || strings.Contains(text, "\r") {
		t.Errorf("patched: %q", text)
	}
	if text := must.Read(t, "clone/skills/fish/SKILL.md"); !strings.Contains(text, "Feeds the fish") {
		t.Errorf("patched: %q", text)
	}

	// Merged and pushed, every node has it, and the history says who approved.
	for _, id := range []string{change, typed, added} {
		gitIn(t, "repo", "", "merge", "--quiet", "-m", "Merge", "proposal/"+id)
	}
	call(t, 0, append([]string{"push", "-q"}, roots...)...)
	for _, s := range []*httpServer{a, b} {
		s.token = ben
		eventually(t, "a node has the old skill", func() bool {
			time.Sleep(20 * time.Millisecond) // a client may not ask as often as it can
			return strings.Contains(s.call(t, "127.0.0.1", "", "tools/call", "read_skill", `{"name":"cat"}`), "Feed it well.")
		})
	}
	if log := call(t, 0, "proposals", "history", "cat"); !strings.Contains(log, "\ttoken anna\t") || strings.Count(log, "\n") != 1 {
		t.Errorf("history %q", log)
	}
	if page := b.visit(t, lead).get("skill?id=cat"); !strings.Contains(page, "by token anna") {
		t.Errorf("the page has no history: %s", page)
	}
	if shown := call(t, 0, "proposals", "show", own); !strings.Contains(shown, "Decided by: lead") || !strings.Contains(shown, "Anna took it back") {
		t.Errorf("shown: %s", shown)
	}
	mine := openPage(t)
	third := first(t, mine.post("propose", "name", "cow", "why", "We have one.", "text", "---\nname: cow\ndescription: Milks the cow. Use when it moos.\n---\nMilk it.\n"),
		`Kept as <code>([0-9a-z-]+)</code>`)
	if page := decide(mine, third, "approve"); !strings.Contains(page, "It was approved by ann ") {
		t.Errorf("on the page of this machine: %s", page)
	}
	if shown := call(t, 0, "proposals", "show", change); !strings.Contains(shown, "Decided by: token anna") || !strings.Contains(shown, "on the branch proposal/"+change) {
		t.Errorf("shown: %s", shown)
	}
}
