package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/rerank/remote"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// setHome makes dir the user's home.
func setHome(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
}

// settings returns the default settings, changed by f.
func settings(f func(*config.Settings)) config.Settings {
	s := config.Default()
	f(&s)
	return s
}

// TestSettings reads valid files. Paths are Unix paths; DIR stands for the folder of the
// file, and HOME for the user's home.
func TestSettings(t *testing.T) {
	query, document := "query: ", ""
	tests := []struct {
		name, text string
		want       config.Settings
	}{
		{"empty", "", config.Default()},
		{"comments", "# roots: [x]\n", config.Default()},
		{"null", "---\n", config.Default()},
		{"switches", "project: false\nuser: false\nbundled: \"false\"\nembedder: none\n",
			config.Settings{Installed: true, Embedder: config.Embedder{Name: "none"}}},
		{"scalars", "schedule: \"@every 1h\"\nmax_file: 5\ndeadline: 1.5s\nthreshold: 0.75\nform: short\n", settings(func(s *config.Settings) {
			s.Schedule, s.MaxFile, s.Deadline, s.Threshold, s.Form = "@every 1h", 5, 1500*time.Millisecond, .75, "short"
		})},
		{"every prompt", "threshold: 0\n", settings(func(s *config.Settings) { s.Threshold = search.Always })},
		{"one in fifty", "disturb: 0.02\n", settings(func(s *config.Settings) { s.Disturb = .02 })},
		{"triggers", "triggers: certain\n", settings(func(s *config.Settings) { s.Triggers = map[string]string{"": "certain"} })},
		{"triggers by source", "triggers: {user: off, \"git:a/b\": certain}\n", settings(func(s *config.Settings) {
			s.Triggers = map[string]string{"user": "off", "git:a/b": "certain"}
		})},
		{"no prompt", "disturb: 0\n", settings(func(s *config.Settings) { s.Disturb = search.OnlyNamed })},
		{"paths", "db: ~/c.db\nroots: [rel, ../up, /abs, ~/h, \"~\", ~user, {path: ./x/}]\n", settings(func(s *config.Settings) {
			s.DB = "HOME/c.db"
			for _, p := range []string{"DIR/rel", "UP/up", "/abs", "HOME/h", "HOME", "DIR/~user", "DIR/x"} {
				s.Roots = append(s.Roots, config.Root{Path: p})
			}
		})},
		{"root", "roots:\n- {path: /p, label: \"user:mine\", names: {old: new, a/b: c}}\n", settings(func(s *config.Settings) {
			s.Roots = []config.Root{{Path: "/p", Label: "user:mine", Names: map[string]string{"old": "new", "a/b": "c"}}}
		})},
		{"agents", "agents:\n  b: {include: {names: x-*, tags: [q, r]}, exclude: {sources: [s]}, pinned: [p, o]}\n  a: {}\n", settings(func(s *config.Settings) {
			s.Agents = []*search.Agent{
				{Name: "b", Include: search.Rules{Names: []string{"x-*"}, Tags: []string{"q", "r"}},
					Exclude: search.Rules{Sources: []string{"s"}}, Pinned: []string{"p", "o"}},
				{Name: "a"},
			}
		})},
		{"disabled names", "disabled: [a, \"b-*\"]\n", settings(func(s *config.Settings) {
			s.Disabled = []search.Ban{ban("names", "a"), ban("names", "b-*")}
		})},
		{"one disabled name", "disabled: a\n", settings(func(s *config.Settings) { s.Disabled = []search.Ban{ban("names", "a")} })},
		{"nothing disabled", "disabled: []\n", config.Default()},
		{"disabled rules", "disabled:\n  names: [a]\n  tags: [t]\n  sources: user:.claude\n", settings(func(s *config.Settings) {
			s.Disabled = []search.Ban{ban("names", "a"), ban("tags", "t"), ban("sources", "user:.claude")}
		})},
		{"ignored rule", "ignore: no-trigger\n", settings(func(s *config.Settings) { s.Ignore = []config.Ignore{{Rules: []string{"no-trigger"}}} })},
		{"ignored", "ignore:\n- no-trigger\n- {rules: missing-resource, skills: [\"x-*\"]}\n- {sources: [\"root:lib\"]}\n", settings(func(s *config.Settings) {
			s.Ignore = []config.Ignore{{Rules: []string{"no-trigger"}}, {Rules: []string{"missing-resource"}, Skills: []string{"x-*"}}, {Sources: []string{"root:lib"}}}
		})},
		{"projects", "projects:\n  ~/work/app: {disabled: [a]}\n  /abs: {disabled: {tags: [t]}}\n", settings(func(s *config.Settings) {
			s.Projects = []config.ProjectRules{{Folder: "HOME/work/app", Disabled: []search.Ban{ban("names", "a")}}, {Folder: "/abs", Disabled: []search.Ban{ban("tags", "t")}}}
		})},
		{"order", "order: [user, roots]\n", settings(func(s *config.Settings) { s.Order = []string{"user", "roots"} })},
		{"folders", "install_dir: ~/i\nuser_dir: u\n", settings(func(s *config.Settings) { s.InstallDir, s.UserDir = "HOME/i", "DIR/u" })},
		{"some bundled", "bundled: [writing-skills]\n", settings(func(s *config.Settings) { s.BundledOnly = []string{"writing-skills"} })},
		{"none bundled", "bundled: []\n", settings(func(s *config.Settings) { s.Bundled = false })},
		{"trust", "trust: {project: ask, require_digest: true, keys: [k], lower: [\"git:a/b\"]}\n", settings(func(s *config.Settings) {
			s.Trust = config.Trust{Project: "ask", RequireDigest: true, Keys: []string{"k"}, Lower: []string{"git:a/b"}}
		})},
		{"requires", "requires: {ignore: true, assume: [gh, TOKEN], load: true}\n", settings(func(s *config.Settings) {
			s.Requires = config.Requires{Ignore: true, Assume: []string{"gh", "TOKEN"}, Load: true}
		})},
		{"usage", "usage: true\n", settings(func(s *config.Settings) { s.Usage.Log = true })},
		{"no usage", "usage: false\n", config.Default()},
		{"usage with prompts", "usage: {prompts: true}\n", settings(func(s *config.Settings) { s.Usage = config.Usage{Log: true, Prompts: true} })},
		{"limits", "limits: {name: 1, description: 2, body: 3, files: 4, bytes: 5}\n", settings(func(s *config.Settings) {
			s.Limits = skill.Limits{Name: 1, Description: 2, Body: 3, Files: 4, Bytes: 5}
		})},
		{"built-in embedder", "embedder: static\n", config.Default()},
		{"no embedder", "embedder: none\n", settings(func(s *config.Settings) { s.Embedder.Name = config.EmbedderNone })},
		{"no reranker", "reranker: none\n", config.Default()},
		{"reranker", "reranker: {cohere: {base_url: \"http://127.0.0.1:1/v2\", model: m, key_env: K, max_chars: 5, deadline: 2s, candidates: 7}}\n",
			settings(func(s *config.Settings) {
				s.Reranker = &config.Reranker{
					Config:   remote.Config{API: remote.Cohere, BaseURL: "http://127.0.0.1:1/v2", Model: "m", KeyEnv: "K", MaxChars: 5},
					Deadline: 2 * time.Second, Candidates: 7,
				}
			})},
		{"reranker without model", "reranker: {tei: {base_url: \"http://127.0.0.1:1\"}}\n", settings(func(s *config.Settings) {
			s.Reranker = &config.Reranker{Config: remote.Config{API: remote.TEI, BaseURL: "http://127.0.0.1:1"}}
		})},
		{"embedder", "embedder: {openai: {base_url: \"http://127.0.0.1:1/v1\", model: m, key_env: K, azure: true, allow_insecure: true," +
			" headers: {X-A: b}, dimensions: 3, encoding: base64, query_prefix: \"query: \", document_prefix: \"\", max_batch: 4, max_chars: 5, timeout: 2s}}\n",
			settings(func(s *config.Settings) {
				s.Embedder = config.Embedder{Name: config.EmbedderOpenAI, OpenAI: &openai.Config{
					BaseURL: "http://127.0.0.1:1/v1", Model: "m", KeyEnv: "K", Azure: true, AllowInsecure: true,
					Headers: map[string]string{"X-A": "b"}, Dimensions: 3, Encoding: "base64",
					QueryPrefix: &query, DocumentPrefix: &document, MaxBatch: 4, MaxChars: 5, Timeout: 2 * time.Second,
				}}
			})},
	}
	validate := validator(t, false)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			setHome(t, home)
			name := filepath.Join(dir, "config.yaml")
			must.Write(t, name, tt.text)
			got := config.Default()
			must.Do(t, got.ReadUser(name))
			if diff := cmp.Diff(tt.want, symbolic(got, dir, home), withoutPlaces); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if err := validate(tt.text); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		})
	}
}

