package repertoire_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// setPath makes a PATH of one folder that has these commands.
func setPath(t *testing.T, commands ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range commands {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700))
	}
	t.Setenv("PATH", dir)
}

// needy is a SKILL.md with further lines of frontmatter.
func needy(name, description, lines string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n" + lines + "\n---\n# " + name + "\n\nDo it well.\n"
}

const zeppelins = "Paints zeppelins in bright colours. Use when a zeppelin needs paint."

// needyFiles are skills of which the first three need what is not there.
func needyFiles() map[string]string {
	all := map[string]string{
		"airbrush": needy("airbrush", zeppelins, "requires: {commands: [airbrush-cli]}"),
		"spray":    needy("spray", zeppelins+" By spraying.", "metadata: {openclaw: {requires: {env: [SPRAY_TOKEN], anyBins: [spray, sprayer]}}}"),
		"gh":       needy("gh", "Opens pull requests. Use when a pull request is due.", "metadata: {requires: gh}"), // the command, not itself
		"brush":    needy("brush", zeppelins+" With a brush.", "metadata: {requires: [hull]}\nrequires: [mixer, varnish]\ndependencies: [ladder, torch>=2.0]"),
		"hull":     needy("hull", "Knows every hull.", ""),
		"mixer":    needy("mixer", "Stirs pigments.", ""),
		"ladder":   needy("ladder", "Climbs up.", ""),
	}
	files := make(map[string]string)
	for name, text := range all {
		files[name+"/SKILL.md"] = text
	}
	for _, name := range strings.Fields("invoices recipes contracts slides letters charts photos songs maps plans") {
		files[name+"/SKILL.md"] = needy(name, "Sorts "+name+" for the office.", "")
	}
	return files
}

func openNeedy(t *testing.T, cfg repertoire.Config) *repertoire.Catalog {
	t.Helper()
	src, err := source.Files(needyFiles(), &source.Options{Label: "team"})
	must.Do(t, err)
	cfg.Sources, cfg.Threshold = []source.Source{src}, repertoire.Always
	c := open(t, cfg)
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	return c
}

