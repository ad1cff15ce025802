package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// A site is an HTTP server with a catalog of two skills, cat and post, and the
// scopes of nobody ("") and keeper, who sees cat.
type site struct {
	*kit
	url     string
	servers map[string]*mcpserver.Server
	metrics *mcpserver.Metrics
	stop    context.CancelFunc
	ended   chan error // what Serve returned
}

func openSite(t testing.TB, o mcpserver.Options, h mcpserver.HTTPOptions) *site {
	t.Helper()
	s := &site{servers: make(map[string]*mcpserver.Server), metrics: new(mcpserver.Metrics), ended: make(chan error, 1)}
	keeper := &repertoire.Agent{Name: "keeper", Include: repertoire.Rules{Names: []string{"cat"}}}
	files := map[string]string{
		"cat/SKILL.md":  doc("cat", "Feeds the cat with dry food at noon."),
		"post/SKILL.md": doc("post", "Fetches letters from the mail box."),
	}
	o.Observe = s.metrics.Observe
	s.kit = serve(t, files, "", func(cfg *repertoire.Config, opts *mcpserver.Options) {
		cfg.Agents = []*repertoire.Agent{keeper}
		*opts = o
	})
	s.servers[""] = s.Server
	o.Agent = keeper
	s.servers["keeper"] = mcpserver.New(s.catalog, &o)
	h.Metrics = s.metrics
	if h.Size == nil {
		h.Size = func(ctx context.Context) (int, error) {
			n, _, err := s.catalog.Size(ctx)
			return n, err
		}
	}
	server, err := mcpserver.NewHTTP(s.servers, &h)
	must.Do(t, err)
	l, err := mcpserver.Listen(t.Context(), "127.0.0.1:0", false)
	must.Do(t, err)
	s.url = "http://" + l.Addr().String()
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	go func() { s.ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		s.stop()
		if err := s.wait(); err != nil {
			t.Error("ending: ", err)
		}
	})
	return s
}

// wait returns what Serve returned, any number of times.
func (s *site) wait() error {
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(patience):
		return errors.New("the server does not end")
	}
}

