package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/server"
)

const webHelp = `Web shows the catalog in your browser: what a prompt would be offered, as you
type it, and why; the skills with their files, versions and changes; what doctor
finds; proposals to decide on; what was offered and loaded; what is disabled,
pinned or stale. The page of a skill can disable it for everybody, as "skills
disable" does, and pin it for an agent of the configuration, as "skills pin"
does. It serves until you interrupt it, and looks for changed skills on the
configured schedule.

It listens on this machine only. The address that it prints and opens works
once, in one browser, which stays signed in until the command ends; should
somebody else use it too, everybody is signed out. Nothing is loaded from
anywhere else. With --agent NAME only what that agent may see exists.

Standard error says where the same skills are as a registry, for programs that
look for skills in one: "npx skills find" and clients of ARD. That address holds
a secret of this run. "skills mcp --http" has one that stays.

--json prints an object with url and registry, once the page can be opened.`

// webResult is what "web --json" prints.
type webResult struct {
	URL      string `json:"url"`
	Registry string `json:"registry"` // base for clients of registries
}

func newWebCommand(e env) *cobra.Command {
	var port int
	var noOpen bool
	cmd := &cobra.Command{
		Use:     "web",
		Short:   "Show the catalog in a browser",
		Long:    webHelp,
		Example: "  skills web\n  skills web --port 8100 --no-open",
		Args:    args(0, 0),
		PreRunE: checked(func([]string) error {
			if port < 0 || port > 65535 {
				return fmt.Errorf("--port is a number from 0 to 65535, not %d; 0 takes one that is free", port)
			}
			return nil
		}),
		RunE: e.run(func(ctx context.Context, s *session, _ []string) error { return runWeb(ctx, s, port, !noOpen) }),
	}
	cmd.Flags().IntVar(&port, "port", 0, "listen on this `port`; 0 takes one that is free")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "open no browser")
	return cmd
}

// runWeb serves the page of the catalog until ctx ends.
func runWeb(ctx context.Context, s *session, port int, open bool) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("%w; --port chooses another port", err)
	}
	defer l.Close() // Serve closes it, but an error may come first
	var o server.Options
	if err := s.serverOptions(&o); err != nil {
		return err
	}
	o.Switch, o.Usage = s.switchSkill, nodeLog(&o.Config, o.Logger)
	return elsewhere(o.Config, server.Page(ctx, l, o, func(url, registry string) error {
		if s.json {
			err = s.printJSON(webResult{url, registry})
		} else {
			err = s.printText(url)
			s.note("a registry for other programs is at %s", registry)
		}
		if err != nil || !open {
			return err
		}
		if err := openBrowser(url); err != nil {
			s.note("open this address in your browser (%v)", err)
		}
		return nil
	}))
}

// switchSkill changes the user's configuration as web.Options.Switch says, and returns what it is then.
func (s *session) switchSkill(name, agent string, on bool) (repertoire.Config, error) {
	r := config.Rule{Kind: config.KindName, Text: name}
	err := s.changeConfig(func(e *config.Editor) (err error) {
		done := true
		switch {
		case agent != "" && on:
			_, err = e.Pin(agent, name)
		case agent != "":
			_, err = e.Unpin(agent, name)
		case on:
			done, err = e.Enable(r, config.Scope{})
		default:
			_, err = e.Disable(r, config.Scope{})
		}
		if err == nil && !done {
			err = fmt.Errorf("%s does not disable it by its name; \"skills why %s PROMPT\" says what does", e.File, name)
		}
		return err
	})
	if err != nil {
		return repertoire.Config{}, err
	}
	return s.readConfig(false)
}

// openBrowser opens an address in the browser of the user.
func openBrowser(url string) error {
	words := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		words[0] = "open"
	case "windows":
		words = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no display")
		}
	}
	cmd := exec.Command(words[0], words[1:]...)
	detachBrowser(cmd) // an interrupt of this program is not for the browser
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // or it stays as a zombie; it may take as long as the browser runs
	return nil
}
