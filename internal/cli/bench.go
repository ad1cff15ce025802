package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// benchHelp stands before the help of --speed.
const benchHelp = `Bench measures relevance and speed on labelled prompts, through the code that
serves real ones. Each corpus is indexed in a temporary file; your catalog stays
as it is. A set is a folder with
  corpus.jsonl   {"id", "name", "description", "body", "tags"} on each line; a
                 second skill of a name is called NAME-2
  queries.jsonl  {"id", "query", "kind", "lang"} on each line, the last two
                 optional
  qrels.tsv      query ID, skill ID and relevance on each line, separated by
                 tabs, after the header "query-id skill-id relevance"; a
                 relevance of 0 says that the skill is not wanted
A set without corpus.jsonl is measured on the corpus that --corpus names. With
--from-evals the set is made of your own catalog and of the prompts in the
evals/*.json files beside its skills.

Prompts of the kinds none, no_tool and hard_negative_none, and all of --none,
need no skill: what "context" would offer for them is a false injection. Other
prompts without a wanted skill (such as kind negative) are not measured. All
means come with a 95 % bootstrap confidence interval.

--mode vector ranks by the vectors alone. Without --mode it is hybrid, or text
when the embedder is none.
--limit takes a sample of the prompts that need a skill, and as many that need
none.

When the output is piped, each line holds set, measure, value, lower and upper
bound and number of prompts, separated by tabs. --compare adds set, measure,
before, after, difference and p, then set, "better" or "worse", prompt, rank
before and after, and difference of nDCG@10.

--json prints an object with mode and seed (as asked for), and
  sets      a list of objects with set, skills, prompts (that need a skill),
            modes (what answers were based on, with their number) and
    metrics     a list of name, value, low and high: hit@1, mrr@10, recall@5,
                recall@10, recall@50, ndcg@10, full@10 (all wanted skills are
                among the first 10)
    breakdown   hit1 by "kind" or "lang": by, of (which), prompts, hit1
    gate        none (prompts that need no skill), false_injection (share of
                these that got one), coverage (share of the others that got a
                wanted one), precision (share of wanted ones among what is
                offered, mean over the blocks of the others), tokens (injected
                for a prompt, mean), all_tokens (of all names and descriptions)
    latency     p50_ms, p99_ms of a search
    calibration of the probabilities of the first 10 hits: error (expected
                calibration error) and bins (from, count, predicted, observed)
    queries     a list of id, kind, lang, wanted (how many), rank (of the first
                wanted skill of 50, 0 for none), ranks (of all), ndcg, injected
                and fitting (skills offered, of these wanted), tokens, top (IDs
                of the first 10)
  mean      metrics and gate over the sets, each of which counts the same
  unusable  evals files that could not be used: path, reason
  compared  with --compare, for each set that both have: set, paired (prompts),
            metrics (name, before, after, difference, p: its significance by a
            paired randomisation test), better and worse: the prompts that
            changed most (id, ranks before and after, difference of ndcg)`

// benchFlags are the flags of bench.
type benchFlags struct {
	datasets, none  []string
	corpus, compare string
	mode            string
	limit           int
	seed            uint64
	fromEvals       bool
	level           level
	speed           speedFlags
}

func (a *app) benchCommand() *cobra.Command {
	var b benchFlags
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure relevance on labelled prompts, or speed",
		Long:    benchHelp + speedHelp,
		Example: "  skills bench --dataset sets/evals --dataset sets/trigger --json\n  skills bench --dataset sets/evals --none sets/chat --compare before.json\n  skills bench --from-evals\n  skills bench --speed --corpus skills.jsonl.gz --size 500,2500",
		Args:    args(0, 0),
		PreRunE: checked(func([]string) error { return b.check() }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.speed.on {
				return a.benchSpeed(cmd.Context(), &b)
			}
			return a.bench(cmd.Context(), &b)
		},
	}
	b.level.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&b.datasets, "dataset", nil, "measure the set in this `folder` (repeatable)")
	f.BoolVar(&b.fromEvals, "from-evals", false, "measure your own catalog by the evals beside its skills")
	f.StringVar(&b.corpus, "corpus", "", "the `folder` with the corpus of sets that have none, or the skills of --speed")
	f.StringArrayVar(&b.none, "none", nil, "add the prompts of queries.jsonl in this `folder`, which need no skill (repeatable)")
	f.StringVar(&b.mode, "mode", "", "rank by text, vector or hybrid")
	f.IntVar(&b.limit, "limit", 0, "measure at most this `number` of prompts of a set")
	f.StringVar(&b.compare, "compare", "", "compare with this `file`, written by bench --json")
	f.Uint64Var(&b.seed, "seed", 1, "the `number` that samples, intervals and tests start from")
	b.speed.flags(cmd)
	return cmd
}

