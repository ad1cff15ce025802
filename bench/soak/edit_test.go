//go:build soak && unix

package soak

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// edits are the kinds of steps that change skills and the configuration. The first
// is part of every round.
var edits = []kind{
	{"add", 8, func(w *world) string { return w.add(w.anySource() + fmt.Sprintf("/new%d", w.number)) }},
	{"add deep", 0, func(w *world) string {
		return w.add(w.anySource() + fmt.Sprintf("/box%d/inner/new%d", w.IntN(3), w.number))
	}},
	{"add many", 1, (*world).addMany},
	{"add copy", 0, func(w *world) string {
		from := w.anySkill()
		if from == "" || w.text(from) == "" {
			return ""
		}
		to := w.anySource() + fmt.Sprintf("/copy%d", w.number)
		w.write(to+"/SKILL.md", setField(w.text(from), "name", fmt.Sprintf("copy-%d", w.number)))
		return from + " → " + to
	}},
	{"add same name", 0, func(w *world) string {
		from := w.anySkill()
		if w.declared(from) == "" {
			return ""
		}
		to := w.anySource() + fmt.Sprintf("/same%d", w.number)
		w.writeSkill(to, w.newSkill(w.declared(from)))
		return fmt.Sprintf("%s of %s → %s", w.declared(from), from, to)
	}},
	{"edit body", 0, func(w *world) string {
		return w.change(func(text string) string { return text + sentence(w.Rand) + ".\n" })
	}},
	{"edit same size", 0, func(w *world) string {
		return w.change(func(text string) string { return swapWord(text, w.Uint64()) })
	}},
	{"edit description", 0, func(w *world) string {
		return w.change(func(text string) string { return setField(text, "description", sentence(w.Rand)) })
	}},
	{"edit name", 0, func(w *world) string {
		return w.change(func(text string) string { return setField(text, "name", fmt.Sprintf("named-%d", w.number)) })
	}},
	{"edit case of name", 0, func(w *world) string {
		return w.change(func(text string) string {
			_, rest, _ := strings.Cut(text, "\nname: ")
			name, _, _ := strings.Cut(rest, "\n")
			if upper := strings.ToUpper(name); upper != name {
				return setField(text, "name", upper)
			}
			return setField(text, "name", strings.ToLower(name))
		})
	}},
	{"edit tags", 0, func(w *world) string {
		return w.change(func(text string) string { return strings.Replace(text, "tags: [", "tags: [new, ", 1) })
	}},
	{"break frontmatter", 0, func(w *world) string {
		return w.change(func(text string) string { return strings.Replace(text, "---\n", "", 1) })
	}},
	{"break UTF-8", 0, func(w *world) string {
		return w.change(func(text string) string { return text + "\xff\xfe\n" })
	}},
	{"make too large", 1, func(w *world) string {
		return w.change(func(text string) string { return text + strings.Repeat("too large ", 1<<17) })
	}},
	{"make empty", 0, func(w *world) string { return w.change(func(string) string { return "" }) }},
	{"write again", 0, func(w *world) string {
		folder := w.anySkill()
		if folder == "" {
			return ""
		}
		return w.add(folder)
	}},
	{"delete", 8, func(w *world) string { return w.remove(w.anySkill()) }},
	{"delete SKILL.md", 0, func(w *world) string {
		if folder := w.anySkill(); folder != "" && !w.unreadable[folder] {
			return w.remove(filepath.Join(folder, w.file(folder)))
		}
		return ""
	}},
	{"delete a collection", 1, func(w *world) string {
		at := w.anySource() + fmt.Sprintf("/box%d", w.IntN(3))
		if !w.exists(at) {
			return ""
		}
		return w.remove(at)
	}},
	{"move", 0, func(w *world) string {
		from := w.anySkill()
		return w.move(from, filepath.Join(filepath.Dir(from), fmt.Sprintf("moved%d", w.number)))
	}},
	{"move to other source", 0, func(w *world) string {
		return w.move(w.anySkill(), w.anySource()+fmt.Sprintf("/moved%d", w.number))
	}},
	{"rename case of folder", 0, func(w *world) string {
		from := w.anySkill()
		base := strings.ToUpper(filepath.Base(from))
		if base == filepath.Base(from) {
			base = strings.ToLower(base)
		}
		return w.move(from, filepath.Join(filepath.Dir(from), base))
	}},
	{"rename case of file", 0, func(w *world) string {
		folder := w.anySkill()
		from, to := w.file(folder), []string{"SKILL.md", "skill.md", "Skill.md"}[w.IntN(3)]
		if folder == "" || from == to || w.unreadable[folder] {
			return ""
		}
		w.rename(filepath.Join(folder, from), filepath.Join(folder, to))
		return folder + ": " + from + " → " + to
	}},
	{"swap folders", 0, func(w *world) string { return w.swap("") }},
	{"swap files", 0, func(w *world) string { return w.swap("SKILL.md") }},
	{"replace by rename", 0, func(w *world) string {
		folder := w.anySkill()
		if folder == "" || w.unreadable[folder] {
			return ""
		}
		w.write(folder+"/.new", w.newSkill(fmt.Sprintf("replaced-%d", w.number)).text())
		w.rename(folder+"/.new", filepath.Join(folder, w.file(folder)))
		return folder
	}},
	{"resource", 0, func(w *world) string {
		folder := w.anySkill()
		if folder == "" {
			return ""
		}
		name := folder + fmt.Sprintf("/scripts/run%d.sh", w.IntN(3))
		if w.exists(name) && w.IntN(2) == 0 {
			return w.remove(name)
		}
		w.write(name, "echo "+sentence(w.Rand)+"\n")
		return name
	}},
	{"touch", 0, func(w *world) string {
		folder := w.anySkill()
		if folder == "" || w.unreadable[folder] {
			return ""
		}
		at := w.now()
		os.Chtimes(w.path(folder, w.file(folder)), at, at)
		return folder
	}},
	{"old time", 0, func(w *world) string {
		return w.dated(time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC))
	}},
	{"future time", 0, func(w *world) string { return w.dated(w.now().AddDate(10, 0, 0)) }},
	{"link to a skill", 0, func(w *world) string {
		target := fmt.Sprintf("%s/linked%d", vol, w.IntN(2))
		if !w.exists(target) {
			w.add(target)
		}
		return w.link(target)
	}},
	{"link to nothing", 0, func(w *world) string { return w.link(fmt.Sprintf("%s/linked%d", vol, w.IntN(2))) }},
	{"link to a link", 0, func(w *world) string {
		to := fmt.Sprintf("%s/chain%d", vol, w.number)
		w.must(os.Symlink(fmt.Sprintf("linked%d", w.IntN(2)), w.path(to)))
		return w.link(to)
	}},
	{"link to itself", 1, func(w *world) string {
		at := w.anySource() + fmt.Sprintf("/loop%d", w.number)
		w.must(os.Symlink(filepath.Base(at), w.path(at)))
		return at
	}},
	{"link to SKILL.md", 0, func(w *world) string {
		target := fmt.Sprintf("%s/text%d.md", vol, w.number%3)
		w.write(target, w.newSkill(fmt.Sprintf("text-%d", w.number)).text())
		at := w.anySource() + fmt.Sprintf("/through%d", w.number)
		w.must(os.MkdirAll(w.path(at), 0o755))
		w.must(os.Symlink(w.path(target), w.path(at, "SKILL.md")))
		return at + " → " + target
	}},
	{"target comes or goes", 6, func(w *world) string {
		name := fmt.Sprintf("%s/linked%d", vol, w.IntN(2))
		switch {
		case w.exists(name):
			w.must(os.RemoveAll(w.path(name + ".off")))
			w.rename(name, name+".off")
			return name + " goes"
		case w.exists(name + ".off"):
			w.rename(name+".off", name)
			return name + " is back"
		}
		return w.add(name)
	}},
	{"target is a file", 1, func(w *world) string {
		name := fmt.Sprintf("%s/linked%d", vol, w.IntN(2))
		w.must(os.RemoveAll(w.path(name)))
		w.write(name, "not a folder\n")
		return name
	}},
	{"unreadable", 2, (*world).makeUnreadable},
	{"readable again", 6, func(w *world) string {
		folder := w.pick(sorted(w.unreadable))
		if folder == "" {
			return ""
		}
		return w.add(folder)
	}},
	{"usual folder", 2, func(w *world) string {
		name := w.pick(usual)
		if w.exists(name) {
			w.rename(name, name+".off")
			return name + " goes"
		}
		w.rename(name+".off", name)
		w.stopLibrary() // without a schedule it keeps the folders that were there when it was opened
		return name + " is back"
	}},
	{"config: names", 0, func(w *world) string {
		from := w.declared(w.pick(w.skillFolders(roots...)))
		if from == "" {
			return ""
		}
		if w.conf.names[from] != "" && w.IntN(2) == 0 {
			delete(w.conf.names, from)
		} else {
			w.conf.names[from] = fmt.Sprintf("config-%d", w.number)
		}
		w.writeConf()
		return from + " → " + w.conf.names[from]
	}},
	{"config: label", 2, func(w *world) string {
		w.conf.labels = maps.Clone(w.conf.labels)
		root := w.pick(roots)
		if w.conf.open == w.conf.labels[root] {
			w.conf.open = fmt.Sprintf("label%d", w.number)
		}
		w.conf.labels[root] = fmt.Sprintf("label%d", w.number)
		w.writeConf()
		return fmt.Sprint(w.conf.labels)
	}},
	{"config: order", 2, func(w *world) string {
		w.conf.roots = slices.Clone(w.conf.roots)
		slices.Reverse(w.conf.roots)
		w.writeConf()
		return fmt.Sprint(w.conf.roots)
	}},
	{"config: roots", 1, func(w *world) string {
		if len(w.conf.roots) == len(roots) {
			w.conf.roots = []string{"team"}
		} else {
			w.conf.roots = roots
		}
		w.writeConf()
		return fmt.Sprint(w.conf.roots)
	}},
	{"config: agents", 2, func(w *world) string {
		w.conf.exclude = string(noun(w.Rand)[0]) + "*"
		w.conf.pinned = w.declared(w.pick(w.skillFolders("team")))
		if strings.EqualFold(w.conf.pinned[:min(1, len(w.conf.pinned))], w.conf.exclude[:1]) {
			w.conf.pinned = "" // every command would refuse such a configuration
		}
		w.conf.picked = w.declared(w.other(w.skillFolders(sources...)))
		w.conf.open = w.other(slices.Sorted(maps.Values(w.conf.labels)))
		w.writeConf()
		return fmt.Sprintf("exclude %s, pin %s, pick %s, open %s", w.conf.exclude, w.conf.pinned, w.conf.picked, w.conf.open)
	}},
	{"config: others", 1, func(w *world) string {
		w.conf.bundled, w.conf.threshold = !w.conf.bundled, fmt.Sprintf("0.%d", 3+w.IntN(5))
		w.writeConf()
		return fmt.Sprintf("bundled %v, threshold %s", w.conf.bundled, w.conf.threshold)
	}},
}

