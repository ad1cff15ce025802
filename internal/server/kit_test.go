package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// fixture returns the options of a server of two skills and the agents keeper, who sees one of
// them, and other. Everything is in a folder of its own, which becomes the working folder.
func fixture(t *testing.T) Options {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "REPERTOIRE_CACHE": filepath.Join(home, "cache"), "REPERTOIRE_DATA": filepath.Join(home, "data"),
		"REPERTOIRE_STATE": filepath.Join(home, "state"), "REPERTOIRE_CONFIG": filepath.Join(home, "config.yaml"), "REPERTOIRE_TOKEN": "", "REPERTOIRE_DB": "",
	} {
		t.Setenv(name, value)
	}
	t.Chdir(home)
	must.Write(t, "config.yaml", "bundled: false\nagents: {keeper: {include: {names: [cat]}}, other: {}}\n")
	must.Write(t, ".agents/skills/cat/SKILL.md", "---\nname: cat\ndescription: Feeds the cat.\n---\nFeed it.\n")
	must.Write(t, ".agents/skills/post/SKILL.md", "---\nname: post\ndescription: Fetches the letters.\n---\nFetch them.\n")
	state, err := config.StateDir()
	must.Do(t, err)
	cfg, err := repertoire.ReadConfig("", nil)
	must.Do(t, err)
	settings, err := config.Read("", nil)
	must.Do(t, err)
	return Options{Config: cfg, Settings: settings, State: state, Version: "test"}
}

// A site is a running server over HTTP.
type site struct {
	url   string // without a path
	token string // that requests bear; "" means none
	stop  context.CancelFunc
	ended chan error
	log   must.Log
}

// start starts a server, and waits until its catalog can be asked.
func start(t *testing.T, o Options, h HTTPOptions) *site {
	t.Helper()
	s := &site{ended: make(chan error, 1)}
	h.Addr = "127.0.0.1:0"
	at := make(chan string, 1)
	o.Note = func(format string, args ...any) { at <- fmt.Sprintf(format, args...) }
	o.Logger = slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	go func() { s.ended <- HTTP(ctx, o, h) }()
	t.Cleanup(func() { s.end(t) })
	select {
	case err := <-s.ended:
		t.Fatalf("it ends at once: %v", err)
	case text := <-at:
		s.url = strings.TrimSuffix(strings.TrimPrefix(text, "serving at "), "/mcp")
	}
	for end := time.Now().Add(time.Minute); ; {
		if status, _ := s.get(t, "/healthz"); status == http.StatusOK {
			return s
		}
		if time.Now().After(end) {
			t.Fatal("it does not get well")
		}
	}
}

// refusal is a line of the log about a request that was refused.
var refusal = regexp.MustCompile(`time=\S+ level=WARN msg="(a request was|more such requests were) refused" (.*)\n`)

// end ends the server in good order, once. Of refusals the log may tell.
func (s *site) end(t *testing.T) {
	t.Helper()
	s.stop()
	select {
	case err := <-s.ended:
		s.ended <- err
		if log := refusal.ReplaceAllString(s.log.String(), ""); err != nil || log != "" {
			t.Errorf("it ends with %v and the log %q", err, log)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

// send returns the status and the body of the answer to a request.
func (s *site) send(t *testing.T, method, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.url+path, strings.NewReader(body))
	must.Do(t, err)
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must.Do(t, err)
	return resp.StatusCode, string(data)
}

func (s *site) get(t *testing.T, path string, header ...string) (int, string) {
	t.Helper()
	return s.send(t, "GET", path, "", header...)
}

// suggest asks as hooks do.
func (s *site) suggest(t *testing.T, prompt string) (int, string) {
	t.Helper()
	return s.send(t, "POST", "/v1/suggest", `{"prompt":"`+prompt+`","session":"s"}`)
}

// call calls a method at the path of a scope, perhaps with a tool, and returns the answer.
func (s *site) call(t *testing.T, scope, method, tool, arguments string) string {
	t.Helper()
	return s.callAs(t, "test", scope, method, tool, arguments)
}

// callAs is call by a client that calls itself by a name.
func (s *site) callAs(t *testing.T, name, scope, method, tool, arguments string) string {
	t.Helper()
	params := ""
	if tool != "" {
		params = `"name":"` + tool + `","arguments":` + arguments + `,`
	}
	status, data := s.send(t, "POST", "/mcp"+scope, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"`+name+`","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", tool)
	if status != http.StatusOK {
		t.Fatalf("%s %s at %q: %d, %s", method, tool, scope, status, data)
	}
	return data
}

// addToken makes a token of this machine and returns its secret.
func addToken(t *testing.T, state, name, agent string) string {
	t.Helper()
	token, secret, err := access.NewToken(name, agent, time.Now(), time.Time{})
	must.Do(t, err)
	must.Do(t, access.Open(state).AddToken(t.Context(), token))
	return secret
}
