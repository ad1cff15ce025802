package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// names returns the names of all skills that the registry at a path lists, and its total.
func (s *site) names(t *testing.T, path string) string {
	t.Helper()
	status, body := s.get(t, path+"/agents")
	var r ard.ListResponse
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != http.StatusOK {
		return fmt.Sprint(status, " ", body)
	}
	list := []string{fmt.Sprint(r.Total)}
	for _, e := range r.Items {
		list = append(list, e.DisplayName)
	}
	return strings.Join(list, " ")
}

// TestRegistryScopes: callers with different tokens, in headers and paths and at once, see their own
// skills, and get those of others neither by search nor by name, archive, count or page.
func TestRegistryScopes(t *testing.T) {
	o := fixture(t)
	s := start(t, o, HTTPOptions{Audit: "audit.log"})
	secrets := map[string]string{"keeper": addToken(t, o.State, "ann", "keeper"), "": addToken(t, o.State, "bob", "")}
	wanted := map[string]string{"keeper": "1 cat", "": "2 cat post"}
	paths := make(map[string]string) // of the archive of post, by agent
	_, body := s.get(t, access.WithSecret(secrets[""])+"/agents/"+url.PathEscape("urn:air:agent.localhost:skill:post"))
	var post ard.Entry
	must.Do(t, json.Unmarshal([]byte(body), &post))
	for agent, secret := range secrets {
		paths[agent] = strings.Replace(strings.TrimPrefix(post.URL, s.url), secrets[""], secret, 1)
	}
	var all sync.WaitGroup
	for agent, secret := range secrets {
		for range 8 {
			all.Go(func() {
				path := access.WithSecret(secret)
				if got := s.names(t, path); got != wanted[agent] {
					t.Errorf("%q lists %s", agent, got)
				}
				sees := map[int]bool{http.StatusOK: agent == "", http.StatusNotFound: agent != ""}
				for _, at := range []string{paths[agent], path + "/agents/" + url.PathEscape(post.Identifier), path + "/skill/post@post/.well-known/agent-skills/index.json"} {
					if status, body := s.get(t, at); !sees[status] {
						t.Errorf("%q gets %d at %s: %s", agent, status, at, body)
					}
				}
				status, found := s.send(t, "POST", "/search", `{"query":{"text":"fetch the letters"}}`, "Authorization", "Bearer "+secret)
				if status != http.StatusOK || strings.Contains(found, ":post") != (agent == "") || strings.Contains(found, secret) {
					t.Errorf("%q finds %d, %s", agent, status, found)
				}
				if _, found := s.get(t, path+"/api/search?q=fetch+the+letters"); strings.Contains(found, "/skill/post") != (agent == "") {
					t.Errorf("%q finds %s", agent, found)
				}
			})
		}
	}
	all.Wait()
	s.end(t)
	log := must.Read(t, "audit.log")
	for _, secret := range secrets {
		if strings.Contains(log, secret) || strings.Contains(s.log.String(), secret) {
			t.Error("a log has a secret")
		}
	}
	for _, want := range []string{`"caller":"ann","agent":"keeper","call":"/search"`, `"caller":"bob","call":"/skill/","skills":["post"]`} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %s", want)
		}
	}
}

// TestRegistryDoor: who may not come in gets an error in the form of ARD, a secret in a path opens
// nothing but the registry and is in no answer that is not for its bearer, and a revoked one is dead.
func TestRegistryDoor(t *testing.T) {
	o := fixture(t)
	s := start(t, o, HTTPOptions{})
	if got := s.names(t, ""); got != "2 cat post" {
		t.Errorf("without tokens: %s", got)
	}
	secret := addToken(t, o.State, "ann", "keeper")
	for path, want := range map[string]string{
		"/search":                        `401 {"errorCode":"UNAUTHENTICATED","message":"a bearer token is needed"}`,
		"/t/wrong/search":                `401 {"errorCode":"UNAUTHENTICATED","message":"a bearer token is needed, and this one is not known or has expired"}`,
		"/t/" + secret + "x/search":      `401 {"errorCode":"UNAUTHENTICATED"`,
		"/t/" + secret + "/search":       `400 {"errorCode":"INVALID_ARGUMENT"`,
		"/t/" + secret + "/v1/suggest":   `404 nothing is served at "/v1/suggest"; there are:`,
		"/t/" + secret + "/mcp":          `404 nothing is served at "/mcp"`,
		"/t/" + secret + "/metrics":      `404 nothing is served at "/metrics"`,
		"/t/" + secret + "/t/" + secret:  `404 nothing is served at "/t/`,
		"/t/" + secret + "//search":      `404 nothing is served at "//search"`,
		"/t/" + secret:                   `404 nothing is served at "/"`,
		"/t/":                            `404 nothing is served at "/t/"`,
		"/t/" + secret[:20] + "/search/": `404 nothing is served`,
	} {
		status, body := s.send(t, "POST", path, "{}")
		if got := fmt.Sprint(status, " ", body); !strings.HasPrefix(got, want) || strings.Contains(strings.ReplaceAll(path, secret, "")+body, secret) && !strings.HasSuffix(path, "/t/"+secret) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if status, body := s.send(t, "POST", "/t/"+secret+"/search", `{"query":{"text":"`+strings.Repeat("x ", 200_000)+`"}}`); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, `"errorCode"`) {
		t.Errorf("a long request: %d, %s", status, body)
	}
	if status, body := s.send(t, "POST", "/t/"+secret+"/search", `{"query":{"text":"`+strings.Repeat("x ", 50_000)+`"}}`); status != http.StatusBadRequest || !strings.Contains(body, "query.text") {
		t.Errorf("a long text: %d, %s", status, body)
	}
	_, err := access.Open(o.State).RevokeToken(t.Context(), "ann")
	must.Do(t, err)
	if status, body := s.get(t, "/t/"+secret+"/agents"); status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d, %s", status, body)
	}
}

