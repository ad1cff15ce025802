//go:build soak && unix

// Package soak edits skills, kills processes and damages files of the cache at
// random for a long time, and compares each answer with the answer of a fresh
// catalog of the same skills.
//
//	go test -tags soak -run Soak -timeout 0 ./bench/soak
//
// It plays rounds. A round begins with new folders and has a few dozen steps; each
// round uses other kinds of steps, so that one defect does not hide all others. All
// choices come from one printed seed. On a difference the test plays the round
// again with fewer and fewer steps and prints those that are needed.
//
//	REPERTOIRE_SOAK         how long, such as 2m; an hour unless it is set, and never
//	                        beyond the -timeout of the test
//	REPERTOIRE_SOAK_SEED    the seed
//	REPERTOIRE_SOAK_ROUND   plays only this round
//	REPERTOIRE_SOAK_STEPS   plays only these steps of the round, such as 0,3,17
//	REPERTOIRE_SOAK_WITHOUT leaves out steps with these texts in their names, such as
//	                        "names,away", so that a known defect hides no other
//	REPERTOIRE_SOAK_FIRST   1 ends the test at the first difference, and does not shrink it
//	REPERTOIRE_SOAK_KEEP    a folder that gets a copy of the files at each difference
//	REPERTOIRE_SOAK_BINARY  tests this command instead of one that is built
//
// Two things are left out, because the program cannot notice them: a file that is
// replaced by one of the same size and time, and single bits that turn over inside
// of catalog.db, which has no checksums.
package soak

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// A soak is one run of the test.
type soak struct {
	t        *testing.T
	bin      string // the command under test
	seed     uint64
	start    time.Time
	end      time.Time
	first    bool           // the first difference ends the test
	shrunk   time.Duration  // time that shrinking took
	counts   map[string]int // what was done, by kind
	findings []*finding
}

// A finding is a group of differences that need steps of the same kinds.
type finding struct {
	*difference
	round uint64
	after int // steps played before, in all rounds
	steps []int
	kinds []string // of the steps, sorted
	log   []string // of the steps
	times int
}

// TestSoak plays rounds until the time is over.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	t.Logf("seed %d", s.seed)
	defer s.report()
	if round := os.Getenv("REPERTOIRE_SOAK_ROUND"); round != "" {
		s.round(number(t, round))
	} else {
		for round := uint64(1); time.Now().Before(s.end) && !(s.first && len(s.findings) > 0); round++ {
			s.round(round)
		}
	}
}

// newSoak reads the settings and builds the command.
func newSoak(t *testing.T) *soak {
	length, err := time.ParseDuration(cmp.Or(os.Getenv("REPERTOIRE_SOAK"), "1h"))
	if err != nil {
		t.Fatalf("REPERTOIRE_SOAK: %v", err)
	}
	start := time.Now()
	s := &soak{t: t, start: start, end: start.Add(length), seed: uint64(start.UnixNano()), counts: make(map[string]int)}
	s.first = os.Getenv("REPERTOIRE_SOAK_FIRST") == "1"
	if deadline, ok := t.Deadline(); ok && deadline.Add(-time.Minute).Before(s.end) {
		s.end = deadline.Add(-time.Minute)
		t.Logf("the -timeout of the test leaves %v", time.Until(s.end).Round(time.Second))
	}
	if seed := os.Getenv("REPERTOIRE_SOAK_SEED"); seed != "" {
		s.seed = number(t, seed)
	}
	if s.bin = os.Getenv("REPERTOIRE_SOAK_BINARY"); s.bin == "" {
		s.bin = filepath.Join(t.TempDir(), "skills")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", s.bin, "github.com/repertoire-skills/repertoire/cmd/skills")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building the command: %v\n%s", err, out)
		}
		s.end = s.end.Add(min(time.Since(start), 30*time.Second)) // building is not soaking
	}
	return s
}

func number(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	must.Do(t, err)
	return n
}

// random returns the source of the choices of one step; 0 is for the round itself.
func (s *soak) random(round, step uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, round<<20|step))
}

// round plays a round, and shrinks it if it shows a difference.
func (s *soak) round(round uint64) {
	steps := make([]int, 10+s.random(round, 0).IntN(50))
	for i := range steps {
		steps[i] = i
	}
	if list, ok := os.LookupEnv("REPERTOIRE_SOAK_STEPS"); ok {
		steps = steps[:0]
		for text := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
			steps = append(steps, int(number(s.t, text)))
		}
	}
	before := s.counts["steps"]
	p := s.play(round, steps, true)
	s.counts["rounds"]++
	if p.found == nil {
		return
	}
	s.counts["differences"]++
	f := &finding{difference: p.found, round: round, after: before + len(p.log), steps: p.steps, kinds: p.kinds, log: p.log, times: 1}
	s.t.Logf("%v: a difference in round %d, after %d steps and %d kills in all: %s",
		time.Since(s.start).Round(time.Second), round, f.after, s.counts["kills"], p.found.what)
	if !s.first {
		s.shrink(f)
	}
	s.group(f)
}