func (b *benchFlags) check() error {
	if err := b.speed.check(b); err != nil || b.speed.on {
		return err
	}
	modes := []string{"", string(bench.Text), string(bench.Vector), string(bench.Hybrid)}
	switch {
	case len(b.datasets) == 0 && !b.fromEvals:
		return errors.New("--dataset, --from-evals or --speed is needed")
	case !slices.Contains(modes, b.mode):
		return fmt.Errorf("no mode %q%s", b.mode, words.Suggest(b.mode, modes[1:]))
	case b.limit < 0:
		return fmt.Errorf("--limit %d: at least 1", b.limit)
	}
	return b.level.check()
}

func (a *app) bench(ctx context.Context, b *benchFlags) error {
	before, err := readBench(b.compare)
	if err != nil {
		return err
	}
	setup, err := a.benchSetup(b)
	if err != nil {
		return err
	}
	datasets, err := bench.ReadAll(b.datasets, b.corpus)
	if err != nil {
		return err
	}
	out := benchResult{Mode: string(setup.Mode)}
	if b.fromEvals {
		c, err := a.openFresh(ctx, freshen)
		if err != nil {
			return err
		}
		defer c.Close() // not sooner: the corpus is read while it is indexed
		own, unusable, err := bench.FromEvals(ctx, c.Catalog, c.agent, func(err error) { a.note("%s", messageOf(err)) })
		if err != nil {
			return err
		}
		out.Unusable, datasets = unusable, append(datasets, own)
	}
	none, err := bench.ReadNone(b.none)
	if err != nil {
		return err
	}
	for _, d := range datasets {
		d.Queries = append(d.Queries, none...)
		s, err := a.measure(ctx, d, setup, b)
		if err != nil {
			return err
		}
		out.Sets = append(out.Sets, s)
	}
	out.Result = bench.NewResult(out.Sets, b.seed)
	if before != nil {
		out.Compared = bench.Compare(*before, out.Result)
	}
	return a.printBench(out)
}

// benchSetup decides the mode and makes its embedder.
func (a *app) benchSetup(b *benchFlags) (*bench.Setup, error) {
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	s := &bench.Setup{Mode: bench.Mode(b.mode), Deadline: settings.Deadline, Disturb: settings.Disturb, Threshold: settings.Threshold}
	if s.Mode == bench.Text {
		return s, nil
	}
	if s.Embedder, err = settings.Embedder.New(); err != nil {
		return nil, fmt.Errorf("configuring embedder: %w", err)
	}
	_, none := s.Embedder.(embed.None)
	switch {
	case none && s.Mode != "":
		return nil, fmt.Errorf("--mode %s: the configured embedder is none", s.Mode)
	case none:
		s.Mode = bench.Text
	case s.Mode == "":
		s.Mode = bench.Hybrid
	}
	return s, nil
}

// measure indexes one set and asks its prompts, with a bar for each step.
func (a *app) measure(ctx context.Context, d *bench.Dataset, setup *bench.Setup, b *benchFlags) (bench.Set, error) {
	start := time.Now()
	// What main sets is for runs that end at once; a large corpus needs memory.
	percent := debug.SetGCPercent(100)
	indexing, embedding := a.progress("indexing "+d.Name, -1), a.progress("embedding "+d.Name, 1)
	s := *setup
	s.Indexed, s.Embedded = indexing.step, embedding.set
	c, err := bench.NewCatalog(ctx, d, &s)
	indexing.done()
	embedding.done()
	debug.SetGCPercent(percent)
	if err != nil {
		return bench.Set{}, fmt.Errorf("indexing %s: %w", d.Name, err)
	}
	defer c.Close() // a file in the temporary folder; what was measured holds
	a.noteVerbose("%s: %s indexed in %v", d.Name, count(c.Skills, "skill"), time.Since(start).Round(time.Millisecond))
	searching := a.progress("searching "+d.Name, 1)
	defer searching.done()
	set, err := bench.Run(ctx, c, d, &bench.Options{Limit: b.limit, Disturb: b.level.disturb(), Threshold: b.level.threshold(), Seed: b.seed, Step: searching.set})
	if err == nil && len(set.Queries) == 0 {
		err = fmt.Errorf("%s: no prompt has a wanted skill, or is of a kind that needs none", d.Name)
	}
	return set, err
}

// benchResult is what "bench --json" prints.
type benchResult struct {
	Mode string `json:"mode"`
	bench.Result
	Unusable []bench.Unusable   `json:"unusable,omitempty"`
	Compared []bench.Comparison `json:"compared,omitempty"`
}

