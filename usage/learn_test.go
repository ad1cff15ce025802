package usage_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/usage"
)

const model = "m1"

// encoded returns the vector of a prompt "TOPIC word…": those of one topic are alike.
func encoded(prompt string) *search.Ranking {
	topic, _, _ := strings.Cut(prompt, " ")
	v := make([]float32, 64)
	v[topic[0]%32] = .9
	v[32+len(prompt)%32] = float32(math.Sqrt(1 - .81))
	return &search.Ranking{Model: model, Vector: v}
}

// turn is a prompt of a session that got skills, and a read of a skill, "" for none.
func (d *diary) turn(t *testing.T, session, agent, prompt, offered, read string) {
	t.Helper()
	e := usage.Answered(usage.Offered, prompt, encoded(prompt))
	e.Client, e.Session, e.Agent = "claude", session, agent
	for _, id := range strings.Fields(offered) {
		e.Skills = append(e.Skills, usage.Skill{ID: id, Location: "/lib/" + id + "/SKILL.md"})
	}
	must.Do(t, d.Add(e))
	d.now = d.now.Add(time.Minute)
	if read != "" { // the hook after tools knows no agent, and only the path or the name
		k := usage.Skill{ID: read}
		if strings.HasPrefix(read, "/") {
			k = usage.Skill{Location: read}
		}
		must.Do(t, d.Add(usage.Event{Kind: usage.Loaded, Client: "claude", Session: session, Skills: []usage.Skill{k}}))
		d.now = d.now.Add(time.Minute)
	}
}

// taught returns what is known of an agent's skills: "ID N examples, sinks S".
func (d *diary) taught(agent, model string) string {
	var out []string
	for _, k := range usage.New(d.state, usage.Options{}).Lessons(agent, model) {
		s := fmt.Sprintf("%s %d", k.ID, len(k.Examples))
		if k.Sink > 0 {
			s += fmt.Sprintf(" sinks %.2f", k.Sink)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func (d *diary) expect(t *testing.T, when, agent, want string) {
	t.Helper()
	if got := d.taught(agent, model); got != want {
		t.Errorf("%s: %q is taught, want %q", when, got, want)
	}
}

// TestLearn: two prompts that are alike, each followed by a read, make an example in their scope.
func TestLearn(t *testing.T) {
	d := newDiary(t, false)
	d.turn(t, "s1", "bird", "pdf merge them", "pdf cat", "pdf")
	d.expect(t, "after one read", "bird", "")
	d.turn(t, "s1", "bird", "pdf merge them", "pdf cat", "/lib/pdf/SKILL.md")
	d.expect(t, "after the same prompt", "bird", "")
	d.turn(t, "s2", "bird", "zebra in the zoo", "", "pdf")
	d.expect(t, "after another prompt", "bird", "")
	d.turn(t, "s2", "bird", "pdf join them all", "", "pdf")
	d.expect(t, "after two reads", "bird", "pdf 1")
	d.turn(t, "s2", "bird", "pdf merge them", "pdf", "pdf")
	d.turn(t, "s2", "bird", "pdf join them all", "pdf", "pdf")
	d.expect(t, "after the same prompts again", "bird", "pdf 1")
	d.expect(t, "another scope", "", "")
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Client: "claude", Session: "s2", Agent: "bird", Prompt: "yes", Because: "reply"}))
	d.turn(t, "s3", "", "pdf at once", "", "")
	d.now = d.now.Add(time.Hour)
	must.Do(t, d.Add(usage.Event{Kind: usage.Loaded, Client: "claude", Session: "s3", Skills: usage.Named("pdf")}))
	d.turn(t, "s3", "", "pdf or so", "", "pdf")
	d.expect(t, "a read much later", "", "")
	got := usage.New(d.state, usage.Options{}).Lessons("bird", model)[0]
	if cosine := store.DotPacked(got.Examples[0], store.PackVector(encoded("pdf merge them").Vector)); got.Location != "/lib/pdf/SKILL.md" || math.Abs(cosine-.95) > .01 {
		t.Errorf("an example with a cosine of %.3f, and %+v", cosine, got)
	}
	data := must.Read(t, filepath.Join(d.state, "usage", "2026-04.jsonl")) + must.Read(t, filepath.Join(d.state, "usage", "learned.json"))
	if strings.Contains(data, "merge") || !strings.Contains(data, `"hash":"`) {
		t.Errorf("the log has prompts, or no hashes: %s", data)
	}
	if d.taught("bird", "m2") != "pdf 0" {
		t.Error("examples of another model count")
	}
	must.Do(t, d.Forget(t.Context()))
	d.expect(t, "after forgetting", "bird", "")
	if files, err := os.ReadDir(filepath.Join(d.state, "usage")); err != nil || len(files) > 0 {
		t.Errorf("%v are left, %v", files, err)
	}
}

