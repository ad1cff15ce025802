package push

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// A memory says what the skills of a source were when they were last read on this machine, by
// the paths of their SKILL.md. It says nothing about a catalog.
type memory map[string]remembered

// A remembered is a skill that was read without a problem of reading.
type remembered struct {
	stamp  string // of its files, see source.FS.Stamped
	digest string // as nodes know it
	name   string
}

// memoryFile returns the file with the memory of a source; "" means that there is none.
func (o *Options) memoryFile(info source.Info) string {
	if o.Memory == "" || info.Root == "" {
		return ""
	}
	return filepath.Join(o.Memory, digest(info.Root, info.Label, info.Settings)[:16])
}

// readMemory returns what is on file; what cannot be used costs time only.
func readMemory(file string) memory {
	if file == "" {
		return nil
	}
	data, _ := regular.ReadFile(file)
	head, rest, _ := strings.Cut(string(data), "\n\n")
	if head != memoryHead(rest) {
		return nil
	}
	m, fields := make(memory), strings.Split(rest, "\x00")
	for ; len(fields) > 4; fields = fields[4:] {
		m[fields[0]] = remembered{fields[1], fields[2], fields[3]}
	}
	return m
}

// stamp gives the skills of a catalog that are as this machine knows them the stamps that they
// have here, so that index does not read them, and all others none.
func (m memory) stamp(known map[string]store.Known) {
	for p, have := range known {
		have.Stamp = ""
		if old := m[p]; old.digest == have.Digest && old.name == have.Name {
			have.Stamp = old.stamp
		}
		known[p] = have
	}
}

// write keeps the memory on file, and removes those that no push has written for long, if it is
// new. It ignores errors: the next push reads all skills.
func (m memory) write(file string) {
	var b bytes.Buffer
	for _, p := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s\x00%s\x00%s\x00%s\x00", p, m[p].stamp, m[p].digest, m[p].name)
	}
	if _, err := os.Lstat(file); err != nil {
		_ = os.MkdirAll(filepath.Dir(file), 0o700)
		removeOld(filepath.Dir(file))
	}
	_ = atomicfile.Write(atomicfile.OS{}, file, fmt.Appendf(nil, "%s\n\n%s", memoryHead(b.String()), b.Bytes()))
}

// memoryHead returns what begins a memory on file. It names this build of the program, because
// another one may leave out other files, and has the digest of the rest, because a power cut may
// have taken some of it.
func memoryHead(rest string) string {
	build := "unknown, so nothing is kept: " + rand.Text()
	if name, err := os.Executable(); err == nil {
		if info, err := os.Stat(name); err == nil {
			build = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
	}
	return fmt.Sprintf("skills that were pushed 1, build %s\n%x", build, sha256.Sum256([]byte(rest)))
}

// removeOld removes memories that were written long ago.
func removeOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 30*24*time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
