// Package remote brings skills from elsewhere to this disk: it downloads archives, reads
// sites that list their skills below /.well-known, and keeps the folders of roots that are
// a repository, an archive or a site in step with them.
//
// The one rule: what cannot be fetched or is refused changes nothing that is there.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// Limits bound a download. nil means all zero values.
type Limits struct {
	Bytes     int64          // of one file; 0 means 50 MiB
	Stall     time.Duration  // in which at least 32 KiB, or the rest, must arrive; 0 means 30 s
	Total     time.Duration  // of all that a root needs; 0 means 10 min, and an hour for Fetch
	Redirects int            // 0 means 5; a negative number means none
	Key       string         // sent to the host of the address, and to no other; "" means none
	Named     string         // host and port that the user has named; any other must not be on this machine. "" means the host of the address
	Unpack    *unpack.Limits // of what is unpacked; nil means the limits of package unpack
}

func (l *Limits) filled() Limits {
	f := *cmp.Or(l, new(Limits))
	f.Bytes = cmp.Or(f.Bytes, 50<<20)
	f.Stall = cmp.Or(f.Stall, 30*time.Second)
	f.Redirects = max(0, cmp.Or(f.Redirects, 5))
	return f
}

const (
	progress = 32 << 10         // bytes that must arrive within Limits.Stall
	longest  = time.Hour        // that a download may take in any case
	briefly  = 10 * time.Minute // that a root may take which nobody waits for
)

// A slowError says that too little arrived within Limits.Stall.
type slowError struct{ stall time.Duration }

func (e *slowError) Error() string {
	return fmt.Sprintf("the server sent less than 32 KiB in %v; try again", e.stall)
}

// A File is a skill on a server: an archive, or a SKILL.md alone.
type File struct {
	URL    string
	Digest string // "sha256:<hex>" of it; "" means that nobody says one
	Plain  bool   // it is a SKILL.md
	Skill  string // digest of the skill in it, see skill.Meta.Digest; "" means that nobody says one
	Key    string // see Limits
	Named  string // see Limits
}

// Verify returns an error if the file that was downloaded to a path has another digest than
// the index of a site or a registry says.
func (f File) Verify(path string) error {
	if f.Digest == "" {
		return nil
	}
	got, err := Digest(path)
	if err == nil && got != f.Digest {
		err = fmt.Errorf("%s has the digest %s, and the index says %s; the file was changed, or the site is being updated", endpoint.Shown(f.URL), got, f.Digest)
	}
	return err
}

