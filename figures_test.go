package repertoire_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	prompthook "github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rank"
)

// TestDocsFigures: what pages and comments say of weights and measurements is what the program
// has and what the measured tables say. testdata/figures.txt lists them.
func TestDocsFigures(t *testing.T) {
	const list = "testdata/figures.txt"
	sources := figureSources(t)
	name, old, value := "", "", ""
	lines := strings.Split(must.Read(t, list), "\n")
	for i, line := range lines {
		place, isPlace := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isPlace:
			checkFigure(t, place, old, value)
		default:
			name, old, _ = strings.Cut(line, " ")
			value = old
			if source, ok := sources[name]; ok && *update {
				lines[i], value = name+" "+source, source
			} else if ok && source != old {
				t.Errorf("%s is %s, and %s says %s; run: go test . -run TestDocsFigures -update", name, source, list, old)
			}
			delete(sources, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		t.Errorf("%s lacks %s", list, name)
	}
	if *update {
		must.Do(t, os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o644))
	}
}

// checkFigure checks that a place, "FILE: words {} words", has a value. With -update, which may
// have given the figure another value than the old one, it replaces the old one there.
func checkFigure(t *testing.T, place, old, value string) {
	t.Helper()
	file, words, _ := strings.Cut(place, ": ")
	before, after, ok := strings.Cut(words, "{}")
	if !ok {
		t.Fatalf("%q has no {}", place)
	}
	// A line may end between any two words, and continue as a comment.
	spaced := func(s string) string {
		return strings.ReplaceAll(regexp.QuoteMeta(s), " ", `\s+(?://\s+)?`)
	}
	text := must.Read(t, file)
	quoted := func(value string) *regexp.Regexp {
		return regexp.MustCompile("(" + spaced(before) + ")" + spaced(value) + "(" + spaced(after) + ")")
	}
	switch {
	case quoted(value).MatchString(text):
	case *update && quoted(old).MatchString(text):
		must.Do(t, os.WriteFile(file, []byte(quoted(old).ReplaceAllString(text, "${1}"+value+"${2}")), 0o644))
	default:
		t.Errorf("%s does not say %q", file, strings.Replace(words, "{}", value, 1))
	}
}

// figureSources returns the figures that follow from the program and the measured tables.
func figureSources(t *testing.T) map[string]string {
	t.Helper()
	p := rank.Defaults()
	v, c := p.Gate.Vectors, p.Gate.Contextual
	short := func(x float64, decimals int) string {
		return strings.TrimPrefix(strconv.FormatFloat(x, 'f', decimals, 64), "0")
	}
	all := must.Read(t, "bench/FIGURES.md")
	sets, own, _ := strings.Cut(all, "\n## In people's own words")
	own, _, _ = strings.Cut(own, "<!-- end -->")
	ranked, gated := means(t, sets)
	rankedOwn, gatedOwn := means(t, own)
	speed := func(row string, column int) string { return cellsOf(t, must.Read(t, "docs/speed.md"), row)[column] }
	return map[string]string{
		"clients":             fmt.Sprint(len(client.All()) + len(client.Others())),
		"deadline-ms":         fmt.Sprint(prompthook.Deadline.Milliseconds()),
		"background":          fmt.Sprint(strings.Count(must.Read(t, "search/background.jsonl"), "\n")),
		"embedder-mb":         megabytes(t, "embed/static/model.bin"),
		"encoder-mb":          megabytes(t, "embed/contextual/model.bin"),
		"cosine-weight":       short(p.Legs[rank.Full], -1),
		"name-weight":         short(p.Name, -1),
		"least":               fmt.Sprint(100 * p.Gate.Least),
		"rate":                fmt.Sprint(100 * rank.DefaultRate),
		"first-hit":           hundredths(t, ranked[3]),
		"coverage-at-3":       hundredths(t, ranked[6]),
		"coverage":            hundredths(t, gated[3]),
		"curve":               curve(t, sets),
		"curve-own-words":     curve(t, own),
		"means":               summary(ranked, gated),
		"means-own-words":     summary(rankedOwn, gatedOwn),
		"disturbed":           hundredths(t, gated[2]),
		"disturbed-own-words": hundredths(t, gatedOwn[2]),
		"hook-500-ms":         speed("the process `context` from start to end, ms", 1),
		"hook-20101-ms":       speed("the process `context` from start to end, ms", 3),
		"resident-20101-ms":   strings.TrimRight(speed("a block in a resident process, p50 ms", 3), "0"),
		"gate":                weighted(v),
		"gate-encoder":        weighted(c),
	}
}

