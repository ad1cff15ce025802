package hook

import (
	"io"
	"os"
	"path/filepath"
)

// logName is the name of the log in the state folder.
const logName = "hook.log"

// maxLog is the size in bytes from which a log is renamed to one with the suffix ".1".
const maxLog = 256 << 10

// A logFile appends to a file of bounded size, which it makes at the first use.
type logFile string

func (l logFile) Write(p []byte) (int, error) {
	f, err := l.open()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Write(p)
}

func (l logFile) open() (*os.File, error) {
	name := string(l)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && info.Size() > maxLog {
		os.Rename(name, name+".1") // another process may have done so
	}
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

func logIn(state string) logFile { return logFile(filepath.Join(state, logName)) }

func (r *run) logWriter() io.Writer {
	if r.state == "" {
		return r.Verbose
	}
	return io.MultiWriter(r.Verbose, logIn(r.state))
}
