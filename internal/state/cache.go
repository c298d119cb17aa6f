package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
)

// maxNegotiated limits the number of verdicts; the oldest are deleted first.
const maxNegotiated = 200

// maxNegotiatedSize limits one verdict in bytes. A verdict has a few words.
const maxNegotiatedSize = 64 << 10

// A Verdict is what an earlier command negotiated with a server, so that the next command with
// the same target need not probe it.
type Verdict struct {
	Revision  string `json:"revision"`
	Transport string `json:"transport,omitempty"`
	// Capabilities are the server's capabilities, or nil if they are unknown.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	At           time.Time       `json:"at"`
}

// Verdict returns the verdict about a server, if a readable one is stored. key is any text that
// identifies the server, such as its URL. Only a hash of it is stored, because URLs and command
// lines may contain secrets.
func (s *Store) Verdict(key string) (Verdict, bool) {
	var v Verdict
	raw, err := s.dir.read(filepath.Join(negotiatedName, hashed(key)), maxNegotiatedSize)
	if err != nil || json.Unmarshal(raw, &v) != nil || v.Revision == "" { // raw is nil if there is no file
		return Verdict{}, false
	}
	return v, true
}

// SaveVerdict stores the verdict about a server.
func (s *Store) SaveVerdict(ctx context.Context, key string, v Verdict) error {
	if len(v.Capabilities) > maxNegotiatedSize/2 {
		v.Capabilities = nil // so that the file stays below the limit of its reader
	}
	raw, err := jsonraw.Marshal(v)
	if err != nil {
		return err
	}
	return s.dir.saveCached(ctx, negotiatedName, key, maxNegotiated, raw)
}

// maxCacheSize limits a cache in bytes. Its newest file is kept whatever its size.
const maxCacheSize = 64 << 20

// prune deletes the oldest files of a directory until it has at most maxFiles files and maxBytes
// bytes. It keeps the newest file even if that is larger, and ignores errors: files that remain do
// no harm.
func prune(dir string, maxFiles int, maxBytes int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	modified := make(map[string]time.Time, len(entries))
	sizes := make(map[string]int64, len(entries))
	freeBytes := maxBytes // negative if the files are too large
	for _, e := range entries {
		if fi, err := e.Info(); err == nil {
			modified[e.Name()] = fi.ModTime()
			sizes[e.Name()] = fi.Size()
			freeBytes -= fi.Size()
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		if order := modified[a.Name()].Compare(modified[b.Name()]); order != 0 {
			return order
		}
		return strings.Compare(a.Name(), b.Name())
	})
	for i, e := range entries {
		remaining := len(entries) - i
		isWithinLimits := remaining <= maxFiles && freeBytes >= 0
		if remaining == 1 || isWithinLimits {
			return
		}
		_ = os.Remove(filepath.Join(dir, e.Name()))
		freeBytes += sizes[e.Name()]
	}
}

// hashed returns a short file name for a text that does not reveal the text.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}
