package config

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A kept is the copy of the last content without a mistake of one configuration file. It is
// what hooks go by while the user mends the file. The copy starts with a line that has a
// digest of the file's name and content.
type kept struct {
	file string // configuration file, absolute
	copy string // "" means that no copy is kept
}

// newKept returns the copy of a configuration file in a state folder; "" means none.
func newKept(state, file string) kept {
	abs, err := filepath.Abs(file)
	if state == "" || err != nil {
		return kept{}
	}
	sum := sha256.Sum256([]byte(abs))
	return kept{abs, filepath.Join(state, "settings", fmt.Sprintf("%x.yaml", sum[:6]))}
}

// head returns the first line of the copy of data.
func (k kept) head(data []byte) []byte {
	return fmt.Appendf(nil, "# a copy of the last settings without a mistake: %x\n", sha256.Sum256(fmt.Appendf(nil, "%q %s", k.file, data)))
}

// write keeps data. If that fails, there is no copy until the next program that reads the file
// tries again: an older one may offer what the user has excluded since.
func (k kept) write(data []byte) {
	if k.copy == "" {
		return
	}
	if old, ok := k.read(); ok && bytes.Equal(old, data) {
		return
	}
	if os.MkdirAll(filepath.Dir(k.copy), 0o700) != nil || atomicfile.Write(atomicfile.OS{}, k.copy, append(k.head(data), data...)) != nil {
		k.remove()
	}
}

// read returns the content that was kept; ok is false if there is none, or it is damaged.
func (k kept) read() (data []byte, ok bool) {
	if k.copy == "" {
		return nil, false
	}
	text, err := regular.ReadShort(k.copy, maxFile+1024)
	if err != nil {
		return nil, false
	}
	_, data, _ = bytes.Cut(text, []byte("\n"))
	return data, bytes.Equal(text[:len(text)-len(data)], k.head(data))
}

// remove forgets the copy.
func (k kept) remove() {
	if k.copy != "" {
		os.Remove(k.copy)
	}
}