// A reply is what a request got.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes a request with headers, given as name and value in turn.
func send(t testing.TB, method, url, body string, headers ...string) reply {
	t.Helper()
	resp := start(t, method, url, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// start makes a request and returns its answer, whose body goes on.
func start(t testing.TB, method, url, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must.Do(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	client := http.DefaultClient
	for i := 0; i < len(headers); i += 2 {
		switch headers[i] {
		case localAddress:
			client = fromAddress(headers[i+1])
			defer client.CloseIdleConnections()
			continue
		case "Host":
			req.Host = headers[i+1]
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp
}

// result returns the JSON of the answer to a call, in an event or plain.
func (r reply) result(t testing.TB) map[string]any {
	t.Helper()
	text := r.body
	for line := range strings.Lines(r.body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			text = data
		}
	}
	var message struct {
		Result map[string]any
		Error  any
	}
	if err := json.Unmarshal([]byte(text), &message); err != nil || message.Error != nil || r.status != http.StatusOK {
		t.Fatalf("status %d, %q, %v", r.status, r.body, err)
	}
	return message.Result
}

// message is a call as JSON.
func message(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

func tool(name, arguments string) string {
	return message("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

// session begins a session of 2025-11-25 and returns the headers of its
// requests.
func session(t testing.TB, url string, headers ...string) []string {
	t.Helper()
	r := send(t, "POST", url, message("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`), headers...)
	if r.result(t)["protocolVersion"] != "2025-11-25" {
		t.Fatalf("initialize: %s", r.body)
	}
	headers = append(slices.Clone(headers), "Mcp-Session-Id", r.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25")
	if r := send(t, "POST", url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...); r.status != http.StatusAccepted {
		t.Fatalf("initialized: %+v", r)
	}
	return headers
}

// modern makes a call of 2026-07-28.
func modern(t testing.TB, url, method, params string, headers ...string) reply {
	t.Helper()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	headers = append(headers, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method)
	if method == "tools/call" {
		var call struct{ Name string }
		must.Do(t, json.Unmarshal([]byte(params), &call))
		headers = append(headers, "Mcp-Name", call.Name)
	}
	if params = strings.TrimSuffix(params, "}"); params != "{" {
		params += ","
	}
	return send(t, "POST", url, message(method, params+meta+"}"), headers...)
}

// names returns the IDs of the skills that list_skills lists.
func names(t *testing.T, r reply) []string {
	t.Helper()
	structured, _ := r.result(t)["structuredContent"].(map[string]any)
	skills, _ := structured["skills"].([]any)
	var list []string
	for _, s := range skills {
		list = append(list, s.(map[string]any)["id"].(string))
	}
	return list
}

// TestHTTPEras: clients of both eras are served at one address, the older one
// with sessions, which end.
func TestHTTPEras(t *testing.T) {
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{})
	url := s.url + "/mcp"
	old := session(t, url)
	r := send(t, "POST", url, message("tools/list", "{}"), old...).result(t)
	if tools := r["tools"].([]any); len(tools) != 6 {
		t.Errorf("%d tools", len(tools))
	}
	if r["resultType"] != nil {
		t.Error("an older client gets a resultType")
	}
	if r := send(t, "DELETE", url, "", old...); r.status != http.StatusNoContent {
		t.Errorf("ending a session: %+v", r)
	}
	if r := send(t, "POST", url, message("tools/list", "{}"), old...); r.status != http.StatusNotFound {
		t.Errorf("a session that was ended: %+v", r)
	}

	discovered := modern(t, url, "server/discover", "{}")
	if v := fmt.Sprint(discovered.result(t)["supportedVersions"]); !strings.Contains(v, "2026-07-28") || !strings.Contains(v, "2025-11-25") {
		t.Errorf("supported versions %s", v)
	}
	answer := modern(t, url, "tools/list", "{}")
	if answer.result(t)["resultType"] != "complete" || answer.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("a newer client: %+v", answer)
	}
	// Without the header it is a mistake of that client, not an older one.
	r2 := send(t, "POST", url, message("tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`))
	if r2.status != http.StatusBadRequest || !strings.Contains(r2.body, "-32020") {
		t.Errorf("without a version in the header: %+v", r2)
	}
	if r := send(t, "GET", url, "", "Mcp-Protocol-Version", "2026-07-28"); r.status != http.StatusMethodNotAllowed {
		t.Errorf("GET of a newer client: %+v", r)
	}
}

// TestHTTPScopes: each path serves its own scope, in both eras, and a session is valid
// only on its own path.
func TestHTTPScopes(t *testing.T) {
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{})
	sessions := make(map[string][]string)
	for path, want := range map[string][]string{"/mcp": {"cat", "post"}, "/mcp/keeper": {"cat"}, "/keeper/mcp": {"cat"}} {
		sessions[path] = session(t, s.url+path)
		if got := names(t, send(t, "POST", s.url+path, tool("list_skills", "{}"), sessions[path]...)); !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", path, got, want)
		}
		if got := names(t, modern(t, s.url+path, "tools/call", `{"name":"list_skills","arguments":{}}`)); !slices.Equal(got, want) {
			t.Errorf("%s shows %q to a newer client, want %q", path, got, want)
		}
	}
	for path, other := range map[string]string{"/mcp": "/mcp/keeper", "/mcp/keeper": "/mcp"} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			if r := send(t, method, s.url+path, message("tools/list", "{}"), sessions[other]...); r.status != http.StatusNotFound {
				t.Errorf("%s %s with a session of %s: %+v", method, path, other, r)
			}
		}
	}
	for _, path := range []string{"/mcp/", "/mcp/Keeper", "/mcp/nobody", "/mcp/keeper/", "/mcp/keeper/x", "/", "/sse", "/mcp/%6beeper%2f",
		"/nobody/mcp", "/Keeper/mcp", "/keeper", "/keeper/", "/keeper/mcp/", "/keeper/sse", "/%2fmcp", "/mcp/keeper/mcp", "/mcp/mcp", "/.well-known/mcp",
		"//mcp", "/keeper/../mcp", "/mcp/./keeper", "/keeper//mcp", "//example.com/mcp"} {
		if r := send(t, "POST", s.url+path, message("tools/list", "{}")); r.status != http.StatusNotFound || !strings.Contains(r.body, "/mcp/keeper") {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// TestHTTPHosts: a host name that somebody else has pointed to this machine is refused,
// whatever page the request comes from.
func TestHTTPHosts(t *testing.T) {
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Hosts: []string{"Skills.Example:443"}, Origins: []string{"https://App.example"}})
	address := strings.TrimPrefix(s.url, "http://")
	_, port, err := net.SplitHostPort(address)
	must.Do(t, err)
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{address, "", 200},
		{"localhost", "", 200},
		{"LOCALHOST:" + port, "", 200},
		{"127.0.0.2", "", 200},
		{"[::1]:" + port, "", 200},
		{"skills.example", "", 200},
		{"skills.example.:8443", "", 200},
		{"evil.example", "", 403},
		{"evil.example:" + port, "", 403},
		{"localhost.evil.example", "", 403},
		{"skills.example.evil.example", "", 403},
		{"127.0.0.1.evil.example", "", 403},
		{"192.0.2.1", "", 403},
		{"0.0.0.0:" + port, "", 403},
		{address, s.url, 200},
		{"localhost:" + port, "http://localhost:" + port, 200},
		{address, "https://app.example", 200},
		{address, "http://app.example", 403},
		{address, "https://app.example:444", 403},
		{address, "https://app.example.evil.example", 403},
		{address, "http://localhost:" + port, 403},
		{address, "http://localhost:3000", 403},
		{address, "http://evil.example", 403},
		{address, "null", 403},
		{address, "", 200},
		{"evil.example", "http://evil.example", 403},
	} {
		headers := []string{"Host", c.host}
		if c.origin != "" {
			headers = append(headers, "Origin", c.origin)
		}
		for _, path := range []string{"/mcp", "/healthz", "/metrics"} {
			method, body := "GET", ""
			if path == "/mcp" {
				method, body = "POST", message("ping", "{}")
			}
			if r := send(t, method, s.url+path, body, headers...); r.status != c.want {
				t.Errorf("host %s, origin %q: %s answers %d, want %d", c.host, c.origin, path, r.status, c.want)
			}
		}
	}
	if r := send(t, "POST", s.url+"/mcp", message("ping", "{}"), "Origin", s.url, "Origin", "http://evil.example"); r.status != 403 {
		t.Errorf("two origins: %+v", r)
	}

	// Only an allowed page gets the headers that let it call.
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "mcp-session-id"}
	r := send(t, "OPTIONS", s.url+"/mcp", "", append(ask, "Origin", "https://app.example")...)
	if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Mcp-Session-Id") || r.header.Get("Vary") != "Origin" {
		t.Errorf("a page that may call: %+v", r)
	}
	r = send(t, "OPTIONS", s.url+"/mcp", "", append(ask, "Origin", "http://evil.example")...)
	if r.status != 403 || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page that may not call: %+v", r)
	}
}

// TestHTTPToken: without the token the server only says that it is well.
func TestHTTPToken(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Token: token})
	for _, c := range []struct {
		authorization string
		want          int
		challenge     string
	}{
		{"", 401, `Bearer realm="skills"`},
		{"Basic " + token, 401, `Bearer realm="skills"`},
		{token, 401, `Bearer realm="skills"`},
		{"Bearer", 401, `Bearer realm="skills"`},
		{"Bearer wrong", 401, `Bearer realm="skills", error="invalid_token"`},
		{"Bearer " + token[:31], 401, `Bearer realm="skills", error="invalid_token"`},
		{"Bearer " + token + "0", 401, `Bearer realm="skills", error="invalid_token"`},
		{"Bearer " + strings.ToUpper(token), 401, `Bearer realm="skills", error="invalid_token"`},
		{"Bearer " + token, 200, ""},
		{"bearer " + token, 200, ""},
	} {
		for _, path := range []string{"/mcp", "/mcp/keeper", "/mcp/nobody", "/metrics"} {
			method, want := "POST", c.want
			if path == "/metrics" {
				method = "GET"
			}
			if path == "/mcp/nobody" && want == 200 {
				want = 404 // and without the token it looks like any other
			}
			var headers []string
			if c.authorization != "" {
				headers = []string{"Authorization", c.authorization}
			}
			r := send(t, method, s.url+path, message("ping", "{}"), headers...)
			if r.status != want || r.header.Get("WWW-Authenticate") != c.challenge {
				t.Errorf("%q: %s answers %d, %q; want %d, %q", c.authorization, path, r.status, r.header.Get("WWW-Authenticate"), want, c.challenge)
			}
			if strings.Contains(r.body, token) {
				t.Errorf("%q: the answer holds the token", c.authorization)
			}
		}
	}
	for path, want := range map[string]int{"/nobody/mcp": 401, "/keeper/mcp": 401, "/keeper": 404, "/.well-known/oauth-protected-resource/mcp": 404} {
		if r := send(t, "GET", s.url+path, ""); r.status != want || strings.Contains(r.body, "/mcp/keeper") {
			t.Errorf("%s without the token: %+v", path, r)
		}
	}
	if r := send(t, "GET", s.url+"/healthz", ""); r.status != 200 || strings.TrimSpace(r.body) != `{"status":"ok"}` {
		t.Errorf("health without the token: %+v", r)
	}
	if r := send(t, "GET", s.url+"/healthz", "", "Authorization", "Bearer "+token); strings.TrimSpace(r.body) != `{"status":"ok","skills":2}` {
		t.Errorf("health with the token: %+v", r)
	}
	// A session needs the token for each of its requests.
	headers := session(t, s.url+"/mcp", "Authorization", "Bearer "+token)
	if r := send(t, "POST", s.url+"/mcp", message("ping", "{}"), headers[2:]...); r.status != 401 {
		t.Errorf("a session without the token: %+v", r)
	}
}

// TestHTTPHealth: a server is not well before the catalog can be asked.
func TestHTTPHealth(t *testing.T) {
	ready := make(chan struct{})
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Size: func(ctx context.Context) (int, error) {
		select {
		case <-ready:
			return 7, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}})
	if r := send(t, "GET", s.url+"/healthz", ""); r.status != 503 || strings.TrimSpace(r.body) != `{"status":"unavailable"}` {
		t.Errorf("before: %+v", r)
	}
	close(ready)
	if r := send(t, "GET", s.url+"/healthz", ""); r.status != 200 || strings.TrimSpace(r.body) != `{"status":"ok","skills":7}` {
		t.Errorf("after: %+v", r)
	}
	if r := send(t, "POST", s.url+"/healthz", ""); r.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %+v", r)
	}
}

