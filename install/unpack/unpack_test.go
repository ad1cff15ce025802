package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// A refusal is a tree that must be refused. Each tree has a good skill too.
type refusal struct {
	name    string
	rule    string
	message string // a part of the error
	items   []item // the tree; nil means that build makes an archive
	in      string // kinds of trees: z(ip), t(ar), f(older); "" means all three
	build   func(t *testing.T) []byte
	limits  *unpack.Limits
}

func many(n int, name func(i int) string) []item {
	items := make([]item, n)
	for i := range items {
		items[i] = file(name(i))
	}
	return items
}

// linked are links in a skill to one target, and what else is there.
func linked(n int, target string, others ...item) []item {
	items := many(n, below("pdf"))
	for i := range items {
		items[i] = item{path: items[i].path, link: target}
	}
	return append(items, others...)
}

// nested are folders of which each has ten links to the next.
func nested(n int) []item {
	items := []item{{path: "pdf/a", link: "../0"}}
	for i := range n {
		for j := range 10 {
			items = append(items, item{path: fmt.Sprintf("%d/%d", i, j), link: fmt.Sprintf("../%d", i+1)})
		}
	}
	return append(items, item{path: fmt.Sprintf("%d/", n), mode: fs.ModeDir | 0o755})
}

func below(folder string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%s/%04d.md", folder, i) }
}

func noise(n int) string {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{})
	r.Read(b)
	return string(b)
}

