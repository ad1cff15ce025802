package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// Bounds of what an answer quotes of names and errors, in characters.
const (
	maxLabel  = 200
	maxFolder = 1000
)

// line returns s on one line, with at most n characters.
func line(s string, n int) string { return tidy.Shorten(tidy.Line(s), n) }

// readSkill answers with the instructions of a skill under a short header. The instructions of
// skills that it requires follow while each fits whole: the model reads the others by their names.
func readSkill(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	if title := in.Text("section"); title != "" {
		return readSection(ctx, s, in.Text("name"), title)
	}
	b, err := s.body(ctx, in.Text("name"))
	if err != nil {
		return Reply{}, s.failed("", in.Text("name"), err)
	}
	s.fill(ctx, &b)
	for i := range b.Required {
		s.fill(ctx, &b.Required[i])
	}
	part, given := s.cfg.openingOf(&b), b
	if part.long {
		given.Tokens = words.Tokens(part.text)
	}
	switch again := !s.give(given); {
	case again && part.long:
		return Reply{Text: "The opening of the skill " + line(b.ID, maxLabel) + " stands in this conversation already, and has not changed. Read_skill with section gives a part of the rest, and search_skill_files finds the one that you need."}, nil
	case again:
		return Reply{Text: "The instructions of the skill " + line(b.ID, maxLabel) + " stand in this conversation already, and have not changed."}, nil
	}
	var t strings.Builder
	fmt.Fprintf(&t, "Skill %s from %s, about %d tokens. %s", line(b.ID, maxLabel), line(b.Source, maxLabel), b.Tokens, s.placeText(ctx, &b))
	with := s.giveRequired(&b, maxText-len(part.text))
	t.WriteString(s.aboutSkill(&b, with))
	if b.Stale {
		t.WriteString("It changed since it was indexed; this is how it is now.\n")
	}
	if b.HiddenChars > 0 {
		fmt.Fprintf(&t, "%d invisible characters were removed from it.\n", b.HiddenChars)
	}
	t.WriteString(part.rest)
	t.WriteString("The rest of this text is its SKILL.md, written by its author.\n\n")
	t.WriteString(part.text)
	for i := range with {
		q := &with[i]
		fmt.Fprintf(&t, "\n\nSkill %s, which is required. %sThe rest up to the next skill is its SKILL.md, written by its author.\n\n%s", line(q.ID, maxLabel), s.placeText(ctx, q), q.Text)
	}
	return Reply{Text: t.String()}, nil
}

// fill fills the placeholders in the instructions of a skill that the model is given.
func (s *acts) fill(ctx context.Context, b *contextprovider.Body) {
	fillFor(b, s.folder(ctx, b), s.cfg.Budget.Local)
}

// fillFor fills the placeholders in the instructions of a skill with the folder at which commands
// see its files. If that is its own folder, it does so only where the model opens local files.
func fillFor(b *contextprovider.Body, at string, local bool) {
	if at != b.Folder {
		b.Text = contextprovider.Filled(b.Text, at, "")
	} else if local {
		b.Fill()
	}
}

// giveRequired notes that the model gets the skills that one requires, each of which fits into
// what is left of room bytes and is new to it, and returns them.
func (s *acts) giveRequired(b *contextprovider.Body, room int) (list []contextprovider.Body) {
	for _, q := range b.Required {
		if len(q.Text) <= room && !s.cfg.isLong(&q) && s.give(q) {
			room -= len(q.Text)
			list = append(list, q)
		}
	}
	return list
}

// placeText says where the files of a skill are.
func (s *acts) placeText(ctx context.Context, b *contextprovider.Body) string {
	folder, at := s.folder(ctx, b), ""
	if s.cfg.Place != nil {
		at = s.cfg.Place(ctx, *b)
	}
	text := "Its folder: " + line(folder, maxFolder) + "\n"
	if at != "" {
		text += "Commands of sandbox_execute and run_skill_script find it at " + line(at, maxFolder) + ".\n"
	}
	return text
}

// aboutSkill says which files a skill has, and what it asks for. with are the skills that are
// loaded with it.
func (s *acts) aboutSkill(b *contextprovider.Body, with []contextprovider.Body) string {
	var t strings.Builder
	if len(b.Resources) > 0 {
		t.WriteString("Its other files (read_skill_resource reads one): " + filesText(b) + "\n")
	}
	for _, q := range b.Requires {
		switch name := line(q.Name, maxLabel); {
		case slices.ContainsFunc(with, func(w contextprovider.Body) bool { return w.ID == q.Name }):
			t.WriteString("It asks for the skill " + name + " too, which follows it here.\n")
		case q.Available:
			t.WriteString("It asks for the skill " + name + " too; read_skill loads it.\n")
		default:
			t.WriteString("It asks for " + name + ", which the catalog does not have.\n")
		}
	}
	return t.String() + lackText(b)
}

