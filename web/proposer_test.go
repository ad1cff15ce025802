package web_test

import (
	"net/http"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store/memorytest"
	"github.com/repertoire-skills/repertoire/web"
)

// team are the tokens of people who propose, and of anna, who decides.
var team = bearers{"anna": {Name: "anna", Agent: "lead"}, "ben": {Name: "ben"}, "carl": {Name: "carl", Agent: "clerk"}}

// asTeam makes a site one of a server, at which people propose.
func asTeam(cfg *repertoire.Config, o *web.Options) {
	o.Key, o.Check, o.Reviewer, o.Propose = "", team, "lead", true
	cfg.Agents = append(cfg.Agents, &repertoire.Agent{Name: "lead"})
}

// as signs somebody in.
func (k *kit) as(name string) *kit {
	k.t.Helper()
	k.cookies = nil
	k.post("signin", "token", name).is(http.StatusSeeOther)
	return k
}

// draft proposes to change a line of the skill pdf-forms on its page, and returns the ID.
func (k *kit) draft(to string) string {
	k.t.Helper()
	form := k.get("propose", "id", "pdf-forms").is(http.StatusOK)
	m := regexp.MustCompile(`name="seen" value="([^"]*)"`).FindStringSubmatch(form.text)
	p := k.post("propose", "id", "pdf-forms", "seen", m[1], "why", "It helps.", "text", doc("pdf-forms", "Fills in the fields of PDF forms. Use when a PDF form is to be filled in.", to)).is(http.StatusOK)
	p.has("It waits for a decision", "See the proposal")
	return regexp.MustCompile(`Kept as <code>([0-9a-z-]+)</code>`).FindStringSubmatch(p.text)[1]
}

// decide approves or rejects a proposal as anna.
func (k *kit) decide(id, action, reason string) {
	k.t.Helper()
	k.as("anna").post("proposal", "id", id, "seen", seenIn(k.t, k.get("proposal", "id", id)), "action", action, "reason", reason).is(http.StatusSeeOther)
}

// TestProposer: whoever proposed sees what became of it, and nothing of what others proposed or a check found; to decide
// is for others.
func TestProposer(t *testing.T) {
	k, _ := openProposals(t, &proposal.Checked{Findings: []skill.Problem{{Severity: skill.Error, Message: "like secret-plan"}}}, asTeam)
	first, other := k.as("ben").draft("Ben's first."), k.as("carl").draft("Carl's.")
	k.get("proposals").is(200).has("1 proposed change of yours waits", "id="+other, ">Proposals</a>", ">carl</bdi>").lacks(first, "proposals propose")
	k.get("proposal", "id", other).is(200).has("It waits for a decision", "&#43;Carl&#39;s.", "Your proposals").lacks("like secret-plan", "<h2>Decision")
	k.get("proposal", "id", first).is(403).has("only those who decide on proposals and whoever made this one").lacks("Ben")
	k.post("proposal", "id", other, "action", "approve", "seen", "x").is(403).has("your token does not let you decide", "ask the owner")

	k.decide(other, "reject", "We do <b>not</b> need it")
	k.as("carl").get("proposals").is(200).has("No proposed change of yours waits", "rejected", "We do &lt;b&gt;not", "token anna")
	k.get("proposal", "id", other).is(200).has("It was rejected by token anna", "We do &lt;b&gt;not")
	k.post("propose", "id", "pdf-forms", "why", "Again.", "text", " ").is(200).has("Nothing was kept: the text of SKILL.md is missing", ">Again.</textarea>")

	k.as("anna").post("proposal", "id", first, "seen", seenIn(t, k.get("proposal", "id", first).has("like secret-plan")), "action", "approve", "force", "1", "reason", "Good").is(303)
	k.as("ben").get("proposals").is(200).has("approved", "Good").lacks("not applied")
	k.get("proposal", "id", first).is(200).has("The change was made by token anna", "Reason: Good")
	stale := k.draft("Ben's second.")
	k.write("pdf-forms/SKILL.md", doc("pdf-forms", "Fills in the fields of PDF forms. Use when a PDF form is to be filled in.", "Something else."))
	k.get("proposal", "id", stale).is(200).has("It does not fit the skill as it is now", "Propose the change of it as it is now").lacks("Something else")
	k.as("anna").get("proposal", "id", stale).is(200).has("It does not fit the skill as it is now", "Something else")
}