// refusals is the whole checklist.
var refusals = []refusal{
	// Names.
	{name: "absolute path", rule: "absolute", message: "the path is absolute", items: []item{file("/etc/passwd")}, in: "zt"},
	{name: "parent", rule: "parent", message: `the path has ".."`, items: []item{file("../evil.md")}, in: "zt"},
	{name: "parent inside", rule: "parent", message: `the path has ".."`, items: []item{file("pdf/../../evil.md")}, in: "zt"},
	{name: "parent folder", rule: "parent", message: `the path has ".."`, items: []item{{path: "pdf/../", mode: fs.ModeDir | 0o755}}, in: "zt"},
	{name: "drive letter", rule: "drive", message: "begins with a drive letter", items: []item{file("C:/evil.md")}, in: "zt"},
	{name: "relative to a drive", rule: "drive", message: "begins with a drive letter", items: []item{file("c:evil.md")}},
	{name: "other machine", rule: "unc", message: "names another machine", items: []item{file(`\\host\share\evil.md`)}, in: "zt"},
	{name: "other machine with slashes", rule: "unc", message: "names another machine", items: []item{file("//host/share/evil.md")}, in: "zt"},
	{name: "backslash", rule: "backslash", message: "the path has a backslash", items: []item{file(`pdf\..\evil.md`)}},
	{name: "NUL", rule: "nul", message: "the path has a NUL byte", items: []item{file("pdf/a\x00.md")}, in: "z"},
	{name: "control character", rule: "control", message: "the name has a control character", items: []item{file("pdf/a\x1b[2J.md")}},
	{name: "line break", rule: "control", message: "the name has a control character", items: []item{file("pdf/a\nb.md")}},
	{name: "C1 control character", rule: "control", message: "the name has a control character", items: []item{file("pdf/a\u0085.md")}},
	{name: "hidden character", rule: "hidden", message: "the name has hidden characters", items: []item{file("pdf/a\u202etxt.md")}},
	{name: "not UTF-8", rule: "name", message: "the name is not UTF-8", items: []item{file("pdf/a\xff.md")}},
	{name: "trailing dot", rule: "trailing", message: "ends in a dot or a space", items: []item{file("pdf/SKILL.md.")}},
	{name: "trailing space", rule: "trailing", message: "ends in a dot or a space", items: []item{file("pdf/sub /a.md")}},
	{name: "stream", rule: "stream", message: "has a colon", items: []item{file("pdf/SKILL.md:x")}},
	{name: "device name", rule: "reserved", message: `"con.md" is the name of a device`, items: []item{file("pdf/con.md")}},
	{name: "device folder", rule: "reserved", message: `"LPT1" is the name of a device`, items: []item{file("pdf/LPT1/a.md")}},
	{name: "folder above the skill", rule: "reserved", message: `"nul" is the name of a device`, items: []item{file("nul/x/SKILL.md")}},
	{name: "long name", rule: "name", message: "longer than 255 bytes", items: []item{file("pdf/" + strings.Repeat("a", 256))}, in: "zt"},
	{name: "long path", rule: "name", message: "longer than 1024 bytes", items: []item{file("pdf/" + strings.Repeat("abcdefgh/", 120) + "x")}, in: "zt"},
	{name: "no name", rule: "name", message: "an entry has no name", items: []item{file("")}, in: "z"},

	// Two paths that are one file somewhere.
	{name: "case", rule: "collision", message: "are one name on systems that ignore case", items: []item{file("pdf/Notes.md"), file("pdf/notes.md")}},
	{name: "case of the instructions", rule: "collision", message: "pdf/SKILL.md and pdf/Skill.md are one name", items: []item{file("pdf/Skill.md")}, in: "zt"},
	{name: "both names of instructions", rule: "collision", message: "are one name", items: []item{file("pdf/skill.md")}},
	{name: "case of folders", rule: "collision", message: "are one name", items: []item{file("pdf/a/x.md"), file("pdf/A/y.md")}},
	{name: "case of skills", rule: "collision", message: "are one name", items: []item{file("PDF/SKILL.md")}},
	{name: "Unicode form", rule: "collision", message: "are one name", items: []item{file("pdf/caf\u00e9.md"), file("pdf/cafe\u0301.md")}},
	{name: "special case", rule: "collision", message: "are one name", items: []item{file("pdf/\u212a.md"), file("pdf/k.md")}},
	{name: "sharp s", rule: "collision", message: "are one name", items: []item{file("pdf/Stra\u00dfe.md"), file("pdf/STRASSE.md")}},
	{name: "duplicate", rule: "duplicate", message: "the path occurs twice", items: []item{instructions}, in: "zt"},
	{name: "duplicate with dots", rule: "duplicate", message: "the path occurs twice", items: []item{file("./pdf//SKILL.md")}, in: "zt"},
	{name: "file and folder", rule: "duplicate", message: "the path occurs twice", items: []item{file("pdf/a"), file("pdf/a/b")}, in: "zt"},

	// What is not a plain file.
	{name: "link out", rule: "symlink", message: `leads to "/etc/passwd", outside of its source`, items: []item{{path: "pdf/passwd", link: "/etc/passwd"}}},
	{name: "link up", rule: "symlink", message: `leads to "../../other", outside of its source`, items: []item{{path: "pdf/up", link: "../../other"}}},
	{name: "link up and back", rule: "symlink", message: `leads to "../../to/x", outside`, items: []item{file("x"), {path: "pdf/up", link: "../../to/x"}}},
	{name: "link to a link out", rule: "symlink", message: `leads to "/etc/passwd", outside`, items: []item{{path: "a", link: "/etc/passwd"}, {path: "pdf/b", link: "../a"}}},
	{name: "link through a link out", rule: "symlink", message: `leads to "/etc", outside`, items: []item{{path: "a", link: "/etc"}, {path: "pdf/b", link: "../a/passwd"}}},
	{name: "link through a link up", rule: "symlink", message: `leads to "../..", outside`, items: []item{{path: "a/b", link: "../.."}, {path: "pdf/b", link: "../a/b/etc/passwd"}}},
	{name: "link to a folder with a link out", rule: "symlink", message: `leads to "/etc/passwd", outside`, items: []item{{path: "a/x", link: "/etc/passwd"}, {path: "pdf/b", link: "../a"}}},
	{name: "link to a drive", rule: "symlink", message: `leads to "C:/x", outside`, items: []item{{path: "pdf/b", link: "C:/x"}}},
	{name: "link to another machine", rule: "symlink", message: "outside of its source", items: []item{{path: "pdf/b", link: `\\host\share\x`}}},
	{name: "link with a control character", rule: "symlink", message: `"/\x1b[2J", outside`, items: []item{{path: "pdf/b", link: "/\x1b[2J"}}},
	{name: "link to nothing", rule: "symlink", message: `leads to "nowhere", where nothing is`, items: []item{{path: "pdf/gone", link: "nowhere"}}},
	{name: "link through a file", rule: "symlink", message: "where nothing is", items: []item{{path: "pdf/gone", link: "SKILL.md/../SKILL.md"}}},
	{name: "link to a long name", rule: "symlink", message: "it is a symbolic link", items: []item{{path: "pdf/gone", link: strings.Repeat("a", 300)}}},
	{name: "link to a long path", rule: "symlink", message: "that leads nowhere", items: []item{{path: "pdf/b", link: strings.Repeat("./", 600) + "SKILL.md"}}},
	{name: "link to itself", rule: "symlink", message: `leads to "loop", and so to itself`, items: []item{{path: "pdf/loop", link: "loop"}}},
	{name: "links to each other", rule: "symlink", message: "and so to itself", items: []item{{path: "pdf/a", link: "b"}, {path: "pdf/b", link: "a"}}},
	{name: "link to its own folder", rule: "symlink", message: `the folder "pdf", in which it lies itself`, items: []item{{path: "pdf/b", link: "."}}},
	{name: "link to a folder above", rule: "symlink", message: `the folder ".", in which it lies`, items: []item{{path: "pdf/b", link: ".."}}},
	{name: "folders that hold links to each other", rule: "symlink", message: `the folder "pdf/a", in which it lies`, items: []item{{path: "pdf/a/b", link: "../../b"}, {path: "b/a", link: "../pdf/a"}}},
	{name: "link into git's folder", rule: "symlink", message: `leads to "../.git/config", which is no part of a skill`, items: []item{file(".git/config"), {path: "pdf/c", link: "../.git/config"}}},
	{name: "link through git's folder", rule: "symlink", message: "no part of a skill", items: []item{file(".git/config"), {path: "pdf/c", link: "../.git/../pdf/SKILL.md"}}},
	{name: "link to a left-over", rule: "symlink", message: "no part of a skill", items: []item{file("lib.pyc"), {path: "pdf/lib.py", link: "../lib.pyc"}}},
	{name: "instructions are a link", rule: "symlink", message: `leads to "/etc/passwd", outside`, items: []item{{path: "b/SKILL.md", link: "/etc/passwd"}}},
	{name: "link to a pipe", rule: "fifo", message: "it is a named pipe", items: []item{{path: "p", mode: fs.ModeNamedPipe | 0o600}, {path: "pdf/b", link: "../p"}}},
	{name: "link to a setuid program", rule: "special-bits", message: "setuid", items: []item{{path: "su", mode: fs.ModeSetuid | 0o755}, {path: "pdf/b", link: "../su"}}},
	{name: "link to a bad name", rule: "reserved", message: `"con.md" is the name of a device`, items: []item{file("a/con.md"), {path: "pdf/b", link: "../a"}}},
	{name: "link and folder of one name", rule: "duplicate", message: "the path occurs twice", items: []item{file("x/a"), {path: "pdf/b", link: "../x"}, file("pdf/b/c")}, in: "zt"},
	{name: "folder and link of one name", rule: "duplicate", message: "the path occurs twice", items: []item{file("x/a"), file("pdf/b/c"), {path: "pdf/b", link: "../x"}}, in: "zt"},
	{name: "link to what is there twice", rule: "duplicate", message: "the path occurs twice", items: []item{file("x"), file("x"), {path: "pdf/b", link: "../x"}}, in: "zt"},
	{name: "hard link", rule: "symlink", message: `leads to "/etc/passwd", outside of its source`, build: withHardLink, in: "t"},
	{name: "character device", rule: "device", message: "it is a device", items: []item{{path: "pdf/null", mode: fs.ModeDevice | fs.ModeCharDevice | 0o600}}},
	{name: "block device", rule: "device", message: "it is a device", items: []item{{path: "pdf/sda", mode: fs.ModeDevice | 0o600}}, in: "zt"},
	{name: "named pipe", rule: "fifo", message: "it is a named pipe", items: []item{{path: "pdf/pipe", mode: fs.ModeNamedPipe | 0o600}}},
	{name: "socket", rule: "socket", message: "it is a socket", items: []item{{path: "pdf/s", mode: fs.ModeSocket | 0o600}}, in: "zf"},
	{name: "setuid", rule: "special-bits", message: "setuid, setgid or sticky bit", items: []item{{path: "pdf/scripts/su", text: "#!/bin/sh\n", mode: fs.ModeSetuid | 0o755}}},
	{name: "setgid", rule: "special-bits", message: "setuid, setgid or sticky bit", items: []item{{path: "pdf/scripts/sg", mode: fs.ModeSetgid | 0o755}}},
	{name: "sticky", rule: "special-bits", message: "setuid, setgid or sticky bit", items: []item{{path: "pdf/t", mode: fs.ModeSticky | 0o644}}},
	{name: "sticky folder", rule: "special-bits", message: "setuid, setgid or sticky bit", items: []item{{path: "pdf/t/", mode: fs.ModeDir | fs.ModeSticky | 0o755}}},
	{name: "file like a folder", rule: "not-regular", message: "a file with the name of a folder", build: withSlash, in: "t"},
	{name: "unknown type", rule: "not-regular", message: "neither a file nor a folder", build: withUnknownType, in: "t"},

	// Too much.
	{name: "one file by many links", rule: "too-many-files", message: "more than 512 files", items: linked(512, "../large", item{path: "large", text: "x"})},
	{name: "one large file by links", rule: "skill-too-large", message: "more than 16777216 bytes", items: linked(3, "../large", item{path: "large", text: noise(6 << 20)})},
	{name: "many links to many files", rule: "too-many-files", message: "pdf/0008.md/0032.md: with this file the skill has more than 512 files", limits: &unpack.Limits{Members: 100_000}, in: "f", items: append(many(60, below("x")), linked(100, "../x")...)},
	{name: "folders that nest by links", rule: "too-many-folders", message: "more than 2000 folders", limits: &unpack.Limits{Members: 100_000, Depth: 100}, items: nested(20)},
	{name: "deep by links", rule: "too-deep", message: "7 folders below its skill", items: []item{file("1/2/3/4/5/6/x.md"), {path: "pdf/0/1", link: "../../1"}}},
	{name: "long ways of links", rule: "too-many-links", message: "lead to more than", limits: &unpack.Limits{Members: 100_000, Files: 5000}, in: "z", items: linked(2800, strings.Repeat("../x/", 200)+"y", file("x/y"))},
	{name: "too many files", rule: "too-many-files", message: "more than 512 files", items: many(512, below("pdf/r")), in: "zt"},
	{name: "more files than allowed", rule: "too-many-files", message: "more than 2 files", limits: &unpack.Limits{Files: 2}, items: many(2, below("pdf/r"))},
	{name: "too many folders", rule: "too-many-folders", message: "more than 3 folders", limits: &unpack.Limits{Folders: 3},
		items: []item{file("pdf/a/x"), file("pdf/b/x"), file("pdf/c/x"), file("pdf/d/x")}},
	{name: "too many empty folders", rule: "too-many-members", message: "the limit is 1000 for 1 skill", in: "zt",
		items: manyFolders(1001)},
	{name: "too many outside of the skill", rule: "too-many-members", message: "the limit is 1000 for 1 skill", items: many(1000, below("x")), in: "zt"},
	{name: "too many for anybody", rule: "too-many-members", message: "more than 20 files and folders", limits: &unpack.Limits{Members: 20}, items: many(20, below("x"))},
	{name: "too deep", rule: "too-deep", message: "7 folders below its skill; the limit is 6", items: []item{file("pdf/1/2/3/4/5/6/7/x.md")}},
	{name: "instructions too large", rule: "skill-file-too-large", message: "1048577 bytes; the limit is 1048576", items: []item{{path: "b/SKILL.md", text: noise(1<<20 + 1)}}},
	{name: "skill too large", rule: "skill-too-large", message: "more than 16777216 bytes",
		items: []item{{path: "pdf/a", text: noise(8 << 20)}, {path: "pdf/b", text: noise(8 << 20)}}, in: "f"},
	{name: "skill over its bound", rule: "skill-too-large", message: "more than 100 bytes", limits: &unpack.Limits{Bytes: 100}, items: []item{{path: "pdf/a", text: noise(101)}}},
	{name: "tree too large", rule: "too-large", message: "more than 4000 bytes", limits: &unpack.Limits{Expanded: 4000}, items: []item{{path: "x/a", text: strings.Repeat("a", 4000)}}, in: "zf"},
	{name: "tar.gz too large", rule: "too-large", message: "more than 4000 bytes", limits: &unpack.Limits{Expanded: 4000}, in: "t",
		build: func(t *testing.T) []byte {
			return gzipOf(t, tarOf(t, instructions, item{path: "x/a", text: strings.Repeat("a", 4000)}))
		}},
	{name: "archive too large", rule: "too-large", message: "bytes; the limit is 100", limits: &unpack.Limits{Expanded: 100}, in: "zt"},
	{name: "tree too large for one skill", rule: "too-large", message: "the limit is 52428800 for 1 skill", build: sparseFolderTar, in: "t"},
	{name: "bomb in one member", rule: "ratio", message: "more than 100 times as large", items: []item{{path: "pdf/zeros", text: strings.Repeat("\x00", 2<<20)}}, in: "z"},
	{name: "bomb", rule: "ratio", message: "more than 100 times as large", in: "t",
		build: func(t *testing.T) []byte {
			return gzipOf(t, tarOf(t, instructions, item{path: "pdf/zeros", text: strings.Repeat("\x00", 2<<20)}))
		}},
	{name: "bomb beside noise", rule: "ratio", message: "more than 100 times as large", items: []item{{path: "pdf/noise", text: noise(1 << 20)}, {path: "pdf/zeros", text: strings.Repeat("\x00", 2<<20)}}, in: "z"},
	{name: "bomb after the archive", rule: "ratio", message: "more than 100 times as large", in: "t",
		build: func(t *testing.T) []byte { return gzipOf(t, append(tarOf(t, instructions), make([]byte, 4<<20)...)) }},
	{name: "bomb in a bomb", rule: "format", message: "is not a .zip, .tar or .tar.gz archive", in: "t",
		build: func(t *testing.T) []byte { return gzipOf(t, gzipOf(t, tarOf(t, instructions))) }},
	{name: "sparse", rule: "sparse", message: "it is a sparse file", build: sparse, in: "t"},
	{name: "sparse in an extended header", rule: "sparse", message: "it is a sparse file", build: sparseExtended, in: "t"},
	{name: "huge size in a header", rule: "too-large", message: "more than 1073741824 bytes", build: hugeSize, in: "t"},

	// Archives that mean two things.
	{name: "encrypted", rule: "encrypted", message: "it is encrypted", build: patched(flags, 1), in: "z"},
	{name: "strongly encrypted", rule: "encrypted", message: "it is encrypted", build: patched(flags, 1<<6), in: "z"},
	{name: "unknown method", rule: "method", message: "compressed with method 14", build: patched(method, 14), in: "z"},
	{name: "directory lies about the size", rule: "lying-size", message: "disagree on its size", build: lyingDirectory, in: "z"},
	{name: "header lies about the size", rule: "lying-size", message: "disagree on its size", build: lyingHeader, in: "z"},
	{name: "header lies about the method", rule: "lying-header", message: "disagree on how it is compressed", in: "z", build: func(t *testing.T) []byte {
		data, header, _ := rawZip(t)
		data[header+method] = byte(zip.Deflate)
		return data
	}},
	{name: "two sizes of what is not compressed", rule: "lying-size", message: "it is not compressed, but states two sizes", in: "z", build: func(t *testing.T) []byte {
		data, header, directory := rawZip(t)
		data[header+full]--
		data[directory+full+2]--
		return data
	}},
	{name: "header and directory lie", rule: "lying-size", message: "does not have the 20 bytes", build: lyingBoth, in: "z"},
	{name: "header has another name", rule: "lying-name", message: `its header calls it "pdf/x.md.txt"`, build: otherName, in: "z"},
	{name: "extra field has another name", rule: "lying-name", message: `an extra field calls it "../evil"`, build: otherExtra, in: "z"},
	{name: "overlapping members", rule: "layout", message: "overlap", build: overlapping, in: "z"},
	{name: "member that the directory hides", rule: "layout", message: "overlap, or something is between them", build: hiddenMember, in: "z"},
	{name: "program before the archive", rule: "format", message: "is not a .zip", in: "z",
		build: func(t *testing.T) []byte { return append([]byte("#!/bin/sh\n"), zipOf(t, instructions)...) }},
	{name: "wrong checksum", rule: "damaged", message: "it is damaged", build: wrongChecksum, in: "z"},
	{name: "two streams", rule: "trailing-data", message: "something follows the compressed archive", in: "t",
		build: func(t *testing.T) []byte {
			return append(gzipOf(t, tarOf(t, instructions)), gzipOf(t, tarOf(t, file("pdf/b")))...)
		}},
	{name: "bytes after the stream", rule: "trailing-data", message: "something follows", in: "t",
		build: func(t *testing.T) []byte { return append(gzipOf(t, tarOf(t, instructions)), 0) }},
	{name: "two tars", rule: "trailing-data", message: "something follows the end", in: "t",
		build: func(t *testing.T) []byte { return append(tarOf(t, instructions), tarOf(t, file("pdf/b"))...) }},
	{name: "cut tar", rule: "damaged", message: "ends too early", in: "t", build: func(t *testing.T) []byte { return tarOf(t, instructions)[:520] }},
	{name: "cut tar.gz", rule: "damaged", message: "ends too early", in: "t", build: func(t *testing.T) []byte {
		data := gzipOf(t, tarOf(t, instructions))
		return data[:len(data)-20]
	}},
	{name: "cut zip", rule: "format", message: "or is damaged", in: "z", build: func(t *testing.T) []byte {
		data := zipOf(t, instructions)
		return data[:len(data)-20]
	}},
	{name: "web page", rule: "format", message: "is not a .zip", in: "t", build: func(*testing.T) []byte {
		return []byte("<!doctype html><title>Not found</title>" + strings.Repeat(" ", 600))
	}},
	{name: "empty file", rule: "format", message: "it is empty", in: "t", build: func(*testing.T) []byte { return nil }},
	{name: "no skill", rule: "no-skill", message: "Skill.md: it has no SKILL.md; rename this file", in: "t", build: func(t *testing.T) []byte { return tarOf(t, file("pdf/Skill.md")) }},
	{name: "skill in git's folder only", rule: "no-skill", message: "it has no SKILL.md", in: "t", build: func(t *testing.T) []byte { return tarOf(t, file(".git/SKILL.md")) }},
}

