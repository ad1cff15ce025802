package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// resolve refuses a file or folder that links lead to through a folder which is not
// part of a skill: a skill may be a clone, and its author may have put a link to
// .git/config in it. os.Root refuses links that lead out of the folder.
func (d diskFolder) resolve(name string) (string, error) {
	const most = 255 // links; the system follows fewer
	at, rest := ".", name
	for links := 0; rest != "" && links < most; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			at = path.Dir(at)
			continue
		case links > 0 && skill.IsExcluded(part):
			return "", fmt.Errorf("%w: it is a link into %s, which is not part of a skill", ErrRefused, part)
		}
		at = path.Join(at, part)
		if target, err := d.root.Readlink(at); err == nil {
			links++
			at, rest = path.Dir(at), filepath.ToSlash(target)+"/"+rest
		}
	}
	return at, nil
}

// A linkedFolder is the open folder of a skill whose SKILL.md may be a link to a file outside of
// it, see Options.Own. The link is followed only if the user chose where it leads, see
// followOwn and leadsOut, and only to the instructions of a skill: no other file of the user
// gets before a model, whatever takes the place of that file later.
type linkedFolder struct {
	folder
	disk diskFolder
}

func (f linkedFolder) stat(name string) (fs.FileInfo, error) {
	info, err := f.folder.stat(name)
	if !f.follows(name, err) {
		return info, err
	}
	file, err := f.openLinked(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}

func (f linkedFolder) open(name string) (fs.File, error) {
	file, err := f.folder.open(name)
	if !f.follows(name, err) {
		return file, err
	}
	return f.openLinked(name)
}

// follows reports whether a link that was refused with err may be followed all the same.
func (f linkedFolder) follows(name string, err error) bool {
	return errors.Is(err, ErrRefused) && slices.Contains(skill.FileNames, name)
}

// openLinked opens the file that the instructions are a link to.
func (f linkedFolder) openLinked(name string) (fs.File, error) {
	dir := f.disk.root.Name()
	real, err := followOwn(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	top, err := filepath.EvalSymlinks(f.disk.tree.path)
	if err != nil {
		return nil, err
	}
	if err := leadsOut(dir, top, real); err != nil {
		return nil, err
	}
	base := filepath.Dir(real)
	if regular.In(top, real) {
		base = top // others may write there: os.Root confines what they exchange meanwhile
	}
	root, err := os.OpenRoot(base + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel, _ := regular.Rel(base, real) // it lies there
	file, err := openRegular(diskFolder{root, f.disk.tree}, filepath.ToSlash(rel))
	if err != nil {
		return nil, err
	}
	return onlySkill(file, real)
}

// followOwn returns the file to which a path leads. It follows only links of the user and of
// the superuser: a link of anybody else, who may write to a shared folder, could lead to any
// file of the user.
func followOwn(name string) (string, error) {
	const most, sep = 40, string(filepath.Separator)
	at, rest := cutVolume(name)
	for links := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, sep)
		if part == "" || part == "." {
			continue
		}
		next := filepath.Join(at, part) // of a ".." the folder above, because no link is left in at
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		target, err := "", errNoLink
		if isLink(info.Mode()) {
			target, err = os.Readlink(next)
		}
		switch links++; {
		case err != nil:
			at, links = next, links-1
			continue
		case !isOwn(info):
			return "", fmt.Errorf("%w: the link %s belongs to another user", ErrRefused, next)
		case links > most:
			return "", fmt.Errorf("%w: the link leads to itself", ErrRefused)
		}
		if filepath.IsAbs(target) {
			at, target = cutVolume(target)
		}
		rest = filepath.FromSlash(target) + sep + rest
	}
	return at, nil
}

var errNoLink = errors.New("no link")

// cutVolume returns the top folder of an absolute path, and the rest of the path.
func cutVolume(name string) (top, rest string) {
	volume := filepath.VolumeName(name)
	return volume + string(filepath.Separator), name[len(volume):]
}

// leadsOut refuses a file to which the user would not let a link lead: where programs keep
// passwords or the history of a repository, and out of the repository in which the link lies.
// Who clones a repository into his folder of skills has not chosen the links in it. The top of
// the source may be a repository of the user, so it does not count.
func leadsOut(dir, top, real string) error {
	if slash := filepath.ToSlash(real); skill.IsSecret(slash) || skill.IsHistory(slash) {
		return fmt.Errorf("%w: it is a link to %s, where programs keep what is nobody else's", ErrRefused, real)
	}
	dir, err := filepath.EvalSymlinks(dir)
	for ; err == nil && dir != top && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && !regular.In(dir, real) {
			return fmt.Errorf("%w: it is a link out of the repository %s", ErrRefused, dir)
		}
	}
	return err
}

// A textFile is an open file whose text was read before.
type textFile struct {
	fs.File
	text *bytes.Reader
}

func (f textFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// onlySkill refuses a file, and closes it, unless it is a SKILL.md that can be used.
func onlySkill(file fs.File, real string) (fs.File, error) {
	text, err := readAll(file, skill.MaxFile)
	if err == nil {
		_, err = skill.ParseBytes(text, skill.FileNames[0], "folder")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: it is a link to %s: %w", ErrRefused, real, err), file.Close())
	}
	return textFile{file, bytes.NewReader(text)}, nil
}
