package repertoire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

const testKey = "sk-test-4f9a7c21e8d3b605"

// endpoint configures an embedder as a configuration file would.
func endpoint(t *testing.T, url string) embed.Embedder {
	t.Helper()
	t.Setenv("REPERTOIRE_TEST_KEY", testKey)
	name := filepath.Join(t.TempDir(), "config.yaml")
	must.Write(t, name, "embedder: {openai: {base_url: \""+url+"/v1\", model: fake, key_env: REPERTOIRE_TEST_KEY}}\n")
	cfg, err := repertoire.ReadConfig(t.TempDir(), &repertoire.ConfigOptions{File: name})
	must.Do(t, err)
	return cfg.Embedder
}

// hasKey fails when a text, or a file below a folder, holds the key.
func hasKey(t *testing.T, dir string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(text, testKey) {
			t.Errorf("the key is in %q", text)
		}
	}
	n := 0
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		n++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(testKey)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	}))
	if n == 0 {
		t.Errorf("no files in %s", dir)
	}
}

// TestHybrid goes the whole way: a configured server embeds the skills and the
// prompt, and a skill is found that shares no word with it but those of a
// vector. When the server goes away, text answers.
func TestHybrid(t *testing.T) {
	var keys atomic.Int64
	fake := embedtest.Server(t, new(embedtest.Fake))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+testKey {
			keys.Add(1)
		}
		fake.Config.Handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	var j journal
	c := open(t, repertoire.Config{
		Sources:  []source.Source{memory(t, "a", 0, docs("bread", "cheese", "wine"))},
		Embedder: endpoint(t, server.URL), Contextual: embed.None{}, Deadline: time.Minute, Logger: j.logger(),
	})
	rescan(t, c)
	_, mode := search(t, c, repertoire.Query{Text: "bread"})
	want(t, "mode before Embed", []string{mode}, "text (no vectors yet)")

	done := 0
	must.Do(t, c.Owner().Embed(t.Context(), func(n, all int) { done = n - all }))
	if done != 0 || keys.Load() == 0 {
		t.Errorf("%d texts left, %d requests with the key", -done, keys.Load())
	}
	answer, err := c.Search(t.Context(), repertoire.Query{Text: "does cheese"})
	must.Do(t, err)
	if answer.Mode != "hybrid" || len(answer.Hits) != 3 || answer.Hits[0].Name != "cheese" {
		t.Errorf("mode %s, hits %v", answer.Mode, answer.Hits)
	}
	terms := make(map[string]bool)
	for _, term := range answer.Hits[0].Terms {
		terms[term.Name] = true
	}
	if !terms["description vector"] || !terms["full vector"] {
		t.Errorf("the score is made of %v", answer.Hits[0].Terms)
	}
	block, err := c.Block(t.Context(), "the cheese skill", repertoire.Budget{Offer: contextprovider.Relevant}, nil)
	must.Do(t, err)
	want(t, "mode of a block", []string{block.Mode}, "hybrid")

	server.Close()
	hits, mode := search(t, c, repertoire.Query{Text: "cheese"})
	want(t, "mode without the server", []string{mode}, "text (embedder failed)")
	want(t, "hits without the server", hits, "cheese")
	if _, err := c.Body(t.Context(), "cheese", nil); err != nil {
		t.Error(err)
	}
	rescan(t, c)
	hasKey(t, filepath.Dir(c.Path()), j.lines("")...)
}

// TestEmbedderRefuses: a server that repeats the key in its refusal cannot
// make it come out, and nothing but Embed fails.
func TestEmbedderRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error": {"message": "bad key `+r.Header.Get("Authorization")+`"}}`, http.StatusUnauthorized)
	}))
	defer server.Close()
	var j journal
	c := scanned(t, repertoire.Config{
		Sources: []source.Source{memory(t, "a", 0, docs("bread", "cheese"))}, Embedder: endpoint(t, server.URL), Contextual: embed.None{}, Logger: j.logger(),
	})
	err := c.Owner().Embed(t.Context(), nil)
	var refused *openai.Error
	if !errors.As(err, &refused) {
		t.Fatalf("error %v", err)
	}
	hits, mode := search(t, c, repertoire.Query{Text: "cheese"})
	want(t, "hits", hits, "cheese")
	want(t, "mode", []string{mode}, "text (no vectors yet)")
	hasKey(t, filepath.Dir(c.Path()), append(j.lines(""), err.Error())...)
}