func manyFolders(n int) []item {
	items := many(n, func(i int) string { return fmt.Sprintf("pdf/%d/", i) })
	for i := range items {
		items[i].mode, items[i].text = fs.ModeDir|0o755, ""
	}
	return items
}

// TestRefused is the checklist. A refused tree leaves an empty folder, and the error names
// the rule and, unless the tree as a whole is wrong, the entry.
func TestRefused(t *testing.T) {
	testsize.Long(t)
	for _, r := range refusals {
		if r.build != nil {
			t.Run(r.name, func(t *testing.T) {
				if r.in == "" {
					t.Fatal("the kind of archive is missing")
				}
				checkRefused(t, r, func(to string) error { return unpack.Archive(t.Context(), saved(t, r.build(t)), to, r.limits) })
			})
			continue
		}
		items := append([]item{instructions}, r.items...)
		for kind, do := range map[string]func(t *testing.T, to string) error{
			"z/zip": func(t *testing.T, to string) error {
				return unpack.Archive(t.Context(), saved(t, zipOf(t, items...)), to, r.limits)
			},
			"t/tar": func(t *testing.T, to string) error {
				return unpack.Archive(t.Context(), saved(t, tarOf(t, items...)), to, r.limits)
			},
			"t/tar.gz": func(t *testing.T, to string) error {
				return unpack.Archive(t.Context(), saved(t, gzipOf(t, tarOf(t, items...))), to, r.limits)
			},
			"f/folder": func(t *testing.T, to string) error {
				return unpack.Folder(t.Context(), folderOf(t, items...), to, r.limits)
			},
		} {
			letter, kind, _ := strings.Cut(kind, "/")
			switch {
			case r.in != "" && !strings.Contains(r.in, letter):
				continue
			case letter == "f" && runtime.GOOS != "linux":
				continue // other systems refuse to make most of these files
			}
			t.Run(r.name+"/"+kind, func(t *testing.T) {
				checkRefused(t, r, func(to string) error { return do(t, to) })
			})
		}
	}
}

