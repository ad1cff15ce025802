package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// maxShown is how many bytes of a file a page shows.
const maxShown = 256 << 10

// A skillPage shows a skill.
type skillPage struct {
	repertoire.Entry
	Status, Reason string
	Instructions   document
	Body           repertoire.Body
	Unreadable     string // why there are no instructions; "" if there are
	Groups         []fileGroup
	Cut            bool               // Instructions lack their end
	Versions       []proposal.Version // that are kept, the newest first
	Seen           []reader           // the configured agents that see it
	Unpinned       bool               // some of Seen have it not pinned

	Proposes bool   // the visitor may propose a change
	Switches bool   // the visitor may disable and enable the skill, and pin it for those who see it
	Problem  string // why that was not done
	Done     string // that it was

	Explains bool   // the visitor may ask why a prompt finds the skill
	Prompt   string // that is explained
	Why      *why   // nil without a prompt
}

// A reader is an agent that sees a skill.
type reader struct {
	Name   string
	Pinned bool
}

// A why explains what a prompt has to do with a skill.
type why struct {
	repertoire.Explanation
	Level *level
	Bars  []bar
	Words []found // of the prompt, by the field of the skill that has them
	Lacks string  // words of the prompt that only other skills have
}

// A fileGroup is the files of a skill of one kind.
type fileGroup struct {
	Title string
	Files []contextprovider.Resource
}

// getSkill shows a skill as it is now, and explains a prompt if there is one, which comes by
// POST.
func (hs *handlers) getSkill(v *visit) (answer, error) {
	e, err := hs.catalog.Lookup(v.Context(), v.FormValue("id"), v.seeing())
	if err != nil {
		return answer{}, err
	}
	p := &skillPage{Entry: e, Explains: v.scope == nil, Prompt: v.PostFormValue("q")}
	p.Status, p.Reason = e.Status()
	p.Proposes = hs.proposes(v)
	p.Switches = hs.opts.Switch != nil && v.owner && (e.State == search.Offered || e.State == search.Reserved || e.State == search.Disabled)
	if p.Switches && v.FormValue("done") != "" {
		p.Done = hs.switched(v, &e)
	}
	if p.Explains && p.Prompt != "" {
		if p.Why, err = hs.why(v, e.ID, p.Prompt); err != nil {
			return answer{}, err
		}
	}
	if v.Header.Get(partHeader) != "" { // nothing else changes
		return answer{data: p}, nil
	}
	p.Body, err = hs.catalog.Body(v.Context(), e.ID, v.seeing())
	switch {
	case errors.Is(err, skill.ErrNotFound):
		return answer{}, err
	case err != nil:
		p.Unreadable = v.message(err)
	default:
		var text string
		text, p.Cut = shorten(p.Body.Text)
		p.Instructions = documentOf(text, 2, v.FormValue("view") == "raw")
		p.Groups = groupsOf(p.Body.Resources)
		hs.observe(v, usage.Event{Kind: usage.Loaded, Call: "/ui/skill", Skills: usage.Named(e.ID), Prompt: v.PostFormValue("q")})
	}
	p.Seen = hs.seenBy(v, &e)
	p.Unpinned = slices.ContainsFunc(p.Seen, func(r reader) bool { return !r.Pinned })
	p.Versions = hs.versions(v, e.ID)
	return answer{data: p, title: e.ID}, nil
}

// postSwitch disables or enables a skill, or pins or unpins it for an agent.
func (hs *handlers) postSwitch(v *visit) (answer, error) {
	e, err := hs.catalog.Lookup(v.Context(), v.PostFormValue("id"), v.seeing())
	if err != nil {
		return answer{}, err
	}
	agent, on := v.PostFormValue("agent"), v.PostFormValue("on") != ""
	if agent != "" && !slices.ContainsFunc(v.agents(), func(a *repertoire.Agent) bool { return a != nil && a.Name == agent }) {
		return answer{}, refuse("there is no agent %q here", agent)
	}
	if err := hs.opts.Switch(e.Name, agent, on); err != nil {
		a, failed := hs.getSkill(v)
		if p, ok := a.data.(*skillPage); ok {
			p.Problem = v.message(err)
		}
		return a, failed
	}
	return answer{goTo: hs.opts.link("skill", "id", e.ID, "agent", agent, "done", "1")}, nil
}

// switched says how a skill stands after postSwitch.
func (hs *handlers) switched(v *visit, e *repertoire.Entry) string {
	name := v.FormValue("agent")
	for _, r := range hs.seenBy(v, e) {
		switch {
		case r.Name != name:
		case r.Pinned:
			return "It is pinned: " + name + " always gets it."
		default:
			return "It is not pinned: " + name + " gets it where it fits."
		}
	}
	switch {
	case name != "":
		return ""
	case e.State == search.Disabled:
		return "It is disabled: nobody gets it any more."
	case e.State == search.Reserved:
		return "It is enabled: it is read where somebody asks for it by name."
	}
	return "It is enabled: it is offered where it fits."
}

