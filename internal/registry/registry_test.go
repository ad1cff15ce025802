package registry_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/registry"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/usage"
)

var update = flag.Bool("update", false, "write the answers into testdata")

// files are the skills of the tests. The last ones cannot be installed.
func files() map[string]string {
	return map[string]string{
		"tide-tables/SKILL.md": "---\nname: tide-tables\ndescription: Reads tide tables and says when a harbour can be entered. Use when somebody asks for high or low water.\n" +
			"license: MIT\nmetadata: {version: \"2.1\", author: Harbour office, examples: [\"When is high water?\", \"Can we enter at noon?\"]}\ntags: [sails, sea]\n---\n# Tides\nRead the table.\n",
		"tide-tables/tables/north.csv": "0,1\n",
		"knots/SKILL.md":               "---\nname: knots\ndescription: Ties knots for sails and ropes. Use when a rope has to hold at sea.\ntags: [sails]\n---\nTie it.\n",
		"soup/SKILL.md":                "---\nname: soup\ndescription: Cooks fish soup in the harbour kitchen. Use when dinner is to be cooked.\nlicense: MIT\ntags: [kitchen]\n---\nCook it.\n",
		"Odd Name/SKILL.md":            "---\nname: Odd Name\ndescription: Reads tide tables for a name that no client takes.\n---\nx\n",
		"hidden-tide/SKILL.md":         "---\nname: hidden-tide\ndescription: Reads tide tables of the harbour by stealth, for high and low water.\n---\nRead\u200b it\u2060.\n",
	}
}

// A kit is a registry over a real catalog, at a server that takes the agent from a header.
type kit struct {
	*repertoire.Catalog
	dir    string
	http   *httptest.Server
	events []usage.Event
	held   atomic.Int64 // bytes of answers
	mu     sync.Mutex
}

const base = "https://skills.example.com"

func serve(t testing.TB, files map[string]string) *kit {
	t.Helper()
	k := &kit{dir: t.TempDir()}
	must.Files(t, k.dir, files)
	src, err := source.Dir(k.dir, &source.Options{Label: "team"})
	must.Do(t, err)
	k.Catalog, err = repertoire.Open(t.Context(), repertoire.Config{
		Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: embed.None{}, Schedule: repertoire.Never,
		Agents: []*repertoire.Agent{
			{Name: "sailor", Include: repertoire.Rules{Tags: []string{"sails"}}},
			{Name: "cook", Include: repertoire.Rules{Tags: []string{"kitchen"}}},
		},
	})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, k.Close()) })
	k.rescan(t)
	mux := registry.New(k.Catalog, slog.New(slog.DiscardHandler)).Mux(k.visit)
	k.http = httptest.NewServer(mux)
	t.Cleanup(k.http.Close)
	return k
}

// visit lets a request in.
func (k *kit) visit(w http.ResponseWriter, r *http.Request) *registry.Visit {
	agent, err := k.Agent(r.Header.Get("Agent"))
	if err != nil {
		registry.Fail(w, http.StatusUnauthorized, "nobody is let in")
		return nil
	}
	return &registry.Visit{
		Agent: agent, Base: base, Observe: func(e usage.Event) { k.mu.Lock(); defer k.mu.Unlock(); k.events = append(k.events, e) },
		Take: func() ([]byte, func(), bool) {
			body, err := io.ReadAll(r.Body)
			return body, func() {}, err == nil
		},
		Turn: func() (func(), error) { return func() {}, nil },
		Hold: func(n int) func() { k.held.Add(int64(n)); return func() { k.held.Add(-int64(n)) } },
	}
}

func (k *kit) rescan(t testing.TB) {
	t.Helper()
	_, err := k.Owner().Rescan(context.WithoutCancel(t.Context()), nil)
	must.Do(t, err)
}

