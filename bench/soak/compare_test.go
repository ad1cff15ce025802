//go:build soak && unix

package soak

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A difference is an answer that a fresh catalog does not give.
type difference struct {
	door   string // through which it came, or "hang" and the like
	what   string
	detail string
	heals  string // what makes the answer right again
}

// An ask is a question to a catalog. A kind is a command; a search lists what hardly fits, too.
type ask struct{ kind, agent, text string }

// args returns the arguments of the command.
func (a ask) args() []string {
	args := []string{"--json"}
	if a.agent != "" {
		args = append(args, "--agent", a.agent)
	}
	switch a.kind {
	case "list":
		return append(args, "list", "--shadowed")
	case "search":
		args = append(args, "search", "--all", "-n", "1000")
	default:
		args = append(args, a.kind)
	}
	return append(args, a.text)
}

func (a ask) String() string { return "skills " + strings.Join(a.args(), " ") }

// An answer is what a door said to an ask.
type answer struct {
	kind   string // of the ask
	failed string // its error, "" for none
	text   string // all that the command printed, without times
	note   string // what it printed beside the answer
	output
}

// output has the fields of the JSON of list, search, context and show that are compared.
type output struct {
	Mode              string
	Demand, Threshold float64
	Skills, Results   []hit
	Pinned            []string
	Text              string // of a block, or of the SKILL.md that show prints
	Stale             bool
}

// A hit is a skill of an answer.
type hit struct {
	ID, Name, Description, Source, Path string
	ShadowedBy                          string `json:"shadowed_by"`
	Tags, Copies                        []string
	Location                            string // the path, where the server tells it
	Away                                bool   // listed, though its root is not there
	Score, Probability                  float64
	Why                                 struct {
		Terms []struct { // of the score
			Name  string
			Value float64
		}
	}
}

// isInText reports whether the skill is among those that the text leg has found; known is
// false where a door does not tell.
func (h hit) isInText() (found, known bool) {
	for _, t := range h.Why.Terms {
		found = found || t.Name == "text" && t.Value > 0
	}
	return found, len(h.Why.Terms) > 0
}

// hits returns the skills of any kind of answer.
func (o *output) hits() []hit { return append(slices.Clone(o.Skills), o.Results...) }

// ask asks a catalog by the command.
func (w *world) ask(db string, q ask) answer {
	r := w.run(db, q.args()...)
	a := answer{kind: q.kind, note: r.err}
	if r.code != 0 {
		a.failed = fmt.Sprintf("exit %d: %s", r.code, strings.ReplaceAll(strings.TrimSpace(r.err), db, "catalog.db"))
		return a
	}
	if err := json.Unmarshal([]byte(r.out), &a.output); err != nil {
		a.failed = fmt.Sprintf("malformed JSON: %v", err)
	}
	for line := range strings.Lines(r.out) {
		if !strings.Contains(line, `"took_ms":`) {
			a.text += line
		}
	}
	return a
}

// askAll asks a catalog that nobody changes, a few questions at a time.
func (w *world) askAll(db string, asks []ask) []answer {
	list := make([]answer, len(asks))
	var wg sync.WaitGroup
	places := make(chan struct{}, 3)
	for i, a := range asks {
		wg.Go(func() {
			places <- struct{}{}
			list[i] = w.ask(db, a)
			<-places
		})
	}
	wg.Wait()
	return list
}

// compare asks a fresh catalog and all doors, and then a catalog in which all changes are
// compiled into one file.
func (w *world) compare() *difference {
	asks := w.asks()
	db := w.path("fresh", "catalog.db")
	w.must(os.RemoveAll(filepath.Dir(db)))
	w.run(db, "index")
	truth := w.askAll(db, asks)
	w.s.counts["comparisons"]++
	doors := []func([]ask, []answer) *difference{w.compareCommand, w.compareLibrary, w.compareServer}
	for _, i := range w.Perm(len(doors)) { // the first one sees the changes, the others what it has written
		if d := doors[i](asks, truth); d != nil {
			return d
		}
	}
	if w.excused() {
		w.s.counts["comparisons without a merge: what cannot be read now is known"]++
		return w.doors.hung
	}
	return w.compareMerged(asks, truth)
}

