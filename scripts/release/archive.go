package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// papers are the files of the repository that every archive has.
var papers = []string{"README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"}

// contents are the files of an archive: bytes by path.
type contents map[string][]byte

// mode returns the file mode in an archive. Programs are executable.
func mode(name string) int64 {
	switch filepath.Base(name) {
	case "mcpc", "mcpc.exe", "mcpc.js":
		return 0o755
	}
	return 0o644
}

// stem returns the names of a target's files, without their extensions.
func (r *release) stem(t target) string {
	return fmt.Sprintf("mcpc_%s_%s_%s", r.version, t.os, t.arch)
}

// archive returns the name of a target's archive.
func (r *release) archive(t target) string {
	if t.os == "windows" {
		return r.stem(t) + ".zip"
	}
	return r.stem(t) + ".tar.gz"
}

func (r *release) archives() error {
	for _, t := range r.targets {
		b := contents{}
		if err := r.fill(b, t); err != nil {
			return err
		}
		pack := tarred
		if t.os == "windows" {
			pack = zipped
		}
		raw, err := pack(b, r.stem(t)+"/", r.time)
		if err != nil {
			return fmt.Errorf("packing %s: %w", r.archive(t), err)
		}
		if err := r.write(r.archive(t), raw); err != nil {
			return err
		}
		if err := r.sum(r.archive(t)); err != nil { // the recipes have the hash
			return err
		}
	}
	return nil
}

// fill adds the files of a target's archive to b.
func (r *release) fill(b contents, t target) (err error) {
	if b[t.exe()], err = os.ReadFile(r.binary(t)); err != nil {
		return err
	}
	for _, name := range papers {
		if b[name], err = os.ReadFile(filepath.Join(r.root, name)); err != nil {
			return err
		}
	}
	b["THIRD-PARTY.txt"] = r.notices
	return filepath.WalkDir(r.extra, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(r.extra, path)
		b[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
}

// tarred returns a tar.gz that does not depend on the user or the time of packing.
func tarred(b contents, prefix string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	gz, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	w := tar.NewWriter(gz)
	for _, name := range sorted(b) {
		head := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     prefix + name,
			Mode:     mode(name),
			Size:     int64(len(b[name])),
			ModTime:  at,
			Format:   tar.FormatUSTAR,
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(b[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := gz.Close()
	return out.Bytes(), err
}

// zipped returns the same contents as a zip.
func zipped(b contents, prefix string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range sorted(b) {
		head := &zip.FileHeader{Name: prefix + name, Method: zip.Deflate, Modified: at}
		head.SetMode(os.FileMode(mode(name)))
		part, err := w.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(b[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
