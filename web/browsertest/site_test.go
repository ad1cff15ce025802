package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// built builds the program once. TestMain removes its folder.
var built = sync.OnceValues(func() (program string, err error) {
	if scratch, err = os.MkdirTemp("", "browsertest"); err != nil {
		return "", err
	}
	return Build(whole, scratch)
})

// A site is a running program and a tab that is signed in to its page.
type site struct {
	*Home
	server *Server
	first  *Page
}

// start starts the program over a new home. Further files lie below the folder of its skills.
func start(t *testing.T, files map[string]string) *site {
	t.Helper()
	b := browser(t)
	program, err := built()
	try(t, err)
	home, err := NewHome(t.Context(), t.TempDir(), program, time.Now())
	try(t, err)
	for name, text := range files {
		try(t, write(home.Skills(name), text))
	}
	server, err := home.Serve(whole)
	try(t, err)
	t.Cleanup(func() { try(t, server.Close()) })
	first, err := b.Open(server.URL, wide)
	try(t, err)
	t.Cleanup(first.Close)
	return &site{home, server, first}
}

// The usual views.
var wide, narrow = View{Width: 1200, Height: 800}, View{Width: 360, Height: 740, Dark: true}

// open opens a page of the site.
func (s *site) open(t *testing.T, page string, v View) *Page {
	t.Helper()
	p, err := s.first.Open(s.server.Page(page), v)
	try(t, err)
	t.Cleanup(p.Close)
	return p
}

// pages are the pages of the navigation.
func (s *site) pages(t *testing.T) []string {
	t.Helper()
	list := value[[]string](t, s.first, `[...document.querySelectorAll("nav a")].map(a => a.href)`)
	for i, address := range list {
		list[i] = strings.TrimPrefix(address, s.server.Page(""))
	}
	if !slices.Contains(list, "doctor") || !slices.Contains(list, "") {
		t.Fatalf("the navigation has %q", list)
	}
	return list
}

// press presses keys.
func press(t *testing.T, p *Page, keys string, o ...chromedp.KeyOption) {
	t.Helper()
	try(t, p.Do(chromedp.KeyEvent(keys, o...)))
}

// wait waits until an expression is true.
func wait(t *testing.T, p *Page, expression string) {
	t.Helper()
	try(t, p.Wait(expression))
}

// TestLooks: each page fits a wide screen in light colours and a narrow one in dark colours,
// axe-core finds nothing serious in it, and the browser complains of nothing.
func TestLooks(t *testing.T) {
	s := start(t, nil)
	list := append(s.pages(t), "skill?id=pdf-forms", "find?id=pdf-forms", "catalog?q=pdf", "no-such-page",
		strings.TrimPrefix(value[string](t, s.open(t, "proposals", wide), `document.querySelector("article a").href`), s.server.Page("")))
	for _, page := range list {
		for _, v := range []View{wide, narrow} {
			t.Run(fmt.Sprintf("%s %d", page, v.Width), func(t *testing.T) {
				p, err := s.first.Open(s.server.Page(page), v)
				try(t, err)
				defer p.Close()
				if page != "no-such-page" { // its status is a complaint
					clean(t, p)
				}
				openAll(t, p)
				if over := value[int64](t, p, "document.scrollingElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("the page is %d pixels wider than the screen", over)
				}
				if light := value[int](t, p, `Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0])`); (light < 128) != v.Dark {
					t.Errorf("the background has a red of %d", light)
				}
				accessible(t, p)
			})
		}
	}
}

// openAll opens what is folded, so that it is checked too.
func openAll(t *testing.T, p *Page) {
	t.Helper()
	try(t, p.Do(chromedp.Evaluate[chromedp.Void](`for (const d of document.querySelectorAll("details")) d.open = true`)))
}

// TestTyping: the skills for a prompt appear while somebody types, without another page.
func TestTyping(t *testing.T) {
	s := start(t, nil)
	p := s.open(t, "", wide)
	try(t, p.Do(chromedp.Evaluate[chromedp.Void](`window.same = true`)))
	press(t, p, "fill in this PDF form")
	wait(t, p, `document.querySelector("#results").innerText.includes("pdf-forms")`)
	if !value[bool](t, p, "window.same === true") {
		t.Error("the page was loaded again")
	}
	if got := value[string](t, p, `document.querySelector("textarea").value`); got != "fill in this PDF form" {
		t.Errorf("the field has %q", got)
	}
	if value[bool](t, p, `document.querySelector("#results").hasAttribute("aria-busy")`) {
		wait(t, p, `!document.querySelector("#results").hasAttribute("aria-busy")`)
	}
	accessible(t, p)
	clean(t, p)
}

