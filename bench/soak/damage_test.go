//go:build soak && unix

package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// damages are the kinds of steps that damage, remove and restore files of the cache.
// A damaged file takes the place of the whole one: programs that have a file open
// keep what they have.
var damages = []kind{
	{"restore copy", 4, func(w *world) string {
		return w.restore(func(string) string { return "old" }, true)
	}},
	{"mix with copy", 8, func(w *world) string {
		return w.restore(func(string) string { return []string{"old", "new", "new", "gone"}[w.IntN(4)] }, true)
	}},
	{"mix -wal too", 4, func(w *world) string {
		return w.restore(func(string) string { return []string{"old", "new"}[w.IntN(2)] }, false)
	}},
	{"damage snapshot", 0, func(w *world) string { return w.damage(w.pick(w.beside(".base", ".delta"))) }},
	{"damage manifest", 0, func(w *world) string { return w.damage(w.pick(w.beside(".current"))) }},
	{"damage stamps", 0, func(w *world) string { return w.damage(w.pick(w.beside(".stamps", ".looked", ".seal"))) }},
	{"damage -wal", 0, func(w *world) string {
		w.stopPrograms()
		return w.damage(w.pick(w.beside("-wal", "-shm")))
	}},
	{"damage catalog.db", 0, func(w *world) string { return w.breakDatabase() }},
	{"remove catalog.db", 0, func(w *world) string {
		w.s.counts["damages"]++
		return w.remove("cache/catalog.db")
	}},
	{"remove others", 0, func(w *world) string {
		w.s.counts["damages"]++
		return w.remove(w.pick(w.beside(".base", ".delta", ".current", ".stamps", ".looked", ".seal", ".lock")))
	}},
	{"remove cache", 2, func(w *world) string {
		w.removeCache()
		return "cache"
	}},
	{"other kind of file", 1, (*world).obstruct},
}

func (w *world) removeCache() {
	w.s.counts["damages"]++
	err := os.RemoveAll(w.path("cache"))
	for n := 0; n < 100 && err != nil; n++ { // the server makes files meanwhile
		err = os.RemoveAll(w.path("cache"))
	}
	w.must(err)
	w.must(os.MkdirAll(w.path("cache"), 0o755))
}

// beside returns the files of the cache whose names end so.
func (w *world) beside(suffixes ...string) []string {
	list := listed(w.path("cache"), suffixes...)
	for i := range list {
		list[i] = "cache/" + list[i]
	}
	return list
}

// listed returns the names in a folder that end so.
func listed(dir string, suffixes ...string) []string {
	var list []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(e.Name(), s) }) {
			list = append(list, e.Name())
		}
	}
	return list
}

// copyCache copies all files of the cache, while nobody uses them.
func (w *world) copyCache() string {
	w.stopPrograms()
	to := fmt.Sprintf("copies/%d", w.number)
	w.must(os.RemoveAll(w.path(to)))
	w.must(os.MkdirAll(w.path("copies"), 0o755))
	copyTree(w.path("cache"), w.path(to))
	w.s.counts["copies of the cache"]++
	return to
}

// restore puts files of a copy into the cache, or makes a copy first, see putBack. how
// chooses for each group of files.
func (w *world) restore(how func(group string) string, whole bool) string {
	copies, _ := os.ReadDir(w.path("copies"))
	var names []string
	for _, e := range copies {
		names = append(names, e.Name())
	}
	if len(names) == 0 || w.IntN(3) == 0 {
		return "copy to " + w.copyCache()
	}
	if !whole || w.IntN(2) == 0 {
		w.stopPrograms()
	}
	return w.putBack("copies/"+w.pick(names), w.groups(how), whole)
}

// groups chooses for each group of files that belong together whether a copy's take the
// place of those that are there ("old"), these stay ("new"), or both are left out ("gone").
func (w *world) groups(how func(group string) string) map[string]string {
	chosen := make(map[string]string)
	for _, g := range []string{"", "-wal", "-shm", ".current", ".stamps", ".looked", ".seal"} {
		chosen["catalog.db"+g] = how("catalog.db" + g)
	}
	chosen["snapshots"] = how("snapshots")
	return chosen
}