// TestLearnWithout: without a session, the client and the agent tell to which prompt a read belongs;
// a read of which a server and a hook tell is one.
func TestLearnWithout(t *testing.T) {
	d := newDiary(t, false)
	searched := func(prompt string) {
		e := usage.Answered(usage.Searched, prompt, encoded(prompt))
		e.Client = "mcp"
		must.Do(t, d.Add(e))
		must.Do(t, d.Add(usage.Event{Kind: usage.Loaded, Client: "mcp", Skills: usage.Named("pdf")}))
	}
	d.turn(t, "s1", "", "pdf merge them", "", "")
	searched("pdf search")
	must.Do(t, d.Add(usage.Event{Kind: usage.Loaded, Client: "claude", Session: "s1", Skills: usage.Named("pdf")}))
	d.expect(t, "one read, told twice", "", "")
	d.now = d.now.Add(time.Minute)
	searched("pdf other words")
	d.expect(t, "two reads", "", "pdf 1")
}

// TestLearnAnew: files that are damaged, lost or of another log are made anew, with the same result
// as by reading on.
func TestLearnAnew(t *testing.T) {
	d := newDiary(t, false)
	for i := range 40 {
		d.turn(t, fmt.Sprint("s", i%3), []string{"", "bird"}[i%2], fmt.Sprintf("%c %s", 'a'+i%5, strings.Repeat("x", i)), "pdf cat", []string{"pdf", "", "cat"}[i%3])
	}
	d.turn(t, "s9", "", "pdf last", "pdf", "pdf")
	dir := filepath.Join(d.state, "usage")
	lessons := must.Read(t, filepath.Join(dir, "lessons.bin"))
	if !strings.Contains(lessons, "\tpdf\t/lib/pdf/SKILL.md\t") {
		t.Fatalf("nothing is learned: %s", lessons)
	}
	again := usage.Event{Kind: usage.Loaded, Client: "claude", Session: "s9", Skills: usage.Named("pdf")} // teaches nothing
	must.Do(t, d.Add(again))
	learned := must.Read(t, filepath.Join(dir, "learned.json"))
	lessons = must.Read(t, filepath.Join(dir, "lessons.bin"))
	for _, damage := range []string{"", "null", "{}", learned[:len(learned)/2], strings.ReplaceAll(learned, `"counted":`, `"counted":9`), strings.ReplaceAll(learned, "2026-", "2025-")} {
		must.Do(t, os.WriteFile(filepath.Join(dir, "learned.json"), []byte(damage), 0o600))
		must.Do(t, os.WriteFile(filepath.Join(dir, "lessons.bin"), []byte(lessons[:len(lessons)-7]), 0o600))
		d.expect(t, "damaged", "", "")
		lines := must.Read(t, filepath.Join(dir, "2026-04.jsonl"))
		must.Do(t, os.WriteFile(filepath.Join(dir, "2026-04.jsonl"), []byte(lines[:strings.LastIndex(strings.TrimSpace(lines), "\n")+1]), 0o600))
		must.Do(t, d.Add(again))
		if diff := cmp.Diff(learned, must.Read(t, filepath.Join(dir, "learned.json"))); diff != "" {
			t.Errorf("after %.40q (-want +got)\n%s", damage, diff)
		}
		if must.Read(t, filepath.Join(dir, "lessons.bin")) != lessons {
			t.Errorf("after %.40q other lessons", damage)
		}
	}
}

// TestLearnModel: prompts that another model has embedded teach nothing, and are counted.
func TestLearnModel(t *testing.T) {
	d := newDiary(t, false)
	d.turn(t, "s1", "", "pdf merge them", "pdf", "pdf")
	d.turn(t, "s1", "", "pdf join them all", "pdf", "pdf")
	want := usage.Learned{Skills: 1, Examples: 1}
	if got := d.Learned("", model); got != want {
		t.Errorf("%+v", got)
	}
	if got := d.Learned("", "m2"); got != (usage.Learned{Foreign: 2}) {
		t.Errorf("by another model %+v", got)
	}
	e := usage.Answered(usage.Offered, "pdf again", &search.Ranking{Model: "m2", Vector: []float32{1, 0}})
	e.Client, e.Session = "claude", "s1"
	must.Do(t, d.Add(e))
	must.Do(t, d.Add(usage.Event{Kind: usage.Loaded, Client: "claude", Session: "s1", Skills: usage.Named("pdf")}))
	if got := d.Learned("", "m2"); got != (usage.Learned{Foreign: 2}) {
		t.Errorf("after a change %+v", got)
	}
	d.expect(t, "after a change", "", "")
}