// TestWithoutScript: what a form answers is also a page.
func TestWithoutScript(t *testing.T) {
	s := start(t, nil)
	p := s.open(t, "", wide)
	scripts := func(off bool) {
		t.Helper()
		_, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off})
		try(t, err)
	}
	scripts(true)
	try(t, p.Do(chromedp.Reload()))
	status, err := p.Follow(chromedp.SendKeys(chromedp.CSS("textarea"), "fill in this PDF form"), chromedp.Click(chromedp.CSS("form button")))
	try(t, err)
	if html := value[string](t, p, `document.querySelector("#results").innerText`); status != 200 || !strings.Contains(html, "pdf-forms") {
		t.Errorf("status %d, results %q", status, html)
	}
	scripts(false) // our own waits for them
	clean(t, p)
}

// focused describes the element that has the focus.
const focused = `(e => (e.id ? "#" + e.id : e.tagName.toLowerCase() + " " + (e.innerText || e.name || "").trim().split("\n")[0]))(document.activeElement)`

// TestKeyboard: the keyboard reaches everything that can be used, in the order of the page, and
// shows where it is.
func TestKeyboard(t *testing.T) {
	s := start(t, nil)
	for _, page := range append(s.pages(t), "skill?id=pdf-forms") {
		p := s.open(t, page, wide)
		all := value[[]string](t, p, `(() => { window.usable = [...document.querySelectorAll("a[href], button, input, textarea, select, summary, [tabindex='0']")]
			.filter(e => e.checkVisibility() && !e.disabled && e.type != "hidden"); usable[0].focus(); return usable.map(e => e.outerHTML.slice(0, 80)) })()`)
		for i := range all {
			if i > 0 {
				press(t, p, kb.Tab)
			}
			got := value[string](t, p, `(() => { const e = document.activeElement, s = getComputedStyle(e);
				if (e !== usable[`+fmt.Sprint(i)+`]) return "the focus is at " + e.outerHTML.slice(0, 80);
				return s.outlineStyle === "none" && s.boxShadow === "none" ? "nobody sees the focus" : "" })()`)
			if got != "" {
				t.Fatalf("%s: %s should come after %d tabs: %s", page, all[i], i, got)
			}
		}
		p.Close()
	}
	p := s.open(t, "doctor", wide)
	press(t, p, kb.Tab)
	press(t, p, kb.Enter)
	if got := value[string](t, p, "document.activeElement.id + ' ' + location.hash"); got != "main #main" {
		t.Errorf("the first link leads to %q", got)
	}
	press(t, p, "/")
	press(t, p, "missing")
	if got := value[string](t, p, focused); got != "#q" {
		t.Errorf("the key / leads to %q", got)
	}
	wait(t, p, `document.querySelector("#results").innerText.includes("description is missing")`)
	clean(t, p)
}

// TestDecide: a proposal is approved with the keyboard alone, and the skill is changed.
func TestDecide(t *testing.T) {
	s := start(t, nil)
	p := s.open(t, "proposals", wide)
	// By its name: two proposals of one second stand in the order of their digests.
	_, err := p.Follow(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("article a")].find(a => a.textContent == "pdf-forms").focus()`), chromedp.KeyEvent(kb.Enter))
	try(t, err)
	_, err = p.Follow(chromedp.SendKeys(chromedp.CSS("#reason"), "It is true"), chromedp.Focus(chromedp.CSS("button[value=approve]")), chromedp.KeyEvent(kb.Enter))
	try(t, err)
	if got := value[string](t, p, `document.querySelector("main").innerText`); !strings.Contains(got, "The change was made") || !strings.Contains(got, "It is true") {
		t.Errorf("the page says %q", got)
	}
	text, err := os.ReadFile(s.Skills("pdf-forms/SKILL.md"))
	try(t, err)
	if !strings.Contains(string(text), "it would lose its signature") {
		t.Errorf("the skill says\n%s", text)
	}
	clean(t, p)
}

// TestGone: a page whose server has ended says so.
func TestGone(t *testing.T) {
	s := start(t, nil)
	p := s.open(t, "", wide)
	try(t, s.server.Close())
	press(t, p, "fill")
	wait(t, p, `document.querySelector("[role=alert]")?.innerText.includes("does not answer")`)
}

// attack is markup that would open a dialog, ask another host or change the page if any page
// took it for its own.
const attack = `<img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)></textarea></script></pre></title>` +
	`"'><iframe srcdoc="<script>alert(4)</script>"></iframe><link rel=stylesheet href=http://elsewhere.example/a.css><meta http-equiv=refresh content="0;url=http://elsewhere.example/">{{.}}`