// compareCommand compares what the command answers as things are.
func (w *world) compareCommand(asks []ask, truth []answer) *difference {
	for i, a := range asks {
		got := w.ask(w.db(), a)
		for n := 0; n < 10 && strings.Contains(got.note, "cut off"); n++ {
			w.s.counts["commands repeated because a look was cut off"]++
			got = w.ask(w.db(), a)
		}
		if diff := w.differ(truth[i], got); diff != "" {
			return &difference{door: "command", what: "the command answers otherwise: " + firstLine(diff), detail: a.String() + "\n" + diff, heals: w.heal(a, truth[i])}
		}
	}
	return w.doors.hung
}

// heal says what makes the answer right again.
func (w *world) heal(a ask, truth answer) string {
	for _, how := range []string{"the next command", "skills index", "skills index --full"} {
		if args := strings.Fields(how)[1:]; args[0] == "index" {
			w.run(w.db(), args...)
		}
		if w.differ(truth, w.ask(w.db(), a)) == "" {
			return "healed by: " + how
		}
	}
	return "not healed by the next command, skills index, nor skills index --full"
}

// compareMerged copies the catalog without what is compiled, so that all is compiled anew
// into one file, and compares every byte. A server may write the catalog while it is copied:
// then what is compiled is removed from the catalog itself.
func (w *world) compareMerged(asks []ask, truth []answer) *difference {
	dir := w.path("cache")
	if w.server == nil {
		dir = w.path("merged")
		w.must(os.RemoveAll(dir))
		copyTree(w.path("cache"), dir)
		w.must(os.RemoveAll(filepath.Join(dir, "catalog.db-shm")))
	}
	for _, name := range listed(dir, ".base", ".delta", ".current") {
		w.must(os.Remove(filepath.Join(dir, name)))
	}
	db := filepath.Join(dir, "catalog.db")
	w.run(db, "index")
	w.s.counts["comparisons after a merge"]++
	answers := w.askAll(db, asks)
	for i, a := range asks {
		got := answers[i]
		if got.text != truth[i].text || (got.failed == "") != (truth[i].failed == "") {
			return &difference{door: "merged", what: "the catalog answers otherwise when all is in one file",
				detail: a.String() + "\n" + diffLines(truth[i].text+truth[i].failed, got.text+got.failed)}
		}
	}
	return w.doors.hung
}

// diffLines returns the first line that differs.
func diffLines(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: got %s, want %s", i+1, b[i], a[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(b), len(a))
}

// near is the share of the best score by which scores may differ that a fresh catalog and one with
// changes beside its base compute: they divide by other means of the lengths.
const near = .02

// differ returns how an answer differs from the right one, "" if not at all. Skills
// that could be read before are in neither.
func (w *world) differ(want, got answer) string {
	w.s.counts["answers"]++
	if want.failed != "" || got.failed != "" || want.kind == "show" {
		return w.differExactly(want, got)
	}
	if want.kind == "list" && len(w.remembered) > 0 {
		w.noteHeld(got.hits())
	}
	a, b := w.readable(want.hits()), w.readable(got.hits())
	a = w.withoutCopies(a, got.hits())
	if diff := w.sameSkills(want, a, b); diff != "" {
		return fmt.Sprintf("%s; demand: got %.3f, want %.3f of %.2f", diff, got.Demand, want.Demand, want.Threshold)
	}
	if !slices.Equal(want.Pinned, got.Pinned) {
		return fmt.Sprintf("pinned: got %q, want %q", got.Pinned, want.Pinned)
	}
	const empty = "text (no vectors yet)" // the mode of a fresh catalog while no skill can be read
	if w.excused() && want.Mode == empty && len(a)+len(b) == 0 {
		w.s.counts["answers without a skill, where none can be read now"]++
		return ""
	}
	if got.Mode != "" && want.Mode != got.Mode {
		return fmt.Sprintf("mode: got %q, want %q", got.Mode, want.Mode)
	}
	if w.excused() {
		return "" // see borderline
	}
	return w.sameOrder(a, b)
}

