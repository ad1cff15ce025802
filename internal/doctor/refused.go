package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// isRefusal reports whether a skill is refused because of a problem that indexing found.
func isRefusal(p skill.Problem) bool {
	return p.Severity == skill.Error && ruleOf(p.Rule).effect == refuses
}

// Refused returns the skills of a catalog that are refused, with the reasons.
func Refused(ctx context.Context, c *repertoire.Catalog) ([]Finding, error) {
	d := diagnosis{}
	if _, err := d.indexed(ctx, c, new(memory)); err != nil {
		return nil, err
	}
	var list []Finding
	for _, f := range d.report.Findings {
		if f.refused {
			list = append(list, f)
		}
	}
	return list, nil
}

// A RefusedError says why the catalog does not have a skill that is there.
type RefusedError struct{ Finding }

func (e *RefusedError) Error() string {
	place := strings.TrimSuffix(fmt.Sprintf("%s:%d", e.Path, e.Line), ":0")
	text := fmt.Sprintf("%s is refused: %s: %s", e.Skill, place, e.Message)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap makes errors.Is(err, skill.ErrNotFound) hold.
func (e *RefusedError) Unwrap() error { return skill.ErrNotFound }

// WhyRefused returns a *RefusedError if a skill that the catalog does not have is there and was
// refused: a skill whose folder, or whose file, has this name; nil means that there is none.
func WhyRefused(ctx context.Context, c *repertoire.Catalog, name string) error {
	list, err := Refused(ctx, c)
	if err != nil {
		return err
	}
	source, base, ok := strings.Cut(name, "/")
	for _, f := range list {
		if f.isAbout(name) || f.calledItself(name) || ok && f.Source == source && (f.isAbout(base) || f.calledItself(base)) {
			return &RefusedError{f}
		}
	}
	return nil
}

// calledItself reports whether a refused file states a name.
func (f *Finding) calledItself(name string) bool {
	const most = skill.MaxFile
	text, err := regular.ReadShort(f.Path, most)
	if err != nil { // it is not on disk, or is refused for its size
		return false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "name:"); ok {
			return strings.EqualFold(strings.Trim(strings.TrimSpace(value), `"'`), name)
		}
	}
	return false
}

// PassedOver returns what walks of sources found that somebody may mean as a skill, and that is
// none of its own.
func PassedOver(sources []source.Source, reports []repertoire.Report) []skill.Problem {
	var list []skill.Problem
	for i, report := range reports {
		for _, p := range report.Problems {
			if slices.Contains([]string{"skill-at-top", "skill-file", "skill-in-skill", "no-skill-file"}, p.Rule) && i < len(sources) {
				list = append(list, located(sources[i], p))
			}
		}
	}
	return list
}