func checkRefused(t *testing.T, r refusal, do func(to string) error) {
	t.Helper()
	dir := t.TempDir()
	to := filepath.Join(dir, "a", "to")
	err := do(to)
	var bad *unpack.Error
	switch {
	case !errors.As(err, &bad):
		t.Fatalf("got %v", err)
	case bad.Rule != r.rule || !strings.Contains(err.Error(), r.message):
		t.Fatalf("got rule %s: %v", bad.Rule, err)
	case strings.ContainsAny(err.Error(), "\x00\x1b\n"):
		t.Errorf("the error holds control characters: %q", err)
	}
	if left := listing(t, dir); left != "" {
		t.Errorf("left:\n%s", left)
	}
}

func withHardLink(t *testing.T) []byte {
	return tarWith(t, &tar.Header{Name: "pdf/b", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}, "")
}

func withUnknownType(t *testing.T) []byte {
	return tarWith(t, &tar.Header{Name: "pdf/b", Typeflag: 'D'}, "")
}

// withSlash returns an archive with a file whose name ends in a slash.
func withSlash(t *testing.T) []byte {
	data := tarWith(t, &tar.Header{Name: "pdf/xy", Typeflag: tar.TypeReg}, "")
	setHeader(data[second:], func(h []byte) { h[5] = '/' })
	return data
}

