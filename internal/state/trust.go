package state

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"mcpc/internal/jsonraw"
)

// trustedName is the file of the user's approvals.
const trustedName = "trusted.json"

// maxTrusts limits the stored approvals; the oldest are deleted first.
const maxTrusts = 500

// A Trust is an approval of a part of another program's file, or of a server's tool, as it was then.
// Only a hash of the approved part is stored, because the part may contain secrets.
type Trust struct {
	Fingerprint string `json:"fingerprint"`
	// Server is the user's name for the server, File the file that contains it. Tool is set if a
	// tool of the server was approved.
	Server string    `json:"server"`
	File   string    `json:"file,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	At     time.Time `json:"at"`
}

// same reports whether two approvals are of the same contents in the same place.
func (t Trust) same(other Trust) bool {
	return t.Fingerprint == other.Fingerprint && t.Server == other.Server && t.File == other.File && t.Tool == other.Tool
}

// Trusts is the file of the user's approvals.
type Trusts struct{ file *Private }

// Trusts returns the file of the user's approvals. It reads nothing.
func (s *Store) Trusts() Trusts { return Trusts{s.Private(trustedName)} }

// All returns the approvals, the newest last.
func (t Trusts) All() ([]Trust, error) {
	raw, err := t.file.Read()
	if err != nil {
		return nil, err
	}
	return t.decode(raw)
}

// decode parses the file's contents. nil, the contents of a missing file, is an empty list.
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

// Save stores an approval. It replaces the earlier approval of the same server in the same file.
func (t Trusts) Save(ctx context.Context, trust Trust) error {
	return t.change(ctx, func(all []Trust) []Trust {
		all = slices.DeleteFunc(all, func(old Trust) bool {
			// A server has one approved entry in a file, but its tools are approved one by one.
			isSameServer := old.Server == trust.Server && old.File == trust.File
			isReplaced := isSameServer && old.Tool == "" && trust.Tool == ""
			return isReplaced || old.same(trust)
		})
		all = append(all, trust)
		return all[max(0, len(all)-maxTrusts):]
	})
}

// Drop deletes the approvals that drop selects, and returns their number.
func (t Trusts) Drop(ctx context.Context, drop func(Trust) bool) (n int, err error) {
	err = t.change(ctx, func(all []Trust) []Trust {
		remaining := slices.DeleteFunc(slices.Clone(all), drop)
		n = len(all) - len(remaining)
		return remaining
	})
	return n, err
}

// change replaces the list of approvals by the result of edit, under the lock.
func (t Trusts) change(ctx context.Context, edit func([]Trust) []Trust) error {
	return t.file.Update(ctx, func(old []byte) ([]byte, error) {
		all, err := t.decode(old)
		if err != nil {
			return nil, err
		}
		return jsonraw.Marshal(struct {
			Version int     `json:"version"`
			Trusted []Trust `json:"trusted"`
		}{1, edit(all)})
	})
}
