package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/postgres"
)

const tokenHelp = `Token adds, lists and revokes tokens for a server ("skills mcp --http"). Whoever
bears one ("Authorization: Bearer …") sees what the agent of the token may see,
or the whole catalog if it has no agent. Once there is a token, a server asks
each request for one, also when the last one has been revoked.

"skills token add NAME" prints the secret of a new token, once: only its hash is
kept, in tokens.json in the state folder, which all servers of this machine read
at once when it has changed, or with --store in the shared catalog, of which all
its nodes hear within a second. With --agent it is for the configured agent of
that name, which this configuration or a running node of the shared catalog must
have. With --expires it counts until then: after a time such as 12h, 90d or 8w,
or until a day such as 2030-12-31, at midnight UTC.

A revoked token counts no more from then on, and its streams end within a
second.

--json prints an object: of add and revoke with token, and of list with tokens,
a list of these, with name, agent, created, expires and expired; add also prints
the secret.`

// tokenResult is what "token add" and "token revoke" print with --json; tokensResult what
// "token list" does.
type (
	tokenResult struct {
		Token  shownToken `json:"token"`
		Secret string     `json:"secret,omitempty"`
	}
	tokensResult struct {
		Tokens []shownToken `json:"tokens"`
	}
	shownToken struct {
		Name    string    `json:"name"`
		Agent   string    `json:"agent,omitempty"`
		Created time.Time `json:"created"`
		Expires time.Time `json:"expires,omitzero"`
		Expired bool      `json:"expired,omitempty"`
	}
)

func shownTokenOf(t store.Token) shownToken {
	return shownToken{t.Name, t.Agent, t.Created, t.Expires, access.Expired(t, time.Now())}
}

func newTokenCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Short:   "Add, list or revoke tokens for a server",
		Long:    tokenHelp,
		Example: "  skills token",
		Args:    noCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenAddCommand(e), newTokenListCommand(e), newTokenRevokeCommand(e))
	return cmd
}

// withTokens calls f with where tokens are kept: in the shared catalog, if there is one.
func withTokens(s *session, f func(store.Tokens) error) error {
	settings, err := s.settings()
	if err != nil {
		return err
	}
	if settings.Store != "" {
		db, err := postgres.Open(settings.Store, &postgres.Options{Catalog: settings.Catalog, Logger: s.logger()})
		if err != nil {
			return err
		}
		defer db.Close()
		return f(db)
	}
	state, err := config.StateDir()
	if err != nil {
		return err
	}
	return f(access.Open(state))
}

// listTokens returns all tokens.
func listTokens(ctx context.Context, s *session) (tokens []store.Token, err error) {
	err = withTokens(s, func(t store.Tokens) error {
		tokens, err = t.Tokens(ctx)
		return err
	})
	return tokens, err
}

func newTokenAddCommand(e env) *cobra.Command {
	var until string
	cmd := &cobra.Command{
		Use:     "add NAME",
		Short:   "Make a token and print its secret",
		Long:    "Add makes a token and prints its secret, see \"skills token --help\".",
		Example: "  skills token add ci --agent reviewer --expires 90d",
		Args:    args(1, 1),
		// The name is new, so it is not completed.
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			now := time.Now()
			expires, err := access.Expiry(until, now)
			if err != nil {
				return &usageError{cmd.CommandPath(), fmt.Errorf("--expires %w", err)}
			}
			t, secret, err := access.NewToken(args[0], s.agent, now, expires)
			if err != nil {
				return &usageError{cmd.CommandPath(), err}
			}
			return addToken(cmd.Context(), s, t, secret)
		},
	}
	cmd.Flags().StringVar(&until, "expires", "", "the token counts until this `time`: 12h, 90d, 8w or 2030-12-31")
	return cmd
}

