package contextprovider_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
)

// zibbel is a prompt that no everyday skill is relevant to.
const zibbel = "zibbel, frobnicate the quuxes and wobble their snarks"

// tools are n skills that are relevant to zibbel, with descriptions of all
// lengths.
func tools(n int) map[string]string {
	files := make(map[string]string)
	for i := range n {
		name := fmt.Sprintf("tool-%02d", i)
		padding := strings.Repeat(" padding", i*i%83)
		files[name+"/SKILL.md"] = doc(name, "Zibbel, frobnicate quuxes, wobble snarks."+padding, "Body.\n")
	}
	return files
}

// relevant returns the relevant hits of a search, best first.
func (k *kit) relevant(t *testing.T, prompt string) []search.Hit {
	t.Helper()
	a, err := k.search.Search(t.Context(), search.Query{Text: prompt, Limit: 100})
	must.Do(t, err)
	return slices.DeleteFunc(a.Hits, func(h search.Hit) bool { return !h.Relevant })
}

// TestBudget tries random budgets: none is exceeded, the order is that of the
// search, and every relevant skill is listed or counted.
func TestBudget(t *testing.T) {
	k := open(t, memory(t, "tools", tools(20)))
	prompt := naming(20)
	all := names(k.relevant(t, prompt))
	if len(all) != 20 {
		t.Fatalf("only %d relevant skills", len(all))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		b := contextprovider.Budget{Tokens: 1 + random.IntN(900), Skills: 1 + random.IntN(25)}
		b.Format, b.Form = contextprovider.Formats()[random.IntN(3)], contextprovider.Forms()[random.IntN(2)]
		b.Server = []string{"", "team"}[random.IntN(2)]
		block := k.block(t, prompt, b, nil)
		got := names(block.Skills)
		switch {
		case block.Tokens > b.Tokens || block.Tokens != words.Tokens(block.Text):
			t.Errorf("%+v: %d tokens (%d of the text)", b, block.Tokens, words.Tokens(block.Text))
		case len(got) > b.Skills:
			t.Errorf("%+v: %d skills", b, len(got))
		case len(got)+block.Omitted != len(all):
			t.Errorf("%+v: %d listed and %d omitted of %d", b, len(got), block.Omitted, len(all))
		case !subsequence(got, all) || len(got) > 0 && got[0] != all[0]:
			t.Errorf("%+v: %v is not in the order of %v", b, got, all)
		case len(got) == 0 && block.Text != "":
			t.Errorf("%+v: nothing listed in %q", b, block.Text)
		}
		checkStructure(t, b, block)
	}
}

// naming is a prompt that names the first n tools, which makes them relevant.
func naming(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("skill tool-%02d", i))
	}
	return strings.Join(list, ", ")
}

func subsequence(part, all []string) bool {
	for _, s := range part {
		i := slices.Index(all, s)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

func TestBudgetBounds(t *testing.T) {
	k := open(t, memory(t, "tools", tools(70)))
	prompt := naming(60)
	tests := []struct {
		name            string
		budget          contextprovider.Budget
		listed, omitted int
	}{
		{"defaults", contextprovider.Budget{}, 8, 42},
		{"more than are looked at otherwise", contextprovider.Budget{Tokens: 100_000, Skills: 60}, 60, 0},
		{"one", contextprovider.Budget{Skills: 1}, 1, 49},
		{"no room even for a shortened one", contextprovider.Budget{Tokens: 50}, 0, 50},
		{"negative number", contextprovider.Budget{Skills: -1}, 0, 50},
		{"negative tokens", contextprovider.Budget{Tokens: -1}, 0, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := k.block(t, prompt, tt.budget, nil)
			if len(b.Skills) != tt.listed || b.Omitted != tt.omitted {
				t.Errorf("%d listed, %d omitted; want %d, %d", len(b.Skills), b.Omitted, tt.listed, tt.omitted)
			}
		})
	}
}

// TestGivesWay: one that does not fit is left out, the next smaller one is not.
func TestGivesWay(t *testing.T) {
	k := open(t, everyday(t), memory(t, "tools", map[string]string{
		"first/SKILL.md":  doc("first", "Zibbel, frobnicate quuxes, wobble snarks.", ""),
		"second/SKILL.md": doc("second", "Zibbel, frobnicate quuxes, wobble snarks."+strings.Repeat(" padding", 40), ""),
		"third/SKILL.md":  doc("third", "Zibbel, frobnicate quuxes, wobble snarks."+strings.Repeat(" pad", 4), strings.Repeat("filling ", 20)),
	}))
	if got := names(k.relevant(t, zibbel)); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Fatalf("relevant are %v", got)
	}
	b := k.block(t, zibbel, contextprovider.Budget{Tokens: 150}, nil)
	if got := names(b.Skills); !slices.Equal(got, []string{"first", "third"}) || b.Omitted != 1 {
		t.Errorf("listed %v, %d omitted; want first, third, and 1", got, b.Omitted)
	}
}

