package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
)

// MaxLast is how many answers with skills are kept of a session.
const MaxLast = 8

const (
	maxID      = 200     // bytes of the ID of a session, and of a trigger, that are kept
	maxMatched = 12      // words of a field
	maxSpelled = 8 << 10 // bytes of a prompt
)

// An Offered is an answer that offered skills, and what it followed from.
type Offered struct {
	Time   time.Time `json:"time"`
	Prompt string    `json:"prompt,omitempty"` // shortened; "" unless it is the last one, or the user keeps prompts
	// Follows means that the prompt was read together with the one before it that was offered something, at
	// the time Earlier, which is zero if that is not known.
	Follows   bool      `json:"follows,omitempty"`
	Earlier   time.Time `json:"earlier,omitzero"`
	Demand    float64   `json:"demand,omitempty"` // probability that the prompt wants a skill; 0 means that a server has not told it
	Threshold float64   `json:"threshold,omitempty"`
	Skills    []Reason  `json:"skills"` // best first
}

// A Reason is a skill that was offered, and why.
type Reason struct {
	ID          string              `json:"id"`
	Probability float64             `json:"probability"`
	RequiredBy  string              `json:"required_by,omitempty"` // ID of the skill because of which it was listed
	Trigger     string              `json:"trigger,omitempty"`
	Matched     map[string][]string `json:"matched,omitempty"` // words that prompt and skill have in common, by field of the skill, as the prompt spells them
	Terms       []rank.Term         `json:"terms,omitempty"`   // the score is the sum of these, rounded
}

// A Session is what is remembered of a session to say why it was offered what.
type Session struct {
	ID   string    `json:"session"`
	Dir  string    `json:"dir"`     // its folder, as its client names it
	Last []Offered `json:"answers"` // those that offered skills, the newest first
}

func rounded(x float64) float64 { return math.Round(x*100) / 100 }

// reasonsOf returns why a block offers its skills for a text.
func reasonsOf(text string, b *contextprovider.Block) Offered {
	spelled := spelling(text)

	o := Offered{Follows: b.Follows, Demand: b.Demand.Probability, Threshold: b.Threshold, Skills: make([]Reason, 0, len(b.Skills))}
	for i := range b.Skills {
		h := &b.Skills[i]
		r := Reason{ID: h.ID, Probability: rounded(h.Probability), RequiredBy: h.RequiredBy, Matched: make(map[string][]string)}
		if h.Trigger != nil {
			r.Trigger = tidy.Cut(h.Trigger.String(), maxID)
		}
		for field, terms := range map[string][]string{"name": h.Matched.Name, "description": h.Matched.Description, "tags": h.Matched.Tags} {
			if len(terms) > 0 {
				r.Matched[field] = spelled(terms)
			}
		}
		for _, t := range h.Terms {
			r.Terms = append(r.Terms, rank.Term{Name: t.Name, Value: rounded(t.Value), Weight: rounded(t.Weight)})
		}
		o.Skills = append(o.Skills, r)
	}
	return o
}

// spelling returns a function that gives terms as a text spells them, in lower case. It reads the start of the text:
// a prompt does not wait for more.
func spelling(text string) func(terms []string) []string {
	var a words.Analyzer
	spelled := make(map[string]string)
	words.Split(tidy.Cut(text, maxSpelled), func(word string, kind words.Kind) {
		if t := a.Term(word, kind); t != "" && spelled[t] == "" {
			spelled[t] = strings.ToLower(word)
		}
	})
	return func(terms []string) (list []string) {
		for _, t := range terms[:min(len(terms), maxMatched)] {
			list = append(list, cmp.Or(spelled[t], t))
		}
		return list
	}
}

// keep remembers an answer that offered skills to a prompt.
func (s *state) keep(p *Prompt, o Offered, now time.Time) {
	if s.write == nil || p.Client != "" || len(o.Skills) == 0 { // nobody could ask for it
		return
	}
	if s.Session, s.Dir = tidy.Cut(p.Session, maxID), p.Dir; s.Dir == "" {
		s.Dir, _ = os.Getwd() // without it the session is of no folder
	}
	if o.Follows && len(s.Last) > 0 {
		o.Earlier = s.Last[len(s.Last)-1].Time
	}
	o.Demand, o.Threshold = rounded(o.Demand), rounded(o.Threshold)
	if o.Time = now.UTC().Truncate(time.Second); p.Keep {
		o.Prompt = tidy.Cut(p.Text, maxPrompt)
	}
	s.Last = append(s.Last, o)
	s.Last = s.Last[max(0, len(s.Last)-MaxLast):]
}

// Last returns what a session was offered. Without an ID it is the one with the newest answer of those in a folder or
// below it. The error says what to do if there is none.
func (m *Memory) Last(id, folder string) (*Session, error) {
	if m.dir == "" {
		return nil, errors.New("sessions are not remembered: there is no state folder")
	}
	if id != "" {
		s, err := m.load(filepath.Join(m.dir, hash(id)+suffix))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("no session %q is remembered: a session is for a day after its last prompt, if its client has the hook (\"skills setup\")", id)
		case err != nil:
			return nil, explained(err)
		}
		return s.told(id), nil
	}
	files, err := os.ReadDir(m.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, explained(err)
	}
	var newest, elsewhere *state
	var problem error
	here := func(dir string) bool { // without a look for a folder of another machine, where Windows would log in
		return regular.In(folder, dir) || !strings.HasPrefix(filepath.ToSlash(dir), "//") && regular.In(folder, regular.Real(dir))
	}
	newer := func(than, s *state) bool {
		return than == nil || s.Last[len(s.Last)-1].Time.After(than.Last[len(than.Last)-1].Time)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), suffix) {
			continue
		}
		switch s, err := m.load(filepath.Join(m.dir, f.Name())); {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			problem = err
		case err != nil || len(s.Last) == 0:
		case here(s.Dir) && newer(newest, s):
			newest = s
		case !here(s.Dir) && newer(elsewhere, s):
			elsewhere = s
		}
	}
	if newest != nil {
		return newest.told(newest.Session), nil
	}
	text := fmt.Sprintf("no session in %s was offered a skill within a day", folder)
	switch {
	case elsewhere != nil:
		text += fmt.Sprintf("; the newest one is of %s: --session %s takes it", elsewhere.Dir, elsewhere.Session)
	case problem != nil:
		text += fmt.Sprintf(", and one cannot be read: %v", explained(problem))
	default:
		text += "; sessions are remembered of clients with the hook (\"skills setup\"), and \"skills try PROMPT\" asks without one"
	}
	return nil, errors.New(text)
}

// explained says what to do about a file or folder of sessions.
func explained(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: another user owns it; remove it, or run this as that user", err)
	}
	return err
}

// told returns what is told of a session. The text of the last prompt is kept anyway.
func (s *state) told(id string) *Session {
	last := slices.Clone(s.Last)
	if n := len(last); n > 0 && last[n-1].Prompt == "" {
		last[n-1].Prompt = strings.Join(s.Prompts, "")
	}
	slices.Reverse(last)
	return &Session{id, s.Dir, last}
}

// load reads the file of a session. An expired one counts as absent.
func (m *Memory) load(name string) (*state, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile: // reading a named pipe would not end
		return nil, fmt.Errorf("%s is no file of a session: remove it", name)
	case m.olderThan(expired, info):
		return nil, fs.ErrNotExist
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s := new(state)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s is damaged: remove it: %w", name, err)
	}
	return s, nil
}
