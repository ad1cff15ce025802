package shared

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Cache keeps files of skills by their digest, and lists of files, in a folder of its own.
// Several processes may use one folder. What cannot be kept is not an error: it is read
// from the catalog again.
type Cache struct {
	dir   string
	limit int64

	mu   sync.Mutex // held while the folder is written
	size int64      // bytes in the folder, -1 if they have not been counted
}

// DefaultLimit is how many bytes a Cache keeps.
const DefaultLimit = 256 << 20

const (
	maxList = 1 << 20   // bytes of one list
	touch   = time.Hour // a file that is read is marked as used if its last mark is older
)

// NewCache returns the cache in a folder, which is made when something is first kept. When
// it holds more than limit bytes, those go first that were used least recently; 0 means
// DefaultLimit.
func NewCache(dir string, limit int64) *Cache {
	return &Cache{dir: dir, limit: cmp.Or(limit, DefaultLimit), size: -1}
}

// contentName and listName are the names of files in the folder.
func (c *Cache) contentName(sha256 string) string { return filepath.Join(c.dir, sha256+".file") }

func (c *Cache) listName(label, dir string) string {
	return filepath.Join(c.dir, sum([]byte(label+"\x00"+dir))+".list")
}

// content returns the bytes of a file if they are kept. It checks them.
func (c *Cache) content(f skill.File) ([]byte, bool) {
	if c == nil || !isDigest(f.SHA256) {
		return nil, false
	}
	data, ok := c.read(c.contentName(f.SHA256), f.Size)
	return data, ok && sum(data) == f.SHA256
}

// putContent keeps bytes that have this digest.
func (c *Cache) putContent(sha256 string, data []byte) {
	if c != nil && isDigest(sha256) {
		c.write(c.contentName(sha256), data)
	}
}

// isDigest reports whether a text can be part of a name in the folder.
func isDigest(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// list returns the kept list of a skill's files.
func (c *Cache) list(label, dir string) (files []skill.File, ok bool) {
	if c == nil {
		return nil, false
	}
	data, ok := c.read(c.listName(label, dir), maxList)
	return files, ok && json.Unmarshal(data, &files) == nil
}

// putList keeps a list of files.
func (c *Cache) putList(label, dir string, files []skill.File) {
	if c == nil {
		return
	}
	data, err := json.Marshal(files)
	if err == nil && len(data) <= maxList {
		c.write(c.listName(label, dir), data)
	}
}

// dropList removes the list of a skill that is gone.
func (c *Cache) dropList(label, dir string) {
	if c != nil {
		os.Remove(c.listName(label, dir)) // usually it is not there
	}
}

// read reads a file of the folder of at most so many bytes, and marks it as used.
func (c *Cache) read(name string, most int64) ([]byte, bool) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, false
	}
	data, err := regular.ReadShort(name, most)
	if now := time.Now(); err == nil && now.Sub(info.ModTime()) > touch {
		os.Chtimes(name, now, now) // if it fails, the file goes earlier
	}
	return data, err == nil
}

// write writes a file of the folder and makes room if there is too much in it.
func (c *Cache) write(name string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(len(data)) > c.limit || os.MkdirAll(c.dir, 0o700) != nil || atomicfile.Write(atomicfile.OS{}, name, data) != nil {
		return
	}
	if c.size >= 0 {
		c.size += int64(len(data))
	}
	if c.size < 0 || c.size > c.limit {
		c.trim()
	}
}

// trim counts the bytes in the folder, and removes old files if they are too many, so that
// there is room for some more.
func (c *Cache) trim() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var infos []os.FileInfo
	c.size = 0
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
			c.size += info.Size()
		}
	}
	if c.size <= c.limit {
		return
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range infos {
		if c.size <= c.limit-c.limit/10 {
			break
		}
		if os.Remove(filepath.Join(c.dir, info.Name())) == nil {
			c.size -= info.Size()
		}
	}
}
