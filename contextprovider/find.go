package contextprovider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/sections"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// Bounds of FindText.
const (
	mostSkills     = 20      // without a name
	mostFiles      = 200     // of all skills together
	mostBytes      = 4 << 20 // of them
	mostFileBytes  = 1 << 20 // of one file
	mostPattern    = 1000    // bytes of a pattern
	usualPassages  = 5
	excerptBytes   = 800
	maxSectionText = 64 << 10 // bytes of a section that was asked for by its heading

	encoderWait = 500 * time.Millisecond // the first question about a file needs 40 ms on two processors
)

// A TextQuery says which parts of the files of skills are wanted. One of Text, Pattern and Section
// is set.
type TextQuery struct {
	Skill   string // ID or name; "" means the 20 skills that fit Text best
	Path    string // of the only file that is searched; "" means SKILL.md and all text files
	Text    string // words: the sections that have to do with them
	Pattern string // a regular expression of RE2: the sections with lines that match
	Section string // a heading, or a trail such as "Setup > Keys": all that is below it
	Limit   int    // most passages; 0 means 5
	Person  bool   // a person reads them, see search.Query
}

// A sectionError says that there is no such section. It is for whoever asks.
type sectionError string

func (e sectionError) Error() string    { return string(e) }
func (e sectionError) ForAsker() string { return string(e) }

// A Passage is a section of a file of a skill.
type Passage struct {
	ID      string   `json:"id"`                // of the skill
	Path    string   `json:"path"`              // of the file, in the skill
	SHA256  string   `json:"sha256"`            // of the file
	Trail   []string `json:"trail"`             // headings, the outermost first; none for text without
	Also    []string `json:"also,omitempty"`    // headings of further short parts that it holds
	First   int      `json:"first"`             // its lines in the file, from 1
	Last    int      `json:"last"`              //
	Tokens  int      `json:"tokens"`            // of all these lines, estimated
	Text    string   `json:"text"`              // an excerpt, the lines that match after their numbers, or all of it
	At      int      `json:"at"`                // the line at which Text begins
	Matches int      `json:"matches,omitempty"` // of Pattern: lines
}

// Passages are what FindText found.
type Passages struct {
	Passages []Passage `json:"passages"`          // best first; those of Pattern and Section in the order of the files
	Skills   int       `json:"skills"`            // that were searched
	Files    int       `json:"files"`             // of them
	Skipped  []Skipped `json:"skipped,omitempty"` // that could not be searched
	Partial  bool      `json:"partial,omitempty"` // there is more than was searched or is listed
	Mode     string    `json:"mode,omitempty"`    // of Text: what the order is based on, as in search.Answer
}

// Unusual returns Mode if something that usually ranks did not, such as an encoder that was late; else "".
func (f *Passages) Unusual() string {
	if f.Mode == "" || search.Usual(f.Mode) {
		return ""
	}
	return f.Mode
}

// Skipped is a file that could not be searched, or a skill if Path is "".
type Skipped struct {
	ID     string `json:"id"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason"`
	Err    error  `json:"-"` // that Reason tells of; nil for a file that is as it should be
}

// A text is a file that is searched.
type text struct {
	id, path, digest, text string
}

// FindText searches the files of one skill, or of the skills that fit a text best, as they are in
// their sources now.
func (p *Provider) FindText(ctx context.Context, q TextQuery, a *search.Agent) (Passages, error) {
	if err := q.Check(); err != nil {
		return Passages{}, err
	}
	if q.Skill == "" && (q.Text == "" || q.Path != "") {
		return Passages{}, errors.New("the name of a skill is missing: only a text is searched in several skills")
	}
	found := Passages{Passages: []Passage{}}
	texts, err := p.texts(ctx, &q, a, &found)
	if err != nil {
		return Passages{}, err
	}
	found.Files = len(texts)
	limit := cmp.Or(q.Limit, usualPassages)
	switch {
	case q.Section != "":
		err = found.named(texts, &q, limit)
	case q.Pattern != "":
		err = found.matching(texts, q.Pattern)
	default:
		err = p.rank(ctx, texts, q.Text, limit, &found)
	}
	if len(found.Passages) > limit {
		found.Passages, found.Partial = found.Passages[:limit], true
	}
	return found, errors.Join(err, ctx.Err())
}

