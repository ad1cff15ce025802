// Package status gathers how things stand: which clients are set up, where skills come from,
// how the catalog is, what was offered last, what is wrong, and which command is useful next.
//
// The one rule: it only looks. It writes no settings, builds no catalog and runs no command of
// a client.
package status

import (
	"cmp"
	"context"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Status says how things stand.
type Status struct {
	Clients []Client `json:"clients"` // that are on this machine or set up
	Skills  int      `json:"skills"`  // offered, or, while there is no catalog, found
	Held    int      `json:"held"`    // further skills: shadowed, disabled, refused, or without a command that they need
	Sources []Source `json:"sources"` // in which there are skills, the first wins
	Catalog Catalog  `json:"catalog"`
	Usage   bool     `json:"usage"`             // the log of usage is on
	Offers  []Offer  `json:"offers"`            // the last, the newest first
	Prompts *Prompts `json:"prompts,omitempty"` // what the last ones got; nil if that is not noted
	Late    int      `json:"late"`              // prompts of the last day whose answer was too late for the client
	Waiting int      `json:"waiting"`           // proposed changes that wait for a decision

	Verdict   doctor.Verdict `json:"verdict"`             // of what is known without a look at the files of skills
	Unchecked bool           `json:"unchecked,omitempty"` // the skills are so many, or shared, that Verdict leaves them out
	Next      Step           `json:"next"`
}

// A Client is a client on this machine.
type Client struct {
	Client string `json:"client"`
	Title  string `json:"title"`
	Found  bool   `json:"found"`            // it is on this machine
	MCP    bool   `json:"mcp"`              // its MCP server is set up
	Hook   bool   `json:"hook"`             // its hook is set up
	Server string `json:"server,omitempty"` // host of the server that it asks; "" means the catalog of this machine

	Off  *setup.Off   `json:"off,omitempty"`  // the setting with which it runs no hook; nil if there is none, or no hook
	Lost []setup.Lost `json:"lost,omitempty"` // what setup wrote, and somebody else has removed

	Refused *hook.Refusal `json:"refused,omitempty"` // the last time in a day that Server did not accept the token
}

// SetUp reports whether the client uses the catalog.
func (c Client) SetUp() bool { return c.MCP || c.Hook }

// A Source is a place with skills.
type Source struct {
	Source string `json:"source"` // its label
	Kind   string `json:"kind"`
	Folder string `json:"folder,omitempty"` // "" if it is not on disk
	Skills int    `json:"skills"`           // that were found in it, also those that are not offered
	Away   bool   `json:"away,omitempty"`   // it cannot be read now
}

// The states of a catalog.
const (
	Current  = "current"  // it has all skills as they are, as far as a short look shows
	Changed  = "changed"  // skills have changed, or may have; the next question looks
	Partial  = "part"     // it does not have all skills yet; the next question reads them
	Building = "building" // another process reads skills now
	Missing  = "missing"  // nothing is indexed yet
	Broken   = "broken"   // it cannot be opened, or the configuration has a mistake
)

// A Catalog is the index of the skills.
type Catalog struct {
	State string `json:"state"`
	File  string `json:"file,omitempty"`
	Error string `json:"error,omitempty"` // why it is broken
	Mode  string `json:"mode,omitempty"`  // what ranking is based on, see search.Ranking; "" if nothing is indexed
	Slow  string `json:"slow,omitempty"`  // why the encoder has no part in it on this machine; "" if it is not too slow

	// Estimate is why the threshold is an estimate; "" if it was measured in the catalog, or if
	// nothing is indexed.
	Estimate string `json:"estimate,omitempty"`
	// Needless and Unfit say how many of the prompts that need no skill, and of those that none of these skills is
	// for, get an offer; nil if that was not measured.
	Needless *search.Compared `json:"needless,omitempty"`
	Unfit    *search.Compared `json:"unfit,omitempty"`
	Measured string           `json:"-"` // the same in words

	Store string     `json:"store,omitempty"` // the shared catalog that it is a copy of, without a password
	Heard *time.Time `json:"heard,omitempty"` // when the copy was last known to be as the shared catalog
}

// An Offer is what a prompt got.
type Offer struct {
	Time    time.Time `json:"time"`
	Client  string    `json:"client"`
	Skills  []string  `json:"skills"`            // IDs; none for a prompt that got nothing
	Because string    `json:"because,omitempty"` // why it wanted none: "reply", "log" and so on
}

// A Look says what to look at.
type Look struct {
	// Open opens the catalog for an agent; nil means all agents. Its error makes the catalog broken.
	Open func(context.Context) (*repertoire.Catalog, *repertoire.Agent, error)
	// Mistakes returns the findings about the configuration, and about what keeps the catalog
	// from being used; nil if nothing does.
	Mistakes func(unusable error) []skill.Problem
	// Building reports whether another process indexes into this file.
	Building func(db string) bool

	Env   *setup.Env  // whose clients; nil means that nothing can be known of clients
	State string      // the state folder; "" means none
	Late  []time.Time // when answers of a hook were too late, the oldest first
	Most  int         // skills of the largest catalog whose skills are checked; 0 means 2,500, which take 50 ms
}

// Prompts count what the last prompts got.
type Prompts struct {
	All    int            `json:"all"`    // at most 50, and those that were too late since the first of them
	Skills int            `json:"skills"` // that got skills
	Silent map[string]int `json:"silent"` // that got none, by why: "reply", "log" and so on; "" means that no skill stands out
	Late   int            `json:"late"`   // whose answer was too late for the client
}

const (
	offers  = 2  // that a Status lists
	prompts = 50 // that it counts
)

// Gather returns how things stand.
func Gather(ctx context.Context, l Look) (*Status, error) {
	s := &Status{Clients: []Client{}, Sources: []Source{}, Offers: []Offer{}}
	var clients []setup.Status
	if l.Env != nil {
		clients = setup.Scan(l.Env)
		s.Clients = clientsOf(clients, l.State)
	}
	if l.State != "" {
		s.Waiting = proposal.Count(proposal.Dir(l.State))
	}
	r, listed := new(doctor.Report), []setup.Listed(nil)
	c, agent, err := l.Open(ctx)
	if err == nil {
		defer c.Close()
		if r, listed, err = s.catalog(ctx, c, agent, l); err == nil {
			for _, p := range doctor.Servers(ctx, c.Config(), nil, time.Second) {
				if p.Severity == skill.Error { // a key is refused; who is only slow now is left to doctor
					r.Add(p)
				}
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r, s.Catalog.State, s.Catalog.Error = new(doctor.Report), Broken, err.Error()
	}
	r.Add(l.Mistakes(err)...)
	for _, c := range s.Clients {
		if c.Refused != nil {
			r.Add(skill.Problem{Rule: "key-refused", Severity: skill.Error, Path: "hook.log", Message: c.Title + " was " + c.Refused.Text, Hint: `"skills doctor" asks the server again`})
		}
	}
	if l.Env != nil {
		r.Add(setup.Check(l.Env, clients, listed)...)
	}
	s.Verdict = r.Verdict()
	s.Next = s.next()
	return s, nil
}

// Background returns what the threshold of an agent's prompts follows from in a catalog, as it says for some prompt.
func Background(ctx context.Context, c *repertoire.Catalog, agent *repertoire.Agent) (search.Background, error) {
	answer, err := c.Search(ctx, search.Query{Text: "skills", Limit: 1, Agent: agent, Trial: true})
	return answer.Background, err
}

// clientsOf returns the clients that are on the machine or set up.
func clientsOf(statuses []setup.Status, state string) []Client {
	clients := []Client{}
	for _, st := range statuses {
		c := Client{Client: st.Client.Name, Title: st.Client.Title, Found: st.Installed}
		for _, r := range st.Registrations {
			c.MCP = c.MCP || r.Kind == setup.MCP && !r.Gone
			c.Hook = c.Hook || r.Kind == setup.Hook && !r.Gone
			c.Server = cmp.Or(c.Server, r.Host())
		}
		if c.Lost = st.Lost; c.Hook {
			c.Off = st.Off
		}
		if c.Server != "" {
			c.Refused = hook.Refused(state, c.Server, time.Now().Add(-24*time.Hour))
		}
		if c.Found || len(st.Registrations) > 0 {
			clients = append(clients, c)
		}
	}
	return clients
}

// catalog adds what a catalog says. It returns the findings about it, and what clients may
// list themselves.
func (s *Status) catalog(ctx context.Context, c *repertoire.Catalog, agent *repertoire.Agent, l Look) (*doctor.Report, []setup.Listed, error) {
	cfg := c.Config()
	s.Usage, s.Catalog.File = cfg.Usage, c.Path()
	if shared := c.Shared(); shared.State != "" {
		s.Catalog.Store = "a store without a name"
		if named, ok := cfg.Store.(interface{ Name() string }); ok {
			s.Catalog.Store = named.Name()
		}
		if !shared.Heard.IsZero() {
			s.Catalog.Heard = &shared.Heard
		}
	}
	s.Late = since(l.Late, time.Now().Add(-24*time.Hour))
	if l.State != "" && s.Usage {
		s.addOffers(ctx, agent, &l)
	}
	var found int
	var err error
	if s.Catalog.State, found, err = stateOf(ctx, c); err != nil {
		return nil, nil, err
	}
	if s.Catalog.State != Current && l.Building(c.Path()) {
		s.Catalog.State = Building
	}
	by, err := config.EmbeddingBy(cfg.Embedder, cfg.Contextual)
	if s.Catalog.Slow = by.Slow; err == nil && found > 0 {
		if s.Catalog.Mode, err = c.Mode(ctx); err == nil {
			var b search.Background
			b, err = Background(ctx, c, agent)
			s.Catalog.Estimate, s.Catalog.Measured = b.Missing, b.Measured()
			if s.Catalog.Measured != "" {
				s.Catalog.Needless, s.Catalog.Unfit = &b.Needless, &b.Work
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if found == 0 {
		s.walk(ctx, cfg.Sources)
		return &doctor.Report{Skills: s.Skills}, nil, nil
	}
	return s.count(ctx, c, agent, found, cmp.Or(l.Most, 2500))
}