// tarWith returns an archive with the instructions and one more member.
func tarWith(t *testing.T, h *tar.Header, text string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range []struct {
		h    *tar.Header
		text string
	}{{&tar.Header{Name: instructions.path, Size: int64(len(instructions.text)), Mode: 0o644}, instructions.text}, {h, text}} {
		must.Do(t, w.WriteHeader(m.h))
		_, err := w.Write([]byte(m.text))
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// setHeader changes a header of a tar in place and corrects its checksum.
func setHeader(h []byte, change func(h []byte)) {
	change(h)
	copy(h[148:156], "        ")
	sum := 0
	for _, b := range h[:512] {
		sum += int(b)
	}
	copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// second returns the header of the second member of tarWith, after the instructions.
const second = 1024

// sparse has a file of a terabyte in the old GNU form: no data, and one block far away.
func sparse(t *testing.T) []byte {
	data := tarWith(t, &tar.Header{Name: "pdf/b", Typeflag: tar.TypeReg, Format: tar.FormatGNU}, "")
	setHeader(data[second:], func(h []byte) {
		h[156] = tar.TypeGNUSparse
		copy(h[483:], fmt.Sprintf("%011o\x00", 1<<20)) // the size
	})
	return data
}

// sparseExtended has a sparse file in the form that GNU tar writes today.
func sparseExtended(t *testing.T) []byte {
	records := ""
	for _, r := range []string{"major=1", "minor=0", "name=pdf/b", "realsize=1048576"} {
		r = " GNU.sparse." + r + "\n"
		records += fmt.Sprint(len(r)+2) + r
	}
	data := tarOf(t, instructions, item{path: "pax", text: records}, item{path: "pdf/b", text: "0\n" + strings.Repeat("\x00", 510)})
	setHeader(data[second:], func(h []byte) { h[156] = tar.TypeXHeader })
	return data
}

func hugeSize(t *testing.T) []byte {
	data := tarWith(t, &tar.Header{Name: "pdf/b", Format: tar.FormatGNU}, "")
	setHeader(data[second:], func(h []byte) {
		copy(h[124:136], "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff") // 2^63-1
	})
	return data
}

// sparseFolderTar has 51 MiB outside of the skill, nearly all of it noise that costs nothing
// to make.
func sparseFolderTar(t *testing.T) []byte {
	return tarWith(t, &tar.Header{Name: "x", Size: 51 << 20}, string(make([]byte, 51<<20)))
}

// Offsets in a local header of a zip; in the directory they are two bytes further on.
const (
	flags  = 6
	method = 8
	crc    = 14
	packed = 18
	full   = 22
)

// rawZip returns an archive of one stored skill without records after the data, and the
// offsets of the header and the directory.
func rawZip(t *testing.T) (data []byte, header, directory int) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{Name: instructions.path, Method: zip.Store, CRC32: crcOf(instructions.text),
		CompressedSize64: uint64(len(instructions.text)), UncompressedSize64: uint64(len(instructions.text))})
	must.Do(t, err)
	_, err = f.Write([]byte(instructions.text))
	must.Do(t, err)
	must.Do(t, w.Close())
	return b.Bytes(), 0, bytes.Index(b.Bytes(), []byte("PK\x01\x02"))
}

// patched sets a field in the header and in the directory.
func patched(field int, value byte) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		data, header, directory := rawZip(t)
		data[header+field], data[directory+field+2] = value, value
		return data
	}
}

func lyingDirectory(t *testing.T) []byte {
	data, _, directory := rawZip(t)
	data[directory+packed+2]--
	data[directory+full+2]--
	return data
}

