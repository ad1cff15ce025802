package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/source"
)

// File returns the configuration file of the user: $REPERTOIRE_CONFIG, or
// repertoire/config.yaml in the user's configuration folder.
func File() (string, error) {
	if name := os.Getenv("REPERTOIRE_CONFIG"); name != "" {
		return name, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "repertoire", "config.yaml"), nil
}

// projectFile is the configuration file of a project, relative to its folder.
const projectFile = ".agents/repertoire.yaml"

// FindProjectFile returns the configuration file of the project that dir belongs to; ""
// means that there is none. It looks from dir up to the root of the repository, and
// outside a repository only in dir. As for source.Discover, the user's home is no
// project. The file may be a link that leads nowhere. Errors are *Error.
func FindProjectFile(dir string) (string, error) {
	names, err := projectFiles(dir)
	if len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// projectFiles returns the file that FindProjectFile returns, and those above it. The error is of
// the first that cannot be looked for.
func projectFiles(dir string) (names []string, err error) {
	for _, folder := range projectFolders(dir) {
		name := filepath.Join(folder, filepath.FromSlash(projectFile))
		switch _, err := os.Lstat(name); {
		case err == nil:
			names = append(names, name)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return names, fileError(name, err)
		}
	}
	return names, nil
}

// ProjectRoot returns the root of the project that dir belongs to, with links resolved;
// "" means that dir belongs to no project.
func ProjectRoot(dir string) string {
	folders := projectFolders(dir)
	if len(folders) == 0 {
		return ""
	}
	return folders[len(folders)-1]
}

func projectFolders(dir string) []string {
	home, _ := os.UserHomeDir() // without a home, "", none has to be left out
	return source.ProjectFolders(dir, home)
}

// workDir returns dir; if that is "", the working folder.
func workDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	return os.Getwd()
}

// CacheDir returns the folder of rebuildable files, such as catalogs: $REPERTOIRE_CACHE, or
// "repertoire" in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("REPERTOIRE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for the catalog: %w (set REPERTOIRE_CACHE, or name a file with --db)", err)
	}
	return filepath.Join(dir, "repertoire"), nil
}

// VectorCache returns the file of the machine in which vectors of servers are kept for all
// catalogs; "" means that there is no cache folder.
func VectorCache() string {
	dir, err := CacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "vectors.db")
}

// DefaultDB returns the catalog file that belongs to these sources, and removes
// catalogs that nobody has opened for 30 days. Each set of sources has its own
// file, so that a ranking never depends on what another project has indexed, and
// changing to and fro between projects costs nothing.
func DefaultDB(sources []source.Source) (string, error) {
	db, err := defaultDB(sources)
	if err != nil {
		return "", err
	}
	return markOpened(db), nil
}

// NamedDB returns the catalog file of this name, which must not hold a password. It removes
// unused catalogs, as DefaultDB does.
func NamedDB(name string) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	return markOpened(filepath.Join(dir, sumOf(name, 6), catalogName)), nil
}

// markOpened keeps a catalog from being removed as unused, and returns its path. It removes
// unused ones if the catalog is new.
func markOpened(db string) string {
	// Set the time at each opening: a catalog whose skills never change is never
	// written. The time of the file itself shows whether somebody has replaced it.
	folder := filepath.Dir(db)
	if now := time.Now(); os.Chtimes(folder, now, now) != nil {
		removeUnused(filepath.Dir(folder), now.Add(-unusedAfter))
	}
	return db
}

// defaultDB returns the catalog file that belongs to these sources.
func defaultDB(sources []source.Source) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, s := range sources {
		fmt.Fprintf(&list, "%q %q\n", s.Info().Label, s.Info().Root)
	}
	return filepath.Join(dir, sumOf(list.String(), 6), catalogName), nil
}

// sumOf returns the first n bytes of the digest of a text, in hexadecimal, for the name of a
// folder or file.
func sumOf(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:n])
}

// catalogName is the name of a catalog file that DefaultDB returns.
const catalogName = "catalog.db"

// FilesSuffix ends the name of the folder with files of skills that a copy of a shared
// catalog keeps.
const FilesSuffix = ".files"

// ChecksSuffix ends the name of the folder in which changes of the skills of a catalog are
// checked, and their evals asked.
const ChecksSuffix = ".checks"

