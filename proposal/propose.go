package proposal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Bounds on what is proposed.
const (
	maxWaiting       = 200       // proposals that wait
	maxOwn           = 50        // of one agent, so that others can propose too
	maxHourly        = 30        // proposals of one agent in an hour
	maxDiff          = 256 << 10 // bytes
	maxJustification = 16 << 10
	maxEvidence      = 64 << 10
	maxWhy           = 200 // characters of a proposal's Why
	maxNewFiles      = 64
	maxNewBytes      = 1 << 20 // of all files of a new skill
)

// ProposeUpdate keeps a proposal to change a skill. A proposal that is there already, even if
// it was rejected, is returned as it is.
func (b *inbox) ProposeUpdate(ctx context.Context, who Who, c Change) (Proposal, error) {
	e, err := b.catalog.Lookup(ctx, c.Skill, who.Agent)
	if err != nil {
		return Proposal{}, err
	}
	if err := checkTexts(c.Justification, c.Evidence); err != nil {
		return Proposal{}, err
	}
	if len(c.Diff) > maxDiff {
		return Proposal{}, refuse("the diff has more than %d bytes; propose a smaller change", maxDiff)
	}
	before, digest, err := b.current(ctx, &e)
	if err != nil {
		return Proposal{}, fmt.Errorf("reading skill %s: %w", e.ID, err)
	}
	name := folderName(e.Dir(), e.Name)
	after, err := c.onto(before, name)
	if err != nil {
		return Proposal{}, err
	}
	list := changed(before, after)
	if len(list) == 0 {
		return Proposal{}, &DiffError{0, "changes nothing"}
	}
	if err := valid(before, after, name); err != nil {
		return Proposal{}, err
	}
	base := make(Files)
	for _, name := range list {
		if f, ok := before[name]; ok {
			base[name] = f
		}
	}
	p := Proposal{Kind: KindUpdate, Skill: e.ID, Source: e.Source, Dir: e.Dir(), Base: digest, BaseText: e.TextDigest}
	return b.keep(ctx, who, record{p, sheet{c.Justification, c.Evidence, unified("", before, after), base}})
}

