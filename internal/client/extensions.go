package client

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// extensionsIn finds the extensions below dir that Gemini CLI and clients which come from it have
// installed and not switched off, each in a folder of its own with a manifest.
func extensionsIn(dir Path, from, manifest string) func(*Machine, []string) ([]Plugin, error) {
	return func(m *Machine, projects []string) ([]Plugin, error) {
		base := dir.below("extensions")(m)
		entries, err := os.ReadDir(base)
		if err != nil {
			return nil, nil // most people have none
		}
		var rules map[string]struct{ Overrides []string }
		errs := []error{readJSON(filepath.Join(base, "extension-enablement.json"), &rules)}
		var off struct{ Extensions struct{ Disabled []string } }
		errs = append(errs, readJSON(dir.below("settings.json")(m), &off))
		at := m.Home
		if len(projects) > 0 {
			at = projects[0]
		}
		var plugins []Plugin
		for _, e := range entries {
			where, err := installedExtension(filepath.Join(base, e.Name()), from)
			errs = append(errs, err)
			if strings.HasPrefix(e.Name(), ".") || !isThere(where, manifest) {
				continue
			}
			found, err := pluginAt(where, e.Name(), from, manifest)
			errs = append(errs, err)
			for _, p := range found {
				if isOn(rules[p.Name].Overrides, at) && !slices.Contains(off.Extensions.Disabled, p.Name) {
					plugins = append(plugins, p)
				}
			}
		}
		return plugins, errors.Join(errs...)
	}
}

// installedExtension returns the folder with the files of an extension, which may be linked.
func installedExtension(dir, from string) (string, error) {
	var installed struct{ Type, Source string }
	err := readJSON(under(dir, "."+from+"-extension-install.json"), &installed)
	if err == nil && installed.Type == "link" && filepath.IsAbs(installed.Source) {
		return filepath.Clean(installed.Source), nil
	}
	return dir, err
}

// isOn reports whether an extension is switched on in a folder. Rules switch it on, or off if they
// begin with "!", in a folder, or if they end in "*" in all folders below as well; the last wins.
func isOn(rules []string, dir string) bool {
	on := true
	dir = strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/"
	for _, rule := range rules {
		folder, isOff := strings.CutPrefix(filepath.ToSlash(rule), "!")
		folder, deep := strings.CutSuffix(folder, "*")
		folder = strings.TrimSuffix(folder, "/") + "/"
		if dir == folder || deep && strings.HasPrefix(dir, folder) {
			on = !isOff
		}
	}
	return on
}
