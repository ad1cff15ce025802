package repertoire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// reader opens the files of skills by the label of their source.
type reader map[string]source.Source

func newReader(sources []source.Source) (reader, error) {
	r := make(reader)
	for _, s := range sources {
		if r[s.Info().Label] != nil {
			return nil, fmt.Errorf("two sources have the label %q; name one of them differently", s.Info().Label)
		}
		r[s.Info().Label] = s
	}
	return r, nil
}

func (r reader) source(label string) (source.Source, error) {
	if s := r[label]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("source %s is not open", label)
}

// Instructions implements contextprovider.Reader.
func (r reader) Instructions(ctx context.Context, label, dir string) (contextprovider.Instructions, error) {
	var in contextprovider.Instructions
	s, err := r.source(label)
	if err != nil {
		return in, err
	}
	f, err := source.ReadInstructions(ctx, s, dir)
	if err != nil {
		return in, err
	}
	l, err := s.List(ctx, dir)
	in.Content, in.Files, in.Unserved = contextprovider.Content{Data: f.Data, SHA256: f.SHA256, Binary: f.Binary}, l.Files, l.Unserved
	return in, err
}

// Manifest implements contextprovider.Reader.
func (r reader) Manifest(ctx context.Context, label, dir string) (contextprovider.Instructions, error) {
	var in contextprovider.Instructions
	s, err := r.source(label)
	if err != nil {
		return in, err
	}
	m, err := source.ReadManifest(ctx, s, dir)
	if err != nil {
		return in, err
	}
	in.Content = contextprovider.Content{Data: m.Text, SHA256: m.TextDigest()}
	in.Files, in.Digest, in.Unserved = m.Files, m.Digest, m.Unserved
	return in, nil
}

// File implements contextprovider.Reader.
func (r reader) File(ctx context.Context, label, dir, name string) (contextprovider.Content, error) {
	s, err := r.source(label)
	if err != nil {
		return contextprovider.Content{}, err
	}
	f, err := source.ReadFile(ctx, s, dir, name)
	if err != nil {
		return contextprovider.Content{}, err
	}
	return contextprovider.Content{Data: f.Data, SHA256: f.SHA256, Binary: f.Binary}, nil
}

// agentsByName checks that the names of agents are there and differ.
func agentsByName(agents []*Agent) (map[string]*Agent, error) {
	m := make(map[string]*Agent)
	for _, a := range agents {
		if a.Name == "" {
			return nil, errors.New("an agent has no name")
		}
		if m[a.Name] != nil {
			return nil, fmt.Errorf("two agents are named %q", a.Name)
		}
		m[a.Name] = a
	}
	return m, nil
}

// unknownAgent is the error for an agent that is not configured; it lists
// those that are.
func unknownAgent(name string, agents map[string]*Agent) error {
	var known []string
	for n := range agents {
		known = append(known, n)
	}
	slices.Sort(known)
	if len(known) == 0 {
		return fmt.Errorf("no agent %q: the configuration names none", name)
	}
	if similar := skill.Similar(name, known, 3); len(similar) > 0 {
		return fmt.Errorf("no agent %q; did you mean %s?", name, strings.Join(similar, ", "))
	}
	return fmt.Errorf("no agent %q; there are: %s", name, strings.Join(known, ", "))
}

// CacheDir returns the folder of rebuildable files: $REPERTOIRE_CACHE, or
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

// defaultDB returns the file that belongs to these sources. Each set of
// sources has its own, so that a ranking never depends on what another project
// has indexed, and changing to and fro between projects costs nothing.
func defaultDB(sources []source.Source) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, s := range sources {
		fmt.Fprintf(h, "%q %q\n", s.Info().Label, s.Info().Root)
	}
	name := filepath.Join(dir, hex.EncodeToString(h.Sum(nil)[:6]), "catalog.db")
	// A catalog whose skills never change is never written: its time is when it
	// was last opened.
	if now := time.Now(); os.Chtimes(name, now, now) != nil {
		removeUnused(dir, now.Add(-unusedAfter))
	}
	return name, nil
}

// unusedAfter is the age at which a catalog that nobody opened is removed.
const unusedAfter = 60 * 24 * time.Hour

// catalogFolder matches the names that defaultDB gives to folders.
var catalogFolder = lazyregexp.New(`^[0-9a-f]{12}$`)

// removeUnused removes the catalogs in dir that were last opened before a time;
// failing is no matter. REPERTOIRE_CACHE may name a folder that holds other
// things, so it looks only at what defaultDB made.
func removeUnused(dir string, before time.Time) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range folders {
		if !f.IsDir() || !catalogFolder().MatchString(f.Name()) {
			continue
		}
		db := filepath.Join(dir, f.Name(), "catalog.db")
		if info, err := os.Lstat(db); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			removeCatalog(db)
		}
	}
}

// removeCatalog removes a catalog, the files beside it whose names begin with
// its own, and their folder if that holds nothing else.
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
	os.Remove(folder)
}

// StateDir returns the folder of what is remembered for a while and is no cache
// of the sources: $REPERTOIRE_STATE, or "repertoire" in the user's state folder,
// which is $XDG_STATE_HOME, or the usual one of the system.
func StateDir() (string, error) {
	if dir := os.Getenv("REPERTOIRE_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	// As of the specification, a relative path counts as none.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "repertoire"), nil
	}
	if dir := os.Getenv("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "repertoire", "state"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for state: %w (set REPERTOIRE_STATE)", err)
	}
	return filepath.Join(home, ".local", "state", "repertoire"), nil
}
