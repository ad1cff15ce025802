package search_test

import (
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// withTerm returns the hits that have a term in their score, sorted.
func withTerm(hits []search.Hit, name string) []string {
	list := []string{}
	for _, h := range hits {
		if slices.ContainsFunc(h.Terms, func(t rank.Term) bool { return t.Name == name }) {
			list = append(list, h.ID)
		}
	}
	slices.Sort(list)
	return list
}

// TestNames: which skills a prompt names for certain, and which it seems to name.
func TestNames(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("pdf", "Read documents", "body"),
		searchtest.Skill("pdf-form-filling", "Fill forms", "body"),
		searchtest.Skill("review", "Look at code", "body"),
		searchtest.Skill("Release Notes", "Write what changed", "body"),
		searchtest.Skill("meeting_notes", "Write minutes", "body"),
		searchtest.Skill("git:bisect", "Find commits", "body"),
		searchtest.Skill("填写表格", "Fill tables", "body"),
		searchtest.Skill("good", "Improve texts", "body"),
	).Refs())
	for text, want := range map[string]struct{ certain, likely []string }{
		"pdf-form-filling":                   {certain: []string{"pdf-form-filling"}},
		"pdf form filling":                   {certain: []string{"pdf-form-filling"}},
		" PDF  Form Filling ":                {certain: []string{"pdf-form-filling"}},
		"/pdf":                               {certain: []string{"pdf"}},
		"/pdf page 3 of a.pdf":               {certain: []string{"pdf"}},
		"$pdf a.pdf":                         {certain: []string{"pdf"}},
		"the pdf skill":                      {certain: []string{"pdf"}},
		"the `pdf` skill":                    {certain: []string{"pdf"}},
		"with the skill pdf, do it":          {certain: []string{"pdf"}},
		"skill: pdf":                         {certain: []string{"pdf"}},
		"use the good skill":                 {certain: []string{"good"}},
		"pdf":                                {certain: []string{"pdf"}},
		"ＰＤＦ":                                {certain: []string{"pdf"}},
		"release notes":                      {certain: []string{"Release Notes"}},
		"填写表格":                               {certain: []string{"填写表格"}},
		"use pdf-form-filling please":        {likely: []string{"pdf-form-filling"}},
		"use PDF-Form-Filling, please!":      {likely: []string{"pdf-form-filling"}},
		"ask @pdf about it":                  {likely: []string{"pdf"}},
		"@pdf what is this":                  {likely: []string{"pdf"}},
		"print $pdf here":                    {likely: []string{"pdf"}},
		"use `pdf` here":                     {likely: []string{"pdf"}},
		"use `pdf`, then stop":               {likely: []string{"pdf"}},
		"use \"pdf\"":                        {likely: []string{"pdf"}},
		"use 'pdf'.":                         {likely: []string{"pdf"}},
		"use “pdf”":                          {likely: []string{"pdf"}},
		"use meeting_notes and git:bisect":   {likely: []string{"git:bisect", "meeting_notes"}},
		"请用pdf-form-filling，谢谢":              {likely: []string{"pdf-form-filling"}},
		"请用「pdf」处理":                          {likely: []string{"pdf"}},
		"why does GET /pdf answer 404":       {},
		"write a good skill":                 {},
		"a skill review":                     {},
		"read the pdf":                       {},
		"please review my code":              {},
		"he said \"please review\" it":       {},
		"\"review the pdf\" was the task":    {},
		"it's a review":                      {},
		"write the release notes for 2.0":    {},
		"open report.pdf":                    {},
		"the skills pdf has":                 {},
		"use pdf-form":                       {},
		"":                                   {},
		"`":                                  {},
		"how to fill a form in a pdf, today": {},
	} {
		hits := searchtest.Ask(t, x, search.Query{Text: text}).Hits
		if got := withTerm(hits, "exact name"); !slices.Equal(got, want.certain) {
			t.Errorf("%q names %q, want %q", text, got, want.certain)
		}
		if got := withTerm(hits, "mention"); !slices.Equal(got, want.likely) {
			t.Errorf("%q seems to name %q, want %q", text, got, want.likely)
		}
	}
}

// TestExactWins: a skill that the prompt names for certain comes first, whatever else
// fits better; one that it seems to name does not.
func TestExactWins(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Many(20)
	src["pdf"] = searchtest.Skill("pdf", "Nothing of it", "at all")
	src["journeys"] = searchtest.Skill("journeys", "Plans journeys by train through mountains and valleys", "")
	searchtest.Sync(t, x, "a", src.Refs())
	for text, first := range map[string]bool{
		"topic1 topic2 fruit with the pdf skill":                      true,
		"`pdf` plans journeys by train through mountains and valleys": false,
	} {
		hits := searchtest.Ask(t, x, search.Query{Text: text, Limit: 2}).Hits
		if len(hits) != 2 || first != (hits[0].ID == "pdf") || first && (hits[0].Probability != 1 || !hits[0].Relevant) {
			t.Errorf("%q: best %+v", text, hits)
		}
	}
}

// TestMentionShare: a word that looks like a name counts as the share of the prompt that
// it is, so it says less the longer the prompt is.
func TestMentionShare(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Many(20)
	src["time"] = searchtest.Skill("time", "Helps with tasks", "")
	searchtest.Sync(t, x, "a", src.Refs())
	last := 2.0
	for _, text := range []string{
		"`time`", "run `time`", "run `time` on trains", "run `time` on trains, ships and planes",
	} {
		hits := searchtest.Ask(t, x, search.Query{Text: text + " please"}).Hits
		at := slices.IndexFunc(hits, func(h search.Hit) bool { return h.ID == "time" })
		if at < 0 {
			t.Fatalf("%q does not find it", text)
		}
		for _, term := range hits[at].Terms {
			if term.Name == "mention" {
				if term.Value <= 0 || term.Value >= last {
					t.Errorf("%q: a share of %v, it was %v in the shorter prompt", text, term.Value, last)
				}
				last = term.Value
			}
		}
	}
	if last == 2 {
		t.Error("no prompt mentions it")
	}
}

// TestPrefixAlone: the first letters of a name, as typed into a search box, find it.
func TestPrefixAlone(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("kubernetes-troubleshooting", "Pods", "body"), searchtest.Skill("git-bisect", "Commits", "body")).Refs())
	for text, want := range map[string][]string{
		"kube":             {"kubernetes-troubleshooting"},
		"Kubernetes-trou":  {"kubernetes-troubleshooting"},
		"git-b":            {"git-bisect"},
		"ku":               {}, // too short to mean a name
		"kube restarts":    {},
		"troubleshootings": {"kubernetes-troubleshooting"}, // a word of the name
	} {
		if got := searchtest.Found(t, x, text); !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
	hidden := &search.Agent{Exclude: search.Rules{Names: []string{"kube*"}}}
	for _, text := range []string{"kube", "kubernetes-troubleshooting", "`kubernetes-troubleshooting`"} {
		if hits := searchtest.Ask(t, x, search.Query{Text: text, Agent: hidden}).Hits; len(hits) != 0 {
			t.Errorf("%q finds %q outside the scope", text, searchtest.IDs(hits))
		}
	}
}
