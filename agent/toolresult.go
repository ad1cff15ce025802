package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// Refuse returns the answer to a call that a program does not pass on: the fact, and what the
// model can do about it.
func Refuse(fact, hint string) Reply { return failing(&tool.Problem{Fact: fact, Hint: hint}, false) }

// failing returns the answer to a call that failed.
func failing(p *tool.Problem, inJSON bool) Reply {
	r := Reply{Text: p.Text(), Failed: p.Text()}
	if inJSON {
		r.Text = tool.Encode(p)
	}
	return r
}

// problemOf returns what a model may read of an error.
func (s *acts) problemOf(ctx context.Context, err error) *tool.Problem {
	if p, ok := errors.AsType[*tool.Problem](err); ok {
		return p
	}
	e, ok := errors.AsType[*sandbox.Error](err)
	if s.cfg.Tell != nil && (!ok || e.Reason == sandbox.Unavailable) {
		if told := s.cfg.Tell(ctx, err); told != "" {
			return &tool.Problem{Fact: told}
		}
	}
	if ok {
		return &tool.Problem{Fact: e.Fact, Hint: e.Hint}
	}
	return &tool.Problem{Fact: tidy.Shorten(tidy.Clean(err.Error()), maxMessage)}
}

// skillProblem returns what a model may read of an error about the skill that it calls name.
func (c *Config) skillProblem(err error, name string) error {
	r, ok := search.RefusalOf(err)
	switch {
	case !ok:
		return err
	case r.Held:
		return &tool.Problem{Fact: fmt.Sprintf("Skill %s is held back", tool.Quoted(name)), Hint: "only the user can release it, after a review; go on without it"}
	}
	if len(r.Several) > 0 {
		return &tool.Problem{Fact: fmt.Sprintf("%d skills are called %s", len(r.Several), tool.Quoted(name)), Similar: r.Several,
			Hint: line("name one of them: "+strings.Join(r.Several, ", "), maxMessage)}
	}
	p := &tool.Problem{Fact: fmt.Sprintf("Skill %s not found", tool.Quoted(name)), Similar: r.Similar}
	switch {
	case len(r.Similar) > 0:
		p.Hint = line(words.DidYouMean(r.Similar), maxMessage)
	case c.Instructions:
		p.Hint = "use a name from the list of skills, as it is written there, or go on without one"
	default:
		p.Hint = fmt.Sprintf("there are %d; search_skills finds them by what they are for, and list_skills lists them", r.Known)
	}
	if r.Unread > 0 {
		p.Hint += "; " + search.PartOf(r.Unread).TryAgain()
	}
	return p
}

// A toolSkill is what get_skill and load_skill answer.
type toolSkill struct {
	Name          string                        `json:"name"`
	Description   string                        `json:"description,omitempty"`
	MountPath     string                        `json:"mount_path,omitempty"`
	RootPath      string                        `json:"root_path,omitempty"`
	Instructions  string                        `json:"instructions,omitempty"` // without the frontmatter
	Content       string                        `json:"content,omitempty"`      // the whole SKILL.md
	Requires      []contextprovider.Requirement `json:"requires,omitempty"`
	Required      []toolSkill                   `json:"required,omitempty"` // that are loaded with it
	Unavailable   string                        `json:"unavailable,omitempty"`
	AlreadyLoaded bool                          `json:"already_loaded,omitempty"`
	Note          string                        `json:"note,omitempty"`
}

// fetch loads the skill of a call, and those that are loaded with it. show sets what the
// tool gives of each body; a skill that the conversation has is only named.
func (s *acts) fetch(ctx context.Context, name string, show func(b *contextprovider.Body, to *toolSkill)) (Reply, error) {
	b, again, err := s.load(ctx, name)
	if err != nil {
		return Reply{}, err
	}
	if again {
		return inJSON(toolSkill{Name: b.ID, AlreadyLoaded: true, Note: "its instructions are above, and have not changed"}), nil
	}
	r := toolSkill{Name: b.ID, Requires: b.Requires, Unavailable: b.Unavailable}
	show(&b, &r)
	for _, q := range s.giveRequired(&b, maxText) {
		with := toolSkill{Name: q.ID}
		show(&q, &with)
		r.Required = append(r.Required, with)
	}
	return inJSON(r), nil
}

