package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// An action is what action.yml says.
type action struct {
	Inputs map[string]struct {
		Description, Default string
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, ID, If, Shell, Run, Uses string
	Env, With                      map[string]string
}

// An actionRun is a run of the action as GitHub would run it, without the actions of others.
type actionRun struct {
	t       *testing.T
	inputs  map[string]string
	dir     string // of the repository with the skills
	path    string // PATH
	env     []string
	outputs map[string]string // of steps, "doctor.sarif"
}

// value returns a text with its expressions replaced.
func (r *actionRun) value(text string) string {
	return regexp.MustCompile(`\$\{\{ *(inputs|steps)\.([a-z.-]+) *\}\}`).ReplaceAllStringFunc(text, func(e string) string {
		name := strings.Trim(e, "${} ")
		v, ok := r.inputs[strings.TrimPrefix(name, "inputs.")]
		if strings.HasPrefix(name, "steps.") {
			v, ok = r.outputs[strings.Replace(strings.TrimPrefix(name, "steps."), ".outputs.", ".", 1)]
		}
		if !ok {
			r.t.Errorf("%s is not there", e)
		}
		return v
	})
}

// wants reports whether a step runs if none before has failed.
func (r *actionRun) wants(s *actionStep) bool {
	for _, part := range strings.Split(strings.Trim(s.If, "${} "), " && ") {
		name, want, is := strings.Cut(part, " == ")
		switch {
		case part == "" || part == "!cancelled()":
		case !is:
			r.t.Fatalf("a condition that this test does not know: %s", s.If)
		case r.value("${{ "+name+" }}") != strings.Trim(want, "'"):
			return false
		}
	}
	return true
}

// run runs the steps, and returns what each prints, and the names of those that fail.
func (r *actionRun) run(a *action) (said map[string]string, failed []string) {
	said = make(map[string]string)
	files := r.t.TempDir()
	for i := range a.Runs.Steps {
		s := &a.Runs.Steps[i]
		if failed != nil && s.If == "" || !r.wants(s) {
			continue
		}
		if s.Uses != "" {
			said[s.Name] = r.value(s.With["sarif_file"])
			continue
		}
		if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			r.t.Errorf("step %s: shell %q; what callers give must come by env, not into the script", s.Name, s.Shell)
		}
		output, paths := filepath.Join(files, "output"), filepath.Join(files, "path")
		must.Do(r.t, os.WriteFile(output, nil, 0o644))
		must.Do(r.t, os.WriteFile(paths, nil, 0o644))
		root, err := filepath.Abs("../..")
		must.Do(r.t, err)
		cmd := exec.CommandContext(r.t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", s.Run)
		cmd.Dir = r.dir
		cmd.Env = append(r.env, "PATH="+r.path, "GITHUB_OUTPUT="+output, "GITHUB_PATH="+paths, "RUNNER_TEMP="+files, "GITHUB_ACTION_PATH="+root)
		for name, value := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+r.value(value))
		}
		out, err := cmd.CombinedOutput()
		if said[s.Name] = string(out); err != nil {
			failed = append(failed, s.Name)
		}
		for line := range strings.Lines(must.Read(r.t, output)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			r.outputs[s.ID+"."+name] = value
		}
		for line := range strings.Lines(must.Read(r.t, paths)) {
			r.path = strings.TrimSpace(line) + string(os.PathListSeparator) + r.path
		}
	}
	return said, failed
}

// actionSkill writes a skill with an eval and a test.
func actionSkill(t *testing.T, dir, eval, stdout string) {
	t.Helper()
	must.Files(t, dir, map[string]string{
		"my skills/tea/SKILL.md":         "---\nname: tea\ndescription: Boils water for tea. Use when somebody wants tea.\nallowed-tools: Bash(scripts/boil.sh)\n---\nRun scripts/boil.sh.\n",
		"my skills/tea/scripts/boil.sh":  "#!/bin/sh\necho boiled\n",
		"my skills/tea/evals/evals.json": fmt.Sprintf("[%q]\n", eval),
		"my skills/tea/tests/boil.txtar": "-- command --\nscripts/boil.sh\n-- stdout --\n" + stdout + "\n",
	})
	must.Do(t, os.Chmod(filepath.Join(dir, "my skills/tea/scripts/boil.sh"), 0o755))
}

