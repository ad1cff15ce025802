package repertoire

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/source"
)

// policy returns the policy of the catalog. Unless it says otherwise, the triggers of the
// skills in the user's own folders are certain.
func (c *Config) policy() *Policy {
	var p Policy
	if c.Policy != nil {
		p = *c.Policy
	}
	if p.Triggers == nil {
		p.Triggers = map[string]string{source.KindRoot: "certain", source.KindUser: "certain"}
	}
	return &p
}

// policyOf returns the policy of some settings; nil means that nothing is held back. It calls
// warn, which may be nil, if it cannot know what is trusted or was installed: then nothing is.
func policyOf(s *config.Settings, warn func(error)) *Policy {
	p := s.Policy()
	if p == nil {
		return nil
	}
	report := func(doing string, err error) {
		if err != nil && warn != nil {
			warn(fmt.Errorf("%s: %w", doing, err))
		}
	}
	var versions []func() string
	if s.Trust.Project == config.TrustAsk {
		dir, err := config.StateDir()
		if err == nil {
			f := trust.Open(dir)
			p.Trusted, versions = f.Trusted, append(versions, f.Version)
			_, err = f.List()
		}
		report("reading which skills are trusted", err)
	}
	if s.Trust.RequireDigest {
		folder, err := s.InstalledDir()
		if err == nil {
			var w *trust.Watched[func(string) string]
			w, err = lockIn(folder)
			p.Installed, versions = []string{source.KindInstalled}, append(versions, w.Version)
			p.Locked = func(_, dir string) string { return cmp.Or(w.Value()(dir), notLocked) }
		}
		report("reading what was installed", err)
	}
	if len(versions) > 0 {
		p.Version = func() string {
			texts := make([]string, len(versions))
			for i, version := range versions {
				texts[i] = version()
			}
			return strings.Join(texts, " ")
		}
	}
	return p
}

// notLocked is the digest of no skill: what lies in the folder of installed skills without
// being installed is held back too.
const notLocked = "not in the lock"

// lockIn returns what the lock in a folder says, also as it changes, and why it cannot be
// read now. As long as it cannot, no skill is as it was installed.
func lockIn(folder string) (w *trust.Watched[func(string) string], err error) {
	w = trust.Watch(filepath.Join(folder, install.LockFile), func() func(string) string {
		var locked func(string) string
		if locked, err = install.Locked(folder); err != nil {
			return func(string) string { return "" }
		}
		return locked
	})
	w.Value()
	now := err
	return w, now
}