// inJSON returns an answer that a model reads as JSON.
func inJSON(v any) Reply { return Reply{Text: tool.Encode(v)} }

func getSkill(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	return s.fetch(ctx, in.Text("name"), func(b *contextprovider.Body, to *toolSkill) {
		to.MountPath, to.Instructions = s.folder(ctx, b), b.Text
		if parsed, err := skill.ParseBytes([]byte(b.Text), "SKILL.md", b.Name); err == nil {
			to.Description, to.Instructions = parsed.Description, strings.TrimSpace(parsed.Body)
		}
		to.Instructions = bounded(to.Instructions)
	})
}

func loadSkill(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	return s.fetch(ctx, in.Text("name"), func(b *contextprovider.Body, to *toolSkill) {
		to.RootPath, to.Content = s.folder(ctx, b), bounded(b.Text)
	})
}

// activateSkill answers in the form that the Agent Skills guide for hosts suggests.
func activateSkill(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	b, again, err := s.load(ctx, in.Text("name"))
	if err != nil {
		return Reply{}, err
	}
	if again {
		return Reply{Text: element(skillContent, attr("name", b.ID), "The instructions of this skill stand in this conversation already, and have not changed.")}, nil
	}
	text := ""
	for _, one := range append([]contextprovider.Body{b}, s.giveRequired(&b, maxText)...) {
		content := shielded(bounded(one.Text)) + "\n\nSkill directory: " + line(s.folder(ctx, &one), maxFolder) + "\nRelative paths in this skill are relative to the skill directory."
		files := ""
		for _, name := range pathsOf(one.Resources) {
			files += "\n<file>" + shielded(line(name, maxLabel)) + "</file>"
		}
		if files != "" {
			content += "\n\n<skill_resources>" + files + "\n</skill_resources>"
		}
		text += element(skillContent, attr("name", one.ID), content)
	}
	return Reply{Text: text}, nil
}

// maxPaths bounds the files that an answer lists.
const maxPaths = 100

func pathsOf(files []contextprovider.Resource) []string {
	var paths []string
	for _, f := range files[:min(len(files), maxPaths)] {
		paths = append(paths, f.Path)
	}
	return paths
}

// maxText bounds the text of a file and the instructions of a skill in an answer, in bytes.
const maxText = 100_000

// fileProblem returns what a model may read of an error about a file of a skill.
func (s *acts) fileProblem(ctx context.Context, err error, name, file string) error {
	if bad, ok := errors.AsType[*skill.PathError](err); ok {
		return &tool.Problem{Fact: fmt.Sprintf("Illegal path %s", tool.Quoted(file)), Hint: bad.Error()}
	}
	if errors.Is(err, fs.ErrNotExist) {
		p := &tool.Problem{Fact: fmt.Sprintf("File %s not found in skill %s", tool.Quoted(file), tool.Quoted(name)), Hint: "the skill has no other files than SKILL.md"}
		if b, err := s.body(ctx, name); err == nil && len(b.Resources) > 0 {
			p.Hint = "its files: " + strings.Join(pathsOf(b.Resources), ", ")
			p.Similar = words.Similar(file, pathsOf(b.Resources))
		}
		return p
	}
	return err
}

func runScript(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	r := sandbox.Request{Command: in.Text("command"), Args: in.Texts("args")}
	if stdin := in.Text("stdin"); stdin != "" {
		r.Stdin = strings.NewReader(stdin)
	}
	res, err := s.run(ctx, in.Text("name"), r)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Text: runText(&res, in.Text("name"))}, nil
}