func lyingHeader(t *testing.T) []byte {
	data, header, _ := rawZip(t)
	data[header+full]--
	return data
}

// lyingBoth has a compressed file that is longer than both places state.
func lyingBoth(t *testing.T) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	text := deflated(t, strings.Repeat("a line\n", 1000))
	f, err := w.CreateRaw(&zip.FileHeader{Name: instructions.path, Method: zip.Deflate, CompressedSize64: uint64(len(text)), UncompressedSize64: 20})
	must.Do(t, err)
	_, err = f.Write(text)
	must.Do(t, err)
	must.Do(t, w.Close())
	return b.Bytes()
}

func otherName(t *testing.T) []byte {
	data, header, _ := rawZip(t)
	copy(data[header+30:], "pdf/x.md.txt")
	return data
}

func otherExtra(t *testing.T) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: instructions.path, Extra: append([]byte{0x75, 0x70, 5 + 7, 0, 1, 0, 0, 0, 0}, "../evil"...)}
	f, err := w.CreateHeader(h)
	must.Do(t, err)
	_, err = f.Write([]byte(instructions.text))
	must.Do(t, err)
	must.Do(t, w.Close())
	return b.Bytes()
}

// overlapping has two names for the same data.
func overlapping(t *testing.T) []byte {
	data, _, directory := rawZip(t)
	end := bytes.Index(data, []byte("PK\x05\x06"))
	entry := bytes.Clone(data[directory:end])
	data = append(bytes.Clone(data[:end]), append(entry, data[end:]...)...)
	end += len(entry)
	data[end+8], data[end+10] = 2, 2
	data[end+12] = byte(2 * len(entry))
	return data
}

// hiddenMember has a member in the middle that the directory does not list.
func hiddenMember(t *testing.T) []byte {
	one, _, directory := rawZip(t)
	data := append(bytes.Clone(one[:directory]), one...) // readers add up from the end
	end := bytes.Index(data, []byte("PK\x05\x06"))
	data[end+16], data[end+17] = byte(2*directory), byte(2*directory>>8)
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	data[at+42], data[at+43] = byte(directory), byte(directory>>8)
	return data
}

func wrongChecksum(t *testing.T) []byte {
	data, header, directory := rawZip(t)
	data[header+crc]++
	data[directory+crc+2]++
	return data
}

// accepted is a tree with two skills and much around them.
var accepted = []item{
	{path: "README.md", text: "A repository."},
	{path: ".git/config", text: "[remote]"},
	{path: "node_modules/x/SKILL.md", text: "not ours"},
	{path: "aux.c", text: "never written, so its name does no harm"},
	{path: "skills/", mode: fs.ModeDir | fs.ModeSetgid | 0o755},
	{path: "skills/pdf/SKILL.md", text: instructions.text},
	{path: "skills/pdf/scripts/fill.py", text: "import sys\n", mode: 0o755},
	{path: "skills/pdf/tool", text: "#!/bin/sh\n", mode: 0o755},
	{path: "scripts/web/SKILL.md", text: "x", mode: 0o755},
	{path: "skills/pdf/data.bin", text: "\x7fELF", mode: 0o755},
	{path: "skills/pdf/lib.sh", text: "#!/bin/sh\n"},
	{path: "skills/pdf/empty", text: ""},
	{path: "skills/pdf/inner/SKILL.md", text: "part of the skill around it"},
	{path: "skills/pdf/node_modules/left/out.js", text: "x"},
	{path: "skills/pdf/.g\u200cit/config", text: "x"},
	{path: "skills/pdf/GIT~1/config", text: "x"},
	{path: "skills/pdf/scripts/.hg/hgrc", text: "x"},
	{path: "skills/pdf/.staging-1/new/SKILL.md", text: "x"},
	{path: "skills/pdf/1/2/3/4/5/6/deep.md", text: "as deep as it gets"},
	{path: "skills/caf\u00e9/skill.md", text: "---\nname: cafe\ndescription: d\n---\n"},
}

// TestAccepted: the skills of a tree are written, alike from all kinds of trees, readable
// for their owner alone; only scripts keep the permission to run.
func TestAccepted(t *testing.T) {
	want := "scripts/web/SKILL.md -rw------- \nskills/caf\u00e9/skill.md -rw------- \nskills/pdf/1/2/3/4/5/6/deep.md -rw------- \nskills/pdf/SKILL.md -rw------- \nskills/pdf/data.bin -rw------- \n" +
		"skills/pdf/empty -rw------- \nskills/pdf/inner/SKILL.md -rw------- \nskills/pdf/lib.sh -rw------- \nskills/pdf/scripts/fill.py -rwx------ \nskills/pdf/tool -rwx------ \n"
	var first string
	for _, kind := range []string{"zip", "tar", "tar.gz", "folder"} {
		to := t.TempDir()
		var err error
		switch kind {
		case "zip":
			err = unpack.Archive(t.Context(), saved(t, zipOf(t, accepted...)), to, nil)
		case "tar":
			err = unpack.Archive(t.Context(), saved(t, tarOf(t, accepted...)), to, nil)
		case "tar.gz":
			err = unpack.Archive(t.Context(), saved(t, gzipOf(t, tarOf(t, accepted...))), to, nil)
		case "folder":
			err = unpack.Folder(t.Context(), folderOf(t, accepted...), to, nil)
		}
		must.Do(t, err)
		got := listing(t, to)
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("%s: got\n%s, from a zip\n%s", kind, got, first)
		}
		var b strings.Builder
		for line := range strings.Lines(got) {
			b.WriteString(line[:len(line)-65] + "\n")
		}
		if runtime.GOOS != "windows" && b.String() != want {
			t.Errorf("%s: got\n%s, want\n%s", kind, b.String(), want)
		}
	}
}

