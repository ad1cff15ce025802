package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// A toolProblem is what a model reads of a call that failed: the plain fact, then what to do.
type toolProblem struct {
	Fact    string   `json:"error"`
	Hint    string   `json:"hint,omitempty"`
	Similar []string `json:"similar,omitempty"` // names that it may have meant
}

func (p *toolProblem) Error() string { return p.Fact }

const (
	maxQuoted  = 80   // characters of a name that is quoted
	maxMessage = 1000 // characters of another error
)

// quoted returns the start of a text from a model in quotes: it must not look as if this
// program had written it.
func quoted(s string) string { return "'" + words.Shorten(words.Line(s), maxQuoted) + "'" }

// problemOf returns what a model may read of an error.
func (s *acts) problemOf(ctx context.Context, err error) *toolProblem {
	if p, ok := errors.AsType[*toolProblem](err); ok {
		return p
	}
	e, ok := errors.AsType[*sandbox.Error](err)
	if s.cfg.Tell != nil && (!ok || e.Reason == sandbox.Unavailable) {
		if told := s.cfg.Tell(ctx, err); told != "" {
			return &toolProblem{Fact: told}
		}
	}
	if ok {
		return &toolProblem{Fact: e.Fact, Hint: e.Hint}
	}
	return &toolProblem{Fact: words.Shorten(words.Clean(err.Error()), maxMessage)}
}

// skillProblem returns what a model may read of an error about the skill that it calls name.
func skillProblem(err error, name string) error {
	r, ok := search.RefusalOf(err)
	switch {
	case !ok:
		return err
	case r.Held:
		return &toolProblem{Fact: fmt.Sprintf("Skill %s is held back", quoted(name)), Hint: "only the user can release it, after a review; go on without it"}
	}
	p := &toolProblem{Fact: fmt.Sprintf("Skill %s not found", quoted(name)), Hint: "list_skills lists the skills that there are", Similar: r.Similar}
	if len(r.Similar) > 0 {
		p.Hint = "call again with one of the similar names, or list_skills"
	}
	if r.Unread > 0 {
		p.Hint = search.TryAgain(r.Unread)
	}
	return p
}