// differExactly is differ for errors and for answers without scores.
func (w *world) differExactly(want, got answer) string {
	switch {
	case w.excused() && want.failed != "":
		w.s.counts["errors that were not compared"]++ // they may name skills that cannot be read now
	case want.failed != "" && got.failed == "":
		return fmt.Sprintf("answers, but should fail: %s", want.failed)
	case want.failed == "" && w.tellsRemembered(got.failed): // it has the name of the skill that is shown
		w.s.counts["skills whose name one has that could be read before"]++
	case want.failed == "" && got.failed != "":
		return "fails: " + got.failed
	case want.failed != "" && got.kind != "" && !strings.Contains(want.failed, got.failed): // the server says it otherwise
		return fmt.Sprintf("fails with %q, want %q", got.failed, want.failed)
	case want.Text != got.Text || want.Stale != got.Stale:
		return fmt.Sprintf("shows %q (stale %v), want %q (stale %v)", got.Text, got.Stale, want.Text, want.Stale)
	}
	return ""
}

// readable leaves out two kinds of skills that a list marks as away or as shadowed: skills
// that could be read before and no longer can, and skills of a root that is away.
func (w *world) readable(list []hit) []hit {
	return slices.DeleteFunc(list, func(h hit) bool {
		for root, known := range w.away {
			if known && (h.Away || h.ShadowedBy != "") && strings.HasPrefix(h.Path, w.path(root)+"/") {
				return true
			}
		}
		return w.isRemembered(h)
	})
}

// noteHeld notes the names that skills have which could be read before: others of the name
// may be shadowed by them.
func (w *world) noteHeld(list []hit) {
	if w.held == nil {
		w.held = make(map[string]bool)
	}
	for _, h := range list {
		if w.isRemembered(h) {
			w.held[strings.ToLower(h.Name)] = true
		}
	}
}

// isHeld reports whether a skill that could be read before has the name of this one.
func (w *world) isHeld(h hit) bool {
	return len(w.remembered) > 0 && w.held[strings.ToLower(h.Name)]
}

// tellsRemembered reports whether an error names the folder of a skill that could be read
// before.
func (w *world) tellsRemembered(message string) bool {
	for folder := range w.remembered {
		if strings.Contains(message, "skill folder "+filepath.Base(folder)+":") {
			return true
		}
	}
	return false
}

// isRemembered reports whether a skill could be read before.
func (w *world) isRemembered(h hit) bool {
	for folder := range w.remembered {
		if strings.HasPrefix(h.Path, w.path(folder)+"/") {
			return true
		}
	}
	return false
}

// withoutCopies leaves out skills for which a skill that could be read before stands in an
// answer, because they are its copies.
func (w *world) withoutCopies(list, got []hit) []hit {
	return slices.DeleteFunc(list, func(h hit) bool {
		return slices.ContainsFunc(got, func(g hit) bool { return w.isRemembered(g) && slices.Contains(g.Copies, h.ID) })
	})
}

// sameSkills compares what is known of each skill, without regard to their order.
func (w *world) sameSkills(want answer, a, b []hit) string {
	x, y := byPath(a), byPath(b)
	for _, name := range sorted(x) {
		switch h, ok := y[name]; {
		case w.isHeld(x[name]):
			w.s.counts["skills whose name one has that could be read before"]++
		case !ok && !w.borderline(want, x[name], b):
			return fmt.Sprintf("missing: %s; got %d skills, want %d", w.short(x[name]), len(b), len(a))
		case ok && facts(h) != facts(x[name]):
			return fmt.Sprintf("got %s, want %s", facts(h), facts(x[name]))
		}
	}
	for _, name := range sorted(y) {
		if _, ok := x[name]; !ok && !w.isHeld(y[name]) && !w.borderline(want, y[name], a) {
			return fmt.Sprintf("too many: %s; got %d skills, want %d", w.short(y[name]), len(b), len(a))
		}
	}
	return ""
}

func (w *world) short(h hit) string {
	return fmt.Sprintf("%s (%s, score %.3f, probability %.3f)", h.ID, strings.TrimPrefix(h.Path, w.dir+"/"), h.Score, h.Probability)
}

