package repertoire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/source"
)

// seen is a folder of one of the sources as the last complete rescan saw it.
type seen struct {
	source int // in Config.Sources
	source.Trace
}

// changed returns which of the folders are not as they were seen, by rising
// index, up to most of them, as far as it gets before ctx ends, and how many were
// looked at. They are looked at on all processors: the time is spent in the
// system.
func (c *Catalog) changed(ctx context.Context, folders []seen, most int) (list []int, looked int) {
	const part = 16
	var taken, done atomic.Int64
	var mu sync.Mutex // guards list
	full := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(list) >= most
	}
	work := func() {
		for ctx.Err() == nil && !full() {
			from := int(taken.Add(part)) - part
			if from >= len(folders) {
				return
			}
			to := min(from+part, len(folders))
			for i := from; i < to; i++ {
				if f := &folders[i]; !c.cfg.Sources[f.source].Unchanged(f.Trace) {
					mu.Lock()
					list = append(list, i)
					mu.Unlock()
				}
			}
			done.Add(int64(to - from))
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(folders)/part) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	slices.Sort(list)
	return list, int(done.Load())
}

// order puts first what is most likely to have changed: the folders that new
// skills are put into, nearest to the top first, where there are few of them, and
// then what has changed most recently.
func order(folders []seen) {
	const few = 2 // levels
	rank := func(f *seen) int {
		if depth := strings.Count(f.Dir, "/"); !f.Skill && depth < few-1 {
			return depth
		}
		return few
	}
	slices.SortStableFunc(folders, func(a, b seen) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Time, a.Time))
	})
}

// The file of what was seen, beside the catalog: a header, the size of the rest
// in 8 bytes, then a record for each folder in the order of order. It lets a
// process that lives for one answer look for changes without a walk and without
// the database.
const (
	seenSuffix   = ".seen"
	cursorSuffix = ".looked" // how far such processes have come
	seenMagic    = "skills seen 1\n"
	maxRecord    = 1 << 20
)

// seenHeader tells the sources, in their order.
func (c *Catalog) seenHeader() []byte {
	b := []byte(seenMagic)
	var list []byte
	for _, s := range c.cfg.Sources {
		list = fmt.Appendf(list, "%q %q %d\n", s.Info().Label, s.Info().Root, s.Info().Priority)
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	return append(b, list...)
}

// appendSeen appends the record of a folder, behind its length.
func appendSeen(b []byte, f *seen) []byte {
	r := binary.AppendUvarint(nil, uint64(f.source))
	flags := byte(0)
	for bit, set := range []bool{f.Skill, f.Full} {
		if set {
			flags |= 1 << bit
		}
	}
	r = binary.AppendVarint(append(r, flags), f.Time)
	r = binary.AppendUvarint(r, uint64(len(f.Below)))
	for _, s := range append([]string{f.Dir, f.Stamp}, f.Below...) {
		r = append(binary.AppendUvarint(r, uint64(len(s))), s...)
	}
	return append(binary.AppendUvarint(b, uint64(len(r))), r...)
}

var errSeen = errors.New("not a record of what was seen")

// readSeen reads the next record, of one of n sources, and its length in the
// file.
func readSeen(r *bufio.Reader, n int) (f seen, size int, err error) {
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return f, 0, err // io.EOF at the end
	}
	if length > maxRecord {
		return f, 0, errSeen
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return f, 0, errSeen
	}
	size = len(binary.AppendUvarint(nil, length)) + len(data)
	in := bytes.NewReader(data)
	number := func() int {
		v, e := binary.ReadUvarint(in)
		if e != nil || v > maxRecord {
			err = errSeen
			return 0
		}
		return int(v)
	}
	text := func() string {
		b := make([]byte, min(number(), in.Len()))
		in.Read(b) // as much as there is
		return string(b)
	}
	f.source = number()
	flags, _ := in.ReadByte()
	f.Skill, f.Full = flags&1 != 0, flags&2 != 0
	f.Time, _ = binary.ReadVarint(in)
	below := number()
	f.Dir, f.Stamp = text(), text()
	for range min(below, in.Len()) {
		f.Below = append(f.Below, text())
	}
	if err != nil || f.source >= n || in.Len() > 0 || len(f.Below) != below {
		return f, 0, errSeen
	}
	return f, size, nil
}

