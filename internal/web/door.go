package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// tokenLifetime is how long a token is valid. maxPages bounds the admitted pages and the open streams
	// of events.
	tokenLifetime = time.Minute
	maxPages      = 16
)

// A digest is the hash of a secret. The door does not store the secret itself.
type digest [sha256.Size]byte

// digestOf returns the digest of a secret.
func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// A door admits pages by a one-time token, and recognizes them by their keys.
type door struct {
	now  func() time.Time
	rand io.Reader

	// mu guards the fields below.
	mu         sync.Mutex
	current    digest           // of the current token
	validUntil time.Time        // when the token ends; zero if there is no token
	pages      map[digest]*page // by the digests of their keys
}

// A page is an admitted page. A browser that copies a tab copies its key, so a page can read
// several streams of events.
type page struct {
	lastSeen time.Time
	streams  int
}

var (
	errToken = errors.New(
		"this address was used, or is older than a minute: Enter at the terminal of mcpc prints a new one",
	)
	errPages = errors.New("16 pages are open: close one first")
)

// secret returns 256 random bits as text.
func (d *door) secret() string {
	var b [32]byte
	if _, err := io.ReadFull(d.rand, b[:]); err != nil {
		panic(err) // a secret that can be guessed must not admit a page
	}
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// token returns a new token that admits one page within tokenLifetime. The previous token becomes
// invalid.
func (d *door) token() string {
	token := d.secret()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current = digestOf(token)
	d.validUntil = d.now().Add(tokenLifetime)
	return token
}

// enter admits a page by its token, and returns the page's key. The token becomes invalid. If there
// are maxPages pages, enter removes the page that was inactive for longest, and returns errPages if
// all of them read events. It returns errToken for an invalid token.
func (d *door) enter(token string) (key string, err error) {
	given := digestOf(token)
	d.mu.Lock()
	defer d.mu.Unlock()
	isCurrent := subtle.ConstantTimeCompare(given[:], d.current[:]) == 1
	if !isCurrent || d.now().After(d.validUntil) {
		return "", errToken
	}
	if len(d.pages) >= maxPages && !d.removeInactiveLocked() {
		return "", errPages
	}
	d.validUntil = time.Time{} // a token admits one page only
	key = d.secret()
	d.pages[digestOf(key)] = &page{lastSeen: d.now()}
	return key, nil
}

// removeInactiveLocked removes the page that was inactive for longest. It reports false if all pages
// read events.
func (d *door) removeInactiveLocked() bool {
	var oldest *page
	var oldestKey digest
	for key, p := range d.pages {
		if p.streams > 0 { // the page is open
			continue
		}
		if oldest == nil || p.lastSeen.Before(oldest.lastSeen) {
			oldest = p
			oldestKey = key
		}
	}
	if oldest == nil {
		return false
	}
	delete(d.pages, oldestKey)
	return true
}

// knows reports whether a page has the key. The map has digests as keys, so the time of a lookup
// reveals nothing about a key.
func (d *door) knows(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pages[digestOf(key)]
	if p == nil {
		return false
	}
	p.lastSeen = d.now()
	return true
}

// openStream counts a stream of events of a page. The caller calls done at the end of the stream. It
// returns an error if too many streams are open or the key is unknown.
func (d *door) openStream(key string) (done func(), err error) {
	if d.streams() >= maxPages {
		return nil, errPages
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pages[digestOf(key)]
	if p == nil {
		return nil, errToken
	}
	p.streams++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		p.streams--
		p.lastSeen = d.now()
	}, nil
}

// streams returns the number of open streams of events.
func (d *door) streams() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, p := range d.pages {
		n += p.streams
	}
	return n
}
