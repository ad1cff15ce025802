package ard_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/must"
)

var update = flag.Bool("update", false, "write the wanted values into testdata")

// parse reads a text as the name of its file says, and returns what comes of it.
func parse(name string, data []byte) (v any, left []error, err error) {
	switch kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".txtar"), "-"); kind {
	case "manifest":
		return untyped(ard.ParseManifest(data))
	case "results":
		return untyped(ard.ParseSearchResponse(data))
	case "search":
		v, err = ard.ParseSearchRequest(data)
	case "explore":
		v, err = ard.ParseExploreRequest(data)
	default:
		err = fmt.Errorf("nothing reads %s", kind)
	}
	return v, nil, err
}

func untyped[T any](v T, left []error, err error) (any, []error, error) { return v, left, err }

func TestParse(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		must.Do(t, err)
		v, left, err := parse(name, a.Files[0].Data)
		var b strings.Builder
		if err == nil {
			text, err := json.MarshalIndent(v, "", "  ")
			must.Do(t, err)
			fmt.Fprintf(&b, "%s\n", text)
		} else {
			fmt.Fprintln(&b, "error:", err)
		}
		for _, err := range left {
			fmt.Fprintln(&b, "left out:", err)
		}
		if *update {
			a.Files = []txtar.File{a.Files[0], {Name: "want", Data: []byte(b.String())}}
			must.Do(t, os.WriteFile(name, txtar.Format(a), 0o644))
			continue
		}
		if diff := cmp.Diff(string(a.Files[1].Data), b.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for id, want := range map[string]string{
		ard.Identifier("skills.example.com", "skill", "tide-tables"): "skills.example.com",
		ard.Identifier(ard.Localhost, "x"):                           ard.Localhost,
		"urn:air:example.com":                                        "",
		"urn:air:example.com:":                                       "",
		"urn:air:example.com:a/b":                                    "",
		"urn:air:example.com:ä":                                      "",
		"urn:ai:example.com:a":                                       "",
		"urn:air:example.com:a\n":                                    "",
		"urn:air:a:" + strings.Repeat("x", 2000):                     "",
	} {
		if got, ok := ard.Publisher(id); got != want || ok != (want != "") {
			t.Errorf("%.40s is of %q, %t; want %q", id, got, ok, want)
		}
	}
}

func TestIsSkill(t *testing.T) {
	for kind, want := range map[string]bool{
		ard.SkillZip: true, ard.SkillGzip: true, ard.SkillMarkdown: true, "text/markdown;profile=\"urn:air:agent-skills\"": true, ard.AnySkill: true,
		"Application/AI-Skill+md": true, ard.Registry: false, "text/markdown": false, "": false,
	} {
		if e := (ard.Entry{Type: kind}); e.IsSkill() != want {
			t.Errorf("%q is a skill: %t", kind, !want)
		}
	}
}

func TestQueries(t *testing.T) {
	for n, want := range []int{0, 0, 2, 3, 4, 5, 5} {
		if got := len(ard.Queries(make([]string, n))); got != want {
			t.Errorf("of %d examples an entry has %d, want %d", n, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for status, want := range map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT", 429: "RATE_LIMIT_EXCEEDED", 500: "INTERNAL_ERROR"} {
		e := ard.NewError(status, "what %s is", "it")
		data, err := json.Marshal(e)
		must.Do(t, err)
		if got := string(data); got != `{"errorCode":"`+want+`","message":"what it is"}` {
			t.Errorf("%d: %s", status, got)
		}
	}
}

// TestTooMuch: a list without end ends the reading, and a manifest of nothing but malformed entries
// is none.
func TestTooMuch(t *testing.T) {
	many := strings.Repeat("1,", 1<<20) + "1"
	r, left, err := ard.ParseSearchResponse([]byte(`{"results":[` + many + `],"pageToken":"p"}`))
	if err != nil || len(r.Results) != 0 || len(left) != 3*ard.MaxPage {
		t.Errorf("%d results, %d left out, %v", len(r.Results), len(left), err)
	}
	r, _, err = ard.ParseSearchResponse([]byte(`{"pageToken":"p","results":[],"referrals":null}`))
	if err != nil || r.PageToken != "p" || r.Results == nil {
		t.Errorf("%+v, %v", r, err)
	}
	huge := `{"identifier":"urn:air:a.example:x","description":"` + strings.Repeat("x", 300<<10) + `"}`
	if r, left, err := ard.ParseSearchResponse([]byte(`{"results":[` + huge + `,{"identifier":"urn:air:a.example:y"}]}`)); err != nil || len(r.Results) != 1 || len(left) != 1 {
		t.Errorf("%d results, %d left out, %v", len(r.Results), len(left), err)
	}
	if m, left, err := ard.ParseManifest([]byte(`{"entries":[` + many + `]}`)); err == nil || len(m.Entries)+len(left) > 0 {
		t.Errorf("%d entries, %d left out", len(m.Entries), len(left))
	}
	for _, text := range []string{`{"entries":null}`, `{"entries":{}}`, `[]`, `{"entries":[]`, ``} {
		if _, _, err := ard.ParseManifest([]byte(text)); err == nil {
			t.Errorf("%s is a manifest", text)
		}
	}
}

// FuzzParse: whatever somebody sends, what is kept is well formed and reads again as it is.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	must.Do(f, err)
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		must.Do(f, err)
		f.Add(a.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, _, err := ard.ParseManifest(data); err == nil {
			for _, e := range m.Entries {
				must.Do(t, e.Check())
			}
			text, err := json.Marshal(m)
			must.Do(t, err)
			if again, left, err := ard.ParseManifest(text); err != nil || len(left) > 0 || len(again.Entries) != len(m.Entries) {
				t.Errorf("%s does not read again: %v, %v", text, left, err)
			}
		}
		if r, _, err := ard.ParseSearchResponse(data); err == nil {
			for _, x := range r.Results {
				if _, ok := ard.Publisher(x.Identifier); !ok || x.Score < 0 || x.Score > 100 {
					t.Errorf("the result %+v is kept", x)
				}
			}
		}
		if r, err := ard.ParseSearchRequest(data); err == nil && (r.PageSize < 1 || r.PageSize > ard.MaxPage || r.Query.Text == "") {
			t.Errorf("the request %+v is let in", r)
		}
		_, _ = ard.ParseExploreRequest(data)
	})
}
