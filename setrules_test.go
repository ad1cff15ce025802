package repertoire_test

import (
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	ranking "github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// TestSetRules: a policy that is replaced holds for the next question, also while others ask and the catalog
// is rescanned.
func TestSetRules(t *testing.T) {
	src, _ := folder(t, "team", docs("one", "two"))
	c := open(t, repertoire.Config{Sources: []source.Source{src}, Schedule: repertoire.Never})
	rescan(t, c)
	offered := func() int {
		t.Helper()
		n, err := c.Count(t.Context(), nil)
		must.Do(t, err)
		return n
	}
	none := &repertoire.Policy{Disabled: []ranking.Ban{{Rules: repertoire.Rules{Names: []string{"one"}}}}}
	for _, tt := range []struct {
		policy *repertoire.Policy
		want   int
	}{{none, 1}, {nil, 2}, {none, 1}} {
		must.Do(t, c.Owner().SetRules(tt.policy, nil))
		if n := offered(); n != tt.want {
			t.Errorf("%d skills are offered, want %d", n, tt.want)
		}
	}
	rescan(t, c)
	if n := offered(); n != 1 {
		t.Errorf("after a rescan %d are offered", n)
	}
	agents := func(pinned ...string) []*repertoire.Agent {
		return []*repertoire.Agent{{Name: "clerk", Pinned: pinned}}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				_, err := c.Search(t.Context(), repertoire.Query{Text: "one"})
				must.Do(t, err)
				if p := c.Config().Policy; p != none {
					t.Errorf("the configuration has the policy %+v", p)
				}
			}
		})
	}
	for range 20 {
		must.Do(t, c.Owner().SetRules(none, agents("two")))
		rescan(t, c)
	}
	all.Wait()
	if a, err := c.Agent("clerk"); err != nil || a.Pinned[0] != "two" || c.Config().Agents[0] != a {
		t.Errorf("agent %+v, %v", a, err)
	}
	if err := c.Owner().SetRules(nil, append(agents(), agents()...)); err == nil || offered() != 1 {
		t.Errorf("two agents of one name: %v, %d are offered", err, offered())
	}
}
