package config

import (
	"fmt"
	"maps"
	"os"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/search"
)

// A Shown is a setting that holds, with its origin.
type Shown struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`           // nil means that nothing is set, and nothing is the default
	Origin string `json:"origin"`          // one of the origins
	Place  string `json:"place,omitempty"` // path:line of a file, name of a variable or flag
}

// The origins of settings.
const (
	originDefault  = "default"
	originFile     = "file"
	originVariable = "variable"
	originFlag     = "flag"
)

// Show returns the settings that hold, by key. Read has returned s for the options o, which
// may be nil. It shows no password, header or token.
func Show(s Settings, o *Options) []Shown {
	if o == nil {
		o = new(Options)
	}
	p := &parser{user: true, settings: &s}
	return p.shown(p.keys(), "", o)
}

// shown shows keys whose names begin with a prefix.
func (p *parser) shown(known keys, prefix string, o *Options) (list []Shown) {
	for _, name := range known.names() {
		v, key := known[name], prefix+name
		switch {
		case v.each != nil:
			list = append(list, v.each()...)
		case v.inside != nil:
			list = append(list, p.shown(v.inside, key+".", o)...)
		default:
			list = append(list, p.settings.shown(key, v, o))
		}
	}
	return list
}

// shown shows the value of one key.
func (s *Settings) shown(key string, v value, o *Options) Shown {
	set := at(s.Places[key])
	set.Key, set.Value = key, v.show()
	switch {
	case key == "db" && o.DB != "":
		set.Origin, set.Place = originFlag, "--db"
	case key == "db" && os.Getenv("REPERTOIRE_DB") != "":
		set.Origin, set.Place = originVariable, "REPERTOIRE_DB"
	case key == "store" && o.Store != "", key == "catalog" && o.Catalog != "":
		set.Origin, set.Place = originFlag, "--"+key
	case key == "store" && os.Getenv(storeVariable) != "":
		set.Origin, set.Place = originVariable, storeVariable
	case key == "contextual" && os.Getenv(contextualVariable) != "":
		set.Origin, set.Place = originVariable, contextualVariable
	case key == "model.base_url" && os.Getenv(modelBase) != "":
		set.Value, set.Origin, set.Place = endpoint.Shown(os.Getenv(modelBase)), originVariable, modelBase
	case key == "model.model" && os.Getenv(modelName) != "":
		set.Value, set.Origin, set.Place = os.Getenv(modelName), originVariable, modelName
	case o.OnlyRoots && (key == "project" || key == "user" || key == "bundled"):
		set.Origin, set.Place = originFlag, "--only-root"
	case set.Origin != originDefault:
	case key == "model.base_url" && os.Getenv(openAIBase) != "":
		set.Value, set.Origin, set.Place = endpoint.Shown(os.Getenv(openAIBase)), originVariable, openAIBase
	case key == "install_dir":
		set.Value, _ = s.InstalledDir() // without a home there is none
	case (key == "disturb" || key == "unfit") && s.Threshold != 0:
		set.Value = nil
	case set.Value == nil:
		set.Value = v.standard
	}
	if e := s.Embedder.OpenAI; key == "embedder" && e != nil {
		set.Value = map[string]any{EmbedderOpenAI: map[string]any{"base_url": endpoint.Shown(e.BaseURL), "model": e.Model}}
	}
	if r := s.Reranker; key == "reranker" && r != nil {
		set.Value = map[string]any{string(r.API): map[string]any{"base_url": endpoint.Shown(r.BaseURL), "model": r.Model}}
	}
	return set
}

// at returns the origin of what a file sets at a place; the zero place means no file.
func at(place search.Place) Shown {
	if place.Line == 0 {
		return Shown{Origin: originDefault}
	}
	return Shown{Origin: originFile, Place: fmt.Sprintf("%s:%d", place.File, place.Line)}
}

func (p *parser) shownRoots() (list []Shown) {
	for _, r := range p.settings.Roots {
		set := at(r.Place)
		if set.Origin == originDefault {
			set.Origin, set.Place = originFlag, "--root"
		}
		root := make(map[string]any)
		for key, text := range map[string]string{"path": r.Path, "label": r.Label, "git": endpoint.Shown(r.Git), "url": endpoint.Shown(r.URL), "ref": r.Ref, "folder": r.Sub, "fetch": r.Fetch} {
			if text != "" {
				root[key] = text
			}
		}
		if r.Elsewhere() {
			root["trusted"] = r.Trusted
		}
		if len(r.Names) > 0 {
			root["names"] = r.Names
		}
		set.Key, set.Value = "roots", root
		list = append(list, set)
	}
	return list
}

func (p *parser) shownAgents() (list []Shown) {
	for _, a := range p.settings.Agents {
		set := at(p.settings.Places["agents."+a.Name])
		rules := make(map[string]any)
		for key, r := range map[string]search.Rules{"include": a.Include, "exclude": a.Exclude} {
			if shown := shownRules(r); len(shown) > 0 {
				rules[key] = shown
			}
		}
		if len(a.Pinned) > 0 {
			rules["pinned"] = a.Pinned
		}
		maps.Copy(rules, p.shownAgent(a))
		set.Key, set.Value = "agents."+a.Name, rules
		list = append(list, set)
	}
	return list
}

func (p *parser) shownScripts() (list []Shown) {
	for _, r := range p.settings.Scripts {
		set := at(r.Place)
		set.Key, set.Value = "scripts", p.scriptKeys(&r).shown()
		list = append(list, set)
	}
	return list
}

func (p *parser) shownProjects() (list []Shown) {
	for _, r := range p.settings.Projects {
		list = append(list, shownBans("projects."+r.Folder+".disabled", r.Disabled)...)
	}
	return list
}

func shownBans(key string, bans []search.Ban) (list []Shown) {
	for _, ban := range bans {
		set := at(ban.Place)
		set.Key, set.Value = key, shownRules(ban.Rules)
		list = append(list, set)
	}
	return list
}

func shownRules(r search.Rules) map[string][]string {
	shown := make(map[string][]string)
	for key, list := range map[string][]string{"names": r.Names, "tags": r.Tags, "sources": r.Sources} {
		if len(list) > 0 {
			shown[key] = list
		}
	}
	return shown
}