// ask sends a request and returns the answer with its body.
func (k *kit) ask(t testing.TB, agent, method, path, body string, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, k.http.URL+path, strings.NewReader(body))
	must.Do(t, err)
	req.Header.Set("Agent", agent)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must.Do(t, err)
	return resp, data
}

// get returns the value of an answer that must be well.
func get[T any](t testing.TB, k *kit, agent, method, path, body string) (v T) {
	t.Helper()
	resp, data := k.ask(t, agent, method, path, body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d, %s", method, path, resp.StatusCode, data)
	}
	must.Do(t, json.Unmarshal(data, &v))
	return v
}

// TestAnswers compares what is asked with golden answers.
func TestAnswers(t *testing.T) {
	k := serve(t, files())
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatal(names, err)
	}
	agents := regexp.MustCompile(`(?m)^agent: (\w+)$`)
	unsteady := regexp.MustCompile(`("score": )\d+|("digest": "sha256:)[0-9a-f]+`)
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		must.Do(t, err)
		agent := ""
		if m := agents.FindSubmatch(a.Comment); m != nil {
			agent = string(m[1])
		}
		line, body, _ := strings.Cut(string(a.Files[0].Data), "\n")
		method, path, _ := strings.Cut(line, " ")
		resp, data := k.ask(t, agent, method, path, body)
		var text bytes.Buffer
		fmt.Fprintf(&text, "%d %s\n", resp.StatusCode, resp.Header.Get("Content-Type"))
		must.Do(t, json.Indent(&text, bytes.TrimSpace(data), "", "  "))
		got := unsteady.ReplaceAllString(text.String(), "$1$2…") + "\n"
		if *update {
			a.Files = []txtar.File{a.Files[0], {Name: "answer", Data: []byte(got)}}
			must.Do(t, os.WriteFile(name, txtar.Format(a), 0o644))
			continue
		}
		if diff := cmp.Diff(string(a.Files[1].Data), got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestPages: the pages of an answer are cut from one order, have no hole and no end too soon, and
// what a client reads of them is well formed.
func TestPages(t *testing.T) {
	all := files()
	for i := range 30 {
		all[fmt.Sprintf("boat-%02d/SKILL.md", i)] = fmt.Sprintf("---\nname: boat-%02d\ndescription: Sails boat number %d across the bay. Use when a boat has to be sailed.\ntags: [sails]\n---\nSail it, number %d.\n", i, i, i)
	}
	k := serve(t, all)
	read := func(agent string, size int) (names []string) {
		token := ""
		for page := 0; page == 0 || token != ""; page++ {
			resp, data := k.ask(t, agent, "POST", "/search", fmt.Sprintf(`{"query": {"text": "sail a boat across the bay"}, "pageSize": %d, "pageToken": %q}`, size, token))
			r, left, err := ard.ParseSearchResponse(data)
			if err != nil || len(left) > 0 || len(r.Results) > size || resp.StatusCode != http.StatusOK {
				t.Fatal(string(data), left, err)
			}
			for i, x := range r.Results {
				if x.Check() != nil || x.Source != base || i > 0 && x.Score > r.Results[i-1].Score {
					t.Errorf("%d is %+v", i, x)
				}
				names = append(names, x.DisplayName)
			}
			token = r.PageToken
		}
		return names
	}
	whole := read("", 100)
	if len(whole) < 20 {
		t.Fatalf("%d boats are found", len(whole))
	}
	if diff := cmp.Diff(whole, read("", 7)); diff != "" {
		t.Errorf("pages of 7 differ from one of 100 (-want +got)\n%s", diff)
	}
	if found := read("cook", 1); len(found) > 0 {
		t.Errorf("the cook finds %q", found)
	}
	token := ""
	var listed []string
	for page := 0; page == 0 || token != ""; page++ {
		r := get[ard.ListResponse](t, k, "sailor", "GET", "/agents?pageSize=9&pageToken="+token, "")
		for _, e := range r.Items {
			must.Do(t, e.Check())
			listed = append(listed, e.DisplayName)
		}
		if token = r.PageToken; r.Total != 32 {
			t.Errorf("there are %d", r.Total)
		}
	}
	if len(listed) != 32 || !slices.IsSorted(listed) || slices.Contains(listed, "soup") {
		t.Errorf("listed are %q", listed)
	}
}

// TestArchive: an archive has the files of the skill, byte for byte, and the digests that the entry
// tells. When the skill changes, its old archive is gone and the new one is told.
func TestArchive(t *testing.T) {
	k := serve(t, files())
	const at = "/agents/urn%3Aair%3Askills.example.com%3Askill%3Atide-tables"
	e := get[ard.Entry](t, k, "sailor", "GET", at, "")
	path := strings.TrimPrefix(e.URL, base)
	resp, data := k.ask(t, "sailor", "GET", path, "")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/zip" || e.Meta(ard.Digest) != fmt.Sprintf("sha256:%x", sha256.Sum256(data)) {
		t.Fatalf("%d, %d bytes for %+v", resp.StatusCode, len(data), e)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must.Do(t, err)
	got := make(map[string]string)
	for _, f := range z.File {
		r, err := f.Open()
		must.Do(t, err)
		text, err := io.ReadAll(r)
		must.Do(t, err)
		got["tide-tables/"+f.Name] = string(text)
	}
	want := map[string]string{"tide-tables/SKILL.md": files()["tide-tables/SKILL.md"], "tide-tables/tables/north.csv": "0,1\n"}
	if diff := cmp.Diff(want, got); diff != "" || z.File[0].Name != "SKILL.md" {
		t.Errorf("the archive differs (-want +got)\n%s", diff)
	}
	lookup, err := k.Lookup(t.Context(), "tide-tables", nil)
	must.Do(t, err)
	if e.Meta(ard.SkillDigest) != lookup.Digest {
		t.Errorf("the entry tells %s, the catalog has %s", e.Meta(ard.SkillDigest), lookup.Digest)
	}
	if resp, _ := k.ask(t, "cook", "GET", path, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("another agent gets %d", resp.StatusCode)
	}

	// A conditional request costs nothing, until the skill changes.
	tag := resp.Header.Get("ETag")
	if resp, _ := k.ask(t, "sailor", "GET", path, "", "If-None-Match", tag); resp.StatusCode != http.StatusNotModified {
		t.Errorf("with the tag: %d", resp.StatusCode)
	}
	must.Write(t, filepath.Join(k.dir, "tide-tables", "tables", "north.csv"), "0,2\n")
	if resp, body := k.ask(t, "sailor", "GET", path, "", "If-None-Match", tag); resp.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "has changed") {
		t.Errorf("after a change: %d, %s", resp.StatusCode, body)
	}
	k.rescan(t)
	again := get[ard.Entry](t, k, "sailor", "GET", at, "")
	if _, data := k.ask(t, "sailor", "GET", strings.TrimPrefix(again.URL, base), ""); again.URL == e.URL || again.Meta(ard.Digest) != fmt.Sprintf("sha256:%x", sha256.Sum256(data)) {
		t.Errorf("the entry is %+v", again)
	}
}

