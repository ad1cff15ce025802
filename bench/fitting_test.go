package bench

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
)

// TestFittingLosesNothing: what a search leaves out because it hardly fits is hardly ever
// wanted, and nothing fits a text without meaning.
func TestFittingLosesNothing(t *testing.T) {
	testsize.Long(t)
	e, err := static.Default()
	must.Do(t, err)
	d, err := readSet(filepath.Dir(sharedFile(t, "bench/metatool/corpus.jsonl")), "")
	must.Do(t, err)
	c, err := NewCatalog(t.Context(), d, &Setup{Mode: Hybrid, Embedder: e})
	must.Do(t, err)
	defer c.Close()
	wanted, lost := 0, 0
	for _, q := range d.Sample(testsize.Rounds(120, 4250), 1) {
		found := func(fitting bool) int {
			_, ids, err := c.Search(t.Context(), search.Query{Text: q.Text, Limit: 10, Fitting: fitting})
			must.Do(t, err)
			return len(slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(q.Wanted, id) }))
		}
		all := found(false)
		wanted, lost = wanted+all, lost+all-found(true)
	}
	t.Logf("%d of %d wanted hits lost", lost, wanted)
	if lost*100 > wanted || wanted == 0 {
		t.Errorf("%d of %d wanted hits are lost", lost, wanted)
	}
	for _, text := range []string{"xyzzy qwfp", "hjkl", "fjdksl ajfkd"} {
		answer, ids, err := c.Search(t.Context(), search.Query{Text: text, Fitting: true})
		if err != nil || len(ids) > 0 || answer.Unfit == 0 {
			t.Errorf("%q finds %v (%d unfit), error %v", text, ids, answer.Unfit, err)
		}
	}
}