// maxBeside is how many other catalogs Beside returns: reading what 50 of them hold takes
// about as long as reading ten skills.
const maxBeside = 50

// Beside returns the other catalogs of the cache folder, those first that were opened last,
// if db is the default file of these sources; else it returns none.
func Beside(db string, sources []source.Source) []string {
	if own, err := defaultDB(sources); err != nil || own != db {
		return nil
	}
	dir := filepath.Dir(filepath.Dir(db))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	opened := make(map[string]time.Time)
	var list []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name(), catalogName)
		info, err := e.Info()
		if err == nil && e.IsDir() && catalogFolder().MatchString(e.Name()) && name != db {
			opened[name] = info.ModTime()
			list = append(list, name)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return opened[b].Compare(opened[a]) })
	return list[:min(len(list), maxBeside)]
}

// unusedAfter is the age at which a catalog that nobody opened is removed. That a folder
// of its skills is gone is no reason: the disk may come back.
const unusedAfter = 30 * 24 * time.Hour

// catalogFolder matches the names that DefaultDB gives to folders.
var catalogFolder = lazyregexp.New(`^[0-9a-f]{12}$`)

// removeUnused removes the catalogs in dir that nobody has opened since a time. A catalog
// that was opened in the future stays: a clock that starts in 1970 must not cost all
// catalogs.
// It ignores errors: the next call tries again. REPERTOIRE_CACHE may name a
// folder that holds other things, so removeUnused looks only at what DefaultDB made.
func removeUnused(dir string, before time.Time) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range folders {
		if !f.IsDir() || !catalogFolder().MatchString(f.Name()) {
			continue
		}
		db := filepath.Join(dir, f.Name(), catalogName)
		opened, err := os.Lstat(filepath.Dir(db))
		if err == nil && opened.ModTime().Before(before) && isUnused(db, before) {
			removeCatalog(db)
		}
	}
}

// isUnused reports whether a catalog was not written since a time, or never became one
// because whoever made it was stopped.
func isUnused(db string, before time.Time) bool {
	written, err := os.Lstat(db)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && written.Mode().IsRegular() && written.ModTime().Before(before)
}

// removeCatalog removes the catalog file db, the files whose names begin with
// its name, and the folder if nothing else is in it.
func removeCatalog(db string) {
	folder := filepath.Dir(db)
	files, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, f := range files {
		if f.Type().IsRegular() && strings.HasPrefix(f.Name(), filepath.Base(db)) {
			os.Remove(filepath.Join(folder, f.Name()))
		}
	}
	os.RemoveAll(db + FilesSuffix)
	os.RemoveAll(db + ChecksSuffix)
	os.Remove(folder)
}

// StateDir returns the folder of files that cannot be rebuilt from the sources, such as
// sessions and logs: $REPERTOIRE_STATE, or "repertoire" in the user's state folder
// ($XDG_STATE_HOME, or the usual folder of the system).
func StateDir() (string, error) {
	return userFolder{own: "REPERTOIRE_STATE", xdg: "XDG_STATE_HOME", windows: "state", home: "state", holds: "state"}.find()
}

// DataDir returns the folder of what users have fetched, such as installed skills:
// $REPERTOIRE_DATA, or "repertoire" in the user's data folder ($XDG_DATA_HOME, or the
// usual folder of the system).
func DataDir() (string, error) {
	return userFolder{own: "REPERTOIRE_DATA", xdg: "XDG_DATA_HOME", windows: "data", home: "share", holds: "installed skills"}.find()
}

// A userFolder says where a folder of the user is.
type userFolder struct {
	own, xdg string // variables that name it, and the folder that it is in
	windows  string // its name in the folder of the program on Windows
	home     string // the folder in ~/.local that it is in elsewhere
	holds    string // for errors
}

func (f userFolder) find() (string, error) {
	if dir := os.Getenv(f.own); dir != "" {
		return filepath.Abs(dir)
	}
	// The XDG specification says to ignore a relative path.
	if dir := os.Getenv(f.xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "repertoire"), nil
	}
	if dir := os.Getenv("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "repertoire", f.windows), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for %s: %w (set %s)", f.holds, err, f.own)
	}
	return filepath.Join(home, ".local", f.home, "repertoire"), nil
}
