package clientstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience is how long a client may take for one prompt.
const patience = 2 * time.Minute

// A Home is the home of a person who has the program, a catalog and one client.
type Home struct {
	Dir     string // the home
	Project string // a folder to work in
	Program string // "skills"

	modules string // node_modules
	proxy   string // the URL of a Server, which notes what would leave the machine
}

// NewHome makes a home in an empty folder, with files by their paths in it.
func NewHome(dir, program, modules, proxy string, files map[string]string) (*Home, error) {
	h := &Home{dir, filepath.Join(dir, "work"), program, modules, proxy}
	errs := []error{os.MkdirAll(h.Project, 0o700)}
	for name, text := range files {
		errs = append(errs, h.write(name, text))
	}
	return h, errors.Join(errs...)
}

func (h *Home) write(name, text string) error {
	name = filepath.Join(h.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

// environ is the environment of everything that runs in the home: nothing of the person who
// runs the tests but where programs are.
func (h *Home) environ(more ...string) []string {
	path := []string{filepath.Join(h.modules, node(), "bin"), filepath.Join(h.modules, ".bin"), os.Getenv("PATH")}
	env := []string{"HOME=" + h.Dir, "PATH=" + strings.Join(path, string(filepath.ListSeparator)), "LANG=C.UTF-8", "NO_COLOR=1", "CI=1", "REPERTOIRE_CONTEXTUAL=off",
		"TMPDIR=" + os.TempDir(), "NO_PROXY=127.0.0.1,localhost", "NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		env = append(env, name+"="+h.proxy)
	}
	return append(env, more...)
}

// Run runs a program in the project and returns what it prints.
func (h *Home) Run(ctx context.Context, env []string, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = h.Project, h.environ(env...), &out, &out
	cmd.WaitDelay = 5 * time.Second // what a client has left behind holds its output
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, &out)
	}
	return out.String(), nil
}

// Files returns all files of the home by their paths in it.
func (h *Home) Files() (map[string]string, error) {
	files := make(map[string]string)
	err := filepath.WalkDir(h.Dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a client may be tidying up
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(h.Dir, name)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	return files, err
}
