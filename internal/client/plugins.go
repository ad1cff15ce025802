package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Plugin is a plugin that its client has switched on and that has skills.
type Plugin struct {
	Name   string   // what the client shows before the names of its skills
	From   string   // a marketplace or a client, which tells plugins of one name apart
	Dir    string   // absolute
	Skills []string // slash-separated paths in Dir of skills or of folders of skills; "." is Dir
}

// A PluginError says why a plugin, or what a file says about plugins, is left out.
type PluginError struct {
	Path string // of the plugin or the file
	Err  error
}

func (e *PluginError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *PluginError) Unwrap() error { return e.Err }

// Plugins returns the plugins of all clients for work in a project. projects are the folders of
// the project, the nearest first, with links resolved. Each of the errors is a *PluginError; the
// other plugins are there all the same.
func (m *Machine) Plugins(projects []string) (all []Plugin, errs []error) {
	seen := make(map[string]bool)
	for _, c := range slices.Concat(All(), Others()) {
		if c.Plugins == nil {
			continue
		}
		found, err := c.Plugins(m, projects)
		errs = appendErrors(errs, err)
		for _, p := range found {
			if !seen[p.Dir] {
				seen[p.Dir] = true
				all = append(all, p)
			}
		}
	}
	return all, errs
}

// appendErrors appends the single errors that err joins, at any depth.
func appendErrors(errs []error, err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return errs
	case !ok:
		return append(errs, err)
	}
	for _, err := range joined.Unwrap() {
		errs = appendErrors(errs, err)
	}
	return errs
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
			name, market, _ := strings.Cut(id, "@")
			p, err := pluginAt(at, name, market, ".claude-plugin/plugin.json")
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
		if err := readJSON(name, &settings); err != nil {
			errs = append(errs, &PluginError{name, fmt.Errorf("%w; which plugins it switches on or off is ignored", err)})
		}
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
			p, err := pluginAt(in.Path, in.Name, "copilot", "plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json")
			plugins, errs = append(plugins, p...), append(errs, err)
		}
		return plugins, errors.Join(errs...)
	}
}

// cachedPlugins finds the plugins that Codex keeps as MARKETPLACE/NAME/VERSION and that its
// settings in TOML switch on.
func cachedPlugins(dir Path) func(*Machine, []string) ([]Plugin, error) {
	return func(m *Machine, _ []string) ([]Plugin, error) {
		cache := dir.below("plugins/cache")(m)
		if _, err := os.Stat(cache); err != nil {
			return nil, nil // most people have no plugins, so need not wait for the settings
		}
		var settings struct {
			Plugins map[string]struct{ Enabled *bool }
		}
		if err := readFile(dir.below("config.toml")(m), &settings, toml.Unmarshal); err != nil {
			return nil, err
		}
		var plugins []Plugin
		var errs []error
		for _, id := range slices.Sorted(maps.Keys(settings.Plugins)) {
			name, market, ok := strings.Cut(id, "@")
			if on := settings.Plugins[id].Enabled; !ok || on != nil && !*on || !filepath.IsLocal(name) || !filepath.IsLocal(market) {
				continue
			}
			at := newestIn(filepath.Join(cache, market, name))
			if at == "" {
				continue // it is not installed
			}
			p, err := pluginAt(at, name, "codex", ".codex-plugin/plugin.json", "plugin.json", ".claude-plugin/plugin.json")
			plugins, errs = append(plugins, p...), append(errs, err)
		}
		return plugins, errors.Join(errs...)
	}
}

// newestIn returns the folder in dir whose name is the newest version; "" if there is none.
func newestIn(dir string) string {
	entries, _ := os.ReadDir(dir)
	newest := ""
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && (newest == "" || words.CompareVersions(e.Name(), newest) > 0) {
			newest = e.Name()
		}
	}
	if newest == "" {
		return ""
	}
	return filepath.Join(dir, newest)
}

// pluginsIn finds the plugins that a folder holds, each in a folder of its own.
func pluginsIn(dir Path) func(*Machine, []string) ([]Plugin, error) {
	return func(m *Machine, _ []string) ([]Plugin, error) {
		entries, err := os.ReadDir(dir(m))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, nil
		}
		var errs []error
		if err != nil {
			errs = append(errs, &PluginError{dir(m), fmt.Errorf("looking for plugins: %w", err)})
		}
		var plugins []Plugin
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
				continue
			}
			p, err := pluginAt(filepath.Join(dir(m), e.Name()), e.Name(), "folder", "plugin.json", ".claude-plugin/plugin.json", ".codex-plugin/plugin.json")
			plugins, errs = append(plugins, p...), append(errs, err)
		}
		return plugins, errors.Join(errs...)
	}
}
