package mcpserver_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkReadSkill is a call of read_skill over pipes, for a small skill and
// for one with 60 MB of assets.
func BenchmarkReadSkill(b *testing.B) {
	for _, assets := range []int{0, 60} {
		b.Run(fmt.Sprintf("assets=%dMB", assets), func(b *testing.B) {
			files := map[string]string{
				"pdf/SKILL.md":        doc("pdf", "Reads PDF files.") + strings.Repeat("Read the form first.\n", 200),
				"pdf/scripts/fill.py": "print()\n",
			}
			for i := range assets / 10 {
				files[fmt.Sprintf("pdf/assets/%d.bin", i)] = strings.Repeat("0123456789", 1<<20)
			}
			c := serve(b, files, "").connect(b, true)
			for b.Loop() {
				c.tool("read_skill", object{"id": "pdf"})
			}
		})
	}
}
