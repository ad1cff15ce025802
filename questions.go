package repertoire

import (
	"cmp"
	"context"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// Search returns the skills that fit a text, best first; with Query.Syntax those
// that match a query, of which a malformed one is a *SyntaxError. A Query with both
// Threshold and Disturb is an error.
func (c *Catalog) Search(ctx context.Context, q Query) (Answer, error) {
	return asked(ctx, c, func(s *state) (Answer, error) { return s.search.Search(ctx, q) })
}

// Snippets returns for each entry an excerpt of its body, of at most length
// characters, around what the query matches there; see search.Searcher.Snippets.
func (c *Catalog) Snippets(ctx context.Context, q Query, entries []Entry, length int) ([]Snippet, error) {
	return asked(ctx, c, func(s *state) ([]Snippet, error) { return s.search.Snippets(ctx, q, entries, length) })
}

// Block returns the text that tells a model which skills fit a prompt, empty
// when none does; where all skills that the agent sees are few, the text lists them all, and
// Block.Hint says which fit (see Config.Offer). A Budget of an unknown format or form, or with both Threshold and
// Disturb, is an error; a pinned skill that cannot be read is one of Block.Problems.
func (c *Catalog) Block(ctx context.Context, prompt string, b Budget, a *Agent) (Block, error) {
	b.Form = cmp.Or(b.Form, c.cfg.Form)
	if b.Offer == "" && a != nil {
		b.Offer = contextprovider.Offer(a.Offer)
	}
	b.Offer = cmp.Or(b.Offer, c.cfg.Offer, contextprovider.Auto)
	b.Wording = cmp.Or(b.Wording, c.cfg.Wording)
	return asked(ctx, c, func(s *state) (Block, error) { return s.provider.Block(ctx, prompt, b, a) })
}

// Body returns the instructions of a skill as they are in its source now, with
// Config.LoadRequired also those of the skills that it requires. id is the ID of an
// Entry, or a name. The error is ErrNotFound for a skill that a does not see, else
// why SKILL.md cannot be read: it is gone, is too large or is no text.
func (c *Catalog) Body(ctx context.Context, id string, a *Agent) (Body, error) {
	return named(ctx, c, func(s *state) (Body, error) {
		if c.cfg.LoadRequired {
			return s.provider.BodyAndRequired(ctx, id, a)
		}
		return s.provider.Body(ctx, id, a)
	})
}

// File returns a file of a skill as it is in its source now. name is its path below
// the folder of the skill, with slashes. The error is ErrNotFound for a skill that a
// does not see, fs.ErrNotExist for a file that there is not, source.ErrRefused for a
// path that leads out of the folder, and source.ErrTooLarge for a file that is larger
// than the Options of its source allow.
func (c *Catalog) File(ctx context.Context, id, name string, a *Agent) (File, error) {
	return named(ctx, c, func(s *state) (File, error) { return s.provider.File(ctx, id, name, a) })
}

// FindText searches the text of the files of a skill, or of the skills that fit a text best, as
// they are in their sources now. A file that cannot be read or is no text is one of
// Passages.Skipped. The errors are those of Body, and one for a section that the skill does not
// have; a search of a single file has those of File too.
func (c *Catalog) FindText(ctx context.Context, q contextprovider.TextQuery, a *Agent) (contextprovider.Passages, error) {
	return named(ctx, c, func(s *state) (contextprovider.Passages, error) { return s.provider.FindText(ctx, q, a) })
}

// Lookup returns a skill as it is indexed: level 1. The error is ErrNotFound for a skill
// that a does not see; a skill that is held back is one, but its message says so. See
// search.Searcher.Lookup.
func (c *Catalog) Lookup(ctx context.Context, id string, a *Agent) (Entry, error) {
	return named(ctx, c, func(s *state) (Entry, error) { return s.search.Lookup(ctx, id, a) })
}

// Manifest returns what other programs must know of a skill to read it file by
// file, as it is in its source now. A skill that they could not read, or would
// read differently, is an error that wraps contextprovider.ErrUnpublishable.
func (c *Catalog) Manifest(ctx context.Context, id string, a *Agent) (contextprovider.Manifest, error) {
	return named(ctx, c, func(s *state) (contextprovider.Manifest, error) { return s.provider.Manifest(ctx, id, a, true) })
}

// Outline is Manifest without the digests: it opens no file but SKILL.md.
func (c *Catalog) Outline(ctx context.Context, id string, a *Agent) (contextprovider.Manifest, error) {
	return named(ctx, c, func(s *state) (contextprovider.Manifest, error) { return s.provider.Manifest(ctx, id, a, false) })
}

// Listing lists the files of a skill as they are in its source now, by path. It reads
// all of them if their digests are asked for, and else none but SKILL.md. The errors are
// those of Body.
func (c *Catalog) Listing(ctx context.Context, id string, a *Agent, digests bool) (contextprovider.Listing, error) {
	return named(ctx, c, func(s *state) (contextprovider.Listing, error) { return s.provider.Listing(ctx, id, a, digests) })
}

// List returns all skills that a sees by name, those of sources that are away too;
// shadowed and held ones only when asked for. o may be nil.
func (c *Catalog) List(ctx context.Context, a *Agent, o *ListOptions) ([]Entry, error) {
	return asked(ctx, c, func(s *state) ([]Entry, error) { return s.search.List(ctx, a, o) })
}

// Script returns how the scripts of a skill run for an agent, see search.ScriptFor and, for whose
// skills are foreign, source.Foreign.
func (c *Catalog) Script(ctx context.Context, id string, a *Agent) (Script, error) {
	return named(ctx, c, func(s *state) (Script, error) {
		e, err := s.search.Lookup(ctx, id, a)
		if err != nil {
			return Script{}, err
		}
		return search.ScriptFor(c.cfg.Scripts, &e.Meta, source.Foreign(s.reader.known[e.Source], s.policy.Lower), a), nil
	})
}

// Pinned returns the pinned skills that an agent sees, in its order.
func (c *Catalog) Pinned(ctx context.Context, a *Agent) ([]Entry, error) {
	return asked(ctx, c, func(s *state) ([]Entry, error) { return s.search.Pinned(ctx, a) })
}

// Why explains why a skill is or is not offered for a query, also one that the agent of
// the query does not see: it is for the owner of the catalog. The error is ErrNotFound for
// a skill that the catalog does not have.
func (c *Catalog) Why(ctx context.Context, id string, q Query) (Explanation, error) {
	return named(ctx, c, func(s *state) (Explanation, error) { return s.search.Why(ctx, id, q) })
}

// Size returns how many skills are offered and how many there are in all. Links to a skill do
// not count, see SplitLinks.
func (c *Catalog) Size(ctx context.Context) (offered, found int, err error) {
	_, err = asked(ctx, c, func(s *state) (_ struct{}, err error) {
		offered, found, err = s.search.Size(ctx)
		return struct{}{}, err
	})
	if err != nil || offered == found {
		return offered, found, err
	}
	entries, err := c.List(ctx, nil, &ListOptions{Shadowed: true})
	_, links := SplitLinks(entries)
	return offered, found - len(links), err
}

// Count returns how many skills an agent is offered; nil means all agents. It reads no skill.
func (c *Catalog) Count(ctx context.Context, a *Agent) (int, error) {
	return asked(ctx, c, func(s *state) (int, error) { return s.search.Count(ctx, a) })
}

// Mode returns what ranking is based on if the embedder answers in time, see Answer. It asks
// no embedder.
func (c *Catalog) Mode(ctx context.Context) (string, error) {
	return asked(ctx, c, func(s *state) (string, error) { return s.search.Mode(ctx) })
}

// Unread returns how many sources have not been read yet, such as a folder that was just
// added: what is not found may still be there. Sources that are away do not count.
func (c *Catalog) Unread(ctx context.Context) (int, error) {
	return asked(ctx, c, func(s *state) (int, error) { return s.search.Unread(ctx) })
}

// Freshen brings the catalog up to date for a process that answers once and
// ends. A catalog that has never been indexed is indexed completely. Any other is
// brought up to date as far as the limits of o, which may be nil, allow: changes
// beyond them are missing from the answers, and later calls go on. If it cannot be
// brought up to date and yet can answer, that is no error, see Freshness.Stale. A catalog
// with Config.Store pulls its state, and has no folders to look at.
func (c *Catalog) Freshen(ctx context.Context, o *FreshenOptions) (Freshness, error) {
	if o == nil {
		o = new(FreshenOptions)
	}
	return c.keeper.freshen(ctx, o)
}
