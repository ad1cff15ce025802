package detect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// The kinds of servers.
const (
	kindOllama   = "Ollama"
	kindLMStudio = "LM Studio"
	kindLlama    = "llama.cpp"
	kindVLLM     = "vLLM"
	kindTEI      = "TEI"
	kindOther    = "OpenAI-compatible"
)

// The limits of a list. Longer names are no names.
const (
	maxModels = 1000
	maxName   = 200
)

// A listing is what a server says about its models.
type listing struct {
	kind   string
	models []entry
	odd    string // a name that was left out because it cannot be written as it is
}

// An entry is one model of a list.
type entry struct {
	name   string
	embeds answer
	dim    int // 0 means not known
}

// An answer is what a server says about whether a model embeds.
type answer int

const (
	unknown answer = iota
	yes
	no
)

// A list is a way to ask for models.
type list struct {
	path  string
	parse func(body []byte) (listing, error)
}

// lists returns the ways to ask for models. The last is the one that all servers know; the
// others say more.
func lists() []list {
	return []list{{"/api/v0/models", parseLMStudio}, {"/info", parseTEI}, {"/api/tags", parseOllama}, {"/v1/models", parseOpenAI}}
}

// models is the content of the lists of several servers.
type models struct {
	Data []struct {
		ID      string          `json:"id"`
		Type    string          `json:"type"`
		OwnedBy string          `json:"owned_by"`
		Meta    json.RawMessage `json:"meta"`
	} `json:"data"`
	Models []struct {
		Name   string `json:"name"`
		Remote string `json:"remote_host"`
	} `json:"models"`
}

func decode(body []byte, to any) error {
	if json.Unmarshal(body, to) != nil {
		return fmt.Errorf("its answer is no list of models: %s", endpoint.Tidy(endpoint.Message(body)))
	}
	return nil
}

// add adds a model, unless there are too many or its name cannot be written as it is.
func (l *listing) add(name string, embeds answer, dim int) {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case len(l.models) >= maxModels || name == "":
	case len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, odd):
		l.odd = name[:min(len(name), maxName)]
	default:
		if dim < 0 {
			dim = 0
		}
		l.models = append(l.models, entry{name, embeds, dim})
	}
}

// parseOpenAI reads the list that all servers have. llama.cpp and vLLM call themselves the
// owner of their models.
func parseOpenAI(body []byte) (listing, error) {
	var m models
	if err := decode(body, &m); err != nil {
		return listing{}, err
	}
	if m.Data == nil {
		return listing{}, fmt.Errorf("its answer has no models: %s", endpoint.Tidy(endpoint.Message(body)))
	}
	l := listing{kind: kindOther}
	for _, d := range m.Data {
		var meta struct {
			Dim int `json:"n_embd"`
		}
		switch d.OwnedBy {
		case "llamacpp":
			l.kind = kindLlama
			if json.Unmarshal(d.Meta, &meta) != nil {
				meta.Dim = 0 // the trial shows it
			}
		case "vllm":
			l.kind = kindVLLM
		}
		l.add(d.ID, unknown, meta.Dim)
	}
	return l, nil
}

// parseLMStudio reads LM Studio's own list, which tells the type of each model.
func parseLMStudio(body []byte) (listing, error) {
	var m models
	if err := decode(body, &m); err != nil {
		return listing{}, err
	}
	l := listing{kind: kindLMStudio}
	for _, d := range m.Data {
		switch d.Type {
		case "":
			return listing{}, errors.New("a model has no type")
		case "embeddings", "embedding":
			l.add(d.ID, yes, 0)
		default:
			l.add(d.ID, no, 0)
		}
	}
	if len(m.Data) == 0 {
		return listing{}, errors.New("no models")
	}
	return l, nil
}

// parseTEI reads the description of the one model that TEI serves.
func parseTEI(body []byte) (listing, error) {
	var info struct {
		Model string                     `json:"model_id"`
		Type  map[string]json.RawMessage `json:"model_type"`
	}
	if err := decode(body, &info); err != nil {
		return listing{}, err
	}
	if info.Model == "" || len(info.Type) == 0 {
		return listing{}, errors.New("no model")
	}
	l := listing{kind: kindTEI}
	embeds := no // the others classify or rerank
	if _, ok := info.Type["embedding"]; ok {
		embeds = yes
	}
	l.add(info.Model, embeds, 0)
	return l, nil
}

// parseOllama reads Ollama's own list, which does not tell what its models are for. It
// leaves out models of Ollama's cloud: texts would leave the machine.
func parseOllama(body []byte) (listing, error) {
	var m models
	if err := decode(body, &m); err != nil {
		return listing{}, err
	}
	if m.Models == nil {
		return listing{}, errors.New("no models")
	}
	l := listing{kind: kindOllama}
	for _, model := range m.Models {
		if model.Remote == "" {
			l.add(model.Name, unknown, 0)
		}
	}
	return l, nil
}

func showRequest(name string) []byte {
	body, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return nil // not for a map of texts
	}
	return body
}

// parseShow reads what Ollama says about one model. Versions before 0.6.4 do not tell what
// it is for.
func parseShow(body []byte) (embeds answer, dim int) {
	var m struct {
		Capabilities []string       `json:"capabilities"`
		Info         map[string]any `json:"model_info"`
	}
	if json.Unmarshal(body, &m) != nil {
		return unknown, 0
	}
	if len(m.Capabilities) > 0 {
		embeds = no
	}
	for _, c := range m.Capabilities {
		if c == "embedding" {
			embeds = yes
		}
	}
	for key, value := range m.Info {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".embedding_length") && n > 0 && n < 1<<20 {
			dim = max(dim, int(n)) // there is one such key
		}
	}
	return embeds, dim
}
