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
	"github.com/repertoire-skills/repertoire/internal/words"
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

// work holds prompts for work, as JSON objects, one in a line, each with the name of the skill of
// somebody else that it was written for. Neither the encoder nor the word vectors were trained on them.
//
//go:embed work.jsonl
var work string

// A workPrompt is one that a skill can help with.
type workPrompt struct{ Prompt, Skill string }

// backgroundPrompts returns the prompts that need no skill.
func backgroundPrompts() ([]string, error) { return linesOf[string](background) }

func workPrompts() ([]workPrompt, error) { return linesOf[workPrompt](work) }

// linesOf decodes the lines of an embedded file.
func linesOf[T any](file string) ([]T, error) {
	list := make([]T, 0, strings.Count(file, "\n"))
	for line := range strings.Lines(file) {
		var x T
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			return nil, fmt.Errorf("background prompt %d: %w", len(list)+1, err)
		}
		list = append(list, x)
	}
	return list, nil
}

// A Calibrator measures which demand prompts reach in a catalog that should get no offer there, and for
// agents in their scopes: index.Index.Calibrate keeps what it finds.
type Calibrator struct {
	ranker *ranker
	agents []*Agent
}

// Calibrator returns a Calibrator for the whole catalog and for these agents.
func (x *ranker) Calibrator(agents []*Agent) *Calibrator { return &Calibrator{x, agents} }

// Prompts returns the prompts that need no skill, and then those for work.
func (c *Calibrator) Prompts() ([]string, error) {
	list, _, err := allPrompts()
	return list, err
}

// allPrompts returns the prompts that need no skill, and then those for work, which it also returns
// with their skills.
func allPrompts() (list []string, work []workPrompt, err error) {
	if list, err = backgroundPrompts(); err != nil {
		return nil, nil, err
	}
	work, err = workPrompts()
	for _, w := range work {
		list = append(list, w.Prompt)
	}
	return list, work, err
}

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
			_, known := s.Calibration.Demands[key]
			_, encoded := s.Calibration.Contextual[key]
			return !known || encoder && !encoded
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
	prompts, work, err := allPrompts()
	if err != nil {
		return nil, err
	}
	if len(points) != len(prompts) {
		return nil, fmt.Errorf("there are vectors of %d prompts, and %d prompts", len(points), len(prompts))
	}
	needless := len(prompts) - len(work)
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
		if found.Cosines, err = spreads(s, points[:needless]); err != nil {
			return nil, err
		}
	}
	var h *held
	if err := s.Read(func(v *snapshot.View) (err error) { h, err = x.scopes.heldIn(v); return err }); err != nil {
		return nil, err
	}
	b := backgroundRun{ranker: x, set: s, held: h, scale: scaleOf(found), prompts: prompts, points: wordsOnly(points), needless: needless}
	if b.near, err = x.near(s, work); err != nil {
		return nil, err
	}
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

// sameWork is the encoder's cosine of what two skills are for from which on a prompt for one may be a
// prompt for the other. Whether it is .6 or there is no such rule moves the share of the dev prompts
// without a skill that are offered one by up to .03.
const sameWork = .75

// near returns which prompts for work a skill of the set may fit: it has the name of the skill that the
// prompt was written for, or the encoder finds both alike. That looks at no figure of the gate.
func (x *ranker) near(s *snapshot.Set, work []workPrompt) ([]bool, error) {
	near := make([]bool, len(work))
	var subjects []embed.Vector
	if f, ok := x.encoderOf(s).(embed.Fitted); ok {
		subjects = f.Subjects()
	}
	err := s.Read(func(v *snapshot.View) error {
		for n, w := range work {
			near[n] = slices.ContainsFunc(v.Names().All(words.NameKey(w.Skill)), v.Scope.Offered.Has)
		}
		if len(subjects) != len(work) {
			return v.Err()
		}
		for n, subject := range subjects {
			vector := v.Retriever().Prepare(snapshot.Point{snapshot.Sentences: subject})
			for _, h := range v.Retriever().Nearest(&vector, v.Scope.Offered, 1) {
				near[n] = near[n] || v.Retriever().Cosines(&vector, h.Doc).Value[snapshot.Sentence] >= sameWork
			}
		}
		return v.Err()
	})
	return near, err
}

