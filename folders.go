package repertoire

import "github.com/repertoire-skills/repertoire/internal/client"

// SkillFolders returns the folders in a project or a home where agents keep
// skills, such as .agents and .claude: what source.Search.Folders usually is.
func SkillFolders() []string { return client.SkillFolders() }
