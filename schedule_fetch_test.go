package repertoire

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestFetch: the schedule fetches in the background, once at a time, logs an error when it is
// new, and Close ends what is running.
func TestFetch(t *testing.T) {
	src, err := source.Files(map[string]string{"pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead.\n"}, nil)
	must.Do(t, err)
	var log bytes.Buffer
	calls, begun, result := 0, make(chan struct{}), make(chan error)
	cfg := Config{
		Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: embed.None{},
		Schedule: "@every 1h", Background: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Fetch: func(ctx context.Context) error {
			calls++
			begun <- struct{}{}
			select {
			case err := <-result:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
	c, err := Open(t.Context(), cfg)
	must.Do(t, err)
	s := c.keeper.(*local).timer.(*schedule)
	<-begun
	s.first.Wait() // the first rescan ends while the server has not answered
	if entries, err := c.List(t.Context(), nil, nil); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	s.fetch() // does nothing
	down, slow := errors.New("server is down"), errors.New("server is slow")
	result <- down
	s.background.Wait()
	for _, err := range []error{down, slow, nil, slow} {
		s.fetch()
		<-begun
		result <- err
		s.background.Wait()
	}
	s.fetch()
	<-begun
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "fetching roots"); n != 3 || strings.Count(log.String(), "server is down") != 1 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
	if calls != 6 {
		t.Errorf("fetched %d times", calls)
	}
}

// TestEmbedHangs: a server that takes a text and never answers holds up no rescan, and Close ends
// the call.
func TestEmbedHangs(t *testing.T) {
	dir := t.TempDir()
	add := func(name string) {
		must.Write(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: Reads "+name+" files.\n---\nRead.\n")
	}
	add("pdf")
	src, err := source.Dir(dir, nil)
	must.Do(t, err)
	c, err := Open(t.Context(), Config{
		Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: &embedtest.Fake{Delay: time.Hour}, Contextual: embed.None{},
		Schedule: "@every 1h", Background: true, Logger: slog.New(slog.DiscardHandler),
	})
	must.Do(t, err)
	s := c.keeper.(*local).timer.(*schedule)
	s.first.Wait()
	for i, name := range []string{"csv", "xml"} {
		add(name)
		s.tick()
		if entries, err := c.List(t.Context(), nil, nil); err != nil || len(entries) != i+2 {
			t.Errorf("after %s was added: %v, %v", name, entries, err)
		}
	}
	must.Do(t, c.Close())
}
