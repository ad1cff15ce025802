package inspect

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// modelSignature is where OpenSSF model signing puts the signature of a skill. There was no library
// for Go that could be depended on, and a check of half of it would be worse than none.
const modelSignature = "skill.oms.sig"

// file checks one file beside the SKILL.md.
func (in *inspection) file(f File) {
	add := func(rule, message, hint string) {
		in.add(skill.Problem{Rule: rule, Severity: skill.Warning, Path: in.at(f.Path), Message: message, Hint: hint})
	}
	if f.Path == modelSignature {
		in.add(skill.Problem{Rule: "signature-unchecked", Severity: skill.Note, Path: in.at(f.Path),
			Message: "a signature by OpenSSF model signing, which this program does not check", Hint: "check it with that project's own tool"})
		return
	}
	if hidden, whole := hiddenPart(f.Path); hidden != "" && !slices.Contains(in.hidden, whole) {
		in.hidden = append(in.hidden, whole) // a folder is told once
		add("dotfile", "the skill ships "+tidy.Visible(hidden)+", which folder views do not show", "look at it; remove it if the skill does not need it")
	}
	kind := kindOf(f.Data)
	switch extension := strings.ToLower(path.Ext(f.Path)); {
	case kind == program && documents()[extension]:
		add("disguised-program", "a program with the name of a document", "remove it")
	case kind == program || compiled()[extension]:
		add("shipped-binary", "a compiled program, which nobody can read", "ship its source, or name where it comes from")
	case kind == archive || archives()[extension]:
		in.skip(f.Path, "an archive")
	case f.Err != nil:
		in.skip(f.Path, f.Err.Error())
	case int64(len(f.Data)) < f.Size:
		in.skip(f.Path, fmt.Sprintf("%d bytes, too many", f.Size))
	case bytes.IndexByte(f.Data, 0) >= 0 || !utf8.Valid(f.Data):
		in.skip(f.Path, "not text")
	default:
		in.textFile(f, documents()[extension] && bytes.HasPrefix(f.Data, []byte("#!")))
	}
}

// textFile checks a file that is text. disguised means a script with the name of a
// document.
func (in *inspection) textFile(f File, disguised bool) {
	name, raw := in.at(f.Path), string(f.Data)
	if first, _, _ := strings.Cut(raw, "\n"); disguised {
		in.add(skill.Problem{Rule: "disguised-program", Severity: skill.Warning, Path: name, Line: 1,
			Message: "a script with the name of a document: " + evidence(first), Hint: "name it as what it is"})
	}
	in.hiddenText(name, raw)
	in.privateUse(name, raw)
	clean, hidden := tidy.CleanAndCount(strings.TrimPrefix(raw, "\uFEFF"))
	in.found = append(in.found, skill.Hidden(name, hidden)...)
	in.text(name, clean)
}

func (in *inspection) skip(name, why string) {
	in.skipped = append(in.skipped, tidy.Visible(name)+" ("+evidence(why)+")")
}

// hiddenPart returns the first part of a path that starts with a dot and is not one that
// repositories usually have, and the path up to it; "" if there is none.
func hiddenPart(name string) (part, whole string) {
	for part := range strings.SplitSeq(name, "/") {
		whole = path.Join(whole, part)
		if strings.HasPrefix(part, ".") && !usual()[part] {
			return part, whole
		}
	}
	return "", ""
}

var (
	usual     = words.Set(".gitignore .gitattributes .gitkeep .keep .github .editorconfig .prettierrc .prettierignore .eslintrc.json .eslintrc .markdownlint.json .npmignore .dockerignore .python-version .nvmrc .env.example .ds_store .DS_Store .clawhubignore .skillignore")
	documents = words.Set(".md .txt .pdf .doc .docx .odt .rtf .xls .xlsx .csv .ppt .pptx .png .jpg .jpeg .gif .svg .webp .ico .json .yaml .yml .toml .html .htm .css .xml")
	compiled  = words.Set(".pyc .pyo .pyd .exe .dll .so .dylib .o .a .class .jar .wasm .msi .scr .com .node .apk .dmg .pkg .deb .rpm .xpi .crx .lnk .vbe .jse")
	archives  = words.Set(".zip .tar .tgz .gz .bz2 .xz .zst .7z .rar .skill .cab .iso .whl")
)

// The kinds of contents that are told by their first bytes.
const (
	other = iota
	program
	archive
)

// kindOf returns the kind of a file's contents.
func kindOf(data []byte) int {
	for _, magic := range []string{"\x7fELF", "MZ", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "\x00asm", "dex\n"} {
		if bytes.HasPrefix(data, []byte(magic)) && (len(magic) > 2 || slices.Contains(data, 0)) {
			return program
		}
	}
	for _, magic := range []string{"PK\x03\x04", "\x1f\x8b", "BZh", "\xfd7zXZ", "7z\xbc\xaf\x27\x1c", "Rar!", "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return archive
		}
	}
	return other
}
