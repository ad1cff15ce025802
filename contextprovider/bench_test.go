package contextprovider_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkBody loads a small skill, and one with 60 MB of assets: other files
// must not make a load slower.
func BenchmarkBody(b *testing.B) {
	for _, assets := range []int{0, 60} {
		b.Run(fmt.Sprintf("assets=%dMB", assets), func(b *testing.B) {
			files := map[string]string{
				"pdf/SKILL.md":            doc("pdf", "Reads PDF files.", strings.Repeat("Read the form first.\n", 200)),
				"pdf/scripts/fill.py":     "print()\n",
				"pdf/references/forms.md": "Forms.\n",
			}
			for i := range assets / 10 {
				files[fmt.Sprintf("pdf/assets/%d.bin", i)] = strings.Repeat("0123456789", 1<<20)
			}
			src, _ := folder(b, "tools", files)
			k := open(b, src)
			for b.Loop() {
				k.body(b, "pdf", nil)
			}
		})
	}
}
