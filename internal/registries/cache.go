package registries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

const (
	fresh    = 10 * time.Minute // a kept answer is as good as a new one
	kept     = 24 * time.Hour   // it is used if the registry cannot be asked
	maxKept  = 200              // answers
	maxWait  = time.Hour        // for which a registry may ask
	waitName = "wait-"
)

// A cache is a folder with answers and with the times from which registries may be asked again;
// "" keeps nothing. Names of files are hashes, so that no file says what was asked.
type cache struct {
	dir string
	now func() time.Time
}

func (c cache) name(method, address, key string, body []byte) string {
	return hash(fmt.Sprintf("%q %q %q %q", method, address, key, body))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// read returns an answer that is kept, and when it was given; nil means none.
func (c cache) read(name string) ([]byte, time.Time) {
	if c.dir == "" {
		return nil, time.Time{}
	}
	file := filepath.Join(c.dir, name)
	info, err := os.Stat(file)
	if err != nil || c.now().Sub(info.ModTime()) > kept {
		return nil, time.Time{}
	}
	data, err := regular.ReadShort(file, maxAnswer)
	if err != nil {
		return nil, time.Time{}
	}
	return data, info.ModTime()
}

// write keeps an answer. That it cannot is no reason to stop.
func (c cache) write(name string, data []byte) {
	if c.dir == "" || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	c.tidy()
	_ = atomicfile.Write(atomicfile.OS{}, filepath.Join(c.dir, name), data)
}

// tidy removes what is too old, and the oldest answers if there are too many.
func (c cache) tidy() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type aged struct {
		name string
		at   time.Time
	}
	var all []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, aged{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return b.at.Compare(a.at) })
	for i, f := range all {
		if i >= maxKept || c.now().Sub(f.at) > kept {
			_ = os.Remove(filepath.Join(c.dir, f.name)) // another process may have done it
		}
	}
}

// waiting returns the time from which a registry may be asked; the zero time means now.
func (c cache) waiting(address string) time.Time {
	if c.dir == "" {
		return time.Time{}
	}
	data, err := regular.ReadShort(filepath.Join(c.dir, waitName+hash(address)), 100)
	if err != nil {
		return time.Time{}
	}
	until, err := time.Parse(time.RFC3339, strings.TrimSpace(string(data)))
	if err != nil || until.Sub(c.now()) > maxWait {
		return time.Time{}
	}
	return until
}

// wait remembers the time from which a registry may be asked.
func (c cache) wait(address string, until time.Time) {
	c.write(waitName+hash(address), []byte(until.UTC().Format(time.RFC3339)+"\n"))
}
