package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // for the prompts
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// background holds 500 prompts that need no skill, as JSON strings, one in a line. They were
// written one by one for this project, 1,000 in ten categories: edits, bugs, explanations,
// code to write, chores, facts, chat, follow-ups, prose and other languages. Of each
// category every second one is here. The weights of the gate may be fitted to the other
// half, but never to these, or the thresholds would be too low.
//
//go:embed background.jsonl
var background string

// backgroundPrompts returns the prompts that need no skill.
func backgroundPrompts() ([]string, error) {
	var list []string
	for line := range strings.Lines(background) {
		var s string
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return nil, fmt.Errorf("prompt %d that needs no skill: %w", len(list)+1, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// A Calibrator measures which demand prompts that need no skill reach in a catalog, and for
// agents in their scopes: index.Index.Calibrate keeps what it finds.
type Calibrator struct {
	ranker *ranker
	agents []*Agent
}

// Calibrator returns a Calibrator for the whole catalog and for these agents.
func (x *ranker) Calibrator(agents []*Agent) *Calibrator { return &Calibrator{x, agents} }

// Prompts returns the prompts that need no skill.
func (c *Calibrator) Prompts() ([]string, error) { return backgroundPrompts() }

// Due reports whether the calibration of a set is of another base, of other weights or of
// other agents, or no longer fits.
func (c *Calibrator) Due(s *snapshot.Set) bool {
	encoder := c.ranker.encoderOf(s) != nil
	if c.ranker.outdated(s) != "" || s.Calibration.Base != s.BaseGeneration() || encoder && !s.Calibration.FitsEncoder(s, c.ranker.encoding(s)) {
		return true
	}
	due := false
	err := s.Read(func(v *snapshot.View) error {
		h, err := c.ranker.scopes.heldIn(v)
		due = slices.ContainsFunc(c.all(), func(a *Agent) bool {
			key := a.scopeKey(h)
			return s.Calibration.Demands[key] == nil || encoder && s.Calibration.Contextual[key] == nil
		})
		return err
	})
	return due || err != nil
}

// all returns the agents, and nil for everybody else.
func (c *Calibrator) all() []*Agent { return append([]*Agent{nil}, c.agents...) }

// Calibrate ranks the prompts in the set as a search does, on all processors. What the set
// knows of other agents already is kept: another program may have configured them.
func (c *Calibrator) Calibrate(ctx context.Context, s *snapshot.Set, e embed.Embedder, points []snapshot.Point) (*snapshot.Calibration, error) {
	x := c.ranker
	prompts, err := backgroundPrompts()
	if err != nil {
		return nil, err
	}
	if len(points) != len(prompts) {
		return nil, fmt.Errorf("there are vectors of %d prompts, and %d prompts", len(points), len(prompts))
	}
	found := &snapshot.Calibration{
		Catalog: s.Catalog, Method: x.method(), Model: s.Model(), Base: s.BaseGeneration(), Skills: s.Offered(),
		Encoder: x.encoding(s), Sentences: s.Sentences,
		Demands: make(map[string]snapshot.Demands), Contextual: make(map[string]snapshot.Demands),
	}
	if x.outdated(s) == "" && s.Calibration.Base == found.Base && len(s.Calibration.Demands) < maxScopes+len(c.agents) {
		maps.Copy(found.Demands, s.Calibration.Demands)
		found.Cosines = s.Calibration.Cosines
		if s.Calibration.FitsEncoder(s, x.encoding(s)) {
			maps.Copy(found.Contextual, s.Calibration.Contextual)
		}
	} else if e != nil && !onScale(e) {
		if found.Cosines, err = spreads(s, points); err != nil {
			return nil, err
		}
	}
	var h *held
	if err := s.Read(func(v *snapshot.View) (err error) { h, err = x.scopes.heldIn(v); return err }); err != nil {
		return nil, err
	}
	b := backgroundRun{ranker: x, set: s, held: h, scale: scaleOf(found), prompts: prompts, points: wordsOnly(points)}
	if err := b.fill(ctx, found.Demands, c.all()); err != nil || x.encoderOf(s) == nil {
		return found, err
	}
	b.points = points
	return found, b.fill(ctx, found.Contextual, c.all())
}

// wordsOnly returns the points without the vectors of the encoder.
func wordsOnly(points []snapshot.Point) []snapshot.Point {
	list := slices.Clone(points)
	for i := range list {
		list[i][snapshot.Sentences] = nil
	}
	return list
}

// maxScopes is how many scopes besides those of the agents a calibration keeps. Each change
// of a policy makes new ones, and every process reads the calibration.
const maxScopes = 64

// backgroundRun ranks prompts that need no skill in the scope of one agent.
type backgroundRun struct {
	*ranker
	set     *snapshot.Set
	agent   *Agent
	held    *held
	scale   rank.Scale
	prompts []string
	points  []snapshot.Point // of the prompts
}

// fill adds the demands in the scopes of agents that are not there yet.
func (b backgroundRun) fill(ctx context.Context, known map[string]snapshot.Demands, agents []*Agent) (err error) {
	for _, b.agent = range agents {
		key := b.agent.scopeKey(b.held)
		if _, ok := known[key]; ok {
			continue
		}
		if known[key], err = b.demands(ctx); err != nil {
			return err
		}
	}
	return nil
}

// demands returns the demands of the prompts in rising order.
func (b *backgroundRun) demands(ctx context.Context) (snapshot.Demands, error) {
	list := make(snapshot.Demands, len(b.prompts))
	errs := make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() {
			errs[n] = b.set.Read(func(v *snapshot.View) error {
				sc, err := scopeOf(v, b.agent, b.held)
				for i := next.Add(1) - 1; err == nil && int(i) < len(list); i = next.Add(1) - 1 {
					list[i], err = b.demand(ctx, v.In(sc), int(i))
				}
				return err
			})
		})
	}
	wg.Wait()
	slices.Sort(list)
	return list, cmp.Or(ctx.Err(), errors.Join(errs...))
}

// demand returns the demand of a prompt. A prompt that names a skill for certain gets an
// offer at any threshold, so its demand counts as 1.
func (b *backgroundRun) demand(ctx context.Context, v *snapshot.View, i int) (float32, error) {
	r := b.retrieval(v)
	defer b.analyzers.Put(r.analyzer)
	r.scale, r.Kind = b.scale, string(intent.Of(b.prompts[i]))
	point := b.points[i]
	if e := b.encoderOf(b.set); e != nil && !reads(e, b.prompts[i]) {
		point[snapshot.Sentences] = nil
	}
	err := b.find(ctx, r, b.prompts[i], func() snapshot.Point { return point })
	if err != nil {
		return 0, err
	}
	scored := b.judge(r, r.candidates)
	if slices.ContainsFunc(scored, func(s rank.Scored) bool { return s.Exact }) {
		return 1, nil
	}
	return float32(r.Demand.Probability), v.Err()
}

// spreads returns the spreads of the cosines of prompts with the vectors of the skills of a
// set. A sample of the skills is enough.
func spreads(s *snapshot.Set, prompts []snapshot.Point) (spread [snapshot.Legs]struct{ Mean, Deviation float64 }, err error) {
	const sample = 500
	var n, sums, squares [snapshot.Legs]float64
	err = s.Read(func(v *snapshot.View) error {
		skills := slices.Collect(v.Scope.Offered.All())
		step := max(1, len(skills)/sample)
		for _, p := range prompts {
			vector := v.Retriever().Prepare(p)
			for at := 0; at < len(skills); at += step {
				cosines := v.Retriever().Cosines(&vector, skills[at])
				for leg, x := range cosines.Value {
					if cosines.Known[leg] && snapshot.Leg(leg) != snapshot.Sentence {
						n[leg]++
						sums[leg] += x
						squares[leg] += x * x
					}
				}
			}
		}
		return nil
	})
	for leg := range spread {
		mean := sums[leg] / max(n[leg], 1)
		spread[leg].Mean, spread[leg].Deviation = mean, math.Sqrt(max(0, squares[leg]/max(n[leg], 1)-mean*mean))
	}
	return spread, err
}

// method identifies the prompts that need no skill and everything that their demands
// depend on, but for the catalog and the embedder: first what follows from the program, then,
// after a space, what follows from the places of skills and whose triggers count.
func (x *ranker) method() string {
	params, err := json.Marshal(x.opts.Params)
	if err != nil {
		return "" // not finite weights: nothing is calibrated
	}
	return fmt.Sprintf("%08x%08x%.8x %.8x", crc32.ChecksumIEEE([]byte(background)), intent.RequestSum(), sha256.Sum256(params),
		sha256.Sum256([]byte(x.scopes.policy.Load().triggersKey())))
}

// encoding identifies the encoder whose vectors a set holds, and what it was fitted to.
func (x *ranker) encoding(s *snapshot.Set) string {
	name := s.Models()[snapshot.Sentences].Name
	if f, ok := x.encoderOf(s).(embed.Fitted); ok {
		name += " " + f.Fit()
	}
	return name
}

// scopeKey identifies the scope of an agent by its rules and by what is held back: an agent
// with other rules has another scope, whatever its name.
func (a *Agent) scopeKey(h *held) string {
	text := ""
	if a != nil && !(a.Include.empty() && a.Exclude.empty()) {
		text = fmt.Sprintf("%q %q %q, %q %q %q", a.Include.Names, a.Include.Tags, a.Include.Sources, a.Exclude.Names, a.Exclude.Tags, a.Exclude.Sources)
	}
	if a != nil && len(a.Uses) > 0 {
		text += fmt.Sprintf(" using %q", a.Uses)
	}
	if h != nil && h.key != "" {
		text += " without " + h.key
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%.8x", sha256.Sum256([]byte(text)))
}

// OnlyNamed is a rate of disturbance at which a prompt gets only the skills that it
// names. (A rate of 0 means the default.)
const OnlyNamed = -1.0

// CheckLevels returns an error if a threshold and a rate of disturbance are both set, or
// if one of them is out of its range.
func (q *Query) CheckLevels() error {
	switch {
	case q.Threshold != 0 && q.Disturb != 0:
		return errors.New("threshold and disturb are both set; leave one of them out")
	case !(q.Threshold <= 1):
		return errors.New("threshold must be a probability up to 1")
	case !(q.Disturb <= 1):
		return errors.New("disturb must be a share up to 1")
	}
	return nil
}

// A Background says what the threshold of an answer follows from.
type Background struct {
	// Disturb is the share of the prompts that need no skill that may get an offer,
	// 0 to 1; -1 means that the threshold was set instead.
	Disturb float64
	// Prompts is the number of prompts that need no skill and were ranked in this
	// catalog, and Higher how many of them reach a higher demand than this prompt.
	// With 0 of them the threshold is the threshold of a typical catalog.
	Prompts, Higher int
	Missing         string // why Prompts is 0; "" when it is not
	Due             bool   // the catalog must be calibrated, perhaps only for this agent, see Calibrator
}

// setThreshold sets from which demand on skills are relevant.
func (x *ranker) setThreshold(r *retrieval, q Query) {
	threshold, rate := q.Threshold, q.Disturb
	if threshold == 0 && rate == 0 {
		threshold, rate = x.opts.Threshold, x.opts.Disturb
	}
	x.setBackground(r, q.Agent)
	if threshold != 0 {
		r.Background.Disturb, r.Threshold = -1, max(0, threshold)
		return
	}
	b := &r.Background
	b.Disturb = max(0, cmp.Or(rate, rank.DefaultRate))
	r.Threshold = x.opts.Params.Gate.ThresholdFor(b.Disturb, r.demands)
}

// setBackground looks up the demands of the prompts that need no skill in the scope of an
// agent, or else in the whole catalog.
func (x *ranker) setBackground(r *retrieval, a *Agent) {
	b, s := &r.Background, r.view.Set
	if b.Missing = x.outdated(s); b.Missing != "" {
		b.Due = true
		return
	}
	if s.Model() != "" && r.vector[snapshot.Words] == nil {
		b.Missing = "the catalog was calibrated with vectors, but the embedder gave none for this prompt"
		return
	}
	known := s.Calibration.Demands
	if r.vector[snapshot.Sentences] != nil {
		// Until it is calibrated with the encoder, the demands without it are the best estimate.
		if b.Due = !s.Calibration.FitsEncoder(s, x.encoding(s)) || s.Calibration.Contextual[""] == nil; !b.Due {
			known = s.Calibration.Contextual
		}
	}
	var ok bool
	if r.demands, ok = known[r.key(a)]; !ok {
		r.demands, b.Due = known[""], true
	}
	if b.Prompts = len(r.demands); b.Prompts == 0 {
		b.Missing = "the catalog was calibrated without prompts that need no skill"
	}
}

// key is the scopeKey of an agent, which takes longer to make than to look up.
func (r *retrieval) key(a *Agent) string {
	if a == nil && r.held == nil {
		return ""
	}
	key, _ := remember(r.view.Set, mostScopes, viewKey{a.sees(), r.held}, func() (string, error) { return a.scopeKey(r.held), nil })
	return key
}

// outdated says why the calibration of a set cannot be used; "" means that it can.
func (x *ranker) outdated(s *snapshot.Set) string {
	type reason struct {
		*ranker
		*policy
	}
	why, _ := remember(s, mostPolicies, reason{x, x.scopes.policy.Load()}, func() (string, error) {
		method := x.method()
		program, _, _ := strings.Cut(method, " ")
		switch c := s.Calibration; {
		case c == nil:
			return "the catalog has not been calibrated yet", nil
		case c.Method != method && strings.HasPrefix(c.Method, program+" "):
			return "the places of skills, or the triggers that count, have changed since the catalog was calibrated", nil
		case c.Method != method:
			return "another version of this program calibrated the catalog", nil
		case !c.Fits(s):
			return "the catalog has changed much since it was calibrated", nil
		}
		return "", nil
	})
	return why
}

// scaleOf returns the scale that a calibration has measured; the zero value means that it has
// measured none.
func scaleOf(c *snapshot.Calibration) (s rank.Scale) {
	for n, spread := range c.Cosines {
		s[vectorLeg(n)] = rank.Spread(spread)
	}
	return s
}

// Quiet says why a prompt gets no skill but those that it names; "" if it may get others.
func (r *Ranking) Quiet() string {
	switch {
	case r.Kind != "":
		return "the prompt is " + intent.Kind(r.Kind).Phrase()
	case r.Demand.Probability < r.Threshold:
		likely, threshold := figures.Percents(r.Demand.Probability, r.Threshold)
		return fmt.Sprintf("this prompt looks %s likely to need a skill; the threshold is %s", likely, threshold)
	}
	return ""
}

// Promise says what the threshold aims at; "" if it was set by hand. The share is exact for
// the prompts that set the threshold, and a guess for others.
func (b *Background) Promise() string {
	if b.Disturb < 0 {
		return ""
	}
	return fmt.Sprintf("about %.3g %% of the prompts that need no skill get one", 100*b.Disturb)
}

// Reference says how a prompt compares with the prompts that need no skill, or why the
// threshold is an estimate; "" if there is nothing to say.
func (r *Ranking) Reference() string {
	switch b := &r.Background; {
	case b.Prompts > 0 && r.Kind == "":
		return fmt.Sprintf("of %d prompts that need no skill, %d would score higher here", b.Prompts, b.Higher)
	case b.Prompts == 0 && b.Disturb >= 0:
		return "none, so that the threshold is an estimate: " + b.Missing
	}
	return ""
}
