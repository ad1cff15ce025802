package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/usage"
)

// bearer makes a token and returns the header that bears it.
func bearer(t testing.TB, f *access.File, name, agent string) []string {
	t.Helper()
	token, secret, err := access.NewToken(name, agent, time.Now(), time.Time{})
	must.Do(t, err)
	must.Do(t, f.AddToken(t.Context(), token))
	return []string{"Authorization", "Bearer " + secret}
}

// TestCallers: a token shows the scope of its agent; a path narrows it and never widens it.
func TestCallers(t *testing.T) {
	tokens := access.Open(t.TempDir())
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: tokens, Rate: -1})
	whole, keeper, other := bearer(t, tokens, "all", ""), bearer(t, tokens, "k", "keeper"), bearer(t, tokens, "o", "other")
	all := []string{"cat", "post"}
	for _, c := range []struct {
		path    string
		headers []string
		status  int
		want    []string
	}{
		{"/mcp", whole, 200, all}, {"/mcp/keeper", whole, 200, all[:1]}, {"/mcp/other", whole, 404, nil},
		{"/mcp", keeper, 200, all[:1]}, {"/mcp/keeper", keeper, 200, all[:1]}, {"/keeper/mcp", keeper, 200, all[:1]},
		{"/mcp/other", keeper, 404, nil}, {"/mcp/nobody", keeper, 404, nil},
		{"/mcp", other, 403, nil}, {"/mcp/other", other, 403, nil}, {"/mcp/keeper", other, 404, nil},
		{"/mcp", nil, 401, nil}, {"/mcp/other", nil, 401, nil},
		{"/metrics", whole, 405, nil}, // which is for GET
	} {
		r := modern(t, s.url+c.path, "tools/call", `{"name":"list_skills","arguments":{}}`, c.headers...)
		if r.status != c.status {
			t.Errorf("%s of %v: %+v, want %d", c.path, c.headers, r, c.status)
		} else if r.status == 200 && !slices.Equal(names(t, r), c.want) {
			t.Errorf("%s of %v shows %q", c.path, c.headers, names(t, r))
		}
	}
	if r := send(t, "GET", s.url+"/nothing", "", other...); strings.Contains(r.body, "keeper") {
		t.Errorf("the token of another agent learns of %s", r.body)
	}
	for _, c := range []struct {
		headers []string
		metrics int
		health  string
	}{{whole, 200, `{"status":"ok","skills":2}`}, {keeper, 403, `{"status":"ok"}`}, {nil, 401, `{"status":"ok"}`}} {
		if r := send(t, "GET", s.url+"/metrics", "", c.headers...); r.status != c.metrics {
			t.Errorf("metrics for %v: %+v", c.headers, r)
		}
		if r := send(t, "GET", s.url+"/healthz", "", c.headers...); strings.TrimSpace(r.body) != c.health {
			t.Errorf("health for %v: %+v", c.headers, r)
		}
	}
}

// TestSessionOfCaller: a session answers only the caller that began it, also for one with the
// same scope.
func TestSessionOfCaller(t *testing.T) {
	tokens := access.Open(t.TempDir())
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: tokens, Rate: -1, ClientSessions: 1})
	a, b := bearer(t, tokens, "a", "keeper"), bearer(t, tokens, "b", "keeper")
	headers := session(t, s.url+"/mcp", a...)
	stolen := slices.Concat(b, headers[2:])
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if r := send(t, method, s.url+"/mcp", message("ping", "{}"), stolen...); r.status != 403 {
			t.Errorf("%s with the session of another caller: %+v", method, r)
		}
	}
	session(t, s.url+"/mcp", b...) // takes no place of a's
	if r := send(t, "POST", s.url+"/mcp", message("ping", "{}"), headers...); r.status != 200 {
		t.Errorf("the own session: %+v", r)
	}
	session(t, s.url+"/mcp", a...)
	if r := send(t, "POST", s.url+"/mcp", message("ping", "{}"), headers...); r.status != 404 || s.sessions() != 2 {
		t.Errorf("a second session of a caller did not end the first: %+v, %d sessions", r, s.sessions())
	}
}

