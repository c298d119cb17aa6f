//go:build !unix

package spool

import (
	"errors"
	"os"
)

// Elsewhere all stays in memory.

const mappable = false

func createUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func mapFile(*os.File, Dir, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

// Beside returns a Buffer in memory.
func Beside(_ []byte, size int64) *Buffer { return Dir("").New(size) }

// Free does nothing.
func Free([]byte) {}

// Release does nothing.
func Release([]byte) {}

// Note does nothing.
func Note([]byte, any) {}

// Noted gives nil.
func Noted([]byte) any { return nil }
