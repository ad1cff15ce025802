package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

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

// switches follows what is set for skills in the settings of clients, for work in a folder. only is
// the name of the only client to ask; "" means all. warn is called for a file that cannot be read.
func switches(dir, only string, warn func(doing string, err error)) (now func() []search.Switch, version func() string) {
	m := client.Machine{OS: runtime.GOOS, Getenv: os.Getenv}
	m.Home, _ = os.UserHomeDir() // without one, there are the files of the project
	var projects []string
	if at, err := workDir(dir); err == nil {
		projects = source.ProjectFolders(at, m.Home)
	}
	var files []switchFile
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
	now = func() (list []search.Switch) {
		for _, final := range []bool{false, true} {
			for _, f := range files {
				for _, s := range f.set.Value() {
					if s.Final == final {
						list = append(list, f.switchOf(s))
					}
				}
			}
		}
		return list
	}
	return now, func() string {
		var b strings.Builder
		for _, f := range files {
			fmt.Fprintf(&b, "%s ", f.set.Version())
		}
		return b.String()
	}
}

// switchOf returns a switch of the file as a search takes it.
func (f *switchFile) switchOf(s client.SkillSwitch) search.Switch {
	uses := map[client.Use]search.State{client.On: search.Offered, client.UserOnly: search.Reserved, client.Off: search.Disabled}
	out := search.Switch{Client: f.client.Name, Title: f.client.Title, File: f.name, Names: s.Names, Full: f.client.SkillSwitches.Full, Use: uses[s.Use]}
	if s.Path != "" {
		out.At = liesAt(s.Path)
	}
	return out
}

// liesAt returns a function that reports whether the SKILL.md of a skill is at a path, or in the
// folder there, also through links.
func liesAt(path string) func(location string) bool {
	if slices.Contains(skill.FileNames, filepath.Base(path)) {
		path = filepath.Dir(path)
	}
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
