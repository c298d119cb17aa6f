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

// The definitions of tools that the user approved are in pins/HASH, a file for each server.
// Unlike the caches they are not believed for a time only.
const pinsName = "pins"

// Limits of what is remembered: files, tools and names of one server, bytes of one definition
// and of one file. What was written longest ago goes first.
const (
	maxPinFiles   = 1000
	maxPinned     = 1000
	maxPinNames   = 20
	maxPinnedSize = 1 << 20
	maxPinFile    = 16 << 20
)

// A Pin is the definition of a tool as the user approved it: by the first call of it, or by a
// yes to a change.
type Pin struct {
	Tool string `json:"tool"`
	// Revision is that of the protocol in which the definition was listed.
	Revision   string          `json:"revision,omitempty"`
	Definition json.RawMessage `json:"definition"`
	// Noted is what the caller last told the user of a harmless change, in its own words.
	Noted string    `json:"noted,omitempty"`
	At    time.Time `json:"at"`
}

// Pins are the approved tools of one server.
type Pins struct {
	dir *directory
	key string
}

// pinFile is a file of pins. Servers are the names that the user calls the server by.
type pinFile struct {
	Version int      `json:"version"`
	Servers []string `json:"servers"`
	Pins    []Pin    `json:"pins"`
}

// Pins are those of a server. The key is any text that names it; only a hash of it is kept.
func (s *Store) Pins(key string) *Pins { return &Pins{&s.dir, key} }

// Of gives the pins of one tool, one for each revision; none where nothing is remembered. An
// error means that there is a file that cannot be used.
func (p *Pins) Of(tool string) ([]Pin, error) {
	file, err := p.dir.readPins(hashed(p.key))
	return slices.DeleteFunc(file.Pins, func(pin Pin) bool { return pin.Tool != tool }), err
}

// readPins reads the file of that name; without one there are no pins.
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

// Save remembers a pin in place of the one of the same tool and revision. servers are names that
// the user calls the server by. A definition that is too large is left out.
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
	for _, name := range servers {
		if !slices.Contains(file.Servers, name) {
			file.Servers = append(file.Servers, name)
		}
	}
	file.Servers = file.Servers[max(0, len(file.Servers)-maxPinNames):]
	file.Pins = append(
		slices.DeleteFunc(file.Pins, func(old Pin) bool { return old.Tool == pin.Tool && old.Revision == pin.Revision }),
		pin,
	)
	size := 0
	for i, old := range slices.Backward(file.Pins) {
		size += len(old.Definition) + 200
		if size > maxPinFile/2 || len(file.Pins)-i > maxPinned {
			file.Pins = file.Pins[i+1:]
			break
		}
	}
	raw, err := jsonraw.Marshal(file)
	if err != nil {
		return err
	}
	if err := replaceFile(p.dir.file(pinsName, hashed(p.key)), p.dir.sync, raw); err != nil {
		return err
	}
	prune(p.dir.file(pinsName), maxPinFiles, math.MaxInt64)
	return nil
}

// DropPins forgets the tools of the servers with these names, and says how many they were.
func DropPins(ctx context.Context, s *Store, servers []string) (n int, err error) {
	entries, err := os.ReadDir(s.dir.file(pinsName))
	if err != nil {
		return 0, nil // there are none
	}
	unlock, err := s.dir.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, e := range entries {
		file, err := s.dir.readPins(e.Name())
		if err != nil ||
			!slices.ContainsFunc(servers, func(name string) bool { return slices.Contains(file.Servers, name) }) {
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
