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

// A directory is a state directory with its lock and its way to make writes durable.
type directory struct {
	path string
	// wait limits the time to wait for the lock.
	wait time.Duration
	// sync makes a file durable. Tests replace it.
	sync func(*os.File) error
}

// file returns the path of a file in the directory.
func (d *directory) file(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// read returns a file of at most limit bytes. It returns nil without an error if the file or the
// directory does not exist.
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

// saveCached writes the file of a key in a cache, and removes old files. A cache is a subdirectory
// with at most maxFiles files. parts are the file's contents.
func (d *directory) saveCached(ctx context.Context, cache, key string, maxFiles int, parts ...[]byte) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := makeSubdir(d.file(cache)); err != nil {
		return err
	}
	noSync := (func(*os.File) error)(nil) // a cache may be lost
	if err := replaceFile(d.file(cache, hashed(key)), noSync, parts...); err != nil {
		return err
	}
	prune(d.file(cache), maxFiles, maxCacheSize)
	return nil
}

// setAside renames a file to the first free backup name and returns that name. The caller holds the
// lock, so that no other process chooses the same name.
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

// syncDir makes the names of the directory's files durable.
func (d *directory) syncDir() error {
	if err := syncDir(d.path, d.sync); err != nil {
		return &Error{Reason: Unwritable, Path: d.path, Err: err}
	}
	return nil
}
