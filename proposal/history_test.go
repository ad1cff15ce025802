package proposal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestHistory: versions are numbered, edits are noticed, a revert is a version, and scripts
// stay scripts.
func TestHistory(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	if edited, err := k.Rescan(ctx); err != nil || len(edited) != 0 {
		t.Errorf("without a history: %v, %v", edited, err)
	}
	_, err := k.Record(ctx, person, "cat")
	must.Do(t, err)
	put(t, filepath.Join(k.cat, "SKILL.md"), strings.Replace(catText, "Call the cat.", "Wait.", 1), 0o640)
	must.Do(t, os.Remove(filepath.Join(k.cat, "scripts", "feed.sh")))
	k.rescan(t)
	for range 2 { // a second rescan finds nothing new
		_, err = k.Rescan(ctx)
		must.Do(t, err)
	}
	log, err := k.Revert(ctx, person, "cat", "1")
	must.Do(t, err)
	var whys []string
	for i, v := range log.Versions {
		if whys = append(whys, v.Why); v.Number != i+1 {
			t.Errorf("%+v", v)
		}
	}
	if got := strings.Join(whys, ", "); got != "recorded by hand, edited, reverted to version 1" || log.Versions[0].Digest != log.Versions[2].Digest {
		t.Errorf("%s", got)
	}
	if info, err := os.Stat(filepath.Join(k.cat, "scripts", "feed.sh")); err != nil || info.Mode()&0o100 == 0 || must.Read(t, filepath.Join(k.cat, "SKILL.md")) != catText {
		t.Errorf("%v, %v", info, err)
	}
	sum := strings.TrimPrefix(log.Versions[1].Digest, "sha256:")
	if _, err := k.Revert(ctx, person, "cat", sum[:8]); err != nil || !strings.Contains(must.Read(t, filepath.Join(k.cat, "SKILL.md")), "Wait.") {
		t.Errorf("by digest: %v", err)
	}
	for version, want := range map[string]string{"1": "+Call the cat.", "2": "-Call the cat.\n+Wait.", sum[:8]: "+++ /dev/null"} {
		if _, diff, err := k.Change(ctx, nil, "cat", version); err != nil || !strings.Contains(diff, want) {
			t.Errorf("version %s: %v, %s", version, err, diff)
		}
	}
	for _, bad := range []string{"", "0", "7", "zz", sum[:3], "../1"} {
		if _, _, err := k.Change(ctx, nil, "cat", bad); err == nil {
			t.Errorf("version %q", bad)
		}
		if _, err := k.Revert(ctx, person, "cat", bad); err == nil {
			t.Errorf("version %q", bad)
		}
	}
	k.alone(t)
}

// TestHistoryBounds: old versions go when there are too many, or when they are too large.
func TestHistoryBounds(t *testing.T) {
	testsize.Long(t)
	k, ctx := newKit(t), t.Context()
	for i := range 55 {
		put(t, filepath.Join(k.cat, "notes.md"), fmt.Sprint(i), 0o600)
		if _, err := k.Record(ctx, person, "cat"); err != nil {
			t.Fatal(err)
		}
	}
	log, err := k.History(ctx, nil, "cat")
	if n := len(log.Versions); err != nil || n != 50 || log.Versions[0].Number != 6 || log.Versions[n-1].Number != 55 {
		t.Errorf("%d versions, %v", n, err)
	}
	for i := range 4 {
		put(t, filepath.Join(k.cat, "notes.md"), fmt.Sprint(i, strings.Repeat("x", 6<<20)), 0o600)
		if _, err := k.Record(ctx, person, "cat"); err != nil {
			t.Fatal(err)
		}
	}
	log, err = k.History(ctx, nil, "cat")
	if n := len(log.Versions); err != nil || n != 2 || log.Versions[1].Number != 59 {
		t.Errorf("%d versions, %v", n, err)
	}
	dirs, err := filepath.Glob(filepath.Join(k.state, "history", "cat@*", "versions", "*"))
	if err != nil || len(dirs) != 2 {
		t.Errorf("%v, %v", dirs, err)
	}
}
