//go:build soak && unix

package soak

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// end is the number of the step that ends each round: a comparison.
const end = math.MaxInt32

// A world is the folders of one round, and the programs that use them.
type world struct {
	*rand.Rand // choices of the current step
	s          *soak
	round      uint64
	salt       uint64 // of the current step, see pick
	number     int    // of the current step
	dir        string
	born       time.Time
	ticks      time.Duration // of the clock that files get their times from
	conf       conf
	kinds      []kind          // of steps that this round uses
	unreadable map[string]bool // folders of skills that cannot be read now
	remembered map[string]bool // the unreadable ones that catalogs know from an earlier scan
	held       map[string]bool // names that they have in the last list of the whole catalog
	away       map[string]bool // roots that are not there; false if no catalog knows them any more
	live       bool            // files keep the times at which they change, see settle
	running    sync.Mutex      // guards what commands that run at once change
	doors      doors
	library    *repertoire.Catalog // open all the time; nil for none
	server     *server             // "skills mcp"; nil for none
}

// Folders of a world, below its folder. All but vol are sources.
var (
	roots   = []string{"team", "more"} // in the configuration
	usual   = []string{"home/.claude/skills", "project/.claude/skills", "project/.agents/skills"}
	sources = append(slices.Clone(roots), usual...)
)

const (
	vol     = "vol" // what links lead to
	project = "project"
)

// newWorld makes a world with a few skills.
func newWorld(s *soak, round uint64) *world {
	dir, err := os.MkdirTemp("", "soak")
	must.Do(s.t, err)
	w := &world{s: s, round: round, dir: dir, born: time.Now().Add(-time.Second), unreadable: make(map[string]bool), remembered: make(map[string]bool), away: make(map[string]bool)}
	w.begin(0)
	w.number = 0
	w.Rand = s.random(round, 0)
	w.IntN(50) // the number of steps
	s.t.Setenv("HOME", w.path("home"))
	for _, name := range []string{"CONFIG", "CACHE", "STATE", "DATA"} {
		s.t.Setenv("XDG_"+name+"_HOME", w.path("home", strings.ToLower(name)))
	}
	w.chooseKinds()
	w.conf = newConf()
	w.doors = doors{library: w.IntN(2) == 0, server: w.IntN(3) == 0}
	w.live = w.IntN(4) == 0
	for _, f := range append([]string{vol, "cache", "project/.git"}, sources...) {
		w.must(os.MkdirAll(w.path(f), 0o755))
	}
	for i := range 4 + w.IntN(20) {
		at := sources[i%len(sources)] + fmt.Sprintf("/first%d", i)
		w.writeSkill(at, w.newSkill(fmt.Sprintf("%s-%s-%d", noun(w.Rand), noun(w.Rand), i)))
	}
	w.writeConf()
	w.settle()
	return w
}

// chooseKinds chooses the kinds of steps of the round: about a third of all, and always
// "roll back".
func (w *world) chooseKinds() {
	share := .15 + .5*w.Float64()
	unwanted := strings.FieldsFunc(os.Getenv("REPERTOIRE_SOAK_WITHOUT"), func(r rune) bool { return r == ',' })
	without := func(name string) bool {
		return slices.ContainsFunc(unwanted, func(text string) bool { return strings.Contains(name, text) })
	}
	links := w.Float64() < share+.2 // these kinds need each other
	for _, group := range [][]kind{edits, runs, damages} {
		if len(w.kinds) > 0 && w.IntN(5) == 0 {
			continue // a round without such steps
		}
		for _, k := range group {
			chosen := w.Float64() < share
			if strings.HasPrefix(k.name, "link") || strings.HasPrefix(k.name, "target") {
				chosen = links
			}
			if chosen && !without(k.name) {
				w.kinds = append(w.kinds, k)
			}
		}
	}
	w.kinds = append(w.kinds, edits[0])
	if !without("roll back") {
		w.kinds = append(w.kinds, kind{"roll back", 12, (*world).rollBack})
	}
	w.kinds = append(w.kinds, kind{"compare", 0, nil})
}

// rollbacks are kinds of steps after which any other change may hide that the catalog is
// an old one.
var rollbacks = []string{"restore copy", "mix with copy", "mix -wal too"}

// A kind is a kind of step. do returns what it did, for the log; "" means that there
// was nothing to do it with.
type kind struct {
	name   string
	weight int // how often it is chosen; 0 means 4
	do     func(*world) string
}

// begin sets the choices of a step.
func (w *world) begin(n int) {
	w.number, w.Rand = n, w.s.random(w.round, uint64(n)+1)
	w.salt = w.Uint64()
}

// step does one step and compares if it is a comparison, or the last step.
func (w *world) step(n int) (name, line string, d *difference) {
	w.begin(n)
	k := w.choose()
	if k.do == nil || n == end {
		d = w.compare()
		return "compare", "with a fresh catalog", d
	}
	// Some changes happen alone, between two looks: any other change beside them would
	// make the program look at everything.
	alone := w.IntN(4) == 0 && slices.ContainsFunc(edits, func(e kind) bool { return e.name == k.name })
	if alone {
		w.run(w.db(), "list")
	}
	line = k.do(w)
	w.settle()
	if line != "" {
		w.s.counts["kind "+k.name]++
	}
	if line != "" && (alone || k.name == "roll back" || slices.Contains(rollbacks, k.name) && w.IntN(2) == 0) {
		return k.name, line + " (alone)", w.compare()
	}
	if h := w.doors.hung; h != nil {
		return k.name, line, h
	}
	return k.name, line, nil
}

