package push

import (
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// isSecret reports whether programs keep passwords and keys in files of this name: such a file
// lies in the folder of a skill by mistake.
func isSecret(f skill.File) bool {
	switch path.Base(f.Path) {
	case ".env", ".netrc", ".pgpass", ".git-credentials", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519":
		return true
	}
	return slices.ContainsFunc(strings.Split(path.Dir(f.Path), "/"), func(folder string) bool {
		return folder == ".ssh" || folder == ".aws" || folder == ".gnupg"
	})
}

// noteSecrets notes which files of the skill in a folder are left out as secrets.
func (s *pushed) noteSecrets(dir string, files []skill.File) {
	s.noting.Lock()
	defer s.noting.Unlock()
	for _, f := range files {
		if isSecret(f) {
			s.secrets = append(s.secrets, path.Join(dir, f.Path))
		}
	}
}
