// Package registrytest has servers for tests that speak the forms of registries, well or badly.
package registrytest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/internal/ard"
)

// A Skill is what a server has.
type Skill struct {
	Name, Text  string // the text is the description
	Version     string
	Publisher   string // domain, user or repository
	Installs    int
	Verdict     string // of a scan
	SkillDigest string // that ARD tells; "" means none
}

// Skills are what servers have, unless a test says otherwise.
func Skills() []Skill {
	return []Skill{
		{Name: "pdf-forms", Text: "Fill in the fields of PDF forms and flatten them. Use when the user has a form to fill in.", Version: "1.2.0", Publisher: "acme.example", Installs: 4100, Verdict: "clean"},
		{Name: "tide-tables", Text: "Read tide tables and say when a harbour has enough water. Use when the user plans to sail.", Version: "0.3.1", Publisher: "harbour.example", Installs: 12},
		{Name: "ledger-close", Text: "Close the books of a month \x1b[31mand list\u202e what is open. Use when the user closes a ledger.", Publisher: "acme.example", Verdict: "suspicious"},
	}
}

// A Server is a registry of a form, and how it behaves.
type Server struct {
	*httptest.Server
	Skills  []Skill
	Token   string        // that requests must bear; "" means none
	Mode    atomic.Value  // one of the modes, as a string
	Asked   atomic.Int64  // how many requests have come
	Refers  []ard.Entry   // of an ARD registry: others
	Release chan struct{} // ends the waiting of a slow server
	seen    atomic.Value  // the last request but for its body, as text
	body    atomic.Value
}

// Modes in which servers behave badly.
const (
	Good   = ""
	Slow   = "slow"  // it answers when Release is closed
	HTML   = "html"  // it is a web page
	Huge   = "huge"  // it never stops
	Busy   = "busy"  // 429, for a minute
	Short  = "short" // 429 once, for no time at all
	Broken = "broken"
	Lying  = "lying"  // the digests of files are wrong
	Deep   = "deep"   // it answers JSON of a great depth
	Lists  = "lists"  // its manifest names skills, and no registry; it cannot be asked
	Forged = "forged" // it says the digest of another skill
)

// New starts a server that speaks the form, one of registries.Forms. The caller closes it.
func New(form string) *Server {
	s := &Server{Skills: Skills(), Release: make(chan struct{})}
	s.Mode.Store(Good)
	s.seen.Store("")
	s.body.Store("")
	mux := http.NewServeMux()
	switch form {
	case "ard":
		s.ard(mux)
	case "clawhub":
		s.clawhub(mux)
	case "skills.sh":
		s.skillsSh(mux)
	}
	mux.HandleFunc("GET /files/{name}", func(w http.ResponseWriter, r *http.Request) {
		if one := s.find(strings.TrimSuffix(r.PathValue("name"), ".zip")); one != nil {
			w.Write(Archive(*one))
			return
		}
		http.NotFound(w, r)
	})
	s.Server = httptest.NewUnstartedServer(s.behave(mux)) // who asks for another server at this port at once finds it whole
	s.Start()
	return s
}

// Seen returns the last request: its method, path and headers, and its body.
func (s *Server) Seen() (head, body string) { return s.seen.Load().(string), s.body.Load().(string) }

// behave does what the mode says before a request is answered.
func (s *Server) behave(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Asked.Add(1)
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.seen.Store(fmt.Sprintf("%s %s %v", r.Method, r.URL, r.Header))
		s.body.Store(string(body))
		switch s.Mode.Load() {
		case Slow:
			select {
			case <-s.Release:
			case <-r.Context().Done():
			}
			return
		case HTML:
			fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
			return
		case Huge:
			for piece := bytes.Repeat([]byte(`{"results": [`), 1<<12); r.Context().Err() == nil; {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
			return
		case Busy:
			w.Header().Set("Retry-After", "60")
			http.Error(w, "Rate limit exceeded", http.StatusTooManyRequests)
			return
		case Short:
			s.Mode.Store(Good)
			w.Header().Set("Retry-After", "0")
			http.Error(w, "Rate limit exceeded", http.StatusTooManyRequests)
			return
		case Broken:
			http.Error(w, "out of\x1b[2J order", http.StatusInternalServerError)
			return
		case Deep:
			w.Write(append([]byte(`{"results": `), bytes.Repeat([]byte("["), 1<<19)...))
			return
		}
		if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
			http.Error(w, "no token "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusing answers what a server does not know: a POST with a status, all else with 404.
func refusing(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		http.Error(w, http.StatusText(status), status)
	}
}

// find returns the skill of a name; nil if there is none.
func (s *Server) find(name string) *Skill {
	for i := range s.Skills {
		if s.Skills[i].Name == name {
			return &s.Skills[i]
		}
	}
	return nil
}

// matching returns the skills that have a word of a text, or all for the word "skill".
func (s *Server) matching(text string) (list []Skill) {
	for _, one := range s.Skills {
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			if word == "skill" || strings.Contains(strings.ToLower(one.Name+" "+one.Text), word) {
				list = append(list, one)
				break
			}
		}
	}
	return list
}

// Archive returns the skill as a zip, the same bytes each time.
func Archive(one Skill) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct{ name, text string }{
		{"SKILL.md", fmt.Sprintf("---\nname: %s\ndescription: %q\nversion: %q\n---\nDo it as [the notes](references/notes.md) say.\n", one.Name, strings.Map(printable, one.Text), one.Version)},
		{"references/notes.md", "Notes on " + one.Name + " " + one.Version + ".\n"},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Modified: time.Unix(1e9, 0)})
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			panic(err) // unreachable: it is written to memory
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// entry returns a skill as ARD has it.
func (s *Server) entry(one Skill) ard.Entry {
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256(Archive(one)))
	if s.Mode.Load() == Lying {
		sum = "sha256:" + strings.Repeat("0", 64)
	}
	e := ard.Entry{Identifier: ard.Identifier(one.Publisher, "skills", one.Name), DisplayName: one.Name, Type: ard.SkillZip, URL: s.URL + "/files/" + one.Name + ".zip",
		Description: one.Text, Version: one.Version, UpdatedAt: "2026-10-01T00:00:00Z", Metadata: map[string]any{ard.Digest: sum}}
	if s.Mode.Load() == Forged {
		one.SkillDigest = "sha256:" + strings.Repeat("ab", 32)
	}
	if one.SkillDigest != "" {
		e.Metadata[ard.SkillDigest] = one.SkillDigest
	}
	return e
}

