package client

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A Naming says where settings of a client name folders with skills.
type Naming struct {
	Files Places // all of them count; a project has such files in each of its folders
	// Keys are the keys of a folder or of a list of folders, with dots; "*" stands for each element of
	// a list. Each has the folders of skills in such a folder; "." is the folder itself.
	Keys map[string][]string
}

// NamedFolders returns the folders of skills that settings of clients name, for work in a project.
// projects are the folders of the project, the nearest first, with links resolved. A relative path
// starts at the folder of the project that has the settings; in settings of the user, at the root of
// the project. Each of the errors is a *PluginError.
func (m *Machine) NamedFolders(projects []string) (folders []Folder, errs []error) {
	root := ""
	if len(projects) > 0 {
		root = projects[len(projects)-1]
	}
	for _, c := range All() {
		add := func(file, base string, project bool) {
			found, err := c.Named.in(m, file, base)
			errs = appendErrors(errs, err)
			for _, dir := range found {
				folders = append(folders, Folder{m.label(dir, config("")(m)), dir, file, project})
			}
		}
		for _, file := range c.Named.Files.User {
			add(file(m), root, false)
		}
		for _, folder := range projects {
			there := *m
			there.Project = folder
			for _, file := range c.Named.Files.Project {
				add(file(&there), folder, true)
			}
		}
	}
	return folders, errs
}

// in returns the folders of skills that a file of settings names. base is where relative paths start;
// "" means that there are none.
func (n *Naming) in(m *Machine, file, base string) (dirs []string, err error) {
	data, err := regular.ReadShort(file, maxSettings)
	if file == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	var settings any
	// Few settings name folders, and a hook has no time to parse all others.
	keys := slices.Sorted(maps.Keys(n.Keys))
	isIn := func(key string) bool {
		return bytes.Contains(data, []byte(key[strings.LastIndexByte(key, '.')+1:]))
	}
	if err == nil && slices.ContainsFunc(keys, isIn) {
		err = ParseJSON(data, &settings)
	}
	if err != nil {
		return nil, &PluginError{file, fmt.Errorf("reading %s: %w; which folders of skills it names is ignored", file, err)}
	}
	for _, key := range keys {
		for _, name := range textsAt(settings, strings.Split(key, ".")) {
			if dir := m.folderAt(name, base); dir != "" {
				for _, below := range n.Keys[key] {
					dirs = append(dirs, under(dir, below))
				}
			}
		}
	}
	return dirs, nil
}

// textsAt returns the texts under a key, see Naming.
func textsAt(v any, key []string) (texts []string) {
	switch v := v.(type) {
	case string:
		if len(key) == 0 {
			texts = []string{v}
		}
	case []any:
		if len(key) > 0 && key[0] == "*" {
			key = key[1:]
		} else if len(key) > 0 {
			return nil
		}
		for _, element := range v {
			texts = append(texts, textsAt(element, key)...)
		}
	case map[string]any:
		if len(key) > 0 {
			texts = textsAt(v[key[0]], key[1:])
		}
	}
	return texts
}

// folderAt returns the folder that a path in settings means; "" means none.
func (m *Machine) folderAt(name, base string) string {
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return under(m.Home, rest)
	}
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return ""
	case filepath.IsAbs(name):
		return filepath.Clean(name)
	}
	return under(base, name)
}
