package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Verdict sums up a report.
type Verdict struct {
	Skills    int    `json:"skills"`    // number of checked skills
	Unseen    int    `json:"unseen"`    // number of skills that no model sees as things are
	Confusing int    `json:"confusing"` // number of other skills that confuse a model that sees them
	Author    int    `json:"author"`    // number of other skills that only their authors can mend
	Setup     int    `json:"setup"`     // number of errors and warnings about clients and settings
	Ignored   int    `json:"ignored"`   // number of findings that the configuration leaves out
	First     string `json:"first"`     // what matters first, one sentence; "" means nothing
	Next      string `json:"next"`      // the next command, without the name of the program; "" means none
}

// Verdict sums up the report. It counts each skill once, for its most costly finding.
func (r *Report) Verdict() Verdict {
	v := Verdict{Skills: r.Skills, Ignored: r.Ignored}
	var first *Row
	for _, s := range r.Sections() {
		switch s.Group {
		case Unseen:
			v.Unseen = s.Skills
		case Confusing:
			v.Confusing = s.Skills
		case Author:
			v.Author = s.Skills
		case Setup:
			v.Setup = s.Problems
		}
		for i, row := range s.Rows {
			if u := row.first.urgency(); u < nothing && (first == nil || u < first.first.urgency()) {
				first = &s.Rows[i]
			}
		}
	}
	if first != nil {
		v.First, v.Next = first.sentence(), first.first.next()
		if r.OfFolders() { // no catalog may know their skills by name
			v.Next = r.all()
		}
	}
	return v
}

// String returns the verdict in one or two sentences, without the next command.
func (v Verdict) String() string {
	var parts []string
	say := func(n int, one, many string) {
		switch n {
		case 0:
		case 1:
			parts = append(parts, one)
		default:
			parts = append(parts, figures.Thousands(n)+" "+many)
		}
	}
	say(v.Unseen, "1 is not seen by any model now", "are not seen by any model now")
	say(v.Confusing, "1 may confuse models", "may confuse models")
	say(v.Author, "1 is for its author to mend", "are for their authors to mend")
	say(v.Setup, "1 client or setting needs you", "clients or settings need you")
	s := figures.Count(v.Skills, "skill") + ": "
	switch {
	case len(parts) > 0:
		s += strings.Join(parts, ", ")
	case v.First != "":
		s += "no model misses any of them"
	default:
		s += "nothing is wrong"
	}
	switch v.Ignored {
	case 0:
	case 1:
		s += "; 1 finding is ignored"
	default:
		s += "; " + figures.Thousands(v.Ignored) + " findings are ignored"
	}
	s += "."
	if v.First != "" {
		s += " First: " + strings.TrimSuffix(v.First, ".") + "."
	}
	return s
}

// sentence says in one sentence what a row is about.
func (r *Row) sentence() string {
	switch {
	case r.Many != nil:
		return fmt.Sprintf("%s %s", r.number(), lowerFirst(r.Text))
	case r.Skill != "":
		return r.Skill + ": " + r.Text
	}
	return words.FirstSentence(r.Text, maxSentence)
}

// maxSentence is the most characters of what matters first.
const maxSentence = 150

// nothing is the urgency of a finding with which nobody need do anything.
const nothing = 9

// urgency says how soon a finding matters; 0 is first. What keeps a client from all its
// skills comes before what keeps it from one.
func (f *Finding) urgency() int {
	switch group := f.Group(); {
	case f.Rule == ruleRefused:
		return -1
	case group == Unseen && f.Skill == "" && f.Severity == skill.Note: // a hook offers the skills
		return nothing
	case group == Setup:
		return [...]int{0, 3, 5}[weight(f.Severity)]
	case group == Unseen && f.Skill == "":
		return 1
	case group == Unseen, group == Confusing && f.Severity == skill.Error:
		return 2
	case group == Confusing && f.Severity == skill.Warning:
		return 4
	case group == Confusing:
		return 6
	}
	return 7
}

// OfFolders reports whether the report is about folders instead of a catalog.
func (r *Report) OfFolders() bool { return r.folders != nil }

// all returns the command that prints each finding about folders, without the name of the program.
func (r *Report) all() string {
	command := "doctor --all"
	for _, folder := range r.folders {
		if strings.ContainsFunc(folder, special) {
			return "doctor --all FOLDER"
		}
		command += " " + argument(folder)
	}
	return command
}

// special reports whether a shell may change a text with this character, even in quotes.
func special(r rune) bool { return !words.IsLetter(r) && !strings.ContainsRune("-_./:@ ", r) }

// argument returns an argument of a command without special characters.
func argument(s string) string {
	if strings.Contains(s, " ") {
		return strconv.Quote(s)
	}
	return s
}

// next returns the command with which a hint begins, or else the one that shows more, if
// there is more. What stands elsewhere in a hint may be the text of a skill, which must not say what to run.
func (f *Finding) next() string {
	if rest, ok := strings.CutPrefix(f.Hint, `"skills `); ok {
		if command, _, ok := strings.Cut(rest, `"`); ok {
			return command
		}
	}
	switch {
	case f.Skill == "" && f.Hint == "": // the message says everything
		return ""
	case f.Skill == "" || strings.ContainsFunc(f.Skill, special): // in no quotes does each shell leave it alone
		return "doctor --all"
	case strings.HasPrefix(f.Skill, "-"): // no flag
		return "doctor -- " + strconv.Quote(f.Skill)
	}
	return "doctor " + argument(f.Skill)
}