// TestSink: a skill that is offered and never read sinks, if its client would tell of a read.
func TestSink(t *testing.T) {
	d := newDiary(t, false)
	offer := func(n int) {
		for i := range n {
			d.turn(t, "s1", "", fmt.Sprint("q ", i), "pdf cat", "")
		}
	}
	offer(100)
	d.turn(t, "s1", "", "z one", "", "other")
	d.expect(t, "of a client that has told of no read", "", "")
	offer(19)
	d.turn(t, "s1", "", "z one", "", "other")
	d.expect(t, "after a few offers", "", "")
	offer(41)
	d.turn(t, "s1", "", "z one", "", "cat")
	d.expect(t, "after 60 offers", "", "pdf 0 sinks 0.50")
	offer(100)
	d.turn(t, "s1", "", "z one", "", "other")
	d.expect(t, "after 160 offers, cat read 100 offers ago", "", "pdf 0 sinks 1.00")
	offer(100)
	d.turn(t, "s1", "", "z one", "", "pdf")
	d.expect(t, "after a read of pdf", "", "cat 0 sinks 1.00")
	if got := d.Learned("", model); got.Sunk != 1 {
		t.Errorf("%+v", got)
	}
}

// TestLearnBounds: the newest 8 examples of a skill stay, and 256 of all.
func TestLearnBounds(t *testing.T) {
	d := newDiary(t, false)
	for i := range 20 {
		d.turn(t, "s1", "", strings.Repeat("a", 1+i)+" one", "", "pdf")
	}
	d.expect(t, "many examples", "", "pdf 8")
	for i := range 600 {
		d.turn(t, "s2", "", fmt.Sprintf("b %d%s", i%16, strings.Repeat("-", i)), "", fmt.Sprint("k", i/16))
	}
	n := 0
	for _, k := range d.Lessons("", model) {
		n += len(k.Examples)
		if k.ID == "pdf" {
			t.Error("the oldest examples are kept")
		}
	}
	if n != 256 {
		t.Errorf("%d examples", n)
	}
}

// TestLearnTogether: what several processes note at once is all learned, and forgetting ends it.
func TestLearnTogether(t *testing.T) {
	d := newDiary(t, false)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			own := &diary{Log: usage.New(d.state, usage.Options{Now: func() time.Time { return d.now }}), state: d.state}
			for _, prompt := range []string{"pdf one", "pdf another"} {
				e := usage.Answered(usage.Offered, prompt, encoded(prompt))
				e.Client, e.Session = "claude", fmt.Sprint("s", i)
				loaded := usage.Event{Kind: usage.Loaded, Client: "claude", Session: e.Session, Skills: usage.Named(fmt.Sprint("k", i))}
				if err := own.Add(e); err != nil {
					t.Error(err)
				}
				if err := own.Add(loaded); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	d.expect(t, "eight sessions at once", "", "k0 1, k1 1, k2 1, k3 1, k4 1, k5 1, k6 1, k7 1")
}

func FuzzLessons(f *testing.F) {
	f.Add([]byte("m1\t5\t0\t2\n\tpdf\t\t0.500\t1\n\n\x00\x00\x80\x3f\x01"), []byte(`{"version":1,"files":{},"tells":{},"skills":{"":{"pdf":[{"notes":[{}]}]}}}`))
	f.Fuzz(func(t *testing.T, lessons, learned []byte) {
		d := newDiary(t, false)
		dir := filepath.Join(d.state, "usage")
		must.Do(t, os.Mkdir(dir, 0o700))
		must.Do(t, os.WriteFile(filepath.Join(dir, "lessons.bin"), lessons, 0o600))
		must.Do(t, os.WriteFile(filepath.Join(dir, "learned.json"), learned, 0o600))
		for _, k := range d.Lessons("", model) {
			if k.Sink < 0 || k.Sink > 1 {
				t.Errorf("%+v", k)
			}
		}
		d.turn(t, "s1", "", "pdf one", "", "pdf")
		d.turn(t, "s1", "", "pdf another", "", "pdf")
	})
}

// BenchmarkLessons is what a hook pays for the most that can be learned.
func BenchmarkLessons(b *testing.B) {
	state := b.TempDir()
	now := time.Now()
	l := usage.New(state, usage.Options{Now: func() time.Time { return now }})
	for i := range 512 {
		prompt := fmt.Sprint("pdf ", i)
		e := &search.Ranking{Model: model, Vector: make([]float32, 384)}
		e.Vector[i/2%384], e.Vector[(7+i)%384] = .9, .4
		offered := usage.Answered(usage.Offered, prompt, e)
		must.Do(b, l.Add(offered))
		must.Do(b, l.Add(usage.Event{Kind: usage.Loaded, Skills: []usage.Skill{{ID: fmt.Sprint("skill-number-", i/4), Location: fmt.Sprintf("/home/somebody/.agents/skills/skill-number-%d/SKILL.md", i/4)}}}))
	}
	for b.Loop() {
		n := 0
		for _, k := range usage.New(state, usage.Options{}).Lessons("", model) {
			n += len(k.Examples)
		}
		if n != 256 {
			b.Fatalf("%d examples", n)
		}
	}
}
