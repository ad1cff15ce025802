package index_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// counts are the numbers of a report.
func counts(r index.Report) string {
	return fmt.Sprintf("%d found: +%d ~%d -%d =%d !%d, complete %v",
		r.Found, r.Added, r.Changed, r.Removed, r.Unchanged, r.Refused, r.Complete)
}

// wantCounts fails unless the report has these numbers, and nothing in it is a
// problem that the test does not expect.
func wantCounts(t *testing.T, r index.Report, want string) {
	t.Helper()
	if got := counts(r); got != want {
		t.Errorf("%s\nwant %s\nproblems %v", got, want, r.Problems)
	}
}

func nameList(t *testing.T, x *searchtest.Catalog) []string {
	t.Helper()
	list, err := x.List(t.Context(), nil, nil)
	must.Do(t, err)
	out := []string{}
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

func wantNames(t *testing.T, x *searchtest.Catalog, want ...string) {
	t.Helper()
	if got := nameList(t, x); !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
}

func TestSyncChanges(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Three()
	wantCounts(t, searchtest.Sync(t, x, "a", src.Refs()), "3 found: +3 ~0 -0 =0 !0, complete true")
	wantNames(t, x, "csv", "git", "pdf")

	before := generationOf(t, x)
	unread := mapped(src.Refs(), func(r *skill.Ref) {
		r.Load = func() (*skill.Skill, error) { t.Error("read", r.Path); return nil, fs.ErrNotExist }
	})
	wantCounts(t, searchtest.Sync(t, x, "a", unread), "3 found: +0 ~0 -0 =3 !0, complete true")

	touched := mapped(src.Refs(), func(r *skill.Ref) { r.Stamp = "touched " + r.Path })
	wantCounts(t, searchtest.Sync(t, x, "a", touched), "3 found: +0 ~0 -0 =3 !0, complete true")
	if got := generationOf(t, x); got != before {
		t.Errorf("generation %v, want %v: nothing changed", got, before)
	}
	stamps, err := x.Store.Known(t.Context(), 1, nil)
	if err != nil || stamps["pdf/SKILL.md"].Stamp != "touched pdf/SKILL.md" {
		t.Errorf("stamps %v, %v: the new one was not kept", stamps, err)
	}

	src["pdf"] = searchtest.Skill("pdf", "Fill PDF forms", "now with signatures")
	src["new"] = searchtest.Skill("new", "Something else", "body")
	delete(src, "git")
	wantCounts(t, searchtest.Sync(t, x, "a", src.Refs()), "3 found: +1 ~1 -1 =1 !0, complete true")
	wantNames(t, x, "csv", "new", "pdf")
	if got := searchtest.Found(t, x, "signatures bisect"); !slices.Equal(got, []string{"pdf"}) {
		t.Errorf("found %q", got)
	}
}

// TestSyncWithoutStamps: a source without stamps is read each time; if nothing has
// changed the catalog is not written to.
func TestSyncWithoutStamps(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	refs := mapped(searchtest.Three().Refs(), func(r *skill.Ref) {
		r.Stamp = ""
		if r.Path == "git/SKILL.md" {
			r.Load = func() (*skill.Skill, error) { return nil, parseError(r.Path) }
		}
	})
	searchtest.Sync(t, x, "a", refs)
	before := generationOf(t, x)
	r := searchtest.Sync(t, x, "a", refs)
	wantCounts(t, r, "3 found: +0 ~0 -0 =2 !1, complete true")
	if len(r.Problems) != 1 || r.Problems[0].Rule != "no-frontmatter" {
		t.Errorf("problems %v: what is refused is reported each time it is read", r.Problems)
	}
	if got := generationOf(t, x); got != before {
		t.Errorf("generation %v, want %v: nothing changed", got, before)
	}
}

// TestSyncWithoutDigest: a skill without a digest counts as changed each time.
func TestSyncWithoutDigest(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	s := searchtest.Skill("pdf", "Fill PDF forms", "body")
	s.Digest = ""
	searchtest.Sync(t, x, "a", searchtest.TreeOf(s).Refs())
	wantNames(t, x, "pdf")
}

func parseError(path string) error {
	return &skill.ParseError{Problem: skill.Problem{
		Rule: "no-frontmatter", Severity: skill.Error, Path: path, Message: "no frontmatter"}}
}

// walkErr is an error of a walk as a source may return it.
type walkErr struct{ incomplete bool }

func (walkErr) Error() string      { return "cannot read folder" }
func (e walkErr) Incomplete() bool { return e.incomplete }

// ownProblem is a walkErr that says which problem to report.
type ownProblem struct{ walkErr }

func (ownProblem) Problem() skill.Problem {
	return skill.Problem{Rule: "too-deep", Severity: skill.Note, Path: "x"}
}

func TestSyncRemovesOnlyAfterCompleteWalk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		rule   string
		remove bool
	}{
		{errors.New("disk on fire"), "unreadable", false},
		{fs.ErrPermission, "unreadable", false},
		{walkErr{incomplete: true}, "unreadable", false},
		{walkErr{incomplete: false}, "unreadable", true},
		{fmt.Errorf("walking: %w", ownProblem{walkErr{incomplete: false}}), "too-deep", true},
	} {
		x := searchtest.New(t, nil)
		searchtest.Sync(t, x, "a", searchtest.Three().Refs())
		src := searchtest.Three()
		delete(src, "git")
		r := searchtest.Sync(t, x, "a", failing(src.Refs(), tt.err))
		if r.Complete != tt.remove || len(r.Problems) != 1 || r.Problems[0].Rule != tt.rule {
			t.Errorf("%v: complete %v, problems %v", tt.err, r.Complete, r.Problems)
		}
		if got := slices.Contains(nameList(t, x), "git"); got == tt.remove {
			t.Errorf("%v: the skill that was not found is there: %v", tt.err, got)
		}
	}
}

