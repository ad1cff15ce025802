package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file is one file of an archive.
type file struct {
	name   string // in the archive, with slashes
	source string // its path
	mode   fs.FileMode
}

// base returns the name of what is made for a platform, without its extension.
func (r *release) base(p platform) string {
	return strings.Join([]string{project, r.version, p.os, p.arch}, "_")
}

// archive makes the archive of a platform. All its files are in one folder.
func (r *release) archive(p platform, binary string) error {
	files := append([]file{{filepath.Base(binary), binary, 0o755}}, r.shared...)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	name, write := r.base(p)+".tar.gz", writeTar
	if p.os == "windows" {
		name, write = r.base(p)+".zip", writeZip
	}
	return r.create(name, func(w io.Writer) error { return write(w, r.base(p), files, r.date) })
}

// create makes a file of the result.
func (r *release) create(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	r.made = append(r.made, name)
	return errors.Join(write(f), f.Close())
}

// writeTar writes a compressed tar archive. Owner and times are the same for all files.
func writeTar(w io.Writer, folder string, files []file, date time.Time) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		data, err := os.ReadFile(f.source)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(data)), ModTime: date, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), zw.Close())
}

// writeZip writes a zip archive.
func writeZip(w io.Writer, folder string, files []file, date time.Time) error {
	zw := zip.NewWriter(w)
	for _, f := range files {
		data, err := os.ReadFile(f.source)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: date}
		h.SetMode(f.mode)
		fw, err := zw.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := fw.Write(data); err != nil {
			return err
		}
	}
	return zw.Close()
}
