package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// childPath names the environment variable that makes the test binary sync
// childTree into the catalog at that path, as a second process.
const childPath = "INDEX_TEST_CHILD"

func TestMain(m *testing.M) {
	for name, work := range map[string]func(path string) error{
		childPath: syncChild, publisherPath: publishChild, unwritableDir: unwritableChild,
	} {
		if path := os.Getenv(name); path != "" {
			if err := work(path); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// child returns a command that syncs childTree into the catalog at path.
func child(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childPath+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func openDB(t testing.TB, path string) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// newIndex returns an index over an empty catalog.
func newIndex(t testing.TB, e embed.Embedder) *Index {
	t.Helper()
	return New(openDB(t, filepath.Join(t.TempDir(), "catalog.db")), e, nil)
}

// A tree is a source for tests: skills by folder.
type tree map[string]*skill.Skill

// newSkill returns a skill as a source would.
func newSkill(name, description, body string, tags ...string) *skill.Skill {
	s := &skill.Skill{Meta: skill.Meta{Name: name, Description: description, Tags: tags, Tokens: words.Tokens(body)}, Body: body}
	s.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Append(nil, name, "\x00", description, "\x00", body, "\x00", tags)))
	s.Files = []skill.File{{Path: "SKILL.md", Size: int64(len(body))}}
	return s
}

// treeOf returns a tree of skills in folders of their names.
func treeOf(skills ...*skill.Skill) tree {
	t := make(tree)
	for _, s := range skills {
		t[s.Name] = s
	}
	return t
}

// refs walks the tree; the stamps are the digests.
func (t tree) refs() iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for _, dir := range slices.Sorted(maps.Keys(t)) {
			s := t[dir]
			ref := &skill.Ref{Path: path.Join(dir, "SKILL.md"), Stamp: s.Digest, Load: func() (*skill.Skill, error) { return s, nil }}
			if !yield(ref, nil) {
				return
			}
		}
	}
}

// mapped returns refs, each changed by f.
func mapped(refs iter.Seq2[*skill.Ref, error], f func(*skill.Ref)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range refs {
			if ref != nil {
				f(ref)
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

// failing returns refs and then an error.
func failing(refs iter.Seq2[*skill.Ref, error], err error) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range refs {
			if !yield(ref, err) {
				return
			}
		}
		yield(nil, err)
	}
}

// syncTree syncs a source of that label and fails the test on any problem.
func syncTree(t testing.TB, x *Index, label string, refs iter.Seq2[*skill.Ref, error]) Report {
	t.Helper()
	return syncSource(t, x, Source{Label: label, Root: "/" + label}, refs)
}

func syncSource(t testing.TB, x *Index, src Source, refs iter.Seq2[*skill.Ref, error]) Report {
	t.Helper()
	r, err := x.Sync(context.Background(), src, refs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// search returns the answer for a query that must not fail.
func search(t testing.TB, x *Index, q Query) Answer {
	t.Helper()
	if os.Getenv("INDEX_TEST_PUBLISH") != "" {
		if err := x.Publish(context.Background(), true); err != nil {
			t.Fatal(err)
		}
	}
	a, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatalf("search %.80q: %v", q.Text, err)
	}
	return a
}

// found returns the IDs of the hits for a prompt.
func found(t testing.TB, x *Index, text string) []string {
	t.Helper()
	return idsOf(search(t, x, Query{Text: text}).Hits)
}

func idsOf(hits []Hit) []string {
	list := []string{}
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return list
}

func generationOf(t testing.TB, x *Index) int64 {
	t.Helper()
	n, err := x.db.Generation(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dump writes down all that searches depend on, without row IDs and stamps:
// equal dumps are equal catalogs.
func dump(t testing.TB, x *Index) string {
	t.Helper()
	ctx := context.Background()
	entries, err := x.db.Entries(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	names := map[int64]string{}
	terms := map[string]bool{}
	for i := range entries {
		names[entries[i].Row] = entries[i].Source + "/" + entries[i].Path
	}
	for _, e := range entries {
		s, ok, err := x.db.Skill(ctx, e.Row)
		if err != nil || !ok {
			t.Fatalf("skill %s: %v, %v", e.Name, ok, err)
		}
		fmt.Fprintln(&b, names[e.Row], e.Name, e.Digest, e.Location, e.Refused, names[e.ShadowedBy], s.Body, s.Files, s.Problems)
		for _, term := range words.Terms(e.Name + " " + e.Description + " " + s.Body) {
			terms[term] = true
		}
	}
	counts, all, err := x.db.Frequencies(ctx, slices.Collect(maps.Keys(terms)))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, all, counts) // maps print sorted
	return b.String()
}

// fakeEmbedder makes vectors of the words of a text, and fails as it is told.
type fakeEmbedder struct {
	model string // "" is "fake"
	dim   int    // 0 is 16

	block chan struct{} // queries wait until it is closed

	mu       sync.Mutex // guards what follows
	embedded []string   // documents
	fail     int        // number of documents after which it fails; 0 never
	query    func(text string) ([]embed.Vector, error)
}

var errEmbed = errors.New("no more vectors")

func (f *fakeEmbedder) Model() string {
	if f.model == "" {
		return "fake"
	}
	return f.model
}

func (f *fakeEmbedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	if kind == embed.Query {
		if f.block != nil {
			<-f.block
		}
		if f.query != nil {
			return f.query(texts[0])
		}
		return []embed.Vector{f.vector(texts[0])}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []embed.Vector
	for _, text := range texts {
		if f.fail > 0 && len(f.embedded) >= f.fail {
			return list, errEmbed
		}
		f.embedded = append(f.embedded, text)
		list = append(list, f.vector(text))
	}
	return list, ctx.Err()
}

// vector adds up one direction for every word.
func (f *fakeEmbedder) vector(text string) embed.Vector {
	dim := f.dim
	if dim == 0 {
		dim = 16
	}
	v := make(embed.Vector, dim)
	v[0] = .01 // a text without words has a direction too
	for _, w := range words.Terms(text) {
		h := fnv.New32a()
		h.Write([]byte(w))
		v[int(h.Sum32())%dim]++
	}
	if err := embed.Unit(v); err != nil {
		panic(err)
	}
	return v
}

func embedAll(t testing.TB, x *Index) {
	t.Helper()
	if err := x.Embed(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
}