// TestShortened: the best skill keeps as much of its description as fits.
func TestShortened(t *testing.T) {
	long := "Zibbel, frobnicate quuxes, wobble snarks." + strings.Repeat(" große Füße", 60)
	k := open(t, everyday(t), memory(t, "tools", map[string]string{
		"long/SKILL.md":  doc("long", long, ""),
		"other/SKILL.md": doc("other", "Zibbel, frobnicate.", ""),
	}))
	if got := names(k.relevant(t, zibbel)); len(got) == 0 || got[0] != "long" {
		t.Fatalf("relevant are %v", got)
	}
	for _, format := range contextprovider.Formats() {
		b := k.block(t, zibbel, contextprovider.Budget{Tokens: 200, Format: format}, nil)
		if len(b.Skills) == 0 || b.Skills[0].Name != "long" {
			t.Fatalf("%s: listed %v", format, names(b.Skills))
		}
		text, cut := strings.CutSuffix(b.Skills[0].Description, "…")
		if !cut || !strings.HasPrefix(long, text) || b.Tokens < 198 {
			t.Errorf("%s: %d tokens of 200 with %q", format, b.Tokens, b.Skills[0].Description)
		}
	}
}

func TestNothingRelevant(t *testing.T) {
	k := open(t, everyday(t))
	for prompt, kind := range map[string]string{
		"": "empty", " \n": "empty", "thanks!": "reply", "zibbel snarks": "", strings.Repeat("so it is. ", 50): "",
	} {
		want := contextprovider.Block{Ranking: search.Ranking{
			Mode: "text (no embedder)", Kind: kind, Threshold: rank.DefaultGate().ThresholdFor(rank.DefaultRate, rank.DefaultUnfit, nil, nil), Skills: 48,
			Background: search.Background{Disturb: rank.DefaultRate, Unfit: rank.DefaultUnfit, Missing: "the catalog has not been calibrated yet", Due: true},
		}}
		if diff := cmp.Diff(want, k.block(t, prompt, contextprovider.Budget{}, nil)); diff != "" {
			t.Errorf("%.20q (-want +got)\n%s", prompt, diff)
		}
	}
}

func TestPinned(t *testing.T) {
	files := tools(6)
	files["rules/SKILL.md"] = doc("rules", "House rules.", "Be kind.\n")
	k := open(t, memory(t, "tools", files), everyday(t))
	a := &search.Agent{Name: "a", Pinned: []string{"tool-03", "rules"}, Exclude: search.Rules{Names: []string{"tool-01"}}}
	b := k.block(t, zibbel, contextprovider.Budget{}, a)
	if len(b.Pinned) != 2 || b.Pinned[0].Name != "tool-03" || b.Pinned[1].Name != "rules" {
		t.Fatalf("pinned %v", b.Pinned)
	}
	if got := names(b.Skills); len(got) != 4 || slices.Contains(got, "tool-03") || slices.Contains(got, "tool-01") {
		t.Errorf("listed %v, want the other tools but tool-01", got)
	}
	if first, list := strings.Index(b.Text, "Be kind."), strings.Index(b.Text, "<available_skills>"); first < 0 || first > list {
		t.Errorf("pinned bodies do not come first:\n%s", b.Text)
	}
	tight := k.block(t, zibbel, contextprovider.Budget{Tokens: 1}, a)
	if len(tight.Pinned) != 2 || len(tight.Skills) != 0 || tight.Omitted != 4 {
		t.Errorf("with 1 token: %d pinned, %d listed, %d omitted; want 2, 0, 4", len(tight.Pinned), len(tight.Skills), tight.Omitted)
	}
}

// TestPinnedCopy: a copy of what is pinned says nothing new.
func TestPinnedCopy(t *testing.T) {
	files := tools(2)
	files["fork/SKILL.md"] = strings.Replace(files["tool-00/SKILL.md"], "tool-00", "tool-00-fork", 1)
	k := open(t, memory(t, "tools", files), everyday(t))
	for _, pinned := range []string{"tool-00", "tool-00-fork"} {
		b := k.block(t, zibbel, contextprovider.Budget{}, &search.Agent{Name: "a", Pinned: []string{pinned}})
		if got := names(b.Skills); len(b.Pinned) != 1 || !slices.Equal(got, []string{"tool-01"}) {
			t.Errorf("with %s pinned: listed %v", pinned, got)
		}
	}
}