// TestSyncUnreadableSkill: what is indexed of a skill stays while its file cannot be
// read; other skills that are gone are removed.
func TestSyncUnreadableSkill(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Three().Refs())
	src := searchtest.Three()
	delete(src, "git")
	locked := mapped(src.Refs(), func(r *skill.Ref) {
		if r.Path == "pdf/SKILL.md" {
			r.Stamp = "new"
			r.Load = func() (*skill.Skill, error) { return nil, fs.ErrPermission }
		}
	})
	r := searchtest.Sync(t, x, "a", locked)
	wantCounts(t, r, "2 found: +0 ~0 -1 =1 !0, complete true")
	if len(r.Problems) != 1 || r.Unreadable != 1 {
		t.Errorf("problems %v", r.Problems)
	}
	wantNames(t, x, "csv", "pdf")
	wantCounts(t, searchtest.Sync(t, x, "a", src.Refs()), "2 found: +0 ~0 -0 =2 !0, complete true")
}

func TestSyncRefused(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Three().Refs())
	broken := mapped(searchtest.Three().Refs(), func(r *skill.Ref) {
		if r.Path == "pdf/SKILL.md" {
			r.Stamp = "broken"
			r.Load = func() (*skill.Skill, error) { return nil, fmt.Errorf("loading: %w", parseError(r.Path)) }
		}
	})
	r := searchtest.Sync(t, x, "a", broken)
	wantCounts(t, r, "3 found: +0 ~0 -0 =2 !1, complete true")
	wantNames(t, x, "csv", "git")
	if got := searchtest.Found(t, x, "fill forms"); len(got) != 0 {
		t.Errorf("a refused skill is found: %q", got)
	}
	wantCounts(t, searchtest.Sync(t, x, "a", broken), "3 found: +0 ~0 -0 =3 !0, complete true")
	problems, err := x.Store.Problems(t.Context())
	if err != nil || len(problems) != 1 || problems[0].Rule != "no-frontmatter" || problems[0].Source != "a" {
		t.Errorf("problems %v, %v: it is kept", problems, err)
	}
	if offered, all, err := x.Size(t.Context()); offered != 2 || all != 3 || err != nil {
		t.Errorf("%d of %d, %v; want 2 of 3", offered, all, err)
	}

	wantCounts(t, searchtest.Sync(t, x, "a", searchtest.Three().Refs()), "3 found: +0 ~1 -0 =2 !0, complete true")
	wantNames(t, x, "csv", "git", "pdf")
	if problems, err := x.Store.Problems(t.Context()); err != nil || len(problems) != 0 {
		t.Errorf("problems %v, %v: it was fixed", problems, err)
	}
}