// release serves a release whose program calls this test's program.
func release(t *testing.T, program string) string {
	t.Helper()
	folder := fmt.Sprintf("repertoire_1.2.3_%s_%s", runtime.GOOS, runtime.GOARCH)
	script := "#!/bin/sh\nexec '" + program + "' \"$@\"\n"
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	must.Do(t, w.WriteHeader(&tar.Header{Name: folder + "/skills", Mode: 0o755, Size: int64(len(script))}))
	_, err := w.Write([]byte(script))
	must.Do(t, err)
	must.Do(t, w.Close())
	must.Do(t, z.Close())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/download/v1.2.3/checksums.txt":
			fmt.Fprintf(w, "%x  %s.tar.gz\n", sha256.Sum256(b.Bytes()), folder)
		case "/download/v1.2.3/" + folder + ".tar.gz":
			w.Write(b.Bytes())
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestAction: the steps of action.yml install the program, report findings, ask the evals and
// run the tests; each fails for its own reason, and a failure hides no later one.
func TestAction(t *testing.T) {
	testsize.Long(t)
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs bash")
	}
	var a action
	must.Do(t, yaml.Unmarshal([]byte(must.Read(t, "../../action.yml")), &a))
	if a.Runs.Using != "composite" || len(a.Runs.Steps) != 5 {
		t.Fatalf("%+v", a.Runs)
	}
	program, err := os.Executable()
	must.Do(t, err)
	links := t.TempDir()
	link := filepath.Join(links, "repertoire")
	must.Do(t, os.Symlink(program, link))
	home := t.TempDir()
	t.Cleanup(func() { waitForIndexes(t, home) })
	start := func(inputs map[string]string) *actionRun {
		r := &actionRun{t: t, inputs: make(map[string]string), outputs: make(map[string]string), dir: t.TempDir(), path: links + ":/usr/bin:/bin"}
		r.env = []string{"HOME=" + home, "REPERTOIRE_CACHE=" + filepath.Join(home, "cache"), "REPERTOIRE_RELEASES=" + release(t, link), "GORACE=" + noExitSleep}
		for name, in := range a.Inputs {
			if r.inputs[name] = in.Default; in.Description == "" {
				t.Errorf("input %s is not described", name)
			}
		}
		for name, value := range inputs {
			if _, ok := a.Inputs[name]; !ok {
				t.Fatalf("no input %s", name)
			}
			r.inputs[name] = value
		}
		return r
	}

	r := start(map[string]string{"folder": "my skills", "version": "v1.2.3", "min-offered": "1", "min-rank": "1", "upload": "true", "fail-on": "warn"})
	actionSkill(t, r.dir, "boil water for tea", "boiled")
	said, failed := r.run(&a)
	if failed != nil || !strings.Contains(said["Install"], "installed "+home) || !strings.Contains(said["Evals"], "tea\toffered\tboil water for tea") || !strings.Contains(said["Tests"], "passed tea/tests/boil.txtar") {
		t.Errorf("failed: %q\n%s", failed, said)
	}
	if sarif := r.value(a.Outputs["sarif"].Value); said["Code scanning"] != sarif || !strings.Contains(must.Read(t, sarif), `"version": "2.1.0"`) {
		t.Errorf("%q of %q", sarif, said["Code scanning"])
	}

	r = start(map[string]string{"folder": "my skills", "version": "1.2.3", "min-offered": "1"})
	actionSkill(t, r.dir, "sort the socks by colour", "cold")
	must.Write(t, filepath.Join(r.dir, "my skills/bad/SKILL.md"), "---\nname: bad\n---\n")
	said, failed = r.run(&a)
	if fmt.Sprint(failed) != "[Findings Evals Tests]" || !strings.Contains(said["Findings"], "::error file=my skills/bad/SKILL.md") ||
		!strings.Contains(said["Evals"], "--min-offered wants 100 %") || !strings.Contains(said["Tests"], "failed tea/tests/boil.txtar") || said["Code scanning"] != "" {
		t.Errorf("failed: %q\n%s", failed, said)
	}

	r = start(map[string]string{"version": "v9"})
	if said, failed = r.run(&a); failed == nil || failed[0] != "Install" || !strings.Contains(said["Install"], "cannot download") {
		t.Errorf("a version that is not there: failed: %q\n%s", failed, said)
	}

	must.Do(t, os.Symlink(program, filepath.Join(links, "skills"))) // is used as it is
	r = start(map[string]string{"tests": "false"})
	must.Write(t, filepath.Join(r.dir, "skills/ant/SKILL.md"), "---\nname: ant\ndescription: Carries. Use when asked.\n---\nCarry.\n")
	said, failed = r.run(&a)
	if failed != nil || said["Install"] != "" || !strings.Contains(said["Evals"], "no skill of the catalog has prompts") || said["Tests"] != "" {
		t.Errorf("failed: %q\n%s", failed, said)
	}

	r = start(map[string]string{"min-offered": "1"})
	actionSkill(t, r.dir, "sort the socks by colour", "cold")
	must.Do(t, os.Rename(filepath.Join(r.dir, "my skills"), filepath.Join(r.dir, "skills")))
	must.Do(t, os.Symlink("..", filepath.Join(r.dir, "skills/tea/loop"))) // a search of the shell's own ended at it
	if said, failed = r.run(&a); fmt.Sprint(failed) != "[Evals Tests]" {
		t.Errorf("with a link loop: failed: %q\n%s", failed, said)
	}
}