// ban returns a ban with one rule.
func ban(key, text string) (b search.Ban) {
	*map[string]*[]string{"names": &b.Names, "tags": &b.Tags, "sources": &b.Sources}[key] = []string{text}
	return b
}

// symbolic replaces the folders of a test in the paths of settings.
func symbolic(s config.Settings, dir, home string) config.Settings {
	r := strings.NewReplacer(dir, "DIR", home, "HOME", filepath.Dir(dir), "UP", `\`, "/")
	s.DB, s.InstallDir, s.UserDir = r.Replace(s.DB), r.Replace(s.InstallDir), r.Replace(s.UserDir)
	for i := range s.Projects {
		s.Projects[i].Folder = r.Replace(s.Projects[i].Folder)
	}
	for i := range s.Roots {
		s.Roots[i].Path = r.Replace(s.Roots[i].Path)
	}
	return s
}

// TestSettingsErrors reads invalid files. FILE stands for their name.
func TestSettingsErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "roots: [\n", "FILE:1: did not find expected node content"},
		{"tab", "project: true\n\tuser: true\n", "FILE:2: found a tab character that violates indentation"},
		{"control character", "db: \"\x01\"\n", "FILE: control characters are not allowed"},
		{"two documents", "user: true\n---\nuser: false\n", "FILE:2: a second document; a configuration is one"},
		{"not a mapping", "- a\n", "FILE:1: configuration must be a mapping of keys to values"},
		{"text", "hello\n", "FILE:1: configuration must be a mapping of keys to values"},

		{"unknown key", "\n\nxyzzy: 1\n", "FILE:3: configuration: no key \"xyzzy\"; there are 34, such as agents, bundled, catalog, contextual, db, deadline, disabled, disturb, embedder, form"},
		{"misspelt key", "root: [x]\n", "FILE:1: configuration: no key \"root\"; did you mean roots?"},
		{"merge key", "<<: {user: true}\n", "FILE:1: configuration: no key \"<<\"; there are 34, such as agents, bundled, catalog, contextual, db, deadline, disabled, disturb, embedder, form"},
		{"list as a key", "? [a]\n: b\n", "FILE:1: configuration: a key must be a text"},
		{"duplicate key", "user: true\nproject: true\nuser: false\n", "FILE:3: configuration: key \"user\" stands here twice"},
		{"malformed pattern", "agents:\n  a:\n    exclude: {names: [x,\n      \"[y\"]}\n", "FILE:4: agent a: exclude.names: \"[y\" is not a pattern (* ? [a-z] and \\ are special)"},
		{"pinned and excluded", "agents:\n  a:\n    exclude: {names: [x*]}\n    pinned: [y,\n      xx]\n", "FILE:5: agent a: pinned: skill \"xx\" is excluded too; remove one of the two"},
		{"pinned and not included", "agents:\n  a:\n    include: {names: [x*]}\n    pinned: y\n", "FILE:4: agent a: pinned: skill \"y\" is not included; add it to include.names, or do not pin it"},
		{"duplicate agent", "agents:\n  a: {}\n  a: {pinned: [x]}\n", "FILE:3: agents: key \"a\" stands here twice"},
		{"duplicate name", "roots:\n- path: x\n  names: {a: b, a: c}\n", "FILE:3: names: key \"a\" stands here twice"},
		{"duplicate header", "embedder:\n  openai:\n    headers: {a: b, a: c}\n", "FILE:3: headers: key \"a\" stands here twice"},

		{"no roots", "user: true\nroots:\n#- x\n", "FILE:2: configuration: key \"roots\" has no value"},
		{"roots", "roots: x\n", "FILE:1: roots must be a list of folders, or of mappings with path, label and names"},
		{"root null", "roots: [~]\n", "FILE:1: expected a path"},
		{"root empty", "roots: [\"\"]\n", "FILE:1: roots: a path is missing"},
		{"root list", "roots:\n- [x]\n", "FILE:2: roots must be a mapping of keys to values"},
		{"root without path", "roots:\n- label: x\n", "FILE:2: roots: a path is missing"},
		{"root key", "roots:\n- path: x\n  lable: y\n", "FILE:3: roots: no key \"lable\"; did you mean label?"},
		{"names", "roots: [{path: x, names: [a]}]\n", "FILE:1: names must be a mapping of keys to values"},
		{"name list", "roots: [{path: x, names: {a: [b]}}]\n", "FILE:1: expected a text"},

		{"boolean", "user: yes\n", "FILE:1: expected true or false, not \"yes\""},
		{"boolean number", "user: 1\n", "FILE:1: expected true or false, not \"1\""},
		{"boolean list", "user: [true]\n", "FILE:1: expected true or false, not \"\""},
		{"number", "max_file: 1MB\n", "FILE:1: expected a whole number, not \"1MB\""},
		{"threshold", "threshold: 60%\n", "FILE:1: expected a probability from 0 to 1, not \"60%\""},
		{"form", "form: long\n", "FILE:1: expected short or full, not \"long\""},
		{"threshold too high", "threshold: 1.1\n", "FILE:1: expected a probability from 0 to 1, not \"1.1\""},
		{"threshold is no number", "threshold: NaN\n", "FILE:1: expected a probability from 0 to 1, not \"NaN\""},
		{"triggers", "triggers: sure\n", "FILE:1: expected certain or evidence or off, not \"sure\""},
		{"rate", "disturb: 5%\n", "FILE:1: expected a share from 0 to 1, not \"5%\""},
		{"rate too high", "disturb: 5\n", "FILE:1: expected a share from 0 to 1, not \"5\""},
		{"rate and threshold", "disturb: 0.05\nuser: true\nthreshold: 0\n", "FILE:3: threshold: line 1 sets disturb, which decides the same; keep one of the two"},
		{"threshold and rate", "threshold: 0.6\ndisturb: 0\n", "FILE:2: disturb: line 1 sets threshold, which decides the same; keep one of the two"},
		{"number negative", "max_file: -1\n", "FILE:1: expected a whole number, not \"-1\""},
		{"duration", "deadline: 250\n", "FILE:1: expected a duration such as 250ms or 2s, not \"250\""},
		{"duration zero", "deadline: 0s\n", "FILE:1: expected a duration such as 250ms or 2s, not \"0s\""},
		{"schedule", "schedule: {every: 5s}\n", "FILE:1: expected a text"},
		{"db", "db: [x]\n", "FILE:1: expected a path"},
		{"alias", "db: &x a\nschedule: *x\n", "FILE:2: expected a text"},

		{"schedule that is none", "schedule: sometimes\n", "FILE:1: schedule \"sometimes\": expected exactly 5 fields, found 1: [sometimes] (examples: \"@every 5s\", \"*/10 * * * *\")"},
		{"schedule at which the parser panics", "db: x\nschedule: TZ=0\n", "FILE:2: schedule \"TZ=0\" is malformed"},
		{"disabled", "disabled: {name: x}\n", "FILE:1: disabled: no key \"name\"; did you mean names?"},
		{"disabled pattern", "disabled:\n- a\n- \"[y\"\n", "FILE:3: disabled: \"[y\" is not a pattern (* ? [a-z] and \\ are special)"},
		{"disabled nothing", "disabled: [\"\"]\n", "FILE:1: disabled: a name is missing"},
		{"ignore nothing", "ignore: [{}]\n", "FILE:1: ignore: name rules, skills or sources"},
		{"ignore no name", "ignore: [\"\"]\n", "FILE:1: ignore: a name is missing"},
		{"ignore key", "ignore: [{rule: x}]\n", "FILE:1: ignore: no key \"rule\"; did you mean rules?"},
		{"ignore pattern", "ignore:\n- {skills: [\"[a\"]}\n", "FILE:2: ignore: \"[a\" is not a pattern (* ? [a-z] and \\ are special)"},
		{"ignore list", "ignore: [[x]]\n", "FILE:1: expected a rule, or rules, skills and sources"},
		{"ignore mapping", "ignore: {skills: x}\n", "FILE:1: expected a rule, or rules, skills and sources"},
		{"projects", "projects: [x]\n", "FILE:1: projects must be a mapping of keys to values"},
		{"project key", "projects:\n  ~/x: {pinned: [y]}\n", "FILE:2: project ~/x: no key \"pinned\"; there are: disabled"},
		{"order", "order:\n- user\n- usr\n", "FILE:3: order: no group of sources \"usr\"; did you mean user?"},
		{"order twice", "order: [user, user]\n", "FILE:1: order: user stands here twice"},
		{"bundled", "bundled: [writing-skill]\n", "FILE:1: bundled: no skill \"writing-skill\" is compiled in; did you mean writing-skills?"},
		{"trust", "trust: {project: never}\n", "FILE:1: expected offer or ask, not \"never\""},
		{"trust key", "trust:\n  key: x\n", "FILE:2: trust: no key \"key\"; did you mean keys?"},
		{"requires", "requires: {load_required: true}\n", "FILE:1: requires: no key \"load_required\"; there are: assume, ignore, load"},
		{"usage", "usage: on\n", "FILE:1: expected true or false, not \"on\""},
		{"limits", "limits: {files: many}\n", "FILE:1: expected a whole number, not \"many\""},
		{"description that is never kept", "limits:\n  description: 16385\n", "FILE:2: limits: a description of at most 16384 characters can be kept, not 16385"},
		{"git and path", "roots: [{git: \"https://x/y\", url: \"https://x/z\"}]\n", "FILE:1: roots: no key \"url\"; there are: fetch, git, label, names, path, ref, trusted"},
		{"git that runs a command", "roots: [{git: \"ext::sh -c true\"}]\n", "FILE:1: roots: \"ext::sh -c true\": it is not the URL of a git repository"},
		{"git that is an option", "roots: [{git: --upload-pack=x}]\n", "FILE:1: roots: \"--upload-pack=x\": it is not the URL of a git repository"},
		{"git elsewhere", "roots: [{git: \"ftp://x/y\"}]\n", "FILE:1: roots: \"ftp://x/y\": expected a URL that starts with https://, http://, ssh://, git://, file://"},
		{"ref that is an option", "roots:\n- git: https://x/y\n  ref: -x\n", "FILE:3: roots: \"-x\": it is not the name of a branch, tag or commit"},
		{"path out of the repository", "roots: [{git: \"https://x/y\", path: a/../../b}]\n", "FILE:1: roots: \"a/../../b\": it leads out of the repository"},
		{"url", "roots: [{url: x.zip}]\n", "FILE:1: roots: \"x.zip\": expected a URL that starts with https://, http://"},
		{"fetch", "roots: [{url: \"https://x/y.zip\", fetch: daily}]\n", "FILE:1: schedule \"daily\": expected exactly 5 fields, found 1: [daily] (examples: \"@every 5s\", \"*/10 * * * *\")"},
		{"agents", "agents: [a]\n", "FILE:1: agents must be a mapping of keys to values"},
		{"agent without rules", "agents:\n  a:\n  # include: {names: [x]}\n", "FILE:2: agent a must be a mapping of keys to values"},
		{"agent without name", "agents: {\"\": {}}\n", "FILE:1: agents: a key must be a text"},
		{"agent key", "agents: {a: {includes: {}}}\n", "FILE:1: agent a: no key \"includes\"; did you mean include?"},
		{"include null", "agents:\n  a:\n    include:\n", "FILE:3: agent a: key \"include\" has no value"},
		{"include empty", "agents:\n  a:\n    include: {}\n", "FILE:3: a include names nothing; leave it out or say what"},
		{"names null", "agents:\n  a:\n    include:\n      names:\n", "FILE:4: a include: key \"names\" has no value"},
		{"names empty", "agents: {a: {include: {names: [], tags: []}}}\n", "FILE:1: a include names nothing; leave it out or say what"},
		{"rules key", "agents: {a: {exclude: {name: x}}}\n", "FILE:1: a exclude: no key \"name\"; did you mean names?"},
		{"rules list", "agents: {a: {exclude: {names: [[x]]}}}\n", "FILE:1: expected a text"},
		{"rules mapping", "agents: {a: {exclude: {names: {x: y}}}}\n", "FILE:1: expected a list of texts"},

		{"name that is empty", "roots:\n- {path: x, names: {a: \"\"}}\n", "FILE:2: roots: source UP/x: renaming \"a\" to \"\": empty name"},
		{"two names for one folder", "roots:\n- {path: x, names: {a: b, ./a: c}}\n", "FILE:2: roots: source UP/x: renaming \"a\" to both \"c\" and \"b\""},

		{"embedder", "embedder: magic\n", "FILE:1: no embedder \"magic\"; there are: static, none, openai (a mapping with base_url and model)"},
		{"embedder server without its address", "\nembedder: openai\n", "FILE:2: no embedder \"openai\"; there are: static, none, openai (a mapping with base_url and model)"},
		{"embedder key", "embedder: {opnai: {}}\n", "FILE:1: embedder: no key \"opnai\"; did you mean openai?"},
		{"embedder without model", "embedder:\n  openai: {base_url: \"http://127.0.0.1/v1\"}\n", "FILE:2: embedder openai: base_url and model are needed"},
		{"reranker", "reranker: jina\n", "FILE:1: no reranker \"jina\"; there are: none, jina, cohere, voyage, tei (a mapping with base_url and model)"},
		{"reranker list", "reranker: [jina]\n", "FILE:1: no reranker \"\"; there are: none, jina, cohere, voyage, tei (a mapping with base_url and model)"},
		{"reranker key", "reranker:\n  cohera: {}\n", "FILE:2: reranker: no key \"cohera\"; did you mean cohere?"},
		{"reranker null", "reranker:\n  tei:\n", "FILE:2: reranker: key \"tei\" has no value"},
		{"reranker nothing", "reranker: {}\n", "FILE:1: reranker: one protocol is needed, of: jina, cohere, voyage, tei"},
		{"reranker twice", "reranker:\n  tei: {}\n  jina: {}\n", "FILE:2: reranker: one protocol is needed, of: jina, cohere, voyage, tei"},
		{"reranker without address", "reranker: {tei: {}}\n", "FILE:1: reranker tei: base_url is needed"},
		{"reranker without model", "reranker:\n  voyage:\n    base_url: \"http://127.0.0.1/v1\"\n", "FILE:3: reranker voyage: model is needed"},
		{"reranker misspelt", "reranker: {jina: {base_url: x, modell: y}}\n", "FILE:1: reranker jina: no key \"modell\"; did you mean model?"},
		{"reranker deadline", "reranker: {jina: {base_url: x, model: y, deadline: soon}}\n", "FILE:1: expected a duration such as 250ms or 2s, not \"soon\""},
		{"embedder address", "embedder:\n  openai: {base_url: \"ftp://x\", model: y}\n", "FILE:2: embedder openai: embedding endpoint: base URL does not start with http:// or https://"},
		{"reranker address", "reranker: {tei: {base_url: \"ftp://x\"}}\n", "FILE:1: reranker: base URL does not start with http:// or https://"},
		{"embedder wrong type", "embedder: {openai: {base_url: x, model: y, dimensions: many}}\n", "FILE:1: expected a whole number, not \"many\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "config.yaml")
			must.Write(t, name, tt.text)
			s := config.Default()
			err := s.ReadUser(name)
			if err == nil {
				t.Fatalf("no error, settings %+v", s)
			}
			if got := strings.NewReplacer(name, "FILE", filepath.Dir(name), "UP").Replace(err.Error()); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestProjectSettings: the configuration of a project adds folders of its own and agents.
// It can neither choose where prompts are sent nor change what the user set. FILE stands
// for its name, DIR for the project and OUT for a folder beside it.
func TestProjectSettings(t *testing.T) {
	const outside = "out of the project; name that folder in your own configuration if you want its skills"
	const plain = "a project's configuration names folders of the project, relative to its own folder"
	const label = "the label of a project's folder begins with a letter or digit; letters, digits, dots, hyphens and underscores follow"
	tests := []struct{ text, want string }{
		{"roots: [x, {path: ../y, label: team, names: {a: b}}]\nagents: {mine: {include: {names: [a]}}}\n", ""},
		{"roots: [./a//b/../c/, ...more]\n", ""},
		{"embedder: {openai: {base_url: \"http://192.0.2.1/v1\", model: m}}\n", "FILE:1: embedder: a project's configuration cannot set this; move it to your own"},
		{"db: x\n", "FILE:1: db: a project's configuration cannot set this; move it to your own"},
		{"user: false\n", "FILE:1: user: a project's configuration cannot set this; move it to your own"},
		{"project: false\n", "FILE:1: project: a project's configuration cannot set this; move it to your own"},
		{"bundled: false\n", "FILE:1: bundled: a project's configuration cannot set this; move it to your own"},
		{"schedule: never\n", "FILE:1: schedule: a project's configuration cannot set this; move it to your own"},
		{"max_file: 9\n", "FILE:1: max_file: a project's configuration cannot set this; move it to your own"},
		{"model: {base_url: \"http://192.0.2.1/v1\"}\n", "FILE:1: model: a project's configuration cannot set this; move it to your own"},
		{"reranker: {tei: {base_url: \"http://x\"}}\n", "FILE:1: reranker: a project's configuration cannot set this; move it to your own"},
		{"deadline: 1h\n", "FILE:1: deadline: a project's configuration cannot set this; move it to your own"},
		{"threshold: 0\n", "FILE:1: threshold: a project's configuration cannot set this; move it to your own"},
		{"triggers: certain\n", "FILE:1: triggers: a project's configuration cannot set this; move it to your own"},
		{"disturb: 1\n", "FILE:1: disturb: a project's configuration cannot set this; move it to your own"},
		{"agents:\n  reviewer: {}\n", "FILE:2: agent reviewer: your own configuration has an agent of this name, which a project's cannot replace"},
		{"agents:\n" + numbered(65, "  a%d: {}\n"), "FILE:2: agents: 65 agents; a project may have 64"},

		{"roots:\n- {path: ~/.claude/skills, names: {secret: public}}\n", "FILE:2: roots: \"~/.claude/skills\": the path starts with ~; " + plain},
		{"roots: [~root/x]\n", "FILE:1: roots: \"~root/x\": the path starts with ~; " + plain},
		{"roots: [/]\n", "FILE:1: roots: \"/\": the path is absolute; " + plain},
		{"roots: [DIR/x]\n", "FILE:1: roots: \"DIR/x\": the path is absolute; " + plain},
		{"roots: [//host/share]\n", "FILE:1: roots: \"//host/share\": the path is absolute; " + plain},
		{"roots: ['\\\\host\\share']\n", "FILE:1: roots: \"\\\\\\\\host\\\\share\": the path holds a backslash; folders are separated by /; " + plain},
		{"roots: ['..\\..\\x']\n", "FILE:1: roots: \"..\\\\..\\\\x\": the path holds a backslash; folders are separated by /; " + plain},
		{"roots: ['C:\\x']\n", "FILE:1: roots: \"C:\\\\x\": the path holds a backslash; folders are separated by /; " + plain},
		{"roots: [\"C:x\"]\n", "FILE:1: roots: \"C:x\": the path holds a colon, which Windows takes for a drive or a stream; " + plain},
		{"roots: [\"x:stream\"]\n", "FILE:1: roots: \"x:stream\": the path holds a colon, which Windows takes for a drive or a stream; " + plain},
		{"roots: [a/nul.txt/b]\n", "FILE:1: roots: \"a/nul.txt/b\": \"nul.txt\" is the name of a device on Windows; " + plain},
		{"roots: [COM¹]\n", "FILE:1: roots: \"COM¹\": \"COM¹\" is the name of a device on Windows; " + plain},
		{"roots: [\"x./y\"]\n", "FILE:1: roots: \"x./y\": a part of the path ends in a dot or a space, which Windows ignores; " + plain},
		{"roots: [\"... \"]\n", "FILE:1: roots: \"... \": a part of the path ends in a dot or a space, which Windows ignores; " + plain},
		{"roots: [\"a\\u0001b\"]\n", "FILE:1: roots: \"a\\x01b\": the path holds a control character; " + plain},
		{"roots: [\"a\\0b\"]\n", "FILE:1: roots: \"a\\x00b\": the path holds a NUL byte; " + plain},
		{"roots: [../..]\n", "FILE:1: roots: \"../..\": it leads to OUT, " + outside},
		{"roots: [x/../../../up]\n", "FILE:1: roots: \"x/../../../up\": it leads to OUT/up, " + outside},
		{"roots: [../linked]\n", "FILE:1: roots: \"../linked\": it leads to OUT/beside, " + outside},
		{"roots: [../linked/deep]\n", "FILE:1: roots: \"../linked/deep\": it leads to OUT/beside/deep, " + outside},
		{"roots:\n" + numbered(65, "- x%d\n"), "FILE:2: roots: 65 folders; a project may name 64"},

		{"roots: [{path: x, label: \"user:.claude\"}]\n", "FILE:1: roots: label \"user:.claude\": " + label},
		{"roots: [{path: x, label: .claude}]\n", "FILE:1: roots: label \".claude\": " + label},
		{"roots: [{path: x, label: bundled}, more]\n", ""},
		{"roots: [{path: x, label: a/b}]\n", "FILE:1: roots: label \"a/b\": " + label},
		{"roots: [{path: x, label: \"a\\e[31m\"}]\n", "FILE:1: roots: label \"a\\x1b[31m\": " + label},
		{"roots: [{path: x, label: " + strings.Repeat("a", 65) + "}]\n", "FILE:1: roots: label \"" + strings.Repeat("a", 65) + "\": " + label},
		{"roots: [{path: x, label: mine}, more]\n", ""},
		{"roots: [{path: x, label: Yours}]\n", "FILE:1: roots: label \"project:Yours\" is the label of /yours in your own configuration; give the project's folder another one"},
		{"roots: [{path: x, label: a}, {path: y, label: a}]\n", "FILE:1: roots: label \"project:a\" is the label of DIR/.agents/x too; give one of them another label"},
	}
	for _, tt := range tests {
		out, err := filepath.EvalSymlinks(t.TempDir())
		must.Do(t, err)
		project := filepath.Join(out, "p")
		for _, dir := range []string{"p/.git", "p/.agents", "beside/deep"} {
			must.Do(t, os.MkdirAll(filepath.Join(out, dir), 0o700))
		}
		if os.Symlink(filepath.Join("..", "beside"), filepath.Join(project, "linked")) != nil && strings.Contains(tt.text, "linked") {
			continue
		}
		setHome(t, filepath.Join(out, "home"))
		s := config.Default()
		s.Roots = []config.Root{{Path: "/mine", Label: "mine"}, {Path: "/yours", Label: "project:yours"}}
		s.Agents = []*search.Agent{{Name: "reviewer", Exclude: search.Rules{Tags: []string{"secret"}}}}
		name := filepath.Join(project, ".agents", "repertoire.yaml")
		must.Write(t, name, strings.ReplaceAll(tt.text, "DIR", project))
		err = s.ReadProject(name)
		got := ""
		if err != nil {
			got = strings.NewReplacer(name, "FILE", project, "DIR", out, "OUT").Replace(err.Error())
		}
		switch {
		case got != tt.want:
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
		case tt.want == "" && (len(s.Roots) != 4 || s.Roots[0].Path != "/mine" || s.Roots[2].Project != project || !strings.HasPrefix(s.Roots[3].Label, "project:")):
			t.Errorf("%s: settings %+v", tt.text, s)
		case tt.want != "" && (len(s.Roots) != 2 || len(s.Agents) != 1):
			t.Errorf("%s: a broken file changed the settings: %+v", tt.text, s)
		}
	}
}

func TestUnreadableSettings(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	must.Write(t, large, strings.Repeat("# comment\n", 110_000))
	var s config.Settings
	if err := s.ReadUser(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	if err := s.ReadUser(large); err == nil || !strings.HasSuffix(err.Error(), "large.yaml: it is longer than 1048576 bytes") {
		t.Errorf("error %v", err)
	}
	link := filepath.Join(dir, "link.yaml")
	if os.Symlink("none.yaml", link) == nil {
		if err := s.ReadUser(link); err == nil || err.Error() != link+": it is a link to a file that does not exist" || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	}
	// A device may never end.
	for _, name := range []string{dir, os.DevNull} {
		for _, err := range []error{s.ReadUser(name), s.ReadProject(name)} {
			if err == nil || !strings.HasSuffix(err.Error(), ": it is not a regular file") {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

func TestConfigFile(t *testing.T) {
	t.Setenv("REPERTOIRE_CONFIG", "/somewhere/c.yaml")
	if name, err := config.File(); name != "/somewhere/c.yaml" || err != nil {
		t.Errorf("File() = %s, %v", name, err)
	}
	t.Setenv("REPERTOIRE_CONFIG", "")
	dir, err := os.UserConfigDir()
	must.Do(t, err)
	if name, err := config.File(); name != filepath.Join(dir, "repertoire", "config.yaml") || err != nil {
		t.Errorf("File() = %s, %v", name, err)
	}
}

// TestEmbedderSetting: New makes the chosen embedder. For a bad choice it returns an
// error and a nil interface, not a nil pointer in an interface.
func TestEmbedderSetting(t *testing.T) {
	server := &openai.Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m"}
	for _, tt := range []struct {
		setting config.Embedder
		model   string // its beginning
		err     string
	}{
		{config.Embedder{}, "static ", ""},
		{config.Embedder{Name: "static", OpenAI: server}, "static ", ""},
		{config.Embedder{Name: "none"}, "", ""},
		{config.Embedder{Name: "openai", OpenAI: server}, "openai", ""},
		{config.Embedder{Name: "openai"}, "", "base_url and model are needed"},
		{config.Embedder{Name: "openai", OpenAI: &openai.Config{BaseURL: "ftp://x", Model: "m"}}, "", "base URL"},
		{config.Embedder{Name: "magic"}, "", `no embedder "magic"; there are: static, none, openai`},
	} {
		e, err := tt.setting.New()
		switch {
		case tt.err != "":
			if e != nil || err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%+v: %v, %v; want an error with %q", tt.setting, e, err, tt.err)
			}
		case err != nil:
			t.Errorf("%+v: %v", tt.setting, err)
		case !strings.HasPrefix(e.Model(), tt.model) || (e == embed.None{}) != (tt.model == ""):
			t.Errorf("%+v: model %q, want %q…", tt.setting, e.Model(), tt.model)
		}
	}
}

// TestReranker: for a bad server New returns an error and a nil interface.
func TestReranker(t *testing.T) {
	s := &config.Reranker{Config: remote.Config{API: remote.TEI, BaseURL: "ftp://x"}}
	if r, err := s.New(); err == nil || r != nil {
		t.Errorf("bad server: %v, %v", r, err)
	}
	s.BaseURL = "http://127.0.0.1:1"
	if r, err := s.New(); err != nil || r == nil {
		t.Errorf("good server: %v, %v", r, err)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("roots: [~/x, {path: y, label: z, names: {a: b}}]\nagents: {a: {include: {names: x}, pinned: [p]}}\n")
	f.Add("embedder: {openai: {base_url: \"http://127.0.0.1/v1\", model: m, headers: {a: b}, timeout: 1s}}\ndb: \"\"\n")
	f.Add("reranker: {tei: {base_url: \"http://127.0.0.1\", deadline: 1s, candidates: 7}}\n")
	f.Add("user: true\n---\n- *a\n")
	f.Add("? {}\n: [\x00")
	for _, empty := range []string{"", "\ufeff", "---\n...\n", "---\n---\n", "%YAML 1.2\n---\n", "...\n", "--- |\n"} {
		f.Add(empty)
	}
	f.Add("%YAML 9.9\n--- !!binary x\n...\n")
	f.Add("roots: [../x, ~/y, /z, \"a:b\", {path: ../../w, label: \"user:.claude\"}]\n")
	f.Add("agents: {a: {include: {names: [\"[a-\", b*]}, pinned: [c, d/e]}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "fuzzed-configuration.yaml")
		must.Write(t, name, text)
		var own, project config.Settings
		for _, err := range []error{own.ReadUser(name), project.ReadProject(name)} {
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("the error does not name the file: %v", err)
			}
		}
		if project.Embedder.Name != "" || project.Reranker != nil || project.DB != "" || project.Deadline != 0 || project.Threshold != 0 || project.Schedule != "" || project.MaxFile != 0 {
			t.Errorf("a project set %+v", project)
		}
		for _, r := range project.Roots {
			if rel, err := filepath.Rel(r.Project, r.Path); r.Project == "" || err != nil || !filepath.IsLocal(rel) || r.Label == "" {
				t.Errorf("a project has the folder %+v", r)
			}
		}
		for _, a := range own.Agents {
			if a.Name == "" {
				t.Errorf("an agent without a name")
			}
		}
	})
}