// TestLinks: links that stay in the tree become copies, alike from all kinds of trees: to files, to folders,
// to links, through links, and of the instructions. What is no part of a skill stays away.
func TestLinks(t *testing.T) {
	linked := []item{
		instructions, {path: "shared/a.py", text: "a", mode: 0o755}, {path: "shared/b/c.md", text: "c"}, {path: "shared/b/x.pyc", text: "left"}, {path: "shared/b/.git/config", text: "x"},
		{path: "shared/b/up.py", link: "../a.py"}, {path: "lib", link: "shared"}, {path: "all", link: "."}, {path: "away", link: "/etc"},
		{path: "pdf/scripts/a.py", link: "../../shared/a.py"}, {path: "pdf/a.py", link: "scripts/a.py"}, {path: "pdf/again.py", link: "../lib/b/../a.py"},
		{path: "pdf/b", link: "../shared/b"}, {path: "pdf/b2", link: "b"}, {path: "pdf/x.pyc", link: "SKILL.md"}, {path: "src/web.md", text: "web"}, {path: "web/SKILL.md", link: "../src/web.md"},
	}
	plain := []item{
		instructions, {path: "pdf/scripts/a.py", text: "a", mode: 0o755}, {path: "pdf/a.py", text: "a"}, {path: "pdf/again.py", text: "a"}, {path: "pdf/b/c.md", text: "c"}, {path: "pdf/b/up.py", text: "a"},
		{path: "pdf/b2/c.md", text: "c"}, {path: "pdf/b2/up.py", text: "a"}, {path: "web/SKILL.md", text: "web"},
	}
	to := t.TempDir()
	must.Do(t, unpack.Folder(t.Context(), folderOf(t, plain...), to, nil))
	want := listing(t, to)
	for kind, do := range map[string]func(to string) error{
		"zip": func(to string) error { return unpack.Archive(t.Context(), saved(t, zipOf(t, linked...)), to, nil) },
		"tar": func(to string) error { return unpack.Archive(t.Context(), saved(t, tarOf(t, linked...)), to, nil) },
		"tar.gz": func(to string) error {
			return unpack.Archive(t.Context(), saved(t, gzipOf(t, tarOf(t, linked...))), to, nil)
		},
		"folder": func(to string) error { return unpack.Folder(t.Context(), folderOf(t, linked...), to, nil) },
		"parts": func(to string) error {
			top := folderOf(t, linked...)
			return errors.Join(unpack.Part(t.Context(), top, "all/pdf", filepath.Join(to, "pdf"), nil), unpack.Part(t.Context(), top, "web", filepath.Join(to, "web"), nil))
		},
	} {
		to := t.TempDir()
		must.Do(t, do(to))
		if got := listing(t, to); got != want {
			t.Errorf("%s: got\n%s, want\n%s", kind, got, want)
		}
	}
	for dir, want := range map[string]string{"away": `leads to "/etc", outside of its source`, "none": "it has no folder none", "src/web.md": "it has no folder"} {
		if err := unpack.Part(t.Context(), folderOf(t, linked...), dir, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestHardLinks: the second name of a file in a tar is a copy of the file, and one of a file elsewhere is refused.
func TestHardLinks(t *testing.T) {
	for name, want := range map[string]string{"pdf/SKILL.md": "", "pdf/../pdf/SKILL.md": "", "pdf/none": "where nothing is", "../pdf/SKILL.md": "outside of its source", "pdf/b": "to itself"} {
		to := t.TempDir()
		err := unpack.Archive(t.Context(), saved(t, tarWith(t, &tar.Header{Name: "pdf/b", Typeflag: tar.TypeLink, Linkname: name}, "")), to, nil)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", name, err, want)
			}
			continue
		}
		must.Do(t, err)
		first, err := os.ReadFile(filepath.Join(to, "pdf", "SKILL.md"))
		must.Do(t, err)
		if second, err := os.ReadFile(filepath.Join(to, "pdf", "b")); err != nil || string(second) != string(first) || len(first) == 0 {
			t.Errorf("%s: %q, error %v", name, second, err)
		}
	}
}

// TestLinksSwapped: what somebody puts in the place of what a link leads to, after it was checked, is not read
// outside of the tree.
func TestLinksSwapped(t *testing.T) {
	secret := folderOf(t, item{path: "a.md", text: "secret"})
	for _, swapped := range []string{"shared/a.md", "shared"} {
		top := folderOf(t, instructions, item{path: "shared/a.md", text: "shared"}, item{path: "pdf/a.md", link: "../shared/a.md"}, file("bad/SKILL.md"), file("bad/nul"))
		to := t.TempDir()
		err := unpack.Folder(t.Context(), top, to, &unpack.Limits{Refused: func(*unpack.Error) { // nothing is written yet
			name := filepath.Join(top, swapped)
			must.Do(t, os.Rename(name, name+".old"))
			must.Do(t, os.Symlink(filepath.Join(secret, strings.TrimPrefix(swapped, "shared")), name))
		}})
		if left := listing(t, to); err == nil || left != "" {
			t.Errorf("%s: %v, left\n%s", swapped, err, left)
		}
	}
}

// TestLinksAtTop: in a shared tree a link to a folder of other skills brings them into no skill at the top a second time.
func TestLinksAtTop(t *testing.T) {
	items := []item{file("SKILL.md"), file("skills/a/SKILL.md"), file("lib/x"), {path: "claude", link: "skills"}, {path: "b", link: "skills/a"}, {path: "scripts", link: "lib"}}
	to := t.TempDir()
	must.Do(t, unpack.Folder(t.Context(), folderOf(t, items...), to, &unpack.Limits{Shared: true}))
	var wrote []string
	for line := range strings.Lines(listing(t, to)) {
		wrote = append(wrote, strings.Fields(line)[0])
	}
	if got := strings.Join(wrote, " "); got != "SKILL.md lib/x scripts/x skills/a/SKILL.md" {
		t.Errorf("wrote %s", got)
	}
}

// TestManySkills: the limits of an archive grow with the number of its skills.
func TestManySkills(t *testing.T) {
	items := append(many(1500, below("docs")), file("a/SKILL.md"), file("b/SKILL.md"))
	to := t.TempDir()
	must.Do(t, unpack.Archive(t.Context(), saved(t, tarOf(t, items...)), to, nil))
	if n := strings.Count(listing(t, to), "\n"); n != 2 {
		t.Errorf("wrote %d files", n)
	}
}

// TestRefusedSkills: whoever wants to hear of refused skills gets the others.
func TestRefusedSkills(t *testing.T) {
	items := []item{file("a/SKILL.md"), {path: "b/SKILL.md", text: "x"}, {path: "b/link", link: "/etc/passwd"}, file("b/nul"), file("c/SKILL.md"), file("c/A"), file("c/a")}
	var refused []string
	l := &unpack.Limits{Refused: func(e *unpack.Error) { refused = append(refused, e.Path+" "+e.Rule) }}
	to := t.TempDir()
	must.Do(t, unpack.Archive(t.Context(), saved(t, tarOf(t, items...)), to, l))
	if got := listing(t, to); !strings.HasPrefix(got, "a/SKILL.md ") || strings.Count(got, "\n") != 1 {
		t.Errorf("wrote\n%s", got)
	}
	if got := strings.Join(refused, ", "); got != "b/link symlink, c/a collision" {
		t.Errorf("refused %s", got)
	}
	var bad *unpack.Error
	if err := unpack.Archive(t.Context(), saved(t, tarOf(t, items[1:]...)), t.TempDir(), l); !errors.As(err, &bad) {
		t.Errorf("nothing is left to write: %v", err)
	}
	if err := unpack.Archive(t.Context(), saved(t, tarOf(t, append(items, file("../x"))...)), t.TempDir(), l); !errors.As(err, &bad) || bad.Rule != "parent" {
		t.Errorf("a path that leads out: %v", err)
	}
}

// TestCancelled: a cancelled context ends everything, and leaves nothing.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := t.TempDir()
	for name, err := range map[string]error{
		"zip":    unpack.Archive(ctx, saved(t, zipOf(t, instructions)), to, nil),
		"tar.gz": unpack.Archive(ctx, saved(t, gzipOf(t, tarOf(t, instructions))), to, nil),
		"folder": unpack.Folder(ctx, folderOf(t, instructions), to, nil),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := listing(t, to); left != "" {
		t.Errorf("left\n%s", left)
	}
}

// TestTo: the folder must be empty, and the tree must exist.
func TestTo(t *testing.T) {
	from := folderOf(t, instructions)
	full := folderOf(t, file("mine"))
	if err := unpack.Folder(t.Context(), from, full, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a full folder: %v", err)
	}
	if !strings.HasPrefix(listing(t, full), "mine ") {
		t.Error("what was in the folder is gone")
	}
	for name, err := range map[string]error{
		"no folder":  unpack.Folder(t.Context(), filepath.Join(from, "gone"), t.TempDir(), nil),
		"no archive": unpack.Archive(t.Context(), filepath.Join(from, "gone"), t.TempDir(), nil),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := unpack.Archive(t.Context(), from, t.TempDir(), nil); err == nil {
		t.Error("a folder is no archive")
	}
}

// FuzzArchive: whatever the archive is, only plain files appear, below the folder, and an
// archive that was refused leaves nothing.
func FuzzArchive(f *testing.F) {
	f.Add(zipOf(f, accepted...))
	f.Add(tarOf(f, accepted...))
	f.Add(gzipOf(f, tarOf(f, accepted...)))
	f.Add(zipOf(f, instructions, file("../evil"), item{path: "pdf/l", link: "/etc/passwd"}))
	f.Add(tarOf(f, instructions, item{path: "pdf/l", link: "../.."}))
	f.Add(tarOf(f, instructions, file("a/x"), item{path: "pdf/l", link: "../a"}, item{path: "pdf/m", link: "l/x"}))
	f.Add(zipOf(f, nested(3)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		to := filepath.Join(dir, "to")
		err := unpack.Archive(t.Context(), saved(t, data), to, &unpack.Limits{Expanded: 1 << 20})
		found := false
		must.Do(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			found = found || err == nil && !d.IsDir()
			if err == nil && !d.IsDir() && (!d.Type().IsRegular() || !strings.HasPrefix(name, to+string(filepath.Separator))) {
				t.Errorf("wrote %s %v", name, d.Type())
			}
			return err
		}))
		if found != (err == nil) {
			t.Errorf("error %v, and files: %v", err, found)
		}
	})
}

