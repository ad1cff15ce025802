package contextual

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/turns"
)

// smallWeights returns random weights of a small model.
func smallWeights(seed uint64) *Weights {
	r := rand.New(rand.NewPCG(seed, 1))
	// The same on each processor: no product is added without being rounded.
	floats := func(n int, spread, mean float64) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(mean) + float32(spread*(4*r.Float64()-2))
		}
		return list
	}
	const hidden, heads, inner, positions = 64, 2, 96, 40
	linear := func(n, m int) Linear {
		return Linear{Weights: floats(n*m, 1/math.Sqrt(float64(n)), 0), Biases: floats(m, .1, 0)}
	}
	norm := func() Norm { return Norm{floats(hidden, .1, 1), floats(hidden, .1, 0)} }
	w := &Weights{Name: "small", Hidden: hidden, Heads: heads, Positions: positions, Pieces: []string{"[UNK]", "[SEP]", "[CLS]", "!", "日", "über"}}
	for c := 'a'; c <= 'z'; c++ {
		w.Pieces = append(w.Pieces, string(c), "##"+string(c))
	}
	w.Pieces = append(w.Pieces, "chart", "##ing", "data", "make", "##st")
	w.Words, w.Places, w.Norm = floats(len(w.Pieces)*hidden, 1, 0), floats(positions*hidden, .3, 0), norm()
	for i, x := range w.Words {
		w.Words[i] = min(float32(math.RoundToEven(float64(4*x))), 7) / 4 // rounded to 4 bits
	}
	for range 3 {
		w.Layers = append(w.Layers, Layer{linear(hidden, 3*hidden), linear(hidden, hidden), norm(), linear(hidden, inner), linear(inner, hidden), norm()})
	}
	return w
}

func embedder(t testing.TB, w *Weights) *Embedder {
	t.Helper()
	data, err := Encode(w)
	must.Do(t, err)
	e, err := New(string(data))
	must.Do(t, err)
	return e
}

func vectors(t testing.TB, e *Embedder, texts ...string) []embed.Vector {
	t.Helper()
	list, err := e.Embed(context.Background(), embed.Query, texts)
	must.Do(t, err)
	return list
}

// use has a test compute with a processor.
func use(t testing.TB, p processor) {
	before := chosen
	chosen = p
	t.Cleanup(func() { chosen = before })
}

var texts = []string{"", "a", "make charts of the data!", "ÜBER日日 making x-charts", strings.Repeat("data making ", 60), "\x00\xff\u200b"}

