package skill

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// shared is the folder of test cases that are not part of the repository.
const shared = "../../shared/cases"

// nasty maps each malformed file to the expected result: a name and the rules of its
// problems (without notes), or the rule by which it is refused.
var nasty = map[string]struct{ name, refused, rules string }{
	"01-bom":                               {name: "Multi-Agent Orchestrator", rules: "byte-order-mark"},
	"02-crlf":                              {name: "follow-vite-plugin"},
	"03-bare-cr":                           {name: "enterprise-agent-design-authority"},
	"04-invalid-utf8":                      {name: "contract-copilot", rules: "invalid-utf8"},
	"05-nul-byte":                          {name: "auri-core", rules: "hidden-control"},
	"06-control-char-in-frontmatter":       {name: "outlook", rules: "hidden-control"},
	"07-c1-control-yaml-reader-error":      {name: "ai-image-prompts-for-eye-catching-marketing-creati-4e43d568", rules: "hidden-control"},
	"08-unicode-tag-chars":                 {name: "weather-assistant", rules: "hidden-tag"},
	"09-bidi-controls":                     {refused: "no-frontmatter"},
	"10-zero-width-in-name-or-description": {name: "jupyter-notebook"}, // Persian needs its joiners
	"11-empty-file":                        {refused: "empty-file"},
	"12-empty-body":                        {name: "folder", rules: "missing-name"},
	"13-no-frontmatter":                    {refused: "no-frontmatter"},
	"14-symlink-as-text-file":              {refused: "symlink-placeholder"},
	"15-tar-paxheader":                     {refused: "tar-header"},
	"16-unclosed-frontmatter":              {name: "morning-briefing", rules: "closing-fence"},
	"17-leading-blank-lines":               {name: "ralph", rules: "text-before-frontmatter"},
	"18-leading-html-comment":              {name: "medical-imaging-review", rules: "text-before-frontmatter"},
	"19-code-fence-wrapped":                {name: "test-skill", rules: "code-fence"},
	"20-prose-before-frontmatter":          {name: "RedTeam", rules: "text-before-frontmatter"},
	"21-no-opening-fence":                  {name: "hvac_estimate_takeoff", rules: "closing-fence opening-fence"},
	"22-fence-trailing-blank-or-nbsp":      {name: "magic-animator", rules: "opening-fence"},
	"23-open-fence-trailing-text":          {name: "go-install-zh", rules: "text-before-frontmatter"},
	"24-close-fence-other":                 {name: "mcporter", rules: "closing-fence"},
	"25-naive-split-differs":               {name: "md-slides", rules: "yaml-repaired"},
	"26-second-frontmatter-in-body":        {name: "agent-test-long-runner", rules: "second-frontmatter"},
	"27-rtf-instead-of-markdown":           {refused: "rich-text"},
	"28-merge-conflict-markers":            {name: "obsidian-daily", rules: "yaml-repaired"},
	"29-yaml-unquoted-colon":               {name: "git-combine-commits", rules: "yaml-repaired"},
	"30-yaml-block-header-with-text":       {name: "Generate Legal Services Ad Creative Brief", rules: "yaml-repaired"},
	"31-yaml-alias-star":                   {name: "prompt-injection-skill", rules: "yaml-repaired"},
	"32-yaml-text-after-closing-quote":     {name: "wiki-changelog", rules: "yaml-repaired"},
	"33-yaml-argument-hint-two-brackets":   {name: "feishu-leave-request", rules: "yaml-repaired"},
	"34-yaml-backtick-or-at":               {name: "conditional-feature-flag-rollout", rules: "yaml-repaired"},
	"35-yaml-surrogate-escape":             {name: "biopython-bio", rules: "yaml-repaired"},
	"36-yaml-unknown-escape":               {name: "quant-data-quality", rules: "yaml-repaired"},
	"37-yaml-unhashable-template":          {name: "calculator"}, // YAML allows a list as a key
	"38-yaml-continuation-at-column-0":     {name: "gogcli", rules: "closing-fence"},
	"39-yaml-unclosed-quote":               {name: "slide-maker", rules: "yaml-repaired"},
	"40-yaml-list-on-key-line":             {name: "overnight-development", rules: "yaml-repaired"},
	"41-yaml-nbsp-entity-indentation":      {name: "secure-install", rules: "yaml-repaired"},
	"42-yaml-duplicate-keys":               {name: "claw-ancestry-pca", rules: "duplicate-key"},
	"43-yaml-not-mapping":                  {name: "clawmarket", rules: "body-too-long yaml-repaired"},
	"44-yaml-empty-frontmatter":            {refused: "empty-frontmatter"},
	"45-type-name-int":                     {name: "8004"},
	"46-type-name-list":                    {name: "folder", rules: "missing-name"},
	"47-type-description-list":             {name: "clawchain-rpc-client", rules: "field-type"},
	"48-type-compatibility-map":            {name: "cloud-cost-optimization", rules: "field-type"},
	"49-type-argument-hint-list":           {name: "fix-issue"},
	"50-type-date-timestamp":               {name: "clean-skill"},
	"51-metadata-inline-json":              {name: "base"},
	"52-key-capitalised":                   {name: "claude-coach"},
	"53-name-path-and-scope":               {name: "openakita/skills@baidu-baike", rules: "name-unsafe"},
	"54-name-with-backslash-or-dots":       {name: "我来读取已导出的 Markdown 文件，然后翻...", rules: "name-unsafe"},
	"55-name-too-long":                     {name: "Probe public TLS endpoints for protocol, cipher, and certificate weaknesses before rollout with testssl.sh", rules: "name-too-long"},
	"56-name-non-ascii":                    {name: "法律"},
	"57-description-very-long":             {name: "Skywork Excel", rules: "description-too-long"},
	"58-description-xml-tags":              {name: "vector-db-cleanup"},
	"59-injection-in-description":          {name: "prompt-injection-test"},
}

