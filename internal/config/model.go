package config

import (
	"cmp"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// A Model is the model that "skills chat" asks. Nothing is sent to
// a server that nobody named, so BaseURL has no default.
type Model struct {
	BaseURL string // address up to and including "/v1"; "" means none
	Model   string // name of the model; "" means none
	KeyEnv  string // variable that holds the key; "" means OPENAI_API_KEY if it is set, "-" that no key is sent
}

// The variables that name a model. openAIBase is what other programs use.
const (
	modelBase  = "REPERTOIRE_BASE_URL"
	modelName  = "REPERTOIRE_MODEL"
	openAIBase = "OPENAI_BASE_URL"
)

// Choose returns the model to ask. Of each field the first of these holds: flags, the
// variables REPERTOIRE_BASE_URL and REPERTOIRE_MODEL, m (which a file sets), and
// OPENAI_BASE_URL. The key that m names is only for the server that m names.
func (m Model) Choose(flags Model) Model {
	chosen := Model{
		BaseURL: cmp.Or(flags.BaseURL, os.Getenv(modelBase), m.BaseURL, os.Getenv(openAIBase)),
		Model:   cmp.Or(flags.Model, os.Getenv(modelName), m.Model),
		KeyEnv:  flags.KeyEnv,
	}
	if chosen.KeyEnv == "" && chosen.BaseURL == m.BaseURL {
		chosen.KeyEnv = m.KeyEnv
	}
	return chosen
}

// modelKeys returns the keys of the model.
func modelKeys(m *Model) keys {
	base := secret(&m.BaseURL).check(func(n *yaml.Node) error {
		if _, err := endpoint.ParseBase(m.BaseURL, "api-version"); err != nil {
			return errorf(n, "model: %w", err)
		}
		return nil
	})
	variable := text(&m.KeyEnv).check(func(n *yaml.Node) error {
		if m.KeyEnv == "-" {
			return nil
		}
		if err := endpoint.CheckKeyName(m.KeyEnv); err != nil {
			return errorf(n, "model: %w", err)
		}
		return nil
	})
	return keys{
		"base_url": base.doc("address of a server that speaks OpenAI's chat protocol, up to /v1", nil),
		"model":    text(&m.Model).doc("name of the model", nil),
		"key_env":  variable.doc("name of the variable that holds the key; - sends none", "OPENAI_API_KEY"),
	}
}
