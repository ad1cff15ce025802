package cli

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestWeb runs the process: it opens the browser with the address that it prints, which
// shows the catalog to one browser, and ends at an interrupt.
func TestWeb(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the browser is started by xdg-open on other systems only")
	}
	fixture(t)
	folder := t.TempDir()
	opened := filepath.Join(folder, "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" > '" + opened + ".new'\nmv '" + opened + ".new' '" + opened + "'\n"
	must.Do(t, os.WriteFile(filepath.Join(folder, "xdg-open"), []byte(script), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":99")
	cmd := exec.Command("skills", "web", "--json")
	pipe, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	r := bufio.NewReader(pipe)
	text, err := r.ReadString('}')
	if err != nil {
		t.Fatal(err, text)
	}
	url, _ := object(t, text)["url"].(string)
	registry, _ := object(t, text)["registry"].(string)
	if status, body := get(t, registry+"/.well-known/ard.json"); status != http.StatusOK || !strings.Contains(body, `"url":"`+registry) {
		t.Errorf("the registry answers %d, %s", status, body)
	}
	eventually(t, "no browser was opened", func() bool { return size(opened) > 0 })
	if got, err := os.ReadFile(opened); err != nil || string(got) != url {
		t.Errorf("the browser got %q, %v, not %q", got, err, url)
	}

	jar, err := cookiejar.New(nil)
	must.Do(t, err)
	browser := &http.Client{Jar: jar}
	resp, err := browser.Get(url)
	must.Do(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || strings.Contains(resp.Request.URL.String(), "key") {
		t.Errorf("%d at %s", resp.StatusCode, resp.Request.URL)
	}
	bare, _, _ := strings.Cut(url, "?")
	if status, _ := get(t, bare); status != http.StatusUnauthorized {
		t.Errorf("another browser gets %d", status)
	}
	// The owner disables and enables a skill, and pins it: that is in the configuration, and holds at once.
	for _, c := range []struct {
		agent, on, want string
		written         bool
	}{{"", "", "Not offered: ", true}, {"", "1", "Disable for everybody", false}, {"keeper", "1", "Unpin for keeper", true}, {"keeper", "", "Always offer it to", false}} {
		form := neturl.Values{"id": {"post"}, "agent": {c.agent}, "on": {c.on}}.Encode()
		req, err := http.NewRequest("POST", bare+"switch", strings.NewReader(form))
		must.Do(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", req.URL.Scheme+"://"+req.URL.Host)
		resp, err := browser.Do(req)
		must.Do(t, err)
		body, err := io.ReadAll(resp.Body)
		must.Do(t, errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), c.want) {
			t.Errorf("%+v: %d in %s", c, resp.StatusCode, body)
		}
		data, err := os.ReadFile(os.Getenv("REPERTOIRE_CONFIG"))
		if err != nil || strings.Contains(string(data), "post") != c.written {
			t.Errorf("%+v: the configuration is %s, %v", c, data, err)
		}
	}
	must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}