// onto returns the files of a skill with the change.
func (c *Change) onto(files Files, folder string) (Files, error) {
	if c.Text == "" {
		changes, err := parseDiff(c.Diff, false)
		if err != nil {
			return nil, err
		}
		return apply(files, changes, folder, false)
	}
	after := maps.Clone(files)
	for _, name := range skill.FileNames {
		old, ok := files[name]
		if !ok {
			continue
		}
		if sum := sha256.Sum256(old.Data); c.Seen != "" && !strings.HasSuffix(c.Seen, hex.EncodeToString(sum[:])) {
			return nil, refuse("the skill has changed since you opened it; open it again and make your change there")
		}
		text := strings.ReplaceAll(c.Text, "\r\n", "\n") // as browsers send lines
		if newText(string(old.Data)).crlf {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		after[name] = File{[]byte(text), old.Mode}
		return after, nil
	}
	return nil, refuse("the skill has no %s", skill.FileNames[0])
}

// ProposeNew keeps a proposal to add a skill.
func (b *inbox) ProposeNew(ctx context.Context, who Who, n Addition) (Proposal, error) {
	if err := checkTexts(n.Justification, n.Evidence); err != nil {
		return Proposal{}, err
	}
	if !skill.IsPortableName(n.Name) {
		return Proposal{}, refuse("%q is no name for a skill; take lower-case letters, digits and single hyphens, %d at most", tidy.Shorten(n.Name, 80), skill.MaxName)
	}
	if _, err := b.catalog.Lookup(ctx, n.Name, who.Agent); err == nil {
		return Proposal{}, refuse("there is a skill %s; propose a change of it, or take another name", n.Name)
	} else if !errors.Is(err, skill.ErrNotFound) {
		return Proposal{}, err
	}
	files, err := cleanFiles(n.Files)
	if err != nil {
		return Proposal{}, err
	}
	if err := valid(nil, files, n.Name); err != nil {
		return Proposal{}, err
	}
	p := Proposal{Kind: KindNew, Skill: n.Name, Dir: n.Name}
	return b.keep(ctx, who, record{p, sheet{n.Justification, n.Evidence, "", files}})
}

// checkTexts checks what a person will read of a proposal.
func checkTexts(justification, evidence string) error {
	switch {
	case strings.TrimSpace(justification) == "":
		return refuse("the justification is missing; say why the change helps, and what happened without it")
	case len(justification) > maxJustification:
		return refuse("the justification has more than %d bytes; put details into the evidence", maxJustification)
	case len(evidence) > maxEvidence:
		return refuse("the evidence has more than %d bytes; keep what matters", maxEvidence)
	}
	return nil
}

// cleanFiles checks how many files a new skill has, and brings their names into one form.
func cleanFiles(files Files) (Files, error) {
	if len(files) > maxNewFiles {
		return nil, refuse("%d files; a new skill may have %d", len(files), maxNewFiles)
	}
	out, size := make(Files), 0
	for name, f := range files {
		clean, err := skill.CleanPath(name)
		if err != nil {
			return nil, refuse("file %q: %w", tidy.Shorten(name, 80), err)
		}
		if _, ok := out[clean]; ok {
			return nil, refuse("file %q is there twice", clean)
		}
		if size += len(f.Data); size > maxNewBytes {
			return nil, refuse("the files have more than %d bytes", maxNewBytes)
		}
		out[clean] = f
	}
	return out, nil
}

// valid checks a change of the files of a skill, which has the name of its folder: that the
// result is a skill of the same name with a SKILL.md that can be used and sizes within the
// limits, and that the names of the files are allowed. before is nil for a new skill.
func valid(before, after Files, folder string) error {
	is, err := after.Parse(folder)
	if err != nil {
		return refuse("the result is no skill: %w", err)
	}
	// A skill that cannot be read has no name to keep. Scopes, pins and rules go by names, so a
	// skill with another name would leave the scope of whoever proposes it, and might take
	// the place of another.
	switch was, err := before.Parse(folder); {
	case before == nil && is.Name != folder:
		return refuse("the name in SKILL.md is %q, and the proposed one is %q", is.Name, folder)
	case err == nil && is.Name != was.Name:
		return refuse("the name changes from %q to %q; propose a new skill instead", was.Name, is.Name)
	}
	size := 0
	for _, f := range after {
		size += len(f.Data)
	}
	for _, name := range changed(before, after) { // nobody could read it, and no diff would show it
		if text := after[name].Data; slices.Contains(skill.FileNames, name) && (source.IsBinary(text) || bytes.IndexByte(text, 0) >= 0) {
			return refuse("%s has bytes that are no text", name)
		}
	}
	if size > skill.MaxPublishedBytes || len(after) > skill.MaxPublishedFiles {
		return refuse("the result has more than %d files or %d bytes", skill.MaxPublishedFiles, skill.MaxPublishedBytes)
	}
	return validNames(before, after)
}

// validNames checks the names of all files of a skill after a change: each can be the name of a
// skill's file, what is written has no name of a secret or one that people cannot read, and no
// new file takes the place of another one.
func validNames(before, after Files) error {
	written := changed(before, after)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, err := skill.CleanPath(name); err != nil {
			return refuse("file %q: %w", tidy.Shorten(name, 80), err)
		}
		switch _, ok := slices.BinarySearch(written, name); {
		case ok && skill.IsSecret(name):
			return refuse("file %q: only passwords and keys have this name, and they do not belong in a skill; take another name", name)
		case ok && tidy.Clean(name) != name:
			return refuse("file %q: the name has hidden characters; take another name", name)
		}
	}
	taken := make(spellings)
	for name := range before {
		if _, ok := after[name]; ok {
			taken.add(name)
		}
	}
	for _, name := range written {
		if _, ok := before[name]; ok {
			continue
		}
		if other := taken.add(name); other != "" {
			return refuse("files %q and %q are one file on some systems, or one is the folder of the other; take another name", other, name)
		}
	}
	return nil
}

// spellings are names of files and folders as a skill spells them, by what systems have in
// common that ignore case or the form of characters. Folders end in "/".
type spellings map[string]string

// add adds a file and the folders above it. It returns what has the name of one of them
// already, but is spelled differently or is a file instead of a folder; "" if nothing has.
func (s spellings) add(file string) (other string) {
	for name, slash := file, ""; name != "."; name, slash = path.Dir(name), "/" {
		key := words.NameKey(name)
		if was, ok := s[key]; ok && was != name+slash {
			return was
		}
		s[key] = name + slash
	}
	return ""
}

