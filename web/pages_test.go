package web_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store/memorytest"
	"github.com/repertoire-skills/repertoire/usage"
	"github.com/repertoire-skills/repertoire/web"
)

// hostile is what no page may take as markup.
const hostile = `</script><img src=x onerror=alert(1)>"'><svg onload=alert(2)>` + "\u202e"

// TestState: the page says where skills come from, which are held back and why, and what
// agents always have.
func TestState(t *testing.T) {
	files := few()
	files["needy/SKILL.md"] = doc("needy", "Needs what is not here.", "Call it.", "requires: {commands: [no-such-program]}")
	k := open(t, files, func(cfg *repertoire.Config, _ *web.Options) {
		cfg.Agents[0].Pinned, cfg.Agents[0].Uses = []string{"pdf-forms"}, []string{"sort-songs"}
		cfg.Policy = &repertoire.Policy{Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"sort-letters"}}}}}
	})
	p := k.get("state").is(http.StatusOK)
	p.has("State", ">team</a>", k.dir, ">Disabled</strong> <span class=\"tag\">1</span>", "?id=sort-letters", "?id=pdf-forms", "sort-songs", "current", k.catalog.Path())
	k.write("sort-songs/SKILL.md", doc("sort-songs", "Sorts songs by length.", "Count."))
	k.get("state").has("stale")
}

// TestShared: the page of a copy says how it stands to the shared catalog.
func TestShared(t *testing.T) {
	st := memorytest.New()
	k := open(t, nil, func(cfg *repertoire.Config, _ *web.Options) { cfg.Sources, cfg.Store = nil, st })
	k.get("state").is(http.StatusOK).has("Shared store", "as it is").lacks("last rescan", "root add")
	st.Break(errors.New("the server is gone " + hostile))
	if _, err := k.catalog.Owner().Rescan(t.Context(), nil); err == nil {
		t.Error("the store is gone, and nobody says so")
	}
	k.get("state").is(http.StatusOK).has(">stale<", "the copy of just now", "the server is gone &lt;/script")
	for _, page := range []string{"", "catalog", "skill"} {
		k.get(page).has(`role="status">The shared catalog cannot be asked now. This is the copy of just now, which may be old.`).lacks("the server is gone")
	}
	k.get("doctor").is(http.StatusServiceUnavailable).has("shared catalog, which does not answer now")
	st.Break(nil)
	_, err := k.catalog.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	k.get("doctor").is(http.StatusOK).lacks("cannot be asked now")
}

// TestFindings: the page groups findings by what they cost, filters them, and a complete
// check finds more.
func TestFindings(t *testing.T) {
	files := few()
	files["broken/SKILL.md"] = "---\nname: broken\n---\nNo description.\n"
	files["pointer/SKILL.md"] = doc("pointer", "Points at a file. Use when something is pointed at.", "Read references/none.md first.")
	k := open(t, files, func(_ *repertoire.Config, o *web.Options) {
		o.Ignore = []config.Ignore{{Rules: []string{"no-trigger"}}}
	})
	k.get("doctor").is(http.StatusOK).has("Doctor", "missing-description", "What to do:", "<strong>broken</strong>", "?id=pointer", "Check everything").lacks("no-trigger", "matches nothing")
	k.get("doctor", "q", "BROKEN error").is(http.StatusOK).has("missing-description")
	k.get("doctor", "q", "nothing like that").is(http.StatusOK).has("No finding is like that").lacks("missing-description")
	p := k.post("doctor").is(http.StatusSeeOther)
	k.get(strings.TrimPrefix(p.Header().Get("Location"), k.prefix)).is(http.StatusOK).has("not-analysed", "logo.png", "Everything was checked just now")
}

// TestUsage: the page counts what the log has, in tables and in charts.
func TestUsage(t *testing.T) {
	off := open(t, few())
	off.get("usage").is(http.StatusOK).has("the log of usage is off")
	now := time.Now()
	log := usage.New(t.TempDir(), usage.Options{Prompts: true, Now: func() time.Time { return now }})
	k := open(t, few(), func(_ *repertoire.Config, o *web.Options) { o.Usage = log })
	k.get("usage").is(http.StatusOK).has("Nothing was noted in this period")
	now = now.AddDate(0, 0, -20)
	must.Do(t, log.Add(usage.Event{Kind: usage.Offered, Client: "claude", Session: "1", Agent: "clerk", Skills: []usage.Skill{{ID: "pdf-forms"}, {ID: "sort-songs"}}}))
	must.Do(t, log.Add(usage.Event{Kind: usage.Loaded, Client: "claude", Session: "1", Agent: "clerk", Skills: []usage.Skill{{ID: "pdf-forms"}}}))
	must.Do(t, log.Add(usage.Event{Kind: usage.Offered, Client: hostile, Session: "2", Prompt: "mend " + hostile}))
	must.Do(t, log.Add(usage.Event{Kind: usage.Loaded, Client: "claude", Session: "3", Skills: []usage.Skill{{ID: hostile}}}))
	now = now.AddDate(0, 0, 20)
	k.get("usage").is(http.StatusOK).has("Of 2 prompts, 2 wanted work done; 1 of these got no skill", "id=pdf-forms", "2 in 30 days, at most 2 on one day", "<rect", "mend &lt;/script", "Never offered", `aria-label="Prompts for each day`)
	k.get("usage", "days", "7").is(http.StatusOK).has("Nothing was noted in this period")
	k.get("usage", "days", "-1").is(http.StatusOK).has(`<option value="30" selected>`)
}