// TestEvents: what was found and taken is told, by whom and without prompts of others.
func TestEvents(t *testing.T) {
	k := serve(t, files())
	for _, ask := range []string{"GET /api/search?q=cook+a+soup", "GET /skill/soup/.well-known/agent-skills/index.json", "GET /skill/knots/x.zip", "GET /agents"} {
		method, path, _ := strings.Cut(ask, " ")
		k.ask(t, "cook", method, path, "")
	}
	var got []string
	for _, e := range k.events {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Call, " ", e.Skills, " ", e.Prompt, " ", e.Failed))
	}
	want := []string{"searched /api/search [{soup }] cook a soup false", "listed /skill/ []  false", "listed /skill/ []  true", "listed /agents []  false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told is (-want +got)\n%s", diff)
	}
}

// FuzzSearch: whatever is asked, the answer is JSON of the specification, and tells nothing of skills
// outside of the scope.
func FuzzSearch(f *testing.F) {
	f.Add("/search", `{"query": {"text": "tide", "filter": {"tags": ["sails"]}}}`)
	f.Add("/search", `{"query": {"text": "tide"}, "pageToken": "AAAAAAAAAAAAAAAA"}`)
	f.Add("/explore", `{"query": {"text": "tide"}, "resultType": {"facets": [{"field": "metadata.source"}]}}`)
	f.Add("/agents/urn%3Aair%3Askills.example.com%3Askill%3Atide-tables", "")
	f.Add("/agents?filter=displayName='tide-tables'", "")
	f.Add("/skill/tide-tables/x.zip", "")
	k := serve(f, files())
	handler := k.http.Config.Handler
	f.Fuzz(func(t *testing.T, path, body string) {
		method := "GET"
		if body != "" {
			method = "POST"
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", strings.NewReader(body))
		must.Do(t, err)
		if req.URL, err = req.URL.Parse(path); err != nil || req.URL.Host != "127.0.0.1" {
			return
		}
		req.Header.Set("Agent", "cook")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		out := w.Body.String()
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s gets %s", method, path, out)
		}
		if strings.Contains(out, "Ties knots") || strings.Contains(out, "Harbour office") {
			t.Errorf("%s %s %s tells of another scope: %s", method, path, body, out)
		}
	})
}