// located returns refs whose skills say where they are.
func located(src searchtest.Tree, root string) searchtest.Tree {
	out := make(searchtest.Tree)
	for dir, s := range src {
		moved := *s
		moved.Location = root + "/" + dir + "/SKILL.md"
		out[dir] = &moved
	}
	return out
}

func locations(t *testing.T, x *searchtest.Catalog) []string {
	t.Helper()
	list, err := x.List(t.Context(), nil, nil)
	must.Do(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Location)
	}
	return out
}

// TestSyncOtherRoot: the label stands for another folder now, with equal
// skills; a sync that breaks off must not leave old locations for good.
func TestSyncOtherRoot(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.SyncSource(t, x, store.Source{Label: "a", Root: "/old"}, located(searchtest.Three(), "/old").Refs())
	ctx, cancel := context.WithCancel(t.Context())
	moved := store.Source{Label: "a", Root: "/new"}
	_, err := x.Sync(ctx, moved, mapped(located(searchtest.Three(), "/new").Refs(), func(*skill.Ref) { cancel() }))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	searchtest.SyncSource(t, x, moved, located(searchtest.Three(), "/new").Refs())
	want := []string{"/new/csv/SKILL.md", "/new/git/SKILL.md", "/new/pdf/SKILL.md"}
	if got := locations(t, x); !slices.Equal(got, want) {
		t.Errorf("locations %q, want %q", got, want)
	}
}

func TestSyncOtherPriority(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.SyncSource(t, x, store.Source{Label: "a", Priority: 2}, searchtest.Three().Refs())
	searchtest.SyncSource(t, x, store.Source{Label: "b", Priority: 1}, searchtest.Three().Refs())
	e, err := x.Lookup(t.Context(), "pdf", nil)
	if err != nil || e.Source != "a" {
		t.Errorf("pdf is %+v, %v", e, err)
	}
	searchtest.SyncSource(t, x, store.Source{Label: "b", Priority: 3}, searchtest.Three().Refs())
	if e, err = x.Lookup(t.Context(), "pdf", nil); err != nil || e.Source != "b" {
		t.Errorf("after the change pdf is %+v, %v", e, err)
	}
	e, err = x.Lookup(t.Context(), "a/pdf", nil)
	if err != nil || e.Source != "a" || e.ID != "a/pdf" || e.ShadowedBy != "pdf" {
		t.Errorf("a/pdf is %+v, %v", e, err)
	}
	must.Do(t, x.Retain(t.Context(), []string{"a"}))
	if e, err = x.Lookup(t.Context(), "pdf", nil); err != nil || e.Source != "a" {
		t.Errorf("after b is gone pdf is %+v, %v", e, err)
	}
}

