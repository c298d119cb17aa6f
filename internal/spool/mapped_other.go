//go:build !unix

package spool

import (
	"errors"
	"os"
)

// canMap is false: this package maps files on Unix only. All bytes stay in memory.
const canMap = false

func createUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func mapFile(*os.File, Dir, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

// NewBeside returns a Buffer in memory.
func NewBeside(_ []byte, size int64) *Buffer { return Dir("").New(size) }

// Free does nothing.
func Free([]byte) {}

// Release does nothing.
func Release([]byte) {}

// Annotate does nothing.
func Annotate([]byte, any) {}

// Annotation returns nil.
func Annotation([]byte) any { return nil }