// backgroundRun ranks prompts that should get no offer in the scope of one agent.
type backgroundRun struct {
	*ranker
	set      *snapshot.Set
	agent    *Agent
	held     *held
	scale    rank.Scale
	prompts  []string         // those that need no skill, and then those for work
	points   []snapshot.Point // of the prompts
	needless int              // how many need no skill
	near     []bool           // of those for work, those that a skill of the set may fit
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

// demands returns the demands of the prompts.
func (b *backgroundRun) demands(ctx context.Context) (d snapshot.Demands, err error) {
	list := make(snapshot.Rising, len(b.prompts))
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
	d.Needless = list[:b.needless:b.needless]
	for n, demand := range list[b.needless:] {
		if b.near[n] {
			d.Near++
		} else {
			d.Unfit = append(d.Unfit, demand)
		}
	}
	slices.Sort(d.Needless)
	slices.Sort(d.Unfit)
	return d, cmp.Or(ctx.Err(), errors.Join(errs...))
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
	b.rank(r)
	if slices.ContainsFunc(r.scored, func(s rank.Scored) bool { return s.Exact }) {
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
	return fmt.Sprintf("%08x%08x%.8x %.8x", crc32.ChecksumIEEE([]byte(background+work)), intent.RequestSum(), sha256.Sum256(params),
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

// CheckLevels returns an error if a threshold and a share of prompts are both set, or
// if one of them is out of its range.
func (q *Query) CheckLevels() error {
	switch {
	case q.Threshold != 0 && q.Disturb != 0:
		return errors.New("threshold and disturb are both set; leave one of them out")
	case q.Threshold != 0 && q.Unfit != 0:
		return errors.New("threshold and unfit are both set; leave one of them out")
	case !(q.Threshold <= 1):
		return errors.New("threshold must be a probability up to 1")
	case !(q.Disturb <= 1):
		return errors.New("disturb must be a share up to 1")
	case !(q.Unfit <= 1):
		return errors.New("unfit must be a share up to 1")
	}
	return nil
}

// A Background says what the threshold of an answer follows from: the higher one of those that two
// shares give.
type Background struct {
	// Disturb is the share of the prompts that need no skill that may get an offer, and Unfit that of
	// those that need one which is not in the catalog, 0 to 1; -1 means that the threshold was set instead.
	Disturb, Unfit float64
	// Needless and Work say how the prompts of both kinds do in this catalog.
	Needless, Work Compared
	Missing        string // why they were not compared; "" when they were
	Due            bool   // the catalog must be calibrated, perhaps only for this agent, see Calibrator
}

// Compared says how prompts of a kind do that were ranked in this catalog.
type Compared struct {
	Prompts int `json:"prompts"`        // how many; with none the threshold of the kind is that of a typical catalog
	Higher  int `json:"higher"`         // how many of them have a higher demand than this prompt
	Offered int `json:"offered"`        // how many reach the threshold
	Near    int `json:"near,omitempty"` // how many were left out, because a skill of the catalog may fit
}

// compare compares the background prompts with a prompt.
func (r *retrieval) compare() {
	of := func(d snapshot.Rising, near int) Compared {
		return Compared{len(d), rank.Higher(d, r.Demand.Probability), rank.Reaching(d, r.Threshold), near}
	}
	r.Background.Needless, r.Background.Work = of(r.demands.Needless, 0), of(r.demands.Unfit, r.demands.Near)
}

// setThreshold sets from which demand on skills are relevant.
func (x *ranker) setThreshold(r *retrieval, q Query) {
	threshold, disturb := q.Threshold, q.Disturb
	if threshold == 0 && disturb == 0 {
		threshold, disturb = x.opts.Threshold, x.opts.Disturb
	}
	x.setBackground(r, q.Agent)
	b := &r.Background
	if threshold != 0 {
		b.Disturb, b.Unfit, r.Threshold = -1, -1, max(0, threshold)
		return
	}
	b.Disturb = max(0, cmp.Or(disturb, rank.DefaultRate))
	b.Unfit = max(0, cmp.Or(q.Unfit, x.opts.Unfit, rank.DefaultUnfit))
	r.Threshold = x.opts.Params.Gate.ThresholdFor(b.Disturb, b.Unfit, r.demands.Needless, r.demands.Unfit)
}

// setBackground looks up the demands of the background prompts in the scope of an
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
		_, whole := s.Calibration.Contextual[""]
		if b.Due = !s.Calibration.FitsEncoder(s, x.encoding(s)) || !whole; !b.Due {
			known = s.Calibration.Contextual
		}
	}
	var ok bool
	if r.demands, ok = known[r.key(a)]; !ok {
		r.demands, b.Due = known[""], true
	}
	if len(r.demands.Needless) == 0 {
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
		return fmt.Sprintf("the best skill is %s likely what this prompt wants; the threshold is %s", likely, threshold)
	}
	return ""
}

// Promise says what the threshold aims at; "" if it was set by hand. The shares are exact for
// the prompts that set the threshold, and a guess for others.
func (b *Background) Promise() string {
	if b.Disturb < 0 {
		return ""
	}
	return fmt.Sprintf("of 100 prompts that need no skill at most %.3g get an offer, and of 100 that none of your skills is for at most %.3g", 100*b.Disturb, 100*b.Unfit)
}

// Measured says how many of the prompts that should get no offer get one in this catalog; "" if it was not
// calibrated.
func (b *Background) Measured() string {
	if b.Needless.Prompts == 0 || b.Work.Prompts == 0 {
		return ""
	}
	return fmt.Sprintf("of %d prompts that need no skill, %d get an offer here; of %d that none of these skills is for, %d",
		b.Needless.Prompts, b.Needless.Offered, b.Work.Prompts, b.Work.Offered)
}

// Reference says how a prompt compares with those that should get no offer, or why the
// threshold is an estimate; "" if there is nothing to say.
func (r *Ranking) Reference() string {
	switch b := &r.Background; {
	case b.Needless.Prompts > 0 && r.Kind == "":
		return fmt.Sprintf("of %d prompts that need no skill, %d would score higher here; of %d that none of these skills is for, %d",
			b.Needless.Prompts, b.Needless.Higher, b.Work.Prompts, b.Work.Higher)
	case b.Missing != "" && b.Disturb >= 0:
		return "none, so that the threshold is an estimate: " + b.Missing
	}
	return ""
}
