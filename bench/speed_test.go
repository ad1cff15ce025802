package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestPrompts: there are many, each once, short and long, and in several
// scripts.
func TestPrompts(t *testing.T) {
	prompts := Prompts()
	if n := len(slices.Compact(slices.Sorted(slices.Values(prompts)))); n < 95 || n != len(prompts) {
		t.Errorf("%d prompts, %d different ones", len(prompts), n)
	}
	short, long, scripts := 0, 0, make(map[string]bool)
	for _, p := range prompts {
		if strings.TrimSpace(p) != p || p == "" || strings.Contains(p, "%\n") {
			t.Errorf("%q is not cut well", p)
		}
		short += min(1, 30/len(p))
		long += min(1, len(p)/400)
		for name, script := range map[string]*unicode.RangeTable{"han": unicode.Han, "kana": unicode.Hiragana, "hangul": unicode.Hangul, "cyrillic": unicode.Cyrillic, "arabic": unicode.Arabic} {
			if strings.ContainsFunc(p, func(r rune) bool { return unicode.Is(script, r) }) {
				scripts[name] = true
			}
		}
	}
	if short < 5 || long < 3 || len(scripts) < 5 {
		t.Errorf("%d short ones, %d long ones, scripts %v", short, long, scripts)
	}
}

// TestMeasureSpeed measures a small corpus, and a larger catalog made from it.
func TestMeasureSpeed(t *testing.T) {
	testsize.Long(t)
	dir := t.TempDir()
	var steps []string
	s, err := MeasureSpeed(t.Context(), &SpeedOptions{
		Sizes: []int{10, 90}, Compiled: []int{70}, Corpus: ownSkills(t), Rounds: 1, While: time.Millisecond, Dir: dir, Step: func(what string) { steps = append(steps, what) },
	})
	must.Do(t, err)
	if len(s.Sizes) != 3 || s.Sizes[0].Origin != "corpus" || s.Sizes[1].Origin != "synthetic" || len(steps) < 8 {
		t.Errorf("%+v, steps %q", s, steps)
	}
	for _, size := range s.Sizes[:2] {
		files, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("size-%d", size.Skills), "skills", "*", "*", "SKILL.md"))
		if err != nil || len(files) != size.Skills {
			t.Errorf("%d skills on disk, want %d; %v", len(files), size.Skills, err)
		}
		if len(size.Index) != 2 || size.Index[0].Vectors || !size.Index[1].Vectors || size.Index[0].CatalogBytes >= size.Index[1].CatalogBytes {
			t.Errorf("indexing: %+v", size.Index)
		}
		if len(size.Legs) != len(legs()) {
			t.Fatalf("%d legs", len(size.Legs))
		}
		for i := range size.Legs {
			checkLeg(t, &size.Legs[i], 2)
		}
		if size.Legs[0].Faster != 1 || size.RescanMS <= 0 || size.WalkMS <= 0 || size.TextBytes <= 0 {
			t.Errorf("%+v", size)
		}
		// Skills that have just been written would be read again and again.
		if !size.Look.Current {
			t.Errorf("the first look: %+v", size.Look)
		}
	}
	size := s.Sizes[2]
	if !size.Compiled || len(size.Index) != 1 || len(size.Legs) != 1 || size.TextBytes <= s.Sizes[0].TextBytes || size.Look != nil {
		t.Fatalf("%+v", size)
	}
	checkLeg(t, &size.Legs[0], 0)
}

// checkLeg checks the figures of a leg, and that it has as many changes as given.
func checkLeg(t *testing.T, l *LegSpeed, changes int) {
	t.Helper()
	if l.Mode != "hybrid" || l.P50MS <= 0 || l.P99MS < l.P50MS || l.TextP50MS <= 0 || l.TextP99MS < l.TextP50MS || l.Allocs < 1 || l.AllocBytes < 1 || l.PerS <= 0 || l.Concurrent <= 0 {
		t.Errorf("%+v", l)
	}
	if len(l.Change) != changes || l.Process != nil {
		t.Errorf("%+v", l)
	}
	for i, c := range l.Change {
		if c.Recent != (i == 0) || c.RescanMS <= 0 || c.VisibleMS <= 0 || c.IndexMS <= 0 {
			t.Errorf("%s: %+v", l.Leg, c)
		}
	}
}

