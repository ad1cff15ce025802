// Package browsertest runs the page of the program in a real browser: it starts "skills
// web" over skills of its own, opens the page in chromium, and hears what the browser
// complains of. It is a module of its own, so that the product does not depend on what
// drives a browser.
//
// The one rule: whatever the browser complains of is kept, and a test fails for it.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// ErrNoBrowser says that there is no chromium on this machine.
var ErrNoBrowser = errors.New("chromium is not in PATH; Debian has it as the package chromium")

// patience is how long one step in a page may take.
const patience = 30 * time.Second

// A Browser is a running chromium without a window.
type Browser struct {
	ctx  context.Context // of chromedp
	stop func()
}

// Start starts chromium with an empty profile. It finds no host but 127.0.0.1, so that a
// page that asks another one is only noticed, and nothing leaves the machine.
func Start(ctx context.Context) (*Browser, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, ErrNoBrowser
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("hide-scrollbars", true),
	)
	if os.Geteuid() == 0 { // chromium refuses to be root within its sandbox
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	ctx, stopBrowser := chromedp.NewContext(ctx)
	b := &Browser{ctx, func() { stopBrowser(); stopAllocator() }}
	if err := chromedp.Do(ctx); err != nil {
		b.stop()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return b, nil
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() { b.stop() }

// A View is how large a page is shown, and in which colours.
type View struct {
	Width, Height int64
	Dark          bool    // the user prefers dark colours
	Scale         float64 // pixels of a picture for each pixel of CSS; 0 means 1
}

// A Page is a tab.
type Page struct {
	ctx   context.Context // of chromedp
	stop  func()
	heard *complaints
}

// Open opens an address in a new tab and waits until it has loaded. The tab has no cookies.
func (b *Browser) Open(address string, v View) (*Page, error) {
	return open(b.ctx, address, v, chromedp.WithNewBrowserContext())
}

// Open opens an address in a new tab that shares the cookies of this one. It is closed with
// this one.
func (p *Page) Open(address string, v View) (*Page, error) { return open(p.ctx, address, v) }

func open(ctx context.Context, address string, v View, o ...chromedp.ContextOption) (*Page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	ctx, stop := chromedp.NewContext(ctx, o...)
	p := &Page{ctx: ctx, stop: stop, heard: newComplaints(u.Host)}
	if err := p.show(address, v); err != nil {
		p.Close()
		return nil, fmt.Errorf("open %s: %w", u.Redacted(), err)
	}
	return p, nil
}

func (p *Page) show(address string, v View) error {
	if err := chromedp.Do(p.ctx); err != nil { // opens the tab, which lives as long as this context
		return err
	}
	if err := p.heard.listen(p.ctx); err != nil {
		return err
	}
	if _, err := chromedp.Call(p.ctx, audits.Enable, struct{}{}); err != nil {
		return err
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
		return err
	}
	scale := v.Scale
	if scale == 0 {
		scale = 1
	}
	return p.Do(chromedp.EmulateViewport(v.Width, v.Height, chromedp.EmulateScale(scale)), chromedp.Navigate(address))
}

// Close closes the tab.
func (p *Page) Close() { p.stop() }

// Do takes steps in the page, each of which may wait for what it needs.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Follow takes steps that lead to another page and waits until that has loaded. It returns
// the status of the answer.
func (p *Page) Follow(steps ...chromedp.Action[chromedp.Void]) (status int, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, steps...)
	if err != nil {
		return 0, err
	}
	return int(answer.Status), nil
}

// Value returns what an expression of JavaScript is in a page; a promise is awaited.
func Value[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Wait waits until an expression of JavaScript is true in a page.
func (p *Page) Wait(expression string) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingTimeout(0))); err != nil {
		return fmt.Errorf("wait for %s: %w", expression, err)
	}
	return nil
}

// Picture returns the page as it is seen, as a PNG.
func (p *Page) Picture() ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.CaptureScreenshot())
}

// A Violation is a rule of accessibility that a page breaks.
type Violation struct {
	Rule   string   `json:"id"`
	Impact string   `json:"impact"` // "minor", "moderate", "serious" or "critical"
	Help   string   `json:"help"`
	Places []string `json:"places"` // the elements
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (%s): %q", v.Impact, v.Help, v.Rule, v.Places)
}

// Violations returns what axe-core finds in the page as it is now. modules is a folder
// node_modules with that package.
func (p *Page) Violations(modules string) ([]Violation, error) {
	script, err := os.ReadFile(filepath.Join(modules, "axe-core", "axe.min.js"))
	if err != nil {
		return nil, fmt.Errorf("read axe-core: %w", err)
	}
	if _, err := Value[chromedp.Void](p, string(script)); err != nil {
		return nil, fmt.Errorf("load axe-core: %w", err)
	}
	found, err := Value[string](p, `axe.run().then(r => JSON.stringify(r.violations.map(v => (
		{id: v.id, impact: v.impact, help: v.help, places: v.nodes.map(n => n.html)}))))`)
	if err != nil {
		return nil, fmt.Errorf("run axe-core: %w", err)
	}
	var list []Violation
	return list, json.Unmarshal([]byte(found), &list)
}
