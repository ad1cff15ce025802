package memorytest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A pulse tells everybody who waits that something has happened.
type pulse struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next beat
}

func newPulse() *pulse { return &pulse{next: make(chan struct{})} }

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.next)
	p.next = make(chan struct{})
}

// wait returns a channel that the next beat closes.
func (p *pulse) wait() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context, heard func(store.State), lost func(error)) error {
	known := "" // a look or an error, so that one thing is said once
	for {
		commits, breaks := s.commits.wait(), s.breaks.wait()
		c, err := s.at(ctx)
		now := fmt.Sprint(c.generation, c.tokens, err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case now == known:
		case err != nil:
			lost(err)
		default:
			heard(c.state())
		}
		known = now
		select {
		case <-commits:
		case <-breaks:
		case <-ctx.Done():
		}
	}
}

// SkillFiles implements store.Files.
func (s *Store) SkillFiles(ctx context.Context, source, dir string) ([]skill.File, error) {
	c, err := s.at(ctx)
	if err != nil {
		return nil, err
	}
	for row, k := range c.skills {
		if c.sources[k.source].Label == source && path.Dir(k.Path) == dir {
			return c.files[row], nil
		}
	}
	return nil, fmt.Errorf("skill %s/%s: %w", source, dir, fs.ErrNotExist)
}

// Content implements store.Files.
func (s *Store) Content(ctx context.Context, sha256 string) ([]byte, error) {
	c, err := s.at(ctx)
	if err != nil {
		return nil, err
	}
	data, ok := c.contents[sha256]
	switch {
	case !ok:
		return nil, fmt.Errorf("content %s: %w", sha256, fs.ErrNotExist)
	case digest(data) != sha256:
		return nil, fmt.Errorf("content %s: its digest is %s: %w", sha256, digest(data), store.ErrDamaged)
	}
	return data, nil
}