// A late catalog is opened after the proposals that are about its skills.
type late struct{ *repertoire.Catalog }

func (l *late) Lookup(ctx context.Context, id string, a *search.Agent) (search.Entry, error) {
	return l.Catalog.Lookup(ctx, id, a)
}

// openProposals makes a site with proposals whose check finds what checked says.
func openProposals(t *testing.T, checked *proposal.Checked, complete ...func(*repertoire.Config, *web.Options)) (*kit, *proposal.Box) {
	t.Helper()
	catalog := new(late)
	box, err := proposal.Open(filepath.Join(t.TempDir(), "proposals"), catalog, &proposal.Options{
		Sources: func() []source.Source { return catalog.Config().Sources },
		UserDir: t.TempDir(),
		Check:   func(context.Context, proposal.Trial) (proposal.Checked, error) { return *checked, nil },
	})
	must.Do(t, err)
	k := open(t, few(), append(complete, func(_ *repertoire.Config, o *web.Options) { o.Proposals = box })...)
	catalog.Catalog = k.catalog
	return k, box
}

// propose proposes to change a line of the skill pdf-forms and returns the ID.
func propose(t *testing.T, box *proposal.Box, to string) string {
	t.Helper()
	p, err := box.ProposeUpdate(t.Context(), proposal.Who{Name: "clerk"}, proposal.Change{Skill: "pdf-forms",
		Diff: "@@\n-List the fields of the PDF first.\n+" + to + "\n", Justification: "It helps: " + hostile, Evidence: "Evidence " + hostile})
	must.Do(t, err)
	return p.ID
}

var seenPattern = regexp.MustCompile(`name="seen" value="([^"]*)"`)

// seenIn returns what the form of a proposal says that the visitor has seen.
func seenIn(t testing.TB, p reply) string {
	t.Helper()
	m := seenPattern.FindStringSubmatch(p.text)
	if m == nil {
		t.Fatalf("no form in\n%s", p.text)
	}
	return m[1]
}

// TestApprove: the owner sees what a proposal does, and what he has seen is what is made.
func TestApprove(t *testing.T) {
	ok := &proposal.Checked{OK: true, Bench: &proposal.Bench{Prompts: 7, Worse: []proposal.Worse{{Prompt: "fill " + hostile, Before: 1, After: 3}}}}
	k, box := openProposals(t, ok)
	id := propose(t, box, "List all fields first. "+hostile)
	k.get("proposals").is(http.StatusOK).has("1 proposed change waits", "id="+id, "proposed by clerk")
	form := k.get("proposal", "id", id).is(http.StatusOK).has("It helps: &lt;/script", `class="del">-List the fields`, `class="add">&#43;List all fields`, "Of 7 prompts", "rank 3 instead of rank 1")
	file := filepath.Join(k.dir, "pdf-forms", "SKILL.md")

	k.post("proposal", "id", id, "action", "approve").is(http.StatusOK).has("has changed since you opened this page")
	k.write("pdf-forms/SKILL.md", strings.Replace(must.Read(t, file), "# Fill in a form", "# Fill in any form", 1))
	k.post("proposal", "id", id, "action", "approve", "seen", seenIn(t, form), "reason", "Fine").is(http.StatusOK).has("has changed since", "the proposal still fits", ">Fine</textarea>")
	if strings.Contains(must.Read(t, file), "List all fields") {
		t.Error("the skill was changed")
	}
	form = k.get("proposal", "id", id)
	k.post("proposal", "id", id, "action", "approve", "seen", seenIn(t, form), "reason", "Fine").is(http.StatusSeeOther)
	if !strings.Contains(must.Read(t, file), "List all fields first.") || !strings.Contains(must.Read(t, file), "any form") {
		t.Errorf("the skill is\n%s", must.Read(t, file))
	}
	k.get("proposal", "id", id).is(http.StatusOK).has("The change was made", "Reason: Fine").lacks("<form method=\"post\" action=\"/proposal")
	if body, err := k.catalog.Body(t.Context(), "pdf-forms", nil); err != nil || body.Stale {
		t.Errorf("the catalog has not noticed the change: %v, stale %v", err, body.Stale)
	}
	k.post("proposal", "id", id, "action", "approve", "seen", seenIn(t, form)).is(http.StatusOK).has("is approved already")
}

