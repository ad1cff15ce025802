package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestDocs: the site of docs/ finds a page while somebody types, Enter opens it, and each kind
// of page fits the screen and is accessible.
func TestDocs(t *testing.T) {
	browser(t)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/skills-docs", "-site", dir)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	p := show(t, server.URL, wide)
	try(t, p.Do(chromedp.SendKeys(chromedp.CSS("#search input"), "skill not offered")))
	wait(t, p, `document.querySelector("#found a")?.textContent === "My skill is not offered"`)
	_, err := p.Follow(chromedp.KeyEvent(kb.Enter))
	try(t, err)
	wait(t, p, `location.pathname === "/troubleshooting.html" && location.hash === "#my-skill-is-not-offered"`)
	clean(t, p)
	pages := []*Page{p}
	for _, page := range []string{"", "team.html", "skills_search.html"} {
		for _, v := range []View{wide, narrow} {
			p := show(t, server.URL+"/"+page, v)
			clean(t, p)
			if over := value[int64](t, p, "document.scrollingElement.scrollWidth - innerWidth"); over > 0 {
				t.Errorf("%s is %d pixels wider than %d", server.URL+"/"+page, over, v.Width)
			}
			pages = append(pages, p)
		}
	}
	for _, p := range pages {
		accessible(t, p)
	}
}
