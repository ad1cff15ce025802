package scripts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Lister lists the files of skills with their digests; *repertoire.Catalog is one.
type Lister interface {
	Listing(ctx context.Context, id string, a *search.Agent, digests bool) (contextprovider.Listing, error)
}

// A Gate decides whether the scripts of a skill may run. Its method Allow is for
// agent.Config.
type Gate struct {
	Catalog Lister
	Scope   *search.Agent // nil means all skills
	Trusted *trust.File

	// Foreign reports whether skills of the source with this label need trust; nil means
	// that all do.
	Foreign func(label string) bool

	// Ask asks the user about a skill that is not trusted; nil means that nobody can be
	// asked, so its scripts do not run.
	Ask func(ctx context.Context, q Question) (Reply, error)

	// Hint is what the user can do about a skill that is refused, with %s for the ID of the
	// skill, quoted for a shell.
	Hint string
}

// A Question is what the user is asked about a skill that is not trusted.
type Question struct {
	Skill   contextprovider.Body
	Command string
	Files   trust.Seen    // as they are now
	Change  *trust.Change // since a skill of this name was trusted; nil means that none was

	// Unknown says why nobody would notice a change of the skill, such as "its file x is too
	// large to be compared": it can be allowed once, but not trusted. "" means nothing.
	Unknown string
}

// A Reply is what the user answers.
type Reply string

// The replies. Every other text means No.
const (
	No     Reply = "no"
	Once   Reply = "once"   // in this conversation
	Always Reply = "always" // until a file of the skill changes
)

// Foreign returns the function for a Gate that asks for the skills that strangers may have
// written, see source.Foreign.
func Foreign(sources []source.Source, lower []string) func(label string) bool {
	return func(label string) bool {
		i := slices.IndexFunc(sources, func(s source.Source) bool { return s.Info().Label == label })
		return i < 0 || source.Foreign(sources[i], lower)
	}
}

// Allow returns nil if scripts of the skill may run, and else a *sandbox.Error that says what
// the user can do.
func (g *Gate) Allow(ctx context.Context, b contextprovider.Body, command string) error {
	if g.Foreign != nil && !g.Foreign(b.Source) {
		return nil
	}
	q, trusted, err := g.look(ctx, b, command)
	if err != nil || trusted {
		return err
	}
	if g.Ask == nil {
		return g.refuse(&q)
	}
	reply, err := g.Ask(ctx, q)
	if err != nil {
		return err
	}
	if reply != Once && reply != Always {
		return &sandbox.Error{Reason: sandbox.Refused, Fact: fmt.Sprintf("The user does not want scripts of the skill '%s' to run", tidy.Line(b.ID)),
			Hint: "go on without them"}
	}
	now, _, err := g.look(ctx, b, command) // the files may have changed while the user read the question
	if err == nil && now.Files.Digest != q.Files.Digest {
		err = &sandbox.Error{Reason: sandbox.Refused, Fact: fmt.Sprintf("The files of the skill '%s' changed while the user was asked", tidy.Line(b.ID)),
			Hint: "run the command again, so that the user is asked again"}
	}
	if err == nil && reply == Always && q.Unknown == "" {
		err = g.Trusted.Add(ctx, q.Files)
	}
	return err
}

// look returns what there is to ask about a skill, and whether it is trusted as it is now.
func (g *Gate) look(ctx context.Context, b contextprovider.Body, command string) (q Question, trusted bool, err error) {
	l, err := g.Catalog.Listing(ctx, b.ID, g.Scope, true)
	if err != nil {
		return q, false, err
	}
	q = Question{Skill: b, Command: command}
	q.Files.Skill = trust.Skill{Digest: l.Digest, Name: b.Name, Folder: l.Folder, Date: time.Now().UTC().Truncate(time.Second)}
	for _, f := range l.Files {
		q.Files.Files = append(q.Files.Files, skill.File{Path: f.Path, Size: f.Size, SHA256: f.SHA256})
		if f.SHA256 == "" {
			q.Unknown = "its file " + tidy.Line(f.Path) + " is too large to be compared"
		}
	}
	if l.Partial {
		q.Unknown = "it has too many files or folders to be compared"
	}
	if q.Unknown == "" && trusts(g.Trusted, l.Digest) {
		return q, true, nil
	}
	q.Change, err = g.Trusted.Change(q.Files)
	return q, false, err
}

// refuse returns the error where nobody can be asked.
func (g *Gate) refuse(q *Question) error {
	id := q.Skill.ID
	refused := &sandbox.Error{Reason: sandbox.Refused, Fact: fmt.Sprintf("Scripts of the skill '%s' may not run: the user does not trust it as it is now", tidy.Line(id))}
	if q.Unknown != "" {
		refused.Hint = "it cannot be trusted, because " + q.Unknown
	} else {
		refused.Hint = strings.ReplaceAll(g.Hint, "%s", sandbox.Quote(tidy.Line(id)))
	}
	return refused
}

// trusts reports whether a digest is trusted now.
func trusts(f *trust.File, digest string) bool {
	f.Version() // looks whether the file has changed
	return digest != "" && f.Trusted(digest)
}
