package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// embedderEnv is a machine with nothing on it.
func embedderEnv(t *testing.T) *setup.Env {
	t.Helper()
	dir := t.TempDir()
	return &setup.Env{Machine: client.Machine{OS: "linux", Home: dir, Getenv: func(string) string { return "" }},
		Program: "/opt/skills", State: filepath.Join(dir, "state")}
}

func ollama() openai.Config {
	query, document := "search_query: ", "search_document: "
	return openai.Config{BaseURL: "http://127.0.0.1:11434/v1", Model: "nomic-embed-text:latest", KeyEnv: "-",
		QueryPrefix: &query, DocumentPrefix: &document}
}

const written = `  openai:
    base_url: "http://127.0.0.1:11434/v1"
    model: "nomic-embed-text:latest"
    key_env: "-"
    query_prefix: "search_query: "
    document_prefix: "search_document: "
`

// TestEmbedderPlan: whatever a file says, it names the server then, says nothing else than
// before, and keeps its comments.
func TestEmbedderPlan(t *testing.T) {
	for name, tt := range map[string]struct{ before, after string }{
		"none": {"", "embedder:\n" + written},
		"no embedder": {"# mine\nroots: [~/s] # and more\n\n# the end",
			"# mine\nroots: [~/s] # and more\n\n# the end\nembedder:\n" + written},
		"a name": {"embedder: static   # built in\nproject: false # no\n",
			"embedder:   # built in\n" + written + "project: false # no\n"},
		"a name in quotes": {"project: true\nembedder: 'none' # it's text\n", "project: true\nembedder: # it's text\n" + written},
		"nothing":          {"embedder:\n# about agents\nagents: {}\n", "embedder:\n" + written + "# about agents\nagents: {}\n"},
		"in braces": {"embedder: {openai: {base_url: \"http://h:1/v1#}\", model: m, dimensions: 7}} # LM\nuser: true\n",
			"embedder: # LM\n" + written + "user: true\n"},
		"on lines": {"a: 1\nembedder: # e\n  # of the office\n  openai: # o\n    dimensions: 7\n    base_url: https://h/v1 # there\n    # big\n    model: m\n    key_env: KEY\nz: 1\n",
			"a: 1\nembedder: # e\n  # of the office\n  openai: # o\n    query_prefix: \"search_query: \"\n    document_prefix: \"search_document: \"\n    base_url: \"http://127.0.0.1:11434/v1\" # there\n    # big\n    model: \"nomic-embed-text:latest\"\n    key_env: \"-\"\nz: 1\n"},
		"Windows": {"user: true\r\nembedder: none # n\r\n", "user: true\r\nembedder: # n\r\n" + strings.ReplaceAll(written, "\n", "\r\n")},
	} {
		t.Run(name, func(t *testing.T) {
			env := embedderEnv(t)
			file := filepath.Join(env.Home, "etc", "config.yaml")
			if tt.before != "" {
				must.Do(t, os.Mkdir(filepath.Dir(file), 0o700))
				must.Do(t, os.WriteFile(file, []byte(tt.before), 0o640))
			}
			plan, err := setup.NewEmbedderPlan(env, file, false, ollama())
			must.Do(t, err)
			must.Do(t, plan.Apply(env))
			after, err := os.ReadFile(file)
			must.Do(t, err)
			if string(after) != tt.after {
				t.Errorf("the file is %s; want %s", after, tt.after)
			}
			if backup, err := os.ReadFile(setup.BackupFile(env.State, file)); err != nil || string(backup) != tt.before {
				t.Errorf("the backup is %q, %v", backup, err)
			}
			if plan, err = setup.NewEmbedderPlan(env, file, false, ollama()); err != nil || len(plan.Edits) > 0 {
				t.Errorf("the second time %d edits, %v", len(plan.Edits), err)
			}
		})
	}
}

// TestEmbedderIsRead: what was written means what was meant, also with odd names.
func TestEmbedderIsRead(t *testing.T) {
	for _, model := range []string{"m", "null", "1.0", "BAAI/bge-m3", "a: b # c", `q"'\`, "日本", "*x", "C:\\models\\e5.gguf"} {
		env := embedderEnv(t)
		file := filepath.Join(env.Home, "config.yaml")
		want := ollama()
		want.Model = model
		plan, err := setup.NewEmbedderPlan(env, file, false, want)
		must.Do(t, err)
		must.Do(t, plan.Apply(env))
		s := config.Default()
		must.Do(t, s.ReadUser(file))
		got := s.Embedder.OpenAI
		if got == nil || got.Model != model || got.BaseURL != want.BaseURL || got.KeyEnv != "-" || *got.QueryPrefix != *want.QueryPrefix || *got.DocumentPrefix != *want.DocumentPrefix {
			t.Errorf("%q: read as %+v", model, got)
		}
	}
}

// TestEmbedderRefused: a file that cannot be edited stays as it is, and the lines for it are
// shown.
func TestEmbedderRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		before, message string
		mode            os.FileMode
	}{
		"read-only":     {"user: true\n", "is read-only", 0o400},
		"broken":        {"user: [\n", "it is left alone", 0o600},
		"a list":        {"- user\n", "the file holds a list, not settings", 0o600},
		"all in braces": {"{embedder: static, user: true}\n", "it cannot be edited without touching other settings", 0o600},
		"an anchor":     {"embedder: &e static\nagents: {a: {include: {names: *e}}}\n", "it cannot be edited without touching other settings", 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			env := embedderEnv(t)
			file := filepath.Join(env.Home, "config.yaml")
			must.Do(t, os.WriteFile(file, []byte(tt.before), tt.mode))
			plan, err := setup.NewEmbedderPlan(env, file, false, ollama())
			must.Do(t, err)
			ch := plan.Changes[0]
			if len(plan.Edits) > 0 || ch.Action != setup.Refused || !strings.Contains(ch.Message, tt.message) || ch.Snippet != "embedder:\n"+strings.TrimSuffix(written, "\n") {
				t.Errorf("%d edits, %+v", len(plan.Edits), ch)
			}
		})
	}
}

// TestEmbedderThroughLink: the user's own file may be a link, which stays one; one that lies
// in a project is not followed.
func TestEmbedderThroughLink(t *testing.T) {
	env := embedderEnv(t)
	env.Project = filepath.Join(env.Home, "project")
	must.Do(t, os.Mkdir(env.Project, 0o700))
	target, own, theirs := filepath.Join(env.Home, "dotfiles.yaml"), filepath.Join(env.Home, "config.yaml"), filepath.Join(env.Project, "config.yaml")
	must.Do(t, os.WriteFile(target, []byte("user: true\n"), 0o600))
	for _, link := range []string{own, theirs} {
		if err := os.Symlink(target, link); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	plan, err := setup.NewEmbedderPlan(env, theirs, true, ollama())
	must.Do(t, err)
	if len(plan.Edits) > 0 || !strings.Contains(plan.Changes[0].Message, "links that lie in a project are not followed") {
		t.Errorf("%+v", plan.Changes)
	}
	plan, err = setup.NewEmbedderPlan(env, own, false, ollama())
	must.Do(t, err)
	must.Do(t, plan.Apply(env))
	info, err := os.Lstat(own)
	must.Do(t, err)
	data, err := os.ReadFile(target)
	must.Do(t, err)
	if info.Mode()&os.ModeSymlink == 0 || string(data) != "user: true\nembedder:\n"+written {
		t.Errorf("%v, %s", info.Mode(), data)
	}
}
