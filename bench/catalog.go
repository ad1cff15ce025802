package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// A Mode says how skills are ranked.
type Mode string

// The modes.
const (
	Text   Mode = "text"
	Vector Mode = "vector" // by the cosines alone
	Hybrid Mode = "hybrid"
)

// A Catalog is a corpus, indexed in a temporary file by the code that indexes
// real skills, or the catalog of a room.
type Catalog struct {
	Skills int
	Tokens int // of all names and descriptions

	dir    string // "" when closed
	store  store.Store
	index  *index.Index
	search contextprovider.Catalog
	agent  *search.Agent     // who asks; nil means the whole catalog
	ids    map[string]string // of documents, by the ID of the skill
	names  map[string]bool   // keys of names that are taken, see words.NameKey
	named  map[string]string // names in the catalog, by document
	err    error             // the error at which the corpus ended; nil means none
}

// Setup says how a corpus is indexed; nil means for text ranking.
type Setup struct {
	Mode     Mode           // "" means Text
	Embedder embed.Embedder // not used by Text, needed by the other modes
	// Contextual is the encoder whose vectors rank beside those of Embedder, see index.Options;
	// nil means none. Text does not use it.
	Contextual     embed.Embedder
	Deadline       time.Duration // for the embedding of a prompt, see search.Options
	Disturb, Unfit float64       // see search.Options
	Threshold      float64       // see search.Options

	Indexed  func()              // called for each skill; nil means no call
	Embedded func(done, all int) // called while texts are embedded; nil means no call
}

// unhurried is the deadline of the encoder: what is measured must not depend on what else the machine
// does.
const unhurried = time.Minute

// NewCatalog indexes the corpus of d and checks that it has the skills that the labels
// name. In a corpus several skills may have the same name, in a catalog not: the second
// skill is renamed "name-2", and so on.
func NewCatalog(ctx context.Context, d *Dataset, s *Setup) (_ *Catalog, err error) {
	if d.room != nil {
		return opened(ctx, d.room)
	}
	s = cmp.Or(s, new(Setup))
	c := &Catalog{ids: make(map[string]string), names: make(map[string]bool), named: make(map[string]string)}
	if c.dir, err = os.MkdirTemp("", "repertoire-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	path := filepath.Join(c.dir, "catalog.db")
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	c.store = db
	opts := &search.Options{Deadline: s.Deadline, ContextualDeadline: unhurried, Disturb: s.Disturb, Unfit: s.Unfit, Threshold: s.Threshold}
	if s.Mode == Vector {
		opts.Params = &rank.Params{Legs: [rank.Legs]float64{rank.Description: 1, rank.Full: 1, rank.Sentence: 2}, Gate: rank.DefaultGate()}
	}
	embedder := s.Embedder
	opts.Contextual = s.Contextual
	if s.Mode == Text || s.Mode == "" {
		embedder, opts.Contextual = nil, nil
	}
	_, opts.Inline = embedder.(*static.Embedder) // without a deadline, as in a real catalog
	c.index = index.New(c.store, embedder, &index.Options{Path: path, Contextual: opts.Contextual})
	x := search.New(c.index, c.store, embedder, opts)
	c.search = x
	if err := c.fill(ctx, d, s, x.Calibrator(nil)); err != nil {
		return nil, err
	}
	return c, c.check(d)
}

// Close removes the temporary file.
func (c *Catalog) Close() error {
	var err error
	if c.index != nil {
		err = c.index.Close()
	}
	if c.store != nil {
		err = errors.Join(err, c.store.Close())
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// Search answers a query and says which document each hit is.
func (c *Catalog) Search(ctx context.Context, q search.Query) (search.Answer, []string, error) {
	answer, err := c.search.Search(ctx, q)
	return answer, c.idsOf(answer.Hits), err
}

// idsOf returns the IDs of hits. A hit that stands for a wanted skill, which is a copy of it, has the
// ID of that: the skills of a family do the same.
func (c *Catalog) idsOf(hits []search.Hit, wanted ...string) []string {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = c.ids[h.ID]
		for _, e := range h.Copies {
			if id := c.ids[e.ID]; slices.Contains(wanted, id) && !slices.Contains(wanted, ids[i]) {
				ids[i] = id
			}
		}
	}
	return ids
}

func (c *Catalog) fill(ctx context.Context, d *Dataset, s *Setup, by *search.Calibrator) error {
	report, err := c.index.Sync(ctx, store.Source{Label: d.Name}, c.refs(d.Corpus, s.Indexed))
	if err := errors.Join(c.err, err); err != nil {
		return err
	}
	c.Skills = report.Added
	if err := errors.Join(c.index.Embed(ctx, s.Embedded), c.index.Contextual.Embed(ctx, s.Embedded), c.index.Publish(ctx, true)); err != nil {
		return err
	}
	if err := c.index.Calibrate(ctx, by); err != nil {
		return err
	}
	return c.countTokens(ctx)
}

// refs turns documents into the refs that a walk of a source would find. No document is
// kept after it was indexed.
func (c *Catalog) refs(docs iter.Seq2[Document, error], indexed func()) iter.Seq2[*skill.Ref, error] {
	known := make(map[string]bool)
	return func(yield func(*skill.Ref, error) bool) {
		for d, err := range docs {
			if err == nil && known[d.ID] {
				err = fmt.Errorf("%s: a second skill %q", d.At, d.ID)
			}
			if c.err = err; err != nil {
				return
			}
			known[d.ID] = true
			if indexed != nil {
				indexed()
			}
			if !yield(c.ref(d), nil) {
				return
			}
		}
	}
}

func (c *Catalog) ref(d Document) *skill.Ref {
	dir := fmt.Sprintf("%07d", len(c.ids))
	d.Skill.Name = freeName(c.names, d.Skill.Name)
	c.ids[d.Skill.Name], c.named[d.ID] = d.ID, d.Skill.Name
	if d.Skill.Digest == "" { // skills of one digest are copies
		d.Skill.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q", d.ID, d.Skill.Description, d.Skill.Body)))
	}
	d.Skill.Path, d.Skill.Location = dir+"/SKILL.md", "skills/"+d.Skill.Name+"/SKILL.md"
	return &skill.Ref{Path: d.Skill.Path, Load: func() (*skill.Skill, error) { return d.Skill, nil }}
}

// freeName returns a name whose key is not taken, and takes it: the given one, if need be with
// a number.
func freeName(taken map[string]bool, name string) string {
	unique := name
	for n := 2; taken[words.NameKey(unique)]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	taken[words.NameKey(unique)] = true
	return unique
}

// check returns an error for a label with a skill that the corpus does not have.
func (c *Catalog) check(d *Dataset) error {
	for _, l := range d.labels {
		if _, ok := c.named[l.skill]; !ok {
			return fmt.Errorf("%s: the corpus has no skill %q", l.at, l.skill)
		}
	}
	return nil
}

// countTokens counts the tokens that a host would inject if it injected all names and
// descriptions. It counts 500 skills at a time to save memory.
func (c *Catalog) countTokens(ctx context.Context) error {
	const part = 500
	list, err := c.search.List(ctx, c.agent, &search.ListOptions{Person: true})
	if err != nil {
		return err
	}
	for len(list) > 0 {
		n := min(part, len(list))
		hits := make([]search.Hit, n)
		for i, e := range list[:n] {
			hits[i].Entry = e
		}
		c.Tokens += words.Tokens(contextprovider.AvailableSkills(hits))
		list = list[n:]
	}
	return nil
}
