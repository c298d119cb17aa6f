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

// documents are the files of the repository that every archive has.
var documents = []string{"README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"}

// contents are the files of an archive: bytes by path.
type contents map[string][]byte

// fileMode returns the file mode in an archive. Programs are executable.
func fileMode(name string) int64 {
	switch filepath.Base(name) {
	case "mcpc", "mcpc.exe", "mcpc.js":
		return 0o755
	}
	return 0o644
}

// baseName returns the names of a target's files, without their extensions.
func (r *release) baseName(t target) string {
	return fmt.Sprintf("mcpc_%s_%s_%s", r.version, t.os, t.arch)
}

// archiveName returns the name of a target's archive.
func (r *release) archiveName(t target) string {
	if t.os == "windows" {
		return r.baseName(t) + ".zip"
	}
	return r.baseName(t) + ".tar.gz"
}

func (r *release) writeArchives() error {
	for _, t := range r.targets {
		b := contents{}
		if err := r.addFiles(b, t); err != nil {
			return err
		}
		pack := packTar
		if t.os == "windows" {
			pack = packZip
		}
		raw, err := pack(b, r.baseName(t)+"/", r.time)
		if err != nil {
			return fmt.Errorf("packing %s: %w", r.archiveName(t), err)
		}
		if err := r.write(r.archiveName(t), raw); err != nil {
			return err
		}
		if err := r.addSum(r.archiveName(t)); err != nil { // the recipes have the hash
			return err
		}
	}
	return nil
}

// addFiles adds the files of a target's archive to b.
func (r *release) addFiles(b contents, t target) (err error) {
	if b[t.programName()], err = os.ReadFile(r.binary(t)); err != nil {
		return err
	}
	for _, name := range documents {
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

// packTar returns a tar.gz that does not depend on the user or the time of packing.
func packTar(b contents, prefix string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	gz, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	w := tar.NewWriter(gz)
	for _, name := range sortedKeys(b) {
		head := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     prefix + name,
			Mode:     fileMode(name),
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

// packZip returns the same contents as a zip.
func packZip(b contents, prefix string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range sortedKeys(b) {
		head := &zip.FileHeader{Name: prefix + name, Method: zip.Deflate, Modified: at}
		head.SetMode(os.FileMode(fileMode(name)))
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
