package state

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"mcpc/internal/jsonraw"
)

// trustedName is the file of what the user confirmed.
const trustedName = "trusted.json"

// maxTrusts bounds what is remembered; what was confirmed longest ago goes first.
const maxTrusts = 500

// A Trust is a part of another program's file, or of what a server says, that the user
// confirmed as it was then. It is not kept itself, only a hash of it: it may hold secrets.
type Trust struct {
	Fingerprint string `json:"fingerprint"`
	// Server is what the user calls the server, and File the file that it is from. Tool
	// is set where a tool of the server was confirmed.
	Server string    `json:"server"`
	File   string    `json:"file,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	At     time.Time `json:"at"`
}

// same: of one thing the last confirmation counts, beside those of other forms that it
// has elsewhere.
func (t Trust) same(other Trust) bool {
	return t.Fingerprint == other.Fingerprint && t.Server == other.Server && t.File == other.File && t.Tool == other.Tool
}

// Trusts is the file of what the user confirmed.
type Trusts struct{ file *Private }

// Trusts is what the user confirmed. Nothing is read yet.
func (s *Store) Trusts() Trusts { return Trusts{s.Private(trustedName)} }

// All returns what the user confirmed, the newest last.
func (t Trusts) All() ([]Trust, error) {
	raw, err := t.file.Read()
	if err != nil {
		return nil, err
	}
	return t.decode(raw)
}

func (t Trusts) decode(raw []byte) ([]Trust, error) {
	var doc struct {
		Trusted []Trust `json:"trusted"`
	}
	if raw == nil {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, damagedFile(t.file.Path(), describe(raw, err))
	}
	return doc.Trusted, nil
}

// Save remembers one. It replaces what was confirmed of the same server before.
func (t Trusts) Save(ctx context.Context, one Trust) error {
	return t.change(ctx, func(all []Trust) []Trust {
		all = append(slices.DeleteFunc(all, func(old Trust) bool {
			return old.same(one) || one.Tool == "" && old.Tool == "" && old.Server == one.Server && old.File == one.File
		}), one)
		return all[max(0, len(all)-maxTrusts):]
	})
}

// Drop forgets those that drop picks, and returns how many they were.
func (t Trusts) Drop(ctx context.Context, drop func(Trust) bool) (n int, err error) {
	err = t.change(ctx, func(all []Trust) []Trust {
		left := slices.DeleteFunc(slices.Clone(all), drop)
		n = len(all) - len(left)
		return left
	})
	return n, err
}

func (t Trusts) change(ctx context.Context, change func([]Trust) []Trust) error {
	return t.file.Update(ctx, func(old []byte) ([]byte, error) {
		all, err := t.decode(old)
		if err != nil {
			return nil, err
		}
		return jsonraw.Marshal(struct {
			Version int     `json:"version"`
			Trusted []Trust `json:"trusted"`
		}{1, change(all)})
	})
}
