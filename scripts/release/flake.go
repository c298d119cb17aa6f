package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// checkFlake returns an error if the vendorHash of flake.nix is not the hash of the linked modules.
func (r *release) checkFlake() error {
	raw, err := os.ReadFile(filepath.Join(r.root, "flake.nix"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcpc-vendor")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	vendor := filepath.Join(dir, "vendor")
	if err := r.command("go", "mod", "vendor", "-o", vendor).Run(); err != nil {
		return fmt.Errorf("go mod vendor: %w", err)
	}
	want, err := narHash(vendor)
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`vendorHash = "([^"]*)";`).FindSubmatch(raw)
	if found == nil || string(found[1]) != want {
		return fmt.Errorf("flake.nix does not have the modules of go.mod; its line is: vendorHash = %q;", want)
	}
	return nil
}

// narHash returns the hash of a folder in the archive format of Nix. It covers the names, the
// contents and whether a file is executable, but no time and no owner.
func narHash(path string) (string, error) {
	h := sha256.New()
	writeNAR(h, "nix-archive-1")
	if err := writeNode(h, path); err != nil {
		return "", err
	}
	return "sha256-" + base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}

// writeNAR writes strings, each with its length and filled up to eight bytes.
func writeNAR(w io.Writer, words ...string) {
	for _, word := range words {
		n := len(word)
		_ = binary.Write(w, binary.LittleEndian, uint64(n))
		_, _ = io.WriteString(w, word)
		_, _ = w.Write(make([]byte, (8-n%8)%8))
	}
}

// writeNode writes a file or a folder, which have no links among modules. The hash takes all writes
// without an error.
func writeNode(w io.Writer, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	writeNAR(w, "(", "type")
	switch {
	case info.IsDir():
		entries, err := os.ReadDir(path) // sorted by name
		if err != nil {
			return err
		}
		writeNAR(w, "directory")
		for _, e := range entries {
			writeNAR(w, "entry", "(", "name", e.Name(), "node")
			if err := writeNode(w, filepath.Join(path, e.Name())); err != nil {
				return err
			}
			writeNAR(w, ")")
		}
	case info.Mode().IsRegular():
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		writeNAR(w, "regular")
		if info.Mode()&0o111 != 0 {
			writeNAR(w, "executable", "")
		}
		writeNAR(w, "contents", string(raw))
	default:
		return &fs.PathError{Op: "hash", Path: path, Err: fmt.Errorf("neither a file nor a folder")}
	}
	writeNAR(w, ")")
	return nil
}
