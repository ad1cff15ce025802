package index

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// A stamp is what the last complete walk saw of a folder. If the folder looks
// otherwise now, it may have changed.
type stamp struct {
	source int // index of the source
	source.Trace
}

// changed checks folders until ctx ends or most of them differ from their stamps.
// It returns the indexes of those that differ, rising, and how many folders it
// checked. It runs on all processors, because the time goes into system calls.
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

// sortStamps puts the folders first that are most likely to have changed: the
// folders of the top two levels, into which people put new skills, and then the
// most recently changed ones.
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
// names the sources, the generation at which the stamps were taken, the size of what follows and of
// the records alone, and the offset at which the last Glance stopped, in 8 bytes each; then a record
// for each folder, in the order of sortStamps, and the reports of the walk as JSON. It lets a
// process that gives one answer check for changes without a walk and without the database. A
// Glance writes its offset in place: it is true of these records only, and nothing is lost with it.
type stampFile struct {
	disk    atomicfile.Disk
	path    string // of the catalog
	sources []source.Source
}

const (
	stampSuffix = ".stamps"
	stampMagic  = "skill stamps 4\n"
	headerLine  = "%q %q %d %q\n" // label, root, priority and settings of a source
	maxRecord   = 1 << 20         // bytes
)

// header returns the header, which names the sources in their order, with the settings
// on which their skills depend.
func (f *stampFile) header() []byte {
	b := []byte(stampMagic)
	var list []byte
	for _, s := range f.sources {
		info := s.Info()
		list = fmt.Appendf(list, headerLine, info.Label, info.Root, info.Priority, info.Settings)
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	return append(b, list...)
}

// write replaces the list on file by a scan whose stamps are sorted. If it fails it leaves no
// list: the next process walks instead.
func (f *stampFile) write(s *scan) error {
	stamps := s.stamps
	data := binary.LittleEndian.AppendUint64(f.header(), uint64(s.generation.Number))
	data = binary.LittleEndian.AppendUint64(data, uint64(s.generation.Token))
	data = append(data, make([]byte, 3*8)...)
	start := len(data)
	for i := range stamps {
		data = appendStamp(data, &stamps[i])
	}
	binary.LittleEndian.PutUint64(data[start-2*8:], uint64(len(data)-start))
	reports, err := json.Marshal(asKept(s.reports))
	if err != nil {
		return err
	}
	data = append(data, reports...)
	binary.LittleEndian.PutUint64(data[start-3*8:], uint64(len(data)-start))
	name := f.path + stampSuffix
	if old, err := regular.ReadFile(name); err == nil && len(old) == len(data) &&
		bytes.Equal(old[:start-8], data[:start-8]) && bytes.Equal(old[start:], data[start:]) {
		return nil // the cursor stays
	}
	if err = atomicfile.Write(f.disk, name, data); err != nil {
		f.disk.Remove(name)
	}
	return err
}

// A keptReport is what a list keeps of a report: the problems of the walk, and of the files that could
// not be read.
type keptReport struct {
	Report
	Failed []skill.Problem
}

func asKept(reports []Report) []keptReport {
	list := make([]keptReport, len(reports))
	for i, r := range reports {
		list[i] = keptReport{r, r.failed}
	}
	return list
}

// read returns the scan at generation g that is on file. It fails where open does.
func (f *stampFile) read(g store.Generation) (*scan, error) {
	list, err := f.open(g)
	if err != nil {
		return nil, err
	}
	defer list.Close()
	s := &scan{generation: g}
	for r := list.records(list.start); err == nil; {
		var one stamp
		if one, _, err = readStamp(r, len(f.sources)); err == nil {
			s.stamps = append(s.stamps, one)
		}
	}
	var kept []keptReport
	if err == io.EOF {
		err = json.NewDecoder(io.NewSectionReader(list, list.end, math.MaxInt64-list.end)).Decode(&kept)
	}
	for i := range kept {
		r := kept[i].Report
		r.failed = kept[i].Failed
		s.reports = append(s.reports, r)
	}
	if err == nil && len(kept) != len(f.sources) {
		err = errStamps
	}
	return s, err
}

// An openList is the list on file while a Glance reads it.
type openList struct {
	*os.File
	start  int64 // offset of the first record
	end    int64 // offset behind the last one
	cursor int64 // offset at which the last Glance stopped
}

// open opens the list on file. It fails if the list is of other sources or another generation.
func (f *stampFile) open(g store.Generation) (list openList, err error) {
	list.File, err = regular.OpenToWrite(f.path + stampSuffix)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		list.File, err = regular.Open(f.path + stampSuffix) // every Glance starts at the top
	}
	if err != nil {
		return list, err
	}
	header := f.header()
	found := make([]byte, len(header)+5*8)
	_, err = io.ReadFull(list.File, found)
	info, statErr := list.Stat()
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(found[len(header)+8*i:]) }
	list.start = int64(len(found))
	list.end = list.start + int64(number(3))
	if err != nil || statErr != nil || !bytes.HasPrefix(found, header) ||
		int64(number(0)) != g.Number || int64(number(1)) != g.Token ||
		uint64(info.Size()-list.start) != number(2) || number(3) > number(2) { // a power cut may have taken some of it
		return list, errors.Join(errStamps, list.Close())
	}
	list.cursor = max(list.start, min(int64(number(4)), list.end))
	return list, nil
}

