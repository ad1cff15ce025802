package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newRelease returns a release of a script in place of the program, which takes no time to
// build, and the path of that script.
func newRelease(t *testing.T, version string) (r *release, binary string) {
	t.Helper()
	dir := t.TempDir()
	r = &release{root: dir, out: filepath.Join(dir, "out"), work: dir, date: time.Unix(1e9, 0).UTC(), version: version}
	try(t, os.Mkdir(r.out, 0o755))
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.Base(name))
		try(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, name := range []string{"completions/skills.bash", "completions/_skills", "completions/repertoire.fish", "LICENSE", "README.md", "man/skills.1"} {
		r.shared = append(r.shared, file{name, write(name, name+"\n"), 0o644})
	}
	return r, write("skills", "#!/bin/sh\necho skills v"+version+"\n")
}

// files returns the contents of all files of a result, by name.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	entries, err := os.ReadDir(dir)
	try(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		try(t, err)
		found[e.Name()] = string(data)
	}
	return found
}

// TestRelease: all platforms get what belongs to them, a second run gives the same bytes,
// and the checksums everywhere are those of the files.
func TestRelease(t *testing.T) {
	var results []map[string]string
	for range 2 {
		r, binary := newRelease(t, "1.2.3")
		for _, p := range platforms {
			try(t, r.pack(p, binary))
		}
		try(t, r.describe())
		results = append(results, contentsOf(t, r.out))
	}
	result := results[0]
	for name, data := range result {
		if results[1][name] != data {
			t.Errorf("%s is not the same a second time", name)
		}
	}
	want := []string{"checksums.txt", "repertoire.json", "repertoire.rb"}
	for _, p := range []string{"darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "linux_amd64.deb", "linux_amd64.rpm", "linux_amd64.tar.gz",
		"linux_arm64.deb", "linux_arm64.rpm", "linux_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip"} {
		name := "repertoire_1.2.3_" + p
		want = append(want, name)
		line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(result[name])), name)
		if !strings.Contains(result["checksums.txt"], line) {
			t.Errorf("checksums.txt has no line %q", line)
		}
	}
	for name := range result {
		if !slices.Contains(want, name) {
			t.Errorf("%s is of no use", name)
		}
	}
	checkFormula(t, result)
	checkManifest(t, result)
}

// checkFormula checks that each archive for Unix stands in the formula, once, at its place.
func checkFormula(t *testing.T, result map[string]string) {
	t.Helper()
	formula := result["repertoire.rb"]
	rest := formula
	for _, part := range []string{`version "1.2.3"`, "on_macos do", "on_intel do", "darwin_amd64", "on_arm do", "darwin_arm64", "on_linux do", "on_intel do", "linux_amd64", "on_arm do", "linux_arm64", "def install"} {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("no %s at its place in\n%s", part, formula)
		}
		rest = after
	}
	for name, data := range result {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(data)))
		line := fmt.Sprintf("url \"https://github.com/repertoire-skills/repertoire/releases/download/v1.2.3/%s\"\n      sha256 %q", name, sum)
		if strings.HasSuffix(name, ".tar.gz") != strings.Contains(formula, line) {
			t.Errorf("%s in the formula:\n%s", name, formula)
		}
	}
	if strings.Count(formula, "do\n") != strings.Count(formula, "end\n")-2 { // the class and def install
		t.Errorf("blocks that do not end:\n%s", formula)
	}
}

// checkManifest checks the archives in the manifest of Scoop.
func checkManifest(t *testing.T, result map[string]string) {
	t.Helper()
	var m manifest
	try(t, json.Unmarshal([]byte(result["repertoire.json"]), &m))
	for scoop, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		name := "repertoire_1.2.3_windows_" + arch
		a := m.Architecture[scoop]
		if !strings.HasSuffix(a["url"], "/v1.2.3/"+name+".zip") || a["extract_dir"] != name || a["hash"] != fmt.Sprintf("%x", sha256.Sum256([]byte(result[name+".zip"]))) {
			t.Errorf("%s: %v", scoop, a)
		}
	}
}

// TestOnePlatform: a formula with one archive has no empty block.
func TestOnePlatform(t *testing.T) {
	r, binary := newRelease(t, "0.0.0-devel")
	try(t, r.pack(platform{"linux", "arm64"}, binary))
	try(t, r.describe())
	formula := contentsOf(t, r.out)["repertoire.rb"]
	if strings.Contains(formula, "on_macos") || strings.Contains(formula, "on_intel") || !strings.Contains(formula, "on_arm") {
		t.Error(formula)
	}
}

// TestArchives: the files are in one folder, in order, and only the program can be executed.
func TestArchives(t *testing.T) {
	r, binary := newRelease(t, "1.2.3")
	try(t, r.archive(platform{"linux", "amd64"}, binary))
	try(t, r.archive(platform{"windows", "arm64"}, binary))
	result := contentsOf(t, r.out)
	var got []string
	zr, err := gzip.NewReader(strings.NewReader(result["repertoire_1.2.3_linux_amd64.tar.gz"]))
	try(t, err)
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		try(t, err)
		got = append(got, fmt.Sprintf("%v %d %d %s", h.FileInfo().Mode(), h.Uid, h.ModTime.Unix(), h.Name))
	}
	folder := "repertoire_1.2.3_linux_amd64/"
	want := []string{}
	for _, name := range []string{"LICENSE", "README.md", "completions/_skills", "completions/repertoire.fish", "completions/skills.bash", "man/skills.1"} {
		want = append(want, "-rw-r--r-- 0 1000000000 "+folder+name)
	}
	want = append(want, "-rwxr-xr-x 0 1000000000 "+folder+"skills")
	if !slices.Equal(got, want) {
		t.Errorf("files of the tar archive:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	data := []byte(result["repertoire_1.2.3_windows_arm64.zip"])
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	try(t, err)
	if len(files.File) != len(want) || files.File[0].Name != "repertoire_1.2.3_windows_arm64/LICENSE" || files.File[0].Modified.Unix() != 1e9 {
		t.Errorf("files of the zip archive: %v", files.File)
	}
}

// TestNotEmpty: files of an earlier run would be taken for those of this one.
func TestNotEmpty(t *testing.T) {
	r, _ := newRelease(t, "1.2.3")
	try(t, os.WriteFile(filepath.Join(r.out, "old"), nil, 0o600))
	if err := r.make(t.Context(), platforms, ""); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Error(err)
	}
}