// Check returns an error for a query that nothing can be found by.
func (q *TextQuery) Check() error {
	set := 0
	for _, s := range []string{q.Text, q.Pattern, q.Section} {
		if strings.TrimSpace(s) != "" {
			set++
		}
	}
	switch {
	case set != 1:
		return errors.New("give one of a text, a pattern and a section to search files for")
	case q.Limit < 0:
		return fmt.Errorf("the limit is %d; it is 1 or more", q.Limit)
	case len(q.Pattern) > mostPattern:
		return fmt.Errorf("the pattern has %d bytes, and may have %d", len(q.Pattern), mostPattern)
	}
	if _, err := regexp.Compile(q.Pattern); err != nil {
		return fmt.Errorf("the pattern is malformed: %w", err)
	}
	return nil
}

// Heading returns the headings of a passage on one line, "" for text without.
func (p *Passage) Heading() string {
	return strings.Join(append([]string{strings.Join(p.Trail, sections.Separator)}, p.Also...), " and ")
}

// add adds a passage: a section, and what is shown of it from a line.
func (f *Passages) add(t *text, s *sections.Section, shown string, at int) {
	trail := append([]string{}, s.Trail...)
	f.Passages = append(f.Passages, Passage{ID: t.id, Path: t.path, SHA256: t.digest, Trail: trail, Also: s.Also, First: s.First, Last: s.Last, Tokens: s.Tokens, Text: shown, At: at})
}

// skip notes what could not be searched.
func (f *Passages) skip(id, path, reason string) {
	f.Skipped = append(f.Skipped, Skipped{ID: id, Path: path, Reason: reason})
}

// skipFor notes what could not be read because of an error.
func (f *Passages) skipFor(id, path string, err error) {
	f.Skipped = append(f.Skipped, Skipped{id, path, err.Error(), err})
}

// rank adds the sections that have to do with a question.
func (p *Provider) rank(ctx context.Context, texts []text, question string, limit int, found *Passages) error {
	files := make([]*sections.File, len(texts))
	for i, t := range texts {
		var err error
		if files[i], err = p.sections.File(ctx, t.path, t.digest, t.text); err != nil {
			return err
		}
	}
	q := sections.Query{Text: question, Limit: limit, Wait: encoderWait}
	if c, ok := p.catalog.(sections.Encoding); ok {
		q.Encoder = c.Encoder(question)
	}
	hits, mode, err := sections.Rank(ctx, q, files)
	found.Mode = mode
	for _, h := range hits {
		s := &files[h.File].Sections[h.Section]
		shown, at := sections.Excerpt(s, question, excerptBytes)
		found.add(&texts[h.File], s, shown, at)
	}
	return err
}

// matching adds the sections with lines that match a pattern.
func (f *Passages) matching(texts []text, pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for i := range texts {
		for _, s := range sections.Split(texts[i].path, texts[i].text) {
			if lines, n := sections.Grep(&s, re); n > 0 {
				f.add(&texts[i], &s, lines, s.First)
				f.Passages[len(f.Passages)-1].Matches = n
			}
		}
	}
	return nil
}

// named adds the sections that a trail of headings names, up to one more than a limit: each costs a look at all
// of its file. None is an error that names similar ones.
func (f *Passages) named(texts []text, q *TextQuery, limit int) error {
	var known []string
	for i := range texts {
		t := &texts[i]
		heads := sections.Heads(t.path, t.text)
		for _, h := range sections.Named(heads, q.Section) {
			if len(f.Passages) > limit {
				return nil
			}
			shown := linesOf(t.text, h.First, h.Last)
			f.add(t, &sections.Section{Trail: h.Trail, First: h.First, Last: h.Last, Tokens: h.Tokens}, tidy.Cut(shown, maxSectionText), h.First)
		}
		for _, h := range heads {
			known = append(known, h.Trail[len(h.Trail)-1])
		}
	}
	if len(f.Passages) > 0 {
		return nil
	}
	where := "skill " + q.Skill
	if q.Path != "" {
		where = q.Path + " of " + where
	}
	return sectionError(fmt.Sprintf("%s has no section %q%s", where, q.Section, words.Suggest(q.Section, known)))
}

