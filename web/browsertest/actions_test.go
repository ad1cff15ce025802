package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A walk is somebody who clicks through the pages in one tab, and keeps which actions there were and which were used.
type walk struct {
	*Page
	t          *testing.T
	seen, used map[string]bool
}

// tools are what the walk needs of a page: its actions, their names, and which are lost. The link that skips to the content
// is for the keyboard, see TestKeyboard.
const tools = `
	window.nameOf = e => {
		const path = a => a ? new URL(a, location).pathname.split("/").pop() : "";
		const query = a => [...new Set(new URL(a, location).searchParams.keys())].sort().join(" ");
		const text = e.innerText.trim();
		switch (e.tagName) {
		case "A": return e.getAttribute("href").startsWith("#") ? "jump " + text : "link " + path(e.href) + " " + query(e.href);
		case "BUTTON": return "button " + path(e.form.getAttribute("action")) + " " + (e.closest(".examples") ? "example" : text);
		case "SUMMARY": return "fold " + path(location);
		}
		return "field " + path(e.form.getAttribute("action")) + " " + e.name;
	};
	window.actions = () => [...document.querySelectorAll("a[href]:not(.skip), button, summary, input:not([type=hidden]), textarea, select")];
	// What is hidden at this width: not what is folded, and not the buttons that pages with scripts do without.
	window.folded = e => [...document.querySelectorAll("details:not([open])")].some(d => d.contains(e) && !d.firstElementChild.contains(e));
	window.lost = () => actions().filter(e => !e.checkVisibility() && !e.matches("[data-without-script]") && !folded(e));
	true`

// look keeps the actions of the page that is shown, and checks that each can be used.
func (w *walk) look() {
	w.t.Helper()
	value[bool](w.t, w.Page, tools)
	for _, name := range value[[]string](w.t, w.Page, `actions().filter(e => e.checkVisibility()).map(nameOf)`) {
		w.seen[name] = true
	}
	for _, lost := range value[[]string](w.t, w.Page, `lost().map(e => e.outerHTML.slice(0, 120))`) {
		w.t.Errorf("%s: hidden at this width: %s", value[string](w.t, w.Page, "location.pathname"), lost)
	}
}

// mark marks the first action that can be used with a name, and whose text or name begins so.
func (w *walk) mark(name, text string) chromedp.CSS {
	w.t.Helper()
	w.look()
	found := value[bool](w.t, w.Page, fmt.Sprintf(`(() => { document.querySelectorAll("[data-here]").forEach(e => e.removeAttribute("data-here"));
		const e = actions().find(e => e.checkVisibility() && nameOf(e) === %q && e.innerText.trim().startsWith(%q)); e?.setAttribute("data-here", ""); return !!e })()`, name, text))
	if !found {
		w.t.Fatalf("no action %q with the text %q among %q at %s", name, text, value[[]string](w.t, w.Page, `actions().filter(e => e.checkVisibility()).map(nameOf)`), value[string](w.t, w.Page, "location.href"))
	}
	w.used[name] = true
	return chromedp.CSS("[data-here]")
}

// click clicks on what leads to another page, and checks that this says something.
func (w *walk) click(name, text, want string) {
	w.t.Helper()
	status, err := w.Follow(chromedp.Click(w.mark(name, text)))
	try(w.t, err)
	try(w.t, w.Settle())
	w.look()
	if status != 200 && (status != 401 || name != "button signout Sign out") {
		w.t.Fatalf("%s %s leads to status %d", name, text, status)
	}
	w.says(want)
}

// says checks what the page shows.
func (w *walk) says(want string) {
	w.t.Helper()
	if got := value[string](w.t, w.Page, `document.querySelector("main").innerText`); !strings.Contains(got, want) {
		w.t.Errorf("%s says nothing of %q:\n%s", value[string](w.t, w.Page, "location.href"), want, got)
	}
}

// stay uses what leads to no other page, until the page shows something.
func (w *walk) stay(name, text, want string) {
	w.t.Helper()
	try(w.t, w.Do(chromedp.Click(w.mark(name, text))))
	w.shows(want)
}

func (w *walk) shows(want string) {
	w.t.Helper()
	wait(w.t, w.Page, fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, want))
	w.look()
}

// write writes into a field in place of what is there, and waits for the answer: a page asks a moment after the last key.
func (w *walk) write(name, text string) {
	w.t.Helper()
	at := w.mark(name, "")
	try(w.t, w.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-here]").value = ""`), chromedp.SendKeys(at, text),
		chromedp.Evaluate[chromedp.Void](`new Promise(done => setTimeout(done, 250))`, chromedp.EvalAwaitPromise)))
	try(w.t, w.Settle())
}

