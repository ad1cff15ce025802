package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed formula.rb.tmpl
var formulaText string

// A download is an archive in a formula.
type download struct{ OS, Arch, URL, SHA256 string }

// describe writes the checksums of what was made, and the formula and the manifest in
// which they stand.
func (r *release) describe() error {
	slices.Sort(r.made)
	var list strings.Builder
	var unix []download
	windows := make(map[string]download)
	for _, name := range r.made {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		d := download{URL: homepage + "/releases/download/v" + r.version + "/" + name, SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
		fmt.Fprintf(&list, "%s  %s\n", d.SHA256, name)
		for _, p := range platforms {
			d.OS, d.Arch = p.os, p.arch
			switch name {
			case r.base(p) + ".tar.gz":
				unix = append(unix, d)
			case r.base(p) + ".zip":
				windows[p.arch] = d
			}
		}
	}
	if err := os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	if len(unix) > 0 {
		if err := r.writeFormula(unix); err != nil {
			return err
		}
	}
	if len(windows) > 0 {
		return r.writeManifest(windows)
	}
	return nil
}

// writeFormula writes the formula of Homebrew.
func (r *release) writeFormula(downloads []download) error {
	t, err := template.New("formula").Parse(formulaText)
	if err != nil {
		return err
	}
	systems := make(map[string][]download)
	for _, d := range downloads {
		systems[d.OS] = append(systems[d.OS], d)
	}
	var text strings.Builder
	err = t.Execute(&text, map[string]any{"Version": r.version, "Homepage": homepage, "Description": description, "MacOS": systems["darwin"], "Linux": systems["linux"]})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, project+".rb"), []byte(text.String()), 0o644)
}

// A manifest is what Scoop reads.
type manifest struct {
	Version      string                       `json:"version"`
	Description  string                       `json:"description"`
	Homepage     string                       `json:"homepage"`
	License      string                       `json:"license"`
	Architecture map[string]map[string]string `json:"architecture"`
	Bin          []any                        `json:"bin"`
}

// writeManifest writes the manifest of Scoop.
func (r *release) writeManifest(downloads map[string]download) error {
	m := manifest{Version: r.version, Description: description, Homepage: homepage, License: "Apache-2.0",
		Architecture: make(map[string]map[string]string),
		Bin:          []any{program + ".exe", []string{program + ".exe", project}}} // the second under its other name
	for arch, name := range map[string]string{"amd64": "64bit", "arm64": "arm64"} {
		if d, ok := downloads[arch]; ok {
			m.Architecture[name] = map[string]string{"url": d.URL, "hash": d.SHA256, "extract_dir": r.base(platform{"windows", arch})}
		}
	}
	data, err := json.MarshalIndent(m, "", "    ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, project+".json"), append(data, '\n'), 0o644)
}