// readBench reads an earlier result; nil without a name.
func readBench(name string) (*bench.Result, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r benchResult
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(r.Sets) == 0 {
		return nil, fmt.Errorf("%s is no result of bench --json", name)
	}
	return &r.Result, nil
}

// printBench prints a result as tables or as JSON.
func (a *app) printBench(out benchResult) error {
	if a.json {
		return a.printJSON(out)
	}
	var rows [][]string
	for _, s := range out.Sets {
		rows = append(rows, setRows(s)...)
	}
	if len(out.Sets) > 1 {
		for _, m := range out.Mean {
			rows = append(rows, estimateRow("mean", m.Name, m.Estimate, len(out.Sets)))
		}
	}
	if err := a.rows([]string{"SET", "MEASURE", "VALUE", "LOW", "HIGH", "PROMPTS"}, rows); err != nil {
		return err
	}
	return a.printCompared(out.Compared)
}

// setRows are the rows of one set: relevance, gate, tokens, latency, modes.
func setRows(s bench.Set) [][]string {
	var rows [][]string
	add := func(measure string, e bench.Estimate, n int) { rows = append(rows, estimateRow(s.Set, measure, e, n)) }
	plain := func(measure, value string, n int) {
		rows = append(rows, []string{s.Set, measure, value, "", "", strconv.Itoa(n)})
	}
	for _, m := range s.Metrics {
		add(m.Name, m.Estimate, s.Prompts)
	}
	for _, p := range s.Breakdown {
		add(fmt.Sprintf("hit@1 %s=%s", p.By, p.Of), p.Hit1, p.Prompts)
	}
	if s.Prompts > 0 {
		add("coverage", s.Gate.Coverage, s.Prompts)
		add("precision", s.Gate.Precision, s.Prompts)
	}
	if s.Gate.None > 0 {
		add("false_injection", s.Gate.FalseInjection, s.Gate.None)
	}
	all := len(s.Queries)
	plain("tokens", fmt.Sprintf("%.1f", s.Gate.Tokens), all)
	plain("all_tokens", strconv.Itoa(s.Gate.AllTokens), all)
	plain("p50_ms", fmt.Sprintf("%.2f", s.Latency.P50), all)
	plain("p99_ms", fmt.Sprintf("%.2f", s.Latency.P99), all)
	for _, mode := range slices.Sorted(maps.Keys(s.Modes)) {
		plain("mode", mode, s.Modes[mode])
	}
	return append(rows, calibrationRows(s)...)
}

// calibrationRows are the reliability table, if there is one, with predicted and observed
// probability in the columns of the bounds.
func calibrationRows(s bench.Set) [][]string {
	if s.Calibration == nil {
		return nil
	}
	rows := [][]string{{s.Set, "calibration error", decimals(s.Calibration.Error), "", "", ""}}
	for _, b := range s.Calibration.Bins {
		rows = append(rows, []string{s.Set, "predicted, observed", fmt.Sprintf("from %.1f", b.From),
			decimals(b.Predicted), decimals(b.Observed), strconv.Itoa(b.Count)})
	}
	return rows
}

func estimateRow(set, measure string, e bench.Estimate, n int) []string {
	return []string{set, measure, decimals(e.Value), decimals(e.Low), decimals(e.High), strconv.Itoa(n)}
}

// printCompared prints the differences of measures, then the prompts that changed most.
func (a *app) printCompared(list []bench.Comparison) error {
	var changes, moved [][]string
	for _, c := range list {
		for _, m := range c.Metrics {
			changes = append(changes, []string{c.Set, m.Name, decimals(m.Before), decimals(m.After),
				fmt.Sprintf("%+.3f", m.Difference), fmt.Sprintf("p=%.4f", m.P)})
		}
		moved = append(moved, movedRows(c.Set, "better", c.Better)...)
		moved = append(moved, movedRows(c.Set, "worse", c.Worse)...)
	}
	if err := a.further([]string{"SET", "MEASURE", "BEFORE", "AFTER", "DIFFERENCE", "P"}, changes); err != nil {
		return err
	}
	return a.further([]string{"SET", "CHANGE", "PROMPT", "BEFORE", "AFTER", "NDCG@10"}, moved)
}

// further prints one more table after an empty line, if the table has rows.
func (a *app) further(header []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return a.rows(header, rows)
}

func movedRows(set, change string, list []bench.Moved) [][]string {
	return mapped(list, func(m bench.Moved) []string {
		return []string{set, change, m.ID, place(m.Before), place(m.After), fmt.Sprintf("%+.3f", m.Difference)}
	})
}

// place is a rank as people read it.
func place(rank int) string {
	if rank == 0 {
		return "-"
	}
	return strconv.Itoa(rank)
}

func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
