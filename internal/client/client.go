// Package client describes the agent clients: their names, their folders of
// skills, their settings files, how they name MCP servers and hooks there, the
// events of their hooks with the answers that they take, and how many skills
// they list themselves.
//
// Each client is described once: in All, or in Others if only its folders of skills are of
// use. Other packages ask the description; none of them tests for a client by its name.
package client

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Client is a program that can use the catalog. Fields that a client has
// nothing for are empty or nil.
type Client struct {
	Name  string
	Title string
	After string // what the user has to do after the client was set up
	// AfterProject is what the user has to do as well after a project was set up.
	AfterProject string

	Home Path     // a folder that exists where the client is installed
	Bins []string // its programs

	// Folders are those in a project, such as ".claude", whose folder "skills"
	// the client reads; one called "skill" is read itself. Discovery looks at them in the home as well.
	Folders []string
	// Skills are the folders with the skills of the user that the client reads.
	// Discovery looks at all of them.
	Skills []Path
	// Named says where settings name further folders of skills.
	Named Naming
	// Plugins finds the plugins of the client that are switched on, for work in a project with
	// these folders, the nearest first. nil means that nothing is known about plugins.
	Plugins func(m *Machine, projects []string) ([]Plugin, error)
	// Commands are the folders with texts that the user calls by name. They are no skills.
	Commands Places
	// ProjectVar is the environment variable that tells an MCP server the folder
	// of the project.
	ProjectVar string

	MCP     MCP
	Hook    *Hook    // nil: it has no hook that a program can serve
	Listing *Listing // nil: nothing is known about its listing of skills

	SkillSwitches *SkillSwitches // nil: a person cannot switch off single skills in it
}

// An MCP says how a client names its MCP servers.
type MCP struct {
	Files  Places
	Format Format
	Key    []string // of the mapping of servers
	Entry  func(name string, words []string) Object
	// Remote is Entry for a server at a URL. Requests bear the token in the environment
	// variable env; "" means that there is none.
	Remote func(name, url, env string) Object
	// Plain: the client takes no token from the environment.
	Plain bool
	// Caller is the name by which the client introduces itself to a server (clientInfo in the
	// protocol), or the start of it before a hyphen; "" means that it is not known.
	Caller string
	// Instead names another client. When the project has a file of that client, this
	// one reads it instead of its own.
	Instead string
}

// A Format is the language of a settings file.
type Format int

// The formats. JSON may have comments and trailing commas.
const (
	JSON Format = iota
	TOML
	YAML
)

// An Object is a value of settings whose members keep their order. The other
// values are string, bool, int, []string and []any.
type Object []Member

// A Member is one name of an Object with its value.
type Member struct {
	Key   string
	Value any
}

// A Listing is how a client lists the skills in its own folders: it leaves out
// what it has no room for.
type Listing struct {
	Chars    int  // characters that it has room for; 0 means that this is not known: it lists all names, and describes some skills
	Whole    bool // it lists everything, and Chars means nothing
	Tokens   int  // of the context of a model with that room; 0 means that the model does not matter
	Skills   int  // skills that it has room for; 0 means no limit
	Overhead int  // characters around the name and the description of a skill
	Cut      int  // characters of the longest description; 0 means no limit
	Drops    Dropping

	Settings *ListingSettings // nil: the user cannot change it
}

// A Dropping says what a client leaves out of a listing that has no room for everything.
type Dropping int

// What is left out.
const (
	DropsUnknown Dropping = iota // it is not known what
	DropsUnused                  // descriptions, of the least invoked skills first; all names are listed
	DropsEvenly                  // all descriptions are shortened alike; skills, where that does not suffice
)

// ListingSettings are the settings with which a user changes a listing. The
// files are in JSON.
type ListingSettings struct {
	Files    Places // where how skills are listed is written
	Read     []Path // all files with such settings; a later one wins
	Fraction string // name of the share of the context that is room for the listing
	Context  int    // characters of the context
	Cut      string // name of the length of the longest description
	CharsVar string // environment variable with the room in characters, which wins

	Overrides string   // name of the mapping from a skill to how it is listed
	NameOnly  string   // lists a skill without its description
	Hidden    []string // do not list a skill

	Used Path     // the file in which the client counts how often it invoked each skill
	Uses []string // names from the top of the file to the mapping from a skill to its use
	Use  string   // name of the count there
}

