package searchtest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
)

// tolerance is by how much figures may differ. A compiled text score is off by less
// than 1 %. It counts in a score after division by the text score of the best match,
// which may be off too.
const tolerance = .02

// Compare checks that two catalogs with the same skills answer alike. They must list
// and look up exactly the same. They must find the same skills, except where scores
// are nearly equal, and find the same skills relevant, except where a figure is nearly
// at the threshold.
func Compare(t testing.TB, a, b *Catalog, queries []search.Query) {
	t.Helper()
	NewTruth(t, a, queries).Compare(t, b)
}

// A Truth is a catalog and its answers, with which other catalogs are compared.
type Truth struct {
	*Catalog
	queries []search.Query
	answers []search.Answer // with all hits
	all     []search.Entry
}

// NewTruth returns the answers of a catalog to queries.
func NewTruth(t testing.TB, c *Catalog, queries []search.Query) *Truth {
	t.Helper()
	all, err := c.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	must.Do(t, err)
	return &Truth{c, queries, answersOf(t, c, queries), all}
}

// Compare compares another catalog with the truth, like the function Compare.
func (a *Truth) Compare(t testing.TB, b *Catalog) {
	t.Helper()
	same(t, "size", func(x *Catalog) (any, error) {
		offered, found, err := x.Size(t.Context())
		return []int{offered, found}, err
	}, a.Catalog, b)
	same(t, "twins", func(x *Catalog) (any, error) { return x.Twins(t.Context()) }, a.Catalog, b)
	seen := make(map[*search.Agent]bool)
	for _, q := range a.queries {
		if !seen[q.Agent] {
			seen[q.Agent] = true
			compareLists(t, a.Catalog, b, q.Agent)
		}
	}
	for i, got := range answersOf(t, b, a.queries) {
		q := a.queries[i]
		if diff := Differ(a.answers[i], got, 10); diff != "" {
			t.Errorf("%.80q of agent %s: %s", q.Text, nameOf(q.Agent), diff)
		}
		if len(a.all) > 0 && i%4 == 0 {
			compareWhy(t, a.Catalog, b, q, a.answers[i], a.all[i*7%len(a.all)].ID)
		}
	}
}

// answersOf returns the answers to queries, with all hits.
func answersOf(t testing.TB, c *Catalog, queries []search.Query) []search.Answer {
	t.Helper()
	list := make([]search.Answer, len(queries))
	for i, q := range queries {
		q.Limit = All
		list[i] = Ask(t, c, q)
	}
	return list
}

func nameOf(a *search.Agent) string {
	if a == nil {
		return "nil"
	}
	return a.Name
}

// same checks that f returns the same for both catalogs, including errors.
func same(t testing.TB, what string, f func(*Catalog) (any, error), a, b *Catalog) {
	t.Helper()
	one, err1 := f(a)
	other, err2 := f(b)
	if !reflect.DeepEqual(one, other) || fmt.Sprint(err1) != fmt.Sprint(err2) {
		t.Errorf("%s: one says %.300s, %v; the other %.300s, %v", what, fmt.Sprintf("%+v", one), err1, fmt.Sprintf("%+v", other), err2)
	}
}

// compareLists compares all that an agent can list, and each of it.
func compareLists(t testing.TB, a, b *Catalog, agent *search.Agent) {
	t.Helper()
	for _, shadowed := range []bool{false, true} {
		same(t, "list of "+nameOf(agent), func(x *Catalog) (any, error) {
			return x.List(t.Context(), agent, &search.ListOptions{Shadowed: shadowed})
		}, a, b)
	}
	same(t, "pinned of "+nameOf(agent), func(x *Catalog) (any, error) { return x.Pinned(t.Context(), agent) }, a, b)
	all, err := a.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	must.Do(t, err)
	looked := testsize.Rounds(15, 40) // how many lookups: a failed one is slow, it compares all names
	if agent != nil {
		looked = testsize.Rounds(5, 10)
	}
	step := max(1, len(all)/looked)
	for n := len(nameOf(agent)) % step; n < len(all); n += step {
		e := all[n]
		for _, id := range []string{e.ID, e.Name, e.Source + "/" + e.Dir(), e.Source + "/" + e.Name, e.Name + "x"} {
			same(t, "lookup of "+id, func(x *Catalog) (any, error) { return x.Lookup(t.Context(), id, agent) }, a, b)
		}
	}
}

