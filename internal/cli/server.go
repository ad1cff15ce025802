package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/internal/apiclient"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// serverFlags name a server ("skills mcp --http") that a command asks.
type serverFlags struct {
	url, tokenEnv string
	insecure      bool
}

func (s *serverFlags) add(f *pflag.FlagSet, use string) {
	f.StringVar(&s.url, "url", "", use)
	f.StringVar(&s.tokenEnv, "token-env", "", "with --url: the environment variable `NAME` holds the token")
	f.BoolVar(&s.insecure, "insecure", false, "with --url: send prompts to another machine over plain http")
}

func (s *serverFlags) check() error {
	if s.url == "" {
		if s.tokenEnv != "" || s.insecure {
			return errors.New("--token-env and --insecure are for --url")
		}
		return nil
	}
	if err := endpoint.CheckKeyName(s.tokenEnv); err != nil {
		return fmt.Errorf("--token-env: %w", err)
	}
	if _, err := apiclient.Parse(s.url, s.insecure); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

// setup returns the server for the settings of clients.
func (s *serverFlags) setup(agent string) (setup.Server, error) {
	if s.url == "" {
		return setup.Server{}, nil
	}
	u, err := apiclient.Parse(s.url, s.insecure)
	if err != nil {
		return setup.Server{}, err
	}
	return setup.Server{URL: u.String(), Agent: agent, TokenEnv: s.tokenEnv, Insecure: s.insecure}, nil
}

// client returns a client with at most that many idle connections.
func (s *serverFlags) client(connections int) (*apiclient.Client, error) {
	return apiclient.New(s.url, &apiclient.Options{TokenEnv: s.tokenEnv, Insecure: s.insecure, Connections: connections})
}

// answer has a hook ask the server, if there is one.
func (s *serverFlags) answer(call *hook.Call, agent string) error {
	if s.url == "" {
		return nil
	}
	c, err := s.client(1)
	if err == nil {
		call.Ask, call.Agent = c.Suggest, agent
	}
	return err
}
