package install

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// BenchmarkLocked reads the lock of 500 skills with five files each.
func BenchmarkLocked(b *testing.B) {
	dir := b.TempDir()
	l := &Lock{Version: lockVersion, Skills: make(map[string]*Entry)}
	for i := range 500 {
		e := &Entry{Source: "https://github.com/owner/repo", Kind: Git, Commit: strings.Repeat("a", 40), Path: fmt.Sprintf("skills/skill-%d", i),
			Digest: "sha256:" + strings.Repeat("b", 64), Installed: time.Unix(1, 0).UTC(), Files: make(map[string]File)}
		for n := range 5 {
			e.Files[fmt.Sprintf("references/part-%d.md", n)] = File{SHA256: strings.Repeat("c", 64)}
		}
		l.Skills[fmt.Sprintf("skill-%d", i)] = e
	}
	must.Do(b, l.write(dir))
	for b.Loop() {
		locked, err := Locked(dir)
		if err != nil || !locked("skill-7", "sha256:"+strings.Repeat("b", 64)) {
			b.Fatal(err)
		}
	}
}
