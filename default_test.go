package repertoire_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// setMachine gives the test a home and a cache of its own and returns a project
// in that home.
func setMachine(t *testing.T) (project string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	setHome(t, home)
	t.Setenv("REPERTOIRE_CONFIG", filepath.Join(home, "config.yaml"))
	t.Setenv("REPERTOIRE_CACHE", filepath.Join(home, "cache"))
	for _, name := range []string{"REPERTOIRE_DB", "REPERTOIRE_DATA", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	project = filepath.Join(home, "p")
	must.Write(t, filepath.Join(project, ".claude", "skills", "bread", "SKILL.md"), doc("bread", "Bakes bread."))
	return project
}

// TestReadConfig: what the files say is what the catalog is opened with.
func TestReadConfig(t *testing.T) {
	project := setMachine(t)
	must.Write(t, filepath.Join(filepath.Dir(project), "config.yaml"),
		"bundled: false\nembedder: none\nschedule: never\ndb: c.db\ndeadline: 1s\nthreshold: 0\nform: short\nagents: {a: {}}\n"+
			"reranker: {tei: {base_url: \"http://127.0.0.1:1\", deadline: 2s, candidates: 7}}\n")
	cfg, err := repertoire.ReadConfig(project, nil)
	must.Do(t, err)
	if len(cfg.Sources) != 1 || cfg.Sources[0].Info().Kind != source.KindProject || len(cfg.Agents) != 1 {
		t.Errorf("sources %v, agents %v", cfg.Sources, cfg.Agents)
	}
	if cfg.DB != filepath.Join(filepath.Dir(project), "c.db") || cfg.Schedule != repertoire.Never || cfg.Deadline != time.Second || cfg.Threshold != repertoire.Always || cfg.Form != contextprovider.Short {
		t.Errorf("config %+v", cfg)
	}
	if cfg.Embedder != (embed.None{}) || cfg.Reranker == nil || cfg.RerankDeadline != 2*time.Second || cfg.RerankCandidates != 7 {
		t.Errorf("embedder and reranker: %+v", cfg)
	}
	if p := cfg.Policy; p != nil && len(p.Disabled)+len(p.Ask)+len(p.Installed)+len(p.Lower)+len(p.Private)+len(p.Triggers) > 0 || cfg.IgnoreNeeds || cfg.LoadRequired {
		t.Errorf("held back without a reason: %+v", cfg.Policy)
	}
	must.Write(t, filepath.Join(filepath.Dir(project), "config.yaml"), "disabled: [bread]\ntrust: {lower: [x]}\nrequires: {ignore: true, assume: [gh], load: true}\n")
	cfg, err = repertoire.ReadConfig(project, nil)
	if p := cfg.Policy; err != nil || p == nil || len(p.Disabled) != 1 || p.Disabled[0].Place.Line != 1 || len(p.Lower) != 1 || p.Ask != nil {
		t.Errorf("policy %+v, %v", p, err)
	}
	if !cfg.IgnoreNeeds || !cfg.LoadRequired || !slices.Equal(cfg.Assume, []string{"gh"}) {
		t.Errorf("needs: %+v", cfg)
	}
	must.Write(t, filepath.Join(filepath.Dir(project), "config.yaml"), "reranker: {tei: {base_url: \"ftp://x\"}}\n")
	if _, err := repertoire.ReadConfig(project, nil); err == nil || !strings.HasSuffix(err.Error(), "config.yaml:1: reranker: base URL does not start with http:// or https://") {
		t.Errorf("a server that cannot be one: %v", err)
	}
}

// TestOpenDefault: one call opens the catalog of a folder, without any
// configuration.
func TestOpenDefault(t *testing.T) {
	project := setMachine(t)
	c, err := repertoire.OpenDefault(t.Context(), project)
	must.Do(t, err)
	ids := list(t, c, nil, false)
	must.Do(t, c.Close())
	if !slices.Contains(ids, "bread") || len(ids) < 2 {
		t.Errorf("skills %v, want bread and the bundled ones", ids)
	}
	cache, err := filepath.Rel(filepath.Join(filepath.Dir(project), "cache"), c.Path())
	if err != nil || !filepath.IsLocal(cache) || c.Config().DB != c.Path() {
		t.Errorf("the catalog is in %s", c.Path())
	}
	must.Write(t, filepath.Join(filepath.Dir(project), "config.yaml"), "no: such key\n")
	if _, err := repertoire.OpenDefault(t.Context(), project); err == nil {
		t.Error("a malformed configuration is no error")
	}
}

// TestNothing: a Config with holes is an error, and a catalog without skills
// answers with nothing; neither panics.
func TestNothing(t *testing.T) {
	for want, cfg := range map[string]repertoire.Config{
		"source 2 of 2 is nil": {Sources: []source.Source{memory(t, "a", 0, nil), nil}},
		"agent 1 of 1 is nil":  {Agents: []*repertoire.Agent{nil}},
	} {
		cfg.DB = filepath.Join(t.TempDir(), "catalog.db")
		if _, err := repertoire.Open(t.Context(), cfg); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for name, sources := range map[string][]source.Source{"no source": nil, "no skill": {memory(t, "a", 0, nil)}} {
		c := scanned(t, repertoire.Config{Sources: sources})
		for _, prompt := range []string{"", " ", "bake bread"} {
			b, err := c.Block(t.Context(), prompt, repertoire.Budget{Offer: contextprovider.Relevant, Threshold: repertoire.Always}, nil)
			if err != nil || b.Text != "" || len(b.Skills) > 0 {
				t.Errorf("%s: block for %q: %+v, error %v", name, prompt, b, err)
			}
		}
		want(t, name, list(t, c, nil, true))
	}
}

// TestForm: a catalog says which form a block has whose budget does not say it.
func TestForm(t *testing.T) {
	for _, tt := range []struct {
		of, asked contextprovider.Form
		server    string
		want      contextprovider.Form
	}{
		{"", "", "", contextprovider.Full},
		{"", "", "team", contextprovider.Short},
		{contextprovider.Short, "", "", contextprovider.Short},
		{contextprovider.Full, "", "team", contextprovider.Full},
		{contextprovider.Full, contextprovider.Short, "team", contextprovider.Short},
	} {
		c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "a", 0, docs("bread", "cake"))}, Form: tt.of})
		b, err := c.Block(t.Context(), "the bread skill", repertoire.Budget{Offer: contextprovider.Relevant, Form: tt.asked, Server: tt.server}, nil)
		must.Do(t, err)
		if short := strings.Contains(b.Text, `<skill name="bread"`); len(b.Skills) != 1 || short != (tt.want == contextprovider.Short) {
			t.Errorf("%+v:\n%s", tt, b.Text)
		}
	}
	c := scanned(t, repertoire.Config{Form: "long"})
	if _, err := c.Block(t.Context(), "x", repertoire.Budget{Offer: contextprovider.Relevant}, nil); err == nil || !strings.Contains(err.Error(), `no block form "long"`) {
		t.Errorf("error %v", err)
	}
}

