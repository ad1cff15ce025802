package bench

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

const distractors = `{"id":"plants","name":"greenhouse","description":"Waters the balcony flowers.","body":"A copy of plants."}
{"name":"POST","description":"Sends parcels."}
{"name":"yarn","description":"Kitten yarn: kitten and yarn.","body":"Kitten yarn."}
{"name":"tennis","description":"Books a court."}
`

// TestDistract: look-alikes of wanted skills are left out, others may come first.
func TestDistract(t *testing.T) {
	d := pets(t)
	d.Queries = append(d.Queries, Query{ID: "lost", Text: "zebra crossing", Wanted: []string{"post"}})
	m := NewMixture(d, ReadCorpus(folder(t, "more.jsonl", distractors)+"/more.jsonl"))
	setup := &Setup{Mode: Hybrid, Embedder: new(embedtest.Fake)}
	var s Set
	for _, step := range []struct {
		set *Dataset
		ask func(*Catalog) error
	}{
		{d, func(c *Catalog) (err error) { s, err = Run(t.Context(), c, d, nil); return err }},
		{&m.Dataset, func(c *Catalog) error { return Distract(t.Context(), c, m, &s, nil) }},
	} {
		c, err := NewCatalog(t.Context(), step.set, setup)
		must.Do(t, err)
		must.Do(t, step.ask(c))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	got := *s.Distracted
	got.Hit1, got.Hit1Text = Estimate{Value: got.Hit1.Value}, Estimate{Value: got.Hit1Text.Value}
	if diff := cmp.Diff(Distraction{2, 2, 4, got.Hit1, Estimate{Value: .5}}, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ranks := make(map[string]*DistractedRanks)
	for _, a := range s.Queries {
		ranks[a.ID] = a.Distracted
	}
	if ranks["q1"].TextRank != 1 || ranks["q2"].TextRank != 1 || ranks["q4"].TextRank != 2 || ranks["lost"].TextRank != 0 || ranks["q3"] != nil {
		t.Errorf("ranks: q1 %+v, q2 %+v, q4 %+v, q3 %+v", ranks["q1"], ranks["q2"], ranks["q4"], ranks["q3"])
	}
	c := compared(s, s)
	if m := c.Metrics[7]; m.Name != distracted || m.Before != got.Hit1.Value || m.P != 1 {
		t.Errorf("compared: %+v", m)
	}
}

// TestNearMisses: a near miss is measured by the skill that would be noise, unless the
// corpus lacks it, and it changes no other figure.
func TestNearMisses(t *testing.T) {
	measure := func(more string) Set {
		d, err := readSet(folder(t, "corpus.jsonl", corpus, "queries.jsonl", queries+more, "qrels.tsv", qrels), "")
		must.Do(t, err)
		c, err := NewCatalog(t.Context(), d, nil)
		must.Do(t, err)
		defer c.Close() // a file in the temporary folder
		s, err := Run(t.Context(), c, d, nil)
		must.Do(t, err)
		return s
	}
	s := measure(`{"id":"n1","query":"/plants","kind":"near_miss","owner_skill":"plants","style":"terse"}
{"id":"n2","query":"/post","kind":"near_miss","owner_skill":"plants"}
{"id":"n3","query":"thanks!","kind":"near_miss","owner_skill":"plants"}
{"id":"n4","query":"/cat","kind":"near_miss","owner_skill":"elsewhere"}
{"id":"n5","query":"/cat","kind":"none","owner_skill":"plants"}
`)
	if s.NearMisses != 3 || s.Gate.None != 2 || len(s.Queries) != 8 {
		t.Errorf("%d near misses, %d that need none, %d prompts", s.NearMisses, s.Gate.None, len(s.Queries))
	}
	if own, any := s.Gate.NearOwn.Value, s.Gate.NearAny.Value; own != 1./3 || any != 2./3 {
		t.Errorf("own %v, any %v", own, any)
	}
	alone := measure(`{"id":"n5","query":"/cat","kind":"none"}` + "\n")
	if s.Gate.Tokens != alone.Gate.Tokens || s.Gate.Coverage != alone.Gate.Coverage || s.Gate.FalseInjection != alone.Gate.FalseInjection {
		t.Errorf("with near misses %+v, without %+v", s.Gate, alone.Gate)
	}
	if diff := cmp.Diff(alone.Calibration, s.Calibration); diff != "" {
		t.Errorf("calibration (-without +with):\n%s", diff)
	}
}

// TestLeaveOneOut: a prompt is asked again without the skills that it needs and their copies, and
// what is offered then counts as unfit, as it does for prompts that are labelled absent.
func TestLeaveOneOut(t *testing.T) {
	body := ""
	for i := range 80 { // enough to tell a copy by
		body += fmt.Sprintf("Manger %d gets %d kilograms of hay. ", i, i*i)
	}
	text := `"description":"Feeds goats with hay in the morning and in the evening.","body":"` + body + `"}`
	more := `{"id":"goats","name":"goats",` + text + `
{"id":"copy","name":"a*[?",` + text + `
{"id":"hay","name":"ab[x","description":"Buys hay for goats and cows."}
`
	d, err := readSet(folder(t, "corpus.jsonl", corpus+more, "queries.jsonl", queries+`{"id":"g","query":"feed the goats with hay"}
{"id":"z1","query":"/plants","kind":"absent","owner_skill":"post"}
{"id":"z2","query":"thanks!","kind":"absent"}
`, "qrels.tsv", qrels+"g\tgoats\t1\n"), "")
	must.Do(t, err)
	c, err := NewCatalog(t.Context(), d, nil)
	must.Do(t, err)
	defer c.Close() // a file in the temporary folder
	alone, err := Run(t.Context(), c, d, nil)
	must.Do(t, err)
	if alone.Absent != 2 || alone.NearMisses != 0 || alone.Gate.Unfit.Value != .5 || alone.Gate.None != 1 {
		t.Errorf("labelled: %+v", alone.Gate)
	}
	s, err := Run(t.Context(), c, d, &Options{LeaveOneOut: true})
	must.Do(t, err)
	if s.Absent != 2+s.Prompts || s.Prompts != alone.Prompts || s.Gate.Coverage != alone.Gate.Coverage || s.Gate.Tokens != alone.Gate.Tokens {
		t.Errorf("%d absent: %+v, without them %+v", s.Absent, s.Gate, alone.Gate)
	}
	if diff := cmp.Diff(alone.Calibration, s.Calibration); diff != "" {
		t.Errorf("calibration (-without +with):\n%s", diff)
	}
	top := make(map[string][]string)
	for _, q := range s.Queries {
		top[q.ID] = q.Top
	}
	for id, want := range map[string][]string{"g": {"goats", "hay", "a/cat"}, "g left out": {"hay", "a/cat"}} { // a copy is listed with its like
		if diff := cmp.Diff(want, top[id]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}
