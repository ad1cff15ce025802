package push_test

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/shared"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// TestContract: what was pushed keeps the contract of a source on each node.
func TestContract(t *testing.T) {
	sourcetest.TestSource(t, func(t *testing.T, files map[string]string) sourcetest.Store {
		st, table := memorytest.New(), sourcetest.NewTable("team", files)
		sync := func(t *testing.T) {
			t.Helper()
			does(t, st, new(push.Options), table)
		}
		sync(t)
		s, err := shared.New(st, source.Info{Label: "team"}, &shared.Options{Cache: shared.NewCache(t.TempDir(), 0)})
		must.Do(t, err)
		return sourcetest.Store{
			Source: sourcetest.ListedBy(table, s),
			Put:    func(t *testing.T, name, text string) { table.Put(name, text); sync(t) },
			Remove: func(t *testing.T, name string) { table.Remove(name); sync(t) },
		}
	})
}

// known returns what the catalog knows of the skill at a path of its only source.
func known(t *testing.T, st *memorytest.Store, path string) store.Known {
	t.Helper()
	sources, err := st.Sources(t.Context())
	must.Do(t, err)
	skills, err := st.Known(t.Context(), sources[0].Row, nil)
	must.Do(t, err)
	return skills[path]
}

// renamed is a source whose skills have two more files that nobody can ask for.
type renamed struct{ source.Source }

func (s renamed) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range s.Source.Skills(ctx, trace) {
			if err == nil {
				load := ref.Load
				ref.Load = func() (*skill.Skill, error) {
					sk, err := load()
					if err == nil {
						sk.Files = append(slices.Clone(sk.Files), skill.File{Path: "c:\\x", Size: 1, SHA256: strings.Repeat("a", 64)}, skill.File{Path: "huge.bin", Size: 1 << 40})
						sk.Digest = skill.DigestOf(sk.TextDigest, sk.Files)
					}
					return sk, err
				}
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

// growing is a source in which a file of this name is longer whenever it is opened.
type growing struct {
	source.Source
	name string
}

func (s growing) Open(ctx context.Context, dir, name string) (fs.File, error) {
	f, err := s.Source.Open(ctx, dir, name)
	if err != nil || name != s.name {
		return f, err
	}
	defer f.Close()
	var b bytes.Buffer
	b.ReadFrom(f)
	return fstest.MapFS{"x": {Data: append(b.Bytes(), '+')}}.Open("x")
}
