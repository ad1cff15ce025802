package usage

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/search"
)

// lessonsFile has what ranking needs of a learner, in a form that a hook reads in a fraction of a
// millisecond (JSON takes ten times as long): lines with tabs between the fields, an empty line, and
// the packed vectors of all examples. The first line has the fields of lessons, the others each a
// skill: agent, ID, location, sink and number of examples.
const lessonsFile = "lessons.bin"

// lessons is what the file says.
type lessons struct {
	model   string                     // of the vectors
	size    int                        // bytes of each vector
	foreign int                        // prompts with vectors of other models
	noted   int                        // prompts with vectors of this one
	by      map[string][]search.Lesson // by agent
}

// known is what was read of the lessons.
type known struct {
	mu   sync.Mutex
	size int64 // of the file
	time time.Time
	lessons
}

// lessons returns the content of the file.
func (s *learner) lessons() []byte {
	var lines strings.Builder
	var vectors []byte
	noted, size := 0, 0
	for _, agent := range slices.Sorted(maps.Keys(s.Skills)) {
		for _, id := range slices.Sorted(maps.Keys(s.Skills[agent])) {
			for _, t := range s.Skills[agent][id] {
				examples := 0
				for _, n := range t.Notes {
					noted += len(n.Hashes)
					if n.isExample() {
						examples, size, vectors = examples+1, len(n.Vector), append(vectors, n.Vector...)
					}
				}
				if examples > 0 || t.sink() > 0 {
					fmt.Fprintf(&lines, "%s\t%s\t%s\t%.3f\t%d\n", field(agent), field(t.ID), field(t.Location), t.sink(), examples)
				}
			}
		}
	}
	return fmt.Appendf(nil, "%s\t%d\t%d\t%d\n%s\n%s", field(s.Model), size, s.Dropped, noted, lines.String(), vectors)
}

// field returns a text without the characters that separate fields. No real name has them.
func field(s string) string { return strings.NewReplacer("\t", " ", "\n", " ").Replace(s) }

// readLessons reads the content of the file; ok is false if it is damaged.
func readLessons(data []byte) (l lessons, ok bool) {
	text, vectors, ok := bytes.Cut(data, []byte("\n\n"))
	first, rest, _ := strings.Cut(string(text), "\n")
	f := strings.Split(first, "\t")
	if !ok || len(f) != 4 {
		return lessons{}, false
	}
	ok = true
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		ok = ok && err == nil && n >= 0
		return n
	}
	l = lessons{f[0], number(f[1]), number(f[2]), number(f[3]), make(map[string][]search.Lesson)}
	for line := range strings.Lines(rest) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			return lessons{}, false
		}
		sink, err := strconv.ParseFloat(f[3], 64)
		n := number(f[4])
		if !ok || err != nil || !(sink >= 0 && sink <= 1) || n > allNotes || n*l.size > len(vectors) {
			return lessons{}, false
		}
		k := search.Lesson{ID: f[1], Location: f[2], Sink: sink}
		for range n {
			k.Examples, vectors = append(k.Examples, vectors[:l.size]), vectors[l.size:]
		}
		l.by[f[0]] = append(l.by[f[0]], k)
	}
	return l, ok && len(vectors) == 0
}

// Lessons returns what the log teaches about the skills of an agent, "" for the whole catalog. It
// reads the file only if it has changed. Examples whose vectors are by another model are left out.
// A file that is missing or damaged teaches nothing until the next load.
func (l *Log) Lessons(agent, model string) []search.Lesson {
	l.known.mu.Lock()
	defer l.known.mu.Unlock()
	l.look()
	list := l.known.by[agent]
	if l.known.model != model {
		list = slices.Clone(list)
		for i := range list {
			list[i].Examples = nil
		}
	}
	return list
}

// look reads the lessons if they have changed. The caller holds the lock.
func (l *Log) look() {
	name := filepath.Join(l.dir, lessonsFile)
	info, err := os.Stat(name)
	if err == nil && info.Size() == l.known.size && info.ModTime().Equal(l.known.time) {
		return
	}
	l.known.size, l.known.time, l.known.lessons = 0, time.Time{}, lessons{}
	if err != nil {
		return
	}
	data, err := os.ReadFile(name)
	if read, ok := readLessons(data); err == nil && ok {
		l.known.size, l.known.time, l.known.lessons = info.Size(), info.ModTime(), read
	}
}

// Learned says how much the log has taught.
type Learned struct {
	Skills   int `json:"skills"`   // with examples
	Examples int `json:"examples"` // each from two prompts that are alike
	Sunk     int `json:"sunk"`     // skills that are offered often and never read
	Foreign  int `json:"foreign"`  // prompts that teach nothing, because their vectors are by another model than the encoder
}

// Learned counts what the log teaches about the skills of an agent, "" for all, if model is the
// encoder's. Foreign is of all agents.
func (l *Log) Learned(agent, model string) (c Learned) {
	l.known.mu.Lock()
	defer l.known.mu.Unlock()
	l.look()
	k := &l.known
	if c.Foreign = k.foreign; k.model != model {
		c.Foreign += k.noted
	}
	for name, list := range k.by {
		if agent != "" && name != agent {
			continue
		}
		for _, t := range list {
			if t.Sink > 0 {
				c.Sunk++
			}
			if k.model == model && len(t.Examples) > 0 {
				c.Skills, c.Examples = c.Skills+1, c.Examples+len(t.Examples)
			}
		}
	}
	return c
}