// TestSameEverywhere holds the bytes of vectors of a small model and of the built-in one on all
// processors: .ci/run runs it for arm64 and for a compiler that may fuse products and sums, too.
func TestSameEverywhere(t *testing.T) {
	full, err := Default()
	must.Do(t, err)
	for _, c := range []struct {
		e     *Embedder
		texts []string
		want  string
	}{{embedder(t, smallWeights(1)), texts, "2ca53bf3"}, {full, []string{"make charts of the data!"}, "599dc7cb"}} {
		for _, p := range processors() {
			use(t, p)
			sum := crc32.NewIEEE()
			for _, v := range vectors(t, c.e, c.texts...) {
				must.Do(t, binary.Write(sum, binary.LittleEndian, v))
			}
			if got := fmt.Sprintf("%08x", sum.Sum32()); got != c.want {
				t.Errorf("%s, %s: the vectors have the sum %s, want %s", c.e.Model(), p.name, got, c.want)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	w := smallWeights(1)
	m, rows := embedder(t, w).m, rowsOf(t, w)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Making\tCHARTS!", "m ##a ##k ##ing chart ##s ! "},
		{"über uber", "u ##b ##e ##r u ##b ##e ##r "},
		{"日x日", "日 x 日 "},
		{"data-x", "data [UNK] x "},
		{"a\x00b\u200bc\xff", "a ##b ##c "},
		{"dataλ data", "[UNK] data "},
		{strings.Repeat("a", longestWord+1), "[UNK] "},
	} {
		got := ""
		list := m.split(c.text, 40)
		for _, row := range list[1 : len(list)-1] {
			got += w.Pieces[rows[row]] + " "
		}
		if first, last := w.Pieces[rows[list[0]]], w.Pieces[rows[list[len(list)-1]]]; got != c.want || first != "[CLS]" || last != "[SEP]" {
			t.Errorf("%q: %s %s%s, want %s", c.text, first, got, last, c.want)
		}
	}
	for _, n := range []int{50, 50_000} {
		long := m.split(strings.Repeat("a ", n)+strings.Repeat("b ", n), 30)
		if a, b := m.split("a", 30)[1], m.split("b", 30)[1]; len(long) != 30 || long[19] != a || long[20] != b {
			t.Errorf("a long text is cut to %d: %v; want two thirds of its start and one of its end", len(long), long)
		}
	}
}

func TestDone(t *testing.T) {
	e := embedder(t, smallWeights(1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if list, err := e.Embed(ctx, embed.Query, texts); len(list) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %d vectors, %v", len(list), err)
	}
}

// TestAtOnce embeds with more goroutines than there are processors.
func TestAtOnce(t *testing.T) {
	e := embedder(t, smallWeights(1))
	want := vectors(t, e, texts...)
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			got, err := e.Embed(context.Background(), embed.Query, texts)
			if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("beside others: %v, other vectors than alone", err)
			}
		})
	}
	wg.Wait()
}