func byPath(list []hit) map[string]hit {
	m := make(map[string]hit)
	for _, h := range list {
		m[h.Path] = h
	}
	return m
}

// facts are the parts of a hit that do not depend on scores.
func facts(h hit) string {
	return fmt.Sprintf("%s %s %q %s %s %q away %v", h.ID, h.Name, h.Description, h.Source, h.ShadowedBy, h.Tags, h.Away)
}

// listedSkills is how many skills a block lists at most.
const listedSkills = 8

// candidates is how many skills each way to rank contributes to a search at most.
const candidates = 64

// borderline reports whether a skill may be in one of two answers and not in the
// other, because scores may differ a little: it is hardly offered, or there were more
// candidates than a search looks at. What is known of skills that cannot be read now
// counts in the statistics of words, so that blocks may then differ by much.
func (w *world) borderline(want answer, h hit, others []hit) bool {
	if want.Mode == "" {
		return false // a list
	}
	best := h.Probability
	for _, o := range others {
		best = max(best, o.Probability)
	}
	inBlock := want.Results == nil
	excuse := ""
	switch {
	case inBlock && w.excused():
		excuse = "what cannot be read now is known"
	case inBlock && math.Abs(want.Demand-want.Threshold) < near:
		excuse = "the prompt hardly needs a skill"
	case inBlock && h.Probability < .045*best:
		excuse = "the skill is hardly offered"
	case inBlock && len(others) >= listedSkills && h.Score <= lowest(others)+near*scale(others)+.003:
		excuse = "there is room for one of two near skills"
	case !inBlock && max(len(others), len(want.Results)) >= candidates:
		excuse = "more candidates than a search looks at"
	}
	if excuse != "" {
		w.s.counts["borderline skills: "+excuse]++
	}
	return excuse != ""
}

// lowest returns the score of the last skill that an answer has room for.
func lowest(list []hit) float64 {
	return slices.MinFunc(list, func(a, b hit) int { return cmp.Compare(a.Score, b.Score) }).Score
}

// scale returns the best score of an answer, what others are measured by.
func scale(list []hit) float64 {
	best := 0.0
	for _, h := range list {
		best = max(best, math.Abs(h.Score))
	}
	return best
}

// isCut reports whether one of two answers may lack the text score of a skill, because
// there are more candidates than the text leg contributes, and near ones may change
// places at the end. i is the place of the skill in the answer that is right.
func (w *world) isCut(i int, right []hit, want, got hit) bool {
	if len(right) < candidates {
		return false
	}
	a, _ := want.isInText()
	b, known := got.isInText()
	cut := known && a != b || !known && (!a || i >= 10)
	if cut {
		w.s.counts["skills at the end of the text leg"]++
	}
	return cut
}

// sameOrder compares scores and order. Neighbours in score may change places.
func (w *world) sameOrder(want, got []hit) string {
	place, most := make(map[string]int), near*scale(want)+.003 // scores are printed rounded
	for i, h := range got {
		place[h.Path] = i
	}
	for i, h := range want {
		at, ok := place[h.Path]
		if !ok || w.isCut(i, want, h, got[at]) {
			continue
		}
		if s := got[at].Score; s != 0 && math.Abs(s-h.Score) > most { // the server tells no scores
			return fmt.Sprintf("score of %s: got %.3f, want %.3f", h.ID, s, h.Score)
		}
		for _, below := range want[i+1:] {
			if p, ok := place[below.Path]; ok && p < at {
				if w.isCut(0, want, below, got[p]) {
					continue
				}
				if h.Score-below.Score > most {
					return fmt.Sprintf("%s (%.3f) stands behind %s (%.3f)", h.ID, h.Score, below.ID, below.Score)
				}
				w.s.counts["swaps of near skills"]++
			}
		}
	}
	if len(want) > 0 && !reflect.DeepEqual(slices.Sorted(maps.Keys(byPath(want))), slices.Sorted(maps.Keys(byPath(got)))) {
		w.s.counts["answers with other borderline skills"]++
	}
	return ""
}
