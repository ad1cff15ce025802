//go:build unix

package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/repertoire-skills/repertoire/internal/pgtest"
)

// TestMain lets the test binary be docker for the script of the demo, see engine.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "docker" {
		if err := dockerMain(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "docker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestDemo runs the script of the demo: all its commands, with processes in place of containers,
// since an engine is not everywhere; .ci/run-long runs it with one.
func TestDemo(t *testing.T) {
	for _, name := range []string{"psql", "curl", "caddy"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s: %v", name, err)
		}
	}
	d := newDemo(t)
	var tokens []string
	for range 2 {
		out := d.run(t, 0)
		if !strings.Contains(out, "- **pdf-text-extraction**: ") || !strings.Contains(out, d.page()) {
			t.Fatalf("the demo prints:\n%s", out)
		}
		tokens = append(tokens, regexp.MustCompile(`Its token +(\S+)`).FindStringSubmatch(out)[1])
	}
	for token, want := range map[string]string{"": "401", tokens[0]: "401", tokens[1]: "200"} {
		out, err := exec.Command("curl", "-s", "--noproxy", "*", "--cacert", d.file("deploy/demo-secrets/authority.pem"), "-o", os.DevNull, "-w", "%{http_code}",
			"-H", "Authorization: Bearer "+token, "-d", `{"prompt": "fill in a form"}`, "-H", "Content-Type: application/json",
			strings.Replace(d.page(), "/ui/", "/v1/suggest", 1)).Output()
		if string(out) != want {
			t.Errorf("with the token %q the status is %s, want %s: %v", token, out, want, err)
		}
	}
	if info, err := os.Stat(d.file("deploy/demo-secrets")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the passwords: %v, %v", info, err)
	}
	d.run(t, 0, "down")
	if _, err := os.Stat(d.file("deploy/demo-secrets")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the passwords are still there: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // the port of before may not be free yet
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d.engine.Proxy = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	if out := d.run(t, 1); !strings.Contains(out, "is taken: choose another one, as in SKILLS_PORT=") {
		t.Errorf("on a port that is taken the demo prints:\n%s", out)
	}
}

// TestDemoWithout: what is missing is said, and what to do about it.
func TestDemoWithout(t *testing.T) {
	for docker, want := range map[string]string{
		"":                              "there is no docker: install it",
		`[ "$1" != compose ]`:           "docker has no plugin compose: install it",
		`[ "$1" = compose ] || ls /no/`: "docker does not answer: start it, and see that you may use it. It says: ls: ",
		`case "$*" in *build*) echo no route; exit 1;; esac`: "no route\ndeploy/demo: the image cannot be built, see above. ",
	} {
		bin := t.TempDir()
		for _, name := range []string{"sh", "curl", "dirname", "grep", "ls", "od", "tr", "cat", "mkdir", "chmod"} {
			if path, err := exec.LookPath(name); err != nil || os.Symlink(path, filepath.Join(bin, name)) != nil {
				t.Skipf("needs %s: %v", name, err)
			}
		}
		if docker != "" {
			if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\n"+docker+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("/bin/sh", copied(t).file("deploy/demo"))
		cmd.Env = []string{"PATH=" + bin, "LC_ALL=C", "SKILLS_PORT=" + strings.TrimPrefix(freeAddress(t), "127.0.0.1:")}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("with the docker %q: %v: %s", docker, err, out)
		}
	}
}

// A demo is a copy of what the script needs of the repository, with an engine.
type demo struct {
	dir    string
	engine engine
}

func copied(t *testing.T) *demo {
	t.Helper()
	d := &demo{dir: t.TempDir()}
	errs := []error{os.Mkdir(d.file("deploy"), 0o700), os.CopyFS(d.file("testdata/skills/pdf-text-extraction"), os.DirFS("../testdata/skills/pdf-text-extraction")),
		os.CopyFS(d.file("testdata/skills/csv-cleanup"), os.DirFS("../testdata/skills/csv-cleanup"))}
	for _, name := range []string{"demo", "compose.yaml", "node-config.yaml", "Caddyfile"} {
		data, err := os.ReadFile(name)
		errs = append(errs, err, os.WriteFile(d.file("deploy/"+name), data, 0o700))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return d
}

func newDemo(t *testing.T) *demo {
	t.Helper()
	d := copied(t)
	database := pgtest.Start(t, nil).URL(t)
	d.engine = engine{Dir: d.file("engine"), Program: buildProgram(t), Database: database,
		Nodes: map[string]string{"node-a": freeAddress(t), "node-b": freeAddress(t)}, Proxy: freeAddress(t)}
	data, err := json.Marshal(d.engine)
	own, err2 := os.Executable()
	errs := []error{err, err2, os.Mkdir(d.engine.Dir, 0o700), os.WriteFile(d.file("engine/engine.json"), data, 0o600), os.Symlink(own, d.file("engine/docker"))}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.engine.down(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *demo) file(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *demo) page() string {
	_, port, _ := net.SplitHostPort(d.engine.Proxy)
	return "https://localhost:" + port + "/ui/"
}

// run runs the script and returns what it prints.
func (d *demo) run(t *testing.T, status int, args ...string) string {
	t.Helper()
	cmd := exec.Command(d.file("deploy/demo"), args...)
	_, port, _ := net.SplitHostPort(d.engine.Proxy)
	cmd.Env = append(os.Environ(), "PATH="+d.engine.Dir+":"+os.Getenv("PATH"), "SKILLS_PORT="+port)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		t.Fatalf("demo %s: %v\n%s\n%s", strings.Join(args, " "), err, out, d.engine.logs())
	}
	return string(out)
}

// freeAddress returns an address of this machine that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// An engine stands for docker compose: it runs the services of compose.yaml as processes of this
// machine instead of containers. The database runs already.
type engine struct {
	Dir      string // its own
	Program  string
	Database string            // address of a superuser
	Nodes    map[string]string // addresses by service
	Proxy    string            // address

	project *types.Project
}

// dockerMain is docker, with what the engine of its folder can do.
func dockerMain(args []string) error {
	self, err := exec.LookPath(os.Args[0])
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(self), "engine.json"))
	if err != nil {
		return err
	}
	var e engine
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if args[0] == "info" || args[1] == "version" {
		return nil
	}
	if len(args) < 6 || !slices.Equal(args[:3], []string{"compose", "--project-name", "skills-demo"}) || args[3] != "--file" {
		return fmt.Errorf("unknown: %q", args)
	}
	if e.project, err = loadProject(context.Background(), args[4]); err != nil {
		return err
	}
	if args[5] == "--profile" {
		args = slices.Delete(args, 5, 7)
	}
	command, rest := args[5], args[6:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && command != "ps" && command != "down" {
		known := map[string][]string{"build": {"--quiet"}, "up": {"--detach", "--wait"}, "run": {"--rm", "-T", "--no-deps"}, "exec": {"-T"}}
		if !slices.Contains(known[command], rest[0]) {
			return fmt.Errorf("unknown: %q", args)
		}
		rest = rest[1:]
	}
	switch command {
	case "build":
		return nil
	case "up":
		for _, service := range rest {
			if err := e.up(service); err != nil {
				return fmt.Errorf("%s: %w", service, err)
			}
		}
		return nil
	case "ps":
		for _, service := range e.running() {
			fmt.Println(service)
		}
		return nil
	case "run":
		s, err := e.project.GetService(rest[0])
		if err != nil {
			return err
		}
		if len(rest) > 1 {
			s.Command = rest[1:]
		}
		return attached(e.skills(s))
	case "exec":
		if rest[0] == "proxy" && rest[1] == "cat" {
			return attached(exec.Command("cat", filepath.Join(e.Dir, "proxy", rest[2])), nil)
		}
		return attached(e.psql(rest[2:]...))
	case "down":
		return e.down()
	}
	return fmt.Errorf("unknown: %q", args)
}

// attached runs a command with the input and the output of docker.
func attached(cmd *exec.Cmd, err error) error {
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// up starts a service that does not run yet.
func (e *engine) up(service string) error {
	if slices.Contains(e.running(), service) {
		return nil
	}
	s, err := e.project.GetService(service)
	if err != nil {
		return err
	}
	var cmd *exec.Cmd
	switch service {
	case "postgres":
		return e.makeDatabase(s)
	case "proxy":
		cmd, err = e.proxy(s)
	default:
		cmd, err = e.skills(s)
	}
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(e.Dir, service+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.Dir, service+".pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
}

// makeDatabase does what the image of PostgreSQL does at its first start.
func (e *engine) makeDatabase(s types.ServiceConfig) error {
	password, err := os.ReadFile(e.project.Secrets["owner_password"].File)
	if err != nil {
		return err
	}
	user, database := *s.Environment["POSTGRES_USER"], *s.Environment["POSTGRES_DB"]
	cmd := exec.Command("psql", "-q", "-d", e.Database)
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`SELECT 'CREATE ROLE %[1]s SUPERUSER LOGIN PASSWORD ''%[2]s''' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '%[1]s') \gexec
SELECT 'CREATE DATABASE %[3]s OWNER %[1]s' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '%[3]s') \gexec
`, user, bytes.TrimSpace(password), database))
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// psql is the client in the container of the database, which needs no password there.
func (e *engine) psql(args ...string) (*exec.Cmd, error) {
	u, err := url.Parse(e.Database)
	if err != nil {
		return nil, err
	}
	password, err := os.ReadFile(e.project.Secrets["owner_password"].File)
	cmd := exec.Command("psql", args...)
	cmd.Env = append(os.Environ(), "PGHOST="+u.Hostname(), "PGPORT="+u.Port(), "PGPASSWORD="+strings.TrimSpace(string(password)))
	return cmd, err
}

// skills is a service of our image.
func (e *engine) skills(s types.ServiceConfig) (*exec.Cmd, error) {
	u, err := url.Parse(e.Database)
	if err != nil {
		return nil, err
	}
	logins, err := os.ReadFile(e.project.Secrets["pgpass"].File)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(e.Dir, s.Name)
	pgpass := filepath.Join(data, "pgpass")
	logins = bytes.ReplaceAll(logins, []byte("postgres:5432:"), []byte(u.Host+":"))
	if err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(pgpass, logins, 0o600)); err != nil {
		return nil, err
	}
	replaced := strings.NewReplacer("@postgres/", "@"+u.Host+"/", "=0.0.0.0:8080", "="+e.Nodes[s.Name], "=/skills", "="+os.Getenv("SKILLS_FOLDER"))
	var args []string
	for _, arg := range s.Command {
		args = append(args, replaced.Replace(arg))
	}
	cmd := exec.Command(e.Program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + data, "PGSSLMODE=" + *s.Environment["PGSSLMODE"], "PGPASSFILE=" + pgpass}
	for _, c := range s.Configs {
		cmd.Env = append(cmd.Env, "REPERTOIRE_CONFIG="+e.project.Configs[c.Source].File)
	}
	return cmd, nil
}

// proxy is Caddy, at an address that the demo is allowed to have.
func (e *engine) proxy(s types.ServiceConfig) (*exec.Cmd, error) {
	host, port, err := net.SplitHostPort(e.Proxy)
	if err != nil {
		return nil, err
	}
	if len(s.Ports) != 1 || s.Ports[0].HostIP != host || s.Ports[0].Published != port {
		return nil, fmt.Errorf("the ports are %+v, and only %s may be open", s.Ports, e.Proxy)
	}
	file, err := os.ReadFile(filepath.Join(e.project.WorkingDir, "Caddyfile"))
	if err != nil {
		return nil, err
	}
	// The machine must not come to trust it, and port 80 is somebody else's.
	file = bytes.Replace(file, []byte("admin off"), []byte("admin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n\thttps_port "+port), 1)
	name := filepath.Join(e.Dir, "Caddyfile")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		return nil, err
	}
	nodes := *s.Environment["SKILLS_NODES"]
	for service, address := range e.Nodes {
		nodes = strings.ReplaceAll(nodes, service+":8080", address)
	}
	cmd := exec.Command("caddy", "run", "--config", name, "--adapter", "caddyfile")
	cmd.Env = []string{"HOME=" + e.Dir, "XDG_DATA_HOME=" + filepath.Join(e.Dir, "proxy", "data"), "SKILLS_HOST=" + *s.Environment["SKILLS_HOST"], "SKILLS_NODES=" + nodes}
	return cmd, nil
}

// running returns the services that run.
func (e *engine) running() (services []string) {
	for _, service := range []string{"node-a", "node-b", "proxy"} {
		if _, err := os.Stat(filepath.Join(e.Dir, service+".pid")); err == nil {
			services = append(services, service)
		}
	}
	return services
}

// down ends all services.
func (e *engine) down() error {
	var errs []error
	for _, service := range e.running() {
		file := filepath.Join(e.Dir, service+".pid")
		text, err := os.ReadFile(file)
		pid, err2 := strconv.Atoi(string(text))
		if errs = append(errs, err, err2); err == nil && err2 == nil {
			errs = append(errs, syscall.Kill(pid, syscall.SIGKILL), os.Remove(file))
		}
	}
	return errors.Join(errs...)
}

// logs returns what the services have printed.
func (e *engine) logs() (all string) {
	for service := range e.Nodes {
		text, _ := os.ReadFile(filepath.Join(e.Dir, service+".log"))
		all += fmt.Sprintf("%s:\n%s", service, text)
	}
	return all
}
