package push

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// A Place is where the skills of a source come from.
type Place struct {
	Dir    string // folder on this machine
	Remote string // address that Dir is fetched from; "" means that Dir may be in a clone of a repository
	Sub    string // folder at the remote, slash-separated; "" means all of it
}

// An Origin says which folder of which repository a source comes from. All clones and worktrees
// of a repository have the same origins, on every machine: digests of its remote, without
// credentials, and of the folder in it. A repository without a remote on another machine, and a
// folder in none, have digests that a random key of this machine makes. No origin tells a path of
// this machine. The zero Origin means that nothing is known.
type Origin struct {
	ID         string // of the folder
	Repository string // of the repository; a folder in none is its own

	checkout string   // folder with all files of the repository; "" means that there is none here
	parts    []string // what Repository is the digest of
}

// Origin returns the origin of a place. state returns the folder that keeps the key of this machine.
func (p Place) Origin(state func() (string, error)) (Origin, error) {
	var o Origin
	if p.Remote == "" {
		p, o.checkout = inRepository(p.Dir)
	}
	if remote, ok := normalRemote(p.Remote); ok {
		o.parts = []string{"repository", remote}
	} else {
		dir, err := state()
		if err != nil {
			return Origin{}, err
		}
		key, err := machineKey(dir)
		if err != nil {
			return Origin{}, err
		}
		o.parts = []string{"machine", key, p.Dir}
	}
	o.Repository, o.ID = digest(o.parts...), o.at(p.Sub)
	return o, nil
}

// at returns the ID of another folder of the repository.
func (o *Origin) at(sub string) string {
	return digest(append(slices.Clone(o.parts), path.Clean("/"+sub))...)
}

// maxFolders is how many folders of a repository are looked at.
const maxFolders = 100_000

// folders returns the IDs of all folders of the repository; nil if some cannot be seen here.
func (o *Origin) folders() map[string]bool {
	if o.checkout == "" {
		return nil
	}
	ids := make(map[string]bool)
	for n, folders := 0, []string{"."}; n < len(folders); n++ {
		if n == maxFolders {
			return nil
		}
		ids[o.at(folders[n])] = true
		entries, err := os.ReadDir(filepath.Join(o.checkout, folders[n]))
		if err != nil {
			return nil
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != ".git" {
				folders = append(folders, path.Join(folders[n], e.Name()))
			}
		}
	}
	return ids
}

// ShortOrigin is what people see of an origin.
func ShortOrigin(origin string) string { return origin[:min(len(origin), 8)] }

func digest(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}

// normalRemote returns the host and path of a remote: one text for all ways to write it. ok is
// false for a path on this machine.
func normalRemote(remote string) (normal string, ok bool) {
	scheme, rest, isURL := strings.Cut(strings.TrimPrefix(strings.TrimSpace(remote), "git+"), "://")
	scheme = strings.ToLower(scheme)
	host, file, _ := strings.Cut(rest, "/")
	if isURL {
		file, _, _ = strings.Cut(file, "?") // it may hold a secret
		if plain, err := url.PathUnescape(file); err == nil {
			file = plain
		}
	} else if host, file, ok = cutHost(remote); ok { // user@host:path, as of scp
		scheme = "ssh"
	}
	at := url.URL{Host: host[strings.LastIndex(host, "@")+1:]}
	name := strings.ToLower(at.Hostname())
	if name == "" || scheme == "file" {
		return "", false
	}
	if port := at.Port(); port != "" && port != ports[scheme] {
		name += ":" + port
	}
	return name + strings.TrimSuffix(path.Clean("/"+file), ".git"), true
}

// ports are the usual ones of the protocols of git.
var ports = map[string]string{"http": "80", "https": "443", "ssh": "22", "git": "9418"}

// cutHost cuts user@host:path at the colon. A drive of Windows is no host.
func cutHost(remote string) (host, file string, ok bool) {
	remote = strings.TrimSpace(remote)
	from := strings.Index(remote, "]") + 1 // behind an IPv6 address
	i := strings.IndexByte(remote[from:], ':') + from
	if i < from || i < 2 || strings.Contains(remote[:i], "/") {
		return "", "", false
	}
	return remote[:i], remote[i+1:], true
}

