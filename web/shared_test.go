package web_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
	"github.com/repertoire-skills/repertoire/usage"
	"github.com/repertoire-skills/repertoire/web"
)

// TestStateOfLost: the page of the state is shown when a shared catalog does not answer, and
// says so. The usage of its nodes is not, and neither are its proposals.
func TestStateOfLost(t *testing.T) {
	e, err := static.Default()
	must.Do(t, err)
	st := memorytest.New()
	k := open(t, few(), func(cfg *repertoire.Config, o *web.Options) {
		_, err := push.Push(t.Context(), st, cfg.Sources, &push.Options{Embedder: e, Inline: true})
		must.Do(t, err)
		o.Usage, o.Proposals = usage.New(t.TempDir(), usage.Options{Shared: st}), proposal.OpenShared(st, nil, nil)
		cfg.Sources, cfg.Store, cfg.DB, cfg.Embedder, cfg.Schedule = []source.Source(nil), st, filepath.Join(t.TempDir(), "copy"), e, ""
	})
	k.get("state").is(200).has("as it is")
	must.Do(t, st.AddUsage(t.Context(), []store.UsageLine{{Time: time.Now(), Data: fmt.Appendf(nil, `{"time":%q,"kind":"offered"}`, time.Now().Format(time.RFC3339))}}))
	k.get("usage").is(200).has("Of 1 prompt")
	must.Do(t, st.AddProposal(t.Context(), store.Proposal{ID: "0000000-000000", Info: []byte("{")}))
	k.get("proposals").is(200).has("No proposed change waits", "reading the proposal 0000000-000000")
	st.Break(errors.New("the server is gone"))
	for end := time.Now().Add(20 * time.Second); k.catalog.Shared().State != repertoire.Stale && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	k.get("state").is(200).has("does not answer", "the server is gone")
	k.get("proposals").is(503).has("the proposals are in the shared catalog, which does not answer now")
	k.get("usage").is(503).has("the log of usage is in the shared catalog, which does not answer now")
}
