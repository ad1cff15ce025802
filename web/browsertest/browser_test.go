package browsertest

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// whole lasts as long as the tests do.
var whole = context.Background()

// running is the browser of all tests, and scratch the folder of the program; before they are
// needed they are nil and "".
var (
	running *Browser
	scratch string
)

// only starts chromium once, as that takes long.
var only = sync.OnceValue(func() (err error) {
	running, err = Start(whole)
	return err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if running != nil {
		running.Close()
	}
	if scratch != "" {
		os.RemoveAll(scratch)
	}
	os.Exit(code)
}

// browser returns the browser of all tests, or skips the test.
func browser(t *testing.T) *Browser {
	t.Helper()
	err := only()
	if errors.Is(err, ErrNoBrowser) {
		t.Skip(err)
	}
	try(t, err)
	return running
}

// show opens an address until the end of the test.
func show(t *testing.T, address string, v View) *Page {
	t.Helper()
	p, err := browser(t).Open(address, v)
	try(t, err)
	t.Cleanup(p.Close)
	return p
}

// value returns what an expression is in a page.
func value[T any](t *testing.T, p *Page, expression string) T {
	t.Helper()
	v, err := Value[T](p, expression)
	try(t, err)
	return v
}

// clean checks that the browser complains of nothing.
func clean(t *testing.T, p *Page) {
	t.Helper()
	list, err := p.Complaints()
	try(t, err)
	for _, c := range list {
		t.Errorf("the browser complains: %s", c)
	}
}

// modules returns the folder with axe-core, or skips the test.
func modules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("REPERTOIRE_NODE_MODULES")
	if dir == "" {
		t.Skip("REPERTOIRE_NODE_MODULES does not name a folder with axe-core; .ci/run makes one")
	}
	return dir
}

// accessible checks that axe-core finds nothing serious.
func accessible(t *testing.T, p *Page) {
	t.Helper()
	found, err := p.Violations(modules(t))
	try(t, err)
	for _, v := range found {
		if v.Impact == "serious" || v.Impact == "critical" {
			t.Errorf("%s", v)
		}
	}
}

// serve serves a page under a policy and returns its address.
func serve(t *testing.T, policy, html string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte("<!doctype html><html lang=en><title>Page</title><link rel=icon href='data:,'>" + html))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestComplaints: each thing that a page must not do is noticed, and nothing else.
func TestComplaints(t *testing.T) {
	for _, c := range []struct{ name, policy, html, want string }{
		{"nothing", "", "<p>Hello</p><img src='/there' alt=''>", ""},
		{"dialog", "", "<script>alert('here')</script>", "dialog: here"},
		{"window", "", "<script>open('/other')</script>", "window: "},
		{"image elsewhere", "", "<img src='http://elsewhere.example/x.png' alt=''>", "request: http://elsewhere.example/x.png"},
		{"call elsewhere", "", "<script>fetch('https://elsewhere.example/').catch(() => {})</script>", "request: https://elsewhere.example/"},
		{"socket elsewhere", "", "<script>new WebSocket('ws://elsewhere.example/')</script>", "request: ws://elsewhere.example/"},
		{"link that is followed late", "", "<script>setTimeout(() => fetch('/there').then(() => fetch('http://elsewhere.example/')).catch(() => {}))</script>", "request: http://elsewhere.example/"},
		{"script against the policy", "script-src 'none'", "<script>document.title = 'Mine'</script>", "policy: script-src"},
		{"handler against the policy", "script-src 'self'", "<img src=x: alt='' onerror='alert(1)'>", "policy: script-src"},
		{"style against the policy", "style-src 'none'", "<p style='color: red'>Red</p>", "policy: style-src"},
		{"exception", "", "<script>nothing()</script>", "exception: "},
		{"message", "", "<script>console.error('broken')</script>", `console: ["broken"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := show(t, serve(t, c.policy, c.html), View{Width: 800, Height: 600})
			got, err := p.Complaints()
			try(t, err)
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, c.want) }) {
				t.Errorf("complaints %q, want %q", got, c.want)
			}
		})
	}
}

// TestView: a page has the size and the colours that it is opened with, and its picture too.
func TestView(t *testing.T) {
	address := serve(t, "", "<style>body { color-scheme: light dark }</style><p>Hello</p>")
	for _, v := range []View{{Width: 360, Height: 640}, {Width: 1200, Height: 700, Dark: true, Scale: 2}} {
		p := show(t, address, v)
		if got := value[int64](t, p, "innerWidth"); got != v.Width {
			t.Errorf("%+v: %d wide", v, got)
		}
		if got := value[bool](t, p, "matchMedia('(prefers-color-scheme: dark)').matches"); got != v.Dark {
			t.Errorf("%+v: dark %v", v, got)
		}
		data, err := p.Picture()
		try(t, err)
		picture, err := png.Decode(bytes.NewReader(data))
		try(t, err)
		if got, want := int64(picture.Bounds().Dx()), v.Width*max(1, int64(v.Scale)); got != want {
			t.Errorf("%+v: the picture is %d wide, want %d", v, got, want)
		}
	}
}

// TestCookies: a tab shares its cookies only with tabs that are opened from it.
func TestCookies(t *testing.T) {
	address, v := serve(t, "", "<p>Hello</p>"), View{Width: 800, Height: 600}
	first := show(t, address, v)
	try(t, first.Do(chromedp.Evaluate[chromedp.Void]("document.cookie = 'a=b'")))
	if got := value[string](t, show(t, address, v), "document.cookie"); got != "" {
		t.Errorf("another tab has the cookie %q", got)
	}
	second, err := first.Open(address, v)
	try(t, err)
	if got := value[string](t, second, "document.cookie"); got != "a=b" {
		t.Errorf("a tab that is opened from the first has the cookie %q", got)
	}
}

// TestViolations: axe-core runs under a strict policy, and finds what it is there for.
func TestViolations(t *testing.T) {
	dir := modules(t)
	p := show(t, serve(t, "default-src 'none'; img-src data:", "<main><h1>Page</h1><input></main>"), View{Width: 800, Height: 600})
	found, err := p.Violations(dir)
	try(t, err)
	if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == "label" && v.Impact == "critical" }) {
		t.Errorf("axe-core finds %v", found)
	}
	clean(t, p)
}
