package transport

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxCookies and maxCookieSize limit what a server can make a client keep and send.
const (
	maxCookies    = 50
	maxCookieSize = 4 << 10
)

// cookies are the cookies of a Connector. A load balancer may use a cookie to send all requests of a
// session to one server, so cookies are sent back to the origin that set them.
type cookies struct {
	mu   sync.Mutex
	kept []cookie
}

// A cookie is sent to URLs of its origin and path, before until if that is not zero.
type cookie struct {
	name, value, origin, path string
	expires                   time.Time
}

// store stores the cookies of a response to a request for u. It stores a cookie for TLS only if the
// request used TLS.
func (c *cookies) store(u *url.URL, resp *http.Response, now func() time.Time) {
	if len(resp.Header["Set-Cookie"]) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range resp.Cookies() {
		received := cookie{name: set.Name, value: set.Value, origin: origin(u), path: set.Path}
		// Paths are not compared, because SetCookieField does not know them.
		isReplaced := func(old cookie) bool { return old.name == received.name && old.origin == received.origin }
		c.kept = slices.DeleteFunc(c.kept, isReplaced)
		if set.MaxAge > 0 { // it takes precedence over Expires
			received.expires = now().Add(time.Duration(set.MaxAge) * time.Second)
		} else if set.MaxAge == 0 && !set.Expires.IsZero() {
			received.expires = set.Expires
		}
		isDeletion := set.MaxAge < 0 || received.isExpired(now)
		isForTLS := set.Secure && u.Scheme != "https"
		isTooMuch := len(received.name)+len(received.value) > maxCookieSize || len(c.kept) == maxCookies
		if isDeletion || isForTLS || isTooMuch {
			continue
		}
		c.kept = append(c.kept, received)
	}
}

// isExpired reports whether the cookie must not be sent any more.
func (c cookie) isExpired(now func() time.Time) bool {
	return !c.expires.IsZero() && !c.expires.After(now())
}

// field returns the value of the Cookie field for a request for u, or "".
func (c *cookies) field(u *url.URL, now func() time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pairs []string
	for _, kept := range c.kept {
		// A cookie is sent to its path and the paths below it (RFC 6265, section 5.1.4).
		path := strings.TrimSuffix(kept.path, "/")
		isBelow := path == "" || u.Path == path || strings.HasPrefix(u.Path, path+"/")
		if kept.origin == origin(u) && isBelow && !kept.isExpired(now) {
			pairs = append(pairs, kept.name+"="+kept.value)
		}
	}
	return strings.Join(pairs, "; ")
}

// CookieField returns the value of the Cookie field for a URL, or "", for SetCookieField in a later
// run. Treat it like a credential.
func (c *Connector) CookieField(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return c.cookies.field(u, c.rec.Now)
}

// SetCookieField stores the cookies of an earlier run for the origin of a URL, and any path. It ignores
// a field or a URL that is not valid.
func (c *Connector) SetCookieField(address, field string) {
	u, err := url.Parse(address)
	pairs, fieldErr := http.ParseCookie(field)
	if err != nil || fieldErr != nil {
		return
	}
	c.cookies.mu.Lock()
	defer c.cookies.mu.Unlock()
	for _, pair := range pairs {
		c.cookies.kept = append(c.cookies.kept, cookie{name: pair.Name, value: pair.Value, origin: origin(u), path: "/"})
	}
}
