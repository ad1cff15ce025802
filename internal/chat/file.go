package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

// A File is where a transcript is kept: Markdown or JSON, as its name says.
type File struct {
	name string
	made bool // by Write: the file is ours
}

// NewFile returns the file with a name. It is an error if the file exists already.
func NewFile(name string) (*File, error) {
	if !isMarkdown(name) && !isJSON(name) {
		return nil, fmt.Errorf("%s: the name of a transcript ends in .md or .json", name)
	}
	_, err := os.Lstat(name)
	if err == nil {
		return nil, fmt.Errorf("%s exists already and is not overwritten; choose another name, or remove it", name)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &File{name: name}, nil
}

// Save writes a transcript to a new file.
func Save(name string, t agent.Transcript) error {
	f, err := NewFile(name)
	if err != nil {
		return err
	}
	return f.Write(t)
}

// Write writes a transcript. A process that is killed leaves the old one or the new one.
func (f *File) Write(t agent.Transcript) error {
	data, err := encode(f.name, t)
	if err != nil {
		return err
	}
	if f.made {
		return atomicfile.Replace(f.name, data, 0o600, nil)
	}
	file, err := os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and is not overwritten; choose another name, or remove it", f.name)
	}
	if err != nil {
		return err
	}
	f.made = true
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

func encode(name string, t agent.Transcript) ([]byte, error) {
	if isMarkdown(name) {
		return []byte(t.Markdown()), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(t)
	return b.Bytes(), err
}

func isMarkdown(name string) bool { return has(name, ".md", ".markdown") }
func isJSON(name string) bool     { return has(name, ".json") }

// has reports whether a name has one of some endings.
func has(name string, endings ...string) bool {
	for _, e := range endings {
		if strings.EqualFold(filepath.Ext(name), e) {
			return true
		}
	}
	return false
}