// encoded returns a value as JSON. Texts stay readable: nothing is escaped that JSON does
// not ask for.
func encoded(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `{"error":"the result cannot be written as JSON"}` // unreachable: results are plain texts and numbers
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A toolSkill is what a model gets of a skill that it loads.
type toolSkill struct {
	Name          string                        `json:"name"`
	Description   string                        `json:"description,omitempty"`
	MountPath     string                        `json:"mount_path,omitempty"`
	RootPath      string                        `json:"root_path,omitempty"`
	Instructions  string                        `json:"instructions,omitempty"` // without the frontmatter
	Content       string                        `json:"content,omitempty"`      // the whole SKILL.md
	Resources     []string                      `json:"resources,omitempty"`
	Requires      []contextprovider.Requirement `json:"requires,omitempty"`
	Required      []toolSkill                   `json:"required,omitempty"` // that are loaded with it
	Unavailable   string                        `json:"unavailable,omitempty"`
	AlreadyLoaded bool                          `json:"already_loaded,omitempty"`
	Note          string                        `json:"note,omitempty"`
}

// fetch loads the skill of a call, and those that are loaded with it. show sets what the
// tool gives of each body; a skill that the conversation has is only named.
func (s *acts) fetch(ctx context.Context, name string, show func(b *contextprovider.Body, to *toolSkill)) (any, error) {
	b, again, err := s.load(ctx, name)
	if err != nil {
		return nil, skillProblem(err, name)
	}
	if again {
		return toolSkill{Name: b.Name, AlreadyLoaded: true, Note: "its instructions are above, and have not changed"}, nil
	}
	r := toolSkill{Name: b.Name, Requires: b.Requires, Unavailable: b.Unavailable}
	show(&b, &r)
	for i := range b.Required {
		q, again, err := s.load(ctx, b.Required[i].ID)
		if err != nil || again {
			continue // it is gone since, or the model has it
		}
		with := toolSkill{Name: q.Name}
		show(&q, &with)
		r.Required = append(r.Required, with)
	}
	return r, nil
}

func getSkill(ctx context.Context, s *acts, in toolArguments) (any, error) {
	return s.fetch(ctx, in.texts["skill_name"], func(b *contextprovider.Body, to *toolSkill) {
		to.MountPath, to.Instructions = s.folder(ctx, b), b.Text
		if parsed, err := skill.ParseBytes([]byte(b.Text), "SKILL.md", b.Name); err == nil {
			to.Description, to.Instructions = parsed.Description, strings.TrimSpace(parsed.Body)
		}
		to.Instructions = bounded(to.Instructions)
	})
}

func loadSkill(ctx context.Context, s *acts, in toolArguments) (any, error) {
	return s.fetch(ctx, in.texts["skill_name"], func(b *contextprovider.Body, to *toolSkill) {
		to.RootPath, to.Content = s.folder(ctx, b), bounded(b.Text)
	})
}

func readSkill(ctx context.Context, s *acts, in toolArguments) (any, error) {
	return s.fetch(ctx, in.texts["skill_name"], func(b *contextprovider.Body, to *toolSkill) {
		to.RootPath, to.Content = s.folder(ctx, b), bounded(b.Text)
		to.Resources = pathsOf(b.Resources)
	})
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

// A toolList is what list_skills answers.
type toolList struct {
	Skills []toolListed `json:"skills"`
	Total  int          `json:"total"`
	Note   string       `json:"note,omitempty"`
	search.Part
}

// setPart says how many folders of skills have not been read yet.
func (l *toolList) setPart(unread int) {
	if l.Part = search.PartOf(unread); unread > 0 {
		l.Note = strings.TrimPrefix(l.Note+"; "+search.TryAgain(unread)+" for more", "; ")
	}
}

type toolListed struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Bounds of the skills that list_skills lists, by name and for a query.
const (
	maxNames = 50
	maxFound = 8
)

func listSkills(ctx context.Context, s *acts, in toolArguments) (any, error) {
	r := toolList{Skills: []toolListed{}}
	add := func(e *search.Entry) {
		r.Skills = append(r.Skills, toolListed{e.ID, words.Shorten(words.Line(e.Description), 2*maxListed)})
	}
	if query := in.texts["query"]; strings.TrimSpace(query) != "" {
		answer, err := s.cfg.Catalog.Search(ctx, search.Query{Text: query, Limit: maxFound, Agent: s.cfg.Agent, Fitting: true, Least: search.WorthReading})
		if err != nil {
			return nil, err
		}
		for i := range answer.Hits {
			add(&answer.Hits[i].Entry)
		}
		if r.Total = len(r.Skills); r.Total == 0 {
			r.Note = "no skill is about this; go on without one"
		}
		r.setPart(answer.Unread)
		return r, nil
	}
	entries, err := s.cfg.Catalog.List(ctx, s.cfg.Agent, nil)
	if err != nil {
		return nil, err
	}
	entries = usable(entries)
	for i := range entries[:min(len(entries), maxNames)] {
		add(&entries[i])
	}
	if r.Total = len(entries); r.Total > maxNames {
		r.Note = fmt.Sprintf("these are the first %d by name; give a query to find others", maxNames)
	}
	unread, err := s.cfg.Catalog.Unread(ctx)
	r.setPart(unread)
	return r, err
}

// A toolFile is what read_skill_resource answers.
type toolFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Binary bool   `json:"binary,omitempty"`
	Text   string `json:"text"`
	Note   string `json:"note,omitempty"`
}

// maxText bounds the text of a file and the instructions of a skill in an answer, in bytes.
const maxText = 100_000

func readResource(ctx context.Context, s *acts, in toolArguments) (any, error) {
	name, file := in.texts["skill_name"], in.texts["path"]
	f, err := s.read(ctx, name, file)
	if err != nil {
		return nil, s.fileProblem(ctx, err, name, file)
	}
	r := toolFile{Path: f.Path, Size: f.Size, Binary: f.Binary, Text: f.Text}
	switch {
	case f.Binary:
		r.Note = "a binary file cannot be shown as text; a script of the skill may use it"
	case len(f.Text) > maxText:
		r.Text, r.Note = words.Cut(f.Text, maxText), fmt.Sprintf("the text is cut after %d bytes", maxText)
	}
	return r, nil
}

// fileProblem returns what a model may read of an error about a file of a skill.
func (s *acts) fileProblem(ctx context.Context, err error, name, file string) error {
	if bad, ok := errors.AsType[*skill.PathError](err); ok {
		return &toolProblem{Fact: fmt.Sprintf("Illegal path %s", quoted(file)), Hint: bad.Error()}
	}
	if errors.Is(err, fs.ErrNotExist) {
		p := &toolProblem{Fact: fmt.Sprintf("File %s not found in skill %s", quoted(file), quoted(name)), Hint: "the skill has no other files than SKILL.md"}
		if b, err := s.body(ctx, name); err == nil && len(b.Resources) > 0 {
			p.Hint = "its files: " + strings.Join(pathsOf(b.Resources), ", ")
			p.Similar = words.Similar(file, pathsOf(b.Resources))
		}
		return p
	}
	return skillProblem(err, name)
}

// A toolRun is what a model gets of a command that ran.
type toolRun struct {
	ExitCode  int    `json:"exit_code"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated,omitempty"`
	Signal    string `json:"signal,omitempty"`
	Stopped   string `json:"stopped,omitempty"` // why it was ended
}

func ranOf(r *sandbox.Result) toolRun {
	stdout, stderr, cut := printed(r)
	return toolRun{ExitCode: r.ExitCode, Stdout: stdout, Stderr: stderr, Truncated: cut, Signal: r.Signal, Stopped: r.Stopped}
}

func runScript(ctx context.Context, s *acts, in toolArguments) (any, error) {
	r := sandbox.Request{Command: in.texts["command"], Args: in.lists["args"]}
	if stdin, ok := in.texts["stdin"]; ok {
		r.Stdin = strings.NewReader(stdin)
	}
	res, err := s.run(ctx, in.texts["skill_name"], r)
	if err != nil {
		return nil, skillProblem(err, in.texts["skill_name"])
	}
	return ranOf(&res), nil
}
