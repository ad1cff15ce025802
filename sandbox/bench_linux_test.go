package sandbox

import (
	"os/exec"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// BenchmarkTrue measures what a run costs: started as it is, as a helper that does nothing,
// by the plain executor, and by the confined one.
func BenchmarkTrue(b *testing.B) {
	dir := write(b, map[string]string{"SKILL.md": ""})
	r := Request{Skill: "x", Dir: dir, Command: "true", Allowed: []string{"true"}}
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			must.Do(b, exec.Command("/bin/true").Run())
		}
	})
	b.Run("go", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("/proc/self/exe")
			cmd.Args[0] = helperName
			_ = cmd.Run() // there is no order
		}
	})
	executors := map[string]Executor{"plain": NewPlain(Options{AllowUnconfined: true})}
	if e, err := New(Options{}); err == nil {
		executors["confined"] = e
	}
	for name, e := range executors {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if res, err := e.Execute(b.Context(), r); err != nil || res.ExitCode != 0 {
					b.Fatal(res, err)
				}
			}
		})
	}
}
