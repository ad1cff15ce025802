package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/turns"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestHTTPClients: a prompt comes with the address of its client, which no header of the
// client can change, in both eras and from hooks, and the work for it is in the turns of that client.
func TestHTTPClients(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only 127.0.0.1 is an address of this machine here")
	}
	t.Parallel()
	var mu sync.Mutex
	var clients []string
	o := mcpserver.Options{Suggest: func(ctx context.Context, p mcpserver.Prompt, _ *repertoire.Agent) (repertoire.Block, error) {
		mu.Lock()
		defer mu.Unlock()
		clients = append(clients, p.Client)
		want(t, "whose turns", []string{turns.Client(ctx)}, p.Client)
		return repertoire.Block{}, nil
	}}
	site := openSite(t, o, mcpserver.HTTPOptions{}).url
	url := site + "/mcp"
	const args = `{"prompt":"feed the cat","session":"s"}`
	forged := []string{"Repertoire-Client", "127.0.0.9/32", "repertoire-client", "127.0.0.8/32", "X-Forwarded-For", "127.0.0.7"}
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		headers := append(slices.Clone(forged), localAddress, from)
		modern(t, url, "tools/call", fmt.Sprintf(`{"name":"suggest_skills","arguments":%s}`, args), headers...).result(t)
		send(t, "POST", url, tool("suggest_skills", args), session(t, url, headers...)...).result(t)
		want(t, "status", []string{fmt.Sprint(send(t, "POST", site+"/v1/suggest", args, headers...).status)}, "200")
	}
	want(t, "clients", clients, "127.0.0.1/32", "127.0.0.1/32", "127.0.0.1/32", "127.0.0.2/32", "127.0.0.2/32", "127.0.0.2/32")
}

// TestHTTPOrder: what a client over HTTP uses changes no list of another client, and ends
// none that is read page by page.
func TestHTTPOrder(t *testing.T) {
	t.Parallel()
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Rate: -1})
	files := make(map[string]string)
	for i := range 60 {
		name := fmt.Sprintf("sort-%02d", i)
		files[name+"/SKILL.md"] = doc(name, "Sorts one of many.")
	}
	write(t, s.dir, files)
	s.rescan(t)
	url := s.url + "/mcp"
	first := modern(t, url, "skills/list", "{}").result(t)
	for i := range 15 {
		arguments := fmt.Sprintf(`{"id":"sort-%02d","path":"SKILL.md","prompt":"sort-%02d"}`, i, i)
		for _, name := range []string{"read_skill", "read_skill_resource", "suggest_skills"} {
			modern(t, url, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)).result(t)
		}
		modern(t, url, "resources/read", fmt.Sprintf(`{"uri":"skill://sort-%02d/SKILL.md"}`, i), "Mcp-Name", fmt.Sprintf("skill://sort-%02d/SKILL.md", i)).result(t)
		modern(t, url, "skills/list", "{}").result(t)
	}
	again := modern(t, url, "skills/list", "{}").result(t)
	want(t, "list", field(again["skills"], "uri"), field(first["skills"], "uri")...)
	next := modern(t, url, "skills/list", fmt.Sprintf(`{"cursor":%q}`, first["nextCursor"]))
	if next.status != http.StatusOK || len(field(next.result(t)["skills"], "uri")) != 12 || strings.Contains(next.body, "error") {
		t.Errorf("the next page: %+v", next)
	}
}

// TestHTTPStreams: a client has a bounded number of streams, which cost another client no
// answer.
func TestHTTPStreams(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only 127.0.0.1 is an address of this machine here")
	}
	t.Parallel()
	url := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{ClientRequests: 5, Rate: -1}).url + "/mcp"
	listen := func() *http.Response {
		return start(t, "POST", url, message("subscriptions/listen",
			`{"notifications":{"resourcesListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`),
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	}
	var last *http.Response
	for i := range 5 {
		if last = listen(); last.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %d", i, last.StatusCode)
		}
		defer last.Body.Close()
	}
	for range 20 {
		r := listen()
		if r.Body.Close(); r.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("a stream too many: %d", r.StatusCode)
		}
	}
	modern(t, url, "tools/list", "{}", localAddress, "127.0.0.2").result(t)
	last.Body.Close()
	for end := time.Now().Add(patience); modern(t, url, "tools/list", "{}").status != http.StatusOK; {
		if time.Now().After(end) {
			t.Fatal("a stream that has ended counts for ever")
		}
	}
}
