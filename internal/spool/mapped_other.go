//go:build !unix

package spool

import (
	"errors"
	"os"
)

// Elsewhere all stays in memory.

const mappable = false

func createUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

// Release does nothing.
func Release([]byte) {}

// Note does nothing.
func Note([]byte, any) {}

// Noted gives nil.
func Noted([]byte) any { return nil }
