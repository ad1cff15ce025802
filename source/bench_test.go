package source_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// manySkills makes a folder of n skills, all of them old enough for a stamp.
// Every second one has a script and a reference if they are to have files.
func manySkills(tb testing.TB, n int, files bool) string {
	tb.Helper()
	dir := tb.TempDir()
	for i := range n {
		name := fmt.Sprintf("skill-%03d", i)
		skill := map[string]string{"SKILL.md": doc(name)}
		if files && i%2 == 0 {
			skill["scripts/run.sh"] = "echo " + name
			skill["references/more.md"] = "More on " + name
		}
		for file, text := range skill {
			must.Write(tb, filepath.Join(dir, name, file), text)
		}
	}
	age(tb, dir)
	return dir
}

func BenchmarkWalk(b *testing.B) {
	const skills = 500
	for name, files := range map[string]bool{"plain": false, "files": true} {
		b.Run(name, func(b *testing.B) {
			s := open(b, manySkills(b, skills, files), nil)
			b.ReportAllocs()
			for b.Loop() {
				found := 0
				for ref, err := range s.Skills(b.Context(), nil) {
					if err != nil || ref.Stamp == "" {
						b.Fatal(ref, err)
					}
					found++
				}
				if found != skills {
					b.Fatalf("found %d skills", found)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	_, _, refs := walk(b, open(b, manySkills(b, 1, true), nil))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := refs["skill-000/SKILL.md"].Load(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadDir compares listing by path with listing through os.Root.
func BenchmarkReadDir(b *testing.B) {
	dir := manySkills(b, 500, true)
	root, err := os.OpenRoot(dir)
	must.Do(b, err)
	defer root.Close()
	for name, fsys := range map[string]fs.FS{"path": os.DirFS(dir), "root": root.FS()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				err := fs.WalkDir(fsys, ".", func(_ string, d fs.DirEntry, err error) error {
					if err == nil {
						_, err = d.Info()
					}
					return err
				})
				must.Do(b, err)
			}
		})
	}
}
