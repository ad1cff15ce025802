package search_test

import (
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// exactIDs returns the hits that the prompt names.
func exactIDs(t *testing.T, x *searchtest.Catalog, text string) []string {
	t.Helper()
	list := []string{}
	for _, h := range searchtest.Ask(t, x, search.Query{Text: text}).Hits {
		for _, term := range h.Terms {
			if term.Name == "exact name" {
				list = append(list, h.ID)
			}
		}
	}
	slices.Sort(list)
	return list
}

func TestExactNames(t *testing.T) {
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
	).Refs())
	for text, want := range map[string][]string{
		"use pdf-form-filling please":        {"pdf-form-filling"},
		"use PDF-Form-Filling, please!":      {"pdf-form-filling"},
		"pdf-form-filling":                   {"pdf-form-filling"},
		"pdf form filling":                   {"pdf-form-filling"},
		" PDF  Form Filling ":                {"pdf-form-filling"},
		"/pdf":                               {"pdf"},
		"/pdf page 3 of a.pdf":               {"pdf"},
		"why does GET /pdf answer 404":       nil,
		"$pdf a.pdf":                         {"pdf"},
		"ask @pdf about it":                  {"pdf"},
		"use `pdf` here":                     {"pdf"},
		"use `pdf`, then stop":               {"pdf"},
		"use \"pdf\"":                        {"pdf"},
		"use 'pdf'.":                         {"pdf"},
		"use “pdf”":                          {"pdf"},
		"the pdf skill":                      {"pdf"},
		"with the skill pdf, do it":          {"pdf"},
		"skill: pdf":                         {"pdf"},
		"pdf":                                {"pdf"},
		"ＰＤＦ":                                {"pdf"},
		"release notes":                      {"Release Notes"},
		"use meeting_notes and git:bisect":   {"git:bisect", "meeting_notes"},
		"填写表格":                               {"填写表格"},
		"请用pdf-form-filling，谢谢":              {"pdf-form-filling"},
		"请用「pdf」处理":                          {"pdf"},
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
		if got := exactIDs(t, x, text); !slices.Equal(got, want) {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
}

// TestExactWins: a skill that the prompt names comes first, whatever else fits better.
func TestExactWins(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Many(20)
	src["pdf"] = searchtest.Skill("pdf", "Nothing of it", "at all")
	searchtest.Sync(t, x, "a", src.Refs())
	hits := searchtest.Ask(t, x, search.Query{Text: "topic1 topic2 fruit with `pdf`", Limit: 2}).Hits
	if len(hits) != 2 || hits[0].ID != "pdf" || !hits[0].Relevant {
		t.Errorf("best %+v", hits)
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
