package rank

// A Leg is one kind of evidence of how well a skill fits a prompt.
type Leg int

// The legs. The three after Text are vectors of the skill, in the order of snapshot.Leg.
const (
	Text        Leg = iota // BM25 of the full text; none is no match
	Description            // cosine of the prompt with the description
	Full                   // cosine of the prompt with the full text
	Sentence               // cosine of the prompt with name and description, by a contextual encoder
	Example                // cosine of the prompt with the nearest example of a prompt, by the same; none is no example nearby
	Legs                   // how many there are
)

// legs describes each leg. The weights are Defaults, and the spreads those of Reference.
var legs = [Legs]struct {
	name      string
	weight    float64
	reference Spread
}{
	Text:        {name: "text", weight: 1},
	Description: {"description vector", 1.2, Spread{-.002, .073}},
	Full:        {"full vector", 1.2, Spread{0, .079}},
	Sentence:    {name: "sentence vector", weight: 4},
	Example:     {name: "example", weight: 2},
}

// ExampleFloor is the cosine up to which an example says nothing: with all cosines, skills that
// have examples would win against those that have none, whatever the prompt.
const ExampleFloor = .3

// The encoder's cosine of a prompt and a skill is near to this line of the sum of the
// embedder's: a fit to the candidates of the dev sets.
const (
	sentenceBase  = .013
	sentenceSlope = .24
)

func (l Leg) String() string { return legs[l].name }

// Values are what the legs say of a skill. A leg may have no value for it.
type Values struct {
	values [Legs]float64
	has    [Legs]bool
}

// Set sets the value of a leg.
func (v *Values) Set(l Leg, value float64) { v.values[l], v.has[l] = value, true }

// Value returns the value of a leg, 0 for none.
func (v *Values) Value(l Leg) float64 { return v.values[l] }

// CosineSum returns the sum of the cosines with the vectors of the embedder; ok is false if there
// are none.
func (v *Values) CosineSum() (sum float64, ok bool) {
	for l := Description; l <= Full; l++ {
		sum, ok = sum+v.values[l], ok || v.has[l]
	}
	return sum, ok
}

// norms are what the values of each leg over all candidates come to.
type norms struct {
	has  [Legs]bool    // a candidate has a value
	norm [Legs]float64 // of Text the BM25 that counts 1, of the others the mean

	sentences float64 // share of the candidates that have a value of Sentence
}

// normsOf computes the norms, adding up in the given order.
func normsOf(candidates []Candidate, full float64, order []int32) (n norms) {
	var count [Legs]float64
	n.norm[Text] = full
	for _, i := range order {
		v := &candidates[i].Values
		n.norm[Text] = max(n.norm[Text], v.values[Text])
		for l := Text + 1; l < Legs; l++ {
			if v.has[l] {
				n.norm[l] += v.values[l]
				count[l]++
			}
		}
	}
	n.has[Text] = n.norm[Text] > 0
	n.sentences = count[Sentence] / float64(max(1, len(candidates)))
	for l := Text + 1; l < Legs; l++ {
		if n.has[l] = count[l] > 0; n.has[l] {
			n.norm[l] /= count[l]
		}
	}
	return n
}

// appendTo appends the terms of the legs. A skill for which a vector leg has no value gets the
// mean, so that it has neither an advantage nor a disadvantage; but what the encoder would say
// follows roughly from what the embedder says. Where only some skills have its value, the others
// must not lose against all that it finds near, so a value counts for the share of them: with
// the vectors of half of the skills, Hit@1 on five dev sets is .632, with the plain values .621,
// without the encoder .614, and with a quarter of the vectors .613, .608 and .614.
func (n *norms) appendTo(terms []Term, c *Candidate, weights *[Legs]float64) []Term {
	v := &c.Values
	for l := range Legs {
		value := n.norm[l]
		switch near, ok := v.CosineSum(); {
		case !n.has[l]:
			continue
		case l == Text:
			value = v.values[Text] / n.norm[Text]
		case l == Example:
			value = c.example()
		case l == Sentence && ok:
			value = sentenceBase + sentenceSlope*near
			if v.has[l] {
				value += n.sentences * (v.values[l] - value)
			}
		case v.has[l]:
			value = v.values[l]
		}
		terms = append(terms, Term{legs[l].name, value, weights[l]})
	}
	return terms
}

// example returns how much the nearest example says: nothing up to ExampleFloor, and half of a
// stranger, who may claim any prompt.
func (c *Candidate) example() float64 {
	value := max(0, c.values[Example]-ExampleFloor)
	if c.Lower {
		value /= 2
	}
	return value
}

// A Spread is the mean and the standard deviation of some figures.
type Spread struct{ Mean, Deviation float64 }

// A Scale has the spreads of the cosines of prompts that need no skill with the skills of a
// catalog, by leg: what a model says of texts that have nothing to do with each other.
type Scale [Legs]Spread

// Reference returns the scale of the built-in embedder, to which all weights were fitted: the
// compiled-in prompts with 2,469 skills of the corpus that the embedder was trained on. With
// 75 to 20,101 of these skills, the means differ by up to .015 and the deviations by up to
// .003.
func Reference() (s Scale) {
	for l := range legs {
		s[l] = legs[l].reference
	}
	return s
}

// Known reports whether the cosines of the embedder were measured, and vary.
func (s *Scale) Known() bool {
	for l := Description; l <= Full; l++ {
		if !(s[l].Deviation > 0) {
			return false
		}
	}
	return true
}

// Rescale turns a cosine on this scale into what the built-in model would find. Where nothing
// was measured, as of the encoder, of which there is only one, that is the cosine itself.
func (s *Scale) Rescale(l Leg, cosine float64) float64 {
	if s[l].Deviation == 0 {
		return cosine
	}
	r := &legs[l].reference
	return r.Mean + (cosine-s[l].Mean)*r.Deviation/s[l].Deviation
}