// add writes a new skill into a folder.
func (w *world) add(folder string) string {
	w.writeSkill(folder, w.newSkill(fmt.Sprintf("%s-%s-%d", verb(w.Rand), noun(w.Rand), w.number)))
	return folder + ": " + w.declared(folder)
}

// addMany adds so many skills that a delta is merged into a new base.
func (w *world) addMany() string {
	at, n := w.anySource(), 40+w.IntN(150)
	for i := range n {
		w.writeSkill(fmt.Sprintf("%s/many%d/m%d", at, w.number, i), w.newSkill(fmt.Sprintf("many-%d-%d", w.number, i)))
	}
	return fmt.Sprintf("%s: %d skills", at, n)
}

func (w *world) remove(name string) string {
	if name == "" {
		return ""
	}
	w.must(os.RemoveAll(w.path(name)))
	for folder := range w.unreadable {
		if !w.exists(folder) {
			w.forgetUnreadable(folder)
		}
	}
	return name
}

func (w *world) move(from, to string) string {
	if from == "" || w.exists(to) || w.unreadable[from] {
		return ""
	}
	w.rename(from, to)
	return from + " → " + to
}

// swap exchanges two skills' folders, or files in them.
func (w *world) swap(file string) string {
	list := slices.DeleteFunc(w.skillFolders(sources...), func(folder string) bool {
		return w.unreadable[folder] || file != "" && w.file(folder) != file
	})
	a, b := w.pick(list), w.other(list)
	if a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") {
		return ""
	}
	x, y := filepath.Join(a, file), filepath.Join(b, file)
	w.rename(x, "aside")
	w.rename(y, x)
	w.rename("aside", y)
	return x + " ↔ " + y
}

