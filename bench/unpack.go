package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/repertoire-skills/repertoire/skill"
)

// perFolder is how many skills share a parent folder, as in a repository of skills.
const perFolder = 50

// Write writes n skills to the folder "skills" of Dir, and returns where they come from, see unpack.
func (o *SpeedOptions) Write(ctx context.Context, n int) (origin string, err error) {
	return (&meter{SpeedOptions: o, dir: o.Dir}).unpack(ctx, n)
}

// unpack writes n skills as folders, and returns where they come from: "corpus", or
// "synthetic" if the corpus is too small, so that all skills are made from it.
func (m *meter) unpack(ctx context.Context, n int) (origin string, err error) {
	if !m.Synthetic {
		if err := m.write(ctx, m.Corpus, n); err != nil {
			return "", err
		}
		if len(m.skills) == n {
			return "corpus", nil
		}
	}
	return "synthetic", m.write(ctx, generate(1, m.Corpus, n), n)
}

// write writes up to n skills of a corpus. It removes the skills that were there before.
func (m *meter) write(ctx context.Context, corpus iter.Seq2[Document, error], n int) error {
	if err := os.RemoveAll(m.root()); err != nil {
		return err
	}
	m.skills, m.text = nil, 0
	// Files that have just changed would be read again and again, so date them back.
	m.newest = time.Now().Add(-24 * time.Hour)
	taken := make(map[string]bool)
	for d, err := range corpus {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if len(m.skills) == n {
			break
		}
		if strings.TrimSpace(d.Skill.Description) == "" {
			continue // indexing would refuse the skill
		}
		if err := m.writeSkill(d.Skill, taken); err != nil {
			return err
		}
	}
	return m.settle()
}

// settle sets the modification times of the folders to a year before the newest skill.
func (m *meter) settle() error {
	return filepath.WalkDir(m.root(), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = touch(name, m.newest.AddDate(-1, 0, 0))
		}
		return err
	})
}

// groupOf returns the folder that the skill of that number lies in.
func groupOf(i int) string { return fmt.Sprintf("group-%05d", i/perFolder) }

// writeSkill writes one skill. The second skill of a name is called "name-2".
func (m *meter) writeSkill(s *skill.Skill, taken map[string]bool) error {
	name := freeName(taken, folderName(s.Name))
	text, err := skillText(name, s)
	if err != nil {
		return err
	}
	dir := filepath.Join(m.root(), groupOf(len(m.skills)), name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, "SKILL.md")
	age := time.Duration(len(m.skills)) * time.Second
	m.skills, m.text = append(m.skills, file), m.text+int64(len(text))
	return errors.Join(os.WriteFile(file, text, 0o600), touch(file, m.newest.Add(-age)))
}

// skillText returns a SKILL.md. JSON strings and lists are YAML too.
func skillText(name string, s *skill.Skill) ([]byte, error) {
	text := []byte("---\n")
	for _, field := range []struct {
		key   string
		value any
		skip  bool
	}{{"name", name, false}, {"description", s.Description, false}, {"tags", s.Tags, len(s.Tags) == 0}} {
		if field.skip {
			continue
		}
		value, err := json.Marshal(field.value)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "%s: %s\n", field.key, value)
	}
	return fmt.Appendf(text, "---\n%s", s.Body), nil
}

// folderName turns a name into one that every system allows for a folder.
func folderName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return '-'
	}, name)
	if runes := []rune(name); len(runes) > skill.MaxName-8 {
		name = string(runes[:skill.MaxName-8])
	}
	return cmp.Or(strings.Trim(name, "-"), "skill")
}
