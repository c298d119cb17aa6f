// Package spool keeps what is too large for memory in files that have no name.
package spool

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

const (
	// Memory is how many bytes a Buffer keeps in memory before the rest goes to a file.
	Memory = 1 << 20
	// Piece is how much of a large value is worked on at once.
	Piece = 256 << 10
	// longPiece is what a Buffer of NewLong keeps in memory.
	longPiece = 64 << 10
)

// A Dir makes Buffers whose files are in that folder, or where none can be made there in that
// of temporary files. The Buffers of "" stay in memory.
type Dir string

// New returns a Buffer for about size bytes; 0 is not known.
func (d Dir) New(size int64) *Buffer {
	b := &Buffer{dir: d, inMemory: d == "" || !mappable, maxInMemory: Memory, piece: Piece}
	if !b.inMemory && size > Memory {
		b.spill()
	}
	if b.file != nil {
		size = Piece
	}
	b.held = make([]byte, 0, max(size, 0)+minRead)
	return b
}

// NewLong returns a Buffer for what is in use besides others and may be long: less of it than
// usual stays in memory.
func (d Dir) NewLong() *Buffer {
	b := d.New(0)
	b.maxInMemory = longPiece
	b.piece = longPiece
	return b
}

// A Buffer takes bytes and gives them back once all are there. Up to Memory of them stay in
// memory; more go to a file that was removed when it was opened, so that nothing is left of it
// however the process ends. A caller must Close it, unless the slice that Bytes returns is used
// until the process ends.
type Buffer struct {
	dir Dir
	// inMemory is set where no file can be used.
	inMemory bool
	// most is how many bytes stay in memory before there is a file, and piece how many are written
	// to it at once.
	maxInMemory, piece int
	// file has the first written bytes, held the rest; mapped all of them in the end.
	file    *os.File
	written int64
	held    []byte
	mapped  []byte
}

// minRead is how much room a read has at least.
const minRead = 512

// Len is the number of bytes that were written.
func (b *Buffer) Len() int64 { return b.written + int64(len(b.held)) }

// InFile reports that the bytes are in a file.
func (b *Buffer) InFile() bool { return b.file != nil || b.mapped != nil }

// Write takes more bytes. The error is that of the file.
func (b *Buffer) Write(p []byte) (int, error) {
	if err := b.makeRoom(len(p)); err != nil {
		return 0, err
	}
	if b.file != nil && len(p) >= cap(b.held) {
		return b.writeFile(p)
	}
	b.held = append(b.held, p...)
	return len(p), nil
}

// ReadFrom takes all that src has. The error is that of src, or a FileError.
func (b *Buffer) ReadFrom(src io.Reader) (n int64, err error) {
	for {
		if err := b.makeRoom(minRead); err != nil {
			return n, err
		}
		read, err := src.Read(b.held[len(b.held):cap(b.held)])
		b.held = b.held[:len(b.held)+read]
		n += int64(read)
		if err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// A FileError is that of the file of a Buffer: its disk is full, for instance.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// room makes room for so many more bytes, or for none where they are many and go to the file.
func (b *Buffer) makeRoom(n int) error {
	if len(b.held)+n <= cap(b.held) {
		return nil
	}
	if b.file == nil && !b.inMemory && len(b.held)+n > b.maxInMemory {
		b.spill()
	}
	if b.file != nil {
		_, err := b.writeFile(b.held)
		b.held = b.held[:0:min(cap(b.held), 2*b.piece)]
		return err
	}
	// Large steps copy little; what is not written to takes no memory.
	size := len(b.held) + max(n, 7*len(b.held))
	if !b.inMemory {
		size = min(size, b.maxInMemory)
	}
	b.held = append(make([]byte, 0, max(size, len(b.held)+n, b.piece)), b.held...)
	return nil
}

// spill goes on in a file. Where none can be made, all stays in memory.
func (b *Buffer) spill() {
	for _, dir := range []string{string(b.dir), os.TempDir()} {
		if f, err := createUnnamed(dir); err == nil {
			b.file = f
			return
		}
	}
	b.inMemory = true
}

func (b *Buffer) writeFile(p []byte) (int, error) {
	n, err := b.file.Write(p)
	b.written += int64(n)
	if err != nil {
		return n, &FileError{err}
	}
	return n, nil
}

// Bytes gives all bytes; nothing can be written any more. Those of a file are mapped: they are
// in memory while they are read, and until Release. They must not be changed, nor used once the
// Buffer is closed.
func (b *Buffer) Bytes() ([]byte, error) {
	if b.file == nil {
		return b.allBytes(), nil
	}
	if _, err := b.writeFile(b.held); err != nil {
		return nil, err
	}
	b.held = nil
	var err error
	b.mapped, err = mapFile(b.file, b.dir, int(b.written))
	if err != nil {
		b.held = make([]byte, b.written)
		if _, err := b.file.ReadAt(b.held, 0); err != nil {
			return nil, &FileError{err}
		}
		b.written = 0
	}
	b.file.Close() // a mapping needs it no more
	b.file = nil
	return b.allBytes(), nil
}

// whole is what is in no file, or mapped.
func (b *Buffer) allBytes() []byte {
	if b.mapped != nil {
		return b.mapped
	}
	return b.held
}

// WriteTo writes all bytes.
func (b *Buffer) WriteTo(w io.Writer) (int64, error) {
	if b.file == nil {
		return WriteAll(w, b.allBytes())
	}
	if _, err := b.writeFile(b.held); err != nil {
		return 0, err
	}
	b.held = b.held[:0]
	return io.Copy(w, io.NewSectionReader(b.file, 0, b.written))
}

// Close gives the file back, and the memory of what Bytes returned.
func (b *Buffer) Close() error {
	var err error
	if b.file != nil {
		err = b.file.Close()
	}
	if b.mapped != nil {
		err = errors.Join(err, unmap(b.mapped))
	}
	b.file = nil
	b.mapped = nil
	b.held = nil
	b.written = 0
	return err
}

// Pieces gives p in pieces, and releases each when the next one is taken.
func Pieces(p []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for piece := range slices.Chunk(p, Piece) {
			if !yield(piece) {
				return
			}
			Release(piece)
		}
	}
}

// Passed releases p[from:to] where that is a piece or more. It returns from where on p is not
// released: a loop over p calls it with what it returned before.
func Passed(p []byte, from, to int) int {
	if to-from < Piece {
		return from
	}
	Release(p[from:to])
	return to
}

// Index returns the place of the first sep in p[at:], counted in p, or len(p). It releases what
// it passes, as far as that is many bytes.
func Index(p []byte, sep string, at int) int {
	for ; at < len(p); at += Piece {
		near := p[at:min(len(p), at+Piece+len(sep)-1)]
		found := -1
		if len(sep) == 1 {
			found = bytes.IndexByte(near, sep[0])
		} else {
			found = bytes.Index(near, []byte(sep))
		}
		if found >= 0 {
			return at + found
		}
		if len(near) >= Piece {
			Release(near[:Piece])
		}
	}
	return len(p)
}

// WriteAll writes p in pieces.
func WriteAll(w io.Writer, p []byte) (n int64, err error) {
	for piece := range Pieces(p) {
		written, err := w.Write(piece)
		n += int64(written)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
