package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// benchHelp stands before the help of --speed.
const benchHelp = `Bench measures relevance and speed on labelled prompts, through the code that
serves real ones. Each corpus is indexed in a temporary file; your catalog stays
as it is. A set is a folder with
  corpus.jsonl   {"id", "name", "description", "body", "tags", "examples",
                 "triggers"} on each line, the last with lists "keywords",
                 "verbs" and "patterns"; a second skill of a name is called
                 NAME-2
  queries.jsonl  {"id", "query", "kind", "lang", "style", "owner_skill"} on
                 each line, the last four optional
  qrels.tsv      query ID, skill ID and relevance on each line, separated by
                 tabs, after the header "query-id skill-id relevance"; a
                 relevance of 0 says that the skill is not wanted
A set without corpus.jsonl is measured on the corpus that --corpus names. With
--from-evals the set is made of your own catalog and of the prompts in the
evals/*.json files beside its skills, which "skills help evals" describes, and
each prompt is listed: offered, lost to another skill, or below the rate, with
the words that the skill lacks. The skills with a prompt that does not get what
its author wants come first. A terminal shows the first of these prompts, and
all prompts with --all.

Prompts of the kinds none, no_tool and hard_negative_none, and all of --none,
need no skill: what "context" would offer for them is a false injection. Another
prompt without a wanted skill is a near miss of its owner_skill: that skill
would be noise, though another one may fit. Without an owner_skill in the corpus
it is not measured. Prompts of the kind absent ask for work that no skill of the
set is for: unfit is the share of them that is offered something all the same.
--leave-one-out makes such prompts of any set: it asks each prompt that needs a
skill once more, without that skill and its copies. All means come with a 95 %
bootstrap confidence interval.

A block is measured with the threshold that holds, and with the lowest ones at
which at most 1, 2, 3, 4, 5, 7 and 10 % of the prompts that need no skill are
offered anything: "coverage@5%" is the coverage at 5 %. Prompts of the same
demand are all let through or all kept out, so that fewer may be disturbed than
the rate allows. A prompt whose kind needs no skill, such as a greeting, counts
as one that is never offered any; one that names a skill for certain counts as
offered at every threshold. The intervals include that other prompts would have
set another threshold. entries is the mean number of skills in the blocks that
list any, per_prompt in all blocks, of the prompts that need a skill.

--details prints more for each kind, language and style, the curve at all of
these rates, and how well probabilities are calibrated; --json always has all of
it, and --markdown prints tables for a document.

--mode vector ranks by the vectors alone. Without --mode it is hybrid, or text
when the embedder is none. --embedder takes another embedder than the configured
one: static, none or openai (the configured server); --compare shows what it
buys. The encoder ranks beside it as the configuration says:
REPERTOIRE_CONTEXTUAL=off measures without.

--distractors asks the prompts that need a skill in a second catalog, which has
the skills of that file too: how often is the first hit a wanted one, as the set
is ranked and by text alone? Skills that have the name of a wanted skill, or
start their description (80 characters) like one, are left out: a copy would
count as wrong.
--limit takes a sample of the prompts that need a skill, and as many that need
none, and as many near misses.

When the output is piped, each line holds set, measure, value, lower and upper
bound and number of prompts, separated by tabs. --from-evals adds skill, result,
prompt and missing words. --compare adds set, measure, before, after, difference
and p, then set, "significantly worse" and the measures that are (p < .05; fewer
entries are neither better nor worse) or "nothing", then set, "better" or
"worse", prompt, rank before and after, and difference of nDCG@10.

--json prints an object with mode and seed (as asked for), and
  sets      a list of objects with set, skills, prompts (that need a skill),
            modes (what answers were based on, with their number) and
    metrics     a list of name, value, low and high: hit@1, mrr@10, recall@5,
                recall@10, recall@50, ndcg@10, full@10 (all wanted skills are
                among the first 10)
    near_misses number of near misses
    absent      number of prompts for which there is no skill
    breakdown   by "kind", "lang" or "style", of (which), prompts, hit1,
                recall5, ndcg10 and coverage5 (coverage at a rate of 5 %)
    gate        none (prompts that need no skill), threshold, false_injection
                (share of these that got one), coverage (share of the prompts
                that need a skill that got a wanted one), entries and per_prompt
                (skills per block that lists any, and per block), right (share
                of wanted ones among all that is offered to them), precision
                (the same, mean over the blocks that list any), near_own and
                near_any (share of the near misses that got their own skill, and
                that got any), unfit (share of the prompts for which there is no
                skill that got one), tokens (injected for a prompt that needs a
                skill or none, mean), all_tokens (of all names and descriptions)
    curve       for each rate: rate, threshold, disturbed (share of the prompts
                that need no skill that got one), and coverage to unfit
    distracted  with --distractors: distractors, left_out (their numbers),
                prompts, hit1, hit1_text
    latency     p50_ms, p99_ms of a search
    calibration of the probabilities of the first 10 hits: error (expected
                calibration error) and bins (from, count, predicted, observed)
    queries     a list of id, kind, lang, style, owner (of a near miss), wanted
                (how many), rank (of the first wanted skill of 50, 0 for none),
                ranks (of all), ndcg, injected and fitting (skills offered, of
                these wanted), tokens, top (IDs of the first 10), demand (how
                probably any skill is wanted), always (the block without a
                threshold: listed, fitting, own: 1 with the skill of a near
                miss), certain (of it what the prompt names for certain),
                distracted (rank, text_rank)
    evals       with --from-evals: id, skill, prompt, should_trigger, right
                (as its author wants), result (offered, lost, below: the rate,
                kind: needs no skill, hidden: the skill is offered for no
                prompt), lost_to, demand, threshold, missing (words of the
                prompt that the skill lacks), verdict (why it is not offered),
                by_search (only the user starts the skill, so that result says
                what a search finds), lost_to_invented (nobody has that skill)
    among       of the evals: how many skills they were asked among, of the
                catalog, of folders (--among of "evals") and invented
  mean      metrics, gate and figures at 3 and 5 % over the sets, each of which
            counts the same
  breakdown as of a set: means over the sets that have a part, if several do
  unusable  evals files that could not be used: path, line, reason
  compared  with --compare, for each set that both have: set, paired (prompts),
            metrics (name, before, after, difference, p: its significance by a
            paired randomisation test), worsened (names of the metrics that are
            significantly worse), better and worse: the prompts that changed
            most (id, ranks before and after, difference of ndcg)`

