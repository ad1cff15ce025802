package browsertest

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// complaints are what a page must not do: open dialogs and windows, ask other hosts,
// violate its own policy, fail.
type complaints struct {
	host string // the only one that it may ask

	mu   sync.Mutex // guards what follows
	list []string
	open map[network.RequestID]string // addresses of requests that have no answer yet
}

func newComplaints(host string) *complaints {
	return &complaints{host: host, open: make(map[network.RequestID]string)}
}

// listen keeps what the tab of ctx complains of from now on.
func (c *complaints) listen(ctx context.Context) error {
	return chromedp.Listen(ctx, func(event any) {
		c.hear(event)
		if _, ok := event.(*page.EventJavascriptDialogOpening); ok {
			// The page stands still until the dialog is closed, and no command may run here.
			go chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}
	})
}

func (c *complaints) hear(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add := func(format string, args ...any) { c.list = append(c.list, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		add("dialog: %s", e.Message)
	case *page.EventWindowOpen:
		add("window: %s", e.URL)
	case *network.EventRequestWillBeSent:
		if string(e.RequestID) == string(e.LoaderID) { // another page: nobody waits for what the last one asked for
			clear(c.open)
		}
		c.open[e.RequestID] = e.Request.URL
		if !c.allowed(e.Request.URL) {
			add("request: %s", e.Request.URL)
		}
	case *network.EventLoadingFinished:
		delete(c.open, e.RequestID)
	case *network.EventLoadingFailed:
		delete(c.open, e.RequestID)
	case *network.EventWebSocketCreated:
		if !c.allowed(e.URL) {
			add("request: %s", e.URL)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			add("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			add("console: %s", printed(e.Args))
		}
	case *runtime.EventExceptionThrown:
		add("exception: %s", thrown(e.ExceptionDetails))
	case *audits.EventIssueAdded:
		if d := e.Issue.Details; d != nil && d.ContentSecurityPolicyIssueDetails != nil {
			add("policy: %s %s", d.ContentSecurityPolicyIssueDetails.ViolatedDirective, d.ContentSecurityPolicyIssueDetails.BlockedURL)
		}
	}
}

// printed returns the values that a page has printed.
func printed(args []*runtime.RemoteObject) string {
	var list []string
	for _, arg := range args {
		list = append(list, string(arg.Value)+arg.Description)
	}
	return fmt.Sprint(list)
}

// thrown returns what a script has thrown.
func thrown(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Exception.Description
	}
	return d.Text
}

// allowed reports whether a page may ask for this address.
func (c *complaints) allowed(address string) bool {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return false
	case u.Scheme == "data" || u.Scheme == "blob" || u.Scheme == "about":
		return true
	}
	return u.Host == c.host
}

// waiting returns the addresses that have not answered yet.
func (c *complaints) waiting() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Values(c.open))
}

// twoFrames lets scripts run and the page be drawn. A page behind a window draws nothing: then
// it is a moment.
const twoFrames = `new Promise(done => {
	requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
	setTimeout(() => done(true), 100);
})`

// Settle waits until all that the page has asked for has arrived and has been shown.
func (p *Page) Settle() error {
	for end := time.Now().Add(patience); ; {
		if _, err := Value[bool](p, twoFrames); err != nil {
			return fmt.Errorf("wait until the page is drawn: %w", err)
		}
		waiting := p.heard.waiting()
		if len(waiting) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("these addresses do not answer: %q", waiting)
		}
	}
}

// Complaints returns what the browser has complained of, once the page has settled.
func (p *Page) Complaints() ([]string, error) {
	err := p.Settle()
	p.heard.mu.Lock()
	defer p.heard.mu.Unlock()
	return slices.Clone(p.heard.list), err
}
