package cli

import (
	"net/http"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/audit"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/web"
)

// page returns the page of a server whose requests check lets in. As long as there is no token
// everybody may look. It leaves out the findings in ignored; the log may be nil.
func (s *served) page(check access.Checker, ignored []config.Ignore, written *audit.Log) (http.Handler, error) {
	o := web.Options{
		Prefix: "/ui/", Check: check, Reviewer: s.reviewer, Agent: s.agent, Proposals: s.box.Load(), Usage: usageOf(s.Catalog), Ignore: ignored,
		Observe: func(e web.Event) { written.Add(lineOfPage(e)) }, Logger: s.log,
	}
	if s.agent != nil {
		o.Check = access.Within(s.agent.Name, check)
	}
	asking, err := web.New(s.Catalog, &o)
	if err != nil {
		return nil, err
	}
	o.Check, o.Open = nil, true
	open, err := web.New(s.Catalog, &o)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := check.Check(r.Context(), ""); err == nil {
			open.ServeHTTP(w, r)
			return
		}
		asking.ServeHTTP(w, r)
	}), nil
}

// lineOfPage returns the line of the audit log for what a visitor of the page was shown or has
// decided.
func lineOfPage(e web.Event) audit.Line {
	line := audit.Line{Caller: e.Name, Agent: e.Agent, Call: "/ui/" + e.Action, Skills: e.Skills, File: e.File, Proposal: e.Proposal, Prompt: e.Prompt, Failed: e.Failed}
	if e.Name == "" {
		line.Client = e.Address
	}
	return line
}
