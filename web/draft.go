package web

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// A draft is what the page shows on which a visitor proposes a change.
type draft struct {
	ID      string // of the skill; "" for a new one
	Name    string // of a new one
	Text    string // of SKILL.md
	Seen    string // digest of the SKILL.md that Text was made of
	Why     string
	Problem string             // why it was not kept; "" means that there was none
	Kept    *proposal.Proposal // nil before it is
	Decides bool               // the visitor may decide on it
	Mine    bool               // the visitor made it, now or before
}

// outline is the SKILL.md with which the draft of a new skill begins.
const outline = "---\nname: \ndescription: \n---\n# \n"

// getDraft shows the form.
func (hs *handlers) getDraft(v *visit) (answer, error) {
	d := draft{ID: v.FormValue("id"), Text: outline}
	if d.ID == "" {
		return answer{data: d, title: "Propose a new skill"}, nil
	}
	f, err := hs.catalog.File(v.Context(), d.ID, skill.FileNames[0], v.seeing())
	if err != nil {
		return answer{}, err
	}
	if !utf8.Valid(f.Data) {
		return answer{}, refuse("SKILL.md has bytes that are no text, so no form can change it")
	}
	d.ID, d.Text, d.Seen = f.ID, string(f.Data), f.SHA256
	return answer{data: d, title: "Propose a change of " + d.ID}, nil
}

// postDraft keeps what a visitor proposes.
func (hs *handlers) postDraft(v *visit) (answer, error) {
	d := draft{ID: v.PostFormValue("id"), Name: strings.TrimSpace(v.PostFormValue("name")), Text: v.PostFormValue("text"),
		Seen: v.PostFormValue("seen"), Why: v.PostFormValue("why"), Decides: v.owner}
	var p proposal.Proposal
	var err error
	switch {
	case strings.TrimSpace(d.Text) == "":
		err = refuse("the text of SKILL.md is missing")
	case d.ID != "":
		p, err = hs.opts.Proposals.ProposeUpdate(v.Context(), v.who(), proposal.Change{Skill: d.ID, Text: d.Text, Seen: d.Seen, Justification: d.Why})
	default:
		text := strings.ReplaceAll(d.Text, "\r\n", "\n")
		p, err = hs.opts.Proposals.ProposeNew(v.Context(), v.who(), proposal.Addition{Name: d.Name, Justification: d.Why,
			Files: proposal.Files{skill.FileNames[0]: {Data: []byte(text)}}})
	}
	hs.observe(v, usage.Event{Kind: usage.Proposed, Call: "/ui/propose", Skills: usage.Named(cmp.Or(d.ID, d.Name)), Proposal: p.ID, Failed: err != nil})
	switch {
	case v.Context().Err() != nil:
		return answer{}, err
	case err != nil:
		d.Problem = v.message(err)
	default:
		d.Kept, d.Mine = &p, v.made(&p)
	}
	return answer{data: d, title: "Propose"}, nil
}