// compareWhy compares the explanations of both catalogs for the best skill of an
// answer, and for another skill, which need not be a candidate.
func compareWhy(t testing.TB, a, b *Catalog, q search.Query, best search.Answer, other string) {
	t.Helper()
	ids := []string{other}
	if len(best.Hits) > 0 {
		ids = append(ids, best.Hits[0].ID)
	}
	for _, id := range ids {
		one, err1 := a.Why(t.Context(), id, q)
		other, err2 := b.Why(t.Context(), id, q)
		if err1 != nil || err2 != nil {
			t.Fatalf("why %s for %.80q: %v, %v", id, q.Text, err1, err2)
		}
		diff := differHit(&one.Hit, &other.Hit)
		switch {
		case one.Mode != other.Mode || one.Kind != other.Kind || one.Filter != other.Filter:
			t.Errorf("why %s for %.80q: %q, %q, %q and %q, %q, %q", id, q.Text, one.Mode, one.Kind, one.Filter, other.Mode, other.Kind, other.Filter)
		case !reflect.DeepEqual(sorted(one.Missing), sorted(other.Missing)) || !reflect.DeepEqual(sorted(one.Matched.Body), sorted(other.Matched.Body)):
			t.Errorf("why %s for %.80q: missing %q and %q, body %q and %q", id, q.Text, one.Missing, other.Missing, one.Matched.Body, other.Matched.Body)
		case diff != "" && (one.Rank == 0) == (other.Rank == 0):
			t.Errorf("why %s for %.80q: %s", id, q.Text, diff)
		}
	}
}

// All is a limit for all candidates of a query.
const All = 1000

// depth is how many text matches a leg hands to ranking.
const depth = 64

// Differ describes how the first k hits of two answers to one query differ more than
// two legs may; "" means that they do not. Both answers must have All hits as their
// limit: a leg hands the best 64 text matches to ranking, and which of several nearly
// equal ones is the 64th differs between legs.
func Differ(a, b search.Answer, k int) string {
	onThreshold := math.Abs(a.Demand.Probability-a.Threshold) < tolerance
	switch {
	case a.Mode != b.Mode || a.Kind != b.Kind || a.Threshold != b.Threshold:
		return fmt.Sprintf("mode, kind and threshold are %q, %q, %g and %q, %q, %g", a.Mode, a.Kind, a.Threshold, b.Mode, b.Kind, b.Threshold)
	case !near(a.Demand.Probability, b.Demand.Probability, 1):
		return fmt.Sprintf("demand is %.4f and %.4f", a.Demand.Probability, b.Demand.Probability)
	case min(k, len(a.Hits)) != min(k, len(b.Hits)):
		return fmt.Sprintf("there are %d and %d hits", len(a.Hits), len(b.Hits))
	}
	for _, pair := range [][2]search.Answer{{a, b}, {b, a}} {
		if diff := covers(pair[0].Hits, pair[1].Hits, k, onThreshold); diff != "" {
			return diff
		}
	}
	return ""
}

