package search_test

import (
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// offices is a catalog of ordinary skills with an embedder; nil means text alone.
func offices(t *testing.T, e embed.Embedder) *searchtest.Catalog {
	t.Helper()
	x := searchtest.New(t, e)
	src := searchtest.TreeOf(
		searchtest.Skill("pdf-forms", "Fills in the forms of PDF files and reads their fields", "Open the form, list its fields, fill them in"),
		searchtest.Skill("spreadsheets", "Edits Excel workbooks and CSV tables with formulas", "Read the rows, compute the totals"),
		searchtest.Skill("release-notes", "Writes release notes from the commits of a git repository", "Read the log since the last tag"),
		searchtest.Skill("kubernetes", "Deploys services to a cluster and finds out why pods crash", "Look at the events of the pod"),
		searchtest.Skill("translation", "Translates letters and contracts into other languages", "Keep the names as they are"))
	searchtest.Sync(t, x, "a", src.Refs())
	if e != nil {
		searchtest.Embed(t, x)
	}
	return x
}

// TestFitting: what fits is listed, whatever the text looks like; nothing fits a text that
// means nothing.
func TestFitting(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]embed.Embedder{"text": nil, "vectors": builtIn(t)} {
		x := offices(t, e)
		for text, want := range map[string]string{
			"fill in the fields of this form":             "pdf-forms",
			"totals":                                      "spreadsheets",
			"pod":                                         "kubernetes",
			"/model fill in the fields of this form":      "pdf-forms",
			"$ kubernetes pods --crash":                   "kubernetes",
			"diff --git a/x b/x\n+crash of the pods\n":    "kubernetes",
			"a.go:1:2: undefined: commits\na.go:2:2: log": "release-notes",
			"kubernetes":                                  "kubernetes",
			"kubern":                                      "kubernetes",
			"rel":                                         "release-notes",
			"use `pdf-forms`":                             "pdf-forms",
			"xyzzy qwfp":                                  "",
			"hjkl":                                        "",
			"thanks":                                      "",
			"":                                            "",
		} {
			hits := searchtest.Ask(t, x, search.Query{Text: text, Fitting: true}).Hits
			if want == "" && len(hits) > 0 || want != "" && (len(hits) == 0 || hits[0].ID != want) {
				t.Errorf("%s: %q finds %v, want %q", name, text, searchtest.IDs(hits), want)
			}
			if text == want && len(hits) > 1 { // the other skills do not share the name
				t.Errorf("%s: %q finds %v, want it alone", name, text, searchtest.IDs(hits))
			}
		}
	}
}

// TestFittingNamed: a skill that the text seems to name is listed, however much better another
// one fits.
func TestFittingNamed(t *testing.T) {
	t.Parallel()
	x := offices(t, nil)
	q := search.Query{Text: "fill in all of the fields of this PDF form, list its fields and read the other forms of these files, then ask `translation`", Fitting: true}
	if got := searchtest.IDs(searchtest.Ask(t, x, q).Hits); len(got) < 2 || got[0] != "pdf-forms" || !slices.Contains(got, "translation") {
		t.Errorf("found %v", got)
	}
}

// TestFittingAlike: where many skills fit alike, they are listed, however small the
// probability of each is.
func TestFittingAlike(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Many(2000).Refs())
	q := search.Query{Text: "who has any fruit for the party next week or knows where to buy it", Fitting: true}
	if a := searchtest.Ask(t, x, q); len(a.Hits) != 10 {
		t.Errorf("%d hits, want 10", len(a.Hits))
	}
}

// TestFittingLeast: Query.Least leaves out what is too unlikely, and nothing that is relevant.
func TestFittingLeast(t *testing.T) {
	t.Parallel()
	x := offices(t, builtIn(t))
	q := search.Query{Text: "read the log of the forms of the cluster", Fitting: true, Threshold: 1}
	all := searchtest.Ask(t, x, q)
	if len(all.Hits) < 2 {
		t.Fatalf("found %v", searchtest.IDs(all.Hits))
	}
	q.Least = all.Hits[0].Probability
	likely := searchtest.Ask(t, x, q)
	if n := len(all.Hits); len(likely.Hits) != 1 || likely.Unfit != all.Unfit+n-1 {
		t.Errorf("found %v, %d unfit; in all %v, %d unfit", searchtest.IDs(likely.Hits), likely.Unfit, searchtest.IDs(all.Hits), all.Unfit)
	}
	q.Least, q.Threshold = 1, search.Always
	if hits := searchtest.Ask(t, x, q).Hits; len(hits) == 0 || !hits[0].Relevant {
		t.Errorf("relevant hits are left out: %v", searchtest.IDs(hits))
	}
}

// TestFittingIsAPart: the fitting hits are some of all hits, in the same order. All relevant
// hits are among them, and Unfit counts the hits that are left out.
func TestFittingIsAPart(t *testing.T) {
	t.Parallel()
	for _, e := range []embed.Embedder{nil, builtIn(t), &searchtest.Embedder{}} {
		x := offices(t, e)
		for _, text := range []string{"read the log of the forms", "xyzzy qwfp", "kubernetes", "git", "files", "the kubernetes skill", "languages of clusters"} {
			for _, threshold := range []float64{0, search.Always, 1} {
				q := search.Query{Text: text, Limit: 100, Threshold: threshold}
				all := searchtest.Ask(t, x, q)
				q.Fitting = true
				fit := searchtest.Ask(t, x, q)
				rest := all.Hits
				for _, h := range fit.Hits {
					at := slices.IndexFunc(rest, func(other search.Hit) bool { return other.ID == h.ID })
					if at < 0 {
						t.Fatalf("%q: %v of %v", text, searchtest.IDs(fit.Hits), searchtest.IDs(all.Hits))
					}
					rest = slices.Delete(slices.Clone(rest), 0, at+1)
				}
				relevant := func(hits []search.Hit) (n int) {
					for _, h := range hits {
						if h.Relevant {
							n++
						}
					}
					return n
				}
				if relevant(fit.Hits) != relevant(all.Hits) || fit.Unfit != len(all.Hits)-len(fit.Hits) || all.Unfit != 0 {
					t.Errorf("%q, threshold %g: %d of %d hits, %d unfit", text, threshold, len(fit.Hits), len(all.Hits), fit.Unfit)
				}
			}
		}
	}
}

// TestFittingForeign: what an unknown embedder finds near is listed, though it shares no word
// with the text: it may know other languages.
func TestFittingForeign(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := offices(t, e)
	e.Answer(func(string) ([]embed.Vector, error) {
		return []embed.Vector{e.Vector("Translates letters and contracts into other languages")}, nil
	})
	if hits := searchtest.Ask(t, x, search.Query{Text: "Briefe", Fitting: true}).Hits; len(hits) == 0 || hits[0].ID != "translation" {
		t.Errorf("found %v", searchtest.IDs(hits))
	}
}
