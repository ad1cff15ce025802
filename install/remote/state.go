package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A State is what is known about a root: the content of the file PATH.json beside its folder.
// Times are in UTC; a zero time means never.
type State struct {
	From   string `json:"from"` // URL without a password
	Ref    string `json:"ref,omitempty"`
	Sub    string `json:"path,omitempty"`
	Commit string `json:"commit,omitempty"` // of a repository

	Digest string            `json:"digest,omitempty"` // of an archive
	Stamp  string            `json:"stamp,omitempty"`  // of an archive on this machine, when it was last tried
	Skills map[string]string `json:"skills,omitempty"` // digests of the skills of a site, by name

	FetchedAt time.Time `json:"fetched_at,omitzero"` // when the folder was last in step
	TriedAt   time.Time `json:"tried_at,omitzero"`

	FailedSince time.Time `json:"failed_since,omitzero"` // the first of the tries that have failed since FetchedAt
	Error       string    `json:"error,omitempty"`       // of the last try; "" means that it did not fail

	Refused []string `json:"refused,omitempty"` // why skills are left out, or stay as they were before
}

// ReadState returns the state of the root whose folder is at path. A root that was never
// fetched has a zero state.
func ReadState(path string) (*State, error) {
	s := new(State)
	data, err := regular.ReadFile(path + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was fetched into %s: %w", path, err)
	}
	return s, nil
}

func (s *State) write(path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(path+".json", append(data, '\n'), 0o600, nil)
}

// Problem says what is wrong with a root; "" means nothing.
func (s *State) Problem() string {
	switch {
	case s.Error != "" && s.FetchedAt.IsZero():
		return "it could not be fetched yet: " + s.Error
	case s.Error != "":
		return fmt.Sprintf("it could not be fetched since %s: %s; its skills are those of %s", day(s.FailedSince), s.Error, day(s.FetchedAt))
	case s.TriedAt.IsZero():
		return "it has not been fetched yet"
	}
	return ""
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
