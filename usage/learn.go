package usage

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/store"
)

const (
	learnerVersion = 1
	learnerFile    = "learned.json" // a learner: what follows from the log, as far as it was read
	maxLearn       = 4 << 20        // bytes of the log that one load reads: a hook must not wait for years of it

	within = 30 * time.Minute // how long after a prompt a load is taken for its answer
	// alike is the least cosine of two prompts that make an example: of 480 pairs of dev prompts of
	// one skill 14 % have it, of 114,480 of two skills .03 %; of a third prompt of the skill, 83 % are
	// then near to the example, of prompts of others .7 %.
	alike    = .5
	maxNotes = 8   // examples of one skill, and single reads of it
	allNotes = 256 // of all skills and agents together

	// A skill sinks when it was offered more often than fewOffers since anybody read it,
	// completely at manyOffers. After a read, as many offers again do not count.
	fewOffers  = 20
	manyOffers = 100
)

// A learner has read a part of the log. All of it follows from the log, so that a file that is
// damaged, or does not belong to the log any more, is made anew.
type learner struct {
	Version int              `json:"version"`
	Model   string           `json:"model,omitempty"`   // that made the vectors of all notes
	Dropped int              `json:"dropped,omitempty"` // prompts with a vector of the model before, which teach nothing
	Loads   int              `json:"loads"`             // events so far, by which notes are ordered
	Newest  time.Time        `json:"newest"`            // time of the newest event
	Files   map[string]place `json:"files"`             // by name
	// Tells are the clients that told of a load after an offer. Nobody knows what is read of
	// the offers of others.
	Tells  map[string]bool                `json:"tells"`
	Skills map[string]map[string][]taught `json:"skills"` // by agent and lower-case ID

	prompts map[string]*line // the last prompt of each session, also of one without a name
}

// A place says how far a file of the log was read.
type place struct {
	Counted int64 `json:"counted"` // bytes
	From    int64 `json:"from"`    // where the lines begin after whose prompts a load may still come
}

// taught is what the learner knows of one skill.
type taught struct {
	ID       string `json:"id"`
	Location string `json:"location,omitempty"` // "" means unknown
	Unread   int    `json:"unread,omitempty"`   // offers since it was read; negative while those after a read do not count
	Notes    []note `json:"notes,omitempty"`    // the oldest first
}

// A note is a prompt after which a skill was read, or an example: two of these that are alike.
type note struct {
	Hashes []string  `json:"hashes"`          // of the prompts
	Vector []byte    `json:"vector"`          // packed, of unit length: of the prompt, or the mean of both
	Load   int       `json:"load"`            // number of the load
	Time   time.Time `json:"time"`            // of the load
	Alone  bool      `json:"alone,omitempty"` // the load had no session: a hook may tell of the same one
}

func (n *note) isExample() bool { return len(n.Hashes) > 1 }

// learn brings what the log teaches up to date. Processes that do so at once write the same: the
// last to write has read what all have noted before, or reads on.
func (l *Log) learn() error {
	for left := int64(maxLearn); ; {
		names, err := l.files()
		if err != nil {
			return err
		}
		s := l.learner(names)
		n, err := s.read(names, left)
		if err != nil {
			return err
		}
		if err := l.keep(s); err != nil {
			return err
		}
		left -= n
		switch belongs, behind := s.compare(names); {
		case !belongs: // somebody forgets the log
			return l.forgetLearned()
		case !behind || n == 0 || left <= 0: // the next load goes on
			return nil
		}
	}
}

// learner returns the learner as it was kept, a new one if there is none that belongs to the files
// of the log.
func (l *Log) learner(names []string) *learner {
	s := new(learner)
	data, err := os.ReadFile(filepath.Join(l.dir, learnerFile))
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if belongs, _ := s.compare(names); err != nil || s.Version != learnerVersion || s.Files == nil || s.Tells == nil || s.Skills == nil || !belongs {
		s = &learner{Version: learnerVersion, Files: make(map[string]place), Tells: make(map[string]bool), Skills: make(map[string]map[string][]taught)}
	}
	s.prompts = make(map[string]*line)
	return s
}