// choose chooses the kind of the step.
func (w *world) choose() kind {
	sum := 0
	weight := func(k kind) int {
		if k.do == nil {
			return max(4, sum/3) // of the last in the list, the comparison
		}
		if k.weight == 0 {
			return 4
		}
		return k.weight
	}
	for _, k := range w.kinds {
		sum += weight(k)
	}
	at := w.IntN(sum)
	sum = 0
	for _, k := range w.kinds {
		n := weight(k)
		if sum += n; at < sum {
			return k
		}
	}
	return w.kinds[len(w.kinds)-1]
}

// close ends the programs and removes the folders.
func (w *world) close() {
	w.stopPrograms()
	os.RemoveAll(w.dir)
}

// keep copies the folders to where the user asked for them.
func (w *world) keep(round uint64) {
	if to := os.Getenv("REPERTOIRE_SOAK_KEEP"); to != "" {
		w.must(os.MkdirAll(to, 0o755))
		copyTree(w.dir, filepath.Join(to, fmt.Sprintf("%d-%d", w.s.seed, round)))
	}
}

func (w *world) must(err error) {
	w.s.t.Helper()
	if err != nil {
		w.s.t.Fatalf("round %d, step %d: %v", w.round, w.number, err)
	}
}

// path returns the path of something in the world.
func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// pick returns one of the names. Other names in the list rarely change the choice,
// so that a round means the same with fewer steps.
func (w *world) pick(names []string) string {
	best, least := "", uint64(math.MaxUint64)
	for _, name := range names {
		h := fnv.New64a()
		fmt.Fprintf(h, "%x %s %x", w.salt, name, w.salt)
		if sum := h.Sum64(); best == "" || sum < least {
			best, least = name, sum
		}
	}
	return best
}

// other is pick for a second choice in one step.
func (w *world) other(names []string) string {
	w.salt = w.salt*6364136223846793005 + 1442695040888963407
	return w.pick(names)
}

// skillFolders returns the folders of all skills that are no links, sorted.
func (w *world) skillFolders(in ...string) []string {
	var list []string
	for _, top := range in {
		filepath.WalkDir(w.path(top), func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.EqualFold(d.Name(), "SKILL.md") {
				at, _ := filepath.Rel(w.dir, filepath.Dir(name))
				list = append(list, at)
			}
			return nil
		})
	}
	return slices.Compact(list)
}

// anySkill returns the folder of a skill of a source, "" if there is none.
func (w *world) anySkill() string { return w.pick(w.skillFolders(sources...)) }

// anySource returns a source that exists.
func (w *world) anySource() string {
	return w.other(slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return !w.exists(s) }))
}

// excused reports whether catalogs may know skills that a fresh one cannot find: they
// keep what could be read before. Such skills are in the statistics of words.
func (w *world) excused() bool { return len(w.remembered) > 0 || w.anyAway() }

// anyAway reports whether a root is away and catalogs may know its skills.
func (w *world) anyAway() bool {
	return slices.Contains(slices.Collect(maps.Values(w.away)), true)
}

// forgetUnreadable notes that the skill in a folder can be read again, or is gone.
func (w *world) forgetUnreadable(folder string) {
	delete(w.unreadable, folder)
	delete(w.remembered, folder)
}

func (w *world) exists(name string) bool {
	_, err := os.Lstat(w.path(name))
	return err == nil
}

// rename renames something in the world.
func (w *world) rename(from, to string) {
	w.must(os.MkdirAll(filepath.Dir(w.path(to)), 0o755))
	w.must(os.Rename(w.path(from), w.path(to)))
}

func (w *world) write(name, text string) {
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.must(os.WriteFile(w.path(name), []byte(text), 0o644))
}

// settle gives everything that has just changed a time that is long past and that
// nothing else has: times of the last two seconds are trusted by nobody. In some rounds
// it does nothing, so that all edits have such times.
func (w *world) settle() {
	if w.live {
		return
	}
	for _, top := range append([]string{vol}, sources...) {
		filepath.WalkDir(w.path(top), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeSymlink != 0 {
				return nil
			}
			info, err := d.Info()
			if err == nil && info.ModTime().After(w.born) && info.ModTime().Before(time.Now().Add(time.Hour)) {
				at := w.now()
				os.Chtimes(name, at, at)
			}
			return nil
		})
	}
}

// now returns the next time of the world's own clock.
func (w *world) now() time.Time {
	w.ticks += 37 * time.Millisecond
	return time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(w.number%1e6)*time.Hour + w.ticks)
}

// copyTree copies a folder with its links; errors leave things out.
func copyTree(from, to string) {
	filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, name)
		if err != nil || relErr != nil {
			return nil
		}
		at := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			os.MkdirAll(at, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			if target, err := os.Readlink(name); err == nil {
				os.Symlink(target, at)
			}
		case d.Type().IsRegular():
			copyFile(name, at)
		}
		return nil
	})
}

// copyFile copies a file with its time.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
