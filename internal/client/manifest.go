package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tailscale/hujson"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

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
func pluginAt(dir, name, from string, manifests ...string) ([]Plugin, error) {
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
		if p, err = inPlugin(dir, p); err != nil {
			errs = append(errs, &PluginError{dir, fmt.Errorf("plugin %s: %w", dir, err)})
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
	return []Plugin{{name, from, dir, all}}, errors.Join(errs...)
}

// inPlugin cleans a path that a manifest names: a folder of a skill or of skills. The SKILL.md of
// a skill stands for its folder.
func inPlugin(dir, name string) (string, error) {
	clean := path.Clean(name)
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("the path of skills %q leads out of the plugin", name)
	}
	info, err := os.Stat(under(dir, clean))
	switch {
	case err == nil && info.IsDir():
		return clean, nil
	case err == nil && path.Base(clean) == "SKILL.md":
		return path.Dir(clean), nil
	case err == nil:
		return "", fmt.Errorf("its manifest names the file %q as skills, and skills are folders with a SKILL.md", name)
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("its manifest names %q as skills, which is not there", name)
	}
	return "", err
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

// readJSON reads a file in JSON, which may have comments.
func readJSON(name string, v any) error { return readFile(name, v, ParseJSON) }

// readFile reads a file of settings. It leaves v alone if there is no such file.
func readFile(name string, v any, parse func([]byte, any) error) error {
	data, err := regular.ReadShort(name, maxSettings)
	if name == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err == nil && len(data) > 0 {
		err = parse(data, v)
	}
	if err != nil {
		return &PluginError{name, fmt.Errorf("reading %s: %w", name, err)}
	}
	return nil
}

// ParseJSON parses JSON as clients do: a byte order mark, comments and trailing commas are allowed, and
// the rest of JSON5.
func ParseJSON(data []byte, v any) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if json.Unmarshal(data, v) == nil {
		return nil
	}
	if err := CheckDepth(data); err != nil {
		return err
	}
	plain, err := hujson.Standardize(data) // a copy: only few files have comments
	if err == nil {
		return json.Unmarshal(plain, v)
	}
	if json.Unmarshal(fromJSON5(data), v) == nil {
		return nil
	}
	return err // it has the line
}
