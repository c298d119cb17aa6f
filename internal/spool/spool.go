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

// A Dir makes Buffers whose files are in this directory, or in the directory of temporary files if
// no file can be made here. The Buffers of "" stay in memory.
type Dir string

// New returns a Buffer for about size bytes; 0 means that the size is unknown.
func (d Dir) New(size int64) *Buffer {
	b := &Buffer{dir: d, staysInMemory: d == "" || !canMap, maxInMemory: Memory, piece: Piece}
	if !b.staysInMemory && size > Memory {
		b.spill()
	}
	if b.file != nil {
		size = Piece
	}
	b.pending = make([]byte, 0, max(size, 0)+minRead)
	return b
}

// NewLong returns a Buffer that keeps less than usual in memory. It is for values that are long and
// used at the same time as others.
func (d Dir) NewLong() *Buffer {
	b := d.New(0)
	b.maxInMemory = longPiece
	b.piece = longPiece
	return b
}

// A Buffer stores bytes, and returns them once all are written. It keeps up to Memory bytes in
// memory. More go to a file without a name, which disappears with the process. The caller closes
// the Buffer, unless it uses the slice of Bytes until the process ends.
type Buffer struct {
	dir Dir
	// staysInMemory is set if no file can be used.
	staysInMemory bool
	// maxInMemory is how many bytes stay in memory before the file is created, and piece how many are
	// written to the file at once.
	maxInMemory, piece int
	// file contains the first bytes, as many as written, and pending has the rest. file is nil before
	// the bytes exceed maxInMemory, and after Bytes.
	file    *os.File
	written int64
	pending []byte
	// mapped has all bytes after Bytes has mapped the file, else it is nil.
	mapped []byte
}

// minRead is the minimum room for one read, in bytes.
const minRead = 512

// Len returns the number of bytes that were written.
func (b *Buffer) Len() int64 { return b.written + int64(len(b.pending)) }

// InFile reports whether the bytes are in a file.
func (b *Buffer) InFile() bool { return b.file != nil || b.mapped != nil }

// Write stores more bytes. The error is from the file.
func (b *Buffer) Write(p []byte) (int, error) {
	if err := b.makeRoom(len(p)); err != nil {
		return 0, err
	}
	if b.file != nil && len(p) >= cap(b.pending) {
		return b.writeFile(p)
	}
	b.pending = append(b.pending, p...)
	return len(p), nil
}

// ReadFrom stores all bytes of src. The error is from src, or a *FileError.
func (b *Buffer) ReadFrom(src io.Reader) (n int64, err error) {
	for {
		if err := b.makeRoom(minRead); err != nil {
			return n, err
		}
		read, err := src.Read(b.pending[len(b.pending):cap(b.pending)])
		b.pending = b.pending[:len(b.pending)+read]
		n += int64(read)
		if err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// A FileError is an error of the file of a Buffer: its disk is full, for instance.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// makeRoom makes room for n more bytes in memory. If a file is used, it empties the memory into the
// file instead; the room may be smaller than n then.
func (b *Buffer) makeRoom(n int) error {
	if len(b.pending)+n <= cap(b.pending) {
		return nil
	}
	if b.file == nil && !b.staysInMemory && len(b.pending)+n > b.maxInMemory {
		b.spill()
	}
	if b.file != nil {
		_, err := b.writeFile(b.pending)
		b.pending = b.pending[:0:min(cap(b.pending), 2*b.piece)]
		return err
	}
	// Growing eightfold copies few bytes. Pages that are not written to take no memory.
	size := len(b.pending) + max(n, 7*len(b.pending))
	if !b.staysInMemory {
		size = min(size, b.maxInMemory)
	}
	b.pending = append(make([]byte, 0, max(size, len(b.pending)+n, b.piece)), b.pending...)
	return nil
}

// spill creates the file. If that fails, all bytes stay in memory.
func (b *Buffer) spill() {
	for _, dir := range []string{string(b.dir), os.TempDir()} {
		if f, err := createUnnamed(dir); err == nil {
			b.file = f
			return
		}
	}
	b.staysInMemory = true
}

func (b *Buffer) writeFile(p []byte) (int, error) {
	n, err := b.file.Write(p)
	b.written += int64(n)
	if err != nil {
		return n, &FileError{err}
	}
	return n, nil
}

// Bytes returns all bytes. Nothing can be written afterwards. The bytes of a file are mapped: they
// take memory after they are read, until Release. They must not be changed, nor used after Close.
func (b *Buffer) Bytes() ([]byte, error) {
	if b.file == nil {
		return b.allBytes(), nil
	}
	if _, err := b.writeFile(b.pending); err != nil {
		return nil, err
	}
	b.pending = nil
	var err error
	b.mapped, err = mapFile(b.file, b.dir, int(b.written))
	if err != nil {
		b.pending = make([]byte, b.written)
		if _, err := b.file.ReadAt(b.pending, 0); err != nil {
			return nil, &FileError{err}
		}
		b.written = 0
	}
	b.file.Close() // a mapping does not need the open file
	b.file = nil
	return b.allBytes(), nil
}

// allBytes returns all bytes, after no file is open any more.
func (b *Buffer) allBytes() []byte {
	if b.mapped != nil {
		return b.mapped
	}
	return b.pending
}

// WriteTo writes all bytes.
func (b *Buffer) WriteTo(w io.Writer) (int64, error) {
	if b.file == nil {
		return WriteAll(w, b.allBytes())
	}
	if _, err := b.writeFile(b.pending); err != nil {
		return 0, err
	}
	b.pending = b.pending[:0]
	return io.Copy(w, io.NewSectionReader(b.file, 0, b.written))
}

// Close closes the file and frees the memory that Bytes returned.
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
	b.pending = nil
	b.written = 0
	return err
}

// Pieces yields p in pieces. It releases each piece when the next one is taken.
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

// ReleasePassed releases p[from:to] if it has at least Piece bytes. It returns the offset where the
// part of p that is not released begins, for the next call of a loop over p.
func ReleasePassed(p []byte, from, to int) int {
	if to-from < Piece {
		return from
	}
	Release(p[from:to])
	return to
}

// Index returns the offset of the first sep at or after at, or len(p). It releases the pieces that
// it has searched.
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
