package main

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestGoReleaser: .goreleaser.yaml names the platforms, the files and the places that this
// program has.
func TestGoReleaser(t *testing.T) {
	data, err := os.ReadFile("../.goreleaser.yaml")
	try(t, err)
	var config struct {
		Builds []struct {
			Goos, Goarch, Flags, Ldflags []string
		}
		Nfpms []struct {
			Contents []struct{ Src, Dst string }
			Formats  []string
		}
		Brews []struct{ Install string }
	}
	try(t, yaml.Unmarshal(data, &config))
	var built []platform
	for _, os := range config.Builds[0].Goos {
		for _, arch := range config.Builds[0].Goarch {
			built = append(built, platform{os, arch})
		}
	}
	if !slices.Equal(built, platforms) {
		t.Errorf("it builds %v, and releases have %v", built, platforms)
	}
	for line := range strings.Lines(config.Brews[0].Install) {
		if !strings.Contains(formulaText, "    "+line) {
			t.Errorf("the formula has no %q", line)
		}
	}

	r, binary := newRelease(t, "1.2.3")
	r.shared = nil
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "man/skills.1", "completions/skills.bash", "completions/repertoire.bash", "completions/skills.fish",
		"completions/repertoire.fish", "completions/skills.ps1", "completions/_skills", "completions/_repertoire"} {
		r.shared = append(r.shared, file{name, binary, 0o644})
	}
	contents, err := r.contents(binary)
	try(t, err)
	var ours, theirs []string
	for _, c := range contents {
		ours = append(ours, c.Destination)
	}
	theirs = append(theirs, "/usr/bin/skills") // from bindir
	for _, c := range config.Nfpms[0].Contents {
		if strings.HasSuffix(c.Dst, "/") {
			c.Dst += strings.ReplaceAll(path.Base(c.Src), "*", "")
		}
		theirs = append(theirs, c.Dst)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		t.Errorf("it installs\n%s\nand releases\n%s", strings.Join(theirs, "\n"), strings.Join(ours, "\n"))
	}
}
