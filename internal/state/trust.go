package state

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
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

// Trusts are all that the user confirmed, the newest last.
func (s *Store) Trusts() ([]Trust, error) {
	p := s.Private(trustedName)
	raw, err := p.Read()
	if err != nil {
		return nil, err
	}
	return s.decodeTrusts(p, raw)
}

func (s *Store) decodeTrusts(p *Private, raw []byte) ([]Trust, error) {
	var doc struct {
		Trusted []Trust `json:"trusted"`
	}
	if raw == nil {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, &Error{Reason: Damaged, Path: p.Path(), what: "is damaged: " + describe(raw, err).Error(), hint: wire.Hint("rm " + quoted(p.Path()))}
	}
	return doc.Trusted, nil
}

// SaveTrust remembers one. It replaces what was confirmed of the same server before.
func (s *Store) SaveTrust(ctx context.Context, t Trust) error {
	return s.changeTrusts(ctx, func(all []Trust) []Trust {
		all = append(slices.DeleteFunc(all, func(old Trust) bool {
			return old.same(t) || t.Tool == "" && old.Tool == "" && old.Server == t.Server && old.File == t.File
		}), t)
		return all[max(0, len(all)-maxTrusts):]
	})
}

// DropTrusts forgets those that drop picks, and says how many they were.
func (s *Store) DropTrusts(ctx context.Context, drop func(Trust) bool) (n int, err error) {
	err = s.changeTrusts(ctx, func(all []Trust) []Trust {
		left := slices.DeleteFunc(slices.Clone(all), drop)
		n = len(all) - len(left)
		return left
	})
	return n, err
}

func (s *Store) changeTrusts(ctx context.Context, change func([]Trust) []Trust) error {
	p := s.Private(trustedName)
	return p.Update(ctx, func(old []byte) ([]byte, error) {
		all, err := s.decodeTrusts(p, old)
		if err != nil {
			return nil, err
		}
		return jsonraw.Marshal(struct {
			Version int     `json:"version"`
			Trusted []Trust `json:"trusted"`
		}{1, change(all)})
	})
}