// benchFlags are the flags of bench.
type benchFlags struct {
	datasets, none  []string
	corpus, compare string
	distractors     string
	mode            string
	limit           int
	seed            uint64
	fromEvals       bool
	tried, among    []string // folders: whose evals are asked, nil means all; whose skills are there too
	leaveOneOut     bool
	gate            *evalsGate // nil means none
	details, all    bool
	markdown        bool
	level           level
	speed           speedFlags
	load            loadFlags
	embedder        string // "" means the configured one
}

func newBenchCommand(e env) *cobra.Command {
	var b benchFlags
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure relevance on labelled prompts, speed, or a server",
		Long:    benchHelp + speedHelp + loadHelp,
		Example: "  skills bench --dataset sets/evals --dataset sets/trigger --json\n  skills bench --dataset sets/evals --none sets/chat --compare before.json\n  skills bench --from-evals\n  skills bench --speed --corpus skills.jsonl.gz --size 500,2500\n  skills bench --url http://127.0.0.1:8080 --clients 8 --duration 30s",
		Args:    args(0, 0),
		PreRunE: e.checked(func(s *session, _ []string) error { return b.check(s.json) }),
		RunE: e.run(func(ctx context.Context, s *session, _ []string) error {
			switch {
			case b.load.server.url != "":
				return benchLoad(ctx, s, &b.load)
			case b.speed.on:
				return benchSpeed(ctx, s, &b)
			}
			return runBench(ctx, s, &b)
		}),
	}
	b.level.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&b.datasets, "dataset", nil, "measure the set in this `folder` (repeatable)")
	f.BoolVar(&b.fromEvals, "from-evals", false, "measure your own catalog by the evals beside its skills")
	f.BoolVar(&b.all, "all", false, "list on a terminal too how each prompt of the evals fares")
	f.StringVar(&b.corpus, "corpus", "", "the `folder` with the corpus of sets that have none, or the skills of --speed")
	f.StringArrayVar(&b.none, "none", nil, "add the prompts of queries.jsonl in this `folder`, which need no skill (repeatable)")
	f.StringVar(&b.distractors, "distractors", "", "also mix the skills of this `file` (JSON lines of a corpus, perhaps gzipped) into each set")
	f.BoolVar(&b.leaveOneOut, "leave-one-out", false, "also ask each prompt without the skills that it needs")
	f.StringVar(&b.mode, "mode", "", "rank by text, vector or hybrid")
	f.IntVar(&b.limit, "limit", 0, "measure at most this `number` of prompts of a set")
	f.StringVar(&b.compare, "compare", "", "compare with this `file`, written by bench --json")
	f.BoolVar(&b.details, "details", false, "print all figures of kinds, languages and styles, the whole curve, and the calibration")
	f.BoolVar(&b.markdown, "markdown", false, "print the tables of bench/FIGURES.md")
	f.Uint64Var(&b.seed, "seed", 1, "the `number` that samples, intervals and tests start from")
	b.embedderFlag(cmd)
	b.speed.flags(cmd)
	b.load.flags(f)
	return cmd
}