// Find returns the client of a name.
func Find(name string) (Client, bool) {
	for _, c := range All() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// Calling returns the name of the client that introduces itself to an MCP server by a name; "" means
// that none is known by it.
func Calling(name string) string {
	for _, c := range All() {
		if c.MCP.Caller != "" && strings.HasPrefix(name+"-", c.MCP.Caller+"-") {
			return c.Name
		}
	}
	return ""
}

// Generic is the name of an unknown client that keeps its MCP servers in a JSON file.
const Generic = "generic"

// NewGeneric returns the generic client with a file. key is the name of the mapping of
// servers in the file; "" means mcpServers.
func NewGeneric(file, key string) Client {
	at := paths(func(*Machine) string { return file })
	return Client{Name: Generic, Title: filepath.Base(file), MCP: MCP{Files: Places{at, at}, Key: []string{cmp.Or(key, "mcpServers")}, Entry: bare, Remote: remote(nil, "url", "TOKEN"), Plain: true}}
}

// Names returns the names of all clients, the generic client last.
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return append(names, Generic)
}

// ProjectDir returns the folder of the project that a client gives to an MCP server in an
// environment variable; "" means that it gives none.
func ProjectDir(getenv func(string) string) string {
	for _, c := range All() {
		if c.ProjectVar != "" && getenv(c.ProjectVar) != "" {
			return getenv(c.ProjectVar)
		}
	}
	return ""
}

// Installed reports whether a client seems to be on the machine.
func (m *Machine) Installed(c Client) bool { return m.Found(c) != "" }

// Found returns the folder or the program that shows that a client is on the machine; ""
// means that it does not seem to be.
func (m *Machine) Found(c Client) string {
	if c.Home == nil { // the generic client
		return ""
	}
	dir := c.Home(m)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return c.Program()
}

// Program returns the first program of a client that is there; "" means none.
func (c Client) Program() string {
	for _, bin := range c.Bins {
		if program, err := exec.LookPath(bin); err == nil {
			return program
		}
	}
	return ""
}

// SkillDirs returns the folders whose skills a client lists itself, in one scope.
func (m *Machine) SkillDirs(c Client, s Scope) []string {
	paths := c.Skills
	if s == Project {
		paths = nil
		for _, folder := range c.Folders {
			paths = append(paths, project(skillsIn(folder)))
		}
	}
	var dirs []string
	for _, p := range paths {
		if dir := p(m); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// OwnName returns the name by which a client loads a skill itself; "" means that the client does
// not have the skill. source is the label of its source, file its SKILL.md, and m.Project the
// working folder.
func (m *Machine) OwnName(c Client, source, file string) string {
	folder := filepath.Dir(file)
	name := filepath.Base(folder)
	if plugin, ok := strings.CutPrefix(source, "plugin:"); ok {
		plugin, _, _ = strings.Cut(plugin, "@")
		if home := c.Home(m); c.Plugins != nil && home != "" && strings.HasPrefix(file, home+string(filepath.Separator)) {
			return plugin + ":" + name
		}
		return ""
	}
	for _, in := range c.Folders {
		if project, ok := strings.CutSuffix(filepath.Dir(folder), filepath.FromSlash("/"+skillsIn(in))); ok && (m.Project+string(filepath.Separator) == project+string(filepath.Separator) || strings.HasPrefix(m.Project, project+string(filepath.Separator))) {
			return name
		}
	}
	info, err := os.Stat(file)
	for _, dir := range m.SkillDirs(c, User) {
		if other, no := os.Stat(filepath.Join(dir, name, filepath.Base(file))); err == nil && no == nil && os.SameFile(info, other) {
			return name
		}
	}
	return ""
}

// HasSkill reports whether a client lists a skill of a name itself, in its own folders or in
// a plugin, which "plugin:skill" names.
func (m *Machine) HasSkill(c Client, name string) bool {
	if strings.Contains(name, ":") {
		return true
	}
	for _, dir := range append(m.SkillDirs(c, Project), m.SkillDirs(c, User)...) {
		if _, err := os.Stat(filepath.Join(dir, name, "SKILL.md")); err == nil {
			return true
		}
	}
	return false
}
