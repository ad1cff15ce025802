package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire"
)

// A Memory is what a process holds, in bytes. Where the system does not tell,
// Anon and File are 0, and RSS is what the runtime has of it.
type Memory struct {
	RSS  int64 `json:"rss"`  // resident
	Anon int64 `json:"anon"` // of RSS, its own
	File int64 `json:"file"` // of RSS, mapped files, the program among them: the system can drop it
}

// memoryQueries is how many blocks are made before memory is measured.
const memoryQueries = 1000

// coldPrompt is what processes are started with.
const coldPrompt = "Write a migration that adds a column to the orders table without locking it"

// processes measures what needs a process of its own: the time from exec to
// exit, and the memory after many prompts. It returns the time of "version".
func (m *meter) processes(ctx context.Context, legs []*openLeg) (floor float64, err error) {
	config := filepath.Join(m.dir, "config.yaml")
	if err := os.WriteFile(config, []byte("embedder: static\n"), 0o600); err != nil {
		return 0, err
	}
	args := []string{"--config", config, "--root", m.root(), "--only-root", "--db", m.db("vectors"), "--quiet"}
	version := make([]float64, 2*m.rounds+1)
	cold := make([][]float64, len(legs))
	for r := range version {
		for i, l := range legs {
			took, err := m.start(ctx, l.Env, append(args, "context", coldPrompt)...)
			if err != nil {
				return 0, err
			}
			cold[i] = append(cold[i], took)
		}
		if version[r], err = m.start(ctx, nil, "version"); err != nil {
			return 0, err
		}
	}
	for i, l := range legs {
		l.speed.ColdMS = median(cold[i][1:]) // the first one brings the files into memory
		l.speed.Memory = new(Memory)
		out, err := m.command(ctx, l.Env, "bench", "--speed", "--memory-of", l.Name, "--root", m.root(), "--db", m.db("vectors")).Output()
		if err == nil {
			err = json.Unmarshal(out, l.speed.Memory)
		}
		if err != nil {
			return 0, fmt.Errorf("measuring memory of %s: %w", l.Name, err)
		}
	}
	return median(version[1:]), nil
}

func (m *meter) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.Program, args...)
	cmd.Args[0] = "skills"
	cmd.Env = append(cmd.Environ(), env...)
	return cmd
}

// start returns the time from exec to exit.
func (m *meter) start(ctx context.Context, env []string, args ...string) (float64, error) {
	cmd := m.command(ctx, env, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	took, err := timed(cmd.Run)
	if err != nil {
		return 0, fmt.Errorf("running %s: %w: %s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return took, nil
}

// MemoryOf answers 1,000 prompts by the leg of that name from an indexed catalog
// of the skills under root, and returns what this process then holds.
func MemoryOf(ctx context.Context, leg, root, db string) (Memory, error) {
	for _, l := range Legs() {
		if l.Name == leg {
			return memoryOf(ctx, l, root, db)
		}
	}
	return Memory{}, fmt.Errorf("no leg %q", leg)
}

func memoryOf(ctx context.Context, l Leg, root, db string) (Memory, error) {
	c, err := openCatalog(ctx, root, db, true, l)
	if err != nil {
		return Memory{}, err
	}
	defer c.Close() // it was only read
	prompts := Prompts()
	for i := range memoryQueries {
		if _, err := c.Block(ctx, prompts[i%len(prompts)], repertoire.Budget{}, nil); err != nil {
			return Memory{}, err
		}
	}
	return residentMemory(), nil
}

// residentMemory asks the system, or where it does not say so, the runtime.
func residentMemory() Memory {
	var m Memory
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		m = parseStatus(string(status))
	}
	if m.RSS == 0 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		m.RSS = int64(s[0].Value.Uint64() - s[1].Value.Uint64())
	}
	return m
}

// parseStatus reads lines such as "VmRSS:	  1234 kB".
func parseStatus(status string) Memory {
	var m Memory
	fields := map[string]*int64{"VmRSS": &m.RSS, "RssAnon": &m.Anon, "RssFile": &m.File}
	for line := range strings.Lines(status) {
		key, rest, _ := strings.Cut(line, ":")
		if field, ok := fields[key]; ok {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if kb, err := strconv.ParseInt(number, 10, 64); err == nil {
				*field = kb << 10
			}
		}
	}
	return m
}
