package repertoire

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/source"
)

// policyOf returns the policy of some settings; nil means that nothing is held back. It calls
// warn, which may be nil, if it cannot know what the user trusts or has installed: then
// nothing is trusted, and no installed skill is as it was.
func policyOf(s *config.Settings, warn func(error)) *Policy {
	p := s.Policy()
	if p == nil {
		return nil
	}
	var versions []func() string
	if len(p.Ask) > 0 {
		state, err := config.StateDir()
		if err == nil {
			f := trust.Open(state)
			p.Trusted, versions = f.Trusted, append(versions, f.Version)
			_, err = f.List()
		}
		if err != nil && warn != nil {
			warn(fmt.Errorf("reading which skills are trusted: %w", err))
		}
	}
	if dir, err := s.InstalledDir(); err == nil && s.Trust.RequireDigest {
		versions = append(versions, lockInstalled(p, dir, warn))
	}
	if len(versions) > 0 {
		p.Version = func() string {
			all := ""
			for _, version := range versions {
				all += version() + " "
			}
			return all
		}
	}
	return p
}

// notLocked is the digest of no skill.
const notLocked = "not in the lock"

// lockInstalled makes a policy hold back the skills in the folder of installed skills that are
// not as the lock has them, or that it does not have. It returns what tells the versions of the
// lock apart.
func lockInstalled(p *Policy, dir string, warn func(error)) (version func() string) {
	if _, err := install.Locked(dir); err != nil && warn != nil {
		warn(fmt.Errorf("reading what the installed skills must be: %w", err))
	}
	file := trust.Watch(filepath.Join(dir, install.LockFile), func() func(string) string {
		if locked, err := install.Locked(dir); err == nil {
			return locked
		}
		return func(string) string { return "" }
	})
	p.Installed = []string{source.KindInstalled}
	p.Locked = func(_, folder string) string { return cmp.Or(file.Value()(folder), notLocked) }
	return file.Version
}
