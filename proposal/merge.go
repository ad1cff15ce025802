package proposal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/repertoire-skills/repertoire/source"
)

// A ConflictError says that a proposal and what was changed since do not go together.
type ConflictError struct {
	Path       string
	Line, Last int    // the lines of the file as it is now, from 1; Last < Line means before Line
	Base       string // what both changed
	Now        string // what it is now
	Proposed   string // what the proposal makes of it
}

func (e *ConflictError) Error() string {
	where := fmt.Sprintf("lines %d to %d", e.Line, e.Last)
	switch {
	case e.Line == 0:
		where = "the whole file"
	case e.Last < e.Line:
		where = fmt.Sprintf("before line %d", e.Line)
	case e.Last == e.Line:
		where = fmt.Sprintf("line %d", e.Line)
	}
	return fmt.Sprintf("%s, %s: changed since the proposal was made, to %s, where the proposal has %s; "+
		"reject it and have it proposed anew", e.Path, where, excerpt(e.Now), excerpt(e.Proposed))
}

// merge3 returns the files of a skill with both the changes that a proposal made from base
// and what has become of base since. Errors are *ConflictError.
func merge3(base, now, proposed Files) (Files, error) {
	out := merged(now, nil)
	for _, name := range changed(base, proposed) {
		b, inBase := base[name]
		n, inNow := now[name]
		p, inProposed := proposed[name]
		switch {
		case inBase == inNow && string(b.Data) == string(n.Data): // only the proposal changed it
			if out[name] = p; inNow {
				out[name] = File{p.Data, n.Mode}
			}
			if !inProposed {
				delete(out, name)
			}
		case inNow == inProposed && string(n.Data) == string(p.Data): // both changed it alike
		case !inBase || !inNow || !inProposed || source.IsBinary(n.Data):
			return nil, &ConflictError{Path: name, Base: string(b.Data), Now: string(n.Data), Proposed: string(p.Data)}
		default:
			s, err := mergeText(string(b.Data), string(n.Data), string(p.Data))
			if err != nil {
				err.Path = name
				return nil, err
			}
			out[name] = File{[]byte(s), n.Mode}
		}
	}
	return out, nil
}

// A span replaces lines of a base.
type span struct {
	from, to int // lines, counted from 0; to is the first line after them
	lines    []string
}

// spans returns what a text changed of a base, as spans in order.
func spans(base, text string) []span {
	var list []span
	for _, e := range udiff.Lines(base, text) {
		s := span{from: strings.Count(base[:e.Start], "\n"), lines: split(e.New)}
		s.to = s.from + len(split(base[e.Start:e.End]))
		list = append(list, s)
	}
	return list
}

// split returns lines with their ends.
func split(s string) []string { return slices.Collect(strings.Lines(s)) }

// mergeText merges two texts that come from one base, line by line. Changes that touch each
// other must be the same.
func mergeText(base, now, proposed string) (string, *ConflictError) {
	lines := split(base)
	ours, theirs := spans(base, now), spans(base, proposed)
	var out []string
	done, line := 0, 0 // lines of base that are in out; lines of now that are behind
	for len(ours)+len(theirs) > 0 {
		from, to, i, j := group(ours, theirs)
		out = append(out, lines[done:from]...)
		line += from - done
		a, b := replaced(lines, from, to, ours[:i]), replaced(lines, from, to, theirs[:j])
		switch {
		case i == 0 || slices.Equal(a, b):
			out = append(out, b...)
		case j == 0:
			out = append(out, a...)
		default:
			return "", &ConflictError{Line: line + 1, Last: line + len(a), Base: strings.Join(lines[from:to], ""),
				Now: strings.Join(a, ""), Proposed: strings.Join(b, "")}
		}
		line += len(a)
		ours, theirs, done = ours[i:], theirs[j:], to
	}
	return strings.Join(append(out, lines[done:]...), ""), nil
}

// group returns the first lines of a base that are changed without a line between them that
// neither side changed, and how many spans of each side change them.
func group(ours, theirs []span) (from, to, i, j int) {
	switch {
	case len(ours) == 0:
		from = theirs[0].from
	case len(theirs) == 0:
		from = ours[0].from
	default:
		from = min(ours[0].from, theirs[0].from)
	}
	to = from
	for {
		switch {
		case i < len(ours) && ours[i].from <= to:
			to = max(to, ours[i].to)
			i++
		case j < len(theirs) && theirs[j].from <= to:
			to = max(to, theirs[j].to)
			j++
		default:
			return from, to, i, j
		}
	}
}

// replaced returns lines from to to of a base after spans were replaced.
func replaced(lines []string, from, to int, list []span) []string {
	var out []string
	for _, s := range list {
		out = append(append(out, lines[from:s.from]...), s.lines...)
		from = s.to
	}
	return append(out, lines[from:to]...)
}