// hostileSkill is a skill that attacks with all that a skill has.
func hostileSkill() map[string]string {
	quoted := "'" + strings.ReplaceAll(attack, "'", "''") + "'"
	return map[string]string{
		"evil/SKILL.md": "---\nname: " + quoted + "\ndescription: " + quoted + "\ntags: [" + quoted + "]\nlicense: " + quoted + "\nrequires: [" + quoted + "]\n---\n# " + attack +
			"\n\n[click](javascript:alert(5)) ![look](http://elsewhere.example/b.png) <javascript:alert(6)> [a](data:text/html,<script>alert(7)</script>)\n\n<style>body{background:url(http://elsewhere.example/c)}</style>\n\n```html\n" + attack + "\n```\n\n| " + attack + " |\n|---|\n",
		"evil/" + `<img src=x onerror=alert(8)>'".md`: attack,
		"evil/page.html":                          "<script>alert(9)</script>",
		"evil/draw.svg":                           `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(10)</script></svg>`,
		"evil/references/a.md":                    "<script>alert(11)</script>\n[x](javascript:alert(12))\n",
		`b<img src=x onerror=alert(13)>/SKILL.md`: "---\ndescription: " + quoted + "\n---\n" + attack,
		"worse/SKILL.md":                          "---\nname: worse\ndescription: Worse.\nrequires: [no-such-skill]\n---\nRead references/" + `<img src=x onerror=alert(14)>` + ".md\n",
	}
}

// TestHostile: whatever a skill, a proposal or the log says, nothing of it runs: a browser that
// opens all pages and follows all links opens no dialog, asks no other host and has nothing to
// complain of.
func TestHostile(t *testing.T) {
	s := start(t, hostileSkill())
	try(t, write(filepath.Join(s.Dir, "evil.diff"), "@@\n-Check the page sizes first, then merge in the order of the names.\n+"+attack+"\n"))
	try(t, s.Run(t.Context(), "propose", "pdf-merge", "--diff", "evil.diff", "--why", attack))
	line := fmt.Sprintf(`{"time":%q,"kind":"offered","client":%q,"session":"x","prompt":%q}`+"\n", time.Now().UTC().Format(time.RFC3339), attack, attack)
	log, err := os.OpenFile(filepath.Join(s.Dir, "state", "usage", time.Now().UTC().Format("2006-01")+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	try(t, err)
	_, err = log.WriteString(line)
	try(t, err)
	try(t, log.Close())

	p := s.open(t, "doctor", wide)
	_, err = p.Follow(chromedp.Click(chromedp.CSS("form[method=post] button"))) // checks everything
	try(t, err)
	p = s.open(t, "", wide)
	press(t, p, "img src onerror alert script")
	wait(t, p, `document.querySelector("#results").innerText.includes("onerror")`)
	clean(t, p)

	evil := 0
	seen := map[string]bool{}
	queue := s.pages(t)
	for len(queue) > 0 && len(seen) < 150 {
		page := queue[0]
		if queue = queue[1:]; seen[page] {
			continue
		}
		seen[page] = true
		queue = append(queue, s.visit(t, p, page, &evil)...)
	}
	if evil < 8 {
		t.Errorf("%d of %d pages show the attack", evil, len(seen))
	}
	t.Logf("%d pages, of which %d show the attack", len(seen), evil)
}

// visit opens a page in a tab, checks it, and returns where its links lead.
func (s *site) visit(t *testing.T, p *Page, page string, evil *int) []string {
	t.Helper()
	if strings.Contains(page, "&save=") { // the browser keeps such a file and shows nothing
		if got := value[string](t, s.first, fmt.Sprintf(`fetch(%q).then(r => r.headers.get("Content-Type") + " " + r.headers.get("Content-Disposition"))`, s.server.Page(page))); !strings.HasPrefix(got, "application/octet-stream attachment;") {
			t.Errorf("%s is served as %s", page, got)
		}
		return nil
	}
	before, err := p.Complaints()
	try(t, err)
	try(t, p.Do(chromedp.Navigate(s.server.Page(page))))
	openAll(t, p)
	list, err := p.Complaints()
	try(t, err)
	for _, c := range list[len(before):] {
		t.Errorf("%s: the browser complains: %s", page, c)
	}
	if strings.Contains(value[string](t, p, "document.body.innerText"), "onerror") {
		*evil++
	}
	if odd := value[string](t, p, `[...document.querySelectorAll("iframe, object, embed, base, script:not([src]), style, [onerror], [onload], [style]")].map(e => e.outerHTML).join("\n")`); odd != "" {
		t.Errorf("%s has elements that no template has: %s", page, odd)
	}
	var links []string
	for _, link := range value[[]string](t, p, `[...document.links].map(a => a.href)`) {
		rest, ok := strings.CutPrefix(link, s.server.Page(""))
		if !ok {
			t.Errorf("%s leads to %s", page, link)
		}
		rest, _, _ = strings.Cut(rest, "#")
		links = append(links, rest)
	}
	return links
}