// found returns the IDs of the hits for a prompt.
func found(t *testing.T, c *repertoire.Catalog, q repertoire.Query) []string {
	t.Helper()
	answer, err := c.Search(t.Context(), q)
	must.Do(t, err)
	var ids []string
	for _, h := range answer.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// TestNeeds: a skill whose needs are not met is not offered, no search finds it, and who
// looks after the catalog learns why.
func TestNeeds(t *testing.T) {
	setPath(t, "sprayer")
	c := openNeedy(t, repertoire.Config{})
	if got := found(t, c, repertoire.Query{Text: "paint a zeppelin", Limit: 1}); !slices.Equal(got, []string{"brush"}) {
		t.Errorf("found %q", got)
	}
	if got := found(t, c, repertoire.Query{Text: "zeppelins", Syntax: true, Limit: 1}); !slices.Equal(got, []string{"brush"}) {
		t.Errorf("the query language found %q", got)
	}
	list, err := c.List(t.Context(), nil, nil)
	must.Do(t, err)
	reasons := make(map[string]string)
	for _, e := range list {
		if e.State != "" {
			reasons[e.ID] = string(e.State) + ": " + e.Reason
		}
	}
	want := map[string]string{
		"airbrush": "unavailable: needs the command airbrush-cli, which is not in PATH",
		"spray":    "unavailable: needs the environment variable SPRAY_TOKEN, which is not set",
		"gh":       "unavailable: needs gh, which is neither a skill nor a command in PATH",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("states (-want +got)\n%s", diff)
	}
	why, err := c.Why(t.Context(), "airbrush", repertoire.Query{Text: "paint a zeppelin"})
	must.Do(t, err)
	if why.Verdict != "Not offered: needs the command airbrush-cli, which is not in PATH." || why.Relevant {
		t.Errorf("verdict %q, relevant %v", why.Verdict, why.Relevant)
	}
	body, err := c.Body(t.Context(), "airbrush", nil)
	must.Do(t, err)
	if body.Unavailable == "" || !strings.Contains(body.Text, "Do it well.") {
		t.Errorf("body %+v", body)
	}
	block, err := c.Block(t.Context(), "mow the lawn", repertoire.Budget{Offer: contextprovider.Relevant, Threshold: .99}, &repertoire.Agent{Name: "a", Pinned: []string{"spray", "hull"}})
	must.Do(t, err)
	if len(block.Pinned) != 1 || len(block.Problems) != 1 || !strings.Contains(block.Problems[0].Message, "SPRAY_TOKEN") {
		t.Errorf("pinned %v, problems %v", block.Pinned, block.Problems)
	}
}

// TestNeedsMet: what is in PATH, assumed or ignored holds nothing back.
func TestNeedsMet(t *testing.T) {
	setPath(t, "airbrush-cli", "spray", "gh")
	t.Setenv("SPRAY_TOKEN", "x")
	c := openNeedy(t, repertoire.Config{})
	none := openNeedy(t, repertoire.Config{IgnoreNeeds: true})
	some := openNeedy(t, repertoire.Config{Assume: []string{"airbrush-cli"}})
	setPath(t)
	t.Setenv("SPRAY_TOKEN", "")
	for name, tt := range map[string]struct {
		c    *repertoire.Catalog
		want int
	}{"ignored": {none, 3}, "assumed": {some, 2}} {
		if got := found(t, tt.c, repertoire.Query{Text: "paint a zeppelin", Relevant: true}); len(got) != tt.want {
			t.Errorf("%s: found %q, want %d", name, got, tt.want)
		}
	}
	setPath(t, "airbrush-cli", "spray", "gh") // c has not looked before
	t.Setenv("SPRAY_TOKEN", "x")
	if got := found(t, c, repertoire.Query{Text: "paint a zeppelin", Relevant: true}); len(got) != 3 {
		t.Errorf("all is there, found %q", got)
	}
}

// TestNeedsCopy: the copy of an unavailable skill takes its place if it needs nothing.
func TestNeedsCopy(t *testing.T) {
	setPath(t)
	long := strings.Repeat("First look at the hull, then mix the colours, then paint from bow to stern. ", 20)
	files := map[string]string{"a/SKILL.md": needy("airship", zeppelins, "requires: {bins: [airbrush-cli]}") + long, "b/SKILL.md": needy("airship-fork", zeppelins, "") + long}
	src, err := source.Files(files, &source.Options{Label: "team"})
	must.Do(t, err)
	c := open(t, repertoire.Config{Sources: []source.Source{src}})
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	if got := found(t, c, repertoire.Query{Text: "paint a zeppelin"}); !slices.Equal(got, []string{"airship-fork"}) {
		t.Errorf("found %q", got)
	}
}

// TestRequiredScope: what an agent does not see is missing for it, and a name that may be
// something else than a skill is not named at all.
func TestRequiredScope(t *testing.T) {
	setPath(t)
	c := openNeedy(t, repertoire.Config{})
	for name, tt := range map[string]struct {
		agent             *repertoire.Agent
		requires, lacking []string
	}{
		"all":  {nil, []string{"mixer", "hull", "ladder"}, []string{"varnish"}},
		"some": {&repertoire.Agent{Name: "a", Include: repertoire.Rules{Names: []string{"brush", "hull"}}}, []string{"hull"}, []string{"mixer", "varnish"}},
		"one":  {&repertoire.Agent{Name: "b", Include: repertoire.Rules{Names: []string{"brush"}}}, nil, []string{"mixer", "varnish"}},
	} {
		e, err := c.Lookup(t.Context(), "brush", tt.agent)
		must.Do(t, err)
		if !slices.Equal(e.Requires, tt.requires) || !slices.Equal(e.Lacking, tt.lacking) || e.State != "" {
			t.Errorf("%s: requires %q, lacks %q, state %q", name, e.Requires, e.Lacking, e.State)
		}
	}
}

// TestWhyChain: why says because of which skills one is offered that the prompt does not
// want.
func TestWhyChain(t *testing.T) {
	setPath(t)
	src, err := source.Files(map[string]string{
		"a/SKILL.md": needy("brush", zeppelins, "requires: [mixer]"), "b/SKILL.md": needy("mixer", "Stirs pigments.", "requires: [pigment]"),
		"c/SKILL.md": needy("pigment", "Grinds stones.", "requires: [brush]"), "d/SKILL.md": needy("soup", "Cooks.", "requires: [brush]"),
	}, &source.Options{Label: "team"})
	must.Do(t, err)
	c := open(t, repertoire.Config{Sources: []source.Source{src}})
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	for id, want := range map[string]string{
		"mixer":   "Offered, if the budget has room, because brush requires it.",
		"pigment": "Offered, if the budget has room, because brush requires mixer, which requires it.",
		"soup":    "", // not offered
	} {
		why, err := c.Why(t.Context(), id, repertoire.Query{Text: "use the skill `brush` to paint my zeppelin", Threshold: repertoire.Always})
		must.Do(t, err)
		if !strings.HasPrefix(why.Verdict, want) || strings.HasPrefix(why.Verdict, "Offered") != (want != "") {
			t.Errorf("%s: %q, want %q", id, why.Verdict, want)
		}
	}
}

// TestLoadRequired: with LoadRequired a body comes with those of the required skills, each
// once.
func TestLoadRequired(t *testing.T) {
	setPath(t)
	for _, load := range []bool{false, true} {
		c := openNeedy(t, repertoire.Config{LoadRequired: load})
		body, err := c.Body(t.Context(), "brush", nil)
		must.Do(t, err)
		var ids []string
		for _, b := range body.Required {
			ids = append(ids, b.ID)
		}
		if want := []string{"mixer", "hull", "ladder"}; load && !slices.Equal(ids, want) || !load && ids != nil {
			t.Errorf("load %v: %q", load, ids)
		}
	}
}

// TestSpellings: each spelling of what a skill needs hides it while that is missing.
func TestSpellings(t *testing.T) {
	setPath(t, "there")
	for _, lines := range []string{
		"requires: gone", "requires: there, gone", "requires: there gone", "requires: {commands: there gone}", "requires: {bins: [there, gone]}",
		"metadata: {requires: gone}", "metadata: {requires: 'there, gone'}", "metadata: {requires: there gone}", "metadata: {requires: there   gone>=2}",
		"metadata: {requires: [there, gone]}", "metadata: {requires: [there gone]}", "metadata:\n  requires: |\n    there\n    gone",
		"metadata: {requires: {bins: there gone}}", "metadata: {requires: {commands: 'there, gone'}}", "metadata: {requires: {bins: [there, gone]}}",
		"metadata: {requires: {env: THERE_X GONE_X}}", "metadata: {openclaw: {requires: {bins: there gone}}}", "metadata: {clawdbot: {requires: {anyBins: gone gone2}}}",
		"metadata: {openclaw: {requires: there gone}}", "metadata: {openclaw: {requires: [there, gone]}}",
	} {
		for _, lines := range []string{lines, strings.NewReplacer("gone2", "there", "gone", "there", "THERE_X", "PATH", "GONE_X", "PATH").Replace(lines)} {
			src, err := source.Files(map[string]string{"a/SKILL.md": needy("a", zeppelins, lines)}, &source.Options{Label: "team"})
			must.Do(t, err)
			c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
			entries, err := c.List(t.Context(), nil, nil)
			must.Do(t, err)
			if missing := strings.Contains(strings.ToLower(lines), "gone"); len(entries) != 1 || (entries[0].State == "") == missing {
				t.Errorf("%s: %+v", lines, entries)
			}
		}
	}
}
