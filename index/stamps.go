package index

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

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// A stamp is a folder of one of the sources as the last complete walk saw it: it
// tells that the folder may have changed.
type stamp struct {
	source int // its place among the sources
	source.Trace
}

// changed returns which of the folders are not as their stamps say, by rising
// index and up to most of them, as far as it gets before ctx ends, and how many it
// looked at. It looks on all processors: the time is spent in the system.
func changed(ctx context.Context, sources []source.Source, stamps []stamp, most int) (list []int, looked int) {
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
			if from >= len(stamps) {
				return
			}
			to := min(from+part, len(stamps))
			for i := from; i < to; i++ {
				if s := &stamps[i]; !sources[s.source].Unchanged(s.Trace) {
					mu.Lock()
					list = append(list, i)
					mu.Unlock()
				}
			}
			done.Add(int64(to - from))
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(stamps)/part) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	slices.Sort(list)
	return list, int(done.Load())
}

// sortStamps puts first what is most likely to have changed: the folders that new
// skills are put into, nearest to the top first, where there are few of them, and
// then what has changed most recently.
func sortStamps(stamps []stamp) {
	const few = 2 // levels
	rank := func(s *stamp) int {
		if depth := strings.Count(s.Dir, "/"); !s.Skill && depth < few-1 {
			return depth
		}
		return few
	}
	slices.SortStableFunc(stamps, func(a, b stamp) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Time, a.Time))
	})
}

// A stampFile is the list of stamps on file, beside the catalog: a header that
// tells the sources, the generation that the stamps were taken at, the size of the
// rest in 8 bytes, then a record for each folder, in the order of sortStamps. It
// lets a process that lives for one answer look for changes without a walk and
// without the database.
type stampFile struct {
	path    string // of the catalog
	sources []source.Source
}

const (
	stampSuffix  = ".stamps"
	cursorSuffix = ".looked" // how far the last look came
	stampMagic   = "skill stamps 1\n"
	maxRecord    = 1 << 20
)

// header tells the sources, in their order.
func (f *stampFile) header() []byte {
	b := []byte(stampMagic)
	var list []byte
	for _, s := range f.sources {
		info := s.Info()
		list = fmt.Appendf(list, "%q %q %d\n", info.Label, info.Root, info.Priority)
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	return append(b, list...)
}

// write replaces the list by stamps, which are sorted and were taken at a
// generation. Without a list the next look is a walk, so nothing else depends on
// its success.
func (f *stampFile) write(g store.Generation, stamps []stamp) error {
	data := binary.LittleEndian.AppendUint64(f.header(), uint64(g.Number))
	data = binary.LittleEndian.AppendUint64(data, uint64(g.Token))
	data = append(data, make([]byte, 8)...)
	start := len(data)
	for i := range stamps {
		data = appendStamp(data, &stamps[i])
	}
	binary.LittleEndian.PutUint64(data[start-8:], uint64(len(data)-start))
	name := f.path + stampSuffix
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	os.Remove(f.path + cursorSuffix)
	err := atomicfile.Write(name, data)
	if err != nil {
		os.Remove(name)
	}
	return err
}

// open opens the list of these sources that was taken at a generation, and returns
// where its first record is.
func (f *stampFile) open(g store.Generation) (file *os.File, start int64, err error) {
	if file, err = os.Open(f.path + stampSuffix); err != nil {
		return nil, 0, err
	}
	header := f.header()
	found := make([]byte, len(header)+3*8)
	_, err = io.ReadFull(file, found)
	info, statErr := file.Stat()
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(found[len(header)+8*i:]) }
	start = int64(len(found))
	if err != nil || statErr != nil || !bytes.HasPrefix(found, header) ||
		int64(number(0)) != g.Number || int64(number(1)) != g.Token ||
		uint64(info.Size()-start) != number(2) { // a power cut may have taken some of it
		return nil, 0, errors.Join(errStamps, file.Close())
	}
	return file, start, nil
}

// cursor returns the offset at which the last look stopped, least if none did.
func (f *stampFile) cursor(least int64) int64 {
	data, err := os.ReadFile(f.path + cursorSuffix)
	if err != nil || len(data) != 8 {
		return least
	}
	return max(least, int64(binary.LittleEndian.Uint64(data)))
}

