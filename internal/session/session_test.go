package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/source"
)

// catalog is one of real skills in memory.
func catalog(t testing.TB, skills map[string]string) *repertoire.Catalog {
	t.Helper()
	files := make(fstest.MapFS)
	for name, description := range skills {
		text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nBody.\n", name, description)
		files[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte(text)}
	}
	src, err := source.New(files, &source.Options{Label: "tools"})
	must.Do(t, err)
	return catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}, Embedder: embed.None{}})
}

// office is what the prompts of most tests are about.
var office = map[string]string{
	"spreadsheet-totals": "Checks the totals of a spreadsheet and repairs wrong formulas.",
	"form-filling":       "Fills in the fields of a PDF form.",
	"letter-writing":     "Writes letters to customers.",
	"balcony":            "Waters the plants on the balcony.",
}

const totals = "The totals in this spreadsheet are wrong, repair the formulas"

// A talk is a session with one catalog.
type talk struct {
	t  *testing.T
	m  *session.Memory
	c  *repertoire.Catalog
	id string
	a  *repertoire.Agent
}

func begin(t *testing.T) *talk {
	m := session.New(t.TempDir(), session.Options{})
	return &talk{t: t, m: m, c: catalog(t, office), id: "s"}
}

// say returns the names of the skills that are offered for a prompt.
func (k *talk) say(text string) []string { return k.sayIn("", text) }

func (k *talk) sayIn(turn, text string) []string {
	k.t.Helper()
	b, err := k.m.Suggest(k.t.Context(), k.c, session.Prompt{Session: k.id, Turn: turn, Text: text}, repertoire.Budget{ListPinned: true}, k.a)
	must.Do(k.t, err)
	var names []string
	for _, h := range b.Skills {
		names = append(names, h.Name)
		if !strings.Contains(b.Text, h.Name) {
			k.t.Errorf("%s is not in %q", h.Name, b.Text)
		}
	}
	if len(names) == 0 && b.Text != "" {
		k.t.Errorf("nothing is offered in %q", b.Text)
	}
	return names
}

func (k *talk) want(got []string, want ...string) {
	k.t.Helper()
	if !slices.Equal(got, want) {
		k.t.Errorf("offered %v, want %v", got, want)
	}
}

// TestOfferedOnce: what a session was offered is not offered again; other
// sessions have a memory of their own, and a nameless one has none.
func TestOfferedOnce(t *testing.T) {
	k := begin(t)
	k.want(k.say(totals), "spreadsheet-totals")
	k.want(k.say(totals))
	k.want(k.say("Fill in the fields of this PDF form"), "form-filling")
	k.want(k.say("Repair the totals and formulas of another spreadsheet"))
	k.id = "other"
	k.want(k.say(totals), "spreadsheet-totals")
	k.id = ""
	k.want(k.say(totals), "spreadsheet-totals")
	k.want(k.say(totals), "spreadsheet-totals")
}

// TestMuchMoreRelevant: a prompt that names a skill wants it much more than one
// that it merely fits; one that is loaded is never offered again.
func TestMuchMoreRelevant(t *testing.T) {
	k := begin(t)
	k.want(k.say(totals), "spreadsheet-totals")
	k.want(k.say("Use the spreadsheet-totals skill on it"), "spreadsheet-totals")
	k.want(k.say("Use the spreadsheet-totals skill on it"))
	k.m.Load(t.Context(), k.id, "form-filling", "")
	k.want(k.say("Use the form-filling skill"))
	k.m.Load(t.Context(), k.id, "tools/letter-writing", "")
	k.want(k.say("Use the letter-writing skill"))
	k.m.Load(t.Context(), k.id, "", "tools:balcony/SKILL.md")
	k.want(k.say("Use the balcony skill"))
}

// TestForget: after a compaction the skills are offered again, also for a
// follow-up; after a clear its prompts are forgotten too.
func TestForget(t *testing.T) {
	const followUp = "now do the same for the other file"
	k := begin(t)
	k.want(k.say(totals), "spreadsheet-totals")
	k.want(k.say(followUp))
	k.m.Forget(t.Context(), k.id, false)
	k.want(k.say(followUp), "spreadsheet-totals")
	k.m.Forget(t.Context(), k.id, true)
	k.want(k.say(followUp))
	k.want(k.say(totals), "spreadsheet-totals")
}