// choose chooses a value of a list.
func (w *walk) choose(name, option string) {
	w.t.Helper()
	w.mark(name, "")
	try(w.t, w.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const e = document.querySelector("[data-here]"); e.value = %q;
		e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})) })()`, option))))
}

// skill goes to the page of a skill by the catalog.
func (w *walk) skill(name string) {
	w.t.Helper()
	w.click("link catalog ", "Catalog", "Propose a new skill")
	w.click("link skill id", name, "Instructions")
}

// TestActions: at each width all that can be done on any page is in sight, works by clicks, and the page says what
// happened.
func TestActions(t *testing.T) {
	for _, v := range []View{wide, narrow} {
		t.Run(fmt.Sprint(v.Width), func(t *testing.T) {
			s := start(t, nil)
			w := &walk{s.open(t, "", v), t, make(map[string]bool), make(map[string]bool)}
			w.prompt()
			w.catalog()
			w.switches()
			w.files()
			w.proposes()
			w.decides()
			w.finds()
			for name := range w.seen {
				if !w.used[name] {
					t.Errorf("nobody has used %q", name)
				}
			}
			clean(t, w.Page)
		})
	}
}

// TestActionsOfTeam: whoever has a token proposes by clicks, and sees what somebody else decided and why.
func TestActionsOfTeam(t *testing.T) {
	program, err := built()
	try(t, err)
	for _, v := range []View{wide, narrow} {
		t.Run(fmt.Sprint(v.Width), func(t *testing.T) {
			b := browser(t)
			home, err := NewHome(t.Context(), t.TempDir(), program, time.Now())
			try(t, err)
			secrets := make(map[string]string)
			for name, agent := range map[string]string{"ann": "", "bob": "reviewer"} {
				secrets[name], err = home.Token(t.Context(), name, agent)
				try(t, err)
			}
			server, err := home.ServeTeam(whole)
			try(t, err)
			t.Cleanup(func() { try(t, server.Close()) })
			enter := func(name string) *walk {
				p, err := b.Open(server.URL, v)
				try(t, err)
				t.Cleanup(p.Close)
				w := &walk{p, t, make(map[string]bool), make(map[string]bool)}
				w.write("field signin token", secrets[name])
				w.click("button signin Sign in", "", "Type a prompt")
				return w
			}
			ann, bob := enter("ann"), enter("bob")
			ann.skill("security-review")
			ann.click("link propose id", "", "Propose a change of security-review")
			ann.write("field propose text", "---\nname: security-review\ndescription: Looks for security problems in a change: injection, secrets, missing checks. Use when code handles input from outside.\ntags: [review]\n---\nFollow values.\n")
			ann.write("field propose why", "Shorter.")
			ann.click("button propose Propose", "", "It waits for a decision")
			ann.click("link proposals ", "Your proposals", "1 proposed change of yours waits")
			bob.click("link proposals ", "Proposals", "proposed by token ann")
			bob.click("link proposal id", "security-review", "Decision")
			bob.write("field proposal reason", "From where to where?")
			bob.click("button proposal Reject", "", "It was rejected")
			ann.click("link proposals ", "Proposals", "From where to where?")
			ann.click("link proposal id", "security-review", "It was rejected by token bob")
			ann.click("button signout Sign out", "", "Who are you?")
		})
	}
}

func (w *walk) prompt() {
	w.click("link  ", "skills", "Type a prompt")
	w.click("button  example", "", "Whole catalog")
	w.click("link  ", "Prompt", "Type a prompt")
	w.write("field  q", "fill in this PDF form")
	w.shows("Not offered, but nearest")
	w.stay("fold ", "What the model is told", "<")
	w.click("link skill id", "pdf-forms", "Instructions")
}

func (w *walk) catalog() {
	w.click("link catalog ", "Catalog", "20 skills")
	for _, f := range [][3]string{{"source", "user:.agents", "20 skills"}, {"tag", "office", "4 skills of"}, {"state", "offered", "4 skills of"}, {"agent", "reviewer", "No skill is like that"}} {
		w.choose("field catalog "+f[0], f[1])
		w.shows(f[2])
	}
	w.click("link catalog ", "Catalog", "20 skills")
	w.write("field catalog q", "merge")
	w.shows("“merge” in their names")
	w.click("link catalog tag", "office", "4 skills of")
	w.click("link catalog source", "user:.agents", "20 skills")
	w.click("link find ", "", "Where do the files say it?")
	w.write("field find q", "signed forms")
	w.shows("found in")
	w.click("link file id path", "", "SHA-256")
	w.stay("fold file", "Frontmatter", "description:")
}

func (w *walk) switches() {
	w.skill("pdf-merge")
	w.click("button switch Disable for everybody", "", "nobody gets it any more")
	w.click("button switch Enable", "", "it is offered where it fits")
	w.skill("code-review")
	w.click("button switch Unpin for reviewer", "", "reviewer gets it where it fits")
	w.choose("field switch agent", "reviewer")
	w.click("button switch Pin", "", "reviewer always gets it")
	w.click("link catalog agent", "reviewer", "4 skills")
	w.skill("pdf-forms")
	w.stay("fold skill", "Would a prompt", "Prompt")
	w.write("field skill q", "fill in this PDF form")
	w.shows("likely wanted")
	for _, part := range []string{"Instructions", "Files"} {
		w.stay("jump "+part, "", part)
	}
}

func (w *walk) files() {
	w.skill("pdf-forms")
	w.click("link skill id view", "", "Show it rendered")
	w.click("link skill id", "Show it rendered", "Show the text as it is")
	w.click("link file id path", "references/values.md", "field")
	w.click("link file id path view", "", "|---|")
	w.click("link file id path", "Show it rendered", "Show the text as it is")
	name := "link file id path save"
	w.mark(name, "") // the browser keeps what it leads to, and shows nothing
	if got := value[string](w.t, w.Page, `fetch(document.querySelector("[data-here]").href).then(r => r.status + " " + r.headers.get("Content-Disposition"))`); !strings.HasPrefix(got, "200 attachment") {
		w.t.Errorf("%s is answered with %s", name, got)
	}
	w.click("link skill id", "pdf-forms", "Instructions")
}

func (w *walk) proposes() {
	w.skill("pdf-forms")
	w.click("link find id", "", "Where do the files say it?")
	w.write("field find q", "signed forms")
	w.shows("found in")
	w.skill("log-digging")
	w.click("link propose id", "", "Propose a change of log-digging")
	w.write("field propose text", "---\nname: log-digging\ndescription: Logs.\ntags: [operations]\n---\nSort by time.\n")
	w.write("field propose why", "Shorter.")
	w.click("button propose Propose", "", "It waits for a decision")
	w.click("link proposal id", "See the proposal", "Shorter.")
	w.click("link proposals ", "All proposals", "3 proposed changes wait")
	w.click("link propose ", "", "Propose a new skill")
	w.write("field propose name", "tea")
	w.write("field propose text", "---\nname: tea\ndescription: Makes tea. Use when somebody wants tea.\n---\nBoil water.\n")
	w.write("field propose why", "Tea is good.")
	w.click("button propose Propose", "", "It waits for a decision")
}

func (w *walk) decides() {
	w.click("link proposals ", "Proposals", "4 proposed changes wait")
	w.click("link proposal id", "pdf-forms", "Decision")
	w.write("field proposal reason", "True.")
	w.click("button proposal Approve", "", "The change was made")
	w.click("link skill id", "See the skill", "Version 2")
	w.stay("jump History", "", "Version 2")
	w.click("link change id version", "Version 2", "it would lose its signature")
	w.click("link proposals ", "Proposals", "3 proposed changes wait")
	w.click("link proposal id", "code-review", "Decision")
	w.write("field proposal reason", "Too short.")
	w.click("button proposal Reject", "", "It was rejected")
	w.click("link proposals ", "All proposals", "Too short.")
	w.click("link proposal id", "log-digging", "The check fails")
	w.stay("field proposal force", "", "Decision")
	w.click("button proposal Approve", "", "The change was made")
}

func (w *walk) finds() {
	w.click("link doctor ", "Doctor", "Check everything")
	w.click("button doctor Check everything", "", "Everything was checked")
	w.click("button doctor Check again", "", "Everything was checked")
	w.write("field doctor q", "missing")
	w.shows("description is missing")
	w.stay("fold doctor", "", "Rule")
	w.click("link usage ", "Usage", "the last 30 days")
	w.choose("field usage days", "7")
	w.shows("in 7 days")
	w.stay("fold usage", "", "Never")
	w.click("link state ", "State", "Held back")
	w.stay("fold state", "", "Held back")
}