// TestTasks runs each task, and a task that does not exist.
func TestTasks(t *testing.T) {
	testsize.Long(t)
	dir := t.TempDir()
	task := Task{Name: "compile", Root: filepath.Join(dir, "skills"), DB: filepath.Join(dir, "db", "catalog.db"), Corpus: ownSkills(t), Skills: 30}
	result, err := task.Run(t.Context())
	must.Do(t, err)
	if s := result.(IndexSpeed); s.TextBytes == 0 || s.CatalogBytes == 0 || s.Seconds <= 0 || runtime.GOOS == "linux" && (s.PeakRSS == 0 || s.CorpusRSS == 0) {
		t.Errorf("%+v", s)
	}
	task.Name = "compiled"
	if result, err = task.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := result.(AnswerSpeed); s.OpenMS <= 0 || s.Memory.RSS == 0 {
		t.Errorf("%+v", s)
	}
	m := &meter{SpeedOptions: &SpeedOptions{Corpus: ownSkills(t)}, dir: t.TempDir()}
	_, err = m.unpack(t.Context(), 3)
	must.Do(t, err)
	sizes := make(map[string]int64)
	for _, name := range []string{"index", "index-encoder"} {
		result, err := (&Task{Name: name, Root: m.root(), DB: m.db(name)}).Run(t.Context())
		must.Do(t, err)
		s := result.(IndexSpeed)
		if sizes[name] = s.CatalogBytes; !s.Vectors || s.Encoder != (name != "index") || s.Seconds <= 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if sizes["index-encoder"] <= sizes["index"] {
		t.Errorf("the vectors of the encoder take no room: %v", sizes)
	}
	task.Name = "nothing"
	if _, err := task.Run(t.Context()); err == nil || err.Error() != `there is no task "nothing"` {
		t.Errorf("error %v", err)
	}
}

// TestRising: the words rise, as names in a compiled catalog must.
func TestRising(t *testing.T) {
	last := ""
	for i := range 100_000 {
		word := rising(i)
		if word <= last || len(word) != 5 {
			t.Fatalf("%d: %q after %q", i, word, last)
		}
		last = word
	}
}

// TestMeasureSpeedCancelled: nothing is left behind.
func TestMeasureSpeedCancelled(t *testing.T) {
	dir := t.TempDir()
	for _, key := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(key, dir)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := MeasureSpeed(ctx, &SpeedOptions{Sizes: []int{10}, Corpus: ownSkills(t), Rounds: 1, Step: func(what string) {
		if strings.Contains(what, "answering") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v; %v", left, err)
	}
}

// TestUnpack: written skills are read back the same, and names are unique.
func TestUnpack(t *testing.T) {
	same := func(yield func(Document, error) bool) {
		for _, name := range []string{"Same Name", "same-name", "with/slash", "日本語", "???"} {
			s := &skill.Skill{Meta: skill.Meta{Name: name, Description: "It: \"quotes\" & <tags>\u2028", Tags: []string{"a: b", "c"}}, Body: "Body.\n"}
			if !yield(Document{ID: name, Skill: s}, nil) {
				return
			}
		}
		yield(Document{ID: "empty", Skill: &skill.Skill{Meta: skill.Meta{Name: "empty"}}}, nil)
	}
	m := &meter{SpeedOptions: &SpeedOptions{Corpus: same}, dir: t.TempDir()}
	must.Do(t, m.write(t.Context(), same, 9))
	var names []string
	for _, file := range m.skills {
		f, err := os.Open(file)
		must.Do(t, err)
		s, err := skill.Parse(f, "SKILL.md")
		f.Close()
		must.Do(t, err)
		names = append(names, s.Name)
		if s.Description != "It: \"quotes\" & <tags>" || !slices.Equal(s.Tags, []string{"a: b", "c"}) || s.Body != "Body.\n" || s.Name != filepath.Base(filepath.Dir(file)) {
			t.Errorf("%+v", s)
		}
	}
	if want := []string{"Same-Name", "same-name-2", "with-slash", "日本語", "skill"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}

func TestResidentMemory(t *testing.T) {
	got := parseStatus("Name:\tskills\nVmHWM:\t 3072 kB\nVmRSS:\t    2048 kB\nRssAnon:\t    1024 kB\nRssFile:\t     512 kB\nRssShmem: x\n")
	if want := (Memory{RSS: 2 << 20, Anon: 1 << 20, File: 512 << 10, Peak: 3 << 20}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if m := residentMemory(); m.RSS < 1<<20 || runtime.GOOS == "linux" && m.Anon+m.File > m.RSS {
		t.Errorf("this process: %+v", m)
	}
}

// BenchmarkBlock makes blocks for the prompts of this package, in turn, from our
// own skills and from synthetic ones, by text and by both legs.
func BenchmarkBlock(b *testing.B) {
	for _, n := range []int{64, 500, 2500} {
		m := &meter{SpeedOptions: &SpeedOptions{Corpus: ownSkills(b)}, dir: b.TempDir()}
		if _, err := m.unpack(b.Context(), n); err != nil {
			b.Fatal(err)
		}
		for _, l := range legs() {
			for _, vectors := range []bool{false, true} {
				embedder := withoutVectors
				if vectors {
					embedder = nil
				}
				b.Run(fmt.Sprintf("%s/skills=%d/vectors=%v", l.Name, n, vectors), func(b *testing.B) {
					c, err := l.open(b.Context(), m.root(), filepath.Join(b.TempDir(), "catalog.db"), embedder)
					must.Do(b, err)
					defer c.Close()
					if _, err := c.Rescan(b.Context(), nil); err != nil {
						b.Fatal(err)
					}
					benchmarkBlock(b, c)
				})
			}
		}
	}
}

func benchmarkBlock(b *testing.B, c catalog) {
	prompts := Prompts()
	ask := func(i int) {
		if _, err := c.Block(b.Context(), prompts[i%len(prompts)], repertoire.Budget{}, nil); err != nil {
			b.Fatal(err)
		}
	}
	for i := range prompts {
		ask(i) // not measured: the first answers read files that later ones find in memory
	}
	var took []float64
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ms, _ := timed(func() error { ask(i); return nil })
		took = append(took, ms)
	}
	b.ReportMetric(1000*median(took), "p50-µs")
}