// TestFollowUp: a short prompt finds a skill together with the one before it that was offered something,
// also after a reply, but neither a longer prompt nor one after something else does.
func TestFollowUp(t *testing.T) {
	const first, other = totals, "explain how volcanoes on Iceland erupt, where lava flows, and why geysers boil"
	for _, tt := range []struct {
		prompts []string
		want    []string // offered for the last one
	}{
		{[]string{first, "now the other file"}, []string{"spreadsheet-totals"}},
		{[]string{first, "thanks", "/compact", "now the other file"}, []string{"spreadsheet-totals"}},
		{[]string{first, "yes please, go on"}, nil},
		{[]string{first, other}, nil},
		{[]string{first, other, "now the other file"}, nil},
		{[]string{other, "now the other file"}, nil},
		{[]string{"the quarterly report of the marketing department looks wrong", "see the other one"}, nil},
	} {
		k := begin(t)
		var got []string
		for _, text := range tt.prompts {
			k.m.Forget(t.Context(), k.id, false) // else nothing is offered twice
			got = k.say(text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: offered %v, want %v", tt.prompts, got, tt.want)
		}
	}
}

// alone returns what a prompt finds without a session.
func (k *talk) alone(text string) (names []string) {
	k.t.Helper()
	b, err := k.c.Block(k.t.Context(), text, repertoire.Budget{Offer: contextprovider.Relevant}, k.a)
	must.Do(k.t, err)
	for _, h := range b.Skills {
		names = append(names, h.Name)
	}
	return names
}

// TestTurn: a prompt that two hooks are asked about is answered once, but the
// same text may come again.
func TestTurn(t *testing.T) {
	k := begin(t)
	k.want(k.sayIn("1", totals+", and fill in the PDF form"), k.alone(totals+", and fill in the PDF form")...)
	k.want(k.sayIn("1", totals+", and fill in the PDF form"))
	k.m.Forget(t.Context(), k.id, false)
	k.want(k.sayIn("1", totals+", and fill in the PDF form"))
	k.want(k.sayIn("1", totals), "spreadsheet-totals")
	k.m.Forget(t.Context(), k.id, false)
	k.want(k.sayIn("2", totals), "spreadsheet-totals")
}

// TestSlashCommand: the client loads what its own commands name.
func TestSlashCommand(t *testing.T) {
	k := begin(t)
	k.want(k.say("/form-filling"))
	k.want(k.say("use form-filling"), "form-filling")
}

// TestPinned: pinned skills are listed at the first prompt, whatever it is.
func TestPinned(t *testing.T) {
	k := begin(t)
	k.a = &repertoire.Agent{Name: "a", Pinned: []string{"letter-writing"}}
	k.want(k.say("thanks"), "letter-writing")
	k.want(k.say(totals), "spreadsheet-totals")
	k.m.Forget(t.Context(), k.id, false)
	k.want(k.say(totals), "letter-writing", "spreadsheet-totals")
}

// files lists the folder of a memory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	must.Do(t, err)
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

// TestFiles: IDs are no part of paths, files are private and small, and expire.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "sessions")
	now := time.Now()
	k := begin(t)
	k.m = session.New(filepath.Dir(dir), session.Options{Now: func() time.Time { return now }})
	for _, id := range []string{"../../x", "a/b", "CON", "s\x00", strings.Repeat("x", 10_000)} {
		k.id = id
		k.want(k.say(totals+strings.Repeat(" ä", 10_000)), k.alone(totals+strings.Repeat(" ä", 10_000))...)
		k.want(k.say(totals))
	}
	sessions, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(sessions) != 5 {
		t.Fatalf("sessions are in %v", files(t, dir))
	}
	for _, name := range sessions {
		info, err := os.Stat(name)
		must.Do(t, err)
		if info.Size() > 2000 || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, mode %v", name, info.Size(), info.Mode())
		}
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}

	k.m.Sweep()
	if n := len(files(t, dir)); n < 6 {
		t.Errorf("%d files are left of young sessions", n)
	}
	old := now
	for _, name := range sessions[1:] {
		must.Do(t, os.Chtimes(name, old, old))
	}
	now = now.Add(25 * time.Hour)
	must.Do(t, os.Chtimes(sessions[0], now, now))
	k.want(k.say(totals), "spreadsheet-totals") // the last of the sessions may be the young one
	k.m.Sweep()
	left, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(left) > 2 {
		t.Errorf("after a day there are %v", left)
	}
}

// TestSweepSeldom: what has expired is looked for once an hour.
func TestSweepSeldom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	must.Do(t, os.Mkdir(dir, 0o700))
	now := time.Now()
	m := session.New(filepath.Dir(dir), session.Options{Now: func() time.Time { return now }})
	name := filepath.Join(dir, strings.Repeat("0", 32)+".json")
	old := func() {
		t.Helper()
		must.Do(t, os.WriteFile(name, nil, 0o600))
		must.Do(t, os.Chtimes(name, now.Add(-25*time.Hour), now.Add(-25*time.Hour)))
	}
	there := func() bool { _, err := os.Stat(name); return err == nil }
	old()
	if m.Sweep(); there() {
		t.Error("it is not removed")
	}
	old()
	if m.Sweep(); !there() {
		t.Error("it is removed within the hour")
	}
	now = now.Add(2 * time.Hour)
	if m.Sweep(); there() {
		t.Error("it is not removed after the hour")
	}
}