// Damage replaces the bytes with a digest by others, as a failing disk would.
func (s *Store) Damage(sha256 string, data []byte) error {
	return s.write(context.Background(), func(c *catalog) (bool, error) {
		c.contents[sha256] = data
		return false, nil
	})
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (t *tx) PutFiles(row int64, files []skill.File) error {
	if t.c.skills[row] == nil {
		return fmt.Errorf("files of skill %d: %w", row, fs.ErrNotExist)
	}
	t.changed = true
	t.c.files[row] = slices.SortedFunc(slices.Values(files), func(a, b skill.File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (t *tx) Missing(sha256 []string) ([]string, error) {
	var list []string
	for _, sum := range sha256 {
		if data, ok := t.c.contents[sum]; (!ok || digest(data) != sum) && !slices.Contains(list, sum) {
			list = append(list, sum)
		}
	}
	return list, nil
}

func (t *tx) PutContent(sha256 string, data []byte) error {
	if sum := digest(data); sum != sha256 {
		return fmt.Errorf("content %s: its digest is %s", sha256, sum)
	}
	t.c.contents[sha256] = bytes.Clone(data)
	return nil
}

// settleContents removes content that no skill refers to. It fails if some is not there.
func (c *catalog) settleContents() error {
	used := make(map[string]bool)
	for row, files := range c.files {
		for _, f := range files {
			if _, ok := c.contents[f.SHA256]; !ok {
				return fmt.Errorf("skill %s: file %s: content %s: %w", c.skills[row].Path, f.Path, f.SHA256, fs.ErrNotExist)
			}
			used[f.SHA256] = true
		}
	}
	maps.DeleteFunc(c.contents, func(sum string, _ []byte) bool { return !used[sum] })
	return nil
}

// A base is a compiled base with its bytes.
type base struct {
	store.Base
	data []byte
}

// Base implements store.Bases.
func (s *Store) Base(ctx context.Context, key string) (store.Base, bool, error) {
	c, err := s.at(ctx)
	b, ok := c.bases[key]
	return b.Base, ok && err == nil, err
}

// GetBase implements store.Bases.
func (s *Store) GetBase(ctx context.Context, b store.Base, w io.Writer) error {
	c, err := s.at(ctx)
	if err != nil {
		return err
	}
	have := c.bases[b.Key]
	if have.Base != b {
		return fmt.Errorf("base of generation %d: %w", b.Generation.Number, store.ErrStale)
	}
	if digest(have.data) != b.SHA256 {
		return fmt.Errorf("base of generation %d: %w", b.Generation.Number, store.ErrDamaged)
	}
	_, err = w.Write(have.data)
	return err
}

// PutBase implements store.Bases.
func (s *Store) PutBase(ctx context.Context, b store.Base, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, b.Size+1))
	if err != nil {
		return err
	}
	if int64(len(data)) != b.Size || digest(data) != b.SHA256 {
		return fmt.Errorf("base of generation %d: it is not %d bytes with the digest %s", b.Generation.Number, b.Size, b.SHA256)
	}
	return s.write(ctx, func(c *catalog) (bool, error) {
		if token, ok := c.generations[b.Generation.Number]; !ok || token != b.Generation.Token {
			return false, fmt.Errorf("base of generation %d, which the catalog does not know: %w", b.Generation.Number, store.ErrStale)
		}
		if old, ok := c.bases[b.Key]; !ok || old.Generation.Number < b.Generation.Number {
			c.bases[b.Key] = base{b, data}
		}
		return false, nil
	})
}

// Tokens implements store.Tokens.
func (s *Store) Tokens(ctx context.Context) ([]store.Token, error) {
	c, err := s.at(ctx)
	return slices.SortedFunc(maps.Values(c.tokens), func(a, b store.Token) int { return strings.Compare(a.Name, b.Name) }), err
}

// HadToken implements store.Tokens.
func (s *Store) HadToken(ctx context.Context) (bool, error) {
	c, err := s.at(ctx)
	return err == nil && c.hadToken, err
}

// AddToken implements store.Tokens.
func (s *Store) AddToken(ctx context.Context, t store.Token) error {
	return s.write(ctx, func(c *catalog) (bool, error) {
		if _, ok := c.tokens[t.Name]; ok {
			return false, fmt.Errorf("token %s: %w", t.Name, fs.ErrExist)
		}
		c.tokens[t.Name], c.hadToken = t, true
		return false, nil
	})
}

// RevokeToken implements store.Tokens.
func (s *Store) RevokeToken(ctx context.Context, name string) (ok bool, err error) {
	err = s.write(ctx, func(c *catalog) (bool, error) {
		_, ok = c.tokens[name]
		delete(c.tokens, name)
		return false, nil
	})
	return ok && err == nil, err
}

// AddUsage implements store.UsageLog.
func (s *Store) AddUsage(ctx context.Context, lines []store.UsageLine) error {
	return s.write(ctx, func(c *catalog) (bool, error) {
		list := slices.Clone(c.usage)
		for _, l := range lines {
			l.Time = l.Time.UTC()
			if !slices.ContainsFunc(list, func(old store.UsageLine) bool { return old.Time.Equal(l.Time) && bytes.Equal(old.Data, l.Data) }) {
				list = append(list, l)
			}
		}
		slices.SortStableFunc(list, func(a, b store.UsageLine) int { return a.Time.Compare(b.Time) })
		c.usage = bounded(list)
		return false, nil
	})
}

// bounded returns the lines of the newest months, and none of the future. It bounds no bytes.
func bounded(lines []store.UsageLine) []store.UsageLine {
	months := make(map[string]bool)
	lines = slices.DeleteFunc(lines, func(l store.UsageLine) bool { return time.Until(l.Time) > 24*time.Hour })
	for i, l := range slices.Backward(lines) {
		if months[l.Time.Format("2006-01")] = true; len(months) > store.UsageMonths {
			return lines[i+1:]
		}
	}
	return lines
}

// UsageSince implements store.UsageLog.
func (s *Store) UsageSince(ctx context.Context, since time.Time, f func(store.UsageLine) error) error {
	c, err := s.at(ctx)
	if err != nil {
		return err
	}
	for _, l := range c.usage {
		if l.Time.Before(since) {
			continue
		}
		if err := f(l); err != nil {
			return err
		}
	}
	return nil
}

// ForgetUsage implements store.UsageLog.
func (s *Store) ForgetUsage(ctx context.Context) error {
	return s.write(ctx, func(c *catalog) (bool, error) {
		c.usage = nil
		return false, nil
	})
}

// Proposals implements store.Proposals.
func (s *Store) Proposals(ctx context.Context) ([]store.Proposal, error) {
	c, err := s.at(ctx)
	list := slices.SortedFunc(maps.Values(c.proposals), func(a, b store.Proposal) int { return strings.Compare(a.ID, b.ID) })
	for i := range list {
		list[i].Text = nil
	}
	return list, err
}

// Proposal implements store.Proposals.
func (s *Store) Proposal(ctx context.Context, id string) (store.Proposal, error) {
	c, err := s.at(ctx)
	p, ok := c.proposals[id]
	if err == nil && !ok {
		err = fmt.Errorf("proposal %s: %w", id, fs.ErrNotExist)
	}
	return p, err
}

// AddProposal implements store.Proposals.
func (s *Store) AddProposal(ctx context.Context, p store.Proposal) error {
	return s.write(ctx, func(c *catalog) (bool, error) {
		if _, ok := c.proposals[p.ID]; ok {
			return false, fmt.Errorf("proposal %s: %w", p.ID, fs.ErrExist)
		}
		c.proposals[p.ID] = p
		return false, nil
	})
}

// SetProposal implements store.Proposals.
func (s *Store) SetProposal(ctx context.Context, p store.Proposal, was []byte) error {
	return s.write(ctx, func(c *catalog) (bool, error) {
		old, ok := c.proposals[p.ID]
		if !ok || !bytes.Equal(old.Info, was) {
			return false, fmt.Errorf("proposal %s: %w", p.ID, store.ErrStale)
		}
		old.Waits, old.Info = p.Waits, p.Info
		c.proposals[p.ID] = old
		return false, nil
	})
}
