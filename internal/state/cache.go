package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mcpc/internal/jsonraw"
)

// maxVerdicts bounds the verdicts; those written longest ago go first.
const maxVerdicts = 200

// maxVerdict is far more than a verdict's few words.
const maxVerdict = 64 << 10

// A Verdict is what was found out about a server: the next run with the same
// target need not probe.
type Verdict struct {
	Revision  string `json:"revision"`
	Transport string `json:"transport,omitempty"`
	// Capabilities are those that the server declared, where it was asked.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	At           time.Time       `json:"at"`
}

// Verdict returns what is remembered about a server. The key is any text that
// names the server, such as its URL; only a hash of it is kept, because URLs
// and command lines may hold secrets. What cannot be read is not remembered.
func (s *Store) Verdict(key string) (Verdict, bool) {
	var v Verdict
	raw, err := s.dir.read(filepath.Join(verdictsName, hashed(key)), maxVerdict)
	if err != nil || json.Unmarshal(raw, &v) != nil || v.Revision == "" {
		return Verdict{}, false
	}
	return v, true
}

// SaveVerdict remembers v about a server.
func (s *Store) SaveVerdict(ctx context.Context, key string, v Verdict) error {
	if len(v.Capabilities) > maxVerdict/2 {
		v.Capabilities = nil
	}
	raw, err := jsonraw.Marshal(v)
	if err != nil {
		return err
	}
	return s.dir.saveCached(ctx, verdictsName, key, maxVerdicts, raw)
}

// mostCached bounds a cache in bytes; its newest file is kept whatever its size.
const mostCached = 64 << 20

// prune removes the oldest files of a directory that has too many or too large ones. They are
// a cache: what fails here is not worth a word.
func prune(dir string, bound int, size int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	age := make(map[string]time.Time, len(entries))
	sizes := make(map[string]int64, len(entries))
	for _, e := range entries {
		if fi, err := e.Info(); err == nil {
			age[e.Name()], sizes[e.Name()] = fi.ModTime(), fi.Size()
			size -= fi.Size()
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Or(age[a.Name()].Compare(age[b.Name()]), cmp.Compare(a.Name(), b.Name()))
	})
	for i, e := range entries {
		if left := len(entries) - i; left <= bound && size >= 0 || left == 1 {
			return
		}
		_ = os.Remove(filepath.Join(dir, e.Name()))
		size += sizes[e.Name()]
	}
}

// hashed turns any text into a short file name or map key that gives nothing
// of the text away.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}