// TestLimitOfCaller: a caller that asks too often costs no other caller at the same address.
func TestLimitOfCaller(t *testing.T) {
	tokens := access.Open(t.TempDir())
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: tokens, Rate: .001})
	a, b := bearer(t, tokens, "a", ""), bearer(t, tokens, "b", "")
	for _, c := range []struct {
		headers []string
		want    int
	}{{a, 200}, {a, 429}, {b, 200}, {a, 429}, {b, 429}, {nil, 200}, {[]string{"Authorization", "Bearer x"}, 429}} {
		if r := send(t, "GET", s.url+"/healthz", "", c.headers...); r.status != c.want {
			t.Errorf("%v: %+v, want %d", c.headers, r, c.want)
		}
	}
}

// TestLimitOfPage: each browser has its own limit, also behind a proxy with one address.
func TestLimitOfPage(t *testing.T) {
	tokens := access.Open(t.TempDir())
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") })
	kept := func(r *http.Request) string { return r.Header.Get("Cookie") }
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: tokens, Rate: .001, UI: page, UIToken: kept})
	ann := []string{"Cookie", strings.TrimPrefix(bearer(t, tokens, "ann", "")[1], "Bearer ")}
	bob := []string{"Cookie", strings.TrimPrefix(bearer(t, tokens, "bob", "")[1], "Bearer ")}
	for _, c := range []struct {
		path    string
		headers []string
		want    int
	}{{"/ui/", ann, 200}, {"/ui/", ann, 429}, {"/ui/", bob, 200}, {"/metrics", bob, 401}, {"/ui/", nil, 429}, {"/ui/", []string{"Cookie", "guess"}, 429}} {
		if r := send(t, "GET", s.url+c.path, "", c.headers...); r.status != c.want {
			t.Errorf("%s as %v: %+v, want %d", c.path, c.headers, r, c.want)
		}
	}
}

// TestRevoked: a token that is revoked counts no more at once, and its streams end.
func TestRevoked(t *testing.T) {
	t.Parallel()
	tokens := access.Open(t.TempDir())
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: tokens})
	headers := session(t, s.url+"/mcp", bearer(t, tokens, "a", "")...)
	stream := start(t, "GET", s.url+"/mcp", "", headers...)
	defer stream.Body.Close()
	if stream.StatusCode != 200 {
		t.Fatal(stream.Status)
	}
	_, err := tokens.RevokeToken(t.Context(), "a")
	must.Do(t, err)
	if r := send(t, "POST", s.url+"/mcp", message("ping", "{}"), headers...); r.status != 401 {
		t.Errorf("a revoked token: %+v", r)
	}
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Error(err)
	}
}

// slow is a Checker that takes as long as a test lets it.
type slow struct{ begin, goOn chan struct{} }

func (c slow) Check(context.Context, string) (access.Caller, error) {
	c.begin <- struct{}{}
	<-c.goOn
	return access.Caller{Name: "ann"}, nil
}

// TestSlowCheck: tokens that take long to check are bounded by address, before it is known
// whose they are.
func TestSlowCheck(t *testing.T) {
	c := slow{make(chan struct{}, 10), make(chan struct{})}
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: c, ClientRequests: 2, Rate: -1})
	answers := make(chan int, 2)
	for range 2 {
		go func() {
			resp, err := http.Get(s.url + "/healthz")
			if err != nil {
				answers <- 0
				return
			}
			resp.Body.Close()
			answers <- resp.StatusCode
		}()
	}
	<-c.begin
	<-c.begin
	if r := send(t, "GET", s.url+"/healthz", ""); r.status != 429 {
		t.Errorf("a third request: %+v", r)
	}
	close(c.goOn)
	for range 2 {
		if status := <-answers; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	if r := send(t, "GET", s.url+"/healthz", ""); r.status != 200 {
		t.Errorf("later: %+v", r)
	}
}

// lost is a Checker that cannot tell.
type lost struct{}

func (lost) Check(context.Context, string) (access.Caller, error) {
	return access.Caller{}, errors.New("the issuer of example.com is gone")
}

