package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/wellknown"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Bounds on what is read of one skill to check its files.
const (
	maxRead     = 256 << 10 // bytes of a file
	maxReadAll  = 4 << 20   // bytes of all files
	maxReadable = 300       // files
)

// Contents are the files of one skill.
type contents struct {
	source source.Source
	dir    string                 // the folder in the source
	file   string                 // base name of the instructions
	skill  *skill.Skill           // nil if the instructions are refused or cannot be read
	names  []string               // all files, sorted
	listed source.Listing         // of the folder
	text   map[string]string      // of the files that hold text and were read
	mode   map[string]fs.FileMode // of the files that were read, if the source is on disk
	unread []string               // files that may hold text and were not read
	whole  bool                   // names has all files
}

// readContents reads the files of the skill in a folder, whose instructions are file. s is the skill as it
// has just been read; nil means that readContents reads it. It returns what it can read: indexing reports what cannot be read.
func readContents(ctx context.Context, src source.Source, dir, file string, s *skill.Skill) *contents {
	c := &contents{source: src, dir: dir, file: file, text: make(map[string]string), mode: make(map[string]fs.FileMode)}
	c.names = []string{file}
	l, err := src.List(ctx, dir)
	if err == nil {
		c.listed = l
		c.whole = !l.Partial && len(l.Links)+len(l.Skills) == 0
		c.names = c.names[:0]
		for _, f := range l.Files {
			c.names = append(c.names, f.Path)
		}
	}
	if c.skill = s; s != nil {
		c.text[file] = s.Text()
	} else {
		c.read(ctx, file, skill.MaxFile)
		c.skill, _ = skill.ParseBytes([]byte(c.text[file]), c.path(file), "")
	}
	left := maxReadAll
	for _, f := range l.Files {
		switch {
		case f.Path == file, isMedia(f.Path):
		case f.Size > maxRead, len(c.text) >= maxReadable, int64(left) < f.Size:
			c.unread = append(c.unread, f.Path)
		default:
			left -= int(f.Size)
			c.read(ctx, f.Path, maxRead)
		}
	}
	return c
}

// read reads a file if it holds text.
func (c *contents) read(ctx context.Context, name string, limit int64) {
	f, err := c.source.Open(ctx, c.dir, name)
	if err != nil {
		return
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return
	}
	c.text[name] = string(data)
	if info, err := f.Stat(); err == nil && c.source.Info().Root != "" && runtime.GOOS != "windows" {
		c.mode[name] = info.Mode()
	}
}

// path returns the path of a file: where it can be opened, if the source is on disk.
func (c *contents) path(name string) string {
	name = path.Join(c.dir, name)
	if root := c.source.Info().Root; root != "" {
		return filepath.Join(root, filepath.FromSlash(name))
	}
	return name
}

// check returns what is wrong with the files. A strict check of the instructions has
// reported their description.
func (c *contents) check(strict bool) []skill.Problem {
	var found []skill.Problem
	if !strict && c.skill != nil && !c.skill.SaysWhen() {
		found = append(found, skill.Problem{Rule: "no-trigger", Severity: skill.Note, Path: c.path(c.file),
			Message: "the description does not say when to use the skill", Hint: "add \"Use when …\""})
	}
	found = append(found, c.unpublishable()...)
	_, bad := c.evals()
	found = append(found, bad...)
	reached := c.reached()
	if c.whole {
		for _, name := range slices.Sorted(maps.Keys(reached)) {
			found = append(found, c.brokenLinks(name)...)
		}
		found = append(found, c.unused(reached)...)
	}
	return append(found, c.scripts()...)
}

// unpublishable says why "skills publish" leaves the skill out, if it does.
func (c *contents) unpublishable() []skill.Problem {
	if c.skill == nil || len(c.listed.Files) == 0 { // reported as what it is
		return nil
	}
	err := wellknown.Check(c.file, &contextprovider.Instructions{
		Content: contextprovider.Content{Data: []byte(c.text[c.file])}, Files: c.listed.Files, Unserved: c.listed.Unserved})
	if err == nil {
		return nil
	}
	hint := "mend it before you publish the skill"
	own, bad := skill.ParseBytes([]byte(c.text[c.file]), c.path(c.file), "") // the source may call it otherwise
	if bad != nil {
		return nil
	}
	if name := publishedName(own.Name); name != own.Name && skill.IsPortableName(name) {
		hint = "name the skill and its folder " + name
	}
	return []skill.Problem{{Rule: "unpublishable", Severity: skill.Note, Path: c.path(c.file),
		Message: fmt.Sprintf("left out by \"skills publish\": %v", err), Hint: hint}}
}

// publishedName returns a name in the form that all clients take.
func publishedName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return strings.Join(words, "-")
}

// A sentTo is a name in a description, see skill.Skill.Instead.
type sentTo struct {
	Name string
	Line int
}

// instead returns the names of the skills that the description sends to.
func (c *contents) instead() (list []sentTo) {
	if c.skill == nil {
		return nil
	}
	for _, name := range c.skill.Instead() {
		before, _, _ := strings.Cut(c.text[c.file], name) // the description stands above the body
		list = append(list, sentTo{name, 1 + strings.Count(before, "\n")})
	}
	return list
}

// listed writes the first few of some names.
func listed(names []string) string {
	const most = 4
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

// media are the extensions of files that hold no text worth reading.
const media = " .png .jpg .jpeg .gif .webp .ico .svg .pdf .zip .gz .tgz .tar .woff .woff2 .ttf .otf .eot .mp3 .mp4 .mov .wav .docx .xlsx .pptx .xsd .pyc .so .dll .exe .wasm .db .sqlite .csv .jsonl "

// isMedia reports whether a file holds no text in which other files could be mentioned.
func isMedia(name string) bool {
	ext := path.Ext(name)
	return ext != "" && strings.Contains(media, " "+strings.ToLower(ext)+" ")
}