// TestReserved: that only the user starts a skill is told wherever clients learn of the skill.
func TestReserved(t *testing.T) {
	k := serve(t, map[string]string{"lamp/SKILL.md": "---\nname: lamp\ndescription: Lights the harbour lamps. Use when lighting lamps.\ndisable-model-invocation: true\n---\nx\n"})
	for _, q := range [][3]string{{http.MethodGet, "/.well-known/ard.json", ""}, {http.MethodPost, "/search", `{"query": {"text": "light the lamps"}}`}, {http.MethodGet, "/agents", ""}} {
		resp, data := k.ask(t, "", q[0], q[1], q[2])
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(data), `"`+ard.InvokedBy+`":"user"`) {
			t.Errorf("%s says %d %s", q[1], resp.StatusCode, data)
		}
	}
}

// counted counts the files that a catalog reads.
type counted struct {
	*repertoire.Catalog
	files atomic.Int64
}

func (c *counted) File(ctx context.Context, id, name string, a *repertoire.Agent) (contextprovider.File, error) {
	c.files.Add(1)
	return c.Catalog.File(ctx, id, name, a)
}

// TestArchiveOnce: an archive is packed once for all who ask, and not at all for whoever has it or asks for
// another digest. What is sent counts until it is.
func TestArchiveOnce(t *testing.T) {
	k := serve(t, files())
	c := &counted{Catalog: k.Catalog}
	mux := registry.New(c, slog.New(slog.DiscardHandler)).Mux(k.visit)
	ask := func(path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	e, err := k.Lookup(t.Context(), "tide-tables", nil)
	must.Do(t, err)
	path := "/skill/tide-tables/" + strings.TrimPrefix(e.Digest, "sha256:") + ".zip"
	if w := ask("/skill/tide-tables/" + strings.Repeat("0", 64) + ".zip"); w.Code != http.StatusNotFound || c.files.Load() != 0 {
		t.Errorf("another digest: status %d, %d files are packed", w.Code, c.files.Load())
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if w := ask(path); w.Code != http.StatusOK || w.Body.Len() == 0 {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	all.Wait()
	tag := ask(path).Header().Get("ETag")
	if w := ask(path, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("with the tag: status %d", w.Code)
	}
	if n := c.files.Load(); n != 2 {
		t.Errorf("%d files are packed, want those of one archive: 2", n)
	}
	if n := k.held.Load(); n != 0 {
		t.Errorf("%d bytes count after all answers", n)
	}
}
