package repertoire

import (
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestParseSchedule(t *testing.T) {
	for spec, want := range map[string]time.Duration{"@every 5s": 5 * time.Second, "@every 1ms": time.Second, "*/10 * * * *": 10 * time.Minute, "CRON_TZ=UTC @daily": 24 * time.Hour} {
		s, err := config.ParseSchedule(spec)
		if err != nil {
			t.Errorf("%q: %v", spec, err)
			continue
		}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if got := s.Next(start).Sub(start); got != want {
			t.Errorf("%q: next after %v, want %v", spec, got, want)
		}
	}
}

func TestBadSchedule(t *testing.T) {
	for spec, want := range map[string]string{
		"TZ=0":              `schedule "TZ=0" is malformed`,
		"CRON_TZ=":          `schedule "CRON_TZ=" is malformed`,
		"TZ=No/Where * * *": `schedule "TZ=No/Where * * *": `,
		" ":                 `schedule " ": `,
		"hourly":            `schedule "hourly": `,
		"5s":                `schedule "5s": `,
		"@every x":          `schedule "@every x": `,
		"* * * *":           `schedule "* * * *": `,
		"61 * * * *":        `schedule "61 * * * *": `,
		"* * * * * *":       `schedule "* * * * * *": `,
	} {
		s, err := config.ParseSchedule(spec)
		if err == nil || s != nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: schedule %v, error %v; want %s", spec, s, err, want)
		}
	}
}

// FuzzParseSchedule: any text is a schedule or an error that names it.
func FuzzParseSchedule(f *testing.F) {
	for _, spec := range []string{"@every 5s", "*/5 1-3,7 * JAN sun", "TZ=0", "TZ=UTC", "CRON_TZ=Europe/Berlin 0 0 30 2 *", "?/0 * * * *", "@", "0-9/99999999999999999999 * * * *"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := config.ParseSchedule(spec)
		switch {
		case err != nil && (s != nil || !strings.HasPrefix(err.Error(), "schedule ")):
			t.Errorf("%q: schedule %v, error %v", spec, s, err)
		case err == nil:
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			if next := s.Next(start); !next.IsZero() && !next.After(start) {
				t.Errorf("%q: next is %v", spec, next)
			}
		}
	})
}

// TestSteady: the next time does not depend on what the clock shows then.
func TestSteady(t *testing.T) {
	for _, spec := range []string{"@every 5s", "*/10 * * * *", "TZ=Asia/Tokyo 0 3 * * *"} {
		schedule, err := config.ParseSchedule(spec)
		must.Do(t, err)
		now := time.Now()
		next, plain := steady{schedule}.Next(now), schedule.Next(now)
		if !next.Equal(plain) {
			t.Errorf("%s: %v, want %v", spec, next, plain)
		}
		// Round(0) takes the monotonic reading off, as a clock that was put back does.
		if next == next.Round(0) {
			t.Errorf("%s: %v has no monotonic reading", spec, next)
		}
	}
	never, err := config.ParseSchedule("0 0 31 2 *")
	must.Do(t, err)
	if next := (steady{never}).Next(time.Now()); !next.IsZero() {
		t.Errorf("the 31st of February is %v", next)
	}
}