// putBack puts files of a copy into the cache. With whole, the database and its log
// belong together.
func (w *world) putBack(from string, chosen map[string]string, whole bool) string {
	groupOf := func(name string) string {
		switch {
		case strings.HasSuffix(name, ".base") || strings.HasSuffix(name, ".delta"):
			return "snapshots"
		case whole && (strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm")):
			return "catalog.db"
		}
		return name
	}
	entries, _ := os.ReadDir(w.path("cache"))
	for _, e := range entries {
		if how := chosen[groupOf(e.Name())]; how == "gone" || how == "old" {
			w.must(os.RemoveAll(w.path("cache", e.Name())))
		}
	}
	entries, _ = os.ReadDir(w.path(from))
	for _, e := range entries {
		// Each snapshot has its own name, so the copied ones lie beside the others.
		if group := groupOf(e.Name()); chosen[group] == "old" {
			w.must(copyFile(w.path(from, e.Name()), w.path("aside")))
			w.must(os.Rename(w.path("aside"), w.path("cache", e.Name())))
		}
	}
	for root := range w.away {
		w.away[root] = true // the copy may be older than "forget root"
	}
	w.s.counts["restores"]++
	if w.server != nil {
		w.s.counts["restores beside a running server"]++
	}
	var line []string
	for _, g := range sorted(chosen) {
		line = append(line, strings.TrimPrefix(g, "catalog.db")+" "+chosen[g])
	}
	return from + ": " + strings.Join(line, ", ")
}

// damage replaces a file by a damaged one.
func (w *world) damage(name string) string {
	data, err := os.ReadFile(w.path(name))
	if err != nil || len(data) == 0 {
		return ""
	}
	how := ""
	switch w.IntN(6) {
	case 0:
		at := w.IntN(len(data))
		data[at] ^= 1 << w.IntN(8)
		how = fmt.Sprintf("a bit of byte %d", at)
	case 1:
		data = data[:w.IntN(len(data))]
		how = fmt.Sprintf("cut to %d bytes", len(data))
	case 2:
		at := w.IntN(len(data))
		clear(data[at:min(len(data), at+512)])
		how = fmt.Sprintf("zeros at %d", at)
	case 3:
		data, how = append(data, data[:min(len(data), 100)]...), "longer"
	case 4:
		data, how = []byte{}, "emptied"
	case 5:
		for i := range data {
			data[i] = byte(w.Uint32())
		}
		how = "random bytes"
	}
	w.replace(name, data)
	return shortName(name) + ": " + how
}

// breakDatabase damages the database in a way that can be noticed.
func (w *world) breakDatabase() string {
	data, err := os.ReadFile(w.path("cache/catalog.db"))
	if err != nil || len(data) < 1<<16 {
		return ""
	}
	how := ""
	switch w.IntN(5) {
	case 0:
		data, how = []byte{}, "emptied"
	case 1:
		data = data[:w.IntN(len(data))]
		how = fmt.Sprintf("cut to %d bytes", len(data))
	case 2:
		clear(data[:100])
		how = "its head is zeros"
	case 3:
		for i := 32768; i < len(data); i++ {
			data[i] = 0xA5
		}
		how = "all pages but the first overwritten"
	case 4:
		data = data[:32768]
		how = "cut to its first page"
	}
	w.replace("cache/catalog.db", data)
	return how
}

// replace puts a file in the place of another one.
func (w *world) replace(name string, data []byte) {
	w.s.counts["damages"]++
	w.write("aside", string(data))
	w.rename("aside", name)
}

// obstruct puts something that is no file into the place of a file, asks, and takes
// it away again. The command may fail, but must end.
func (w *world) obstruct() string {
	list := append(w.beside(".base", ".current", ".stamps", ".seal", ".lock"), "cache/catalog.db")
	name := w.path(w.pick(list))
	how := []string{"folder", "FIFO", "link", "text"}[w.IntN(4)]
	w.must(os.RemoveAll(name))
	switch how {
	case "folder":
		w.must(os.MkdirAll(filepath.Join(name, "full"), 0o755))
	case "FIFO":
		w.must(syscall.Mkfifo(name, 0o600))
	case "link":
		w.must(os.Symlink(w.path("nowhere", "at", "all"), name))
	case "text":
		w.must(os.WriteFile(name, []byte("my notes\n"), 0o600))
	}
	w.s.counts["damages"]++
	r := w.run(w.db(), w.args(asked[w.IntN(len(asked))])...)
	w.must(os.RemoveAll(name))
	return fmt.Sprintf("%s in place of %s: exit %d %s", how, shortName(name), r.code, firstLine(r.err))
}

// shortName leaves the random part out of the name of a file.
func shortName(name string) string {
	name = filepath.Base(name)
	if ext := filepath.Ext(name); ext == ".base" || ext == ".delta" {
		return ext
	}
	return name
}