// Download writes what a server has at a URL into the file to, whose folder must exist. The file
// appears with its whole content or not at all. The URL begins with https://, or with
// http:// if the server is on this machine. Proxies come from the environment.
func Download(ctx context.Context, address, to string, l *Limits) error {
	limits := l.filled()
	r, err := open(ctx, address, limits)
	if err != nil {
		return err
	}
	defer r.close()
	f, err := os.CreateTemp(filepath.Dir(to), ".download-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// A response is the content of a file on a server, within limits.
type response struct {
	url    *url.URL // after redirects
	body   io.ReadCloser
	limits Limits
	length int64 // as the server states it; -1 means that it does not
	read   int64
	ctx    context.Context // of this response alone; its cause says why it ended
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // of longest
	timer  *time.Timer
	fresh  int64 // bytes since the timer was set
}

// A StatusError says that a server answered with something other than the file.
type StatusError struct {
	URL  string // without a password
	Code int
}

func (e *StatusError) Error() string {
	hint := ""
	switch e.Code {
	case http.StatusNotFound, http.StatusGone:
		hint = "; check the address"
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "; the server wants a login"
	case http.StatusTooManyRequests:
		hint = "; try again later"
	}
	return fmt.Sprintf("%s: the server answered %d %s%s", e.URL, e.Code, http.StatusText(e.Code), hint)
}

// open asks for a file. The caller must close the response.
func open(ctx context.Context, address string, l Limits) (*response, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	r := &response{limits: l}
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.ctx, r.stop = context.WithTimeoutCause(ctx, longest, fmt.Errorf("it took more than %v", longest))
	r.timer = time.AfterFunc(l.Stall, func() { r.cancel(&slowError{l.Stall}) })
	if err := r.get(u); err != nil {
		r.close()
		return nil, fmt.Errorf("downloading %s: %w", endpoint.Shown(u.String()), err)
	}
	return r, nil
}

func (r *response) get(u *url.URL) error {
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "repertoire")
	if r.limits.Key != "" {
		req.Header.Set("Authorization", "Bearer "+r.limits.Key)
	}
	resp, err := newClient(cmp.Or(r.limits.Named, u.Host), r.limits.Redirects).Do(req)
	if err != nil {
		return r.cause(err)
	}
	r.url, r.body, r.length = resp.Request.URL, resp.Body, resp.ContentLength
	switch {
	case resp.StatusCode != http.StatusOK:
		return &StatusError{endpoint.Shown(r.url.String()), resp.StatusCode}
	case r.length > r.limits.Bytes:
		return r.tooLarge()
	}
	return nil
}

// cause returns why a request was cut off, or else what net/http says, without the URL.
func (r *response) cause(err error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	return err
}

func (r *response) tooLarge() error {
	return fmt.Errorf("the file is larger than %d bytes", r.limits.Bytes)
}

// Read reads the content. It ends with an error if there is too much, too little, or
// nothing for too long.
func (r *response) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	r.read += int64(n)
	if r.fresh += int64(n); r.fresh >= progress {
		r.fresh = 0
		r.timer.Reset(r.limits.Stall)
	}
	switch {
	case r.read > r.limits.Bytes:
		err = r.tooLarge()
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && (r.length < 0 || r.read == r.length):
		return n, io.EOF
	case r.ctx.Err() != nil:
		err = context.Cause(r.ctx)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		err = fmt.Errorf("the connection ended after %d of %d bytes; try again", r.read, r.length)
	}
	return n, fmt.Errorf("downloading %s: %w", endpoint.Shown(r.url.String()), err)
}

func (r *response) close() {
	r.timer.Stop()
	if r.body != nil {
		r.body.Close() // what was read is what counts
	}
	r.stop()
	r.cancel(nil)
}

// newClient returns a client that follows a few redirects to the same scheme. It asks for no
// compression, so that the stated length is the length of the file.
func newClient(named string, redirects int) *http.Client {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10}
	return &http.Client{Transport: endpoint.Abroad(t, named), CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch {
		case len(via) > redirects:
			return fmt.Errorf("the server redirects more than %d times", redirects)
		case req.URL.Scheme != via[0].URL.Scheme:
			return fmt.Errorf("the server redirects from %s to %s", via[0].URL.Scheme, endpoint.Shown(req.URL.String()))
		case endpoint.IsHere(req.URL.Hostname()) && !endpoint.IsHere(via[0].URL.Hostname()):
			return fmt.Errorf("the server redirects to this machine, to %s", endpoint.Shown(req.URL.String()))
		case req.URL.Host != via[0].URL.Host:
			req.Header.Del("Authorization") // net/http would send it to subdomains and other ports
		}
		return check(req.URL)
	}}
}

// parse checks the address of a file on a server.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the URL is malformed") // the error has the URL, which may hold a password
	}
	return u, check(u)
}

func check(u *url.URL) error {
	switch {
	case u.Host == "":
		return fmt.Errorf("%s: the URL has no host", endpoint.Shown(u.String()))
	case u.Scheme == "https" || u.Scheme == "http" && endpoint.IsHere(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("%s: others could change what comes over http; use https", endpoint.Shown(u.String()))
	}
	return fmt.Errorf("%s: only https is allowed", endpoint.Shown(u.String()))
}
