package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tailscale/hujson"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A Plugin is a plugin that its client has switched on and that has skills.
type Plugin struct {
	Name   string   // what the client shows before the names of its skills
	Dir    string   // absolute
	Skills []string // slash-separated paths in Dir of skills or of folders of skills; "." is Dir
}

// Plugins returns the plugins of all clients for work in a project. projects are the folders of
// the project, the nearest first, with links resolved. The error joins what is wrong with single
// plugins and files; the other plugins are there all the same.
func (m *Machine) Plugins(projects []string) ([]Plugin, error) {
	var all []Plugin
	var errs []error
	seen := make(map[string]bool)
	for _, clients := range [][]Client{All(), Others()} {
		for _, c := range clients {
			if c.Plugins == nil {
				continue
			}
			found, err := c.Plugins(m, projects)
			errs = append(errs, err)
			for _, p := range found {
				if !seen[p.Dir] {
					seen[p.Dir] = true
					all = append(all, p)
				}
			}
		}
	}
	return all, errors.Join(errs...)
}

// An installation is one version of a plugin, in the record that Claude Code keeps.
type installation struct {
	Scope       string `json:"scope"`
	ProjectPath string `json:"projectPath"` // "" unless the scope is project or local
	InstallPath string `json:"installPath"`
}

// recordedPlugins finds the plugins in the record of Claude Code below dir that settings switch
// on. In a project its own settings count more than the user's, and managed ones most.
func recordedPlugins(dir, managed Path) func(*Machine, []string) ([]Plugin, error) {
	return func(m *Machine, projects []string) ([]Plugin, error) {
		base := dir.below("plugins")(m)
		var record struct {
			Plugins map[string]json.RawMessage `json:"plugins"`
		}
		if err := readJSON(filepath.Join(base, "installed_plugins.json"), &record); err != nil || len(record.Plugins) == 0 {
			return nil, err
		}
		files := []string{dir.below("settings.json")(m)}
		for _, project := range slices.Backward(projects) {
			files = append(files, under(project, ".claude/settings.json"), under(project, ".claude/settings.local.json"))
		}
		enabled, err := enabledPlugins(append(files, managed(m)))
		errs := []error{err}
		var plugins []Plugin
		for _, id := range slices.Sorted(maps.Keys(record.Plugins)) {
			at := installedAt(record.Plugins[id], projects)
			if !enabled[id] || at == "" {
				continue
			}
			if !filepath.IsAbs(at) {
				at = filepath.Join(base, at)
			}
			name, _, _ := strings.Cut(id, "@")
			p, err := pluginAt(at, name, ".claude-plugin/plugin.json")
			plugins, errs = append(plugins, p...), append(errs, err)
		}
		return plugins, errors.Join(errs...)
	}
}

// enabledPlugins returns which plugins are switched on by files of settings, of which a later
// one wins.
func enabledPlugins(files []string) (map[string]bool, error) {
	enabled := make(map[string]bool)
	var errs []error
	for _, name := range files {
		var settings struct {
			Enabled map[string]any `json:"enabledPlugins"`
		}
		errs = append(errs, readJSON(name, &settings))
		for id, value := range settings.Enabled {
			enabled[id] = value != false && value != nil // a list names versions
		}
	}
	return enabled, errors.Join(errs...)
}

// installedAt returns the folder of a plugin: the version of the nearest project folder, or else
// the user's; "" if it is installed for other projects only.
func installedAt(raw json.RawMessage, projects []string) string {
	var list []installation
	if json.Unmarshal(raw, &list) != nil {
		list = make([]installation, 1) // the first form of the record had one version
		if json.Unmarshal(raw, &list[0]) != nil {
			return ""
		}
	}
	nearest, dir := len(projects), ""
	for _, in := range list {
		if in.ProjectPath == "" {
			if nearest == len(projects) && in.Scope != "project" && in.Scope != "local" {
				dir = in.InstallPath
			}
			continue
		}
		real, err := filepath.EvalSymlinks(in.ProjectPath)
		if i := slices.Index(projects, real); err == nil && i >= 0 && i < nearest {
			nearest, dir = i, in.InstallPath
		}
	}
	return dir
}

// listedPlugins finds the plugins that Copilot keeps a list of.
func listedPlugins(dir Path) func(*Machine, []string) ([]Plugin, error) {
	return func(m *Machine, _ []string) ([]Plugin, error) {
		var list struct {
			Plugins []struct {
				Name    string `json:"name"`
				Enabled *bool  `json:"enabled"`
				Path    string `json:"cache_path"`
			} `json:"installed_plugins"`
		}
		errs := []error{readJSON(dir.below("config.json")(m), &list)}
		var plugins []Plugin
		for _, in := range list.Plugins {
			if !filepath.IsAbs(in.Path) || in.Enabled != nil && !*in.Enabled {
				continue
			}
			p, err := pluginAt(in.Path, in.Name, "plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json")
			plugins, errs = append(plugins, p...), append(errs, err)
		}
		return plugins, errors.Join(errs...)
	}
}

