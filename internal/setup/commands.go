package setup

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// maxCommands is how many files are looked at in a folder of commands.
const maxCommands = 2000

// checkCommands reports, once for each client, files of commands. People take them for skills;
// a client reads them only when its user types their names.
func (e *Env) checkCommands() []skill.Problem {
	var found []skill.Problem
	for _, c := range client.All() {
		var folders []string
		total := 0
		for _, at := range slices.Concat(c.Commands.User, c.Commands.Project) {
			dir := at(&e.Machine)
			n := 0
			if dir != "" {
				n = commandsIn(dir)
			}
			if n > 0 {
				folders, total = append(folders, dir), total+n
			}
		}
		if total == 0 {
			continue
		}
		files := "1 file in %s is a command of %s, not a skill: no model is offered it"
		if total > 1 {
			files = fmt.Sprint(total) + " files in %s are commands of %s, not skills: no model is offered them"
		}
		found = append(found, skill.Problem{Rule: "client-commands", Severity: skill.Note, Path: folders[0],
			Message: fmt.Sprintf(files, strings.Join(folders, " and "), c.Title),
			Hint:    "where a model should find the text by itself, put it into NAME/SKILL.md in a folder of skills, with a description that says when to use it"})
	}
	return found
}

// commandsIn counts the Markdown files in a folder and the folders in it. It follows a link only
// to the folder itself.
func commandsIn(dir string) (n int) {
	seen := 0
	_ = filepath.WalkDir(regular.Real(dir), func(_ string, entry fs.DirEntry, err error) error {
		switch seen++; {
		case seen > maxCommands:
			return fs.SkipAll
		case err != nil:
			return nil // it may not be there
		case !entry.IsDir() && strings.EqualFold(filepath.Ext(entry.Name()), ".md"):
			n++
		}
		return nil
	})
	return n
}
