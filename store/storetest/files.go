package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

func fileChecks() []sharedCheck {
	return []sharedCheck{
		{"Files", "The files of a skill are returned as they were put, sorted by path, and their bytes by their digest.", testFiles},
		{"FilesRefused", "Bytes without their digest, a list for no skill, and a list whose content is not there fail, and change nothing.", testFilesRefused},
		{"FilesGo", "Content goes with the last skill that refers to it, and no earlier.", testFilesGo},
		{"FilesAtOnce", "What is put and then removed in the same transaction leaves nothing behind.", testFilesAtOnce},
		{"FilesGenerations", "A list of files counts as a change that readers see, and content does not.", testFilesGenerations},
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// file returns the file with this text.
func file(path, text string) skill.File {
	return skill.File{Path: path, Size: int64(len(text)), SHA256: digest(text)}
}

// updateFiles runs f in a transaction.
func updateFiles(t testing.TB, s store.Store, f func(store.FileTx) error) error {
	t.Helper()
	return s.Update(t.Context(), func(tx store.Tx) error { return f(tx.(store.FileTx)) })
}

// putFiles puts the list of a skill's files, then their content.
func putFiles(row int64, texts map[string]string) func(store.FileTx) error {
	return func(tx store.FileTx) error {
		var files []skill.File
		for path, text := range texts {
			files = append(files, file(path, text))
		}
		err := tx.PutFiles(row, files)
		for _, text := range texts {
			err = errors.Join(err, tx.PutContent(digest(text), []byte(text)))
		}
		return err
	}
}

// putFile makes a file the only one of a skill.
func putFile(t testing.TB, s store.Store, row int64, path, text string) {
	t.Helper()
	if err := updateFiles(t, s, putFiles(row, map[string]string{path: text})); err != nil {
		t.Fatal(err)
	}
}

func testFiles(t *testing.T, s Shared, open Opener) {
	large := strings.Repeat("0123456789", 300_000)
	root := Record("root", "d", "b")
	root.Path = "SKILL.md"
	rows := Put(t, s, store.Source{Label: "a"}, root, Record("pdf", "d", "b"), Record("csv", "d", "b"))
	texts := map[string]string{"SKILL.md": "text", "b/same": "text", "a": "", "large": large, "b.bin": "\x00\xff"}
	want := []skill.File{file("SKILL.md", "text"), file("a", ""), file("b.bin", "\x00\xff"), file("b/same", "text"), file("large", large)}
	join(t, s, func(in store.Store) {
		for _, row := range rows[:2] {
			if err := updateFiles(t, in, putFiles(row, texts)); err != nil {
				t.Error(err)
			}
		}
	})
	r := open(true)
	for _, dir := range []string{".", "pdf"} {
		wants(t, "files in "+dir, want)(r.SkillFiles(t.Context(), "a", dir))
	}
	for _, text := range texts {
		data, err := r.Content(t.Context(), digest(text))
		if err != nil || string(data) != text {
			t.Errorf("content of %d bytes: got %d bytes, %v", len(text), len(data), err)
		}
	}
	files, err := r.SkillFiles(t.Context(), "a", "csv")
	wants(t, "files of a skill without any", 0)(len(files), err)

	putFile(t, s, rows[1], "SKILL.md", "new text")
	wants(t, "files that were replaced", []skill.File{file("SKILL.md", "new text")})(r.SkillFiles(t.Context(), "a", "pdf"))
	wants(t, "files of the other skill", want)(r.SkillFiles(t.Context(), "a", "."))

	_, err1 := r.SkillFiles(t.Context(), "a", "other")
	_, err2 := r.SkillFiles(t.Context(), "b", "pdf")
	_, err3 := r.Content(t.Context(), digest("other"))
	_, err4 := r.Content(t.Context(), "no digest")
	for _, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what does not exist: %v", err)
		}
	}
}

func testFilesRefused(t *testing.T, s Shared, _ Opener) {
	row := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))[0]
	putFile(t, s, row, "SKILL.md", "text")
	before := State(t, s)
	for what, f := range map[string]func(store.FileTx) error{
		"bytes with another digest":    func(tx store.FileTx) error { return tx.PutContent(digest("text"), []byte("other")) },
		"bytes without a digest":       func(tx store.FileTx) error { return tx.PutContent("", []byte("other")) },
		"a digest in capitals":         func(tx store.FileTx) error { return tx.PutContent(strings.ToUpper(digest("q")), []byte("q")) },
		"files of no skill":            putFiles(row+1, map[string]string{"SKILL.md": "text"}),
		"a file whose content is gone": func(tx store.FileTx) error { return tx.PutFiles(row, []skill.File{file("SKILL.md", "other")}) },
		"a file without a digest":      func(tx store.FileTx) error { return tx.PutFiles(row, []skill.File{{Path: "SKILL.md"}}) },
	} {
		if updateFiles(t, s, f) == nil {
			t.Errorf("%s: no error", what)
		}
	}
	err := s.Join(t.Context(), func(in store.Store) error {
		return updateFiles(t, in, func(tx store.FileTx) error { return tx.PutFiles(row, []skill.File{file("SKILL.md", "other")}) })
	})
	if err == nil {
		t.Error("a join ended without the content of a file")
	}
	wants(t, "state", before)(State(t, s), nil)
	wants(t, "files", []skill.File{file("SKILL.md", "text")})(s.SkillFiles(t.Context(), "a", "pdf"))
	wants(t, "content", []byte("text"))(s.Content(t.Context(), digest("text")))
}

