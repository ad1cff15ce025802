// Package figures writes numbers, shares and times as people say them, and as programs read them.
package figures

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Thousands writes a number with commas: 12,345.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number with its noun: "1 skill", "12,345 skills".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// Percent writes a share as people say it: "46 %", "under 1 %", "over 99 %".
func Percent(share float64) string {
	switch {
	case share > 0 && share < .01:
		return "under 1 %"
	case share > .99 && share < 1:
		return "over 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Percents writes two shares with as many decimals as are needed to tell them apart.
func Percents(a, b float64) (string, string) {
	for decimals := 0; ; decimals++ {
		x, y := fmt.Sprintf("%.*f %%", decimals, 100*a), fmt.Sprintf("%.*f %%", decimals, 100*b)
		if x != y || decimals == 3 {
			return x, y
		}
	}
}

// Duration writes a time as people say it, with two digits: "0.4 ms", "12 ms", "1.2 s",
// "3 min".
func Duration(d time.Duration) string {
	short := func(of time.Duration, unit string) string {
		x := float64(d) / float64(of)
		if math.Abs(x) < 9.95 {
			return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64) + " " + unit
		}
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	switch size := d.Abs(); {
	case size < 999500*time.Microsecond:
		return short(time.Millisecond, "ms")
	case size < 2*time.Minute:
		return short(time.Second, "s")
	case size < 2*time.Hour:
		return short(time.Minute, "min")
	}
	return short(time.Hour, "h")
}

// Ago says how long ago something was: "just now", "5 minutes ago", "2 days ago". A time in
// the future, by another clock, was just now.
func Ago(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= unit.size {
			return Count(int(d/unit.size), unit.name) + " ago"
		}
	}
	return "just now"
}

// Rounded keeps three decimals, for programs: more of them only show that machines differ.
func Rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// Milliseconds is a time for programs.
func Milliseconds(d time.Duration) float64 {
	return Rounded(float64(d) / float64(time.Millisecond))
}