// TestUnchecked: while tokens cannot be checked, nobody is let in. The answer says neither that
// the token is wrong nor why it cannot be checked.
func TestUnchecked(t *testing.T) {
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: lost{}})
	r := send(t, "POST", s.url+"/mcp", message("ping", "{}"), "Authorization", "Bearer x")
	if r.status != 503 || r.header.Get("Retry-After") == "" || strings.Contains(r.body, "example.com") {
		t.Errorf("%+v", r)
	}
	if r := send(t, "POST", s.url+"/mcp", message("ping", "{}")); r.status != 401 {
		t.Errorf("without a token: %+v", r)
	}
}

// TestMetadata: clients find out who gives tokens for a path, as the MCP specification asks.
func TestMetadata(t *testing.T) {
	tokens := access.Open(t.TempDir())
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Check: tokens, Issuer: "https://login.example", PublicURL: "https://skills.example/"})
	for path, metadata := range map[string]string{
		"/mcp": "/.well-known/oauth-protected-resource/mcp", "/mcp/keeper": "/.well-known/oauth-protected-resource/mcp/keeper",
		"/keeper/mcp": "/.well-known/oauth-protected-resource/keeper/mcp", "/mcp/nobody": "/.well-known/oauth-protected-resource/mcp/nobody",
	} {
		r := send(t, "POST", s.url+path, message("ping", "{}"))
		want := fmt.Sprintf(`Bearer realm="skills", resource_metadata="https://skills.example%s"`, metadata)
		if got := r.header.Get("WWW-Authenticate"); r.status != 401 || got != want {
			t.Errorf("%s: %d, %q, want %q", path, r.status, got, want)
		}
		r = send(t, "GET", s.url+metadata, "")
		var got map[string]any
		must.Do(t, json.Unmarshal([]byte(r.body), &got))
		if got["resource"] != "https://skills.example"+path || fmt.Sprint(got["authorization_servers"]) != "[https://login.example]" {
			t.Errorf("%s: %s", metadata, r.body)
		}
	}
	if r := send(t, "GET", s.url+"/.well-known/oauth-protected-resource", ""); !strings.Contains(r.body, `"resource":"https://skills.example"`) {
		t.Errorf("%+v", r)
	}
	// The protocol library's own client takes it.
	metadata, err := oauthex.GetProtectedResourceMetadata(t.Context(), s.url+"/.well-known/oauth-protected-resource/mcp/keeper", "https://skills.example/mcp/keeper", nil)
	if err != nil || !slices.Equal(metadata.AuthorizationServers, []string{"https://login.example"}) {
		t.Errorf("%+v, %v", metadata, err)
	}
	open := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Issuer: "https://login.example"})
	if r := send(t, "GET", open.url+"/.well-known/oauth-protected-resource/mcp", ""); !strings.Contains(r.body, fmt.Sprintf(`"resource":"%s/mcp"`, open.url)) {
		t.Errorf("without a public URL: %+v", r)
	}
}

// suggest asks a server about a prompt, and returns its answer.
func (s *site) suggest(t testing.TB, p api.Prompt, headers ...string) (got api.Suggestion, status int) {
	t.Helper()
	body, err := json.Marshal(p)
	must.Do(t, err)
	r := send(t, "POST", s.url+api.Path, string(body), headers...)
	if r.status == 200 {
		must.Do(t, json.Unmarshal([]byte(r.body), &got))
	}
	return got, r.status
}

func idsIn(s api.Suggestion) (ids []string) {
	for _, k := range s.Skills {
		ids = append(ids, k.ID)
	}
	return ids
}