// TestHTTPLimits: large requests, many requests and many sessions are refused.
func TestHTTPLimits(t *testing.T) {
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{MaxBody: 1000, Rate: .01, MaxSessions: 1})
	if r := send(t, "POST", s.url+"/mcp", tool("search_skills", fmt.Sprintf(`{"query":%q}`, strings.Repeat("x", 1000)))); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large request: %+v", r)
	}
	if r := send(t, "GET", s.url+"/healthz", ""); r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "" {
		t.Errorf("the second request of a client that may make one: %+v", r)
	}
}

// listSkills calls a tool within a session and returns the status.
func listSkills(t *testing.T, url string, headers []string) int {
	t.Helper()
	return send(t, "POST", url, tool("list_skills", "{}"), headers...).status
}

// TestHTTPSessions: a client that opens session after session loses its own oldest ones,
// and costs no other client an answer.
func TestHTTPSessions(t *testing.T) {
	t.Parallel()
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{ClientSessions: 20, MaxSessions: 30, Rate: -1})
	if l, err := net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skip("this system has one loopback address only: ", err)
	} else {
		l.Close()
	}
	url := s.url + "/mcp"
	other := session(t, url, localAddress, "127.0.0.2")
	first := session(t, url)
	stream := start(t, "GET", url, "", first...) // keeps its session busy
	defer stream.Body.Close()
	second := session(t, url+"/keeper")
	for n := range 60 {
		last := session(t, url)
		if got := listSkills(t, url, last); got != http.StatusOK {
			t.Fatalf("session %d of a greedy client: %d", n, got)
		}
		if n%10 == 0 && listSkills(t, url, other) != http.StatusOK {
			t.Fatalf("another client lost its session after %d", n)
		}
	}
	if got := listSkills(t, url+"/keeper", second); got != http.StatusNotFound {
		t.Errorf("the oldest idle session of the greedy client: %d, want that it has ended", got)
	}
	if got := listSkills(t, url, first); got != http.StatusOK {
		t.Errorf("a session that was busy all the time: %d", got)
	}
	// A client without many sessions gets one, also when there are too many in all.
	for n := range 15 {
		session(t, url, localAddress, fmt.Sprintf("127.0.0.%d", 3+n))
	}
	if listSkills(t, url, other) != http.StatusOK {
		t.Error("many clients cost another one its only session")
	}
	if open := s.sessions(); open > 30 {
		t.Errorf("%d sessions are open, want at most 30", open)
	}
	large := fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}`, strings.Repeat("x", 70_000))
	if r := send(t, "POST", url, message("initialize", large)); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a session that would keep 70 KB: %d", r.status)
	}
	// Ending a session in another scope does not hide it from the count.
	mine := session(t, url)
	if r := send(t, "DELETE", url+"/keeper", "", mine...); r.status != http.StatusNotFound || listSkills(t, url, mine) != http.StatusOK {
		t.Errorf("a session was ended through another scope: %+v", r)
	}
}

// sessions returns how many sessions the servers of the site have.
func (s *site) sessions() (n int) {
	for _, server := range s.servers {
		for range server.MCP().Sessions() {
			n++
		}
	}
	return n
}

// localAddress is a header of send that says from which address the request comes. It is
// not sent.
const localAddress = "Local-Address"

func fromAddress(ip string) *http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return &http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
}

// TestHTTPSlow: the server cuts off a client that is slow to send its request, but not
// a client that waits for events.
func TestHTTPSlow(t *testing.T) {
	t.Parallel()
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Timeout: time.Second})
	address := strings.TrimPrefix(s.url, "http://")
	headers := session(t, s.url+"/mcp")
	stream := start(t, "GET", s.url+"/mcp", "", headers...)
	defer stream.Body.Close()
	for name, text := range map[string]string{
		"header": "POST /mcp HTTP/1.1\r\nHost: " + address + "\r\nX-A: ",
		"body":   "POST /mcp HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		c, err := net.Dial("tcp", address)
		must.Do(t, err)
		defer c.Close()
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		must.Do(t, c.SetReadDeadline(time.Now().Add(patience)))
		answer, err := io.ReadAll(c)
		if err != nil || strings.HasPrefix(string(answer), "HTTP/1.1 2") {
			t.Errorf("a slow %s: %q, %v", name, answer, err)
		}
	}
	// More than the time for a request has passed since the stream began.
	s.servers[""].Changed()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "list_changed") {
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// TestHTTPShutdown: a call that is under way gets its answer, streams end, and
// nobody can connect any more.
func TestHTTPShutdown(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	opts := mcpserver.Options{Suggest: func(context.Context, mcpserver.Prompt, *repertoire.Agent) (repertoire.Block, error) {
		close(began)
		<-goOn
		return repertoire.Block{Text: "the answer"}, nil
	}}
	s := openSite(t, opts, mcpserver.HTTPOptions{})
	headers := session(t, s.url+"/mcp")
	stream := start(t, "GET", s.url+"/mcp", "", headers...)
	defer stream.Body.Close()
	listen := start(t, "POST", s.url+"/mcp/keeper", message("subscriptions/listen",
		`{"notifications":{"resourcesListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	defer listen.Body.Close()
	answer := make(chan reply, 1)
	go func() {
		resp, err := http.DefaultClient.Do(request(s.url+"/mcp", tool("suggest_skills", `{"prompt":"feed the cat"}`), headers))
		if err != nil {
			answer <- reply{body: err.Error()}
			return
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		answer <- reply{resp.StatusCode, resp.Header, fmt.Sprint(string(data), err)}
	}()
	<-began
	s.stop()
	if _, err := io.ReadAll(listen.Body); err != nil {
		t.Errorf("the stream of a newer client: %v", err)
	}
	close(goOn)
	if r := <-answer; r.status != http.StatusOK || !strings.Contains(r.body, "the answer") {
		t.Errorf("the call that was under way: %+v", r)
	}
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream: %v", err)
	}
	if err := s.wait(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		c.Close()
		t.Error("the server still listens")
	}
}

func request(url, body string, headers []string) *http.Request {
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		panic(err) // unreachable: the method and the URL are constants of tests
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return req
}

// TestHTTPCutOff: a call that never returns does not keep the server from ending.
func TestHTTPCutOff(t *testing.T) {
	began, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	opts := mcpserver.Options{Suggest: func(context.Context, mcpserver.Prompt, *repertoire.Agent) (repertoire.Block, error) {
		close(began)
		<-never
		return repertoire.Block{}, nil
	}}
	s := openSite(t, opts, mcpserver.HTTPOptions{Grace: 100 * time.Millisecond})
	headers := session(t, s.url+"/mcp")
	go func() {
		if resp, err := http.DefaultClient.Do(request(s.url+"/mcp", tool("suggest_skills", `{"prompt":"feed the cat"}`), headers)); err == nil {
			resp.Body.Close()
		}
	}()
	<-began
	s.stop()
	if err := s.wait(); err != nil {
		t.Error(err)
	}
}

// TestHTTPMetrics: the counts after a known sequence of requests.
func TestHTTPMetrics(t *testing.T) {
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{})
	headers := session(t, s.url+"/mcp")
	call := func(name, arguments string) {
		t.Helper()
		if r := send(t, "POST", s.url+"/mcp", tool(name, arguments), headers...); r.status != http.StatusOK {
			t.Fatalf("%s: %+v", name, r)
		}
	}
	call("search_skills", `{"query":"feed the cat"}`)
	call("search_skills", `{"query":"letters"}`)
	call("suggest_skills", `{"prompt":"feed the cat with dry food at noon"}`)
	call("suggest_skills", `{"prompt":"thanks"}`)
	call("read_skill", `{"id":"cat"}`)
	call("read_skill", `{"id":"dog"}`)
	write(t, s.dir, map[string]string{"post/SKILL.md": doc("post", "Fetches letters and parcels.")})
	call("read_skill", `{"id":"post"}`)
	send(t, "POST", s.url+"/mcp", "{}", "Host", "evil.example")
	send(t, "POST", s.url+"/mcp", "{}", "Origin", "http://evil.example")
	r := send(t, "GET", s.url+"/metrics", "")
	if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%+v", r)
	}
	got := make(map[string]string)
	for line := range strings.Lines(r.body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok {
			got[name+"}"] = value
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			got[name] = value
		}
	}
	for name, want := range map[string]string{
		`repertoire_calls_total{call="search_skills",failed="false"}`:              "2",
		`repertoire_calls_total{call="suggest_skills",failed="false"}`:             "2",
		`repertoire_calls_total{call="read_skill",failed="false"}`:                 "2",
		`repertoire_calls_total{call="read_skill",failed="true"}`:                  "1",
		`repertoire_calls_total{call="initialize",failed="false"}`:                 "1",
		`repertoire_query_duration_seconds_bucket{tool="search_skills",le="+Inf"}`: "2",
		`repertoire_query_duration_seconds_count{tool="search_skills"}`:            "2",
		`repertoire_query_duration_seconds_count{tool="suggest_skills"}`:           "2",
		`repertoire_injected_total`:                                                "1",
		`repertoire_abstained_total`:                                               "1",
		`repertoire_stale_reads_total`:                                             "1",
		`repertoire_http_responses_total{code="200"}`:                              "8",
		`repertoire_http_responses_total{code="202"}`:                              "1",
		`repertoire_http_responses_total{code="403"}`:                              "2",
		`repertoire_http_refused_total{reason="host"}`:                             "1",
		`repertoire_http_refused_total{reason="origin"}`:                           "1",
		`repertoire_skills`:   "2",
		`repertoire_sessions`: "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	checkExposition(t, r.body)
}