// why explains a prompt to somebody who sees the whole catalog.
func (hs *handlers) why(v *visit, id, prompt string) (*why, error) {
	e, err := hs.catalog.Why(v.Context(), id, repertoire.Query{Text: prompt})
	if err != nil {
		return nil, err
	}
	w := &why{Explanation: e, Bars: barsOf(e.Terms), Words: foundIn(e.Ranking, prompt, &e.Matched), Lacks: strings.Join(e.Ranking.Spelled(prompt, e.Missing), ", ")}
	w.Level, _ = levelOf(&e.Ranking)
	return w, nil
}

// seenBy returns the configured agents that see a skill, for those who see everything; for the owner
// of one agent's page, that agent.
func (hs *handlers) seenBy(v *visit, e *repertoire.Entry) (list []reader) {
	for _, a := range v.agents() {
		if a == nil || v.scope != nil && !v.owner {
			continue
		}
		if _, err := hs.catalog.Lookup(v.Context(), e.ID, a); err == nil {
			list = append(list, reader{a.Name, slices.Contains(a.Pinned, e.Name)})
		}
	}
	return list
}

// observe tells the program what a visitor was shown or has decided.
func (hs *handlers) observe(v *visit, e usage.Event) {
	if hs.opts.Observe == nil {
		return
	}
	e.Client, e.Caller, e.Address = "page", v.name, v.RemoteAddr
	if v.scope != nil {
		e.Agent = v.scope.Name
	}
	e.Skills = slices.DeleteFunc(e.Skills, func(k usage.Skill) bool { return k.ID == "" }) // of a decision that failed
	hs.opts.Observe(e)
}

// versions returns the versions of a skill that are kept, the newest first.
func (hs *handlers) versions(v *visit, id string) []proposal.Version {
	if hs.opts.Proposals == nil || !v.owner {
		return nil
	}
	log, err := hs.opts.Proposals.History(v.Context(), v.seeing(), id)
	if err != nil && !errors.Is(err, proposal.ErrLocked) { // a skill that is not on disk has no history
		hs.opts.Logger.Warn("reading the history", "skill", id, "error", err)
	}
	list := slices.Clone(log.Versions)
	slices.Reverse(list)
	return list
}

// groupsOf divides files by their kinds.
func groupsOf(files []contextprovider.Resource) (groups []fileGroup) {
	for _, k := range []struct {
		kind  skill.Kind
		title string
	}{{skill.Script, "Scripts"}, {skill.Reference, "References"}, {skill.Asset, "Assets"}, {skill.Other, "Other files"}} {
		g := fileGroup{Title: k.title}
		for _, f := range files {
			if f.Kind == k.kind {
				g.Files = append(g.Files, f)
			}
		}
		if len(g.Files) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// shorten returns as much of a text as a page shows, in whole lines if it can.
func shorten(text string) (short string, cut bool) {
	if len(text) <= maxShown {
		return text, false
	}
	text = strings.ToValidUTF8(text[:maxShown], "")
	if at := strings.LastIndexByte(text, '\n'); at > 0 {
		text = text[:at+1]
	}
	return text, true
}

// A filePage shows a file of a skill.
type filePage struct {
	repertoire.File
	Document document // a Markdown file
	Plain    string   // any other
	Cut      bool     // it lacks the end of the file
}

// getFile shows a file of a skill as it is now, or lets the visitor save it.
func (hs *handlers) getFile(v *visit) (answer, error) {
	f, err := hs.catalog.File(v.Context(), v.FormValue("id"), v.FormValue("path"), v.seeing())
	if err != nil {
		return answer{}, err
	}
	hs.observe(v, usage.Event{Kind: usage.Read, Call: "/ui/file", Skills: usage.Named(f.ID), What: f.Path})
	if v.FormValue("save") != "" {
		return answer{file: &file{f.Path, f.Data}}, nil
	}
	p := &filePage{File: f}
	text, cut := shorten(f.Text)
	if p.Cut = cut; strings.HasSuffix(strings.ToLower(f.Path), ".md") {
		p.Document = documentOf(text, 1, v.FormValue("view") == "raw")
	} else {
		p.Plain = text
	}
	return answer{data: p, title: f.Path}, nil
}

// A changePage shows what a version of a skill changed.
type changePage struct {
	ID string
	proposal.Version
	Lines []diffLine
	Cut   bool
}

func (hs *handlers) getChange(v *visit) (answer, error) {
	id := v.FormValue("id")
	version, diff, err := hs.opts.Proposals.Change(v.Context(), v.seeing(), id, v.FormValue("version"))
	if err != nil {
		return answer{}, &statusError{http.StatusNotFound, errors.New(v.message(err))}
	}
	p := &changePage{ID: id, Version: version}
	diff, p.Cut = shorten(diff)
	p.Lines = linesOf(diff)
	return answer{data: p, title: "Change of " + id}, nil
}