func (b *benchFlags) embedderFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.embedder, "embedder", "", "measure with this embedder: `static`, none or openai")
}

func (b *benchFlags) check(json bool) error {
	if err := b.load.check(b); err != nil || b.load.server.url != "" {
		return err
	}
	if err := b.speed.check(b); err != nil || b.speed.on {
		return err
	}
	modes := []bench.Mode{bench.Text, bench.Vector, bench.Hybrid}
	if b.fromEvals { // a real catalog does not rank by vectors alone
		modes = []bench.Mode{bench.Text, bench.Hybrid}
	}
	mode := unsetOrOneOf("mode", bench.Mode(b.mode), modes)
	switch {
	case b.fromEvals && b.distractors != "":
		return errors.New("--distractors is for --dataset; \"skills evals --among FOLDER\" asks evals among other skills")
	case len(b.datasets) == 0 && !b.fromEvals:
		return errors.New("--dataset, --from-evals, --speed or --url is needed")
	case mode != nil:
		return mode
	case b.markdown && (json || b.compare != ""):
		return errors.New("--markdown goes with neither --json nor --compare")
	case b.limit < 0:
		return atLeast("limit", b.limit, 1)
	}
	return b.level.check()
}

func runBench(ctx context.Context, s *session, b *benchFlags) error {
	var before *bench.Result
	if b.compare != "" {
		var err error
		if before, err = bench.ReadResult(b.compare); err != nil {
			return err
		}
	}
	setup, err := benchSetup(ctx, s, b)
	if err != nil {
		return err
	}
	datasets, err := bench.ReadAll(b.datasets, b.corpus)
	if err != nil {
		return err
	}
	var unusable []evals.Unusable
	if b.fromEvals {
		own, bad, done, err := ownEvals(ctx, s, b, setup)
		if err != nil {
			return err
		}
		defer done()
		datasets, unusable = append(datasets, own), bad
	}
	none, err := bench.ReadNone(b.none)
	if err != nil {
		return err
	}
	if b.distractors != "" { // before minutes of work
		if _, err := os.Stat(b.distractors); err != nil {
			return fmt.Errorf("reading distractors: %w", err)
		}
	}
	var sets []bench.Set
	for _, d := range datasets {
		d.Queries = append(d.Queries, none...)
		set, err := measure(ctx, s.screen, d, setup, b)
		if err != nil {
			return err
		}
		sets = append(sets, set)
	}
	out := bench.NewResult(sets, b.seed)
	out.Mode, out.Unusable = setup.Mode, unusable
	if before != nil {
		out.Compared = bench.Compare(*before, out)
	}
	if err := printBench(s.screen, &out, b); err != nil {
		return err
	}
	return reportedIf(b.gate.judge(s, &out))
}

// ownEvals returns the set of the evals in the catalog, which can be measured until done is called.
func ownEvals(ctx context.Context, s *session, b *benchFlags, setup *bench.Setup) (d *bench.Dataset, bad []evals.Unusable, done func(), err error) {
	c, err := openTried(ctx, s, len(b.tried) > 0)
	if err != nil {
		return nil, nil, nil, err
	}
	o := evals.Options{Folders: b.among}
	if b.mode != "" || b.embedder != "" {
		o.Embedder, o.Contextual = orNone(setup.Embedder), orNone(setup.Contextual)
	}
	room, err := openRoom(ctx, c, o)
	if err != nil {
		return nil, nil, nil, errors.Join(err, c.Close())
	}
	done = func() { // what was measured holds
		_ = room.Close()
		_ = c.Close()
	}
	if d, bad, err = bench.FromEvals(ctx, room, b.isTried, func(err error) { s.note("%s", messageOf(err)) }); err != nil {
		done()
	}
	return d, bad, done, err
}

