package usage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxLine is the length of the longest line that is read, in bytes.
const maxLine = 1 << 20

// head is how each line begins. After a write that was cut off, the next line begins in the
// middle of one.
var head = []byte(`{"time":`)

// each calls f for each event since a time, in the order of the files or of the table. It returns how
// many lines are damaged, which it leaves out.
func (l *Log) each(ctx context.Context, since time.Time, f func(Event)) (damaged int, err error) {
	if l.table != nil {
		return l.table.each(ctx, since, f)
	}
	names, err := l.files()
	if err != nil {
		return 0, fmt.Errorf("reading the log of usage: %w", err)
	}
	for _, name := range names {
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // another process forgets the log
		}
		if err == nil {
			var n int
			n, err = eachLine(ctx, file, func(e Event) {
				if !e.Time.Before(since) {
					f(e)
				}
			})
			damaged += n
			file.Close()
		}
		if err != nil {
			return damaged, fmt.Errorf("reading the log of usage: %w", err)
		}
	}
	return damaged, nil
}

// eachLine calls f for each event of a file.
func eachLine(ctx context.Context, r io.Reader, f func(Event)) (damaged int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return damaged, err
		}
		l, ok, whole := decode(lines.Bytes())
		if !whole {
			damaged++
		}
		if ok {
			f(l.event())
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return damaged + 1, nil // no line of ours: what follows is not read
	}
	return damaged, lines.Err()
}

// decode decodes a line; ok is false if there is none. whole is false if another line, which was cut
// off, stands before it.
func decode(data []byte) (l line, ok, whole bool) {
	if json.Unmarshal(data, &l) == nil && l.Kind != "" {
		return l, true, true
	}
	l = line{}
	i := bytes.LastIndex(data, head)
	return l, i > 0 && json.Unmarshal(data[i:], &l) == nil && l.Kind != "", false
}