func TestBrokenModels(t *testing.T) {
	data, err := Encode(smallWeights(1))
	must.Do(t, err)
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "not a model"},
		{"another format", "x" + string(data[1:]), "not a model"},
		{"cut", string(data[:len(data)-1]), "ends early"},
		{"longer", string(data) + "x", "1 bytes too many"},
		{"heads", string(data[:16]) + "\x05" + string(data[17:]), "makes no sense"},
	} {
		if _, err := New(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		want   string
		change func(*Weights)
	}{
		{"no piece [UNK]", func(w *Weights) { w.Pieces[0] = "xx" }},
		{"same hash", func(w *Weights) { w.Pieces[3] = "a" }},
		{"1 to 256 bytes", func(w *Weights) { w.Name = "" }},
		{"not finite", func(w *Weights) { w.Layers[1].Up.Biases[3] = float32(math.NaN()) }},
		{"63 numbers, want 64", func(w *Weights) { w.Layers[2].Out.Weights = w.Layers[2].Out.Weights[1:] }},
		{"for a matrix from 64 to 96", func(w *Weights) { w.Layers[0].Up.Weights = nil }},
		{"in 3 heads", func(w *Weights) { w.Heads = 3 }},
	} {
		w := smallWeights(1)
		c.change(w)
		if _, err := Encode(w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// FuzzNew holds that no file makes the encoder fail in another way than by an error.
func FuzzNew(f *testing.F) {
	w := smallWeights(1)
	w.Layers = w.Layers[:1]
	data, err := Encode(w)
	must.Do(f, err)
	f.Add(headerSize, []byte{1, 2, 3}, "data")
	f.Add(8, []byte{255}, "x")
	f.Fuzz(func(t *testing.T, at int, change []byte, text string) {
		broken := slices.Clone(data)
		if at >= 0 && at < len(broken) {
			copy(broken[at:], change)
		}
		if e, err := New(string(broken)); err == nil {
			if v, err := e.Embed(t.Context(), embed.Query, []string{text}); err == nil && len(v) != 1 {
				t.Errorf("%d vectors for a text", len(v))
			}
		}
	})
}

func TestNearReference(t *testing.T) {
	w := smallWeights(2)
	e := embedder(t, w)
	for _, text := range texts {
		got := vectors(t, e, text)[0]
		want := reference(w, e.m.split(text, w.Positions), rowsOf(t, w))
		if cosine := embed.Dot(got, want); cosine < .99 {
			t.Errorf("%q: cosine %.4f with what float64 gives, want .99", text, cosine)
		}
	}
}

// rowsOf returns the number of each piece by its row.
func rowsOf(t *testing.T, w *Weights) []int {
	_, order, err := byHash(w.Pieces)
	must.Do(t, err)
	var rows []int
	for _, o := range order {
		rows = append(rows, o.row)
	}
	return rows
}

// reference computes in float64 what the encoder computes, as simply as one can write it.
func reference(w *Weights, pieces, rows []int) embed.Vector {
	h := w.Hidden
	x := make([][]float64, len(pieces))
	normed := func(x []float64, n Norm) []float64 {
		mean, square := 0., 0.
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			square += (v - mean) * (v - mean) / float64(len(x))
		}
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = (v-mean)/math.Sqrt(square)*float64(n.Weights[i]) + float64(n.Biases[i])
		}
		return out
	}
	linear := func(x []float64, l Linear) []float64 {
		out := make([]float64, len(l.Biases))
		for j := range out {
			out[j] = float64(l.Biases[j])
			for i, v := range x {
				out[j] += v * float64(l.Weights[j*len(x)+i])
			}
		}
		return out
	}
	sum := func(a, b []float64) []float64 {
		out := slices.Clone(a)
		for i := range out {
			out[i] += b[i]
		}
		return out
	}
	for i, piece := range pieces {
		x[i] = make([]float64, h)
		for j := range x[i] {
			x[i][j] = float64(w.Words[rows[piece]*h+j]) + float64(w.Places[i*h+j])
		}
		x[i] = normed(x[i], w.Norm)
	}
	for _, l := range w.Layers {
		var all [][]float64
		for i := range x {
			all = append(all, linear(x[i], l.Attend))
		}
		size := h / w.Heads
		for i := range x {
			out := make([]float64, h)
			for head := range w.Heads {
				shares, total := make([]float64, len(x)), 0.
				for j := range x {
					dot := 0.
					for d := range size {
						dot += all[i][head*size+d] * all[j][h+head*size+d]
					}
					shares[j] = math.Exp(dot / math.Sqrt(float64(size)))
					total += shares[j]
				}
				for j := range x {
					for d := range size {
						out[head*size+d] += shares[j] / total * all[j][2*h+head*size+d]
					}
				}
			}
			x[i] = normed(sum(x[i], linear(out, l.Join)), l.Joined)
			up := linear(x[i], l.Up)
			for j, v := range up {
				up[j] = v * (1 + math.Erf(v/math.Sqrt2)) / 2
			}
			x[i] = normed(sum(x[i], linear(up, l.Down)), l.Out)
		}
	}
	v := make(embed.Vector, h)
	for _, row := range x {
		for j := range v {
			v[j] += float32(row[j])
		}
	}
	_ = embed.Unit(v)
	return v
}

func BenchmarkEmbed(b *testing.B) {
	w := smallWeights(3)
	big(w)
	e := embedder(b, w)
	for _, p := range processors() {
		for _, n := range []int{12, 36, 70, 120} {
			b.Run(fmt.Sprintf("%s/%d", p.name, n), func(b *testing.B) {
				use(b, p)
				pieces := make([]int, n)
				for i := range pieces {
					pieces[i] = i % len(w.Pieces)
				}
				pass := newPass(e.m)
				for b.Loop() {
					_ = pass.run(context.Background(), pieces, 1)
				}
			})
		}
	}
}

// big makes random weights of the size of all-MiniLM-L6-v2.
func big(w *Weights) {
	const hidden, heads, inner, positions, layers = 384, 12, 1536, 128, 6
	r := rand.New(rand.NewPCG(1, 1))
	floats := func(n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = (r.Float32() - .5) / 10
		}
		return list
	}
	w.Hidden, w.Heads, w.Positions = hidden, heads, positions
	w.Words, w.Places, w.Norm = floats(len(w.Pieces)*hidden), floats(positions*hidden), Norm{floats(hidden), floats(hidden)}
	w.Layers = nil
	linear := func(n, m int) Linear { return Linear{Weights: floats(n * m), Biases: floats(m)} }
	norm := func() Norm { return Norm{floats(hidden), floats(hidden)} }
	for range layers {
		w.Layers = append(w.Layers, Layer{linear(hidden, 3*hidden), linear(hidden, hidden), norm(), linear(hidden, inner), linear(inner, hidden), norm()})
	}
}