// TestEmbedderDownScheduled: while an embedder is down, scheduled rescans go on
// and complain once; when it is back, they embed.
func TestEmbedderDownScheduled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		e := &moody{Fake: new(embedtest.Fake)}
		e.down.Store(true)
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{memory(t, "a", 0, docs("bread", "cheese"))}, Embedder: e, Contextual: embed.None{},
			DB: filepath.Join(t.TempDir(), "catalog.db"), Logger: j.logger(),
		})
		must.Do(t, err)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if got := j.lines("level=WARN"); len(got) != 1 || !strings.Contains(got[0], errDown.Error()) {
			t.Errorf("logged %v", got)
		}
		if hits, mode := search(t, c, repertoire.Query{Text: "cheese"}); len(hits) != 1 || mode != "text (no vectors yet)" {
			t.Errorf("hits %v, mode %s", hits, mode)
		}
		e.down.Store(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if hits, mode := search(t, c, repertoire.Query{Text: "cheese"}); len(hits) != 2 || mode != "hybrid" {
			t.Errorf("hits %v, mode %s", hits, mode)
		}
		must.Do(t, c.Close())
	})
}

// moody is an embedder that can be down.
type moody struct {
	*embedtest.Fake
	down atomic.Bool
}

var errDown = errors.New("connection refused")

func (m *moody) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	if m.down.Load() {
		return nil, errDown
	}
	return m.Fake.Embed(ctx, kind, texts)
}

// TestSlowEmbedder: the prompt's vector is waited for until the deadline.
func TestSlowEmbedder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := new(embedtest.Fake)
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{memory(t, "a", 0, docs("bread", "cheese"))}, Embedder: fake, Contextual: embed.None{},
			DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never,
		})
		must.Do(t, err)
		rescan(t, c)
		must.Do(t, c.Owner().Embed(t.Context(), nil))
		for delay, want := range map[time.Duration]string{200 * time.Millisecond: "hybrid", 300 * time.Millisecond: "text (embedder timed out)"} {
			fake.Delay = delay
			if hits, mode := search(t, c, repertoire.Query{Text: "cheese"}); mode != want || len(hits) == 0 || hits[0] != "cheese" {
				t.Errorf("after %v: hits %v, mode %s; want %s", delay, hits, mode, want)
			}
			synctest.Wait()
		}
		must.Do(t, c.Close())
	})
}

// TestBuiltInEmbedder is used unless another is chosen, and needs no call.
func TestBuiltInEmbedder(t *testing.T) {
	src := memory(t, "a", 0, docs("bread", "cheese"))
	c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
	hits, mode := search(t, c, repertoire.Query{Text: "cheese"})
	want(t, "mode", []string{mode}, "hybrid")
	want(t, "hits", hits[:1], "cheese")
	c = scanned(t, repertoire.Config{Sources: []source.Source{src}, Embedder: embed.None{}})
	_, mode = search(t, c, repertoire.Query{Text: "cheese"})
	want(t, "mode without", []string{mode}, "text (no embedder)")
	must.Do(t, c.Owner().Embed(t.Context(), func(int, int) { t.Error("something was embedded by none") }))

	synctest.Test(t, func(t *testing.T) {
		c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Contextual: embed.None{}})
		must.Do(t, err)
		_, mode := search(t, c, repertoire.Query{Text: "cheese"})
		want(t, "mode when Open returns", []string{mode}, "hybrid")
		must.Do(t, c.Close())
	})
}

// TestSwitchEmbedder opens a catalog with another embedder, which is slow: Open
// does not wait for it, and the vectors of the built-in one rank meanwhile.
func TestSwitchEmbedder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 40 {
			names = append(names, fmt.Sprintf("skill-%02d", i))
		}
		cfg := repertoire.Config{
			Sources: []source.Source{memory(t, "a", 0, docs(names...))}, DB: filepath.Join(t.TempDir(), "catalog.db"),
			Contextual: embed.None{}, Schedule: "@every 1h",
		}
		c, err := repertoire.Open(t.Context(), cfg)
		must.Do(t, err)
		must.Do(t, c.Close())

		cfg.Embedder, cfg.Deadline = &embedtest.Fake{Delay: time.Second}, 2*time.Second
		c, err = repertoire.Open(t.Context(), cfg)
		must.Do(t, err)
		hits, mode := search(t, c, repertoire.Query{Text: "skill-07"})
		want(t, "first hit", hits[:1], "skill-07")
		if !strings.HasPrefix(mode, "hybrid (static ") {
			t.Errorf("mode %q while the new embedder is slow", mode)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		_, mode = search(t, c, repertoire.Query{Text: "skill-07"})
		want(t, "mode in the end", []string{mode}, "hybrid")
		own, err := config.Embedder{}.New()
		must.Do(t, err)
		if left, err := c.Owner().Coverage(t.Context(), own.Model()); err != nil || left.Embedded != 0 || left.Texts == 0 {
			t.Errorf("of the old vectors is left: %+v, %v", left, err)
		}
		must.Do(t, c.Close())

		cfg.Embedder = nil // and back
		c, err = repertoire.Open(t.Context(), cfg)
		must.Do(t, err)
		_, mode = search(t, c, repertoire.Query{Text: "skill-07"})
		want(t, "mode back again", []string{mode}, "hybrid")
		must.Do(t, c.Close())
	})
}

