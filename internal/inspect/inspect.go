// Package inspect looks for signs that a skill misleads its reader: hidden text, names
// that imitate others, commands that run what they fetch, credentials that are sent away,
// instructions to hide something, descriptions that want every prompt.
//
// The one rule: a finding is a sign that shows its evidence, never a verdict. Nothing
// found means "nothing found by these checks", and what was not looked at is said.
package inspect

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// NotAnalysedRule is the rule of the note that tells which files were not looked at.
const NotAnalysedRule = "not-analysed"

// Limits on what is looked at.
const (
	MaxFile  = 1 << 20 // bytes of a file
	MaxSkill = 8 << 20 // bytes of all files of a skill
)

// A File is a file of a skill beside its SKILL.md.
type File struct {
	Path string // slash-separated, relative to the skill's folder
	Size int64  // bytes
	Data []byte // the contents, or the start of them
	Err  error  // why Data is incomplete although the file is small enough; nil if it is complete
}

// Skill checks the text, the description and the files of a skill, and returns what it finds,
// sorted by path and line; paths are relative to the source. It does not compare the name with
// others, see Names. Hidden characters in a SKILL.md are reported by package
// skill; Skill reports those that spell a text.
func Skill(s *skill.Skill, files []File) []skill.Problem {
	in := inspection{dir: s.Dir(), security: security().MatchString(lower(s.Name + " " + s.Description))}
	raw := s.Text()
	in.hiddenText(s.Path, raw)
	in.privateUse(s.Path, raw)
	in.text(s.Path, tidy.Clean(raw))
	in.description(s)
	for _, f := range files {
		if !slices.Contains(skill.FileNames, f.Path) {
			in.file(f)
		}
	}
	return in.result(s.Path)
}

// An inspection collects what is found in one skill.
type inspection struct {
	dir      string   // of the skill
	security bool     // the skill says that it is about security
	matched  int      // bytes that were matched with patterns
	skipped  []string // files that were not analysed, with the reason
	hidden   []string // hidden files and folders that were told
	found    []skill.Problem
}

// security matches names and descriptions of skills about security. Such skills quote
// what the rules for texts look for, so there it is a note.
var security = lazyregexp.New(`\b(?:security|malware|forensics?|pen-?test\w*|penetration test\w*|xss|exploit\w*|threats?|incident response|red[ -]team\w*|prompt injection|jailbreak\w*|vulnerabilit\w+|phishing|attacks?)\b`)

func (in *inspection) add(p skill.Problem) { in.found = append(in.found, p) }

// result sorts the findings. at is the path of the SKILL.md.
func (in *inspection) result(at string) []skill.Problem {
	if n := len(in.skipped); n > 0 {
		const most = 3
		list := strings.Join(in.skipped[:min(most, n)], ", ")
		if n > most {
			list += fmt.Sprintf(" and %d more", n-most)
		}
		in.add(skill.Problem{Rule: NotAnalysedRule, Severity: skill.Note, Path: at,
			Message: "not looked at by the trust checks: " + list, Hint: "look at them yourself before you trust the skill"})
	}
	slices.SortStableFunc(in.found, func(a, b skill.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return in.found
}

// at returns the path in the source of a file of the skill.
func (in *inspection) at(name string) string { return path.Join(in.dir, name) }

// evidence returns a part of a text as one short line without hidden characters.
func evidence(text string) string { return tidy.Shorten(tidy.Line(text), 120) }