// checkExposition checks the form: each metric has a type, told once and
// before its values, and the buckets of a histogram grow.
func checkExposition(t *testing.T, text string) {
	t.Helper()
	types, last := make(map[string]string), 0
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 3 && fields[0] == "#" && fields[1] == "HELP":
		case len(fields) == 4 && fields[0] == "#" && fields[1] == "TYPE":
			if types[fields[2]] != "" {
				t.Errorf("two types of %s", fields[2])
			}
			types[fields[2]] = fields[3]
		default:
			name, _, _ := strings.Cut(fields[0], "{")
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			if types[name] == "" || len(fields) != 2 {
				t.Errorf("a value without a type: %q", line)
			}
			if strings.Contains(line, "_bucket{") {
				var n int
				if _, err := fmt.Sscan(fields[1], &n); err != nil || n < last {
					t.Errorf("after %d: %q, %v", last, line, err)
				}
				if last = n; strings.Contains(line, "+Inf") {
					last = 0
				}
			}
		}
	}
}

// TestNewHTTP: options that could not mean what they say are errors.
func TestNewHTTP(t *testing.T) {
	for _, o := range []mcpserver.HTTPOptions{
		{Hosts: []string{""}}, {Hosts: []string{"*"}}, {Hosts: []string{"*.example"}}, {Hosts: []string{"http://example"}},
		{Origins: []string{""}}, {Origins: []string{"*"}}, {Origins: []string{"example"}}, {Origins: []string{"https://*.example"}},
		{Origins: []string{"null"}}, {Origins: []string{"https://example/path"}}, {Origins: []string{"ftp://example"}},
	} {
		if _, err := mcpserver.NewHTTP(nil, &o); err == nil {
			t.Errorf("hosts %q, origins %q are taken", o.Hosts, o.Origins)
		}
	}
}

// BenchmarkHTTP is a search over a connection that stays open, from the request
// to the end of its answer.
func BenchmarkHTTP(b *testing.B) {
	const params = `{"name":"search_skills","arguments":{"query":"feed the cat"}}`
	s := openSite(b, mcpserver.Options{}, mcpserver.HTTPOptions{Rate: -1})
	b.Run("2025-11-25", func(b *testing.B) {
		headers := session(b, s.url+"/mcp")
		for b.Loop() {
			send(b, "POST", s.url+"/mcp", message("tools/call", params), headers...).result(b)
		}
	})
	b.Run("2026-07-28", func(b *testing.B) {
		for b.Loop() {
			modern(b, s.url+"/mcp", "tools/call", params).result(b)
		}
	})
}