// TestCloseWhileEmbedding: Close ends the embedding that Open began; the bubble
// fails when it leaves a goroutine behind.
func TestCloseWhileEmbedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{memory(t, "a", 0, docs("bread"))}, DB: filepath.Join(t.TempDir(), "catalog.db"),
			Embedder: &embedtest.Fake{Delay: time.Hour}, Schedule: "@every 1h", Logger: j.logger(),
		})
		must.Do(t, err)
		synctest.Wait()
		must.Do(t, c.Close())
		if got := j.lines("level=WARN"); len(got) > 0 {
			t.Errorf("logged %v", got)
		}
	})
}

// TestEmptied: a catalog that has lost its last skill ranks as one that never had any,
// however it has lost it.
func TestEmptied(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(dir string) error{
		"gone":      os.RemoveAll,
		"too large": func(dir string) error { return os.Truncate(filepath.Join(dir, "SKILL.md"), 2<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, dir := folder(t, "team", docs("one"))
			c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
			must.Do(t, lose(filepath.Join(dir, "one")))
			for _, all := range []bool{false, true} {
				rescan(t, c)
				if all {
					_, err := c.Owner().RescanAll(t.Context(), nil)
					must.Do(t, err)
				}
				hits, mode := search(t, c, repertoire.Query{Text: "one"})
				want(t, "hits and mode", append(hits, mode), "text (no vectors yet)")
			}
		})
	}
}

// TestContextualEncoder: the vectors of an encoder rank beside those of the embedder once Embed
// has made them, and until it has, and when it is late, the catalog answers without.
func TestContextualEncoder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "skills", "scissors", "SKILL.md"), "---\nname: scissors\ndescription: Cut a film.\n---\nTakes parts out.\n")
	src, err := source.Dir(filepath.Join(dir, "skills"), nil)
	must.Do(t, err)
	open := func(e embed.Embedder) *repertoire.Catalog {
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			DB: filepath.Join(dir, "catalog.db"), Sources: []source.Source{src}, Contextual: e, Schedule: repertoire.Never,
		})
		must.Do(t, err)
		t.Cleanup(func() { must.Do(t, c.Close()) })
		return c
	}
	wants := func(c *repertoire.Catalog, want string) {
		t.Helper()
		a, err := c.Search(t.Context(), repertoire.Query{Text: "cut a film"})
		must.Do(t, err)
		if a.Mode != want || len(a.Hits) != 1 {
			t.Errorf("mode %q with %d hits, want %q with 1", a.Mode, len(a.Hits), want)
		}
	}
	c := open(&embedtest.Fake{Name: "encoder"})
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	wants(c, "hybrid")
	must.Do(t, c.Owner().Embed(t.Context(), nil))
	wants(c, "hybrid, contextual")
	wants(open(embed.None{}), "hybrid")
	wants(open(&embedtest.Fake{Name: "encoder", Delay: time.Hour}), "hybrid, encoder late")
}

// TestContextualBehind: while the encoder embeds, which takes long, rescans go on, and nobody is told
// of a change; in the end all of its vectors rank.
func TestContextualBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 60 {
			names = append(names, fmt.Sprintf("skill-%02d", i))
		}
		src, dir := folder(t, "team", docs(names...))
		told := 0
		c, err := repertoire.Open(t.Context(), repertoire.Config{
			Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"),
			Contextual: slowly{&embedtest.Fake{Name: "encoder"}}, Changed: func() { told++ },
		})
		must.Do(t, err)
		mode := func() string {
			m, err := c.Mode(t.Context())
			must.Do(t, err)
			return m
		}
		time.Sleep(11 * time.Second) // one batch of 32
		synctest.Wait()
		if m := mode(); m != "hybrid, contextual for 32 of 60 skills" || told != 0 {
			t.Errorf("while the encoder embeds: mode %q, told %d times", m, told)
		}
		must.Write(t, filepath.Join(dir, "late", "SKILL.md"), doc("late", "Comes later."))
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if e, err := c.Lookup(t.Context(), "late", nil); err != nil || told != 1 {
			t.Errorf("a new skill meanwhile: %+v, %v, told %d times", e, err, told)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if m := mode(); m != "hybrid, contextual" || told != 1 {
			t.Errorf("in the end: mode %q, told %d times", m, told)
		}
		must.Do(t, c.Close())
	})
}

// slowly is an encoder that takes 10 s for documents.
type slowly struct{ *embedtest.Fake }

func (s slowly) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	if kind == embed.Document {
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Fake.Embed(ctx, kind, texts)
}