// current reads a skill as it is now, with its digest.
func (b *inbox) current(ctx context.Context, e *search.Entry) (Files, string, error) {
	if err := b.checkAlone(ctx, e); err != nil {
		return nil, "", err
	}
	if filepath.IsAbs(e.Location) { // whatever sizes its source serves
		return ReadFolder(ctx, filepath.Dir(e.Location))
	}
	src, err := b.source(e.Source)
	if err != nil {
		return nil, "", err
	}
	return readSkill(ctx, src, e.Dir())
}

// checkAlone returns an error for a skill whose folder has other skills: a change replaces the
// folder.
func (b *inbox) checkAlone(ctx context.Context, e *search.Entry) error {
	src, err := b.source(e.Source)
	if err != nil || e.Dir() != "." {
		return nil // what else is wrong shows when its files are read
	}
	if l, err := src.List(ctx, "."); err == nil && len(l.Skills) > 0 {
		return refuse("%w: other skills lie in the folder of %s; move it into a folder of its own", ErrLocked, e.ID)
	}
	return nil
}

// folderName returns the name of the folder of a skill; its own for one at the top of a source.
func folderName(dir, name string) string {
	if base := path.Base(dir); base != "." {
		return base
	}
	return name
}

// keep keeps a proposal, unless it is there already or there are too many.
func (b *inbox) keep(ctx context.Context, who Who, r record) (Proposal, error) {
	p := &r.Proposal
	p.Agent, p.State, p.Made, p.Why = who.Name, StateOpen, b.now(), tidy.Shorten(tidy.Line(firstLine(r.Justification)), maxWhy)
	sum := sumOf(&r)
	seconds := strconv.FormatInt(p.Made.Unix(), 36)
	p.ID = strings.Repeat("0", max(0, idTime-len(seconds))) + seconds + "-" + sum
	err := b.shelf.hold(ctx, func(ctx context.Context) error {
		old, ok, err := b.admit(ctx, p, sum)
		if err != nil {
			return err
		}
		if ok {
			*p = old
			return nil
		}
		return b.shelf.add(ctx, &r)
	})
	return *p, err
}

// sumOf returns the start of a digest of what is proposed.
func sumOf(r *record) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q\n", r.Kind, r.Skill, r.Base, []byte(r.Diff))
	for _, name := range changed(nil, r.Files) {
		fmt.Fprintf(h, "%q %o %q\n", name, shared(r.Files[name]), r.Files[name].Data)
	}
	return hex.EncodeToString(h.Sum(nil))[:idSum]
}

// admit returns the same proposal if there is one, or an error if there are too many.
func (b *inbox) admit(ctx context.Context, p *Proposal, sum string) (old Proposal, ok bool, err error) {
	hourAgo := p.Made.Add(-time.Hour).Unix()
	recent := func(id string) bool {
		made, _ := strconv.ParseInt(id[:idTime], 36, 64) // 0 is long ago
		return made >= hourAgo
	}
	mine, own, open := 0, 0, 0
	list, _ := b.shelf.list(ctx, func(id string, waits bool) bool { // a damaged one, which List reports, is no other
		if waits {
			open++
		}
		return waits || recent(id) || strings.HasSuffix(id, "-"+sum)
	})
	for _, other := range list {
		switch {
		case strings.HasSuffix(other.ID, "-"+sum) && other.State != StateApproved && other.Skill == p.Skill && other.Base == p.Base:
			return other, true, nil
		case other.Agent != p.Agent:
			continue
		}
		if recent(other.ID) {
			mine++
		}
		if other.State == StateOpen {
			own++
		}
	}
	switch {
	case open >= maxWaiting:
		err = refuse("%w: %d wait for a decision, so that none is taken; \"skills proposals\" lists them", ErrTooMany, open)
	case own >= maxOwn:
		err = refuse("%w: %d by %q wait for a decision; propose more when they are decided on", ErrTooMany, own, p.Agent)
	case mine >= maxHourly:
		err = refuse("%w: %d in an hour by %q; propose more later", ErrTooMany, mine, p.Agent)
	}
	return old, false, err
}
