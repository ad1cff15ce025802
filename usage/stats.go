package usage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// Stats say what became of the skills of a catalog.
type Stats struct {
	From    time.Time `json:"from,omitzero"` // of the first event that counts; zero means none
	Events  int       `json:"events"`
	Damaged int       `json:"damaged,omitempty"` // lines that could not be read

	Prompts int `json:"prompts"` // that were looked at for skills
	Needed  int `json:"needed"`  // of these, how many were no replies, logs, code and the like
	Silent  int `json:"silent"`  // of the needed, how many got no skill

	Clients  []Client  `json:"clients"`  // by name
	Callers  []Client  `json:"callers"`  // of servers, by the names of their tokens; none for events without one
	Wordings []Wording `json:"wordings"` // how often offers were followed, by how certain they were; see contextprovider.Wording
	Skills   []Count   `json:"skills"`   // that were offered, searched, loaded, read or run, the most offered first
	Never    []string  `json:"never"`    // IDs of the skills of the catalog that were never offered
	Gaps     []Gap     `json:"gaps"`     // prompts that got nothing, the most frequent first; none without prompts in the log
	Misses   []Miss    `json:"misses"`   // loads of skills that the session had not been offered, the most frequent first
}

// A Client says what one client reported, or one caller.
type Client struct {
	Name    string `json:"name"`
	Prompts int    `json:"prompts"`
	Offers  int    `json:"offers"` // of skills
	Loads   int    `json:"loads"`  // 0 may mean that its loads are not seen
}

// A Wording says what became of the blocks that spoke of their best skill with one certainty.
type Wording struct {
	Name     string `json:"name"` // "certain", "likely" or "possible"
	Offers   int    `json:"offers"`
	Followed int    `json:"followed"` // of these, after how many the session loaded the best skill
}

// A Count counts the events of one skill.
type Count struct {
	ID       string `json:"id"` // in the catalog, or else as the client named it
	Gone     bool   `json:"gone,omitempty"`
	Offered  int    `json:"offered"`
	Searched int    `json:"searched"`
	Loaded   int    `json:"loaded"`
	Read     int    `json:"read"`
	Ran      int    `json:"ran"` // commands

	FailedRuns int     `json:"failed_runs"` // of these, how many ended with another status than 0
	RunSeconds float64 `json:"run_seconds"` // of all of them
	Tokens     int     `json:"tokens"`      // that it added to conversations, estimated; of loads and reads through servers, nobody knows
	// Followed is how many offers the session followed: it loaded the skill later.
	Followed int `json:"followed"`
}

// A Gap is a prompt that got nothing.
type Gap struct {
	Prompt string `json:"prompt"`
	Times  int    `json:"times"`
}

// A Miss is a skill that was loaded without an offer.
type Miss struct {
	ID       string `json:"id"`
	Times    int    `json:"times"`
	Searched int    `json:"searched"` // of these, how often the session had searched and seen it
	Prompt   string `json:"prompt,omitempty"`
}

// Stats counts the events of an agent since a time; "" means of all agents. entries are the
// skills that it is offered now.
func (l *Log) Stats(ctx context.Context, since time.Time, agent string, entries []search.Entry) (*Stats, error) {
	c := newCounter(entries)
	damaged, err := l.each(ctx, since, func(e Event) {
		if agent == "" || e.Agent == agent {
			c.add(e)
		}
	})
	if err != nil {
		return nil, err
	}
	c.Damaged = damaged
	return c.stats(), nil
}

// A counter counts events.
type counter struct {
	Stats
	byID, byLocation map[string]string // to IDs of the catalog
	ids              []string
	clients, callers clients
	skills           map[string]*Count
	wordings         map[string]*Wording
	gaps             map[string]int
	misses           map[string]*Miss
	sessions         map[[2]string]*session // by caller and name
	pending          map[string]Event       // loads without a session, by ID
}

// A session is what is known of one session.
type session struct {
	offered, searched, loaded map[string]bool   // by ID
	wording                   map[string]string // by ID of the best skill of the last such block
	prompt                    string            // the last one that got nothing
}

func newCounter(entries []search.Entry) *counter {
	c := &counter{byID: make(map[string]string), byLocation: make(map[string]string), clients: make(clients), callers: make(clients), skills: make(map[string]*Count), wordings: make(map[string]*Wording),
		gaps: make(map[string]int), misses: make(map[string]*Miss), sessions: make(map[[2]string]*session), pending: make(map[string]Event)}
	for _, e := range entries {
		c.ids = append(c.ids, e.ID)
		c.byID[words.NameKey(e.ID)], c.byLocation[e.Location] = e.ID, e.ID
		c.byID[words.NameKey(e.Source+"/"+e.Name)] = e.ID
	}
	return c
}

// idOf returns the ID of a skill in the catalog; ok is false if it is not there.
func (c *counter) idOf(s Skill) (id string, ok bool) {
	if id, ok := c.byLocation[s.Location]; ok && s.Location != "" {
		return id, true
	}
	// Versions before named folders of a project as they were seen from where one worked.
	for _, known := range []string{s.ID, strings.ReplaceAll(s.ID, "../", "")} {
		if id, ok := c.byID[words.NameKey(known)]; ok {
			return id, true
		}
	}
	return cmp.Or(s.ID, s.Location), false
}