// compare reports whether the log still has all that the learner has read, and whether it has more.
func (s *learner) compare(names []string) (belongs, behind bool) {
	read := 0
	for _, name := range names {
		at, known := s.Files[filepath.Base(name)]
		info, err := os.Stat(name)
		if err != nil || info.Size() < at.Counted || at.From < 0 || at.From > at.Counted {
			return false, false
		}
		behind = behind || info.Size() > at.Counted
		if known {
			read++
		}
	}
	return read == len(s.Files), behind
}

// read reads the files of the log from where it stopped, and returns how many bytes, at most about
// as many as asked for.
func (s *learner) read(names []string, most int64) (n int64, err error) {
	type begin struct {
		at   int64
		time time.Time
	}
	begins := make(map[string][]begin) // of the lines of each file
	for _, name := range names {
		base := filepath.Base(name)
		at := s.Files[base]
		end, err := scan(name, at.From, at.Counted+most-n, func(l *line, start int64) {
			if l.Time.After(s.Newest) {
				s.Newest = l.Time
			}
			begins[base] = append(begins[base], begin{start, l.Time})
			s.add(l, start >= at.Counted)
		})
		if err != nil {
			return n, err
		}
		end = max(end, at.Counted)
		n += end - at.Counted
		s.Files[base] = place{end, end}
	}
	for base, list := range begins {
		if i := slices.IndexFunc(list, func(b begin) bool { return s.Newest.Sub(b.time) <= within }); i >= 0 {
			s.Files[base] = place{s.Files[base].Counted, list[i].at}
		}
	}
	return n, nil
}

// scan calls f for each whole line of a file that begins between two offsets, and returns the offset
// behind the last one.
func scan(name string, from, to int64, f func(l *line, start int64)) (end int64, err error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return from, nil // another process forgets the log
	}
	if err != nil {
		return from, err
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return from, err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil // it is being written
	})
	for end = from; end < to && lines.Scan(); {
		start := end
		end += int64(len(lines.Bytes())) + 1
		if l, ok, _ := decode(lines.Bytes()); ok {
			f(&l, start)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return file.Seek(0, io.SeekEnd) // no line of ours
	}
	return end, lines.Err()
}

// add learns from a line. One that does not count was counted before: only loads that follow need
// its prompt.
func (s *learner) add(l *line, counts bool) {
	session := cmp.Or(l.Session, l.Client+"\n"+l.Agent)
	switch {
	case l.Kind == Offered || l.Kind == Searched:
		if l.Because == "" { // after a reply, the prompt before is still the task
			s.prompts[session] = l
		}
		if counts && l.Kind == Offered && s.Tells[l.Client] {
			for _, k := range l.Skills {
				s.skill(l.Agent, k).Unread++
			}
		}
	case l.Kind == Loaded && counts:
		s.load(l, s.prompts[session])
	}
}

// load learns that skills were loaded after a prompt; nil means that none is known.
func (s *learner) load(l, prompt *line) {
	s.Loads++
	agent := l.Agent
	if prompt != nil && l.Time.Sub(prompt.Time) <= within {
		agent = prompt.Agent
		s.Tells[prompt.Client] = s.Tells[prompt.Client] || prompt.Kind == Offered
	} else {
		prompt = nil
	}
	for _, k := range l.Skills {
		k.ID = cmp.Or(k.ID, filepath.Base(filepath.Dir(k.Location)))
		if prompt != nil {
			k = prompt.find(k)
		}
		t := s.skill(agent, k)
		t.Unread = -manyOffers
		if prompt != nil && len(prompt.Vector) > 0 {
			s.setModel(prompt.Model)
			t.add(note{[]string{prompt.Hash}, prompt.Vector, s.Loads, l.Time, l.Session == ""})
			s.trim()
		}
	}
}

// find returns a skill as the catalog calls it, if the prompt got it. Clients may know only its
// name, or only where it is.
func (l *line) find(k lineSkill) lineSkill {
	for _, got := range l.Skills {
		if k.Location != "" && k.Location == got.Location || strings.EqualFold(k.ID, got.ID) && (k.Location == "" || got.Location == "") {
			return got
		}
	}
	return k
}