// TestNasty reads real malformed files.
func TestNasty(t *testing.T) {
	files, err := filepath.Glob(shared + "/nasty/[0-9]*.md")
	must.Do(t, err)
	if len(files) == 0 {
		t.Skip("the shared malformed files are not here; testdata holds small equivalents")
	}
	if len(files) != len(nasty) {
		t.Errorf("%d files, %d expectations", len(files), len(nasty))
	}
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".md")
		t.Run(id, func(t *testing.T) {
			f, err := os.Open(file)
			must.Do(t, err)
			defer f.Close()
			s, err := Parse(f, "folder/SKILL.md")
			c := nasty[id]
			if c.refused != "" {
				wantRefused(t, err, c.refused)
				return
			}
			must.Do(t, err)
			if s.Name != c.name || s.Description == "" {
				t.Errorf("name %q, want %q; description %q", s.Name, c.name, s.Description)
			}
			if got := strings.Join(rulesOf(s.Problems), " "); got != c.rules {
				t.Errorf("problems %q, want %q: %v", got, c.rules, s.Problems)
			}
			Check(s) // must not panic
		})
	}
}

// rulesOf returns the rules of problems that are not notes, sorted.
func rulesOf(problems []Problem) []string {
	rules := map[string]bool{}
	for _, p := range problems {
		if p.Severity != Note {
			rules[p.Rule] = true
		}
	}
	return slices.Sorted(maps.Keys(rules))
}

// A referenceCase is one call of the specification's reference validator and its answer.
type referenceCase struct {
	ID, Op, Content, Verdict, Body string

	Arg        any
	Files      []struct{ Path, Type, Content string }
	Found      *string
	Metadata   map[string]any
	Properties map[string]any
}

// differences are the cases in which Parse intentionally differs from the reference
// validator.
var differences = map[string]string{
	"derived::dashes-in-description": "the reference ends the frontmatter at --- inside a value; we end it at a line",
	"derived::metadata-nested":       "the reference prints nested maps as Python text; we keep them",
	"derived::name-zwj":              "hidden characters are removed from what is shown; Check reports them",
	"derived::desc-tag-chars":        "hidden characters are removed from what is shown",
	"derived::desc-bidi":             "hidden characters are removed from what is shown",
	"derived::desc-1025":             "descriptions are cut at the limit",
	"derived::metadata-string":       "metadata that is no map has no entries",
}

// elsewhere are the cases about the block that is shown to a model; package
// contextprovider makes that block.
var elsewhere = []string{
	"test_prompt::test_empty_list",
	"test_prompt::test_single_skill",
	"test_prompt::test_multiple_skills",
	"test_prompt::test_special_characters_escaped",
}