// TestSuggestOverHTTP: a prompt gets what the scope has, but not what the session knows.
func TestSuggestOverHTTP(t *testing.T) {
	tokens := access.Open(t.TempDir())
	opts := mcpserver.Options{Introduce: func(_ context.Context, server string, _ *repertoire.Agent) (string, error) {
		return "Welcome to " + server, nil
	}}
	stale := false
	s := openSite(t, opts, mcpserver.HTTPOptions{Check: tokens, Rate: -1, Ready: func(context.Context) (string, time.Duration) {
		if stale {
			return api.Stale, time.Hour
		}
		return api.Current, 0
	}})
	whole, keeper, other := bearer(t, tokens, "all", ""), bearer(t, tokens, "k", "keeper"), bearer(t, tokens, "o", "other")
	post := api.Prompt{Text: "Fetch the letters from the mail box", Server: "team"}
	got, _ := s.suggest(t, post, whole...)
	if !slices.Equal(idsIn(got), []string{"post"}) || !strings.Contains(got.Block, "post") || !strings.Contains(got.Block, "MCP server team") || got.Tokens == 0 || got.AsOf != nil {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		change  func(*api.Prompt)
		headers []string
		status  int
	}{
		"known":          {func(p *api.Prompt) { p.Known = got.Skills }, whole, 200},
		"loaded":         {func(p *api.Prompt) { p.Known = []api.Offer{{Name: "post", Probability: 1}} }, whole, 200},
		"no task":        {func(p *api.Prompt) { p.Text = "thanks" }, whole, 200},
		"own scope":      {func(*api.Prompt) {}, keeper, 200},
		"narrowed":       {func(p *api.Prompt) { p.Agent = "keeper" }, whole, 200},
		"other agent":    {func(p *api.Prompt) { p.Agent = "other" }, keeper, 404},
		"unknown agent":  {func(p *api.Prompt) { p.Agent = "nobody" }, whole, 404},
		"no such agent":  {func(*api.Prompt) {}, other, 403},
		"no token":       {func(*api.Prompt) {}, nil, 401},
		"unknown format": {func(p *api.Prompt) { p.Format = "html" }, whole, 400},
	} {
		p := post
		c.change(&p)
		if got, status := s.suggest(t, p, c.headers...); status != c.status || len(got.Skills) > 0 || got.Block != "" {
			t.Errorf("%s: %d, %+v; want %d", name, status, got, c.status)
		}
	}
	if got, _ := s.suggest(t, api.Prompt{Start: true, Server: "team"}, keeper...); got.Block != "Welcome to team" {
		t.Errorf("start: %+v", got)
	}
	stale = true
	if got, _ := s.suggest(t, post, whole...); got.AsOf == nil || time.Since(*got.AsOf) < time.Hour {
		t.Errorf("as of %v", got.AsOf)
	}
	for body, want := range map[string]int{`{`: 400, `[]`: 400, `{"later":1}`: 200, ``: 400, `{"prompt":` + strings.Repeat(" ", 2<<20) + `""}`: 413} {
		if r := send(t, "POST", s.url+api.Path, body, whole...); r.status != want {
			t.Errorf("%.20q: %+v", body, r)
		}
	}
	if r := send(t, "POST", s.url+api.Path, `{"agent":"other"}`, keeper...); r.body != "no agent \"other\" is served to you here\n" {
		t.Errorf("another agent: %+v", r)
	}
	if r := send(t, "GET", s.url+api.Path, "", whole...); r.status != 405 || r.header.Get("Allow") != "POST" {
		t.Errorf("GET: %+v", r)
	}
}

