package client

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzPlugins: whatever the records of plugins hold, no path of skills leads out of a plugin, and
// no version is chosen that the record does not name.
func FuzzPlugins(f *testing.F) {
	for _, text := range []string{`[{"scope":"user","installPath":"/x"}]`, `{"installPath":"/x"}`, `[{"projectPath":"/","installPath":"/y"}]`, `[null]`, `"../a"`, `["./b/","/c",".."]`, `3`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if at := installedAt(data, []string{"/"}); at != "" && !slices.ContainsFunc(records(data), func(in installation) bool { return in.InstallPath == at }) {
			t.Errorf("the record does not name %q", at)
		}
		about := &manifest{Skills: data}
		for _, p := range about.paths() {
			if p, err := inPlugin("/", p); err == nil && !filepath.IsLocal(filepath.FromSlash(p)) {
				t.Errorf("%q leads out of the plugin", p)
			}
		}
	})
}

func records(data []byte) (list []installation) {
	var one installation
	if json.Unmarshal(data, &list) != nil && json.Unmarshal(data, &one) == nil {
		list = []installation{one}
	}
	return list
}
