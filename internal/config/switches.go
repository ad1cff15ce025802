package config

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A switchFile is a file in which a person switches skills of a client off.
type switchFile struct {
	client client.Client
	name   string
	set    *trust.Watched[[]client.SkillSwitch]
}

// switchFiles returns the files in which skills are switched off in clients, for work in a folder.
// only is the name of the only client; "" means all. warn is called for a file that cannot be read.
func switchFiles(dir, only string, warn func(doing string, err error)) (files []switchFile) {
	m := client.Machine{OS: runtime.GOOS, Getenv: os.Getenv}
	m.Home, _ = os.UserHomeDir() // without one, there are the files of the project
	var projects []string
	if at, err := workDir(dir); err == nil {
		projects = source.ProjectFolders(at, m.Home)
	}
	for _, c := range client.All() {
		if only != "" && c.Name != only {
			continue
		}
		for _, name := range m.SwitchFiles(c, projects) {
			files = append(files, switchFile{c, name, trust.Watch(name, func() []client.SkillSwitch {
				list, err := m.ReadSwitches(c, name)
				warn("reading which skills "+c.Title+" has switched off in "+name, err)
				return list
			})})
		}
	}
	return files
}

// lookAgain is how long the settings of clients count as they were: a server is asked many times a
// second, and there are dozens of files.
const lookAgain = time.Second

// switches follows what is set for skills in the settings of clients, see switchFiles. version tells
// a change after lookAgain.
func switches(files []switchFile) (now func() []search.Switch, version func() string) {
	now = func() (list []search.Switch) {
		for f, s := range inOrder(files) {
			sw := f.switchOf(s)
			if s.Path != "" {
				sw.At = liesAt(s.Path)
			}
			list = append(list, sw)
		}
		return list
	}
	var mu sync.Mutex
	var looked time.Time
	var text string
	return now, func() string {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(looked) < lookAgain {
			return text
		}
		var b strings.Builder
		for _, f := range files {
			fmt.Fprintf(&b, "%s ", f.set.Version())
		}
		looked, text = time.Now(), b.String()
		return text
	}
}

// inOrder yields what files set, in the order in which it holds.
func inOrder(files []switchFile) iter.Seq2[*switchFile, client.SkillSwitch] {
	return func(yield func(*switchFile, client.SkillSwitch) bool) {
		for _, final := range []bool{false, true} {
			for i := range files {
				for _, s := range files[i].set.Value() {
					if s.Final == final && !yield(&files[i], s) {
						return
					}
				}
			}
		}
	}
}

// mostDigests is how many folders SwitchesOf reads.
const mostDigests = 50

// SwitchesOf returns what is set for skills in the settings of a client for work in a folder, in a
// form that holds on other machines too: the skill in a folder that settings name is known by its
// digest. It calls warn, which may be nil, for a file that cannot be read.
func SwitchesOf(ctx context.Context, dir, client string, warn func(error)) (list []search.Switch) {
	read := 0
	for f, s := range inOrder(switchFiles(dir, client, reportTo(warn))) {
		sw := f.switchOf(s)
		if s.Path != "" {
			folder := skillFolder(s.Path)
			if _, err := os.Stat(folder); err != nil {
				continue // nothing is there
			}
			if read++; read <= mostDigests {
				sw.Digest = DigestAt(ctx, folder)
			}
			switch {
			case sw.Digest != "":
			case sw.Use == search.Offered: // rather too many are off
				continue
			default:
				sw.Names = filepath.Base(folder) // names of skills have no special characters
			}
		}
		list = append(list, sw)
	}
	return list
}

// DigestAt returns the digest of the skill in a folder; "" means that it cannot be read.
func DigestAt(ctx context.Context, folder string) string {
	if _, err := os.Stat(filepath.Join(folder, skill.FileNames[0])); err != nil {
		return ""
	}
	src, err := source.Dir(folder, &source.Options{Single: true, Own: true})
	if err != nil {
		return ""
	}
	m, err := source.ReadManifest(ctx, src, ".")
	if err != nil {
		return ""
	}
	return m.Digest
}

// switchOf returns a switch of the file as a search takes it, without where its skill lies.
func (f *switchFile) switchOf(s client.SkillSwitch) search.Switch {
	uses := map[client.Use]search.State{client.On: search.Offered, client.UserOnly: search.Reserved, client.Off: search.Disabled}
	return search.Switch{Client: f.client.Name, Title: f.client.Title, File: f.name, Names: s.Names, Full: f.client.SkillSwitches.Full, Use: uses[s.Use]}
}

// liesAt returns a function that reports whether the SKILL.md of a skill is at a path, or in the
// folder there, also through links.
func liesAt(path string) func(location string) bool {
	path = skillFolder(path)
	real := regular.Real(path)
	return func(location string) bool {
		dir := filepath.Dir(location)
		if dir == path || dir == real {
			return true
		}
		info, err := os.Lstat(dir)
		return err == nil && info.Mode()&os.ModeSymlink != 0 && regular.Real(dir) == real
	}
}

// skillFolder returns the folder of a skill that settings name by it or by its SKILL.md.
func skillFolder(path string) string {
	if slices.Contains(skill.FileNames, filepath.Base(path)) {
		return filepath.Dir(path)
	}
	return path
}
