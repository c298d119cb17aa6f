package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A directory is a state directory: its files, its lock, and how what is written there is
// made durable.
type directory struct {
	path string
	wait time.Duration // for the lock
	sync func(*os.File) error
}

// file is the path of a file in the directory.
func (d *directory) file(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// read reads a whole file of at most limit bytes; nil and no error where there is none.
func (d *directory) read(name string, limit int64) ([]byte, error) {
	err := checkDir(d.path)
	var raw []byte
	if err == nil {
		raw, err = readFile(d.file(name), limit)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// saveCached writes one file of a cache, which is a subdirectory, and keeps the cache within
// its bound.
func (d *directory) saveCached(ctx context.Context, cache, key string, bound int, parts ...[]byte) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := makeSubdir(d.file(cache)); err != nil {
		return err
	}
	if err := replaceFile(d.file(cache, hashed(key)), nil, parts...); err != nil {
		return err
	}
	prune(d.file(cache), bound, mostCached)
	return nil
}

// setAside renames a file to the first free backup name. Under the lock no other process
// chooses one.
func (d *directory) setAside(name string) (string, error) {
	path := d.file(name)
	backup := path + ".bak"
	for n := 2; ; n++ {
		_, err := os.Lstat(backup)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", &Error{Reason: Unwritable, Path: backup, Err: err}
		}
		backup = fmt.Sprintf("%s.bak%d", path, n)
	}
	if err := os.Rename(path, backup); err != nil {
		return "", &Error{Reason: Unwritable, Path: backup, Err: err}
	}
	return backup, nil
}

// syncDir makes durable which files the directory has.
func (d *directory) syncDir() error {
	if err := syncDir(d.path, d.sync); err != nil {
		return &Error{Reason: Unwritable, Path: d.path, Err: err}
	}
	return nil
}
