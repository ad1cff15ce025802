package install

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A key names an installed skill in the lock: "NAME", or "SOURCE/NAME" for a skill that was installed
// beside another one of its name. Its folder is then in source.ApartFolder.

// Key returns the key of an installed skill, of which label is the label of its source and folder the
// folder there.
func Key(label, folder string) string {
	if beside, ok := strings.CutPrefix(label, source.KindInstalled+":"); ok {
		return beside + "/" + folder
	}
	return folder
}

// FullName returns what names an installed skill for every command, see skill.Meta.FullName.
func FullName(key string) string {
	if strings.Contains(key, "/") {
		return source.KindInstalled + ":" + key
	}
	return source.KindInstalled + "/" + key
}

// FolderOf returns the folder of a key in the folder of installed skills.
func FolderOf(dir, key string) string {
	if strings.Contains(key, "/") {
		return filepath.Join(dir, source.ApartFolder, filepath.FromSlash(key))
	}
	return filepath.Join(dir, key)
}

// checkKey refuses what cannot be a key.
func checkKey(key string) error {
	beside, name, ok := strings.Cut(key, "/")
	if ok && !skill.IsPortableName(beside) {
		return fmt.Errorf("%q cannot be the name of an installed skill: %q is no name of a source", key, beside)
	}
	if !ok {
		name = key
	}
	return checkName(name)
}

// flat returns the name of a folder for a key in a stage, which is no name of another skill.
func flat(key string) string { return strings.ReplaceAll(key, "/", "@") }

// called returns the keys of the skills that somebody means by a name: a key, a full name, or the
// name of one or several.
func (l *Lock) called(name string) (keys []string) {
	exact, full := strings.CutPrefix(name, source.KindInstalled+"/")
	if !full {
		exact, full = strings.CutPrefix(name, source.KindInstalled+":")
	}
	for _, key := range slices.Sorted(maps.Keys(l.Skills)) {
		if key == exact || !full && path.Base(key) == name {
			keys = append(keys, key)
		}
	}
	return keys
}

// one returns an error if a name means several skills.
func (l *Lock) one(name string) error {
	keys := l.called(name)
	if len(keys) < 2 {
		return nil
	}
	for i, key := range keys {
		keys[i] = FullName(key)
	}
	return fmt.Errorf("%d installed skills are called %s: %s; name the one that you mean", len(keys), name, strings.Join(keys, ", "))
}

// keyOf returns the key that a skill of a source already has in the lock; "" means none.
func (l *Lock) keyOf(s Source, dir, name string) string {
	for _, key := range l.called(name) {
		if e := l.Skills[key]; e.Source == s.Origin && e.Path == dir {
			return key
		}
	}
	return ""
}

// beside returns the key for a skill beside an installed one of its name.
func (l *Lock) beside(s Source, name string) string {
	slug := slugOf(s.Origin)
	for i := 1; ; i++ {
		folder := slug
		if i > 1 {
			folder = fmt.Sprintf("%s-%d", slug, i)
		}
		others := func(key string) bool { return path.Dir(key) == folder && l.Skills[key].Source != s.Origin }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(l.Skills)), others) {
			return folder + "/" + name
		}
	}
}

// slugOf returns a name for a source: its last two parts, such as owner-repo, if it has them.
func slugOf(origin string) string {
	const most = 40 // characters
	origin, _, _ = strings.Cut(origin, "?")
	origin = strings.TrimSuffix(strings.TrimRight(filepath.ToSlash(origin), "/"), ".git")
	parts := strings.FieldsFunc(origin, func(r rune) bool { return r == '/' || r == ':' || r == '@' })
	text := words.NameKey(strings.Join(parts[max(0, len(parts)-2):], "-"))
	slug := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }), "-")
	if slug = strings.Trim(slug[max(0, len(slug)-most):], "-"); !skill.IsPortableName(slug) {
		return "other"
	}
	return slug
}

// removeEmpty removes the folders of an ApartFolder that have no skills any more.
func (in *Installer) removeEmpty(key string) {
	if strings.Contains(key, "/") {
		parent := filepath.Dir(in.folder(key))
		_ = os.Remove(parent) // it fails if there is another skill
		_ = os.Remove(filepath.Dir(parent))
	}
}
