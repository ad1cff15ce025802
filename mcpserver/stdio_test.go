package mcpserver_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/google/go-cmp/cmp"
	"github.com/repertoire-skills/repertoire"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/usage"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestAnswersAfterEnd ends the input at once: what was asked is answered.
func TestAnswersAfterEnd(t *testing.T) {
	k := serve(t, few(), "")
	in := hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_skill","arguments":{"id":"pdf-forms"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"skills/list"}` + "\n"
	for range 20 {
		var out bytes.Buffer
		must.Do(t, k.Serve(t.Context(), strings.NewReader(in), &out))
		if n := strings.Count(out.String(), "\n"); n != 3 || strings.Contains(out.String(), `"error"`) {
			t.Fatalf("%d answers: %.500s", n, &out)
		}
	}
}

func TestServeEnds(t *testing.T) {
	k := serve(t, few(), "")
	for name, in := range map[string]string{"not JSON": "hello\n", "cut": `{"jsonrpc":`} {
		if err := k.Serve(t.Context(), strings.NewReader(in), io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	must.Do(t, k.Serve(ctx, cancelling{r, cancel}, io.Discard)) // although the input goes on
}

// A cancelling reader calls cancel when somebody reads from it.
type cancelling struct {
	io.Reader
	cancel func()
}

func (c cancelling) Read(p []byte) (int, error) {
	c.cancel()
	return c.Reader.Read(p)
}

// TestEndCutsListening ends the input while a subscription waits for ever.
func TestEndCutsListening(t *testing.T) {
	c := serve(t, few(), "").connect(t, true)
	c.ask("subscriptions/listen", object{"notifications": object{"resourcesListChanged": true}})
	if m := c.next(); m["method"] == nil {
		t.Errorf("%v", m)
	}
	start := time.Now()
	c.close()
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// TestLibraryClient talks to the server with the client of the protocol library,
// which knows the newest protocol, over its own transport.
func TestLibraryClient(t *testing.T) {
	k := serve(t, few(), "")
	near, far := mcp.NewInMemoryTransports()
	session, err := k.MCP().Connect(t.Context(), far, nil)
	must.Do(t, err)
	defer session.Wait()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	must.Do(t, err)
	defer client.Close()
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_skills", Arguments: object{"query": "fill in a PDF form"}})
	must.Do(t, err)
	contains(t, "text", r.Content[0].(*mcp.TextContent).Text, "pdf-forms")
	n := 0
	for res, err := range client.Resources(t.Context(), nil) {
		must.Do(t, err)
		read, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: res.URI})
		must.Do(t, err)
		contains(t, res.URI, read.Contents[0].Text, "name: "+res.Name)
		n++
	}
	if n != 9 {
		t.Errorf("%d resources", n)
	}
}

func TestObserve(t *testing.T) {
	var events []usage.Event
	k := serve(t, few(), "", func(_ *repertoire.Config, o *mcpserver.Options) {
		o.Observe = func(e usage.Event) { events = append(events, e) }
	})
	c := k.connect(t, true)
	c.tool("suggest_skills", object{"prompt": "please fill in the fields of this PDF form"})
	write(t, k.dir, map[string]string{"pdf-base/SKILL.md": doc("pdf-base", "Is another one.")})
	c.tool("read_skill", object{"id": "pdf-base"})
	c.refused("skills/get", object{"uri": "x"})
	c.must("resources/list", nil)
	c.close()
	for i, want := range []usage.Event{
		{Kind: usage.Offered, Call: "suggest_skills", Skills: usage.Named("pdf-forms"), Prompt: "please fill in the fields of this PDF form", Wording: "certain"},
		{Kind: usage.Loaded, Call: "read_skill", Stale: true, Skills: usage.Named("pdf-base")},
		{Kind: usage.Listed, Call: "skills/get", Failed: true},
		{Call: "resources/list"},
	} {
		got := events[i]
		if got.Duration <= 0 || got.Duration > time.Minute {
			t.Errorf("%s took %v", got.Call, got.Duration)
		}
		if got.Duration = 0; got.Kind == usage.Offered {
			got.Skills = got.Skills[:1]
		}
		want.Client = "mcp"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event (-want +got)\n%s", diff)
		}
	}
}