// TestPinnedUnreadable: a pinned skill that cannot be read costs no other one its place.
func TestPinnedUnreadable(t *testing.T) {
	src, dir := folder(t, "tools", map[string]string{
		"rules/SKILL.md": doc("rules", "House rules.", "Be kind.\n"),
		"style/SKILL.md": doc("style", "House style.", "Be brief.\n"),
		"forms/SKILL.md": doc("forms", "Fills in forms.", "Use a pen.\n"),
	})
	k := open(t, src)
	must.Do(t, os.Remove(filepath.Join(dir, "rules", "SKILL.md")))
	a := &search.Agent{Name: "a", Pinned: []string{"rules", "style"}}
	b := k.block(t, "skill forms", contextprovider.Budget{}, a)
	if len(b.Pinned) != 1 || b.Pinned[0].ID != "style" || !slices.Equal(names(b.Skills), []string{"forms"}) {
		t.Errorf("pinned %v, listed %v", b.Pinned, names(b.Skills))
	}
	if len(b.Problems) != 1 || !strings.Contains(b.Problems[0].String(), "pinned for agent a, but left out: reading skill rules: ") {
		t.Errorf("problems %v", b.Problems)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Block(ended, "skill forms", contextprovider.Budget{}, a); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestPinnedOutside: what is pinned and not in the scope is left out without a word.
func TestPinnedOutside(t *testing.T) {
	k := open(t, memory(t, "tools", tools(2)))
	for _, a := range []*search.Agent{
		{Name: "a", Pinned: []string{"tool-0", "tool-01"}},
		{Name: "a", Pinned: []string{"tool-00", "tool-01"}, Exclude: search.Rules{Names: []string{"tool-00"}}},
	} {
		if b := k.block(t, "x", contextprovider.Budget{}, a); len(b.Pinned) != 1 || b.Pinned[0].Name != "tool-01" || strings.Contains(b.Text, "tool-00") {
			t.Errorf("%+v: pinned %v in\n%s", a, b.Pinned, b.Text)
		}
	}
}

func BenchmarkBlock(b *testing.B) {
	k := open(b, memory(b, "tools", tools(70)))
	prompt := naming(50)
	for b.Loop() {
		if _, err := k.Block(b.Context(), prompt, contextprovider.Budget{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestListPinned: pinned skills head the list, once, within the budget.
func TestListPinned(t *testing.T) {
	k := open(t, memory(t, "tools", tools(20)), everyday(t))
	a := &search.Agent{Name: "a", Pinned: []string{"signs-songs", "tool-03"}}
	budget := contextprovider.Budget{ListPinned: true, Form: contextprovider.Full}
	b := k.block(t, "skill tool-03, skill tool-04", budget, a)
	if got := names(b.Skills); len(got) < 3 || !slices.Equal(got[:3], []string{"signs-songs", "tool-03", "tool-04"}) || len(b.Pinned) > 0 {
		t.Errorf("listed %v and %d bodies", got, len(b.Pinned))
	}
	checkStructure(t, budget, b)
	if b := k.block(t, "thanks", contextprovider.Budget{ListPinned: true, Skills: 1}, a); len(b.Skills) != 1 || b.Omitted != 1 {
		t.Errorf("%d listed, %d omitted; want 1, 1", len(b.Skills), b.Omitted)
	}
}

// TestChoose: what is not chosen is neither listed nor counted.
func TestChoose(t *testing.T) {
	k := open(t, memory(t, "tools", tools(20)))
	var asked [][]string
	choose := func(hits []search.Hit) []search.Hit {
		asked = append(asked, names(hits))
		return slices.DeleteFunc(hits, func(h search.Hit) bool { return h.Name != "tool-02" })
	}
	a := &search.Agent{Name: "a", Pinned: []string{"tool-07"}}
	b := k.block(t, naming(3), contextprovider.Budget{ListPinned: true, Choose: choose}, a)
	if got := names(b.Skills); !slices.Equal(got, []string{"tool-02"}) || b.Omitted != 0 {
		t.Errorf("listed %v, %d omitted", got, b.Omitted)
	}
	if len(asked) != 2 || !slices.Equal(asked[0], []string{"tool-07"}) || len(asked[1]) < 3 {
		t.Errorf("asked for %v", asked)
	}
}

// TestChars: the bound on characters holds whatever has to be escaped.
func TestChars(t *testing.T) {
	k := open(t, memory(t, "tools", tools(20)))
	for name, budget := range wants(contextprovider.Budget{Skills: 20, Tokens: 10_000}) {
		for budget.Chars = 300; budget.Chars < 3000; budget.Chars += 97 {
			b := k.block(t, naming(20), budget, nil)
			if n := jsonLength(t, b.Text); n > budget.Chars {
				t.Errorf("%s: %d characters, bound %d", name, n, budget.Chars)
			}
			if budget.Chars > 1000 && len(b.Skills) == 0 {
				t.Errorf("%s: nothing listed in %d characters", name, budget.Chars)
			}
		}
	}
}
