package hook

import (
	"bytes"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// tooLate is the message in the log for an answer that came too late for the client.
const tooLate = "too late for an answer"

// How a deadline grows on a machine that is slow: clients wait for 5 s.
const (
	forgotten = time.Hour              // after which a late answer counts no more
	longer    = 200 * time.Millisecond // for each that counts
	longest   = time.Second
)

// DeadlineNow returns the deadline of a hook whose command names none: longer if answers were too late
// lately. state is the folder of the log; "" means that nothing is known.
func DeadlineNow(state string, now time.Time) time.Duration {
	d := Deadline
	for _, at := range Late(state) {
		if now.Sub(at).Abs() < forgotten { // a clock that was put back leaves times in the future
			d = min(d+longer, longest)
		}
	}
	return d
}

// tail is how many bytes at the end of the log are read.
const tail = 32 << 10

// Late returns when answers were too late, as the end of the log in a state folder has it, the oldest first.
func Late(state string) (times []time.Time) {
	for at, rest := range logged(state) {
		if strings.Contains(rest, `msg="`+tooLate+`"`) {
			times = append(times, at)
		}
	}
	return times
}

// instead is the message in the log for a server that has not answered.
const instead = "the catalog of this machine is asked instead"

// A Refusal is that a server does not accept the token of a client.
type Refusal struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"` // "refused by HOST: …"
}

// Refused returns the last refusal by a host, as the end of the log in a state folder has it; nil if
// there is none since a time.
func Refused(state, host string, since time.Time) (last *Refusal) {
	for at, rest := range logged(state) {
		_, text, _ := strings.Cut(rest, " error=")
		quoted, _ := strconv.QuotedPrefix(text)
		text, err := strconv.Unquote(quoted)
		if err == nil && strings.Contains(rest, `msg="`+instead+`"`) && at.After(since) && strings.HasPrefix(text, endpoint.RefusedBy+host+":") {
			last = &Refusal{at, text}
		}
	}
	return last
}

// logged returns the times and the rest of the lines at the end of the log in a state folder.
func logged(state string) iter.Seq2[time.Time, string] {
	return func(yield func(time.Time, string) bool) {
		if state == "" {
			return
		}
		name := filepath.Join(state, logName)
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() { // a prompt does not wait for a named pipe
			return // no hook has had anything to tell
		}
		f, err := os.Open(name)
		if err != nil {
			return
		}
		defer f.Close()
		if info.Size() > tail {
			_, _ = f.Seek(-tail, io.SeekEnd) // or else all of it, which is bounded too
		}
		data, _ := io.ReadAll(io.LimitReader(f, 2*maxLog)) // what can be read
		for line := range bytes.Lines(data) {
			text, ok := strings.CutPrefix(string(line), "time=")
			stamp, rest, _ := strings.Cut(text, " ")
			if at, err := time.Parse(time.RFC3339Nano, stamp); ok && err == nil && !yield(at, rest) {
				return
			}
		}
	}
}
