package snapshot

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

func unit(v []float32) []float32 {
	sum := 0.
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

func randomUnit(rng *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return unit(v)
}

// flat returns a vector with the given signs and the same absolute value everywhere. Such
// vectors have the greatest possible sums of products.
func flat(dim int, sign func(i int) float32) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = sign(i)
	}
	return unit(v)
}

// TestDot: multiplying two values at a time gives the same result as one by one, for all
// dimensions, even if the sums are the greatest possible.
func TestDot(t *testing.T) {
	t.Parallel()
	plus, minus := func(int) float32 { return 1 }, func(int) float32 { return -1 }
	mixed := func(i int) float32 { return float32(1 - 2*(i/3%2)) }
	for _, dim := range []int{1, 3, 8, 63, 64, 65, 96, 256, 384, maxDim} {
		rng := rand.New(rand.NewPCG(uint64(dim), 1))
		vectors := [][]float32{flat(dim, plus), flat(dim, minus), flat(dim, mixed), randomUnit(rng, dim), randomUnit(rng, dim)}
		s := &Snapshot{header: header{meta: Meta{Models: [Spaces]Model{{"", dim}}}}}
		r := &Reader{s}
		for i, prompt := range vectors {
			p, err := r.Prompt(Words, prompt)
			must.Do(t, err)
			for j, full := range vectors {
				description := vectors[(i+j)%len(vectors)]
				row := appendRow(nil, [][]float32{description, full}, dim)
				if len(row) != Words.rowSize(dim) {
					t.Fatalf("%d bytes, want %d", len(row), Words.rowSize(dim))
				}
				var c Cosines
				p.cosines(row, &c)
				a, b, ok := c.Value[Description], c.Value[Full], c.Known[Full]
				x, y := rowProduct(prompt, row, 0), rowProduct(prompt, row, rowDim(dim))
				if !ok || math.Abs(a-x) > .001 || math.Abs(b-y) > .001 || math.Abs(p.sum(row)-a-b) > 1e-9 {
					t.Errorf("%d values, vectors %d and %d: %v and %v, sum %v, %v; want %v and %v", dim, i, j, a, b, p.sum(row), ok, x, y)
				}
			}
		}
	}
}

// rowProduct returns the dot product with one vector of a row, given its first value.
func rowProduct(prompt []float32, row []byte, at int) (sum float64) {
	for i, x := range prompt {
		sum += float64(x) * (float64(row[4+at+i]) - rowZero)
	}
	return sum * float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
}

// TestDistances: the kernel for codes gives the same result as bit by bit.
func TestDistances(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{1, 64, 96, 256, 257, 1024} {
		rng := rand.New(rand.NewPCG(uint64(dim), 2))
		code := encodePrompt(randomUnit(rng, dim))
		var codes []byte
		const n = 10
		for range n {
			v := [][]float32{randomUnit(rng, dim), randomUnit(rng, dim)}
			codes, _ = appendCode(codes, nil, v, dim)
		}
		out := slices.Repeat([]uint32{99}, n)
		code.distances(codes, out)
		size := codeSize(dim)
		for i, got := range out {
			want := 0
			for j := range size / 8 {
				w := binary.LittleEndian.Uint64(codes[i*size+8*j:])
				for p, plane := range code[j/quadWords][j%quadWords] {
					want += bits.OnesCount64(w^plane) << p
				}
			}
			if int(got) != want || want > code.farthest() {
				t.Errorf("%d values, document %d: %d, want %d", dim, i, got, want)
			}
		}
	}
}

// TestSieve: the sieve selects the nearest eligible documents.
func TestSieve(t *testing.T) {
	t.Parallel()
	const dim, docs = 96, 1000
	rng := rand.New(rand.NewPCG(3, 3))
	var first, second []byte
	for range docs {
		first, second = appendCode(first, second, [][]float32{randomUnit(rng, dim), randomUnit(rng, dim)}, dim)
	}
	p := encodePrompt(randomUnit(rng, dim))
	near, all := make([]uint32, docs), make([]uint32, docs)
	p.distances(first, near)
	p.distances(second, all)
	for i := range all {
		all[i] += 2 * near[i]
	}
	for _, share := range []int{1, 2, 20} { // one in so many documents is eligible
		for _, n := range []int{1, 7, 40, 2000} {
			t.Run(fmt.Sprint(share, "/", n), func(t *testing.T) {
				vectored, allowed := make([]byte, (docs+63)/64*8), make(Skills, docs/64) // the last are not allowed
				var eligible []uint32
				for i := range docs {
					if rng.IntN(share) == 0 {
						vectored[i/8] |= 1 << (i % 8)
						if i/64 < len(allowed) {
							allowed.Add(i)
							eligible = append(eligible, uint32(i))
						}
					}
				}
				var v sieve
				if got := v.start(docs, allowed, vectored); got != len(eligible) {
					t.Fatalf("%d eligible, want %d", got, len(eligible))
				}
				v.keepAll()
				if !slices.Equal(v.docs, eligible) {
					t.Fatalf("eligible %v, want %v", v.docs, eligible)
				}
				v.keepByFirstBits(p, first, 4*n)
				want := leastOf(eligible, near, 4*n)
				if !slices.Equal(v.docs, want) {
					t.Fatalf("first %v, want %v", v.docs, want)
				}
				v.keepByAllBits(p, second, n)
				if want = leastOf(want, all, n); !slices.Equal(v.docs, want) {
					t.Fatalf("second %v, want %v", v.docs, want)
				}
			})
		}
	}
}

// leastOf returns the n documents with the least distances, ascending.
func leastOf(docs, distances []uint32, n int) []uint32 {
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(a, b uint32) int { return int(distances[a]) - int(distances[b]) })
	docs = docs[:min(n, len(docs))]
	slices.Sort(docs)
	return docs
}
