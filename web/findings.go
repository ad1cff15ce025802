package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/skill"
)

// A checkup keeps the last complete check, which may take long in a large catalog.
type checkup struct {
	running sync.Mutex // held during a complete check

	mu     sync.Mutex
	report *doctor.Report // nil before the first one
	at     time.Time
}

func (c *checkup) last() (*doctor.Report, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report, c.at
}

func (c *checkup) keep(r *doctor.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report, c.at = r, time.Now()
}

// fewFindings is how many findings a reader takes in without looking at the rules first.
const fewFindings = 12

// A diagnosis is what the page of findings shows.
type diagnosis struct {
	Verdict  doctor.Verdict
	At       time.Time // of the complete check; zero if the files of skills were not looked at
	Query    string
	Groups   []findingGroup
	Filtered bool // Query leaves out findings
	Few      bool // so few findings are left that all are shown at once
}

// A findingGroup has the findings that cost the same.
type findingGroup struct {
	Title string
	Rules []brokenRule
}

// A brokenRule is a rule with what it has found.
type brokenRule struct {
	doctor.Rule
	Findings rows[finding]
}

// A finding is a finding of doctor, whose skill may have a page.
type finding struct {
	doctor.Finding
	Known bool // the skill is in the catalog: it was not refused
}

// getFindings shows what is wrong with the skills: what the catalog knows, or what the last
// complete check has found.
func (hs *handlers) getFindings(v *visit) (answer, error) {
	report, at := hs.checkup.last()
	if report == nil {
		var err error
		if report, err = hs.quick(v.Context()); err != nil {
			return answer{}, hs.findingsError(err)
		}
	}
	query := strings.TrimSpace(v.FormValue("q"))
	d := diagnosis{Verdict: report.Verdict(), At: at, Query: query}
	findings := slices.DeleteFunc(slices.Clone(report.Findings), func(f doctor.Finding) bool { return !mentions(&f, query) })
	d.Filtered, d.Few = len(findings) < len(report.Findings), len(findings) <= fewFindings
	entries, err := hs.entries(v.Context())
	if err != nil {
		return answer{}, err
	}
	known := make(map[string]bool, len(entries))
	for _, e := range entries {
		known[e.ID] = true
	}
	d.Groups = findingGroups(findings, known)
	return answer{data: d}, nil
}

// postFindings checks everything.
func (hs *handlers) postFindings(v *visit) (answer, error) {
	if !hs.checkup.running.TryLock() {
		return answer{}, &statusError{http.StatusConflict, errors.New("a check is running already; look at its findings in a moment")}
	}
	defer hs.checkup.running.Unlock()
	report, err := hs.check(v.Context())
	if err != nil {
		return answer{}, hs.findingsError(err)
	}
	hs.checkup.keep(report)
	return answer{goTo: hs.opts.link("doctor")}, nil
}

// stale reports whether the catalog is a copy of a shared one that does not answer.
func (hs *handlers) stale() bool { return hs.catalog.Shared().State == repertoire.Stale }

// findingsError returns why the catalog did not answer: findings are not in the copy of a shared one.
func (hs *handlers) findingsError(err error) error {
	if !hs.stale() {
		return err
	}
	return hs.goneError("findings are", err)
}

// goneError returns the error of what is only in a shared catalog, which does not answer.
func (hs *handlers) goneError(what string, err error) error {
	if hs.opts.Key == "" {
		hs.opts.Logger.Warn(what+" not shown", "error", err)
		err = errors.New("try again in a moment")
	}
	return &statusError{http.StatusServiceUnavailable, fmt.Errorf("%s in the shared catalog, which does not answer now: %w", what, err)}
}

// entries returns all skills, also those that are not offered.
func (hs *handlers) entries(ctx context.Context) ([]repertoire.Entry, error) {
	return hs.catalog.List(ctx, nil, &repertoire.ListOptions{Shadowed: true, Held: true})
}

// quick reports what the catalog knows.
func (hs *handlers) quick(ctx context.Context) (*doctor.Report, error) {
	entries, err := hs.entries(ctx)
	if err != nil {
		return nil, err
	}
	report, err := doctor.Quick(ctx, hs.catalog, entries)
	if err != nil {
		return nil, err
	}
	report.Ignore(hs.opts.Ignore, hs.catalog.Config().Sources, false)
	// An entry that matches nothing now may match what a complete check finds.
	report.Findings = slices.DeleteFunc(report.Findings, func(f doctor.Finding) bool { return f.Rule == "ignore" })
	return report, nil
}

// check reports everything.
func (hs *handlers) check(ctx context.Context) (*doctor.Report, error) {
	entries, err := hs.entries(ctx)
	if err != nil {
		return nil, err
	}
	report, err := doctor.Catalog(ctx, hs.catalog, entries, doctor.Options{})
	if err == nil {
		report.Ignore(hs.opts.Ignore, hs.catalog.Config().Sources, false)
	}
	return report, err
}

// mentions reports whether a finding has all words of a query.
func mentions(f *doctor.Finding, query string) bool {
	text := strings.ToLower(strings.Join([]string{f.Rule, string(f.Severity), f.Skill, f.Source, f.Path, f.Message}, "\n"))
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// findingGroups returns findings by group and rule, the most urgent rule first. known has the
// IDs of all skills.
func findingGroups(findings []doctor.Finding, known map[string]bool) []findingGroup {
	rules := make(map[string]doctor.Rule)
	for _, r := range doctor.Rules() {
		rules[r.ID] = r
	}
	severities := []skill.Severity{skill.Error, skill.Warning, skill.Note}
	var groups []findingGroup
	for _, cost := range doctor.Groups() {
		byRule := make(map[string][]finding)
		for _, f := range findings {
			if f.Group() == cost {
				byRule[f.Rule] = append(byRule[f.Rule], finding{f, known[f.Skill]})
			}
		}
		g := findingGroup{Title: cost.Title()}
		for id, list := range byRule {
			r := rules[id]
			r.ID, r.Severity = id, list[0].Severity // the worst, as findings are ordered
			g.Rules = append(g.Rules, brokenRule{r, firstRows(list)})
		}
		slices.SortFunc(g.Rules, func(a, b brokenRule) int {
			return cmp.Or(slices.Index(severities, a.Severity)-slices.Index(severities, b.Severity), cmp.Compare(a.ID, b.ID))
		})
		if len(g.Rules) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}
