package mcpserver_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/scripts"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/usage"
)

// running serves few, with scripts that run once trusted. tell gets the events.
func running(t *testing.T, scope string, trusted *trust.File, tell func(usage.Event)) *kit {
	t.Helper()
	files := few()
	files["pdf-forms/SKILL.md"] = doc("pdf-forms", "Fills in the fields of PDF forms.", "allowed-tools: scripts/count.sh")
	files["pdf-forms/scripts/count.sh"] = "#!/bin/sh\n# Counts words.\n#\n# Usage: count.sh [--all] FILE\necho \"$@\"; exit 4\n"
	files["secret-plan/scripts/tell.sh"] = "#!/bin/sh\n# Usage: tell.sh\necho secret\n"
	var k *kit
	k = serve(t, files, scope, func(_ *repertoire.Config, o *mcpserver.Options) {
		o.Observe = tell
		o.Runs = runs(t, &k, scope, trusted, sandbox.NewPlain(sandbox.Options{AllowUnconfined: true}))
		o.Runs.OpenWorld = true
	})
	must.Do(t, os.Chmod(filepath.Join(k.dir, "pdf-forms/scripts/count.sh"), 0o700))
	return k
}

// runs returns the tools that run scripts of trusted skills in x. The server k need not be there
// yet.
func runs(t *testing.T, k **kit, scope string, trusted *trust.File, x sandbox.Executor) *mcpserver.Runs {
	made := sync.OnceValue(func() *scripts.Runner {
		a, err := (*k).catalog.Agent(scope)
		must.Do(t, err)
		r, err := scripts.New((*k).catalog, a, scripts.Executors{Executor: x}, trusted, nil)
		must.Do(t, err)
		return r
	})
	return &mcpserver.Runs{
		Begin: func(client string) mcpserver.RunSession { return made().Begin(client) },
		Tools: func(ctx context.Context, stay bool) ([]agent.Tool, error) { return made().Tools(ctx, stay) },
	}
}

// trustNow trusts a skill as it is now.
func (k *kit) trustNow(t *testing.T, id string, f *trust.File) {
	t.Helper()
	l, err := k.catalog.Listing(t.Context(), id, nil, true)
	must.Do(t, err)
	must.Do(t, f.Add(t.Context(), trust.Seen{Skill: trust.Skill{Digest: l.Digest, Name: id, Folder: l.Folder, Date: time.Now()}}))
}

// TestRuns: scripts of trusted skills run, as they are when they are trusted.
func TestRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of this test need a shell")
	}
	eras(t, func(t *testing.T, modern bool) {
		trusted := trust.Open(t.TempDir())
		var events []usage.Event
		k := running(t, "clerk", trusted, func(e usage.Event) { events = append(events, e) })
		c := k.connect(t, modern)
		count := object{"skill_name": "pdf-forms", "command": "scripts/count.sh x"}
		names := func() []string {
			return slices.DeleteFunc(field(c.must("tools/list", nil)["tools"], "name"), func(s string) bool { return !strings.Contains(s, "run") && !strings.Contains(s, "__") })
		}
		want(t, "before trust", names(), "run_skill_script")
		contains(t, "before trust", c.fails("run_skill_script", count), "the user does not trust it as it is now", "skills trust pdf-forms")
		contains(t, "before trust", c.fails("pdf-forms__count", object{"file": "x"}), "skills trust pdf-forms")

		k.trustNow(t, "pdf-forms", trusted)
		k.trustNow(t, "secret-plan", trusted)
		want(t, "after trust", names(), "run_skill_script", "pdf-forms__count")
		text, result := c.tool("run_skill_script", count)
		if result != nil || text != "<script_result skill=\"pdf-forms\" exit_code=\"4\">\n<stdout>\nx\n</stdout>\n<stderr></stderr>\n</script_result>\n" {
			t.Errorf("%s, %v", text, result)
		}
		if text, _ := c.tool("pdf-forms__count", object{"file": "a b", "all": true}); !strings.Contains(text, "<stdout>\n--all a b\n</stdout>") {
			t.Errorf("a tool of its own: %v", text)
		}
		if e := events[len(events)-1]; e.Call != "run_skill_script" || !slices.Equal(e.IDs(), []string{"pdf-forms"}) || e.Kind != usage.Ran || e.Exit != 4 || e.Failed {
			t.Errorf("the event is %+v", e)
		}
		contains(t, "wrong arguments", c.fails("pdf-forms__count", object{"fil": "x"}), "There is no argument 'fil'; did you mean file?")
		contains(t, "not allowed", c.fails("run_skill_script", object{"skill_name": "pdf-forms", "command": "scripts/fill.py"}), "scripts/fill.py")
		contains(t, "out of scope", c.fails("run_skill_script", object{"skill_name": "secret-plan", "command": "scripts/tell.sh"}), "Skill 'secret-plan' not found")
		contains(t, "out of scope", c.fails("secret-plan__tell", nil), "Tool 'secret-plan__tell' not found")
		contains(t, "no sandbox", c.fails("sandbox_execute", object{"command": "ls"}), "no sandbox here")

		write(t, k.dir, map[string]string{"pdf-forms/references/fields.md": "changed\n"})
		contains(t, "after a change", c.fails("run_skill_script", count), "skills trust pdf-forms")
	})
}

// TestRunHints: clients are told that scripts may change things. Without Runs there is no tool
// that runs.
func TestRunHints(t *testing.T) {
	c := running(t, "", trust.Open(t.TempDir()), nil).connect(t, false)
	for _, tool := range c.must("tools/list", nil)["tools"].([]any) {
		tool := tool.(object)
		if tool["name"] != "run_skill_script" {
			continue
		}
		hints := tool["annotations"].(object)
		if hints["destructiveHint"] != true || hints["openWorldHint"] != true || hints["readOnlyHint"] == true || tool["inputSchema"].(object)["required"] == nil {
			t.Errorf("%v", tool)
		}
	}
	none := serve(t, few(), "").connect(t, false)
	if names := field(none.must("tools/list", nil)["tools"], "name"); slices.Contains(names, "run_skill_script") {
		t.Errorf("tools %q", names)
	}
	none.refused("tools/call", object{"name": "run_skill_script", "arguments": object{}})
}
