package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/usage"
)

// periods are the numbers of days that the page of usage counts.
func periods() []int { return []int{7, 30, 90, 365} }

// usageView is what the page of usage shows.
type usageView struct {
	On       bool // the log is on
	Days     int
	Periods  []int
	Stats    *usage.Stats
	Charts   []chart
	Skills   rows[usedSkill]
	Unloaded rows[string]     // that were offered
	Misses   rows[usage.Miss] // loads without an offer
	Never    rows[string]     // that were never offered
	Gaps     rows[usage.Gap]  // prompts that got nothing; only for the owner, as they may be private
}

// A usedSkill is a skill with the lengths of its bars.
type usedSkill struct {
	usage.Count
	OfferedBar, FollowedBar int // of 100
}

// usedSkills is how many skills the table has; other lists have more.
const usedSkills = 25

// getUsage shows what became of the skills that were offered.
func (hs *handlers) getUsage(v *visit) (answer, error) {
	d := usageView{Days: 30, Periods: periods()}
	if n, err := strconv.Atoi(v.FormValue("days")); err == nil && slices.Contains(d.Periods, n) {
		d.Days = n
	}
	if hs.opts.Usage == nil {
		return answer{data: d}, nil
	}
	agent := ""
	if v.scope != nil {
		agent = v.scope.Name
	}
	entries, err := hs.catalog.List(v.Context(), v.scope, &repertoire.ListOptions{Person: true})
	if err != nil {
		return answer{}, err
	}
	since := time.Now().AddDate(0, 0, 1-d.Days)
	since = time.Date(since.Year(), since.Month(), since.Day(), 0, 0, 0, 0, since.Location())
	d.Stats, err = hs.opts.Usage.Stats(v.Context(), since, agent, entries)
	var days []usage.Day
	if err == nil {
		days, err = hs.opts.Usage.Days(v.Context(), since, agent)
	}
	if err != nil && hs.catalog.Shared().State != "" {
		err = hs.goneError("the log of usage is", err)
	}
	if err != nil {
		return answer{}, err
	}
	d.On, d.Charts = true, chartsOf(days, since)
	d.fill()
	if v.owner {
		d.Gaps = firstRows(d.Stats.Gaps)
	}
	return answer{data: d}, nil
}

// fill fills in what follows from the counts.
func (d *usageView) fill() {
	most := 1
	for _, n := range d.Stats.Skills {
		most = max(most, n.Offered)
	}
	var unloaded []string
	for i, n := range d.Stats.Skills {
		if n.Offered > 0 && n.Loaded == 0 && !n.Gone {
			unloaded = append(unloaded, n.ID)
		}
		if i < usedSkills {
			d.Skills.List = append(d.Skills.List, usedSkill{n, barOf(n.Offered, most), barOf(n.Followed, most)})
		}
	}
	d.Skills.All = len(d.Stats.Skills)
	d.Unloaded, d.Misses, d.Never = firstRows(unloaded), firstRows(d.Stats.Misses), firstRows(d.Stats.Never)
}

// barOf returns the length of a bar; what is not 0 is seen.
func barOf(n, most int) int {
	if n == 0 {
		return 0
	}
	return max(1, n*100/most)
}

// A chart has a column for each day. It is 600 wide and 100 high.
type chart struct {
	Title   string
	Summary string // for those who do not see it
	From    time.Time
	Parts   []part
	Legend  []string // what the parts of columns are, from below; nil for a single part
}

// A part is a rectangle of a column.
type part struct {
	X, Y, Width, Height float64
	Kind                int // index into Legend
	Tip                 string
}

// The size of a chart.
const chartWidth, chartHeight = 600, 100

// chartsOf returns charts of the prompts and of the loads of each day.
func chartsOf(days []usage.Day, since time.Time) []chart {
	prompts := columns(days, since, func(d usage.Day) []int { return []int{d.Got, d.Silent} })
	prompts.Title, prompts.Legend = "Prompts", []string{"with an offer", "without"}
	loads := columns(days, since, func(d usage.Day) []int { return []int{d.Loads} })
	loads.Title = "Loads"
	return []chart{prompts, loads}
}

// columns returns a chart of counts, which lie on top of each other.
func columns(days []usage.Day, since time.Time, counts func(usage.Day) []int) chart {
	c := chart{From: since}
	all, most := 0, 0
	for _, d := range days {
		sum := 0
		for _, n := range counts(d) {
			sum += n
		}
		all, most = all+sum, max(most, sum)
	}
	c.Summary = fmt.Sprintf("%s in %s, at most %s on one day", figures.Thousands(all), figures.Count(len(days), "day"), figures.Thousands(most))
	if most == 0 {
		return c
	}
	step := float64(chartWidth) / float64(len(days))
	gap := min(2, step/4)
	for i, d := range days {
		top := float64(chartHeight)
		for kind, n := range counts(d) {
			if n == 0 {
				continue
			}
			height := float64(n) / float64(most) * chartHeight
			top -= height
			c.Parts = append(c.Parts, part{tenths(float64(i) * step), tenths(top), tenths(step - gap), tenths(height), kind, d.Start.Format(time.DateOnly) + ": " + strconv.Itoa(n)})
		}
	}
	return c
}

// tenths rounds a number, so that it is short in a page.
func tenths(x float64) float64 { return math.Round(x*10) / 10 }