func TestRetain(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := searchtest.New(t, e)
	for _, label := range []string{"a", "b", "c"} {
		searchtest.Sync(t, x, label, searchtest.TreeOf(searchtest.Skill("skill-"+label, "about "+label, "body "+label)).Refs())
	}
	searchtest.Embed(t, x)
	must.Do(t, x.Retain(t.Context(), []string{"b", "absent"}))
	wantNames(t, x, "skill-b")
	sources, err := x.Store.Sources(t.Context())
	if err != nil || len(sources) != 1 || sources[0].Label != "b" {
		t.Errorf("sources %v, %v", sources, err)
	}
	before := generationOf(t, x)
	if err := x.Retain(t.Context(), []string{"b"}); err != nil || generationOf(t, x) != before {
		t.Errorf("nothing to remove: %v, generation %v, want %v", err, generationOf(t, x), before)
	}
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("skill-a", "about a", "body a")).Refs())
	e.Embedded()
	searchtest.Embed(t, x)
	if len(e.Embedded()) == 0 {
		t.Error("the vectors of a removed source were kept")
	}
}

// TestSyncCancelled ends ctx in the middle of a walk: what was read until then
// is kept, nothing is removed, and the next Sync does the rest.
func TestSyncCancelled(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("old", "d", "b")).Refs())
	src := searchtest.Generated(index.Batch+50, 5)
	for _, at := range []int{index.Batch / 2, index.Batch} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		r, err := x.Sync(ctx, store.Source{Label: "a", Root: "/a"}, mapped(src.Refs(), func(r *skill.Ref) {
			if n++; n == at+1 {
				cancel()
			}
		}))
		if !errors.Is(err, context.Canceled) || r.Complete {
			t.Fatalf("after %d: error %v, complete %v", at, err, r.Complete)
		}
		if _, all, err := x.Size(t.Context()); all != at+1 || err != nil {
			t.Errorf("after %d: the catalog has %d, %v", at, all, err)
		}
	}
	searchtest.Sync(t, x, "a", src.Refs())
	fresh := searchtest.New(t, nil)
	searchtest.Sync(t, fresh, "a", src.Refs())
	if dump(t, x) != dump(t, fresh) {
		t.Error("the catalog differs from the catalog of one run")
	}
}

// TestSyncCancelledWhileReading: ctx ends while a batch is being read, and the
// iterator ends too, without an error, like the iterator of a source.
func TestSyncCancelledWhileReading(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("old", "d", "b")).Refs())
	ctx, cancel := context.WithCancel(t.Context())
	r, err := x.Sync(ctx, store.Source{Label: "a", Root: "/a"}, mapped(searchtest.Three().Refs(), func(r *skill.Ref) {
		load := r.Load
		r.Load = func() (*skill.Skill, error) { cancel(); return load() }
	}))
	if !errors.Is(err, context.Canceled) || r.Complete {
		t.Errorf("error %v, complete %v", err, r.Complete)
	}
	wantNames(t, x, "csv", "git", "old", "pdf")
	if r, err := x.Sync(ctx, store.Source{Label: "a", Root: "/a"}, searchtest.TreeOf().Refs()); err == nil || r.Complete {
		t.Errorf("a walk that ctx ended is complete; %v", err)
	}
	wantNames(t, x, "csv", "git", "old", "pdf")
}

func TestSyncManySkillsOfOneName(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := make(searchtest.Tree)
	for i := range 5 {
		src[fmt.Sprintf("dir-%d", i)] = searchtest.Skill("Same", fmt.Sprint("copy ", i), "body")
	}
	src["dir-5"] = searchtest.Skill("ＳＡＭＥ", "copy 5", "body") // the same name too
	searchtest.Sync(t, x, "a", src.Refs())
	if got := searchtest.Found(t, x, "copy body"); !slices.Equal(got, []string{"Same"}) {
		t.Errorf("found %q", got)
	}
	list, err := x.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	if err != nil || len(list) != 6 {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	for i, e := range list {
		id := "Same"
		if i > 0 {
			id = fmt.Sprintf("a/dir-%d", i)
		}
		if got, err := x.Lookup(t.Context(), e.ID, nil); e.ID != id || err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("entry %d has ID %q, want %q; looked up: %+v, %v", i, e.ID, id, got, err)
		}
	}
}