// TestAlways: a threshold that every prompt reaches can be said of a catalog, a
// query and a block; 0 means the threshold of the next outer one.
func TestAlways(t *testing.T) {
	const prompt = "who bakes something for the party next week"
	offered := func(cfg, asked float64) (query, block bool) {
		c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "a", 0, docs("bread", "cake"))}, Threshold: cfg})
		answer, err := c.Search(t.Context(), repertoire.Query{Text: prompt + " bread", Threshold: asked, Relevant: true})
		must.Do(t, err)
		b, err := c.Block(t.Context(), prompt+" bread", repertoire.Budget{Offer: contextprovider.Relevant, Threshold: asked}, nil)
		must.Do(t, err)
		if always := cfg == repertoire.Always && asked == 0 || asked == repertoire.Always; always != (answer.Threshold == 0) || always != (b.Threshold == 0) {
			t.Errorf("thresholds %g, %g: the answer tells %g, the block %g", cfg, asked, answer.Threshold, b.Threshold)
		}
		return len(answer.Hits) > 0, b.Text != ""
	}
	for _, tt := range []struct {
		cfg, asked float64
		want       bool
	}{{1, 0, false}, {1, repertoire.Always, true}, {repertoire.Always, 0, true}, {repertoire.Always, 1, false}} {
		if query, block := offered(tt.cfg, tt.asked); query != tt.want || block != tt.want {
			t.Errorf("catalog %g, asked %g: query %t, block %t, want %t", tt.cfg, tt.asked, query, block, tt.want)
		}
	}
}
