package client

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Folder is a folder of skills of the user.
type Folder struct {
	Label string // short; the same on each machine unless a variable of the environment moves the folder
	Path  string

	File    string // the settings that name it; "" means none
	Project bool   // the settings are a project's, so somebody else may have written them
}

// SkillFolders returns the folders in a project or a home whose folder "skills" some client
// reads, for discovery. The first is the one that clients share. Those of the clients that
// setup serves follow, then all others, both sorted, so that their order does not depend on
// the order of the clients.
func SkillFolders() []string {
	folders := []string{shared}
	for _, clients := range [][]Client{All(), Others()} {
		var some []string
		for _, c := range clients {
			some = append(some, c.Folders...)
		}
		slices.Sort(some)
		for _, f := range some {
			if !slices.Contains(folders, f) {
				folders = append(folders, f)
			}
		}
	}
	return folders
}

// skillsIn returns the folder of skills in one of SkillFolders, with slashes: the folder "skills", or the
// folder itself if it is called "skill".
func skillsIn(folder string) string {
	if path.Base(folder) == "skill" {
		return folder
	}
	return folder + "/skills"
}

// MovedFolders returns the folders, of SkillFolders, that a client no longer reads in the home,
// because a variable of the environment, such as CLAUDE_CONFIG_DIR, has moved them.
func (m *Machine) MovedFolders() (moved []string) {
	usual := *m
	usual.Getenv = func(string) string { return "" }
	for _, c := range slices.Concat(All(), Others()) {
		for _, at := range c.Skills {
			if was := at(&usual); was != at(m) {
				if folder := m.label(was, ""); slices.Contains(c.Folders, folder) {
					moved = append(moved, folder)
				}
			}
		}
	}
	return moved
}

// UserFolders returns the folders of skills of the user that are not SkillFolders of the
// home, for discovery.
func (m *Machine) UserFolders() []Folder {
	configs := config("")(m)
	seen := make(map[string]bool)
	for _, f := range SkillFolders() {
		seen[f] = true
	}
	var folders []Folder
	for _, c := range slices.Concat(All(), Others()) {
		for _, at := range c.Skills {
			dir := at(m)
			if label := m.label(dir, configs); dir != "" && !seen[label] {
				seen[label] = true
				folders = append(folders, Folder{Label: label, Path: dir})
			}
		}
	}
	return folders
}

// label returns the path of a folder of skills without "skills", relative to the home. The
// folder of configurations is .config, wherever it is.
func (m *Machine) label(dir, configs string) string {
	const separator = string(filepath.Separator)
	dir = strings.TrimSuffix(dir, separator+"skills")
	if rel, ok := strings.CutPrefix(dir, configs+separator); ok && configs != "" {
		return ".config/" + filepath.ToSlash(rel)
	}
	if rel, ok := strings.CutPrefix(dir, m.Home+separator); ok && m.Home != "" {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(dir)
}
