package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// serve starts a server for one handler.
func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// hijacked sends raw bytes and closes the connection.
func hijacked(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprint(c, text)
			c.Close()
		}
	}
}

// endless sends data until the client goes away.
func endless(w http.ResponseWriter, _ *http.Request) {
	block := make([]byte, 32<<10)
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// stalled sends a few bytes, and nothing more until the client goes away.
func stalled(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "few bytes")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestDownload(t *testing.T) {
	to := filepath.Join(t.TempDir(), "file")
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		fmt.Fprint(w, "content of "+r.URL.Path)
	})
	must.Do(t, remote.Download(t.Context(), url, to, nil))
	data, err := os.ReadFile(to)
	if err != nil || string(data) != "content of /there" {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

// TestDownloadFails: every failure says what is wrong, and leaves what was there and nothing
// else.
func TestDownloadFails(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		url     string // instead of the handler's
		limits  remote.Limits
		want    string
	}{
		"http":            {url: "http://example.com/a.zip", want: "others could change what comes over http; use https"},
		"file":            {url: "file:///etc/passwd", want: "the URL has no host"},
		"other scheme":    {url: "ftp://example.com/a.zip", want: "only https is allowed"},
		"malformed":       {url: "https://user:secret@[", want: "the URL is malformed"},
		"password":        {url: "ftp://user:secret@example.com/", want: "user:xxxxx@"},
		"not found":       {handler: status(404), want: "the server answered 404 Not Found; check the address"},
		"login":           {handler: status(401), want: "401 Unauthorized; the server wants a login"},
		"too many":        {handler: status(429), want: "try again later"},
		"server error":    {handler: status(500), want: "500 Internal Server Error"},
		"partial":         {handler: status(206), want: "206 Partial Content"},
		"redirect loop":   {handler: redirect("/again"), want: "redirects more than 5 times"},
		"redirects":       {handler: redirect("/again"), limits: remote.Limits{Redirects: -1}, want: "redirects more than 0 times"},
		"to another":      {handler: redirect(secure.URL), want: "the server redirects from http to https://"},
		"to a file":       {handler: redirect("file:///etc/passwd"), want: "the server redirects from http to file:"},
		"to http outside": {handler: redirect("http://example.com/a.zip"), want: "use https"},
		"certificate":     {url: secure.URL, want: "certificate"},
		"endless":         {handler: endless, limits: remote.Limits{Bytes: 1 << 20}, want: "the file is larger than 1048576 bytes"},
		"stated size":     {handler: hijacked("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), want: "the file is larger than 52428800 bytes"},
		"cut":             {handler: hijacked("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), want: "the connection ended after 9 of 100 bytes; try again"},
		"cut chunk":       {handler: hijacked("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nonly this"), want: "the connection ended"},
		"no answer":       {handler: hijacked(""), want: "EOF"},
		"silent":          {handler: stalled, limits: remote.Limits{Stall: time.Millisecond}, want: "the server sent less than 32 KiB in 1ms; try again"},
		"nobody":          {url: "http://127.0.0.1:1/", want: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			to := filepath.Join(dir, "file")
			must.Do(t, os.WriteFile(to, []byte("before"), 0o600))
			if c.url == "" {
				c.url = serve(t, c.handler)
			}
			err := remote.Download(t.Context(), c.url, to, &c.limits)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			data, _ := os.ReadFile(to)
			entries, err := os.ReadDir(dir)
			if string(data) != "before" || len(entries) != 1 {
				t.Errorf("left %q and %v, %v", data, entries, err)
			}
		})
	}
}

func TestDownloadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		stalled(w, r)
	})
	dir := t.TempDir()
	err := remote.Download(ctx, url, filepath.Join(dir, "file"), nil)
	if left, _ := fs.Glob(os.DirFS(dir), "*"); !errors.Is(err, context.Canceled) || len(left) > 0 {
		t.Errorf("%v; left %v", err, left)
	}
}

// TestKey: a key goes to the host of the address, also after a redirect there, and to no other.
func TestKey(t *testing.T) {
	var seen []string
	var other string
	see := func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/file", http.StatusFound)
		case "/there":
			http.Redirect(w, r, other+"/file", http.StatusFound)
		default:
			fmt.Fprint(w, "text")
		}
	}
	one := serve(t, see)
	other = serve(t, see)
	to := filepath.Join(t.TempDir(), "f")
	for _, path := range []string{"/here", "/there"} {
		must.Do(t, remote.Download(t.Context(), one+path, to, &remote.Limits{Key: "hunter22"}))
	}
	if got := strings.Join(seen, "\n"); got != "/here Bearer hunter22\n/file Bearer hunter22\n/there Bearer hunter22\n/file " {
		t.Errorf("seen:\n%s", got)
	}
	file := remote.File{URL: one + "/file", Digest: "sha256:" + strings.Repeat("0", 64)}
	if err := file.Verify(to); err == nil || !strings.Contains(err.Error(), "and the index says sha256:000") {
		t.Errorf("error %v", err)
	}
	must.Do(t, remote.File{}.Verify(to))
}
