package discover

import (
	"context"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Problems says of each registry without a part in the answer, or with an older one, why.
func (a *Answer) Problems() (list []string) {
	for _, r := range a.Registries {
		name := "registry " + r.Name
		if r.Via != "" {
			name += ", to which " + r.Via + " refers"
		}
		switch {
		case r.Error != "":
			list = append(list, name+" has no part in this: "+r.Error)
		case !r.AsOf.IsZero():
			list = append(list, fmt.Sprintf("%s cannot be asked now; this is its answer of %s", name, r.AsOf.Local().Format("15:04")))
		case r.Omitted > 0:
			list = append(list, fmt.Sprintf("%s: %s left out, malformed or too many", name, figures.Count(r.Omitted, "skill")))
		}
	}
	return list
}

// Place says where a result is from, in a few words.
func (r *Result) Place() string {
	var parts []string
	switch {
	case r.Here != "":
		parts = append(parts, "here")
	case r.Namesake != "":
		parts = append(parts, "another "+r.Namesake+" is here")
	}
	if r.Registry != "" {
		parts = append(parts, strings.Join(append([]string{r.Registry}, r.Also...), ", "))
	}
	return strings.Join(parts, "; ")
}

// about says what a registry tells of a skill, for a model.
func (r *Result) about() string {
	parts := []string{"registry " + strings.Join(append([]string{r.Registry}, r.Also...), ", ")}
	for _, field := range []struct{ what, value string }{{"by ", r.Origin}, {"version ", r.Version}, {"scan: ", r.Verdict}} {
		if field.value != "" {
			parts = append(parts, field.what+field.value)
		}
	}
	if r.Installs > 0 {
		parts = append(parts, figures.Count(r.Installs, "install"))
	}
	return strings.Join(parts, ", ")
}

// Tool answers the tool find_skills, see agent.Config.Find. command is the name of this program.
func (f *Finder) Tool(command string) func(context.Context, repertoire.Query) (string, any, error) {
	return func(ctx context.Context, q repertoire.Query) (string, any, error) {
		a, err := f.Search(ctx, q)
		if err != nil {
			return "", nil, err
		}
		for i := range a.Registries { // no words of a stranger beside those of this program
			a.Registries[i].Error = a.Registries[i].Brief
		}
		return a.text(command), a, nil
	}
}

// text is the answer for a model. Descriptions are texts of strangers, each on its own line.
func (a *Answer) text(command string) string {
	const most = 400 // characters of a description
	var b strings.Builder
	if len(a.Results) == 0 {
		b.WriteString("Nothing fits, neither here nor in a registry. Go on without a skill.\n")
	} else {
		b.WriteString("Skills that fit, best first. Those of registries are by strangers, not installed and not checked: tell the user of one that would help, and let the user install it.\n")
	}
	for _, r := range a.Results {
		place := r.about
		if r.Here != "" {
			place = func() string { return "here: read_skill(" + r.Here + ") reads it" }
		}
		fmt.Fprintf(&b, "- %s (%s; %s likely): %s\n", r.Name, place(), figures.Percent(r.Probability), tidy.Shorten(tidy.Line(r.Description), most))
		if r.Here == "" && r.Install != "" {
			fmt.Fprintf(&b, "  To install it: %s %s\n", command, r.Install)
		}
		if r.Namesake != "" {
			fmt.Fprintf(&b, "  Another skill of this name is here: %s\n", r.Namesake)
		}
	}
	for _, p := range a.Problems() {
		fmt.Fprintf(&b, "(%s)\n", p)
	}
	return b.String()
}

// Answered returns how many registries had a part in the answer.
func (a *Answer) Answered() (n int) {
	for _, r := range a.Registries {
		if r.Error == "" {
			n++
		}
	}
	return n
}