// TestSuggestEvent: a prompt is noted with its caller, as by the tool suggest_skills.
func TestSuggestEvent(t *testing.T) {
	tokens := access.Open(t.TempDir())
	var got []usage.Event
	c := serve(t, map[string]string{"post/SKILL.md": doc("post", "Fetches letters from the mail box.")}, "", func(_ *repertoire.Config, o *mcpserver.Options) {
		o.Observe = func(e usage.Event) { e.Duration = 0; got = append(got, e) }
	})
	h, err := mcpserver.NewHTTP(map[string]*mcpserver.Server{"": c.Server}, &mcpserver.HTTPOptions{Check: tokens})
	must.Do(t, err)
	l, err := mcpserver.Listen(t.Context(), "127.0.0.1:0", true)
	must.Do(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Serve(ctx, l) }()
	url, headers := "http://"+l.Addr().String(), bearer(t, tokens, "ann", "")
	send(t, "POST", url+api.Path, `{"prompt":"fetch the letters","session":"s"}`, headers...)
	if r := send(t, "POST", url+api.Path, `{"prompt":"<task-notification>\nfetch the letters\n</task-notification>","session":"s"}`, headers...); !strings.Contains(r.body, `"block":""`) {
		t.Errorf("a notification got %q", r.body)
	}
	modern(t, url+"/mcp", "tools/call", `{"name":"read_skill","arguments":{"id":"post"}}`, headers...)
	stop()
	must.Do(t, <-ended)
	want := []usage.Event{
		{Kind: usage.Offered, Call: "suggest_skills", Skills: usage.Named("post"), Session: "s", Prompt: "fetch the letters", Wording: "likely"},
		{Kind: usage.Listed, Call: api.Path},
		{Kind: usage.Loaded, Call: "read_skill", Skills: usage.Named("post")},
	}
	for i := range want {
		want[i].Client, want[i].Address, want[i].Caller = "mcp", "caller ann", "ann"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReady: a server that cannot answer yet is no place for requests; one that answers from
// an old state is.
func TestReady(t *testing.T) {
	state, age := api.Starting, time.Duration(0)
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Token: strings.Repeat("x", 32), Ready: func(context.Context) (string, time.Duration) { return state, age }})
	for _, c := range []struct {
		state  string
		age    time.Duration
		status int
		want   string
	}{
		{api.Starting, 0, 503, `{"state":"starting","age_seconds":0}`},
		{api.Current, 0, 200, `{"state":"current","age_seconds":0}`},
		{api.Stale, 90 * time.Second, 200, `{"state":"stale","age_seconds":90}`},
	} {
		state, age = c.state, c.age
		if r := send(t, "GET", s.url+api.ReadyPath, ""); r.status != c.status || strings.TrimSpace(r.body) != c.want {
			t.Errorf("%s: %+v", c.state, r)
		}
		gauges := fmt.Sprintf("\nrepertoire_store_age_seconds %d\n", int(c.age.Seconds()))
		if r := send(t, "GET", s.url+"/metrics", "", "Authorization", "Bearer "+strings.Repeat("x", 32)); !strings.Contains(r.body, gauges) ||
			strings.Contains(r.body, "\nrepertoire_store_current 1\n") != (c.state == api.Current) {
			t.Errorf("%s: %s", c.state, r.body)
		}
	}
	early := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Size: func(context.Context) (int, error) { return 0, errors.New("not yet") }})
	if r := send(t, "GET", early.url+api.ReadyPath, ""); r.status != 503 {
		t.Errorf("%+v", r)
	}
}

// TestUI: the page decides itself who may see it, below the checks of hosts and origins.
func TestUI(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "page %s %s", r.URL.Path, body)
	})
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Token: strings.Repeat("x", 32), UI: page, MaxBody: 100})
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		want               string
	}{
		{"GET", "/ui/", "", nil, 200, "page /ui/ "},
		{"GET", "/ui/skill/mcp", "", nil, 200, "page /ui/skill/mcp "},
		{"POST", "/ui/sign-in", "token", nil, 200, "page /ui/sign-in token"},
		{"POST", "/ui/sign-in", strings.Repeat("x", 101), nil, 413, "the request has more"},
		{"GET", "/ui/", "", []string{"Host", "rebound.example"}, 403, "the Host"},
		{"POST", "/ui/approve", "", []string{"Origin", "https://elsewhere.example"}, 403, "web pages of this Origin"},
		{"GET", "/ui/../metrics", "", nil, 404, "nothing is served"},
		{"GET", "/uix", "", nil, 404, "nothing is served"},
	} {
		if r := send(t, c.method, s.url+c.path, c.body, c.headers...); r.status != c.status || !strings.HasPrefix(r.body, c.want) {
			t.Errorf("%s %s: %+v", c.method, c.path, r)
		}
	}
	if r := send(t, "GET", s.url+"/ui", ""); r.status != 200 || !strings.HasPrefix(r.body, "page /ui/") {
		t.Errorf("/ui: %+v", r)
	}
	if r := send(t, "GET", openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{}).url+"/ui/", ""); r.status != 404 {
		t.Errorf("without a page: %+v", r)
	}
}