// setCursor keeps an offset for the next look. To lose it costs nothing.
func (f *stampFile) setCursor(at int64) {
	os.WriteFile(f.path+cursorSuffix, binary.LittleEndian.AppendUint64(nil, uint64(at)), 0o600)
}

// forgetCursor removes an offset that may point between two records.
func (f *stampFile) forgetCursor() { os.Remove(f.path + cursorSuffix) }

// A Glance is what a short look at the sources showed.
type Glance struct {
	Current bool // the ranking is compiled, and nothing that was looked at has changed
	All     bool // everything was looked at
	Looked  int  // folders
}

// head is how many of the folders, those that are most likely to have changed,
// each look begins with.
const head = 128

// look looks at the folders of the list: at its head, and then until bounded ends
// at others, from where the last look, of whatever process, stopped.
func (f *stampFile) look(ctx, bounded context.Context, file *os.File, start int64) (Glance, error) {
	g := Glance{Current: true}
	at, end, err := f.lookFrom(ctx, file, start, head, &g)
	if err != nil || !g.Current || end {
		g.All = end && g.Current
		return g, err
	}
	first := f.cursor(at)
	from := first
	for bounded.Err() == nil && g.Current {
		next, end, err := f.lookFrom(bounded, file, from, 256, &g)
		if err != nil {
			f.forgetCursor()
			return Glance{}, err
		}
		if from = next; end {
			if g.All = first == at; g.All {
				break
			}
			first, from = at, at // from here to where this look began is left for the next one
		}
	}
	if g.Current && !g.All {
		f.setCursor(from)
	}
	return g, nil
}

// lookFrom looks at up to n folders of the list from an offset, and returns the
// offset behind those that it has looked at, and whether the list ends there.
func (f *stampFile) lookFrom(ctx context.Context, file *os.File, from int64, n int, g *Glance) (next int64, end bool, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(file, from, math.MaxInt64-from), 32<<10)
	var stamps []stamp
	next = from
	for len(stamps) < n {
		one, size, err := readStamp(r, len(f.sources))
		if err == io.EOF {
			end = true
			break
		}
		if err != nil {
			return 0, false, err
		}
		stamps = append(stamps, one)
		next += int64(size)
	}
	list, looked := changed(ctx, f.sources, stamps, 1)
	g.Current, g.Looked = g.Current && len(list) == 0, g.Looked+looked
	if looked < len(stamps) {
		return from, false, nil // it was cut off: the next look begins with these again
	}
	return next, end, nil
}

// appendStamp appends the record of a folder, behind its length.
func appendStamp(b []byte, s *stamp) []byte {
	r := binary.AppendUvarint(nil, uint64(s.source))
	flags := byte(0)
	for bit, set := range []bool{s.Skill, s.Full} {
		if set {
			flags |= 1 << bit
		}
	}
	r = binary.AppendVarint(append(r, flags), s.Time)
	r = binary.AppendUvarint(r, uint64(len(s.Below)))
	for _, text := range append([]string{s.Dir, s.Stamp}, s.Below...) {
		r = append(binary.AppendUvarint(r, uint64(len(text))), text...)
	}
	return append(binary.AppendUvarint(b, uint64(len(r))), r...)
}

var errStamps = errors.New("not a list of stamps of this catalog")

// readStamp reads the next record, of one of n sources, and its length in the
// file.
func readStamp(r *bufio.Reader, n int) (s stamp, size int, err error) {
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return s, 0, err // io.EOF at the end
	}
	if length > maxRecord {
		return s, 0, errStamps
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return s, 0, errStamps
	}
	size = len(binary.AppendUvarint(nil, length)) + len(data)
	in := bytes.NewReader(data)
	number := func() int {
		v, e := binary.ReadUvarint(in)
		if e != nil || v > maxRecord {
			err = errStamps
			return 0
		}
		return int(v)
	}
	text := func() string {
		b := make([]byte, min(number(), in.Len()))
		in.Read(b) // as much as there is
		return string(b)
	}
	s.source = number()
	flags, _ := in.ReadByte()
	s.Skill, s.Full = flags&1 != 0, flags&2 != 0
	s.Time, _ = binary.ReadVarint(in)
	below := number()
	s.Dir, s.Stamp = text(), text()
	for range min(below, in.Len()) {
		s.Below = append(s.Below, text())
	}
	if err != nil || s.source >= n || in.Len() > 0 || len(s.Below) != below {
		return s, 0, errStamps
	}
	return s, size, nil
}