// covers checks that each of the first k hits of a is also a hit of b, unless its
// score is nearly equal to the score of the last of a: it could as well have been left
// out.
func covers(a, b []search.Hit, k int, onThreshold bool) string {
	top := min(k, len(a))
	for i := range a[:top] {
		h := &a[i]
		at := slices.IndexFunc(b, func(o search.Hit) bool { return o.ID == h.ID })
		if last := a[top-1].Score; at < 0 || at >= k {
			if !near(h.Score, last, 1) && !isCopy(h, b) && !beyond(h, b) {
				return fmt.Sprintf("%s has %.4f, the last one %.4f, and the other lacks it", h.ID, h.Score, last)
			}
			continue
		}
		if (textOf(h) > 0) != (textOf(&b[at]) > 0) && (beyond(h, b) || beyond(&b[at], a)) {
			continue
		}
		if diff := differHit(h, &b[at]); diff != "" {
			return diff
		}
		if h.Relevant != b[at].Relevant && !onThreshold && !atLeast(h) {
			return fmt.Sprintf("%s is relevant: %v and %v, with %.4f and %.4f", h.ID, h.Relevant, b[at].Relevant, h.Probability, b[at].Probability)
		}
	}
	return ""
}

// textOf returns the text score of a hit as a share of the best text score; 0 means
// that it is not among the best 64.
func textOf(h *search.Hit) float64 {
	for _, term := range h.Terms {
		if term.Name == "text" {
			return term.Value
		}
	}
	return 0
}

// beyond reports whether another leg, whose hits are all, may not have a hit among its
// best 64 matches, because its text score is nearly equal to the score of the last.
func beyond(h *search.Hit, all []search.Hit) bool {
	matches, least := 0, 1.0
	for i := range all {
		if x := textOf(&all[i]); x > 0 {
			matches += 1 + len(all[i].Copies)
			least = min(least, x)
		}
	}
	return matches >= depth && textOf(h) <= least+tolerance
}

// isCopy reports whether a hit is missing from a list because the list has a copy of it
// with a nearly equal score.
func isCopy(h *search.Hit, list []search.Hit) bool {
	return slices.ContainsFunc(list, func(o search.Hit) bool {
		return near(h.Score, o.Score, 1) && slices.ContainsFunc(o.Copies, func(e search.Entry) bool { return e.ID == h.ID })
	})
}

// atLeast reports whether the probability of a hit is nearly the least of one that is offered
// beside the best.
func atLeast(h *search.Hit) bool {
	least := rank.DefaultGate().Least
	return h.Probability < 1.2*least && h.Probability > .8*least
}

// differHit describes how two hits of one skill differ; "" means that they do not.
func differHit(a, b *search.Hit) string {
	switch {
	case !reflect.DeepEqual(a.Entry, b.Entry):
		return fmt.Sprintf("entries are %+v and %+v", a.Entry, b.Entry)
	case !reflect.DeepEqual(sortedMatch(a.Matched), sortedMatch(b.Matched)):
		return fmt.Sprintf("%s: matched %+v and %+v", a.ID, a.Matched, b.Matched)
	case (a.Trigger == nil) != (b.Trigger == nil) || a.Trigger != nil && (a.Trigger.Text != b.Trigger.Text || !near(a.Trigger.Value, b.Trigger.Value, 1)):
		return fmt.Sprintf("%s: triggers %+v and %+v", a.ID, a.Trigger, b.Trigger)
	case !near(a.Score, b.Score, 1):
		return fmt.Sprintf("%s: scores %.4f %v and %.4f %v", a.ID, a.Score, a.Terms, b.Score, b.Terms)
	case !near(a.Coverage, b.Coverage, 1) || !near(a.Evidence, b.Evidence, a.Evidence) || !near(a.Strength, b.Strength, a.Strength):
		return fmt.Sprintf("%s: coverage, evidence and strength are %.4f, %.4f, %.4f and %.4f, %.4f, %.4f", a.ID,
			a.Coverage, a.Evidence, a.Strength, b.Coverage, b.Evidence, b.Strength)
	}
	return ""
}

// sortedMatch sorts the terms: the order of equally rare terms means nothing.
func sortedMatch(m search.Matched) [3][]string {
	return [3][]string{sorted(m.Name), sorted(m.Description), sorted(m.Tags)}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// near reports whether two figures differ by at most the tolerance, relative to usual.
func near(a, b, usual float64) bool { return math.Abs(a-b) <= tolerance*max(usual, 1) }
