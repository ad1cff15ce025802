package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestMonitoring: what deploy/monitoring asks for is what /metrics has, and each file is what its reader takes.
func TestMonitoring(t *testing.T) {
	const dir = "../deploy/monitoring"
	text := monitored(t)
	known := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(text, -1) {
		known[m[1]] = true
	}
	names := regexp.MustCompile(`repertoire_[a-z_]+`)
	labels := regexp.MustCompile(`by \(([a-z, ]+)\)|\{([a-z]+)=`)
	check := func(file, expr string) {
		t.Helper()
		for _, name := range names.FindAllString(expr, -1) {
			if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); !known[name] && !known[base] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
		for _, m := range labels.FindAllStringSubmatch(expr, -1) {
			for _, label := range strings.Split(m[1]+m[2], ", ") {
				if label != "instance" && !strings.Contains(text, label+`="`) { // Prometheus adds instance
					t.Errorf("%s: no metric has the label %s", file, label)
				}
			}
		}
	}

	var scrape struct {
		ScrapeConfigs []struct {
			Authorization map[string]string
		} `yaml:"scrape_configs"`
		RuleFiles []string `yaml:"rule_files"`
	}
	decode(t, filepath.Join(dir, "prometheus.yml"), yaml.Unmarshal, &scrape)
	if len(scrape.ScrapeConfigs) != 1 || scrape.ScrapeConfigs[0].Authorization["credentials_file"] == "" {
		t.Errorf("the nodes are asked without a token: %+v", scrape)
	}
	for _, name := range scrape.RuleFiles {
		var rules struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr, For string
					Annotations      map[string]string
				}
			}
		}
		decode(t, filepath.Join(dir, name), yaml.Unmarshal, &rules)
		if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) != 2 {
			t.Fatalf("%s: %+v", name, rules)
		}
		for _, r := range rules.Groups[0].Rules {
			if r.Alert == "" || r.Expr == "" || r.For == "" || r.Annotations["summary"] == "" {
				t.Errorf("%s: %+v", name, r)
			}
			check(name, r.Expr+r.Annotations["description"])
		}
	}

	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	decode(t, filepath.Join(dir, "dashboard.json"), json.Unmarshal, &board)
	if len(board.Panels) < 8 {
		t.Errorf("%d panels", len(board.Panels))
	}
	for _, p := range board.Panels {
		if p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("%+v", p)
		}
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
		}
	}
}

// monitored returns the metrics of a server that has answered a few requests.
func monitored(t *testing.T) string {
	t.Helper()
	s := openSite(t, mcpserver.Options{}, mcpserver.HTTPOptions{Ready: func(context.Context) (string, time.Duration) { return api.Current, 0 }})
	headers := session(t, s.url+"/mcp")
	for name, arguments := range map[string]string{"search_skills": `{"query":"feed the cat"}`, "suggest_skills": `{"prompt":"thanks"}`, "read_skill": `{"id":"nobody"}`} {
		if r := send(t, "POST", s.url+"/mcp", tool(name, arguments), headers...); r.status != http.StatusOK {
			t.Fatalf("%s: %+v", name, r)
		}
	}
	send(t, "POST", s.url+"/mcp", "{}", "Host", "evil.example")
	return send(t, "GET", s.url+"/metrics", "").body
}

func decode(t *testing.T, name string, unmarshal func([]byte, any) error, v any) {
	t.Helper()
	data, err := os.ReadFile(name)
	must.Do(t, err)
	if err := unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