// weighted returns the sum that a gate makes of its figures, without those that need a trigger, an example or another language.
func weighted(l rank.Logit) string {
	of := func(x float64) string { return strings.TrimPrefix(strconv.FormatFloat(x, 'f', 2, 64), "0") }
	sum := ""
	for _, f := range rank.Figures {
		switch w := *f.Weight(&l); {
		case w == 0 || slices.Contains([]string{"trigger", "example", "other language"}, f.Name):
		case f.Name == "base":
			sum = of(w)
		case w < 0:
			sum += fmt.Sprintf(" − %s · %s", of(-w), f.Name)
		default:
			sum += fmt.Sprintf(" + %s · %s", of(w), f.Name)
		}
	}
	return strings.Replace(sum, "-", "−", 1)
}

// megabytes returns the size of a file.
func megabytes(t *testing.T, name string) string {
	t.Helper()
	info, err := os.Stat(name)
	must.Do(t, err)
	return fmt.Sprintf("%.0f", float64(info.Size())/1e6)
}

// summary returns the row of docs/relevance.md for the means of sets.
func summary(ranked, gated []string) string {
	first := func(cell string) string { number, _, _ := strings.Cut(cell, " "); return number }
	return fmt.Sprintf("%s | %s | %s | %s · %s | %s | %s", first(ranked[3]), ranked[4], first(ranked[5]), gated[3], first(gated[2]), gated[4], gated[6])
}

// curve returns the mean of the coverage over sets, at each rate.
func curve(t *testing.T, text string) string {
	t.Helper()
	rows := regexp.MustCompile(`(?m)^\| \S+: coverage \| (.*) \|$`).FindAllStringSubmatch(text, -1)
	sums := make([]float64, 7)
	for _, row := range rows {
		for i, cell := range strings.Split(row[1], " | ") {
			x, err := strconv.ParseFloat(cell, 64)
			must.Do(t, err)
			sums[i] += x / float64(len(rows))
		}
	}
	var cells []string
	for _, x := range sums {
		cells = append(cells, strings.TrimPrefix(fmt.Sprintf("%.2f", x), "0"))
	}
	return strings.Join(cells, " | ")
}

// means returns the cells of the first two rows of means in a text: of ranking, and of blocks
// at the default rate.
func means(t *testing.T, text string) (ranked, gated []string) {
	t.Helper()
	_, text, _ = strings.Cut(text, "<!-- begin:")
	ranked = cellsOf(t, text, "**mean**")
	_, text, _ = strings.Cut(text, "| **mean** |")
	return ranked, cellsOf(t, text, "**mean**")
}

// cellsOf returns the cells of the first row of a table that begins with a cell.
func cellsOf(t *testing.T, text, first string) []string {
	t.Helper()
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.Trim(line, "| \n"), "|"); strings.TrimSpace(cells[0]) == first {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			return cells
		}
	}
	t.Fatalf("there is no row %q", first)
	return nil
}

// hundredths returns the share ".702 (.691–.713)" as "70".
func hundredths(t *testing.T, cell string) string {
	t.Helper()
	cell, _, _ = strings.Cut(cell, " ")
	x, err := strconv.ParseFloat(cell, 64)
	must.Do(t, err)
	return fmt.Sprintf("%.0f", 100*x)
}
