package state

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mcpc/internal/jsonraw"
)

// pinsName is the directory of approved definitions of tools, with one file for each server. Unlike
// a cache they do not expire.
const pinsName = "pins"

// Limits of pins: files, definitions and names of one server, bytes of one definition and of one
// file. The oldest are deleted first.
const (
	maxPinFiles   = 1000
	maxPinned     = 1000
	maxPinNames   = 20
	maxPinnedSize = 1 << 20
	maxPinFile    = 16 << 20
	// pinOverhead is about the size of a pin in a file without its definition.
	pinOverhead = 200
	// noSizeLimit lets prune delete files by their number only.
	noSizeLimit = math.MaxInt64
)

// A Pin is the definition of a tool that the user approved, by its first call or by approving a
// change.
type Pin struct {
	Tool string `json:"tool"`
	// Revision is the protocol revision that the definition was listed in.
	Revision   string          `json:"revision,omitempty"`
	Definition json.RawMessage `json:"definition"`
	// Noted is the caller's text about the last harmless change that the user was shown.
	Noted string    `json:"noted,omitempty"`
	At    time.Time `json:"at"`
}

// Pins are the approved tools of one server.
type Pins struct {
	dir *directory
	key string
}

// A pinFile is a file of pins. Servers are the user's names for the server.
type pinFile struct {
	Version int      `json:"version"`
	Servers []string `json:"servers"`
	Pins    []Pin    `json:"pins"`
}

// Pins returns the pins of a server. key is any text that identifies the server; only its hash is
// stored.
func (s *Store) Pins(key string) *Pins { return &Pins{&s.dir, key} }

// Of returns the pins of one tool, one for each revision, if any. An error means that the file
// cannot be used.
func (p *Pins) Of(tool string) ([]Pin, error) {
	file, err := p.dir.readPins(hashed(p.key))
	return slices.DeleteFunc(file.Pins, func(pin Pin) bool { return pin.Tool != tool }), err
}

// readPins reads a file of pins. It returns the zero value if the file does not exist.
func (d *directory) readPins(name string) (file pinFile, err error) {
	raw, err := d.read(filepath.Join(pinsName, name), maxPinFile)
	if raw == nil {
		return file, err
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return pinFile{}, damagedFile(d.file(pinsName, name), describe(raw, err))
	}
	return file, nil
}

// Save stores a pin, replacing the pin of the same tool and revision. servers are the user's names
// for the server, which DropPins finds its file by. Save ignores a definition that is too large.
func (p *Pins) Save(ctx context.Context, servers []string, pin Pin) error {
	if len(pin.Definition) > maxPinnedSize {
		return nil
	}
	unlock, err := p.dir.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := makeSubdir(p.dir.file(pinsName)); err != nil {
		return err
	}
	file, err := p.dir.readPins(hashed(p.key))
	if err != nil {
		return err
	}
	file.Version = 1
	file.addServers(servers)
	file.addPin(pin)
	raw, err := jsonraw.Marshal(file)
	if err != nil {
		return err
	}
	if err := replaceFile(p.dir.file(pinsName, hashed(p.key)), p.dir.sync, raw); err != nil {
		return err
	}
	prune(p.dir.file(pinsName), maxPinFiles, noSizeLimit)
	return nil
}

// addServers adds the user's names for the server, and keeps the newest ones.
func (f *pinFile) addServers(names []string) {
	for _, name := range names {
		if !slices.Contains(f.Servers, name) {
			f.Servers = append(f.Servers, name)
		}
	}
	f.Servers = f.Servers[max(0, len(f.Servers)-maxPinNames):]
}

// addPin adds a pin in place of the pin of the same tool and revision, and deletes the oldest pins
// if the file would become too large to be read again.
func (f *pinFile) addPin(pin Pin) {
	isReplaced := func(old Pin) bool { return old.Tool == pin.Tool && old.Revision == pin.Revision }
	f.Pins = append(slices.DeleteFunc(f.Pins, isReplaced), pin)
	size := 0
	for i, old := range slices.Backward(f.Pins) {
		size += len(old.Definition) + pinOverhead
		if size > maxPinFile/2 || len(f.Pins)-i > maxPinned { // half, because encoding may add bytes
			f.Pins = f.Pins[i+1:]
			return
		}
	}
}

// DropPins deletes the pins of the servers with these names and returns their number.
func DropPins(ctx context.Context, s *Store, servers []string) (n int, err error) {
	entries, err := os.ReadDir(s.dir.file(pinsName))
	if err != nil {
		return 0, nil // no pins are stored
	}
	unlock, err := s.dir.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, e := range entries {
		file, err := s.dir.readPins(e.Name())
		hasName := func(name string) bool { return slices.Contains(file.Servers, name) }
		if err != nil || !slices.ContainsFunc(servers, hasName) { // a damaged file stays: its names are unknown
			continue
		}
		path := s.dir.file(pinsName, e.Name())
		if err := os.Remove(path); err != nil {
			return n, &Error{Reason: Unwritable, Path: path, Err: err}
		}
		n += len(file.Pins)
	}
	return n, nil
}
