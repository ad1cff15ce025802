package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// The folders in which zsh looks for scripts of packages.
const (
	zshOfDebian = "/usr/share/zsh/vendor-completions/"
	zshOfOthers = "/usr/share/zsh/site-functions/"
)

// linuxPackages makes the packages of Debian and of rpm.
func (r *release) linuxPackages(p platform, binary string) error {
	contents, err := r.contents(binary)
	if err != nil {
		return err
	}
	for extension, packager := range map[string]nfpm.Packager{".deb": deb.Default, ".rpm": rpm.DefaultRPM} {
		// A packager changes what it is given.
		info := r.info(p)
		for _, c := range contents {
			info.Contents = append(info.Contents, &c)
		}
		if err := nfpm.PrepareForPackager(nfpm.WithDefaults(info), strings.TrimPrefix(extension, ".")); err != nil {
			return fmt.Errorf("the package %s: %w", extension, err)
		}
		if err := r.create(r.base(p)+extension, func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return err
		}
	}
	return nil
}

// info describes the package.
func (r *release) info(p platform) *nfpm.Info {
	return &nfpm.Info{
		Name: project, Arch: p.arch, Platform: p.os, Version: "v" + r.version, Release: "1",
		Section: "utils", Priority: "optional", License: "Apache-2.0", Homepage: homepage,
		Maintainer: "The authors of Repertoire <repertoire-skills@users.noreply.github.com>", Vendor: "Repertoire",
		Description: description + "\nAmong hundreds or thousands of skills it finds the few that a prompt needs,\nby their full text, and serves them to agents.",
		MTime:       r.date,
		Overridables: nfpm.Overridables{
			Suggests: []string{"git"}, // to install skills from repositories
			RPM:      nfpm.RPM{Group: "Applications/System", BuildHost: "localhost"},
		},
	}
}

// contents returns what a package installs.
func (r *release) contents(binary string) ([]files.Content, error) {
	add := func(list []files.Content, source, destination, kind string, mode os.FileMode) []files.Content {
		return append(list, files.Content{Source: source, Destination: destination, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.date}})
	}
	list := add(nil, binary, "/usr/bin/"+program, files.TypeFile, 0o755)
	list = add(list, program, "/usr/bin/"+project, files.TypeSymlink, 0)
	list = add(list, program+".1.gz", "/usr/share/man/man1/"+project+".1.gz", files.TypeSymlink, 0)
	for _, f := range r.shared {
		to, ok := r.place(f.name)
		if !ok {
			continue
		}
		source := f.source
		if strings.HasSuffix(to, ".gz") {
			source = f.source + ".gz"
			if err := compress(f.source, source); err != nil {
				return nil, err
			}
		}
		list = add(list, source, to, files.TypeFile, f.mode)
		if folder, name := path.Split(to); folder == zshOfDebian {
			list[len(list)-1].Packager = "deb"
			list = add(list, source, zshOfOthers+name, files.TypeFile, f.mode)
			list[len(list)-1].Packager = "rpm"
		}
	}
	return list, nil
}

// place returns where a package installs a file of an archive; ok is false if it does not.
func (r *release) place(name string) (to string, ok bool) {
	base := path.Base(name)
	switch {
	case name == "LICENSE":
		return "/usr/share/doc/" + project + "/copyright", true
	case name == "NOTICE":
		return "/usr/share/doc/" + project + "/NOTICE", true
	case strings.HasPrefix(name, "man/"):
		return "/usr/share/man/man1/" + base + ".gz", true
	case strings.HasSuffix(base, ".bash"):
		return "/usr/share/bash-completion/completions/" + strings.TrimSuffix(base, ".bash"), true
	case strings.HasSuffix(base, ".fish"):
		return "/usr/share/fish/vendor_completions.d/" + base, true
	case strings.HasPrefix(base, "_"):
		return zshOfDebian + base, true
	}
	return "", false
}

// compress writes a compressed copy of a file.
func compress(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	zw, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = zw.Write(data)
	return errors.Join(err, zw.Close(), f.Close())
}
