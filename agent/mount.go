package agent

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/skill"
)

// folder returns where commands see the files of a skill: in its folder, or in a sandbox with
// files of its own.
func (s *acts) folder(ctx context.Context, b *contextprovider.Body) string {
	if s.cfg.Executor == nil {
		return b.Folder
	}
	x, _, err := s.executor(ctx, b.ID)
	if box, ok := x.(sandbox.Box); ok && err == nil {
		return box.SkillPath(mountName(b))
	}
	return b.Folder
}

// mountName returns the name of a skill's folder in a sandbox: its name, or of one beside which
// others have that name its full name, without slashes.
func mountName(b *contextprovider.Body) string {
	if m := (skill.Meta{Name: b.Name, Source: b.Source}); b.ID == m.FullName() {
		return strings.ReplaceAll(b.ID, "/", ":")
	}
	return b.Name
}

// mountAll brings the skills into a sandbox that a program may use: those that the conversation
// has loaded, and those whose paths stand in the program. It is an error if scripts of one whose
// path stands there may not run.
func (s *acts) mountAll(ctx context.Context, x sandbox.Executor, program string) error {
	box, ok := x.(sandbox.Box)
	if !ok {
		return nil
	}
	s.mu.Lock()
	loaded := slices.Clone(s.before)
	for i := range s.loaded {
		loaded = append(loaded, loadedSkill{s.loaded[i].ID, mountName(&s.loaded[i])})
	}
	s.mu.Unlock()
	ids := make(map[string]string) // by name: of two that share one, the one that was loaded last
	for _, l := range loaded {
		ids[l.name] = l.id
	}
	for _, name := range namesBelow(program, path.Dir(box.SkillPath("x"))) {
		if err := s.mount(ctx, box, cmp.Or(ids[name], name), program); err != nil {
			return err
		}
	}
	for _, l := range loaded {
		if ids[l.name] == l.id {
			_ = s.mount(ctx, box, l.id, program) // the program may do without it
		}
	}
	return nil
}

// mount brings a skill into a sandbox in which its commands run. It leaves out a skill that
// there is not, and asks whether scripts of the others may run.
func (s *acts) mount(ctx context.Context, box sandbox.Box, id, program string) error {
	b, err := s.body(ctx, id)
	if err != nil {
		return ctx.Err() // the program finds no such folder
	}
	if err := s.allow(ctx, b, program); err != nil {
		return err
	}
	var r sandbox.Request
	if x, err := s.prepare(ctx, &b, &r); err != nil || x != box {
		return err
	}
	return box.MountSkill(ctx, r)
}

// maxMounted bounds the skills whose paths may stand in one program, and those of a Session.
const maxMounted = 32

// namesBelow returns the names of the entries of a folder whose paths stand in a program.
func namesBelow(program, folder string) (names []string) {
	for len(names) < maxMounted {
		_, rest, ok := strings.Cut(program, folder+"/")
		if !ok {
			break
		}
		name := rest
		if end := strings.IndexAny(rest, "/ \t\r\n'\"`;|&<>(){}$*?[]\\"); end >= 0 {
			name = rest[:end]
		}
		if name != "" {
			names = append(names, name)
		}
		program = rest
	}
	return names
}

func runShell(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	if _, ok := s.cfg.Executor.(sandbox.Shell); !ok {
		return Reply{}, s.failed("", "", &tool.Problem{Fact: "there is no sandbox here", Hint: "run_skill_script runs scripts of skills, if scripts run at all"})
	}
	program, name := in.Text("command"), in.Text("name")
	if name != "" {
		return runScript(ctx, s, in)
	}
	start := time.Now()
	res, err := s.execute(ctx, s.files.Executor(s.cfg.Executor), sandbox.Request{Command: program})
	if err != nil {
		return Reply{}, s.failed("", program, err)
	}
	s.noteRun("", program, start, &res)
	return Reply{Text: runText(&res, "")}, nil
}

// A Session is what several calls of Agent.CallIn share: the files of sandboxes, and the
// skills that are loaded. The zero value is ready for use, also from several goroutines.
type Session struct {
	files sandbox.Session

	mu     sync.Mutex
	loaded []loadedSkill // each once
}

// A loadedSkill is a skill that a model has loaded.
type loadedSkill struct{ id, name string }

// Size returns how many bytes of memory the files of the session take, about.
func (s *Session) Size() int64 { return s.files.Size() }

// Load notes that the model of a session has got the instructions of a skill from elsewhere. It
// returns where commands see the files of the skill, or an error if they may not be brought there.
func (a *Agent) Load(ctx context.Context, in *Session, id string) (string, error) {
	s := acts{cfg: &a.cfg, files: &in.files}
	b, err := s.body(ctx, id)
	if err != nil {
		return "", err
	}
	at := s.folder(ctx, &b)
	if at == b.Folder {
		return at, nil
	}
	if err := s.allow(ctx, b, ""); err != nil {
		return "", err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if l := (loadedSkill{b.ID, mountName(&b)}); !slices.Contains(in.loaded, l) && len(in.loaded) < maxMounted {
		in.loaded = append(in.loaded, l)
	}
	return at, nil
}
