package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/usage"
)

// proposalList is what the page of proposals shows.
type proposalList struct {
	Waiting, Decided []proposal.Proposal // the newest first
	Shared           bool                // the catalog is
	Propose          bool                // the visitor may propose
	Mine             bool                // they are only those that the visitor made
	Problem          string              // of single proposals, which are left out; "" means none
}

// getProposals lists the proposed changes of skills: all for those who decide, their own for others.
func (hs *handlers) getProposals(v *visit) (answer, error) {
	list, err := hs.opts.Proposals.List(v.Context(), v.scope, true)
	d := proposalList{Shared: hs.shared(), Propose: hs.opts.Propose, Mine: !v.owner}
	if list == nil && d.Shared {
		err = hs.goneError("the proposals are", err)
	}
	if list == nil {
		return answer{}, err
	}
	if err != nil && v.owner { // of single proposals: the others are listed
		d.Problem = v.message(err)
	}
	slices.Reverse(list)
	for _, p := range list {
		switch {
		case d.Mine && !v.made(&p):
		case p.State == proposal.StateOpen:
			d.Waiting = append(d.Waiting, p)
		default:
			d.Decided = append(d.Decided, p)
		}
	}
	return answer{data: d}, nil
}

// proposalView is what the page of one proposal shows.
type proposalView struct {
	proposal.Shown
	Lines   []diffLine
	Roots   []string // to one of which a new skill of a shared catalog goes
	Shared  bool     // the catalog is
	Decides bool     // the visitor may decide
	Seen    string   // identifies what the visitor sees, see seen
	Draft   string   // the reason that the visitor has given
	Problem string   // why the decision was not carried out; "" means that there was none
}

// Fails reports whether a change may be made only although its check fails.
func (d proposalView) Fails() bool { return d.Check != nil && !d.Check.OK }

// getProposal shows what a proposal would do now.
func (hs *handlers) getProposal(v *visit) (answer, error) { return hs.proposal(v, "") }

// proposal shows a proposal, and why a decision about it was not carried out. Who made it and does not decide sees
// what became of it, without the check, which knows the whole catalog, and without why it does not fit any more.
func (hs *handlers) proposal(v *visit, problem string) (answer, error) {
	p, err := hs.opts.Proposals.Show(v.Context(), v.scope, v.FormValue("id"))
	if err != nil {
		return answer{}, err
	}
	if !v.owner {
		if !v.made(&p.Proposal) {
			return answer{}, &statusError{http.StatusForbidden, errors.New("only those who decide on proposals and whoever made this one may see it")}
		}
		if p.Check, p.Notes = nil, nil; p.Conflict != "" {
			p.Conflict = "The skill was changed since, or is gone. Propose the change of it as it is now."
		}
	}
	d := proposalView{Shown: p, Lines: linesOf(p.Diff), Decides: v.owner, Seen: seen(&p), Draft: v.PostFormValue("reason"), Problem: problem}
	if d.Shared = hs.shared(); d.Shared && p.Kind == proposal.KindNew {
		d.Roots = hs.catalog.Labels()
	}
	return answer{data: d, title: p.Skill + ": proposal " + p.ID}, nil
}

// postProposal approves or rejects a proposal.
func (hs *handlers) postProposal(v *visit) (answer, error) {
	id, reason := v.PostFormValue("id"), strings.TrimSpace(v.PostFormValue("reason"))
	var skill string
	var err error
	action := v.PostFormValue("action")
	switch action {
	case "approve":
		skill, err = hs.approve(v, id, reason)
	case "reject":
		var p proposal.Proposal
		p, err = hs.opts.Proposals.Reject(v.Context(), v.who(), id, reason)
		skill = p.Skill
	default:
		return answer{}, refuse("no action %q: approve or reject", action)
	}
	hs.observe(v, usage.Event{Kind: usage.Proposed, Call: "/ui/" + action, Skills: usage.Named(skill), Proposal: id, Failed: err != nil})
	if action == "approve" && err == nil && !hs.shared() {
		if _, err = hs.catalog.Owner().Rescan(v.Context(), nil); err != nil {
			return hs.proposal(v, "the change is made, but the catalog is as before: "+v.message(err))
		}
	}
	switch {
	case errors.Is(err, proposal.ErrNotFound), v.Context().Err() != nil:
		return answer{}, err
	case err != nil:
		return hs.proposal(v, v.message(err))
	}
	return answer{goTo: hs.opts.link("proposal", "id", id)}, nil
}

// approve makes the change of a proposal, if it still is what the visitor has seen.
func (hs *handlers) approve(v *visit, id, reason string) (skill string, err error) {
	stale := false
	p, err := hs.opts.Proposals.Approve(v.Context(), v.who(), id, proposal.Approval{
		Reason: reason, To: v.PostFormValue("to"),
		Force: v.PostFormValue("force") != "",
		Confirm: func(p proposal.Shown) bool {
			stale = seen(&p) != v.PostFormValue("seen")
			return !stale
		},
	})
	conflict := new(proposal.ConflictError)
	switch {
	case stale:
		err = errors.New("the skill or what is found about it has changed since you opened this page, so nothing was done. Look at the proposal as it is now")
	case errors.Is(err, proposal.ErrFails):
		err = errors.New("the check fails, so nothing was done. Approve it although it fails, or reject it")
	case errors.Is(err, proposal.ErrLocked), errors.As(err, &conflict):
		err = fmt.Errorf("nothing was done: %w", err)
	}
	return p.Skill, err
}

// seen identifies a proposal together with what it would do.
func seen(p *proposal.Shown) string {
	data, err := json.Marshal(p)
	if err != nil {
		return "" // it has nothing that JSON has not
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// A diffLine is a line of a unified diff.
type diffLine struct{ Class, Text string }

// linesOf returns the lines of a unified diff, with line ends.
func linesOf(diff string) []diffLine {
	var list []diffLine
	for line := range strings.Lines(diff) {
		class := ""
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "@@"):
			class = "at"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		}
		list = append(list, diffLine{class, line})
	}
	return list
}
