package doctor

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/inspect"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Folder reports signs that the skill in a folder on disk misleads its readers. A folder that
// cannot be read has none.
func Folder(ctx context.Context, folder string) []skill.Problem {
	src, err := source.Dir(folder, &source.Options{Single: true})
	if err != nil {
		return nil
	}
	s, err := source.Load(ctx, src, ".")
	if err != nil {
		return nil
	}
	return inspect.Skill(s, shipped(ctx, src, s))
}

// inspectOne looks for signs that a skill misleads its readers.
func inspectOne(ctx context.Context, src source.Source, s *skill.Skill) []skill.Problem {
	found := inspect.Skill(s, shipped(ctx, src, s))
	for i := range found {
		found[i] = located(src, found[i])
	}
	return found
}

// addInspected reports what the trust checks found in a skill, and keeps its name for inspectNames. It
// reads no more than the level 1 of the skill.
func (d *diagnosis) addInspected(src source.Source, m *skill.Meta, found []skill.Problem) {
	label := src.Info().Label
	at := located(src, skill.Problem{Path: m.Path}).Path
	if !filepath.IsAbs(at) {
		at = label + ":" + at
	}
	for _, p := range found {
		if p.Rule == inspect.NotAnalysedRule {
			d.report.NotAnalysed++
		}
		d.add(label, m.Name, p, false)
	}
	d.named = append(d.named, inspect.Named{Name: m.Name, Source: label, Path: at, About: m.Description})
}

// inspectNames reports names that imitate others. compare is inspect.Names, or knows what that returns.
func (d *diagnosis) inspectNames(compare func([]inspect.Named) []skill.Problem) {
	byPath := make(map[string]inspect.Named, len(d.named))
	for _, n := range d.named {
		byPath[n.Path] = n
	}
	for _, p := range compare(d.named) {
		n := byPath[p.Path]
		d.add(n.Source, n.Name, p, false)
	}
}

// shipped reads the files of a skill beside its SKILL.md, as far as they are inspected.
func shipped(ctx context.Context, src source.Source, s *skill.Skill) []inspect.File {
	var files []inspect.File
	left := int64(inspect.MaxSkill)
	for _, f := range s.Files {
		if f.Path == s.File() {
			continue
		}
		file := inspect.File{Path: f.Path, Size: f.Size}
		file.Data, file.Err = start(ctx, src, s.Dir(), f.Path, min(left, inspect.MaxFile))
		left -= int64(len(file.Data))
		files = append(files, file)
	}
	return files
}

// start reads a file up to a limit; of one that is not text, it reads no more than tells
// what it is.
func start(ctx context.Context, src source.Source, dir, name string, limit int64) ([]byte, error) {
	f, err := src.Open(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const head = 8 << 10
	data, err := io.ReadAll(io.LimitReader(f, min(limit, head)))
	if err != nil || len(data) < head || strings.Contains(string(data), "\x00") {
		return data, err
	}
	rest, err := io.ReadAll(io.LimitReader(f, limit-head))
	return append(data, rest...), err
}
