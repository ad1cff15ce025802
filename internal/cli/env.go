package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// env is one start of the program: its name, its streams and its time. It never changes.
type env struct {
	name           string // of the program; "" means ownName
	stdin          io.Reader
	stdout, stderr io.Writer // printers
	raw            io.Writer // standard output, for what programs read: JSON, protocols, scripts
	start          time.Time // of the process
}

// screen prints what a command has to say, in the form that the flags of all commands choose.
type screen struct {
	env
	json, quiet, verbose bool
}

// session is one run of a command: what the flags of all commands say, and all that it takes to
// open the catalog that they choose.
type session struct {
	*screen
	roots             []string
	onlyRoot          bool
	config, db, agent string
	store, catalog    string // of a shared catalog

	dir      string       // of the project; "" means the working folder
	log      *slog.Logger // for background work; nil means standard error with --verbose
	client   string       // for which the catalog is asked; "" means that it is not known
	lastGood bool         // a configuration with a mistake is replaced by its last good content
	warn     func(error)  // gets what cannot be used and stops nothing; nil means standard error
	warned   []string     // what warn was told
	partial  bool         // the answer may be about a part of the catalog
}

// newEnv returns the start of a program of a name.
func newEnv(name string, stdin io.Reader, stdout, stderr io.Writer) env {
	e := env{name: name, stdin: stdin, stdout: printer{Writer: stdout}, raw: stdout, start: time.Now()}
	e.stderr = printer{stderr, e.named}
	return e
}

// session returns the session of a command whose flags are parsed.
func (e env) session(cmd *cobra.Command) *session {
	f := cmd.Flags()
	// No error: the program has these flags.
	text := func(name string) string { v, _ := f.GetString(name); return v }
	set := func(name string) bool { v, _ := f.GetBool(name); return v }
	roots, _ := f.GetStringArray("root")
	return &session{
		screen: &screen{e, set("json"), set("quiet"), set("verbose")},
		roots:  roots, onlyRoot: set("only-root"), config: text("config"), db: text("db"), agent: text("agent"),
		store: text("store"), catalog: text("catalog"),
	}
}

// checked is checked for what depends on flags of all commands.
func (e env) checked(check func(s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return checked(func(args []string) error { return check(e.session(cmd), args) })(cmd, args)
	}
}

// run returns what a command does that opens a catalog itself, or none.
func (e env) run(do func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), e.session(cmd), args) }
}

// onCatalog returns what a command does that asks the catalog.
func (e env) onCatalog(do task) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return e.session(cmd).ask(cmd.Context(), freshen, args, do)
	}
}

// onPrompt is onCatalog for a command about a prompt: the arguments from first on, which
// become one.
func (e env) onPrompt(first int, limit time.Duration, do task) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s := e.session(cmd)
		s.partial = true
		prompt, err := s.prompt(cmd.Context(), args[first:])
		if err != nil {
			return err
		}
		args = append(args[:first:first], prompt)
		return s.ask(cmd.Context(), limit, args, do)
	}
}

// prompt returns the arguments as one text, or standard input if the only one is "-".
func (e env) prompt(ctx context.Context, args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	const most = 4 << 20 // more than any model reads
	var text strings.Builder
	// A read from a terminal cannot be interrupted, but an interrupt can leave it behind.
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&text, io.LimitReader(e.stdin, most))
		read <- err
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case err := <-read:
		if err != nil {
			return "", fmt.Errorf("reading standard input: %w", err)
		}
		return text.String(), nil
	}
}
