package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/source"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// write writes files below a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	must.Files(t, dir, files)
}

// doc is a SKILL.md; fields are further lines of its frontmatter.
func doc(name, description string, fields ...string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n%s---\n# How\nDo it.\n", name, description, strings.Join(append(fields, ""), "\n"))
}

// few is a small catalog.
func few() map[string]string {
	files := map[string]string{
		"pdf-forms/SKILL.md": doc("pdf-forms", "Fills in the fields of PDF forms. Use when a form is to be filled in.",
			"license: MIT", "tags: [pdf, office]", "requires: [pdf-base, nowhere]"),
		"pdf-forms/references/fields.md": "one\ntwo\nthree\nfour\n",
		"pdf-forms/references/deep/x.md": "x\n",
		"pdf-forms/scripts/fill.py":      "print('fill')\n",
		"pdf-forms/logo.png":             "\x89PNG\r\n\x1a\n\x00\x01\x02",
		"pdf-forms/empty.txt":            "",
		"pdf-forms/odd name#1.md":        "odd\r\n",
		"pdf-base/SKILL.md":              doc("pdf-base", "Reads PDF files and tells what is in them."),
		"secret-plan/SKILL.md":           doc("secret-plan", "Plans the surprise party. Use when it is planned.", "tags: [private]"),
		"secret-plan/guests.md":          "everybody\n",
	}
	for _, noun := range []string{"invoices", "recipes", "slides", "letters", "charts", "songs"} {
		files["sort-"+noun+"/SKILL.md"] = doc("sort-"+noun, "Sorts "+noun+" by date and by sender.")
	}
	return files
}

// agents are the agents of the tests.
func agents() []*repertoire.Agent {
	return []*repertoire.Agent{
		{Name: "clerk", Include: repertoire.Rules{Names: []string{"pdf-*", "sort-*"}}, Pinned: []string{"sort-songs"}},
		{Name: "cleric", Exclude: repertoire.Rules{Tags: []string{"private"}}},
	}
}

// A kit is a server over a real catalog.
type kit struct {
	*mcpserver.Server
	catalog *repertoire.Catalog
	dir     string
}

// serve makes a server of files. The agent of that name is its scope.
func serve(t testing.TB, files map[string]string, agent string, complete ...func(*repertoire.Config, *mcpserver.Options)) *kit {
	t.Helper()
	k := &kit{dir: t.TempDir()}
	write(t, k.dir, files)
	src, err := source.Dir(k.dir, &source.Options{Label: "team", Priority: 1})
	must.Do(t, err)
	cfg := repertoire.Config{
		Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: embed.None{},
		Agents: agents(), Schedule: repertoire.Never,
	}
	o := &mcpserver.Options{Version: "1.2.3", Agents: cfg.Agents}
	for _, f := range complete {
		f(&cfg, o)
	}
	k.catalog, err = repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, k.catalog.Close()) })
	if cfg.Schedule == repertoire.Never {
		k.rescan(t)
	}
	o.Sources = k.catalog.Labels
	o.Agent, err = k.catalog.Agent(agent)
	must.Do(t, err)
	k.Server = mcpserver.New(k.catalog, o)
	return k
}

func (k *kit) rescan(t testing.TB) {
	t.Helper()
	_, err := k.catalog.Owner().Rescan(context.WithoutCancel(t.Context()), nil)
	must.Do(t, err)
}

// patience is how long a test waits for what must come, on a very busy machine
// too.
const patience = time.Minute

type object = map[string]any

// A client talks to a server as a program that knows JSON only.
type client struct {
	t      testing.TB
	w      io.WriteCloser
	in     chan object // answers and notifications
	modern bool        // 2026-07-28
	id     int
	notes  []object // notifications that came before an answer
	done   chan error
}

