package remote_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestTrickle: a site that sends a little now and then is left. What came before is there, the rest stays as it was, and the
// next fetch goes on from there.
func TestTrickle(t *testing.T) {
	var trickles atomic.Bool
	var asked atomic.Int32
	text := map[string]string{}
	last := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		slow := trickles.Load()
		for trickles.Load() && r.Context().Err() == nil {
			fmt.Fprint(w, strings.Repeat("x", 1100))
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
		if !slow { // else the test has gone on, and writes to the map
			fmt.Fprint(w, text[strings.Trim(r.URL.Path, "/")])
		}
	})
	r := rootOf(t)
	r.Limits = &remote.Limits{Stall: 2 * time.Second}
	// publish has the site list pdf, and two skills behind it on the slow server.
	publish := func(version string) {
		files := map[string]string{"pdf/SKILL.md": doc("pdf", version)}
		list := []map[string]string{{}}
		for _, name := range []string{"ocr", "web"} {
			text[name] = doc(name, version)
			list = append(list, map[string]string{"name": name, "url": last + "/" + name, "digest": sum(text[name])})
		}
		from := r.URL
		r.URL = site(t, files, list...)
		if from != "" { // the next site answers at the same address, as the state remembers
			must.Do(t, replaceInFile(r.Path+".json", from, r.URL))
		}
	}
	try := func(left int, want map[string]string) {
		t.Helper()
		asked.Store(0)
		changed, err := remote.Fetch(t.Context(), r)
		if left == 0 && err != nil || left > 0 && !strings.Contains(fmt.Sprint(err), fmt.Sprintf("%d of its skills were not reached: ", left)) || !changed {
			t.Errorf("changed is %v: %v", changed, err)
		}
		if diff := cmp.Diff(want, tree(t, r.Path)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if s := state(t, r); (s.Error == "") != (left == 0) {
			t.Errorf("state %+v", s)
		}
	}
	of := func(pdf, others string) map[string]string {
		return map[string]string{"pdf/SKILL.md": doc("pdf", pdf), "ocr/SKILL.md": doc("ocr", others), "web/SKILL.md": doc("web", others)}
	}
	trickles.Store(true)
	publish("One.")
	try(2, map[string]string{"pdf/SKILL.md": doc("pdf", "One.")})
	if n := asked.Load(); n != 1 {
		t.Errorf("asked the slow server %d times", n)
	}
	trickles.Store(false)
	try(0, of("One.", "One."))
	if n := asked.Load(); n != 2 {
		t.Errorf("asked for %d of the two skills that are left", n)
	}
	trickles.Store(true)
	publish("Two.")
	try(2, of("Two.", "One."))
}

// TestTotal: a root has a bound on all of its fetch, whatever it waits for.
func TestTotal(t *testing.T) {
	r := rootOf(t)
	r.URL, r.Limits = serve(t, stalled)+"/a.tar", &remote.Limits{Total: time.Millisecond}
	const want = "it took more than 1ms"
	if err := remote.FetchDue(t.Context(), []remote.Root{r}, true, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestSlowAndFast: a slow root delays no other. The slow one answers only when the other has been asked.
func TestSlowAndFast(t *testing.T) {
	fast := make(chan struct{})
	once := sync.OnceFunc(func() { close(fast) })
	slow, quick := rootOf(t), rootOf(t)
	slow.URL = serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-fast:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusTeapot)
	}) + "/slow.tar"
	quick.URL = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		once()
		w.Write(packed(t, map[string]string{"SKILL.md": doc("pdf", "x")}))
	}) + "/quick.tar"
	var steps []string
	err := remote.FetchDue(t.Context(), []remote.Root{slow, quick}, false, func(done, due int) { steps = append(steps, fmt.Sprint(done, due)) })
	if err == nil || !strings.Contains(err.Error(), "418") || len(tree(t, quick.Path)) != 1 {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"0 2", "1 2", "2 2"}, steps); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