// writeSeen writes the file of what was seen, which order has sorted. It replaces
// the old one, and what it cannot write is as good as absent.
func (c *Catalog) writeSeen(folders []seen) {
	data := append(c.seenHeader(), make([]byte, 8)...)
	start := len(data)
	for i := range folders {
		data = appendSeen(data, &folders[i])
	}
	binary.LittleEndian.PutUint64(data[start-8:], uint64(len(data)-start))
	name := c.cfg.DB + seenSuffix
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return
	}
	os.Remove(c.cfg.DB + cursorSuffix)
	if err := atomicfile.Write(name, data); err != nil {
		c.log.Debug("writing what was seen", "error", err)
		os.Remove(name)
	}
}

// A Glance is what a short look at the sources showed.
type Glance struct {
	Current bool // the ranking is compiled, and nothing that was looked at has changed
	All     bool // everything was looked at
	Looked  int  // folders
}

// head is how many of the folders, those that are most likely to have changed,
// each Glance looks at first.
const head = 128

// Glance looks whether the catalog can answer as it is: whether its ranking is
// compiled for these sources, and whether their folders are as the last complete
// rescan saw them. It looks at the 128 that are most likely to have changed and
// then, if there are more, for about the time of limit at others: it goes on where
// the last Glance, of whatever process, stopped. A catalog that was opened with
// Defer needs no database for it, and seldom for the answers after it: only to
// compare the instructions of two skills that are nearly the same.
func (c *Catalog) Glance(ctx context.Context, limit time.Duration) Glance {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !c.state.Load().index.Published(c.indexSources()) {
		return Glance{}
	}
	f, err := os.Open(c.cfg.DB + seenSuffix)
	if err != nil {
		return Glance{}
	}
	defer f.Close()
	g, err := c.look(ctx, bounded, f)
	if err != nil { // it is no such file, or of other sources
		return Glance{}
	}
	return g
}

// look is Glance for the file of what was seen; after the head of it bounded
// holds.
func (c *Catalog) look(ctx, bounded context.Context, f *os.File) (Glance, error) {
	header := c.seenHeader()
	found := make([]byte, len(header)+8)
	if _, err := io.ReadFull(f, found); err != nil || !bytes.HasPrefix(found, header) {
		return Glance{}, errSeen
	}
	start := int64(len(found))
	info, err := f.Stat()
	if err != nil || uint64(info.Size()-start) != binary.LittleEndian.Uint64(found[len(header):]) {
		return Glance{}, errSeen // a power cut may have taken some of it
	}
	g := Glance{Current: true}
	at, end, err := c.lookFrom(ctx, f, start, head, &g)
	if err != nil || !g.Current || end {
		g.All = end && g.Current
		return g, err
	}
	first := max(at, c.cursor(at))
	from := first
	for bounded.Err() == nil && g.Current {
		next, end, err := c.lookFrom(bounded, f, from, 256, &g)
		if err != nil {
			os.Remove(c.cfg.DB + cursorSuffix) // it may point between two records
			return Glance{}, err
		}
		if from = next; end {
			if g.All = first == at; g.All {
				break
			}
			first, from = at, at // from here to where this look began is left for the next
		}
	}
	if g.Current && !g.All {
		c.setCursor(from)
	}
	return g, nil
}

// lookFrom looks at up to n folders of the file from an offset, and returns the
// offset behind those that it has looked at, and whether the file ends there.
func (c *Catalog) lookFrom(ctx context.Context, f *os.File, from int64, n int, g *Glance) (next int64, end bool, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, math.MaxInt64-from), 32<<10)
	var folders []seen
	next = from
	for len(folders) < n {
		one, size, err := readSeen(r, len(c.cfg.Sources))
		if err == io.EOF {
			end = true
			break
		}
		if err != nil {
			return 0, false, err
		}
		folders = append(folders, one)
		next += int64(size)
	}
	list, looked := c.changed(ctx, folders, 1)
	g.Current, g.Looked = g.Current && len(list) == 0, g.Looked+looked
	if looked < len(folders) {
		return from, false, nil // cut off: these again
	}
	return next, end, nil
}

// cursor returns the offset at which the last Glance stopped, least if none did.
func (c *Catalog) cursor(least int64) int64 {
	data, err := os.ReadFile(c.cfg.DB + cursorSuffix)
	if err != nil || len(data) != 8 {
		return least
	}
	return int64(binary.LittleEndian.Uint64(data))
}

// setCursor keeps an offset for the next Glance. To lose it costs nothing.
func (c *Catalog) setCursor(at int64) {
	os.WriteFile(c.cfg.DB+cursorSuffix, binary.LittleEndian.AppendUint64(nil, uint64(at)), 0o600)
}
