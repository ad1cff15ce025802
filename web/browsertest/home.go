package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// settings is the configuration of a home.
const settings = `bundled: false
usage: {prompts: true}
disabled: [old-deploy]
agents:
  reviewer: {include: {tags: [review]}, pinned: [code-review]}
  writer: {include: {tags: [text]}}
`

// texts are the skills of a home: name, tags, description and instructions.
var texts = [][4]string{
	{"pdf-forms", "office", "Fills in PDF forms from a table of values. Use when a PDF has fields to be filled in.", "List the fields with scripts/fields.py, then fill them in from references/values.md.\n\n## Signed forms\n\nNever flatten a signed form."},
	{"pdf-merge", "office", "Merges PDF files and keeps their bookmarks. Use when several PDFs are to become one.", "Check the page sizes first, then merge in the order of the names."},
	{"invoice-check", "office", "Checks invoices against their orders. Use when an invoice has to be approved or looks wrong.", "Compare the total, the tax and the bank account with the order."},
	{"spreadsheet-clean", "office", "Cleans up spreadsheets: duplicate rows, dates as text, mixed units.", "Work on a copy. Report every row that you drop."},
	{"code-review", "review", "Reviews a change for bugs, missing tests and unclear names. Use when somebody asks for a review of a diff or pull request.", "Read the whole diff before the first comment. Order findings by how much they cost."},
	{"security-review", "review", "Looks for security problems in a change: injection, secrets, missing checks. Use when code handles input from outside.", "Follow each value from where it enters to where it is used."},
	{"sql-tuning", "review", "Finds out why a SQL query is slow and proposes an index. Use when a query takes long.", "Run EXPLAIN first. An index that nothing uses costs writes."},
	{"flaky-tests", "review", "Finds the cause of tests that fail now and then. Use when a test is flaky.", "Repeat it under load, then look for time, order and shared state."},
	{"release-notes", "text", "Writes release notes from commits for people who use the program. Use before a release.", "Say what changes for the reader; leave out what does not."},
	{"plain-english", "text", "Rewrites a text in plain English: short sentences, active verbs. Use when a text is hard to read.", "Keep numbers and names as they are."},
	{"meeting-minutes", "text", "Turns a transcript into minutes with decisions and owners. Use after a meeting.", "Quote a decision as it was said."},
	{"translation", "text", "Translates documents and keeps a glossary. Use when a text is needed in another language.", "Ask for the glossary before the first sentence."},
	{"deploy", "operations", "Deploys a service and watches it for ten minutes. Use when a version goes to production.", "Check the dashboards before and after. Roll back without asking if errors double."},
	{"old-deploy", "operations", "Deploys a service the way it was done before.", "Copy the files by hand."},
	{"postmortem", "operations", "Writes a postmortem without blame from a timeline. Use after an incident.", "Facts first, then what helped, then what to change."},
	{"log-digging", "operations", "Finds the first error in large logs and what led to it. Use when something broke and there are logs.", "Sort by time over all hosts; the first error counts, not the loudest."},
	{"terraform-plan", "operations", "Explains a Terraform plan and what would be destroyed. Use before an apply.", "Name every resource that is replaced."},
	{"chart-choice", "design", "Chooses a chart for a question and data. Use when numbers are to be shown.", "Bars for amounts, lines for time, and never two axes."},
	{"color-contrast", "design", "Checks the contrast of colours for readers with low vision. Use when a page or chart gets new colours.", "4.5 to 1 for text, 3 to 1 for everything else that has a meaning."},
	{"icon-set", "design", "Draws a set of icons as SVG in one style.", "One stroke width, one corner radius, no text. See references/missing.md."},
}

// NewHome makes a home for a program in an empty folder: skills of which one lacks a
// description and one is disabled, two proposals, and a log of usage of six weeks that ends at
// a time.
func NewHome(ctx context.Context, dir, program string, end time.Time) (*Home, error) {
	h := &Home{dir, program}
	files := map[string]string{
		"config.yaml": settings,
		".agents/skills/pdf-forms/evals/evals.json":     `["fill in this form", "the PDF has empty fields"]`,
		".agents/skills/pdf-forms/scripts/fields.py":    "import sys\n\nprint(sys.argv[1])\n",
		".agents/skills/pdf-forms/references/values.md": "# Values\n\n| field | value |\n|---|---|\n| name | Ann |\n",
		".agents/skills/untitled/SKILL.md":              "---\nname: untitled\n---\nIt says nothing about itself.\n",
		"forms.diff":                                    "@@\n-Never flatten a signed form.\n+Never flatten a signed form: it would lose its signature.\n",
		"review.diff":                                   "@@\n-Read the whole diff before the first comment. Order findings by how much they cost.\n+Read the diff.\n",
	}
	for _, s := range texts {
		files[".agents/skills/"+s[0]+"/SKILL.md"] = fmt.Sprintf("---\nname: %s\ndescription: %q\ntags: [%s]\n---\n# %s\n\n%s\n", s[0], s[2], s[1], strings.ReplaceAll(s[0], "-", " "), s[3])
	}
	var errs []error
	for name, text := range files {
		errs = append(errs, write(filepath.Join(dir, filepath.FromSlash(name)), text))
	}
	errs = append(errs, h.logUsage(end))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"index"},
		{"propose", "pdf-forms", "--diff", "forms.diff", "--why", "A user lost a signature because the reason was not there."},
		{"--agent", "reviewer", "propose", "code-review", "--diff", "review.diff", "--why", "Shorter."},
	} {
		if err := h.Run(ctx, args...); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// write writes a file and the folders above it.
func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

// An event is a line of the log of usage.
type event struct {
	Time    time.Time           `json:"time"`
	Kind    string              `json:"kind"`
	Client  string              `json:"client"`
	Session string              `json:"session"`
	Skills  []map[string]string `json:"skills,omitempty"`
	Prompt  string              `json:"prompt,omitempty"`
}

// logUsage writes what happened in the six weeks before a time. Nothing of it is random, so
// that pictures are the same each time.
func (h *Home) logUsage(end time.Time) error {
	months := make(map[string]string)
	note := func(e event) error {
		e.Time = e.Time.UTC().Truncate(time.Second)
		line, err := json.Marshal(e)
		months[e.Time.Format("2006-01")] += string(line) + "\n"
		return err
	}
	var errs []error
	for day := 42; day >= 0; day-- {
		at := end.AddDate(0, 0, -day)
		prompts := 4 + (day*7)%9
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			prompts = (day * 7) % 3
		}
		for i := range prompts {
			e := event{at.Add(-time.Duration(i) * time.Minute), "offered", []string{"claude", "codex", "cursor"}[i%3], fmt.Sprintf("s%d-%d", day, i), nil, "what time is it in Lima"}
			if name := texts[(day*i+i)%len(texts)][0]; i%4 != 3 && name != "icon-set" {
				e.Skills, e.Prompt = []map[string]string{{"id": name}}, ""
			}
			errs = append(errs, note(e))
			if e.Skills != nil && (day+i)%3 > 0 && i%3 != 2 {
				e.Kind = "loaded"
				errs = append(errs, note(e))
			}
		}
	}
	for month, lines := range months {
		errs = append(errs, write(h.state("usage/"+month+".jsonl"), lines))
	}
	return errors.Join(errs...)
}
