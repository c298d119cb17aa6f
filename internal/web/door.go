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
	tokenLife = time.Minute
	mostPages = 16
)

// A digest stands for a secret, which itself is not kept.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// A door lets pages in by a token that works once, and knows them by their keys.
type door struct {
	now  func() time.Time
	rand io.Reader

	mu      sync.Mutex
	current digest
	until   time.Time // zero: no token
	pages   map[digest]*page
}

// A page is one that was let in. A browser that copies a tab copies its key, so a page can read
// several streams of events.
type page struct {
	seen    time.Time
	streams int
}

var (
	errToken = errors.New(
		"this address was used, or is older than a minute: Enter at the terminal of mcpc prints a new one",
	)
	errPages = errors.New("16 pages are open: close one first")
)

// secret is 256 bits of chance as text.
func (d *door) secret() string {
	var b [32]byte
	if _, err := io.ReadFull(d.rand, b[:]); err != nil {
		panic(err) // no page may be let in by a secret that can be guessed
	}
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// token makes the token that lets one page in.
func (d *door) token() string {
	token := d.secret()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current, d.until = digestOf(token), d.now().Add(tokenLife)
	return token
}

// enter gives the key of a page that has the token. Of many pages the one that was quiet for
// longest gives way, unless all of them are open.
func (d *door) enter(token string) (key string, err error) {
	given := digestOf(token)
	d.mu.Lock()
	defer d.mu.Unlock()
	if same := subtle.ConstantTimeCompare(given[:], d.current[:]) == 1; !same || d.now().After(d.until) {
		return "", errToken
	}
	if len(d.pages) >= mostPages {
		oldest := digest{}
		found := false
		for k, p := range d.pages {
			if p.streams == 0 && (!found || p.seen.Before(d.pages[oldest].seen)) {
				oldest = k
				found = true
			}
		}
		if !found {
			return "", errPages
		}
		delete(d.pages, oldest)
	}
	d.until = time.Time{}
	key = d.secret()
	d.pages[digestOf(key)] = &page{seen: d.now()}
	return key, nil
}

// know reports whether a key is that of a page. The map is of digests, so how long a look takes
// tells nothing about a key.
func (d *door) know(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pages[digestOf(key)]
	if p == nil {
		return false
	}
	p.seen = d.now()
	return true
}

// open notes a stream of events of a page; done is called when it ends.
func (d *door) open(key string) (done func(), err error) {
	if d.streams() >= mostPages {
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
		p.seen = d.now()
	}, nil
}

// streams counts what pages read of events.
func (d *door) streams() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pages {
		n += p.streams
	}
	return n
}
