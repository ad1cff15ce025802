package web_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store/memorytest"
	"github.com/repertoire-skills/repertoire/web"
)

// TestStateOfLost: the page of the state is shown when a shared catalog does not answer, and
// says so.
func TestStateOfLost(t *testing.T) {
	e, err := static.Default()
	must.Do(t, err)
	st := memorytest.New()
	k := open(t, few(), func(cfg *repertoire.Config, _ *web.Options) {
		_, err := push.Push(t.Context(), st, cfg.Sources, &push.Options{Embedder: e, Inline: true})
		must.Do(t, err)
		cfg.Sources, cfg.Store, cfg.DB, cfg.Embedder, cfg.Schedule = []source.Source(nil), st, filepath.Join(t.TempDir(), "copy"), e, ""
	})
	k.get("state").is(200).has("as it is")
	st.Break(errors.New("the server is gone"))
	for end := time.Now().Add(20 * time.Second); k.catalog.Shared().State != repertoire.Stale && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	k.get("state").is(200).has("does not answer", "the server is gone")
}