// TestRegistryRate: too many requests are refused in the form of ARD.
func TestRegistryRate(t *testing.T) {
	s := start(t, fixture(t), HTTPOptions{Rate: .01})
	for range 10 {
		status, body := s.get(t, "/agents")
		if status == http.StatusTooManyRequests {
			if !strings.HasPrefix(body, `{"errorCode":"RATE_LIMIT_EXCEEDED"`) {
				t.Errorf("%s", body)
			}
			return
		}
	}
	t.Error("ten requests at once are let in")
}

// TestRegistryPublic: without a token the registry shows the public agent's skills, before and after
// there are tokens, and nothing else is open.
func TestRegistryPublic(t *testing.T) {
	o := fixture(t)
	s := start(t, o, HTTPOptions{Public: "keeper"})
	if got := s.names(t, ""); got != "1 cat" {
		t.Errorf("before there are tokens: %s", got)
	}
	secret := addToken(t, o.State, "bob", "")
	if got := s.names(t, ""); got != "1 cat" {
		t.Errorf("without a token: %s", got)
	}
	if got := s.names(t, "/t/"+secret); got != "2 cat post" {
		t.Errorf("with a token: %s", got)
	}
	if got := s.names(t, "/t/wrong"); !strings.HasPrefix(got, "401") {
		t.Errorf("with a wrong token: %s", got)
	}
	if status, _ := s.suggest(t, "feed the cat"); status != http.StatusUnauthorized {
		t.Errorf("a hook without a token gets %d", status)
	}
	if status, _ := s.get(t, "/mcp"); status != http.StatusUnauthorized {
		t.Errorf("MCP without a token gets %d", status)
	}
	if err := HTTP(t.Context(), fixture(t), HTTPOptions{Public: "keper", Addr: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "did you mean keeper") {
		t.Errorf("an agent that is not there: %v", err)
	}
	o = fixture(t)
	o.Agent = "other"
	if err := HTTP(t.Context(), o, HTTPOptions{Public: "keeper", Addr: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "only other is") {
		t.Errorf("an agent that is not served: %v", err)
	}
}

// TestRegistryPublisher: behind a public URL, entries are of its domain and at its address, also for an agent that is called as a path.
func TestRegistryPublisher(t *testing.T) {
	o := fixture(t)
	s := start(t, o, HTTPOptions{Admission: Admission{PublicURL: "https://skills.example.com/"}})
	secret := addToken(t, o.State, "ann", "keeper")
	_, body := s.get(t, "/.well-known/ard.json", "Authorization", "Bearer "+secret, "Host", "skills.example.com")
	m, left, err := ard.ParseManifest([]byte(body))
	if err != nil || len(left) > 0 || len(m.Entries) != 2 {
		t.Fatal(body, left, err)
	}
	if e := m.Entries[1]; e.Identifier != "urn:air:skills.example.com:skill:cat" || !strings.HasPrefix(e.URL, "https://skills.example.com/skill/cat/") {
		t.Errorf("%+v", e)
	}
}

// TestPageRegistry: the owner's page has a registry for programs that know the address.
func TestPageRegistry(t *testing.T) {
	servePage(t, func(_, registry string) {
		host, _, _ := strings.Cut(strings.TrimPrefix(registry, "http://"), "/")
		for _, tt := range []struct {
			method, url, body, want string
		}{
			{"GET", registry + "/agents", "", `200 {"items":[{"identifier":"urn:air:agent.localhost:skill:cat"`},
			{"POST", registry + "/search", `{"query":{"text":"feed the cat"}}`, `200 {"results":[{"identifier":"urn:air:agent.localhost:skill:cat"`},
			{"POST", registry + "/search", strings.Repeat(" ", 300_000), `413 {"errorCode":`},
			{"GET", registry + "x/agents", "", `401 {"errorCode":"UNAUTHENTICATED"`},
			{"GET", registry + "/mcp", "", `404 {"errorCode":"NOT_FOUND"`},
			{"GET", "http://" + host + "/agents", "", "404 nothing is here"},
		} {
			req, _ := http.NewRequest(tt.method, tt.url, strings.NewReader(tt.body)) // no error: the URL is ours
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if got := fmt.Sprint(resp.StatusCode, " ", string(body)); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s %s: %s", tt.method, tt.url, got)
			}
		}
	})
}