// TestSharedTop: in a shared tree a skill at the top has limits of its own, and neither hides
// the skills below it nor takes them along.
func TestSharedTop(t *testing.T) {
	items := []item{file("SKILL.md"), file("a/SKILL.md"), file("a/x"), file("b/c/SKILL.md"), file("b/y"), file("assets/t/SKILL.md"), file("assets/t/z")}
	for _, test := range []struct {
		shared        bool
		files         int
		want, refused string
	}{
		{true, 3, "a/SKILL.md a/x b/c/SKILL.md", "assets/t/z too-many-files"},
		{true, 4, "SKILL.md a/SKILL.md a/x assets/t/SKILL.md assets/t/z b/c/SKILL.md b/y", ""},
		{false, 7, "SKILL.md a/SKILL.md a/x assets/t/SKILL.md assets/t/z b/c/SKILL.md b/y", ""},
	} {
		var refused, wrote []string
		l := &unpack.Limits{Shared: test.shared, Files: test.files, Refused: func(e *unpack.Error) { refused = append(refused, e.Path+" "+e.Rule) }}
		to := t.TempDir()
		must.Do(t, unpack.Archive(t.Context(), saved(t, tarOf(t, items...)), to, l))
		for line := range strings.Lines(listing(t, to)) {
			wrote = append(wrote, strings.Fields(line)[0])
		}
		if got := strings.Join(wrote, " "); got != test.want || strings.Join(refused, " ") != test.refused {
			t.Errorf("shared %t, %d files: wrote %s, refused %q", test.shared, test.files, got, refused)
		}
	}
}