// TestProposerOfNode: at a node of a shared catalog, too, and until the change is applied.
func TestProposerOfNode(t *testing.T) {
	e, err := static.Default()
	must.Do(t, err)
	st, catalog := memorytest.New(), new(late)
	desk := proposal.OpenShared(st, catalog, &proposal.Options{Sources: func() []source.Source { return catalog.Config().Sources }})
	k := open(t, few(), asTeam, func(cfg *repertoire.Config, o *web.Options) {
		_, err := push.Push(t.Context(), st, cfg.Sources, &push.Options{Embedder: e, Inline: true})
		must.Do(t, err)
		cfg.Sources, cfg.Store, cfg.DB, cfg.Embedder, cfg.Schedule = nil, st, filepath.Join(t.TempDir(), "copy"), e, ""
		o.Proposals = desk
	})
	catalog.Catalog = k.catalog
	id := k.as("carl").draft("Carl's.")
	k.get("proposals").is(200).has("1 proposed change of yours waits", "id="+id)
	k.decide(id, "approve", "Good")
	k.as("carl").get("proposals").is(200).has("approved", "not applied yet", "Good")
	k.get("proposal", "id", id).is(200).has("It was approved by token anna", "not applied yet").lacks("<h2>Decision")
	kept, err := st.Proposal(t.Context(), id)
	must.Do(t, err)
	was := kept.Info
	kept.Info = regexp.MustCompile(`\}\s*$`).ReplaceAll(was, []byte(`,"applied":"`+time.Now().UTC().Format(time.RFC3339)+`","where":"commit 123 on the branch proposal/x"}`))
	must.Do(t, st.SetProposal(t.Context(), kept, was))
	k.get("proposals").is(200).has("commit 123 on the branch").lacks("not applied yet")
	k.get("proposal", "id", id).is(200).has("The change is in commit 123 on the branch")
}

// TestDenied: who may not open a page reads what is not allowed to whom, and what to do.
func TestDenied(t *testing.T) {
	for _, tt := range []struct {
		name, page, want string
		set              func(*web.Options)
	}{
		{"a part", "state", "State is about the whole catalog, and your token is for what agent clerk may see; ask the owner of the catalog for a token without an agent", nil},
		{"one agent", "doctor", "Doctor is about the whole catalog, and this server shows what agent clerk may see", func(o *web.Options) { o.Agent = &repertoire.Agent{Name: "clerk"} }},
		{"the key", "doctor", "whoever starts it without --agent", func(o *web.Options) { o.Key, o.Check, o.Agent = testKey, nil, &repertoire.Agent{Name: "clerk"} }},
		{"no reviewer", "change", "nobody does on this page, because the server has no --reviewer", func(o *web.Options) { o.Reviewer = "" }},
		{"not the reviewer", "change", "your token does not let you decide; ask the owner of the catalog for one that does", nil},
		{"no proposals", "proposals", "your token does not let you decide", func(o *web.Options) { o.Propose = false }},
		{"no token", "propose", "this server asks nobody for a token", func(o *web.Options) { o.Check, o.Open = nil, true }},
		{"not signed in", "proposals", "sign in with a token", func(o *web.Options) { o.Check = bearers{"": access.Caller{}} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, _ := openProposals(t, &proposal.Checked{OK: true}, asTeam, func(_ *repertoire.Config, o *web.Options) {
				if tt.set != nil {
					tt.set(o)
				}
			})
			k.post("signin", "token", "carl")
			k.get(tt.page).is(http.StatusForbidden).has(tt.want)
		})
	}
}
