package usage

import (
	"context"
	"time"
)

// A Day counts the events of one day.
type Day struct {
	Start  time.Time // its midnight
	Got    int       // prompts that got skills
	Silent int       // prompts that got none, of those that wanted work done
	Loads  int       // of skills
}

// Days counts the events of an agent for each day since a time, also for days without any; ""
// means of all agents. The time zone of since decides when a day begins.
func (l *Log) Days(ctx context.Context, since time.Time, agent string) ([]Day, error) {
	var days []Day
	for start := midnight(since); !start.After(l.now()); start = start.AddDate(0, 0, 1) {
		days = append(days, Day{Start: start})
	}
	at := make(map[time.Time]int, len(days))
	for i, d := range days {
		at[d.Start] = i
	}
	_, err := l.each(ctx, since, func(e Event) {
		i, ok := at[midnight(e.Time.In(since.Location()))]
		if !ok || agent != "" && e.Agent != agent {
			return
		}
		switch {
		case e.Kind == Loaded:
			days[i].Loads += len(e.Skills)
		case e.Kind == Offered && len(e.Skills) > 0:
			days[i].Got++
		case e.Kind == Offered && e.Because == "":
			days[i].Silent++
		}
	})
	return days, err
}

// midnight returns the start of the day of a time.
func midnight(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, t.Location())
}
