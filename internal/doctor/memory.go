package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"path"
	"sync"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/inspect"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// findingsSuffix ends the name of a memory's file, which begins with the name of the catalog.
const findingsSuffix = ".findings"

// A memory keeps what a check of a catalog has found, for the next one: what the files of a skill
// show, as long as its digest and the stamp of its folder are the same, and what follows from the
// whole catalog, such as how skills rank for their own descriptions, as long as
// search.Searcher.Basis is. It holds for one program file, because another one may have other
// rules. Everything else is found anew each time.
type memory struct {
	file     string                       // "" means that nothing is kept
	stamps   map[string]map[string]string // by source and folder, see index.Report.Stamps
	old, now findings
	changed  bool // now is not what the file has

	mu sync.Mutex // guards now and changed
}

// Findings are what the file of a memory holds.
type findings struct {
	Program string // identifies the program file
	Skills  map[[sha256.Size]byte]looked

	Basis     string // of the rest
	Positions map[string]search.Position
	Twins     []search.Twins // their entries have no more than a finding needs
	Indexed   []reported
	Found     int             // number of skills, also of those that are links
	Names     []skill.Problem // see inspect.Names
	NamesOf   [sha256.Size]byte
}

// A reported problem was found by indexing.
type reported struct {
	Source string
	skill.Problem
}

// remember returns what is known of a catalog, which was just rescanned with these reports.
func remember(ctx context.Context, c *repertoire.Catalog, reports []repertoire.Report) (*memory, error) {
	stamps := make(map[string]map[string]string)
	for _, r := range reports {
		stamps[r.Source] = r.Stamps()
	}
	m := &memory{stamps: stamps, now: findings{Positions: make(map[string]search.Position), Skills: make(map[[sha256.Size]byte]looked)}}
	basis, err := c.Owner().Basis(ctx)
	program := ""
	if at, err := os.Executable(); err == nil {
		program = regular.Look(at)
	}
	m.now.Program, m.now.Basis = program, basis
	if c.Path() == "" || program == "" || err != nil {
		return m, err
	}
	m.file = c.Path() + findingsSuffix
	data, err := regular.ReadFile(m.file)
	if err != nil || gob.NewDecoder(bytes.NewReader(data)).Decode(&m.old) != nil || m.old.Program != program {
		m.old = findings{} // without it, all is found anew
	}
	if m.changed = m.old.Basis != basis; m.changed {
		m.old = findings{Skills: m.old.Skills}
	}
	return m, nil
}

// look returns what the files of a skill show.
func (m *memory) look(ctx context.Context, src source.Source, e *repertoire.Entry, strict bool) looked {
	dir := path.Dir(e.Path)
	stamp := m.stamps[e.Source][dir]
	key := func() [sha256.Size]byte {
		return sha256.Sum256(fmt.Appendf(nil, "%s %s %q %q %t", stamp, e.Digest, e.Location, e.Name, strict))
	}
	l, known := m.old.Skills[key()]
	if known = known && stamp != ""; !known {
		ref, trace, ok := src.Skill(dir)
		if !ok {
			return looked{Unreadable: true}
		}
		stamp = trace.Stamp // the stamp of the last rescan may be older than what is read now
		if l, known = m.old.Skills[key()]; !known || stamp == "" {
			l, known = lookAt(ctx, src, ref, strict), false
		}
	}
	if stamp != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.now.Skills[key()], m.changed = l, m.changed || !known
	}
	return l
}

// position returns how a skill ranks for its own description.
func (m *memory) position(ctx context.Context, c *repertoire.Catalog, id string) (search.Position, error) {
	p, known := m.old.Positions[id]
	var err error
	if !known {
		if p, err = c.Owner().Position(ctx, id, ""); err != nil {
			return p, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Positions[id], m.changed = p, m.changed || !known
	return p, nil
}

// twins returns the twins of the catalog.
func (m *memory) twins(ctx context.Context, c *repertoire.Catalog) (list []search.Twins, err error) {
	if list = m.old.Twins; list == nil {
		if list, err = c.Owner().Twins(ctx); err != nil {
			return nil, err
		}
		for _, t := range list {
			for i, e := range t.Skills {
				var short search.Entry
				short.ID, short.Source, short.Location = e.ID, e.Source, e.Location
				t.Skills[i] = short
			}
		}
	}
	m.now.Twins = append([]search.Twins{}, list...)
	return list, nil
}

// indexed returns what indexing found.
func (m *memory) indexed(ctx context.Context, c *repertoire.Catalog) ([]reported, error) {
	if m.now.Indexed = m.old.Indexed; m.now.Indexed == nil {
		list, err := c.Owner().Problems(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			m.now.Indexed = append(m.now.Indexed, reported{r.Source, r.Problem})
		}
	}
	return m.now.Indexed, nil
}

// found returns how many skills there are, without so many links.
func (m *memory) found(ctx context.Context, c *repertoire.Catalog, links int) (int, error) {
	if m.now.Found = m.old.Found; m.now.Found == 0 {
		_, n, err := c.Size(ctx)
		if err != nil {
			return 0, err
		}
		m.now.Found = n + links
	}
	return m.now.Found - links, nil
}

// names returns what a comparison of names finds.
func (m *memory) names(list []inspect.Named) []skill.Problem {
	h := sha256.New()
	for _, n := range list {
		for _, text := range []string{n.Name, n.Source, n.Path, n.About} {
			io.WriteString(h, text+"\x00") // it never fails
		}
	}
	h.Sum(m.now.NamesOf[:0])
	if m.now.Names = m.old.Names; m.now.NamesOf != m.old.NamesOf {
		m.now.Names, m.changed = inspect.Names(list), true
	}
	return m.now.Names
}

// keep writes the file, if it has changed. If that fails the next check finds all anew.
func (m *memory) keep() {
	data := new(bytes.Buffer)
	if m.file != "" && (m.changed || len(m.now.Skills) < len(m.old.Skills)) && gob.NewEncoder(data).Encode(m.now) == nil {
		_ = atomicfile.Write(atomicfile.OS{}, m.file, data.Bytes())
	}
}
