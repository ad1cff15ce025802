package figures

import (
	"testing"
	"time"
)

// TestNumbers: numbers, shares and times read as people say them.
func TestNumbers(t *testing.T) {
	below, threshold := Percents(.5996, .6)
	for got, want := range map[string]string{
		Thousands(0): "0", Thousands(-123): "-123", Thousands(999): "999", Thousands(1000): "1,000", Thousands(-1234): "-1,234", Thousands(12345678): "12,345,678",
		Count(1, "skill"): "1 skill", Count(2, "skill"): "2 skills", Count(20101, "skill"): "20,101 skills",
		Percent(0): "0 %", Percent(.004): "under 1 %", Percent(.01): "1 %", Percent(.456): "46 %", Percent(.991): "over 99 %", Percent(1): "100 %",
		below: "59.96 %", threshold: "60.00 %",
		Duration(0): "0 ms", Duration(390 * time.Microsecond): "0.4 ms", Duration(12*time.Millisecond + 400*time.Microsecond): "12 ms",
		Duration(9960 * time.Microsecond): "10 ms", Duration(time.Second): "1 s", Duration(1240 * time.Millisecond): "1.2 s", Duration(79 * time.Second): "79 s",
		Duration(3 * time.Minute): "3 min", Duration(36 * time.Hour): "36 h",
		Ago(-time.Hour): "just now", Ago(59 * time.Second): "just now", Ago(time.Minute): "1 minute ago", Ago(5 * time.Hour): "5 hours ago", Ago(49 * time.Hour): "2 days ago",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
