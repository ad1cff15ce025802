package usage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// tail is how many bytes at the end of each file Recent reads.
const tail = 256 << 10

// Recent returns the last offers of the log, the newest first: at most n prompts that got
// skills or none. agent chooses those of one agent; "" means of all. It reads only the ends of
// the two newest files of the folder, so that it is fast however long the log is.
func (l *Log) Recent(ctx context.Context, agent string, n int) ([]Event, error) {
	names, err := l.files()
	if err != nil {
		return nil, fmt.Errorf("reading the log of usage: %w", err)
	}
	var events []Event
	for _, name := range names[max(0, len(names)-2):] {
		err := lastLines(ctx, name, func(e Event) {
			if e.Kind == Offered && (agent == "" || e.Agent == agent) {
				events = append(events, e)
			}
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) { // another process may forget the log
			return nil, fmt.Errorf("reading the log of usage: %w", err)
		}
	}
	events = events[max(0, len(events)-n):]
	slices.Reverse(events)
	return events, nil
}

// lastLines calls f for each event at the end of a file.
func lastLines(ctx context.Context, name string, f func(Event)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		// The first line may begin before the tail: then it counts as damaged.
		_, err = file.Seek(max(0, info.Size()-tail), io.SeekStart)
	}
	if err == nil {
		_, err = eachLine(ctx, file, f)
	}
	return err
}