func addToken(ctx context.Context, s *session, t store.Token, secret string) error {
	err := withTokens(s, func(list store.Tokens) error {
		if err := checkTokenAgent(ctx, s, t.Agent, list); err != nil {
			return err
		}
		err := list.AddToken(ctx, t)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("there is a token %s already; \"skills token revoke %[1]s\" revokes it", t.Name)
		}
		if err != nil {
			return fmt.Errorf("adding the token: %w", err)
		}
		return nil
	})
	if err != nil {
		return mayWrite(err)
	}
	if s.json {
		return s.printJSON(tokenResult{shownTokenOf(t), secret})
	}
	s.note("this is the secret of %s; it is shown only now", t.Name)
	return s.printText(secret)
}

// answerTime is how long the nodes of a shared catalog have to say whether they know an agent.
const answerTime = 2 * time.Second

// checkTokenAgent refuses an agent that nobody knows who will ask for this token: the servers of this
// machine, or the nodes of a shared catalog. While no node answers it only warns.
func checkTokenAgent(ctx context.Context, s *session, agent string, list store.Tokens) error {
	if agent == "" {
		return nil
	}
	settings, err := s.settings()
	if err != nil {
		return err
	}
	names := namesOfAgents(settings.Agents)
	nodes, shared := list.(*postgres.DB)
	switch {
	case slices.Contains(names, agent):
		return nil
	case !shared:
		return access.NoAgent(agent, names)
	}
	said, err := nodes.Knows(ctx, agent, answerTime)
	switch {
	case err != nil:
		return fmt.Errorf("asking the nodes for the agent %s: %w", agent, err)
	case said.Nodes == 0:
		s.note("this configuration has no agent %q, and no node answers: the token shows nothing until nodes have it", agent)
	case !said.Known:
		return fmt.Errorf("no agent %q: neither this configuration nor any of the %s that answer has it%s", agent, count(said.Nodes, "node"), words.Suggest(agent, said.Agents))
	}
	return nil
}

func namesOfAgents(agents []*repertoire.Agent) []string {
	return mapped(agents, func(a *repertoire.Agent) string { return a.Name })
}

func newTokenListCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tokens",
		Long:    "List prints the tokens, never their secrets, see \"skills token --help\".",
		Example: "  skills token list --json",
		Args:    args(0, 0),
		RunE: e.run(func(ctx context.Context, s *session, _ []string) error {
			tokens, err := listTokens(ctx, s)
			if err != nil {
				return err
			}
			shown := mapped(tokens, shownTokenOf)
			return s.tableOr(tokensResult{shown}, []string{"NAME", "AGENT", "CREATED", "EXPIRES"}, mapped(shown, func(t shownToken) []string {
				expires := "never"
				switch {
				case t.Expired:
					expires = "expired"
				case !t.Expires.IsZero():
					expires = t.Expires.Format(time.DateOnly)
				}
				return []string{t.Name, cmp.Or(t.Agent, "(whole catalog)"), t.Created.Format(time.DateOnly), expires}
			}))
		}),
	}
}

func newTokenRevokeCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Revoke a token",
		Long:    "Revoke makes a token count no more, see \"skills token --help\".",
		Example: "  skills token revoke ci",
		Args:    args(1, 1),
		ValidArgsFunction: arguments(anyText(), completer{func(cmd *cobra.Command, _ []string) []cobra.Completion {
			s := e.session(cmd)
			tokens, _ := listTokens(cmd.Context(), s) // else there is nothing to complete
			return tokenNames(tokens)
		}, cobra.ShellCompDirectiveNoFileComp}),
		RunE: e.run(revokeToken),
	}
}

func tokenNames(tokens []store.Token) []string {
	return mapped(tokens, func(t store.Token) string { return t.Name })
}

func revokeToken(ctx context.Context, s *session, args []string) error {
	name := args[0]
	var gone store.Token
	err := withTokens(s, func(list store.Tokens) (err error) {
		gone, err = access.Revoke(ctx, list, name)
		return err
	})
	if err != nil {
		return mayWrite(err)
	}
	if s.json {
		return s.printJSON(tokenResult{Token: shownTokenOf(gone)})
	}
	s.note("token %s is revoked", name)
	return nil
}
