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

// Origin tells repositories apart that push folders of one name. All clones and worktrees of a
// repository have the same origin, on every machine: a digest of its remote, without
// credentials, and of the folder in it. A folder without a remote on another machine has one
// that a random key of this machine makes, which is kept in the folder that state returns. No
// origin tells a path of this machine.
func (p Place) Origin(state func() (string, error)) (string, error) {
	if p.Remote == "" {
		p = inRepository(p.Dir)
	}
	if remote, ok := normalRemote(p.Remote); ok {
		return digest("repository", remote, path.Clean("/"+p.Sub)), nil
	}
	dir, err := state()
	if err != nil {
		return "", err
	}
	key, err := machineKey(dir)
	return digest("machine", key, p.Dir, path.Clean("/"+p.Sub)), err
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

// inRepository returns where a folder of a clone comes from. Worktrees have one origin too.
func inRepository(dir string) Place {
	dir = regular.Real(dir)
	for top := dir; ; top = filepath.Dir(top) {
		common, err := gitDir(filepath.Join(top, ".git"))
		if err == nil {
			p := Place{Dir: common}
			if rel, err := filepath.Rel(top, dir); err == nil {
				p.Sub = filepath.ToSlash(rel)
			}
			config, _ := regular.ReadShort(filepath.Join(common, "config"), maxConfig)
			p.Remote = remoteOf(string(config))
			return p
		}
		if top == filepath.Dir(top) {
			return Place{Dir: dir}
		}
	}
}

// maxConfig bounds the size of a file of git that is read.
const maxConfig = 1 << 20

// gitDir returns the folder that all worktrees of a repository share, given ".git" of one.
func gitDir(git string) (string, error) {
	if info, err := os.Stat(git); err != nil || info.IsDir() {
		return git, err
	}
	text, err := regular.ReadShort(git, maxConfig)
	if err != nil {
		return "", err
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", errors.New("it does not lead to a repository")
	}
	own = from(filepath.Dir(git), own)
	if text, err = regular.ReadShort(filepath.Join(own, "commondir"), maxConfig); err != nil {
		return own, nil // as of a submodule
	}
	return from(own, strings.TrimSpace(string(text))), nil
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

// An OriginError means that the catalog has a source of this label from another repository or
// machine.
type OriginError struct {
	Label    string
	Has, Own string // origins
	Skills   int    // that the catalog has of it
}

func (e *OriginError) Error() string {
	return fmt.Sprintf("the catalog has %s from another repository or machine (origin %s, this is %s), with %s", e.Label, ShortOrigin(e.Has), cmp.Or(ShortOrigin(e.Own), "unknown"), figures.Count(e.Skills, "skill"))
}

// checkOrigin fails if the catalog has a source from elsewhere that is not to be replaced.
func (p *pusher) checkOrigin(ctx context.Context, r store.Reader, label string) error {
	s, err := sourceOf(ctx, r, label)
	own := p.Origins[label]
	if err != nil || s.Origin == "" || s.Origin == own || slices.Contains(p.Replace, label) {
		return err
	}
	known, err := r.Known(ctx, s.Row, nil)
	return errors.Join(err, &OriginError{label, s.Origin, own, len(known)})
}