// inRepository returns where a folder of a clone comes from, and the folder with all files of the
// repository; "" means that there is none, as with a sparse checkout. Worktrees have one place too.
func inRepository(dir string) (p Place, checkout string) {
	dir = regular.Real(dir)
	for top := dir; ; top = filepath.Dir(top) {
		own, common, err := gitDirs(filepath.Join(top, ".git"))
		if err == nil {
			p := Place{Dir: common}
			if rel, err := filepath.Rel(top, dir); err == nil {
				p.Sub = filepath.ToSlash(rel)
			}
			config, _ := regular.ReadShort(filepath.Join(common, "config"), maxConfig)
			p.Remote = remoteOf(string(config))
			if _, err := os.Lstat(filepath.Join(own, "info", "sparse-checkout")); err == nil {
				top = ""
			}
			return p, top
		}
		if top == filepath.Dir(top) {
			return Place{Dir: dir}, ""
		}
	}
}

// maxConfig bounds the size of a file of git that is read.
const maxConfig = 1 << 20

// gitDirs returns the folder of git of one worktree, and the one that all worktrees of the
// repository share, given ".git" of that worktree.
func gitDirs(git string) (own, common string, err error) {
	if info, err := os.Stat(git); err != nil || info.IsDir() {
		return git, git, err
	}
	text, err := regular.ReadShort(git, maxConfig)
	if err != nil {
		return "", "", err
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", "", errors.New("it does not lead to a repository")
	}
	own = from(filepath.Dir(git), own)
	if text, err = regular.ReadShort(filepath.Join(own, "commondir"), maxConfig); err != nil {
		return own, own, nil // as of a submodule
	}
	return own, from(own, strings.TrimSpace(string(text))), nil
}

// from returns a path that may start at a folder.
func from(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// remoteOf returns the URL of the remote "origin" in a configuration of git, or of the first
// remote; "" if there is none.
func remoteOf(config string) string {
	first, name, isRemote := "", "", false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			kind, rest, _ := strings.Cut(line[1:], `"`)
			isRemote, name = strings.EqualFold(strings.TrimSpace(kind), "remote"), strings.TrimSuffix(rest, `"]`)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !isRemote || !ok || !strings.EqualFold(strings.TrimSpace(key), "url") {
			continue
		}
		value, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(value), `"`), " #")
		if name == "origin" {
			return value
		}
		if first == "" {
			first = value
		}
	}
	return first
}

// machineKey returns the key by which this machine makes origins, and makes it at first.
func machineKey(state string) (string, error) {
	name := filepath.Join(state, "push-key")
	key, err := regular.ReadShort(name, 1024)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(name); err == nil {
			key, err = regular.ReadShort(name, 1024)
		}
	}
	if err == nil && len(key) == 0 {
		err = errors.New("the file is empty; remove it")
	}
	if err != nil {
		return "", fmt.Errorf("keeping the key by which catalogs know this machine in %s: %w", name, err)
	}
	return string(key), nil
}

// makeKey makes the file, unless another process has made it just now.
func makeKey(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	err := atomicfile.Replace(name, []byte(rand.Text()+"\n"), 0o600, func() error {
		if _, err := os.Lstat(name); err == nil {
			return fs.ErrExist
		}
		return nil
	})
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// An OriginError means that the catalog has a source of this label from elsewhere.
type OriginError struct {
	Label    string
	Has, Own string // IDs of origins; "" means unknown
	Skills   int    // that the catalog has of it
	Folder   bool   // it is from another folder of the same repository
}

func (e *OriginError) Error() string {
	where := "another repository or machine"
	if e.Folder {
		where = "another folder of this repository"
	}
	return fmt.Sprintf("the catalog has %s from %s (origin %s, this is %s), with %s", e.Label, where, cmp.Or(ShortOrigin(e.Has), "unknown"), cmp.Or(ShortOrigin(e.Own), "unknown"), figures.Count(e.Skills, "skill"))
}

// checkOrigin fails if the catalog has a source from elsewhere that is not to be replaced. A
// folder that has moved in its repository takes the place of what it was.
func (p *pusher) checkOrigin(ctx context.Context, r store.Reader, label string) error {
	s, err := sourceOf(ctx, r, label)
	own := p.Origins[label]
	same := s.Repository != "" && s.Repository == own.Repository
	if err != nil || s.Origin == "" || s.Origin == own.ID || slices.Contains(p.Replace, label) || same && !p.mayHold(own, s.Origin) {
		return err
	}
	known, err := r.Known(ctx, s.Row, nil)
	return errors.Join(err, &OriginError{label, s.Origin, own.ID, len(known), same})
}