// skill returns what is known of a skill of an agent.
func (s *learner) skill(agent string, k lineSkill) *taught {
	if s.Skills[agent] == nil {
		s.Skills[agent] = make(map[string][]taught)
	}
	key := strings.ToLower(k.ID)
	list := s.Skills[agent][key]
	at := slices.IndexFunc(list, func(t taught) bool { return t.Location == k.Location })
	if at < 0 {
		at = slices.IndexFunc(list, func(t taught) bool { return t.Location == "" || k.Location == "" })
	}
	if at < 0 {
		list, at = append(list, taught{ID: k.ID}), len(list)
		s.Skills[agent][key] = list
	}
	list[at].Location = cmp.Or(list[at].Location, k.Location)
	return &list[at]
}

// setModel drops the notes with vectors of another model.
func (s *learner) setModel(model string) {
	if model == s.Model {
		return
	}
	s.Model = model
	for t := range s.all() {
		for _, n := range t.Notes {
			s.Dropped += len(n.Hashes)
		}
		t.Notes = nil
	}
}

// all yields what is known of each skill.
func (s *learner) all() iter.Seq[*taught] {
	return func(yield func(*taught) bool) {
		for _, skills := range s.Skills {
			for _, list := range skills {
				for i := range list {
					if !yield(&list[i]) {
						return
					}
				}
			}
		}
	}
}

// add notes a prompt after which the skill was read. With one that is alike it makes an example. The
// same prompt counts once.
func (t *taught) add(n note) {
	t.Notes = slices.DeleteFunc(t.Notes, func(old note) bool { // the same load, of which a server has told
		return old.Alone && !old.isExample() && !n.Alone && n.Time.Sub(old.Time).Abs() <= twice
	})
	best, near := -1, alike
	for i := range t.Notes {
		old := &t.Notes[i]
		if slices.Contains(old.Hashes, n.Hashes[0]) {
			return
		}
		if cosine := store.DotPacked(old.Vector, n.Vector); !old.isExample() && cosine >= near {
			best, near = i, cosine
		}
	}
	if best >= 0 {
		n.Hashes = append(t.Notes[best].Hashes, n.Hashes...)
		n.Vector = meanOf(t.Notes[best].Vector, n.Vector)
		t.Notes = slices.Delete(t.Notes, best, best+1)
	}
	t.Notes = append(t.Notes, n)
	count, oldest := 0, 0
	for i, old := range slices.Backward(t.Notes) {
		if old.isExample() == n.isExample() {
			count, oldest = count+1, i
		}
	}
	if count > maxNotes {
		t.Notes = slices.Delete(t.Notes, oldest, oldest+1)
	}
}

// trim drops the oldest example, and the oldest single read, if there are too many of them.
func (s *learner) trim() {
	for _, examples := range []bool{false, true} {
		n, oldest := 0, math.MaxInt
		for t := range s.all() {
			for _, note := range t.Notes {
				if note.isExample() == examples {
					n, oldest = n+1, min(oldest, note.Load)
				}
			}
		}
		if n <= allNotes {
			continue
		}
		for t := range s.all() { // more than one if a load was of several skills
			t.Notes = slices.DeleteFunc(t.Notes, func(n note) bool { return n.isExample() == examples && n.Load == oldest })
		}
	}
}

// meanOf returns the unit vector between two packed ones that are alike.
func meanOf(a, b []byte) []byte {
	x, _ := store.UnpackVector(a)
	y, _ := store.UnpackVector(b)
	for i := range x {
		x[i] += y[i]
	}
	if embed.Unit(x) != nil {
		return b
	}
	return store.PackVector(x)
}

// sink returns how far a skill sinks, 0 to 1.
func (t *taught) sink() float64 {
	return min(max(0, float64(t.Unread-fewOffers)/(manyOffers-fewOffers)), 1)
}

// keep writes what was learned, and what ranking reads of it.
func (l *Log) keep(s *learner) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(atomicfile.OS{}, filepath.Join(l.dir, learnerFile), data); err != nil {
		return err
	}
	return atomicfile.Write(atomicfile.OS{}, filepath.Join(l.dir, lessonsFile), s.lessons())
}

// forgetLearned removes what was learned.
func (l *Log) forgetLearned() error {
	var errs []error
	for _, name := range []string{lessonsFile, learnerFile} {
		if err := os.Remove(filepath.Join(l.dir, name)); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
