package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/store"
)

// broken is a catalog that fails with an error.
type broken struct{ err error }

func (b broken) Search(context.Context, search.Query) (search.Answer, error) {
	return search.Answer{}, b.err
}

func (b broken) Block(context.Context, string, contextprovider.Budget, *search.Agent) (contextprovider.Block, error) {
	return contextprovider.Block{}, b.err
}

func (b broken) List(context.Context, *search.Agent, *search.ListOptions) ([]search.Entry, error) {
	return nil, b.err
}

func (b broken) Body(context.Context, string, *search.Agent) (contextprovider.Body, error) {
	return contextprovider.Body{}, b.err
}

func (b broken) File(context.Context, string, string, *search.Agent) (contextprovider.File, error) {
	return contextprovider.File{}, b.err
}

func (b broken) FindText(context.Context, contextprovider.TextQuery, *search.Agent) (contextprovider.Passages, error) {
	return contextprovider.Passages{}, b.err
}

func (b broken) Outline(context.Context, string, *search.Agent) (contextprovider.Manifest, error) {
	return contextprovider.Manifest{}, b.err
}

func (b broken) Manifest(context.Context, string, *search.Agent) (contextprovider.Manifest, error) {
	return contextprovider.Manifest{}, b.err
}

func (b broken) Unread(context.Context) (int, error) { return 0, b.err }

func (b broken) Script(context.Context, string, *search.Agent) (search.Script, error) {
	return search.Script{}, b.err
}

// Lookup implements proposal.Catalog, as do the following.
func (b broken) Lookup(context.Context, string, *search.Agent) (search.Entry, error) {
	return search.Entry{}, b.err
}

// TestErrorsElsewhere: a client over HTTP learns of a failure neither which database or folder is
// behind the server, nor as whom it asks there. It gets an id, under which the log has the cause.
// Who has started the server on this machine is told all.
func TestErrorsElsewhere(t *testing.T) {
	const secret = "10.1.2.3|skills_reader|team_db|/srv/private"
	for _, failure := range []struct {
		err  error
		says string
	}{
		{fmt.Errorf("reading skill x: %w", fmt.Errorf("%w: postgres://skills_reader@10.1.2.3/team_db: dial tcp 10.1.2.3:5432", store.ErrUnreachable)), "the shared catalog cannot be reached (error "},
		{fmt.Errorf("reading skill x: %w", &fs.PathError{Op: "open", Path: "/srv/private/SKILL.md", Err: fs.ErrPermission}), "the server cannot answer this now (error "},
		{errors.New("something about /srv/private"), "the server cannot answer this now (error "},
	} {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		c := broken{failure.err}
		suggest := func(context.Context, Prompt, *search.Agent) (contextprovider.Block, error) {
			return contextprovider.Block{}, failure.err
		}
		runs := &Runs{Tools: func(context.Context, bool) ([]agent.Tool, error) { return nil, failure.err }}
		s := New(c, &Options{
			Suggest: suggest, Logger: log, Runs: runs,
			Introduce: func(context.Context, string, *search.Agent) (string, error) { return "", failure.err },
		})
		h, err := NewHTTP(map[string]*Server{"": s}, &HTTPOptions{Rate: -1, Logger: log, Size: func(context.Context) (int, error) { return 0, failure.err }})
		must.Do(t, err)
		id := regexp.MustCompile(`\(error (\w+): `)
		check := func(what, answer string) {
			t.Helper()
			if found := regexp.MustCompile(secret).FindString(answer); found != "" {
				t.Errorf("%s tells %q: %s", what, found, answer)
			}
			got := id.FindStringSubmatch(answer)
			if !strings.Contains(answer, failure.says) || got == nil {
				t.Errorf("%s answers %s, want %q and an id", what, answer, failure.says)
				return
			}
			line := regexp.MustCompile(".*id=" + got[1] + ".*").FindString(logged.String())
			if !regexp.MustCompile(secret).MatchString(line) {
				t.Errorf("%s: the log has %q", what, line)
			}
		}
		for tool, arguments := range map[string]map[string]any{
			"search_skills": {"query": "x"}, "suggest_skills": {"prompt": "make a thing"}, "read_skill": {"id": "x"},
			"read_skill_resource": {"id": "x", "path": "y"}, "search_skill_files": {"query": "x"}, "list_skills": {},
		} {
			check(tool, call(t, h, tool, arguments).Body.String())
		}
		for method, params := range map[string]string{
			"tools/list": "", "resources/list": "", "skills/list": "", "skills/get": `"uri":"skill://x/SKILL.md",`,
			"resources/read": `"uri":"skill://x/SKILL.md",`, "resources/directory/read": `"uri":"skill://x",`,
		} {
			body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{%q:%q,"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
				method, params, versionMeta, firstStateless)
			check(method, ask(h, "/mcp", body, versionHeader, firstStateless, "Mcp-Method", method, "Mcp-Name", "skill://x/SKILL.md").Body.String())
		}
		check("/v1/suggest", ask(h, "/v1/suggest", []byte(`{"prompt":"make a thing"}`)).Body.String())
		check("/v1/suggest", ask(h, "/v1/suggest", []byte(`{"start":true}`)).Body.String())

		ctx := context.WithValue(t.Context(), requestKey{}, new(request))
		if err := shown(ctx, log, "read_skill", failure.err); err != failure.err {
			t.Errorf("on this machine: %v", err)
		}
	}
}

// TestErrorsOfProposals: who proposes over HTTP is told what is wrong with the proposal, but not in
// which folder it could not be kept.
func TestErrorsOfProposals(t *testing.T) {
	state := filepath.Join(t.TempDir(), "proposals")
	box, err := proposal.Open(state, broken{&search.NotFoundError{ID: "x"}}, nil)
	must.Do(t, err)
	h, err := NewHTTP(map[string]*Server{"": New(broken{}, &Options{Proposals: box, Reviews: true})}, &HTTPOptions{Rate: -1})
	must.Do(t, err)
	propose := func(name, file string) string {
		t.Helper()
		files := []map[string]any{{"path": "SKILL.md", "text": "---\nname: new\ndescription: Does it.\n---\nDo it.\n"}, {"path": file, "text": "x"}}
		return call(t, h, "propose_skill", map[string]any{"name": name, "justification": "because", "files": files}).Body.String()
	}
	long := propose("new", strings.Repeat("a", 300))
	if _, err := os.Lstat(state); err == nil {
		t.Error("something was written")
	}
	nowhere := call(t, h, "show_proposal", map[string]any{"proposal": "nowhere"}).Body.String()
	must.Do(t, os.WriteFile(state, []byte("in the way"), 0o600))
	for _, tt := range []struct{ name, answer, want string }{
		{"a file name that no disk takes", long, "longer than 255 bytes"},
		{"a bad name", propose("New Skill", "x.md"), "is no name for a skill"},
		{"a bad path", propose("new", "../x.md"), "file "},
		{"no such proposal", nowhere, "no such proposal"},
		{"a file in the way", propose("new", "x.md"), "the server cannot answer this now (error "},
	} {
		if !strings.Contains(tt.answer, tt.want) || strings.Contains(tt.answer, state) {
			t.Errorf("%s: %s", tt.name, tt.answer)
		}
	}
}
