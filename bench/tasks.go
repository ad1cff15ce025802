package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// A Task is a measurement that MeasureSpeed runs in a new process if it has a program:
// the memory of a process that did other things before would mean nothing.
type Task struct {
	Name   string                     // "index", "index-text", "index-encoder", "compile", or the name of a leg
	Root   string                     // the folder of the skills; "compile" writes none there
	DB     string                     // the catalog file
	Corpus iter.Seq2[Document, error] // for "compile": what the skills are made from
	Skills int                        // for "compile": number of skills
}

// Run does the measurement. It returns an answerSpeed for a leg, else an indexSpeed.
func (t *Task) Run(ctx context.Context) (any, error) {
	switch t.Name {
	case "index", "index-text", "index-encoder":
		return t.index(ctx)
	case "compile":
		return t.compile(ctx)
	}
	for _, l := range append(legs(), encoderLeg()) {
		if l.Name == t.Name {
			return t.answer(ctx, l)
		}
	}
	return nil, fmt.Errorf("there is no task %q", t.Name)
}

// A Memory is the memory of a process, in bytes. If the system does not report it, RSS
// is the figure of the Go runtime, and the others are 0.
type Memory struct {
	RSS  int64 `json:"rss"`  // resident
	Anon int64 `json:"anon"` // part of RSS: the process's own memory
	File int64 `json:"file"` // part of RSS: mapped files and the program, which the system can drop
	Peak int64 `json:"peak"` // maximum of RSS so far
}

// An AnswerSpeed holds the costs of a process that answers with one leg.
type AnswerSpeed struct {
	OpenMS float64 `json:"open_ms"` // from opening the catalog until the first block
	Memory Memory  `json:"memory"`  // after 1,000 blocks
}

// firstPrompt is the first prompt for a process that keeps running.
const firstPrompt = "Write a migration that adds a column to the orders table without locking it"

// memoryQueries is how many blocks are made before memory is measured.
const memoryQueries = 1000

// answer makes blocks with a leg, like a process that keeps running.
func (t *Task) answer(ctx context.Context, l leg) (s AnswerSpeed, err error) {
	var c catalog
	s.OpenMS, err = timed(func() (err error) {
		c, err = l.open(ctx, t.Root, t.DB, deferred)
		if err == nil {
			_, err = c.Block(ctx, firstPrompt, repertoire.Budget{Command: "skills", Offer: contextprovider.Relevant}, nil)
		}
		return err
	})
	if c != nil {
		defer c.Close() // it was only read
	}
	if err != nil {
		return s, err
	}
	// A process that keeps running has the database open too.
	if _, err := c.Indexed(ctx); err != nil {
		return s, err
	}
	prompts := Prompts()
	for i := range memoryQueries {
		if _, err := c.Block(ctx, prompts[i%len(prompts)], repertoire.Budget{Command: "skills", Offer: contextprovider.Relevant}, nil); err != nil {
			return s, err
		}
	}
	s.Memory = residentMemory()
	return s, nil
}

// index indexes all skills into a new catalog.
func (t *Task) index(ctx context.Context) (s IndexSpeed, err error) {
	s.Vectors, s.Encoder = t.Name != "index-text", t.Name == "index-encoder"
	configure := withoutVectors
	if s.Vectors {
		configure = nil
	}
	if err := os.RemoveAll(filepath.Dir(t.DB)); err != nil {
		return s, err
	}
	c, err := leg{Compiled: true, Encoder: s.Encoder}.open(ctx, t.Root, t.DB, configure)
	if err != nil {
		return s, err
	}
	took, err := timed(func() error {
		_, err := c.Rescan(ctx, nil)
		if err == nil && s.Encoder {
			err = c.(compiled).EmbedSentences(ctx, nil)
		}
		return err
	})
	s.PeakRSS = residentMemory().Peak
	if err := errors.Join(err, c.Close()); err != nil {
		return s, err
	}
	s.Seconds = took / 1000
	s.CatalogBytes, err = regular.Size(filepath.Dir(t.DB))
	return s, err
}

// compile writes synthetic skills straight to a compiled file, beside an empty
// database.
func (t *Task) compile(ctx context.Context) (s IndexSpeed, err error) {
	s.Vectors = true
	dir := filepath.Dir(t.DB)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), os.MkdirAll(t.Root, 0o700)); err != nil {
		return s, err
	}
	src, err := rootSource(t.Root)
	if err != nil {
		return s, err
	}
	embedder, err := static.Default()
	if err != nil {
		return s, err
	}
	// The command lets garbage grow to several times the memory in use. That would be
	// too much here, where the whole corpus is in use.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	st, err := sqlite.Open(ctx, t.DB, nil)
	if err != nil {
		return s, err
	}
	x := index.New(st, embedder, &index.Options{Path: t.DB, Inline: true})
	var start time.Time
	begun := func() {
		debug.FreeOSMemory()
		resetPeak()
		s.CorpusRSS, start = residentMemory().RSS, time.Now()
	}
	err = x.Compile(ctx, index.SourceOf(src), t.synthetic(begun, &s.TextBytes))
	s.Seconds = time.Since(start).Seconds()
	s.PeakRSS = residentMemory().Peak
	if err := errors.Join(err, x.Close(), st.Close()); err != nil {
		return s, err
	}
	s.CatalogBytes, err = regular.Size(dir)
	return s, err
}

