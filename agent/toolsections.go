package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/sections"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// Bounds of what is told of a long skill.
const (
	maxSections = 40 // rows of its table
	openingPart = 4  // its opening has the 4th part of Config.Long
)

// An opening is what read_skill gives of a skill; rest tells of what it leaves out.
type opening struct {
	text, rest string
	long       bool
}

// openingOf returns the whole instructions of a skill, or the first sections of long ones and a
// table of all sections.
func (c *Config) openingOf(b *contextprovider.Body) opening {
	if !c.isLong(b) {
		p := cut(b.Text, lines{})
		o := opening{text: p.text}
		if rest := p.rest(lines{}); rest != "" {
			o.rest = fmt.Sprintf("It is cut here; read_skill_resource with path SKILL.md and lines %s reads on.\n", rest)
		}
		return o
	}
	text, last := sections.Opening(skillFile, b.Text, c.Long/openingPart)
	return opening{text: cut(text, lines{}).text, rest: tableText(b.Text, last), long: true}
}

const skillFile = "SKILL.md"

// isLong reports whether read_skill gives only the opening of a skill.
func (c *Config) isLong(b *contextprovider.Body) bool { return c.Long > 0 && b.Tokens > c.Long }

// tableText lists the sections of a long text of which lines up to last are given.
func tableText(text string, last int) string {
	heads := sections.Heads(skillFile, text)
	list, rest := sections.Outline(heads, maxSections)
	var t strings.Builder
	fmt.Fprintf(&t, "It is long: only its opening, lines 1-%d of %d, follows here. search_skill_files finds where it says something, and read_skill_resource with path SKILL.md and lines %d- reads on.\n", last, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1, last+1)
	if len(list) == 0 {
		return t.String()
	}
	t.WriteString("Its sections with their tokens; read_skill with section gives one (a title, or \"Outer" + sections.Separator + "Inner\" where titles occur twice):\n")
	for _, h := range list {
		depth := len(h.Trail) - 1
		fmt.Fprintf(&t, "%s- %s (%d)\n", strings.Repeat("  ", depth), line(h.Trail[depth], maxLabel), h.Tokens)
	}
	if rest > 0 {
		fmt.Fprintf(&t, "%d more are below these.\n", rest)
	}
	return t.String()
}

// readSection answers with what is below a heading of a skill's files.
func readSection(ctx context.Context, s *acts, name, title string) (Reply, error) {
	found, err := s.findText(ctx, contextprovider.TextQuery{Skill: name, Section: title})
	return Reply{Kind: usage.Read, Text: passagesText(&found)}, err
}

// searchFiles answers with the sections of files that a question is about.
func searchFiles(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	q := contextprovider.TextQuery{Skill: in.Text("name"), Path: in.Text("path"), Text: in.Text("query")}
	if q.Skill == "" && q.Path != "" {
		return Reply{}, &tool.Problem{Fact: "Argument path is given without name", Hint: "a file is one of a skill; give both, or neither"}
	}
	found, err := s.findText(ctx, q)
	switch {
	case err != nil && (q.Path != "" || !errors.Is(err, fs.ErrNotExist)):
		return Reply{}, s.fileProblem(ctx, err, q.Skill, q.Path)
	case err != nil:
		return Reply{}, err
	}
	r := Reply{Text: passagesText(&found)}
	if q.Skill == "" {
		r.Kind = usage.Searched
	}
	return r, nil
}

// findText finds passages, and notes what of them the model gets.
func (s *acts) findText(ctx context.Context, q contextprovider.TextQuery) (contextprovider.Passages, error) {
	found, err := byName(q.Skill, func(name string) (contextprovider.Passages, error) {
		q.Skill = name
		return s.cfg.Catalog.FindText(ctx, q, s.cfg.Agent)
	})
	if err != nil {
		return found, s.failed("", q.Skill, err)
	}
	for i := range found.Skipped {
		if k := &found.Skipped[i]; k.Err != nil {
			k.Reason = s.problemOf(ctx, s.cfg.skillProblem(k.Err, k.ID)).Fact
		}
	}
	searched := usage.Event{Kind: usage.Searched, Prompt: q.Text}
	room := maxText
	for i := range found.Passages {
		p := &found.Passages[i]
		p.Text = tidy.Cut(s.filledPassage(ctx, p), room)
		room -= len(p.Text)
		if q.Skill != "" {
			s.note(usage.Event{Kind: usage.Read, Skills: usage.Named(p.ID), What: p.Path, Tokens: words.Tokens(p.Text)})
		} else if !slices.Contains(searched.IDs(), p.ID) {
			searched.Skills = append(searched.Skills, usage.Named(p.ID)...)
		}
	}
	if q.Skill == "" {
		s.note(searched)
	}
	return found, nil
}

// filledPassage returns the text of a passage; one of a SKILL.md has its placeholders filled.
func (s *acts) filledPassage(ctx context.Context, p *contextprovider.Passage) string {
	if !strings.Contains(p.Text, "{") || !slices.Contains(skill.FileNames, p.Path) {
		return p.Text
	}
	b, err := s.body(ctx, p.ID)
	if err != nil || filepath.Base(b.Location) != p.Path {
		return p.Text
	}
	b.Text = p.Text
	s.fill(ctx, &b)
	return b.Text
}

// maxSkipped bounds the files that an answer names because they could not be searched.
const maxSkipped = 5

// passagesText is an answer with passages.
func passagesText(f *contextprovider.Passages) string {
	var t strings.Builder
	if len(f.Passages) == 0 {
		fmt.Fprintf(&t, "Nothing was found in %d files of %d skills.\n", f.Files, f.Skills)
	}
	for i := range f.Passages {
		p := &f.Passages[i]
		fmt.Fprintf(&t, "Skill %s, %s, lines %d-%d, about %d tokens", line(p.ID, maxLabel), line(p.Path, maxLabel), p.First, p.Last, p.Tokens)
		if h := p.Heading(); h != "" {
			t.WriteString(", section " + line(h, maxLabel))
		}
		if p.At > p.First {
			fmt.Fprintf(&t, "; from line %d", p.At)
		}
		t.WriteString(":\n" + strings.TrimRight(p.Text, "\n") + "\n\n")
	}
	for i, k := range f.Skipped {
		if i == maxSkipped {
			fmt.Fprintf(&t, "%d more were not searched.\n", len(f.Skipped)-i)
			break
		}
		fmt.Fprintf(&t, "Not searched: %s: %s.\n", line(strings.TrimSpace(k.ID+" "+k.Path), maxLabel), line(k.Reason, maxMessage))
	}
	if mode := f.Unusual(); mode != "" {
		fmt.Fprintf(&t, "Ranking: %s.\n", mode)
	}
	if f.Partial {
		t.WriteString("There is more than was searched or is listed here; name a skill, and a path in it, to search less.\n")
	}
	return strings.TrimRight(t.String(), "\n")
}
