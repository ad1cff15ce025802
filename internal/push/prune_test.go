package push_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// A repository has folders of skills, and clones that machines push from.
type repository struct {
	name    string
	remotes []string          // of its clones, "" for none; nil for a folder that is no repository
	clones  []string          // folders
	state   []string          // of the machine of each clone
	folders map[string]string // slash-separated, with the label that it is pushed under; "" means none, so that its name counts
}

// newRepository makes a repository with a folder skills and another one.
func newRepository(t *testing.T, name, state string, remotes ...string) *repository {
	r := &repository{name: name, remotes: remotes, folders: map[string]string{"skills": "", "tools/more": name + "-more"}}
	for i, remote := range remotes {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("clone-", i))
		must.Do(t, os.MkdirAll(dir, 0o700))
		if remote != "-" {
			must.Write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\n\turl = "+remote+"\n")
		}
		if i > 0 && remote != "-" {
			state = t.TempDir() // of another machine
		}
		r.clones, r.state = append(r.clones, regularPath(t, dir)), append(r.state, state)
	}
	return r
}

func regularPath(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	must.Do(t, err)
	return real
}

// pull brings a clone in step with what the repository has.
func (r *repository) pull(t *testing.T, clone int) {
	t.Helper()
	entries, err := os.ReadDir(r.clones[clone])
	must.Do(t, err)
	for _, e := range entries {
		if e.Name() != ".git" {
			must.Do(t, os.RemoveAll(filepath.Join(r.clones[clone], e.Name())))
		}
	}
	for folder := range r.folders {
		name := r.name + "-" + path.Base(folder)
		must.Write(t, filepath.Join(r.clones[clone], filepath.FromSlash(folder), name, "SKILL.md"), doc(name))
	}
}

// push pushes some folders from a clone.
func (r *repository) push(t *testing.T, st push.Store, clone int, folders []string, o push.Options) (*push.Result, error) {
	t.Helper()
	o.Origins = make(map[string]push.Origin)
	var sources []source.Source
	for _, folder := range folders {
		dir := filepath.Join(r.clones[clone], filepath.FromSlash(folder))
		src := at(t, dir, r.label(folder), len(sources))
		origin, err := push.Place{Dir: dir}.Origin(func() (string, error) { return r.state[clone], nil })
		must.Do(t, err)
		o.Origins[src.Info().Label] = origin
		sources = append(sources, src)
	}
	return push.Push(t.Context(), st, sources, &o)
}

// label returns the label under which a folder is pushed now.
func (r *repository) label(folder string) string {
	if label := r.folders[folder]; label != "" {
		return label
	}
	return "root:" + path.Base(folder)
}

// held returns what a catalog has of each source.
func held(t *testing.T, st store.Reader) map[string][]string {
	t.Helper()
	sources, err := st.Sources(t.Context())
	must.Do(t, err)
	all := make(map[string][]string)
	for _, s := range sources {
		known, err := st.Known(t.Context(), s.Row, nil)
		must.Do(t, err)
		all[s.Label] = slices.Sorted(maps.Keys(known))
	}
	return all
}

// TestPrune has repositories, each with clones on several machines, push in turn, in part, with
// and without pruning, while their folders move, go and get other labels. No push removes or
// changes what is not of its repository, or what its repository still has.
func TestPrune(t *testing.T) {
	t.Parallel()
	for seed := range testsize.Rounds(3, 40) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		st, machine := memorytest.New(), t.TempDir()
		repositories := []*repository{
			newRepository(t, "a", machine, "https://git.example/team/a.git", "git@git.example:team/a", "ssh://ann@git.example:22/team/a.git/"),
			newRepository(t, "b", machine, "https://git.example/team/b", "https://x:secret@git.example/team/b.git"),
			newRepository(t, "c", machine, "/srv/c.git"),
			newRepository(t, "d", machine, ""),
			newRepository(t, "e", machine, "-"),
		}
		for _, r := range repositories[1:] {
			r.folders["skills"] = r.name + "-skills" // else all but the first are refused
		}
		owner := make(map[string]string) // of what is in the catalog, by label: repository and folder
		for step := range 40 {
			r := repositories[rnd.IntN(len(repositories))]
			folders := slices.Sorted(maps.Keys(r.folders))
			folder := folders[rnd.IntN(len(folders))]
			switch rnd.IntN(5) {
			case 0: // moved or renamed
				label := r.folders[folder]
				delete(r.folders, folder)
				r.folders[fmt.Sprintf("at-%d/%s", step, path.Base(folder))] = label
			case 1: // pushed under another label
				r.folders[folder] = fmt.Sprintf("%s-%d", r.name, step)
			case 2: // more and fewer folders
				if rnd.IntN(2) == 0 || len(folders) < 2 {
					r.folders[fmt.Sprintf("new-%d", step)] = ""
				} else {
					delete(r.folders, folder)
				}
			}
			folders = slices.Sorted(maps.Keys(r.folders))
			some := folders[rnd.IntN(len(folders)):]
			clone := rnd.IntN(len(r.clones))
			r.pull(t, clone)
			before, o := held(t, st), push.Options{Prune: rnd.IntN(3) > 0, Full: rnd.IntN(5) == 0}
			result, err := r.push(t, st, clone, some, o)
			after := held(t, st)
			if foreign, ok := errors.AsType[*push.OriginError](err); ok {
				if diff := cmp.Diff(before, after); diff != "" || owner[foreign.Label] == "" {
					t.Fatalf("seed %d, step %d: %v (-before +after):\n%s", seed, step, err, diff)
				}
				continue
			}
			must.Do(t, err)
			for label, of := range owner {
				name, folder, _ := strings.Cut(of, ":")
				_, has := r.folders[folder]
				_, there := after[label]
				pushed := slices.ContainsFunc(some, func(f string) bool { return r.label(f) == label })
				moved := slices.Contains(some, folder) || !has && r.name != "e" // "e" does not know what it had
				want := pushed || name != r.name || !o.Prune || !moved
				if there != want || !pushed && there && !slices.Equal(before[label], after[label]) {
					t.Fatalf("seed %d, step %d: %s pushes %q with %+v: %s of %s is there: %t, want %t\n%v\n%+v", seed, step, r.name, some, o, label, of, there, want, after, result.Left)
				}
				if !there {
					delete(owner, label)
				}
			}
			for _, f := range some {
				owner[r.label(f)] = r.name + ":" + f
			}
			if len(after) != len(owner) || o.Prune && len(result.Left) != len(after)-len(some) {
				t.Fatalf("seed %d, step %d: the catalog has %v of %v; left %+v", seed, step, after, owner, result.Left)
			}
		}
		settled(t, st, repositories)
	}
}

// settled checks that pushes with pruning by all repositories in turn change nothing after the
// first time, each folder by itself.
func settled(t *testing.T, st push.Store, repositories []*repository) {
	t.Helper()
	var last store.State
	for round := range 3 {
		for _, r := range repositories {
			for clone := range r.clones {
				r.pull(t, clone)
				for folder := range r.folders {
					_, err := r.push(t, st, clone, []string{folder}, push.Options{Prune: true})
					if _, foreign := errors.AsType[*push.OriginError](err); err != nil && !foreign {
						t.Fatal(err)
					}
				}
			}
		}
		now, err := st.State(t.Context())
		must.Do(t, err)
		if round == 2 && now != last {
			t.Errorf("pushes in turn go on for ever: %+v, then %+v", last, now)
		}
		last = now
	}
}