func (s *Server) ard(mux *http.ServeMux) {
	mux.HandleFunc("GET "+ard.Path, func(w http.ResponseWriter, _ *http.Request) {
		if s.Mode.Load() == Lists {
			write(w, ard.Manifest{Entries: []ard.Entry{s.entry(s.Skills[0])}})
			return
		}
		write(w, ard.Manifest{Entries: []ard.Entry{{Identifier: ard.Identifier(ard.Localhost, "registry"), DisplayName: "Registry", Type: ard.Registry, URL: s.URL + "/base"}}})
	})
	mux.HandleFunc("POST /base"+ard.SearchPath, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		q := ard.SearchRequest{}
		if err == nil {
			q, err = ard.ParseSearchRequest(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := ard.SearchResponse{Results: []ard.Result{}}
		for _, one := range s.matching(q.Query.Text) {
			answer.Results = append(answer.Results, ard.Result{Entry: s.entry(one), Score: 50, Source: s.URL + "/base"})
		}
		if q.Federation == "referrals" {
			answer.Referrals = s.Refers
		}
		write(w, answer)
	})
	mux.HandleFunc("GET /base"+ard.AgentsPath+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, one := range s.Skills {
			if e := s.entry(one); e.Identifier == r.PathValue("id") {
				write(w, e)
				return
			}
		}
		http.NotFound(w, r)
	})
}

func (s *Server) clawhub(mux *http.ServeMux) {
	const updated = 1790812800000                            // milliseconds
	mux.HandleFunc("/", refusing(http.StatusNotImplemented)) // as servers that know no POST at all
	mux.HandleFunc("GET /api/v1/search", func(w http.ResponseWriter, r *http.Request) {
		results := []any{}
		for i, one := range s.matching(r.URL.Query().Get("q")) {
			results = append(results, map[string]any{"score": 1 / float64(i+1), "slug": one.Name, "displayName": one.Name, "summary": one.Text, "version": one.Version,
				"updatedAt": updated, "ownerHandle": one.Publisher, "downloads": one.Installs, "isSuspicious": one.Verdict == "suspicious"})
		}
		write(w, map[string]any{"results": results})
	})
	mux.HandleFunc("GET /api/v1/skills/{slug}", func(w http.ResponseWriter, r *http.Request) {
		one := s.find(r.PathValue("slug"))
		if one == nil {
			http.Error(w, "Skill not found", http.StatusNotFound)
			return
		}
		write(w, map[string]any{"skill": map[string]any{"slug": one.Name, "displayName": one.Name, "summary": one.Text, "stats": map[string]any{"downloads": one.Installs}, "updatedAt": updated},
			"latestVersion": map[string]any{"version": one.Version}, "owner": map[string]any{"handle": one.Publisher}, "moderation": nil, "metadata": nil})
	})
	mux.HandleFunc("GET /api/v1/skills/{slug}/scan", func(w http.ResponseWriter, r *http.Request) {
		one := s.find(r.PathValue("slug"))
		if one == nil {
			http.Error(w, "Skill not found", http.StatusNotFound)
			return
		}
		write(w, map[string]any{"skill": map[string]any{"slug": one.Name}, "security": map[string]any{"status": one.Verdict, "hasScanResult": one.Verdict != ""}, "moderation": nil})
	})
	mux.HandleFunc("GET /api/v1/download", func(w http.ResponseWriter, r *http.Request) {
		one := s.find(r.URL.Query().Get("slug"))
		if one == nil || one.Version != r.URL.Query().Get("version") {
			http.Error(w, "Version not found", http.StatusNotFound)
			return
		}
		w.Write(Archive(*one))
	})
}

func (s *Server) skillsSh(mux *http.ServeMux) {
	mux.HandleFunc("/", refusing(http.StatusInternalServerError)) // as servers that stumble over what they do not know
	mux.HandleFunc("GET /api/search", func(w http.ResponseWriter, r *http.Request) {
		list := []any{}
		for _, one := range s.matching(r.URL.Query().Get("q")) {
			list = append(list, map[string]any{"id": one.Publisher + "/" + one.Name, "name": one.Name, "source": one.Publisher, "installs": one.Installs})
		}
		write(w, map[string]any{"query": r.URL.Query().Get("q"), "skills": list})
	})
}