// TestClock: times in the future and in the far past cost what was remembered then, and
// nothing else.
func TestClock(t *testing.T) {
	for offset, remembered := range map[time.Duration]bool{
		time.Hour: true, -time.Hour: true, 25 * time.Hour: false, -25 * time.Hour: false,
		100 * 365 * 24 * time.Hour: false, -100 * 365 * 24 * time.Hour: false,
	} {
		t.Run(offset.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sessions")
			k := begin(t)
			k.m = session.New(filepath.Dir(dir), session.Options{})
			k.want(k.say(totals), "spreadsheet-totals")
			k.m.Sweep() // writes the time of the last sweep
			at := time.Now().Add(offset)
			left := filepath.Join(dir, strings.Repeat("0", 32)+".json")
			must.Do(t, os.WriteFile(left, nil, 0o600))
			for _, name := range files(t, dir) {
				must.Do(t, os.Chtimes(filepath.Join(dir, name), at, at))
			}
			if got := len(k.say(totals)) == 0; got != remembered {
				t.Errorf("the session is remembered: %v, want %v", got, remembered)
			}
			k.want(k.say(totals)) // and is from now on
			k.m.Sweep()
			if _, err := os.Stat(left); (err == nil) != remembered {
				t.Errorf("after a sweep: %v", err)
			}
		})
	}
}

// TestPowerCut: whatever a crash leaves of a session, the next prompt is answered as if the
// session were new or known, and the session is remembered from then on.
func TestPowerCut(t *testing.T) {
	k := begin(t)
	disk, rng := new(crashtest.Disk), rand.New(rand.NewPCG(1, 2))
	k.m = session.New(t.TempDir(), session.Options{Disk: disk})
	k.want(k.say(totals), "spreadsheet-totals")
	k.want(k.say("Fill in the fields of this PDF form"), "form-filling")
	for step := range disk.Len() + 1 {
		for loss := range crashtest.Losses {
			state := t.TempDir()
			must.Do(t, os.Mkdir(filepath.Join(state, "sessions"), 0o700))
			for name, data := range disk.After(step, loss, rng) {
				must.Do(t, os.WriteFile(filepath.Join(state, "sessions", name), data, 0o600))
			}
			k.m = session.New(state, session.Options{})
			if got := k.say(totals); len(got) > 0 && !slices.Equal(got, []string{"spreadsheet-totals"}) {
				t.Errorf("step %d, %v: offered %v", step, loss, got)
			}
			k.want(k.say(totals))
			if left, err := filepath.Glob(filepath.Join(state, "sessions", "*"+atomicfile.Suffix)); err != nil || len(left) > 0 {
				t.Errorf("step %d, %v: left behind: %v, %v", step, loss, left, err)
			}
		}
	}
}

// TestDamaged: a damaged file, or a folder that cannot be written, costs what was
// remembered.
func TestDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	k := begin(t)
	k.m = session.New(filepath.Dir(dir), session.Options{})
	k.want(k.say(totals), "spreadsheet-totals")
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	for _, text := range []string{"", "{", `{"offers":5}`, "[]", "\x00\x00"} {
		must.Do(t, os.WriteFile(names[0], []byte(text), 0o600))
		k.want(k.say(totals), "spreadsheet-totals")
		k.want(k.say(totals))
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	k.m = session.New(file, session.Options{})
	k.want(k.say(totals), "spreadsheet-totals")
	k.want(k.say(totals), "spreadsheet-totals")
}

// TestLocked: a lock that somebody holds delays an answer no longer than half of
// the time that there is.
func TestLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "sessions")
		k := begin(t)
		k.m = session.New(filepath.Dir(dir), session.Options{})
		k.want(k.say(totals), "spreadsheet-totals")
		for i := range 16 {
			lock := flock.New(filepath.Join(dir, fmt.Sprintf("%x.lock", i)))
			must.Do(t, lock.Lock())
			defer lock.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		b, err := k.m.Suggest(ctx, k.c, session.Prompt{Session: k.id, Text: totals}, repertoire.Budget{}, nil)
		must.Do(t, err)
		if len(b.Skills) != 1 || ctx.Err() != nil {
			t.Errorf("%d skills, context %v", len(b.Skills), ctx.Err())
		}
	})
}

// TestParallel: of many that are asked at once about the same prompt, one offers.
func TestParallel(t *testing.T) {
	k := begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	offered := 0
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			b, err := k.m.Suggest(ctx, k.c, session.Prompt{Session: k.id, Text: totals}, repertoire.Budget{}, nil)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			offered += len(b.Skills)
		})
	}
	wg.Wait()
	if offered != 1 {
		t.Errorf("offered %d times", offered)
	}
}

// BenchmarkSuggest measures what the memory adds to a block.
func BenchmarkSuggest(b *testing.B) {
	c := catalog(b, office)
	m := session.New(b.TempDir(), session.Options{})
	p := session.Prompt{Session: "s", Text: totals}
	b.Run("with", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Suggest(b.Context(), c, p, repertoire.Budget{}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Block(b.Context(), p.Text, repertoire.Budget{Offer: contextprovider.Relevant}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