// missing returns which texts have no content.
func missing(t *testing.T, s store.Store, texts ...string) (list []string) {
	t.Helper()
	err := updateFiles(t, s, func(tx store.FileTx) error {
		var sums []string
		for _, text := range append(texts, texts...) {
			sums = append(sums, digest(text))
		}
		gone, err := tx.Missing(sums)
		for _, text := range texts {
			if slices.Contains(gone, digest(text)) {
				list = append(list, text)
			}
		}
		if len(list) != len(gone) {
			t.Errorf("%d of %d are missing", len(gone), len(list))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return list
}

func testFilesGo(t *testing.T, s Shared, open Opener) {
	a := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"), Record("csv", "d", "b"))
	b := Put(t, s, store.Source{Label: "b"}, Record("xls", "d", "b"))
	putFile(t, s, a[0], "f", "both")
	putFile(t, s, a[1], "f", "one")
	putFile(t, s, b[0], "f", "both")
	texts := []string{"both", "one", "new", "loose"}
	for _, step := range []struct {
		what string
		f    func(store.FileTx) error
		want []string
	}{
		{"content of nobody", func(tx store.FileTx) error { return tx.PutContent(digest("loose"), []byte("loose")) }, []string{"new", "loose"}},
		{"one of two skills deleted", func(tx store.FileTx) error { return tx.DeleteSkill(a[0]) }, []string{"new", "loose"}},
		{"the list replaced", putFiles(a[1], map[string]string{"f": "new"}), []string{"one", "loose"}},
		{"the source deleted", func(tx store.FileTx) error { return tx.DeleteSource(sourceRow(t, s, "a")) }, []string{"one", "new", "loose"}},
		{"the skill put again", func(tx store.FileTx) error {
			_, err := tx.PutSkill(sourceRow(t, s, "b"), Record("xls", "other", "b"))
			return err
		}, []string{"one", "new", "loose"}},
		{"an empty list", func(tx store.FileTx) error { return tx.PutFiles(b[0], nil) }, texts},
	} {
		if err := updateFiles(t, s, step.f); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		wants(t, step.what+": missing", step.want)(missing(t, s, texts...), nil)
	}
	if _, err := open(true).Content(t.Context(), digest("both")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("content that is gone: %v", err)
	}
}

func testFilesAtOnce(t *testing.T, s Shared, open Opener) {
	// put puts a skill with a file into a source, twice.
	put := func(tx store.FileTx, label string) (source, row int64) {
		source, err := tx.PutSource(store.Source{Label: label})
		for _, text := range []string{"old " + label, label} {
			var err2 error
			row, err2 = tx.PutSkill(source, Record("pdf", text, "b"))
			err = errors.Join(err, err2, putFiles(row, map[string]string{"f": text})(tx))
		}
		if err != nil {
			t.Error(err)
		}
		return source, row
	}
	err := updateFiles(t, s, func(tx store.FileTx) error {
		source, _ := put(tx, "deleted")
		err := tx.DeleteSource(source)
		_, row := put(tx, "emptied")
		err = errors.Join(err, tx.DeleteSkill(row))
		put(tx, "kept")
		source, _ = put(tx, "made again")
		err = errors.Join(err, tx.DeleteSource(source))
		put(tx, "made again")
		return err
	})
	if err != nil {
		t.Error(err)
	}
	r := open(true)
	wants(t, "offered", []string{"kept:pdf"})(Offered(t, r), nil)
	wants(t, "skills", 2)(State(t, r).Found, nil)
	wants(t, "files", []skill.File{file("f", "made again")})(r.SkillFiles(t.Context(), "made again", "pdf"))
	texts := []string{"deleted", "emptied", "old kept", "kept", "made again"}
	wants(t, "missing", texts[:3])(missing(t, s, texts...), nil)
}

func testFilesGenerations(t *testing.T, s Shared, _ Opener) {
	row := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))[0]
	for _, tt := range []struct {
		what string
		f    func(store.FileTx) error
		want int64
	}{
		{"files", putFiles(row, map[string]string{"f": "text"}), 1},
		{"content", func(tx store.FileTx) error { return tx.PutContent(digest("text"), []byte("text")) }, 0},
		{"a question", func(tx store.FileTx) error { _, err := tx.Missing([]string{digest("text")}); return err }, 0},
	} {
		before := State(t, s).Generation.Number
		if err := updateFiles(t, s, tt.f); err != nil {
			t.Error(err)
		}
		wants(t, tt.what+": generations", tt.want)(State(t, s).Generation.Number-before, nil)
	}
}