// records reads the records from an offset.
func (l *openList) records(from int64) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(l, from, l.end-from), 32<<10)
}

// setCursor stores an offset for the next Glance; 0 means the top. Errors are ignored: then
// the next Glance starts somewhere else.
func (l *openList) setCursor(at int64) {
	l.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(at)), l.start-8)
}

// check fails if something other than a regular file is in the place of one of the files.
func (f *stampFile) check() error {
	if f.path == "" {
		return nil
	}
	return regular.Check(f.path+stampSuffix, f.path+sealSuffix)
}

// A Glance is the result of Scanner.Glance.
type Glance struct {
	Current bool // the ranking is compiled, and none of the checked folders has changed
	All     bool // all folders were checked
	Looked  int  // number of checked folders
}

// head is how many folders each Glance checks first: those at the head of the list,
// which are most likely to have changed.
const head = 128

// look checks the folders at the head of the list, and then others until bounded
// ends, starting where the last Glance of any process stopped.
func (f *stampFile) look(ctx, bounded context.Context, list *openList) (Glance, error) {
	g := Glance{Current: true}
	at, end, err := f.lookFrom(ctx, list, list.start, head, &g)
	if err != nil || !g.Current || end {
		g.All = end && g.Current
		return g, err
	}
	first := max(at, list.cursor)
	from := first
	for bounded.Err() == nil && g.Current {
		next, end, err := f.lookFrom(bounded, list, from, 256, &g)
		if err != nil {
			list.setCursor(0) // it may point between two records
			return Glance{}, err
		}
		if from = next; end {
			if g.All = first == at; g.All {
				break
			}
			first, from = at, at // wrapped round: the next Glance checks the folders from here on
		}
	}
	if g.Current && !g.All {
		list.setCursor(from)
	}
	return g, nil
}

// lookFrom checks up to n folders of the list from an offset and adds the result to
// g. It returns the offset behind them, and whether the list ends there.
func (f *stampFile) lookFrom(ctx context.Context, open *openList, from int64, n int, g *Glance) (next int64, end bool, err error) {
	r := open.records(from)
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
		return from, false, nil // ctx has ended: the next Glance starts with these again
	}
	return next, end, nil
}

// appendStamp appends the record of a folder: its length, then its fields.
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

// readStamp reads the next record, and returns its length in the file too. There
// are n sources.
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

// Scanned returns the sources of the last complete walk of the catalog at path, with Label,
// Root, Priority and Settings. It reads the head of the list of stamps and opens no
// database. It fails if no walk is known, as of a catalog that has never been complete.
func Scanned(path string) ([]source.Info, error) {
	f, err := regular.Open(path + stampSuffix)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return readHeader(bufio.NewReader(f))
}

// readHeader reads what header returns.
func readHeader(r *bufio.Reader) ([]source.Info, error) {
	magic := make([]byte, len(stampMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != stampMagic {
		return nil, errStamps
	}
	length, err := binary.ReadUvarint(r)
	if err != nil || length > maxRecord {
		return nil, errStamps
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, errStamps
	}
	var list []source.Info
	for line := range bytes.Lines(data) {
		var s source.Info
		if _, err := fmt.Sscanf(string(line), headerLine, &s.Label, &s.Root, &s.Priority, &s.Settings); err != nil {
			return nil, errStamps
		}
		list = append(list, s)
	}
	return list, nil
}