// linesOf returns some lines of a text, counted from 1.
func linesOf(text string, first, last int) string {
	n, start, end := 0, 0, 0
	for line := range strings.Lines(text) {
		if n++; n > last {
			break
		}
		if end += len(line); n < first {
			start = end
		}
	}
	return text[start:end]
}

// texts reads the files to search.
func (p *Provider) texts(ctx context.Context, q *TextQuery, a *search.Agent, found *Passages) ([]text, error) {
	var entries []search.Entry
	if q.Skill != "" {
		e, err := p.catalog.Lookup(ctx, q.Skill, a)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	} else {
		answer, err := p.catalog.Search(ctx, search.Query{Text: q.Text, Limit: mostSkills, Agent: a, Person: q.Person})
		if err != nil {
			return nil, err
		}
		for _, h := range answer.Hits {
			entries = append(entries, h.Entry)
		}
	}
	room := room{mostFiles, mostBytes}
	var list []text
	for _, e := range entries {
		texts, err := p.textsOf(ctx, e, q.Path, a, &room, found)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && q.Skill != "":
			return nil, err
		case err != nil:
			found.skipFor(e.ID, "", err)
			continue
		}
		found.Skills++
		list = append(list, texts...)
	}
	return list, nil
}

// room is how many files and bytes may still be read.
type room struct{ files, bytes int }

// textsOf reads the files of a skill, SKILL.md first. What cannot be searched is skipped, and never
// stops the rest.
func (p *Provider) textsOf(ctx context.Context, e search.Entry, only string, a *search.Agent, left *room, found *Passages) (list []text, err error) {
	in, err := p.read(ctx, e, false, a)
	if err != nil {
		return nil, err
	}
	found.Partial = found.Partial || in.Partial
	only = relativeTo(e.Source, folder(e), only)
	if clean, err := skill.CleanPath(only); err == nil && only != "" {
		only = clean
	}
	only = cmp.Or(find(in.Files, only), only)
	add := func(name string, c *Content) {
		left.files--
		left.bytes -= len(c.Data)
		switch t, _ := c.text(); {
		case c.Binary:
			found.skip(e.ID, name, "it is binary, or not UTF-8")
		case strings.TrimSpace(t) == "":
			found.skip(e.ID, name, "it is empty")
		default:
			list = append(list, text{e.ID, name, c.SHA256, t})
		}
	}
	if only == "" || only == e.File() {
		add(e.File(), &in.Content)
	}
	files := slices.DeleteFunc(slices.Clone(in.Files), func(f skill.File) bool { return f.Path == e.File() || only != "" && f.Path != only })
	slices.SortStableFunc(files, func(x, y skill.File) int {
		return cmp.Compare(slices.Index(skill.Kinds[:], x.Kind()), slices.Index(skill.Kinds[:], y.Kind()))
	})
	if only != "" && only != e.File() && len(files) == 0 {
		_, err := p.reader.File(ctx, &e, only) // which says why not
		return nil, cmp.Or(err, fmt.Errorf("skill %s does not list %s", e.ID, only))
	}
	for _, f := range files {
		switch {
		case f.Size > mostFileBytes:
			found.skip(e.ID, f.Path, fmt.Sprintf("it has %d bytes; up to %d are searched", f.Size, mostFileBytes))
			continue
		case left.files <= 0 || left.bytes < int(f.Size):
			found.Partial = true
			return list, nil
		}
		c, err := p.reader.File(ctx, &e, f.Path)
		if err == nil {
			err = p.verify(ctx, &e, f.Path, &c, a)
		}
		if err != nil {
			found.skipFor(e.ID, f.Path, err)
			continue
		}
		add(f.Path, &c)
	}
	return list, ctx.Err()
}