// dated writes a text of the same size, with a given time.
func (w *world) dated(at time.Time) string {
	folder := w.change(func(text string) string { return swapWord(text, w.Uint64()) })
	if folder == "" || w.unreadable[folder] {
		return ""
	}
	os.Chtimes(w.path(folder, w.file(folder)), at, at)
	return folder
}

// link makes a link in a source.
func (w *world) link(target string) string {
	at := w.anySource() + fmt.Sprintf("/link%d", w.number)
	w.must(os.Symlink(w.path(target), w.path(at)))
	return at + " → " + target
}

// makeUnreadable puts something into the place of a SKILL.md that cannot be read:
// rights do not stop the administrator, who may run this test.
func (w *world) makeUnreadable() string {
	folder := w.anySkill()
	young := w.IntN(2) == 0
	if young {
		folder = w.anySource() + fmt.Sprintf("/bad%d", w.number)
		w.must(os.MkdirAll(w.path(folder), 0o755))
	}
	if folder == "" || !strings.HasSuffix(filepath.Join(folder, w.file(folder)), "SKILL.md") || w.unreadable[folder] {
		return ""
	}
	name := w.path(folder, "SKILL.md")
	w.must(os.RemoveAll(name))
	w.unreadable[folder] = true
	if !young {
		w.remembered[folder] = true
	}
	switch w.IntN(4) {
	case 0:
		w.must(os.Mkdir(name, 0o755))
		return folder + ": a folder"
	case 1:
		w.must(syscall.Mkfifo(name, 0o644))
		return folder + ": a FIFO"
	}
	w.must(os.Symlink("SKILL.md", name))
	return folder + ": a link to itself"
}

// swapWord returns a text of the same size with another word in its last line.
func swapWord(text string, r uint64) string {
	at := strings.LastIndex(strings.TrimSpace(text), " ") + 1
	if at <= 0 || at >= len(text) || strings.Contains(text[at:], "\xff") {
		return text
	}
	b := []byte(text)
	for i := at; i < len(b) && b[i] >= 'a' && b[i] <= 'z'; i++ {
		b[i] = 'a' + byte(r%26)
		r = r/26 + 7
	}
	return string(b)
}

// sorted returns the keys of a map in their order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