// isTried reports whether the evals of a skill are asked.
func (b *benchFlags) isTried(e *repertoire.Entry) bool {
	return b.tried == nil || slices.ContainsFunc(b.tried, func(folder string) bool { return regular.In(regular.Real(folder), regular.Real(e.Location)) })
}

func orNone(e embed.Embedder) embed.Embedder {
	if e == nil {
		return embed.None{}
	}
	return e
}

// benchSetup decides the mode and makes its embedder.
func benchSetup(ctx context.Context, s *session, b *benchFlags) (*bench.Setup, error) {
	settings, err := s.settings()
	if err != nil {
		return nil, err
	}
	choice := settings.Embedder
	if b.embedder != "" {
		if choice, err = settings.FindEmbedder(b.embedder); err != nil {
			return nil, err
		}
	}
	out := &bench.Setup{Mode: bench.Mode(b.mode), Deadline: settings.Deadline, Disturb: settings.Disturb, Unfit: settings.Unfit, Threshold: settings.Threshold}
	if out.Mode == bench.Text {
		return out, nil
	}
	if out.Embedder, err = choice.New(); err != nil {
		return nil, fmt.Errorf("configuring embedder: %w", err)
	}
	by, err := settings.Embedding(out.Embedder)
	if err != nil {
		return nil, err
	}
	if out.Contextual = by.Contextual; by.Slow != "" {
		s.note("the encoder is not measured: %s", by.Slow)
	}
	_, none := out.Embedder.(embed.None)
	switch {
	case none && out.Mode != "":
		return nil, fmt.Errorf("--mode %s: the configured embedder is none", out.Mode)
	case none:
		out.Mode = bench.Text
	case out.Mode == "":
		out.Mode = bench.Hybrid
	}
	return out, nil
}

// measure asks the prompts of one set, with distractors too if there are any.
func measure(ctx context.Context, ui *screen, d *bench.Dataset, setup *bench.Setup, b *benchFlags) (bench.Set, error) {
	o := &bench.Options{Limit: b.limit, Disturb: b.level.disturb(), Unfit: b.level.unfit(), Threshold: b.level.threshold(), Seed: b.seed, LeaveOneOut: b.leaveOneOut}
	var set bench.Set
	err := inCatalog(ctx, ui, d, setup, o, func(c *bench.Catalog) (err error) {
		set, err = bench.Run(ctx, c, d, o)
		return err
	})
	switch {
	case err != nil:
		return set, err
	case len(set.Queries) == 0:
		return set, fmt.Errorf("%s: no prompt has a wanted skill, or is of a kind that needs none", d.Name)
	case b.distractors == "" || set.Prompts == 0:
		return set, nil
	}
	m := bench.NewMixture(d, bench.ReadCorpus(b.distractors))
	return set, inCatalog(ctx, ui, &m.Dataset, setup, o, func(c *bench.Catalog) error { return bench.Distract(ctx, c, m, &set, o) })
}

// inCatalog calls f with the indexed corpus of a set, with a bar for each step. It sets
// o.Step.
func inCatalog(ctx context.Context, ui *screen, d *bench.Dataset, setup *bench.Setup, o *bench.Options, f func(*bench.Catalog) error) error {
	start := time.Now()
	// What main sets is for runs that end at once; a large corpus needs memory.
	percent := debug.SetGCPercent(100)
	indexing, embedding := ui.progress("indexing "+d.Name, -1), ui.progress("embedding "+d.Name, 1)
	s := *setup
	s.Indexed, s.Embedded = indexing.step, embedding.set
	c, err := bench.NewCatalog(ctx, d, &s)
	indexing.done()
	embedding.done()
	debug.SetGCPercent(percent)
	if err != nil {
		return fmt.Errorf("indexing %s: %w", d.Name, err)
	}
	defer c.Close() // a file in the temporary folder; what was measured holds
	ui.noteVerbose("%s: %s indexed in %s", d.Name, count(c.Skills, "skill"), figures.Duration(time.Since(start)))
	searching := ui.progress("searching "+d.Name, 1)
	defer searching.done()
	o.Step = searching.set
	return f(c)
}
