package main

import (
	"encoding/json"
	"fmt"

	"github.com/repertoire-skills/repertoire/embed/static"
)

// manifest records how a model was made and from what.
type manifest struct {
	Model   string        `json:"model"`
	Options options       `json:"options"`
	Corpus  corpusSummary `json:"corpus"`
	Dev     devResults    `json:"dev,omitempty"`
	Notice  string        `json:"notice"`
}

// notice is the licence notice of the training set.
const notice = "The vectors were learned from skills under the licences counted in corpus; no text of them is in the model."

// write writes the model to the file name and the manifest to name.json.
func (m *manifest) write(name string, w static.Weights) error {
	data, err := static.Encode(w)
	if err != nil {
		return err
	}
	e, err := static.New(string(data))
	if err != nil {
		return err
	}
	m.Model, m.Notice = e.Model(), notice
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(name, data); err != nil {
		return fmt.Errorf("writing model: %w", err)
	}
	return writeFile(name+".json", append(text, '\n'))
}