// TestTurns: however much a client of a server has at the encoder, or waits for, the next client does not wait.
func TestTurns(t *testing.T) {
	e := embedder(t, smallWeights(1))
	e.turns = turns.New(2, 1) // as on two processors
	as := func(client string) (context.Context, context.CancelFunc) {
		return context.WithTimeout(turns.WithClient(t.Context(), client), time.Minute)
	}
	flood, giveUp := as("a")
	under, err := e.turns.Enter(flood, "a", 1) // a text that takes long
	must.Do(t, err)
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			if _, err := e.Embed(flood, embed.Query, texts); !errors.Is(err, context.Canceled) {
				t.Errorf("a second text of the same client: %v", err)
			}
		})
	}
	ctx, cancel := as("b")
	defer cancel()
	if _, err := e.Embed(ctx, embed.Query, texts); err != nil {
		t.Errorf("another client: %v", err)
	}
	giveUp()
	waiting.Wait()
	under.Leave()
}

// looks is a context that ends after a number of looks at it.
type looks struct {
	context.Context
	left *atomic.Int64
}

func (l looks) Err() error {
	if l.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndsEarly: what many processors have embedded until an error are the vectors of the first texts.
func TestEndsEarly(t *testing.T) {
	e := embedder(t, smallWeights(1))
	many := slices.Repeat(texts, 4)
	whole := vectors(t, e, many...)
	e.processors = 3
	longest := 0
	for n := range int64(3*len(many) + 1) { // three layers look at the context
		ctx := looks{t.Context(), new(atomic.Int64)}
		ctx.left.Store(n)
		got, err := e.Embed(ctx, embed.Document, many)
		if n < int64(3*len(many)) && !errors.Is(err, context.Canceled) || n == int64(3*len(many)) && (err != nil || len(got) != len(many)) {
			t.Fatalf("after %d looks: %d vectors, error %v", n, len(got), err)
		}
		for i, v := range got {
			if !slices.Equal(v, whole[i]) {
				t.Errorf("after %d looks: vector %d is another one", n, i)
			}
		}
		longest = max(longest, len(got))
	}
	if longest != len(many) {
		t.Errorf("at most %d of %d vectors", longest, len(many))
	}
}

// TestManyProcessors: the vector of a text is the same on however many processors it is computed.
func TestManyProcessors(t *testing.T) {
	e := embedder(t, smallWeights(1))
	for n := 1; n <= 40; n++ {
		pieces := make([]int, n)
		for i := range pieces {
			pieces[i] = (7*i + n) % e.m.pieces
		}
		of := func(processors int) embed.Vector {
			p := newPass(e.m)
			must.Do(t, p.run(t.Context(), pieces, processors))
			v, err := p.mean(0, n)
			must.Do(t, err)
			return v
		}
		want := of(1)
		for processors := 2; processors <= 5; processors++ {
			if !slices.Equal(of(processors), want) {
				t.Errorf("%d pieces on %d processors: another vector", n, processors)
			}
		}
	}
	e.processors, e.turns = 4, turns.New(4, 3)
	long := strings.Repeat("making charts ", 12)
	want := vectors(t, e, long, long)[0]
	ctx := turns.WithClient(t.Context(), "a")
	if got, err := e.Embed(ctx, embed.Query, []string{long}); err != nil || !slices.Equal(got[0], want) {
		t.Errorf("a client's text: another vector, error %v", err)
	}
	if _, ok := e.turns.Try("", 4); !ok {
		t.Error("turns are not given back")
	}
}