// TestReject: a rejection needs a reason, which is kept.
func TestReject(t *testing.T) {
	var seen []usage.Event
	k, box := openProposals(t, &proposal.Checked{OK: true}, func(_ *repertoire.Config, o *web.Options) {
		o.Observe = func(e usage.Event) { seen = append(seen, e) }
	})
	id := propose(t, box, "Do nothing.")
	k.post("proposal", "id", id, "action", "reject", "reason", " ").is(http.StatusOK).has("a reason is needed")
	k.post("proposal", "id", id, "action", "reject", "reason", "Outdated "+hostile).is(http.StatusSeeOther)
	k.get("proposals").is(http.StatusOK).has("No proposed change waits", "rejected", "Outdated &lt;/script")
	k.post("proposal", "id", id, "action", "delete").is(http.StatusBadRequest)
	want := []usage.Event{
		{Kind: usage.Proposed, Client: "page", Address: seen[0].Address, Call: "/ui/reject", Skills: []usage.Skill{}, Proposal: id, Failed: true},
		{Kind: usage.Proposed, Client: "page", Address: seen[0].Address, Call: "/ui/reject", Skills: usage.Named("pdf-forms"), Proposal: id},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	k.get("proposal", "id", "no-such").is(http.StatusNotFound)
}

// TestForce: a change that fails its check is made only if the owner says so.
func TestForce(t *testing.T) {
	k, box := openProposals(t, &proposal.Checked{Findings: []skill.Problem{{Rule: "body-too-long", Severity: skill.Warning, Path: "SKILL.md", Line: 3, Message: "long " + hostile}}})
	id := propose(t, box, "More.")
	form := k.get("proposal", "id", id).is(http.StatusOK).has("The check fails.", "SKILL.md:3", "Approve although the check fails")
	k.post("proposal", "id", id, "action", "approve", "seen", seenIn(t, form)).is(http.StatusOK).has("the check fails, so nothing was done")
	k.post("proposal", "id", id, "action", "approve", "seen", seenIn(t, form), "force", "1").is(http.StatusSeeOther)
	k.get("proposal", "id", id).is(http.StatusOK).has("The change was made")
}

// TestConflict: a proposal that does not fit any more can only be rejected.
func TestConflict(t *testing.T) {
	k, box := openProposals(t, &proposal.Checked{OK: true})
	id := propose(t, box, "List all.")
	form := k.get("proposal", "id", id)
	k.write("pdf-forms/SKILL.md", strings.Replace(must.Read(t, filepath.Join(k.dir, "pdf-forms", "SKILL.md")), "List the fields", "Print the fields", 1))
	k.get("proposal", "id", id).is(http.StatusOK).has("It does not fit the skill as it is now").lacks(`value="approve"`)
	k.post("proposal", "id", id, "action", "approve", "seen", seenIn(t, form)).is(http.StatusOK).has("nothing was done")
}

// TestWhole: who sees a part of the catalog learns nothing of the rest.
func TestWhole(t *testing.T) {
	log := usage.New(t.TempDir(), usage.Options{Prompts: true})
	must.Do(t, log.Add(usage.Event{Kind: usage.Offered, Client: "claude", Agent: "clerk", Skills: []usage.Skill{{ID: "pdf-forms"}}}))
	must.Do(t, log.Add(usage.Event{Kind: usage.Offered, Client: "claude", Skills: []usage.Skill{{ID: "secret-plan"}}}))
	must.Do(t, log.Add(usage.Event{Kind: usage.Offered, Client: "claude", Agent: "clerk", Prompt: "a private prompt"}))
	k, _ := openProposals(t, &proposal.Checked{OK: true}, func(_ *repertoire.Config, o *web.Options) {
		o.Key, o.Check, o.Usage = "", bearers{"tok-clerk": {Name: "ann", Agent: "clerk"}, "tok-all": {Name: "bob"}}, log
	})
	k.post("signin", "token", "tok-clerk").is(http.StatusSeeOther)
	for _, page := range []string{"doctor", "state", "proposals", "proposal"} {
		k.get(page).is(http.StatusForbidden)
	}
	k.post("doctor").is(http.StatusForbidden)
	k.get("usage").is(http.StatusOK).has("pdf-forms").lacks("secret-plan", "private prompt", ">Doctor<", ">State<", ">Proposals<")
	k.post("signout")
	k.post("signin", "token", "tok-all").is(http.StatusSeeOther)
	k.get("state").is(http.StatusOK).lacks(k.dir, k.catalog.Path())
	k.get("usage").is(http.StatusOK).has("secret-plan").lacks("private prompt")
	k.get("proposals").is(http.StatusForbidden)
}
