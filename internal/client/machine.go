package client

import (
	"cmp"
	"os"
	"path/filepath"
)

// A Scope says whom an entry is for.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // all projects of the user
	Project Scope = "project" // everybody who works on the project
)

// A Machine is where clients are installed.
type Machine struct {
	OS      string // as runtime.GOOS
	Home    string // "": there is none
	Project string // the root of the project; "": there is none
	Getenv  func(string) string
}

// A Path is a file or folder that depends on the machine, "" where it has none.
type Path func(*Machine) string

// Places are the files with some settings. Of several in one scope the first
// that exists is meant, else the first.
type Places struct{ User, Project []Path }

// In returns the places of a scope.
func (p Places) In(s Scope) []Path {
	if s == Project {
		return p.Project
	}
	return p.User
}

// File returns the file of a scope, "" for none.
func (m *Machine) File(p Places, s Scope) string {
	first := ""
	for _, at := range p.In(s) {
		name := at(m)
		if name == "" {
			return ""
		}
		first = cmp.Or(first, name)
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return first
}

// below returns a path below p.
func (p Path) below(name string) Path {
	return func(m *Machine) string { return under(p(m), name) }
}

// beside returns the path of a file in the folder in which the path lies.
func (p Path) beside(name string) Path {
	return func(m *Machine) string {
		at := p(m)
		if at == "" {
			return ""
		}
		return filepath.Join(filepath.Dir(at), name)
	}
}

func under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

func home(name string) Path {
	return func(m *Machine) string { return under(m.Home, name) }
}

func project(name string) Path {
	return func(m *Machine) string { return under(m.Project, name) }
}

// fixed returns a path that is the same on every machine.
func fixed(path string) Path { return func(*Machine) string { return path } }

// variable returns the path in a variable of the environment, or otherwise.
func variable(key string, otherwise Path) Path {
	return func(m *Machine) string {
		if v := m.Getenv(key); v != "" {
			return filepath.Clean(v)
		}
		return otherwise(m)
	}
}

// config returns a path below the user's folder of configurations.
func config(name string) Path { return variable("XDG_CONFIG_HOME", home(".config")).below(name) }

// roaming returns a path below the folder of Windows for applications.
func roaming(name string) Path { return variable("APPDATA", home("AppData/Roaming")).below(name) }

// on returns one path on an operating system, and another one on all others.
func on(system string, there, otherwise Path) Path {
	return func(m *Machine) string {
		if m.OS == system {
			return there(m)
		}
		return otherwise(m)
	}
}
