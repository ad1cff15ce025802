package virtual

import (
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// BenchmarkExecute measures a run from the request to the result, in a sandbox in which a
// skill of ten files is mounted.
func BenchmarkExecute(b *testing.B) {
	for name, command := range map[string]string{
		"true":   "true",
		"script": "scripts/args.sh one two",
		"pipe":   "cat data/words.txt | sort | uniq -c",
		"loop":   "i=0; while [ $i -lt 100 ]; do i=$((i+1)); done",
	} {
		b.Run(name, func(b *testing.B) {
			s := New(Options{})
			r := sandbox.Request{Skill: "demo", Files: demo(), Command: command}
			for b.Loop() {
				if res, err := s.Execute(b.Context(), r); err != nil || res.ExitCode != 0 {
					b.Fatal(res, err)
				}
			}
		})
	}
	b.Run("mount", func(b *testing.B) { // and the first run
		r := sandbox.Request{Skill: "demo", Files: demo(), Command: "true"}
		for b.Loop() {
			if _, err := New(Options{}).Execute(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