// filesText names the files of a skill, the first of many.
func filesText(b *contextprovider.Body) string {
	var names []string
	for _, f := range b.Resources[:min(len(b.Resources), maxFiles)] {
		names = append(names, line(f.Path, maxLabel))
	}
	text := strings.Join(names, ", ")
	if n := len(b.Resources) - maxFiles; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// lackText says what a skill needs and this machine lacks; "" if that is nothing.
func lackText(b *contextprovider.Body) string {
	if b.Unavailable == "" {
		return ""
	}
	return "This machine may lack something: the skill " + line(b.Unavailable, maxMessage) + ".\n"
}

// readResource answers with a file of a skill, or some lines of it.
func readResource(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	name, file := in.Text("name"), in.Text("path")
	l, err := parseLines(in.Text("lines"))
	if err != nil {
		return Reply{}, err
	}
	f, err := s.read(ctx, name, file)
	if err != nil {
		return Reply{}, s.fileProblem(ctx, err, name, file)
	}
	if f.Binary {
		return Reply{Text: fmt.Sprintf("%s is a binary file of %d bytes (sha256 %s), which cannot be shown as text; a script of the skill may use it.", line(f.Path, maxLabel), f.Size, f.SHA256), File: &f}, nil
	}
	p := cut(f.Text, l)
	if l.first > max(1, p.of) {
		return Reply{}, &tool.Problem{Fact: fmt.Sprintf("The file has %d lines only", p.of)}
	}
	var t strings.Builder
	if p.first > 1 || p.last < p.of {
		fmt.Fprintf(&t, "Lines %d-%d of %d of %s:\n", p.first, p.last, p.of, line(f.Path, maxLabel))
	}
	if f.HiddenChars > 0 {
		fmt.Fprintf(&t, "(%d invisible characters were removed.)\n", f.HiddenChars)
	}
	t.WriteString(p.text)
	if rest := p.rest(l); rest != "" {
		fmt.Fprintf(&t, "\n(Cut here; lines %s read on.)", rest)
	}
	return Reply{Text: t.String()}, nil
}

// lines is a range of lines, counted from 1; the zero value means all lines.
type lines struct{ first, last int }

// parseLines reads "10-40", "10-" or "10".
func parseLines(s string) (l lines, err error) {
	if s == "" {
		return l, nil
	}
	from, to, ranged := strings.Cut(s, "-")
	if l.first, err = lineNumber(from); err != nil {
		return l, err
	}
	switch {
	case !ranged:
		l.last = l.first
	case to != "":
		if l.last, err = lineNumber(to); err == nil && l.last < l.first {
			err = &tool.Problem{Fact: "Argument lines ends before it starts"}
		}
	}
	return l, err
}

func lineNumber(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 || s[0] == '+' {
		return 0, &tool.Problem{Fact: `Argument lines is not a range of lines, such as "10-40", "10-" or "10"`}
	}
	return int(n), nil
}

// A part is some lines of a text.
type part struct {
	text        string
	first, last int // numbers of its lines; last < first means that it has none
	of          int // number of lines in the whole text
	next        int // line to go on with; 0 means that nothing was cut off
}

// rest returns the range of the lines that were cut off from the lines l, "" for none.
func (p part) rest(l lines) string {
	switch {
	case p.next == 0:
		return ""
	case l.last == 0:
		return fmt.Sprintf("%d-", p.next)
	}
	return fmt.Sprintf("%d-%d", p.next, l.last)
}

// cut returns the lines l of s, at most maxText bytes of them. It also cuts a single
// line that is longer.
func cut(s string, l lines) part {
	p := part{first: max(1, l.first)}
	p.last = p.first - 1
	start, end := 0, 0
	for line := range strings.Lines(s) {
		p.of++
		switch {
		case p.of < p.first:
			start += len(line)
			end = start
		case p.next > 0 || l.last > 0 && p.of > l.last: // it is only counted
		case end-start+len(line) <= maxText:
			end, p.last = end+len(line), p.of
		case end == start: // it is too long itself
			end, p.last, p.next = start+len(tidy.Cut(line, maxText)), p.of, p.of+1
		default:
			p.next = p.of
		}
	}
	if p.next > p.of {
		p.next = 0
	}
	p.text = s[start:end]
	return p
}