func (c *counter) add(e Event) {
	if c.Events++; c.From.IsZero() || e.Time.Before(c.From) {
		c.From = e.Time
	}
	c.clients.add(cmp.Or(e.Client, "unknown"), e)
	if e.Caller != "" {
		c.callers.add(e.Caller, e)
	}
	s := c.session(e)
	if e.Kind == Offered {
		c.prompt(e, s)
	}
	for i, used := range e.Skills {
		id, ok := c.idOf(used)
		n := c.skills[id]
		if n == nil {
			n = &Count{ID: id, Gone: !ok}
			c.skills[id] = n
		}
		switch e.Kind {
		case Offered:
			n.Offered++
			s.offered[id] = true
			if i == 0 && e.Wording != "" {
				s.wording[id] = e.Wording
				c.worded(e.Wording).Offers++
			}
		case Searched:
			n.Searched++
			s.searched[id] = true
		case Loaded:
			c.loaded(n, e, s)
		case Read:
			n.Read++
		case Ran:
			n.ran(e)
		}
		n.Tokens += e.Tokens
	}
}

// clients count events by the name of who reported them.
type clients map[string]*Client

func (c clients) add(name string, e Event) {
	n := c[name]
	if n == nil {
		n = &Client{Name: name}
		c[name] = n
	}
	switch e.Kind {
	case Offered:
		n.Prompts, n.Offers = n.Prompts+1, n.Offers+len(e.Skills)
	case Loaded:
		n.Loads += len(e.Skills)
	}
}

// sorted returns the clients by name.
func (c clients) sorted() []Client {
	list := []Client{} // JSON has a list
	for _, name := range slices.Sorted(maps.Keys(c)) {
		list = append(list, *c[name])
	}
	return list
}

// ran counts a command that ran.
func (n *Count) ran(e Event) {
	n.Ran++
	n.RunSeconds += e.Duration.Seconds()
	if e.Exit != 0 {
		n.FailedRuns++
	}
}

// prompt counts a prompt.
func (c *counter) prompt(e Event, s *session) {
	c.Prompts++
	s.prompt = ""
	if e.Because != "" {
		return
	}
	if c.Needed++; len(e.Skills) > 0 {
		return
	}
	c.Silent++
	if s.prompt = e.Prompt; e.Prompt != "" {
		c.gaps[e.Prompt]++
	}
}

// twice is how long after a server has told of a load the hook of its client may tell of the
// same one.
const twice = 10 * time.Second

// loaded counts a load. A load without a session may be one that a hook tells of too.
func (c *counter) loaded(n *Count, e Event, s *session) {
	before, waits := c.pending[n.ID]
	delete(c.pending, n.ID)
	if waits && (e.Session == "" || e.Time.Sub(before.Time) > twice) {
		n.Loaded++
		c.load(n, c.session(before))
	}
	if e.Session == "" {
		c.pending[n.ID] = e
		return
	}
	n.Loaded++
	c.load(n, s)
}

// load counts the first time that a session loads a skill.
func (c *counter) load(n *Count, s *session) {
	if s.loaded[n.ID] {
		return
	}
	s.loaded[n.ID] = true
	if s.offered[n.ID] {
		n.Followed++
		if w := s.wording[n.ID]; w != "" {
			c.worded(w).Followed++
		}
		return
	}
	m := c.misses[n.ID]
	if m == nil {
		m = &Miss{ID: n.ID}
		c.misses[n.ID] = m
	}
	m.Times++
	if s.searched[n.ID] {
		m.Searched++
	}
	m.Prompt = cmp.Or(s.prompt, m.Prompt)
}

// worded returns the counts of a wording.
func (c *counter) worded(name string) *Wording {
	if c.wordings[name] == nil {
		c.wordings[name] = &Wording{Name: name}
	}
	return c.wordings[name]
}

// session returns the session of an event. Events without one belong to no other.
func (c *counter) session(e Event) *session {
	key := [2]string{e.Caller, e.Session}
	s := c.sessions[key]
	if s == nil || e.Session == "" {
		s = &session{make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]string), ""}
		c.sessions[key] = s
	}
	return s
}

// stats returns the counts in their order.
func (c *counter) stats() *Stats {
	for _, id := range slices.Sorted(maps.Keys(c.pending)) {
		n := c.skills[id]
		n.Loaded++
		c.load(n, c.session(c.pending[id]))
	}
	s := &c.Stats
	s.Clients, s.Callers = c.clients.sorted(), c.callers.sorted()
	s.Skills, s.Never, s.Gaps, s.Misses = []Count{}, []string{}, []Gap{}, []Miss{} // JSON has lists
	s.Wordings = []Wording{}
	for _, name := range slices.Sorted(maps.Keys(c.wordings)) {
		s.Wordings = append(s.Wordings, *c.wordings[name])
	}
	for _, n := range c.skills {
		s.Skills = append(s.Skills, *n)
	}
	slices.SortFunc(s.Skills, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Offered, a.Offered), cmp.Compare(b.Loaded, a.Loaded), cmp.Compare(a.ID, b.ID))
	})
	for _, id := range c.ids {
		if n := c.skills[id]; n == nil || n.Offered == 0 {
			s.Never = append(s.Never, id)
		}
	}
	slices.Sort(s.Never)
	for prompt, n := range c.gaps {
		s.Gaps = append(s.Gaps, Gap{prompt, n})
	}
	slices.SortFunc(s.Gaps, func(a, b Gap) int { return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Prompt, b.Prompt)) })
	for _, m := range c.misses {
		s.Misses = append(s.Misses, *m)
	}
	slices.SortFunc(s.Misses, func(a, b Miss) int { return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.ID, b.ID)) })
	return s
}
