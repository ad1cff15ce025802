package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/disjoint"
	"github.com/repertoire-skills/repertoire/internal/inspect"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Folders reports what is wrong with the skills in folders, which need not be in a
// catalog. strict is Options.Strict. A folder without a skill is an error. open is called if a skill has
// evals, to try them; nil means that they are not tried.
func Folders(ctx context.Context, folders []string, strict bool, open Opener) (*Report, error) {
	d := diagnosis{report: Report{folders: folders}}
	for _, folder := range folders {
		// As a source it would only be away.
		switch info, err := os.Stat(folder); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("folder %s does not exist", folder)
		case err != nil:
			return nil, fmt.Errorf("opening folder: %w", err)
		case !info.IsDir():
			return nil, fmt.Errorf("%s is not a folder; name the folder of a skill, or one above it", folder)
		}
		src, err := source.Dir(folder, &source.Options{Label: folder})
		if err != nil {
			return nil, err
		}
		before := d.report.Skills + len(d.report.Findings)
		d.walk(ctx, src, strict, true)
		if d.report.Skills+len(d.report.Findings) == before {
			return nil, fmt.Errorf("no SKILL.md in %s", folder)
		}
	}
	d.inspectNames(inspect.Names)
	d.tryEvals(ctx, open)
	d.report.finish()
	return &d.report, ctx.Err()
}

// Sources reports what is wrong with the skills of sources, for a catalog that cannot be
// asked. strict is Options.Strict.
func Sources(ctx context.Context, sources []source.Source, strict bool) (*Report, error) {
	var d diagnosis
	for _, src := range sources {
		d.walk(ctx, src, strict, true)
	}
	d.inspectNames(inspect.Names)
	d.report.finish()
	return &d.report, ctx.Err()
}

// A diagnosis collects findings.
type diagnosis struct {
	report   Report
	byFolder map[string]string     // the folder of each skill of the catalog → its ID
	named    []inspect.Named       // the inspected skills
	family   disjoint.Sets[string] // of twins, by ID
	authored []authored            // skills of folders that have evals
}

// diagnosisOf returns a diagnosis of a catalog that knows where its skills are.
func diagnosisOf(all []repertoire.Entry) *diagnosis {
	d := &diagnosis{byFolder: make(map[string]string)}
	for _, e := range all {
		d.byFolder[folderOf(e.Location)] = e.ID
	}
	return d
}

// walk reads and checks every skill of a source; files: also its files.
func (d *diagnosis) walk(ctx context.Context, src source.Source, strict, files bool) {
	var list []examined
	watch := func(source.Trace) {} // without it, a walk does not look into the folders of skills
	for ref, err := range src.Skills(ctx, watch) {
		label := src.Info().Label
		if err != nil {
			p := skill.Problem{Rule: "unreadable", Severity: skill.Warning, Path: label, Message: err.Error()}
			var own interface{ Problem() skill.Problem }
			if errors.As(err, &own) {
				p = located(src, own.Problem())
			}
			d.add(label, "", p, false)
			continue
		}
		d.report.Skills++
		s, err := ref.Load()
		if err != nil {
			p := skill.Problem{Rule: "unreadable", Severity: skill.Error, Path: ref.Path, Message: err.Error()}
			if refused, ok := errors.AsType[*skill.ParseError](err); ok {
				p = refused.Problem
			}
			d.add(label, "", located(src, p), true)
			d.report.NotAnalysed++
			continue
		}
		problems := s.Problems
		if strict {
			problems = skill.Check(s)
		}
		for _, p := range problems {
			d.add(label, s.Name, located(src, p), false)
		}
		d.addInspected(src, &s.Meta, inspectOne(ctx, src, s))
		if !files {
			continue
		}
		c := readContents(ctx, src, path.Dir(ref.Path), path.Base(ref.Path), s)
		for _, p := range c.check(strict) {
			d.add(label, s.Name, p, false)
		}
		if prompts, _ := c.evals(); len(prompts) > 0 {
			d.authored = append(d.authored, authored{label, s.Name, c.path(c.file), prompts})
		}
		list = append(list, examined{looked: looked{Unread: len(c.unread)}})
	}
	d.unread(list)
}

// located makes the path of a problem absolute, so that it can be opened.
func located(src source.Source, p skill.Problem) skill.Problem {
	if root := src.Info().Root; root != "" && !filepath.IsAbs(p.Path) {
		p.Path = filepath.Join(root, filepath.FromSlash(p.Path))
	}
	return p
}

// add adds a problem of a source. name is the name of the skill; "" means that only the
// path tells. refused means that the skill is not offered because of the problem.
func (d *diagnosis) add(source, name string, p skill.Problem, refused bool) {
	if p.Path != source && !filepath.IsAbs(p.Path) && !strings.HasPrefix(p.Path, source+":") {
		p.Path = source + ":" + p.Path // an embedded file has no absolute path: name its source
	}
	f := Finding{Source: source, Skill: cmp.Or(d.skillAt(p.Path, refused), name), Problem: p, refused: refused}
	if f.Cost = costOf(p, f.Skill != ""); refused {
		f.Cost = Unseen
	}
	if dir := folderOf(p.Path); f.Skill == "" && dir != "" && strings.EqualFold(p.Path[len(dir)+1:], "SKILL.md") {
		f.Skill = dir[strings.LastIndexAny(dir, `/\:`)+1:]
	}
	d.report.Findings = append(d.report.Findings, f)
}

// skillAt returns the ID of the skill whose folder contains a path; "" means none. The
// instructions of a skill that is refused are in no other one, though one may lie above it.
func (d *diagnosis) skillAt(name string, refused bool) string {
	for folder := name; folder != ""; folder = folderOf(folder) {
		if id := d.byFolder[folder]; id != "" {
			return id
		}
		if refused && folder != name {
			break
		}
	}
	return ""
}

// folderOf returns the part of a path before the last separator, or "".
func folderOf(name string) string { return name[:max(0, strings.LastIndexAny(name, `/\`))] }
