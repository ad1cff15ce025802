package doctor

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/inspect"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// inspectSources reports signs that skills of sources mislead their readers. It says
// nothing about skills that cannot be read: others report them.
func (d *diagnosis) inspectSources(ctx context.Context, sources []source.Source) {
	var list []inspected
	for _, src := range slices.SortedStableFunc(slices.Values(sources), byPrecedence) {
		for ref, err := range src.Skills(ctx, nil) {
			if err == nil {
				list = append(list, inspected{src: src, load: ref.Load})
			}
		}
	}
	inParallel(ctx, len(list), func(i int) {
		if s, err := list[i].load(); err == nil {
			list[i] = inspectOne(ctx, list[i].src, s)
		}
	})
	for _, one := range list {
		d.addInspected(one)
	}
	d.inspectNames()
}

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

func byPrecedence(a, b source.Source) int { return cmp.Compare(b.Info().Priority, a.Info().Priority) }

// Inspected is what the trust checks say of one skill.
type inspected struct {
	src   source.Source
	load  func() (*skill.Skill, error)
	found []skill.Problem
	named inspect.Named // without a path, the skill could not be read
}

// inspectOne looks for signs that a skill misleads its readers.
func inspectOne(ctx context.Context, src source.Source, s *skill.Skill) inspected {
	at := located(src, skill.Problem{Path: s.Path}).Path
	if !filepath.IsAbs(at) {
		at = src.Info().Label + ":" + at
	}
	return inspected{src: src, found: inspect.Skill(s, shipped(ctx, src, s)),
		named: inspect.Named{Name: s.Name, Source: src.Info().Label, Path: at, About: s.Description}}
}

// addInspected reports what the trust checks found, and keeps the name of the skill for
// inspectNames.
func (d *diagnosis) addInspected(one inspected) {
	if one.named.Path == "" {
		d.report.NotAnalysed++
		return
	}
	for _, p := range one.found {
		if p.Rule == inspect.NotAnalysedRule {
			d.report.NotAnalysed++
		}
		d.add(one.named.Source, one.named.Name, located(one.src, p), false)
	}
	d.named = append(d.named, one.named)
}

// inspectNames reports names that imitate others.
func (d *diagnosis) inspectNames() {
	byPath := make(map[string]inspect.Named, len(d.named))
	for _, n := range d.named {
		byPath[n.Path] = n
	}
	for _, p := range inspect.Names(d.named) {
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
