package config

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A plugin says what the source of a plugin's skills may read.
type plugin struct {
	only    []string // see source.Options; nil means all
	confine func(real string) error
}

// plugins adds the plugins of clients to the folders of the user that are searched. It returns
// them by their folders. The error joins what is wrong with some of them.
func (s *Settings) plugins(search *source.Search) (map[string]plugin, error) {
	if search.Home == "" || search.User != "" {
		return nil, nil
	}
	m := machineAt(search.Home)
	var projects []string
	if search.WorkDir != "" {
		projects = source.ProjectFolders(search.WorkDir, search.Home)
	}
	found, wrong := m.Plugins(projects)
	var errs []error
	leave := func(path string, err error) {
		errs = append(errs, &source.PlaceError{Path: path, LeftOut: true, Err: err})
	}
	for _, err := range wrong {
		if of, ok := errors.AsType[*client.PluginError](err); ok {
			leave(of.Path, err)
		}
	}
	plugins, labels := make(map[string]plugin), make(map[string]bool)
	for _, p := range found {
		if !plainLabel().MatchString(p.Name) {
			leave(p.Dir, fmt.Errorf("the plugin in %s is left out: its name %q has more than letters, digits, dots, hyphens and underscores", p.Dir, p.Name))
			continue
		}
		at, only := filepath.Clean(p.Dir), p.Skills
		if len(only) == 1 {
			at, only = filepath.Join(p.Dir, filepath.FromSlash(only[0])), nil
		}
		// A link in a plugin must not bring in what the user has elsewhere.
		plugins[at] = plugin{only, func(real string) error {
			if regular.In(regular.Real(p.Dir), real) {
				return nil
			}
			return fmt.Errorf("it leads to %s, out of the plugin", real)
		}}
		label := skill.PluginLabel(p.Name)
		if labels[label] && plainLabel().MatchString(p.From) {
			label += "@" + p.From
		}
		labels[label] = true
		search.More = append(search.More, source.Folder{Path: at, Label: label})
	}
	return plugins, errors.Join(errs...)
}