// TestReference compares Load, Parse and Check with the reference validator. A verdict of
// error or crash counts as invalid. In derived::desc-nul, where the validator crashes,
// Check reports an error.
func TestReference(t *testing.T) {
	cases := readCases(t)
	if len(cases) != 93 {
		t.Errorf("%d cases, want 93", len(cases))
	}
	seen, listed := 0, maps.Clone(differences)
	for _, c := range cases {
		if c.Properties != nil || c.Metadata != nil {
			delete(listed, c.ID) // compare checks that it differs
		}
		if slices.Contains(elsewhere, c.ID) {
			seen++
			continue
		}
		t.Run(c.ID, func(t *testing.T) { c.run(t) })
	}
	if seen != len(elsewhere) || len(listed) > 0 {
		t.Errorf("%d cases belong elsewhere, want %d; differences not tried: %v", seen, len(elsewhere), listed)
	}
}

func readCases(t *testing.T) []referenceCase {
	f, err := os.Open(shared + "/skills_ref_cases.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the cases of the reference validator are not here; testdata holds small equivalents")
	}
	must.Do(t, err)
	defer f.Close()
	var cases []referenceCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c referenceCase
		must.Do(t, json.Unmarshal(lines.Bytes(), &c))
		cases = append(cases, c)
	}
	must.Do(t, lines.Err())
	return cases
}

func (c referenceCase) run(t *testing.T) {
	if c.Op == "parse_frontmatter" {
		s, err := Parse(strings.NewReader(c.Content), "SKILL.md")
		c.compare(t, s, err, c.Metadata)
		if c.Verdict == "ok" && err == nil && strings.TrimSpace(s.Body) != c.Body {
			t.Errorf("body %q, want %q", s.Body, c.Body)
		}
		return
	}
	dir := t.TempDir()
	for _, f := range c.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		var err error
		if f.Type == "dir" {
			err = os.MkdirAll(name, 0o700)
		} else {
			err = os.WriteFile(name, []byte(f.Content), 0o600)
		}
		must.Do(t, err)
	}
	arg, ok := c.Arg.(string)
	if !ok {
		t.Fatalf("argument %v", c.Arg)
	}
	s, err := loadFolder(filepath.Join(dir, filepath.FromSlash(arg)), arg)
	if c.Op == "find_skill_md" {
		c.compareFound(t, err)
		return
	}
	c.compare(t, s, err, c.Properties)
}

// loadFolder parses the skill in a folder; name is the folder's path in its source.
func loadFolder(folder, name string) (*Skill, error) {
	for _, base := range FileNames {
		data, err := os.ReadFile(filepath.Join(folder, base))
		if err == nil {
			return ParseBytes(data, path.Join(name, base), "")
		}
	}
	return nil, &ParseError{Problem{Rule: "missing-skill-md", Severity: Error, Path: name}}
}

// compareFound checks which file was used; none of these files holds a skill.
func (c referenceCase) compareFound(t *testing.T, err error) {
	if c.Found == nil {
		wantRefused(t, err, "missing-skill-md")
		return
	}
	if p := wantRefused(t, err, "no-frontmatter"); filepath.Base(p.Path) != *c.Found {
		t.Errorf("took %s, want %s", p.Path, *c.Found)
	}
}

// compare checks the verdict and, if the reference gave them, the properties.
func (c referenceCase) compare(t *testing.T, s *Skill, err error, properties map[string]any) {
	t.Helper()
	var refused *ParseError
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	valid := err == nil
	var problems []Problem
	if valid {
		problems = Check(s)
		valid = !slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error })
	}
	if want := c.Verdict == "valid" || c.Verdict == "ok"; valid != want {
		t.Errorf("valid %t, want verdict %s: %v %v", valid, c.Verdict, err, problems)
	}
	if properties == nil {
		return
	}
	if err != nil {
		t.Errorf("%v, want properties %v", err, properties)
		return
	}
	diff := cmp.Diff(properties, propertiesOf(s, properties))
	if _, differs := differences[c.ID]; differs != (diff != "") {
		t.Errorf("differences listed: %t; (-want +got)\n%s", differs, diff)
	}
}

// propertiesOf returns the fields of s named by the keys of want, in the form of want.
func propertiesOf(s *Skill, want map[string]any) map[string]any {
	got := map[string]any{}
	for key := range want {
		switch key {
		case "name":
			got[key] = s.Name
		case "description":
			got[key] = s.Description
		case "license":
			got[key] = s.License
		case "metadata":
			meta := map[string]any{}
			for k, v := range map[string]string{"author": s.Author, "version": s.Version} {
				if v != "" {
					meta[k] = v
				}
			}
			got[key] = meta
		default:
			got[key] = s.Frontmatter[key]
		}
	}
	return got
}