// connect starts a conversation of one era, over pipes.
func (k *kit) connect(t testing.TB, modern bool) *client {
	t.Helper()
	fromClient, w := io.Pipe()
	r, toClient := io.Pipe()
	c := &client{t: t, w: w, in: make(chan object), modern: modern, done: make(chan error, 1)}
	go func() {
		c.done <- k.Serve(context.WithoutCancel(t.Context()), fromClient, toClient)
		toClient.Close()
	}()
	c.listen(r)
	t.Cleanup(func() { c.close() })
	if !modern {
		c.must("initialize", object{"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "test", "version": "1"}})
		c.send(object{"method": "notifications/initialized"})
	}
	return c
}

// listen reads what the server writes.
func (c *client) listen(r io.Reader) {
	go func() {
		defer close(c.in)
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m object
			if err := json.Unmarshal(line, &m); err != nil {
				m = object{"malformed": string(line)}
			}
			c.in <- m
		}
	}()
}

// close ends the input of the server and waits for it.
func (c *client) close() {
	c.w.Close()
	for range c.in { // what it still has to say
	}
	select {
	case err := <-c.done:
		if err != nil {
			c.t.Errorf("server: %v", err)
		}
		c.done <- nil // for the next call
	case <-time.After(patience):
		c.t.Error("the server does not end")
	}
}

func (c *client) send(m object) {
	c.t.Helper()
	m["jsonrpc"] = "2.0"
	data, err := json.Marshal(m)
	must.Do(c.t, err)
	_, err = c.w.Write(append(data, '\n'))
	must.Do(c.t, err)
}

// ask sends a request and returns its number.
func (c *client) ask(method string, params object) int {
	c.t.Helper()
	c.id++
	if c.modern {
		with := object{"_meta": object{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         object{"name": "test", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": object{},
		}}
		for k, v := range params {
			with[k] = v
		}
		params = with
	}
	m := object{"id": c.id, "method": method}
	if params != nil {
		m["params"] = params
	}
	c.send(m)
	return c.id
}

// next returns the next message of the server.
func (c *client) next() object {
	c.t.Helper()
	select {
	case m, ok := <-c.in:
		if !ok {
			c.t.Fatal("the server is gone")
		}
		return m
	case <-time.After(patience):
		c.t.Fatal("the server says nothing")
	}
	return nil
}

// call returns the result of a request, or its error.
func (c *client) call(method string, params object) (result, err object) {
	c.t.Helper()
	id := c.ask(method, params)
	for {
		m := c.next()
		if n, ok := m["id"].(float64); !ok || int(n) != id {
			c.notes = append(c.notes, m)
			continue
		}
		result, _ = m["result"].(object)
		err, _ = m["error"].(object)
		if (result == nil) == (err == nil) {
			c.t.Fatalf("%s: %v", method, m)
		}
		return result, err
	}
}

// must is call for a request that is right.
func (c *client) must(method string, params object) object {
	c.t.Helper()
	result, err := c.call(method, params)
	if err != nil {
		c.t.Fatalf("%s %v: %v", method, params, err)
	}
	return result
}

// refused is call for a request that is wrong. It returns the message.
func (c *client) refused(method string, params object) string {
	c.t.Helper()
	result, err := c.call(method, params)
	if err == nil {
		c.t.Fatalf("%s %v: %v", method, params, result)
	}
	if code := err["code"].(float64); code != -32602 {
		c.t.Errorf("%s %v: code %v, want -32602: %v", method, params, code, err["message"])
	}
	return err["message"].(string)
}

// tool calls a tool and returns the text and the structured result; nil means that there is none.
func (c *client) tool(name string, args object) (string, object) {
	c.t.Helper()
	r := c.must("tools/call", object{"name": name, "arguments": args})
	text := textOf(r)
	if r["isError"] == true {
		c.t.Fatalf("%s %v: %s", name, args, text)
	}
	structured, _ := r["structuredContent"].(object)
	return text, structured
}

// fails calls a tool that must fail, and returns what it says.
func (c *client) fails(name string, args object) string {
	c.t.Helper()
	r := c.must("tools/call", object{"name": name, "arguments": args})
	if r["isError"] != true {
		c.t.Fatalf("%s %v: %v", name, args, r)
	}
	return textOf(r)
}

func textOf(result object) string {
	return result["content"].([]any)[0].(object)["text"].(string)
}

// field returns what the objects of a list have under a key.
func field(list any, key string) []string {
	var out []string
	for _, v := range list.([]any) {
		out = append(out, v.(object)[key].(string))
	}
	return out
}

func contains(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s does not have %q: %s", what, p, text)
		}
	}
}

func want(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// eras runs a test with both versions of the protocol.
func eras(t *testing.T, f func(t *testing.T, modern bool)) {
	for _, modern := range []bool{false, true} {
		name := "2025-11-25"
		if modern {
			name = "2026-07-28"
		}
		t.Run(name, func(t *testing.T) { f(t, modern) })
	}
}

var errBroken = errors.New("broken")

// renaming is a source of a folder that renames skills.
func renaming(t testing.TB, dir string, names map[string]string) *source.FS {
	t.Helper()
	s, err := source.Dir(dir, &source.Options{Label: "renamed", Names: names})
	must.Do(t, err)
	return s
}