// pluginsIn finds the plugins that a folder holds, each in a folder of its own.
func pluginsIn(dir Path) func(*Machine, []string) ([]Plugin, error) {
	return func(m *Machine, _ []string) ([]Plugin, error) {
		entries, err := os.ReadDir(dir(m))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		errs := []error{err}
		var plugins []Plugin
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
				continue
			}
			p, err := pluginAt(filepath.Join(dir(m), e.Name()), e.Name(), "plugin.json", ".claude-plugin/plugin.json", ".codex-plugin/plugin.json")
			plugins, errs = append(plugins, p...), append(errs, err)
		}
		return plugins, errors.Join(errs...)
	}
}

// A manifest describes a plugin.
type manifest struct {
	Name   string          `json:"name"`
	Skills json.RawMessage `json:"skills"` // a path or several
}

// paths returns the paths of skills that the manifest names.
func (f *manifest) paths() (list []string) {
	var one string
	if json.Unmarshal(f.Skills, &one) == nil && one != "" {
		return []string{one}
	}
	_ = json.Unmarshal(f.Skills, &list) // anything else names none
	return list
}

// pluginAt returns the plugin in a folder, or none if it has no skills. The first of some
// manifests that exists describes it. The skills that it names come beside those in "skills".
// A plugin without a manifest may be described by the marketplace that it was copied with, which
// names all of its skills.
func pluginAt(dir, name string, manifests ...string) ([]Plugin, error) {
	about, err := describe(dir, manifests)
	if err != nil {
		return nil, err
	}
	all := []string{"skills"}
	if about == nil {
		about = new(manifest)
		if listed := listing(dir, name); listed != nil && len(listed.paths()) > 0 {
			about.Skills, all = listed.Skills, nil
		}
	}
	if about.Name != "" {
		name = about.Name
	}
	var errs []error
	for _, p := range about.paths() {
		if p, err = inPlugin(p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
			continue
		}
		all = append(all, p)
	}
	if all = outermost(dir, all); len(all) == 0 && isThere(dir, "SKILL.md") {
		all = []string{"."} // the plugin is a skill
	}
	if len(all) == 0 {
		return nil, errors.Join(errs...)
	}
	return []Plugin{{name, dir, all}}, errors.Join(errs...)
}

// inPlugin cleans a path that a manifest names.
func inPlugin(name string) (string, error) {
	clean := path.Clean(name)
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("the path of skills %q leads out of the plugin", name)
	}
	return clean, nil
}

// describe reads the first of some manifests that exists; nil means none.
func describe(dir string, manifests []string) (*manifest, error) {
	for _, name := range manifests {
		if isThere(dir, name) {
			about := new(manifest)
			return about, readJSON(under(dir, name), about)
		}
	}
	return nil, nil
}

// listing returns what the marketplace in a folder says about a plugin; nil means nothing.
func listing(dir, name string) *manifest {
	var market struct {
		Plugins []manifest `json:"plugins"`
	}
	if readJSON(under(dir, ".claude-plugin/marketplace.json"), &market) != nil {
		return nil // the file is about the whole marketplace, of which the client has another copy
	}
	for _, p := range market.Plugins {
		if p.Name == name {
			return &p
		}
	}
	return nil
}

// outermost returns the paths that exist below dir, without those in another one.
func outermost(dir string, paths []string) []string {
	slices.Sort(paths)
	var kept []string
	for _, p := range slices.Compact(paths) {
		inside := func(outer string) bool { return outer == "." || strings.HasPrefix(p, outer+"/") }
		if isThere(dir, p) && !slices.ContainsFunc(kept, inside) {
			kept = append(kept, p)
		}
	}
	return kept
}

func isThere(dir, name string) bool {
	_, err := os.Stat(under(dir, name))
	return err == nil
}

// maxSettings is how much of a file of settings is read: a project may come from anybody.
const maxSettings = 4 << 20

// readJSON reads a file of settings, which may have comments. It leaves v alone if there is no
// such file.
func readJSON(name string, v any) error {
	f, err := regular.Open(name)
	if name == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err == nil && len(data) > 0 {
		err = parseJSON(data, v)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

func parseJSON(data []byte, v any) error {
	if json.Unmarshal(data, v) == nil {
		return nil
	}
	plain, err := hujson.Standardize(data) // a copy: only few files have comments
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}
