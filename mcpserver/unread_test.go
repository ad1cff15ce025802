package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
)

// half makes the catalog of a server hold a new source beside the one that was read before.
func half(t testing.TB, held **sourcetest.Held) func(*repertoire.Config, *mcpserver.Options) {
	return func(cfg *repertoire.Config, _ *mcpserver.Options) {
		added, err := source.Files(map[string]string{"bake-pies/SKILL.md": doc("bake-pies", "Bakes pies. Use when a pie is to be baked.")}, &source.Options{Label: "new"})
		must.Do(t, err)
		*held = catalogtest.Half(t, cfg, added)
	}
}

const partText = "o far this is part of the catalog: 1 folder has not been read yet"

// TestUnread: as long as a new folder has not been read, every answer says so, and who asks for
// one of its skills waits for it.
func TestUnread(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, modern bool) {
		t.Parallel() // it waits two seconds for a skill that is nowhere
		var held *sourcetest.Held
		k := serve(t, few(), "", half(t, &held))
		t.Cleanup(held.Release)
		c := k.connect(t, modern)
		for name, args := range map[string]object{
			"search_skills": {"query": "merge pdf files"}, "list_skills": {"query": "pdf"}, "suggest_skills": {"prompt": "merge pdf files"},
		} {
			text, r := c.tool(name, args)
			contains(t, name, text, partText)
			if name != "suggest_skills" && (r["partial"] != true || r["unread"] != float64(1)) {
				t.Errorf("%s: partial %v, unread %v", name, r["partial"], r["unread"])
			}
		}
		text, _ := c.tool("search_skills", object{"query": "zibbel snarks"})
		contains(t, "nothing", text, partText)
		text, r := c.tool("list_skills", nil)
		if r["unread"] != float64(1) || !strings.HasSuffix(text, "A later call may find more.\n") {
			t.Errorf("unread %v:\n%s", r["unread"], text)
		}
		contains(t, "an unknown source", c.fails("list_skills", object{"source": "new"}), partText)
		for _, method := range []string{"resources/list", "skills/list"} {
			if meta, _ := c.must(method, object{})["_meta"].(object); meta["repertoire/unread"] != float64(1) {
				t.Errorf("%s: _meta %v", method, meta)
			}
		}
		contains(t, "not found", c.fails("read_skill", object{"id": "no-such-skill"}), partText, "try again in a moment")

		id := c.ask("tools/call", object{"name": "read_skill", "arguments": object{"id": "bake-pies"}})
		held.Release()
		for answer := c.next(); ; answer = c.next() {
			if answer["id"] == float64(id) {
				if text, _ := json.Marshal(answer); !bytes.Contains(text, []byte("Body of bake-pies")) && !bytes.Contains(text, []byte("Bakes pies")) {
					t.Errorf("%s", text)
				}
				break
			}
		}
		text, r = c.tool("list_skills", nil)
		contains(t, "all is read", text, "bake-pies")
		if r["partial"] != nil || strings.Contains(text, "So far") {
			t.Errorf("partial %v:\n%s", r["partial"], text)
		}
		if meta, ok := c.must("resources/list", object{})["_meta"].(object); ok && meta["repertoire/unread"] != nil {
			t.Errorf("_meta %v", meta)
		}
	})
}

// TestUnreadTransports: an answer says so over stdio and over HTTP.
func TestUnreadTransports(t *testing.T) {
	var held *sourcetest.Held
	k := serve(t, few(), "", half(t, &held))
	t.Cleanup(held.Release)
	in := hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_skills","arguments":{}}}` + "\n"
	var out bytes.Buffer
	must.Do(t, k.Serve(t.Context(), strings.NewReader(in), &out))
	contains(t, "stdio", out.String(), partText, `"unread":1`)

	h, err := mcpserver.NewHTTP(map[string]*mcpserver.Server{"": k.Server}, &mcpserver.HTTPOptions{Size: func(ctx context.Context) (int, error) { return k.catalog.Count(ctx, nil) }})
	must.Do(t, err)
	l, err := mcpserver.Listen(t.Context(), "127.0.0.1:0", false)
	must.Do(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, l) }()
	url := "http://" + l.Addr().String() + "/mcp"
	r := send(t, "POST", url, tool("list_skills", "{}"), session(t, url)...)
	contains(t, "HTTP", string(r.body), partText, `"unread":1`)
	stop()
	must.Do(t, <-ended)
}
