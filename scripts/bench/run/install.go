package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// install copies the programs that are measured. How a file was written decides how it lies in
// memory: what a linker wrote starts a millisecond later than a copy, and what was written in
// larger steps than these counts ten megabytes more. So all are written alike.
func (b *bench) install() error {
	own := filepath.Join(b.dir, "bin")
	if err := os.Mkdir(own, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(b.bin)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyProgram(filepath.Join(own, e.Name()), filepath.Join(b.bin, e.Name())); err != nil {
			return err
		}
	}
	b.bin = own
	for name, program := range map[string]*string{"mcpc-a": &b.mcpc, "mcpc-b": &b.against} {
		if *program == "" {
			continue
		}
		to := filepath.Join(own, name)
		if err := copyProgram(to, *program); err != nil {
			return err
		}
		*program = to
	}
	return nil
}

func copyProgram(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	// Neither file copies by itself, in steps of its own.
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 32<<10))
	return errors.Join(err, w.Close())
}