// A played round is what one play of a round did.
type played struct {
	steps []int    // that did something
	kinds []string // of the steps, sorted
	log   []string // one line for each step
	found *difference
}

// play plays steps of a round up to the first difference.
func (s *soak) play(round uint64, steps []int, first bool) played {
	w := newWorld(s, round)
	defer w.close()
	var p played
	kinds := make(map[string]bool)
	for _, n := range append(slices.Clone(steps), end) {
		kind, line, d := w.step(n)
		if line != "" {
			name := "end"
			if n != end {
				p.steps, kinds[kind], name = append(p.steps, n), true, strconv.Itoa(n)
			}
			p.log = append(p.log, fmt.Sprintf("%5s  %-22s %s", name, kind, strings.ReplaceAll(line, w.dir+"/", "")))
			if first {
				s.counts["steps"]++
			}
		}
		if d != nil {
			p.found = d
			if first {
				w.keep(round)
			}
			break
		}
	}
	p.kinds = slices.Sorted(maps.Keys(kinds))
	return p
}

// shrink replaces the steps of a finding by fewer that show a like difference. It stops after a while, or when too much of the test went into it.
func (s *soak) shrink(f *finding) {
	start, counts := time.Now(), s.counts
	s.counts = make(map[string]int) // what is done from here on counts for nothing
	defer func() { s.shrunk, s.counts = s.shrunk+time.Since(start), counts }()
	enough := func() bool {
		return time.Since(start) > time.Minute || s.shrunk+time.Since(start) > time.Since(s.start)/2+20*time.Second
	}
	for size := len(f.steps) / 2; size > 0; size /= 2 {
		for from := 0; from < len(f.steps) && !enough(); {
			fewer := slices.Delete(slices.Clone(f.steps), from, min(from+size, len(f.steps)))
			p := s.play(f.round, fewer, false)
			if p.found != nil && p.found.door == f.door && wordsOf(p.found.what) == wordsOf(f.what) {
				f.difference, f.steps, f.kinds, f.log = p.found, p.steps, p.kinds, p.log
			} else {
				from += size
			}
		}
	}
}

// group adds a finding to the list, unless there is one like it: at the same door,
// with the same words, where one has no kind of step that the other lacks. It keeps the
// shorter of the two.
func (s *soak) group(f *finding) {
	among := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(kind string) bool { return !slices.Contains(b, kind) })
	}
	for i, g := range s.findings {
		if g.door == f.door && wordsOf(g.what) == wordsOf(f.what) && g.heals == f.heals && (among(g.kinds, f.kinds) || among(f.kinds, g.kinds)) {
			g.times++
			if len(f.steps) < len(g.steps) {
				f.times, f.after = g.times, g.after
				s.findings[i] = f
			}
			return
		}
	}
	s.findings = append(s.findings, f)
}

// wordsOf returns the start of a message, before the first name in it.
func wordsOf(message string) string {
	words := strings.Fields(message)
	return strings.Join(words[:min(len(words), 5)], " ")
}

// report prints the counts, and fails for each finding.
func (s *soak) report() {
	s.t.Logf("seed %d, %v, of it %v to shrink rounds", s.seed, time.Since(s.start).Round(time.Second), s.shrunk.Round(time.Second))
	var edits []string
	for _, key := range slices.Sorted(maps.Keys(s.counts)) {
		if name, ok := strings.CutPrefix(key, "kind "); ok {
			edits = append(edits, fmt.Sprintf("%s %d", name, s.counts[key]))
			continue
		}
		s.t.Logf("%7d %s", s.counts[key], key)
	}
	s.t.Logf("%d kinds of steps: %s", len(edits), strings.Join(edits, ", "))
	if s.counts["rounds"] == 0 {
		s.t.Error("no round was played: REPERTOIRE_SOAK or -timeout leaves no time")
	}
	slices.SortStableFunc(s.findings, func(a, b *finding) int { return cmp.Compare(len(a.steps), len(b.steps)) })
	for _, f := range s.findings {
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(f.steps), " ", ","), "[]")
		s.t.Errorf("%s (seen %d times, first after %d steps)\n%s\n%s\nsteps:\n%s\nto play it again:\n  REPERTOIRE_SOAK_SEED=%d REPERTOIRE_SOAK_ROUND=%d REPERTOIRE_SOAK_STEPS=%s go test -tags soak -run Soak -v ./bench/soak",
			f.what, f.times, f.after, f.detail, f.heals, strings.Join(f.log, "\n"), s.seed, f.round, list)
	}
}