// synthetic makes skills whose names rise, as if they were read from a folder. It calls
// begun before the first skill, and counts the bytes of their files in text.
func (t *Task) synthetic(begun func(), text *int64) iter.Seq2[*skill.Skill, error] {
	return func(yield func(*skill.Skill, error) bool) {
		i := 0
		for d, err := range generate(1, t.Corpus, t.Skills) {
			if err != nil {
				yield(nil, err)
				return
			}
			if i == 0 {
				begun()
			}
			s := d.Skill
			s.Name = rising(i) + "-" + s.Name
			s.Path = groupOf(i) + "/" + s.Name + "/SKILL.md"
			s.Location = filepath.Join(t.Root, s.Path)
			file, err := skillText(s.Name, s)
			*text += int64(len(file))
			if i++; !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// rising returns a word for a number. A greater number has a greater word.
func rising(i int) string {
	word := []byte("aaaaa")
	for at := len(word) - 1; i > 0; at-- {
		word[at] += byte(i % 26)
		i /= 26
	}
	return string(word)
}

// runTask does a task in a new process, or in this one if there is no program.
func runTask[T any](ctx context.Context, m *meter, t Task) (out T, err error) {
	if m.Program == "" {
		result, err := t.Run(ctx)
		out, _ = result.(T)
		return out, err
	}
	args := []string{"bench", "--speed", "--task", t.Name, "--root", t.Root, "--db", t.DB}
	if t.Skills > 0 {
		args = append(args, "--size", strconv.Itoa(t.Skills))
		if m.CorpusFlag != "" {
			args = append(args, "--corpus", m.CorpusFlag)
		}
	}
	data, err := m.run(ctx, args)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return out, fmt.Errorf("measuring %s: %w", t.Name, err)
	}
	return out, nil
}

// run runs the program, with more variables, and returns what it printed.
func (m *meter) run(ctx context.Context, args []string, variables ...string) ([]byte, error) {
	return output(m.command(ctx, args, variables...))
}

// command returns a call of the program, with more variables.
func (m *meter) command(ctx context.Context, args []string, variables ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.Program, args...)
	cmd.Args[0], cmd.Env = "skills", append(os.Environ(), variables...)
	return cmd
}

// output runs a command and returns what it printed.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", strings.Join(cmd.Args, " "), err)
	}
	return out, nil
}

// asking returns the flags and the variable with which the program ranks as a leg does.
func (m *meter) asking(l leg) (flags []string, variable string, err error) {
	config := filepath.Join(m.dir, "config.yaml")
	variable = "REPERTOIRE_CONTEXTUAL=off"
	if l.Encoder {
		variable = "REPERTOIRE_CONTEXTUAL=on"
	}
	return []string{"--config", config, "--root", m.root(), "--only-root", "--db", m.db(l.kind())}, variable, os.WriteFile(config, []byte("embedder: static\n"), 0o600)
}

// residentMemory returns the memory of this process, from the system or else from the
// runtime.
func residentMemory() Memory {
	var m Memory
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		m = parseStatus(string(status))
	}
	if m.RSS == 0 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		m.RSS = int64(s[0].Value.Uint64() - s[1].Value.Uint64())
	}
	return m
}

// resetPeak makes memory.Peak count from now on, if the system supports that.
func resetPeak() {
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// parseStatus reads lines such as "VmRSS:	  1234 kB".
func parseStatus(status string) Memory {
	var m Memory
	fields := map[string]*int64{"VmRSS": &m.RSS, "RssAnon": &m.Anon, "RssFile": &m.File, "VmHWM": &m.Peak}
	for line := range strings.Lines(status) {
		key, rest, _ := strings.Cut(line, ":")
		if field, ok := fields[key]; ok {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if kb, err := strconv.ParseInt(number, 10, 64); err == nil {
				*field = kb << 10
			}
		}
	}
	return m
}

// glanceLimit is how long the command "context" checks for changed skills.
const glanceLimit = 2 * time.Millisecond

// glance measures the check for changed skills that the command does without the
// database.
func (m *meter) glance(ctx context.Context) (g LookSpeed, err error) {
	g.Current, g.All = true, true
	var folders []float64
	g.MS, err = m.repeat(func() (float64, error) {
		c, err := leg{Compiled: true}.open(ctx, m.root(), m.db("vectors"), deferred)
		if err != nil {
			return 0, err
		}
		var found repertoire.Freshness
		took, _ := timed(func() error { found = c.(compiled).Glance(ctx, glanceLimit); return nil })
		g.Current, g.All = g.Current && found.Current, g.All && found.All
		folders = append(folders, float64(found.Looked))
		return took, c.Close()
	})
	g.Folders = int(median(folders))
	return g, err
}

// processes measures the time from exec to exit of the command "context", for a
// prompt that finds something and one that finds nothing, and what a process
// holds that stays. The command ranks from compiled files: only such legs have
// these times. It returns the time of "version".
func (m *meter) processes(ctx context.Context, legs []*openLeg) (floor float64, err error) {
	legs = slices.DeleteFunc(slices.Clone(legs), func(l *openLeg) bool { return !l.Compiled })
	version := make([]float64, 2*m.rounds+1)
	cold := make([][2][]float64, len(legs))
	for r := range version {
		for i, l := range legs {
			flags, variable, err := m.asking(l.leg)
			if err != nil {
				return 0, err
			}
			for k, prompt := range []string{m.finding, m.empty} {
				took, err := timed(func() error { _, err := m.run(ctx, append(flags, "--quiet", "context", prompt), variable); return err })
				if err != nil {
					return 0, err
				}
				cold[i][k] = append(cold[i][k], took)
			}
		}
		if version[r], err = timed(func() error { _, err := m.run(ctx, []string{"version"}); return err }); err != nil {
			return 0, err
		}
	}
	for i, l := range legs {
		// Leave out the first round, which brings the files into memory.
		l.speed.ColdMS, l.speed.ColdEmptyMS = median(cold[i][0][1:]), median(cold[i][1][1:])
	}
	return median(version[1:]), nil
}
