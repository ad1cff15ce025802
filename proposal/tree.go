package proposal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// readSkill reads all files of the skill in a folder of a source, and its digest. Links are refused: what
// they lead to is not the skill's.
func readSkill(ctx context.Context, src source.Source, dir string) (Files, string, error) {
	m, err := source.ReadManifest(ctx, src, dir)
	if err != nil {
		return nil, "", err
	}
	switch {
	case len(m.Links) > 0:
		return nil, "", refuse("%w: %s is a link", ErrLocked, m.Links[0])
	case m.Unserved != "":
		return nil, "", refuse("%w: %s", ErrLocked, m.Unserved)
	}
	for _, p := range m.Problems {
		if strings.Contains(p.Rule, "link") || p.Rule == "not-a-regular-file" {
			return nil, "", refuse("%w: %s: %s", ErrLocked, p.Path, p.Message)
		}
	}
	files, size := make(Files), int64(0)
	for _, f := range m.Files {
		if size += f.Size; size > skill.MaxPublishedBytes || len(files) == skill.MaxPublishedFiles {
			return nil, "", refuse("%w: it has more than %d files or %d bytes", ErrLocked, skill.MaxPublishedFiles, skill.MaxPublishedBytes)
		}
		data, mode, err := source.ReadListed(ctx, src, dir, f)
		switch {
		case errors.Is(err, source.ErrChanged):
			return nil, "", refuse("reading %s: %w", f.Path, err)
		case err != nil:
			return nil, "", fmt.Errorf("reading %s: %w", f.Path, err)
		}
		files[f.Path] = File{data, mode}
	}
	return files, m.Digest, nil
}

// ReadFolder reads the files of the skill in a folder on disk, and its digest.
func ReadFolder(ctx context.Context, folder string) (Files, string, error) {
	src, err := source.Dir(folder, &source.Options{MaxFile: skill.MaxPublishedBytes, Single: true})
	if err != nil {
		return nil, "", err
	}
	return readSkill(ctx, src, ".")
}

// digestOf returns the digest of the skill in a folder on disk; "" means that there is none.
func digestOf(ctx context.Context, folder string) (string, error) {
	src, err := source.Dir(folder, &source.Options{Single: true})
	if err != nil {
		return "", err
	}
	m, err := source.ReadManifest(ctx, src, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return m.Digest, nil
}

// writeFiles writes files into a folder, which it makes. mode returns the permissions of a
// file; nil means those that it has.
func writeFiles(folder string, files Files, mode func(File) fs.FileMode) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		if mode != nil {
			f.Mode = mode(f)
		}
		if err := writeFile(filepath.Join(folder, filepath.FromSlash(name)), f, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a new file, and makes the folders above it. It survives a power cut.
func writeFile(name string, f File, dirs fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), dirs); err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	if err == nil {
		err = out.Chmod(f.Mode)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// private returns the permissions with which files are kept: only their owner can read them,
// and scripts stay scripts.
func private(f File) fs.FileMode { return 0o600 | f.Mode&0o100 }

// shared returns the permissions of the files of a new skill.
func shared(f File) fs.FileMode {
	if f.Mode&0o111 != 0 {
		return scriptMode
	}
	return plainMode
}

// readKept reads the files that writeFiles has written; none if there is no folder.
func readKept(folder string) (Files, error) {
	files := make(Files)
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return &fs.PathError{Op: "reading", Path: filepath.Join(folder, name), Err: errors.New("it is not a regular file")}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := fs.ReadFile(root.FS(), name)
		files[name] = File{data, info.Mode().Perm()}
		return err
	})
	return files, err
}
