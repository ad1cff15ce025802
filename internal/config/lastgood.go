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

// A lastGood is the copy of the last content without a mistake of one configuration file. It is
// what hooks go by while the user mends the file. The copy starts with a line that has a
// digest of the file's name and content.
type lastGood struct {
	file string // configuration file, absolute
	copy string // "" means that no copy is kept
}

// newLastGood returns the copy of a configuration file in a state folder; "" means none.
func newLastGood(state, file string) lastGood {
	abs, err := filepath.Abs(file)
	if state == "" || err != nil {
		return lastGood{}
	}
	return lastGood{abs, filepath.Join(state, "settings", sumOf(abs, 6)+".yaml")}
}

// head returns the first line of the copy of data.
func (l lastGood) head(data []byte) []byte {
	return fmt.Appendf(nil, "# a copy of the last settings without a mistake: %x\n", sha256.Sum256(fmt.Appendf(nil, "%q %s", l.file, data)))
}

// write keeps data. If that fails, there is no copy until the next program that reads the file
// tries again: an older one may offer what the user has excluded since.
func (l lastGood) write(data []byte) {
	if l.copy == "" {
		return
	}
	if old, ok := l.read(); ok && bytes.Equal(old, data) {
		return
	}
	if os.MkdirAll(filepath.Dir(l.copy), 0o700) != nil || atomicfile.Write(atomicfile.OS{}, l.copy, append(l.head(data), data...)) != nil {
		l.remove()
	}
}

// read returns the content that was kept; ok is false if there is none, or it is damaged.
func (l lastGood) read() (data []byte, ok bool) {
	if l.copy == "" {
		return nil, false
	}
	text, err := regular.ReadShort(l.copy, maxFile+1024)
	if err != nil {
		return nil, false
	}
	_, data, _ = bytes.Cut(text, []byte("\n"))
	return data, bytes.Equal(text[:len(text)-len(data)], l.head(data))
}

// remove forgets the copy.
func (l lastGood) remove() {
	if l.copy != "" {
		os.Remove(l.copy)
	}
}
