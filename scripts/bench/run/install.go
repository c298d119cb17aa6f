package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// install copies the measured programs. How a file was written affects its layout in memory: a file
// written by a linker starts a millisecond later than a copy, and a file written in larger steps
// uses ten more megabytes. All programs are therefore written in the same way.
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

func copyProgram(dst, src string) error {
	r, err := os.Open(src)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	// These wrappers hide the copy methods of the files, which copy in larger steps.
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 32<<10))
	return errors.Join(err, w.Close())
}
