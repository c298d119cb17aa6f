package transport

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A balancer in front of several servers may lead the requests of a session to one of them by a cookie. So the cookies
// that a server sets are sent back, to the origin that set them.

// mostCookies and longestCookie bound what a server can make a client keep and send.
const (
	mostCookies   = 50
	longestCookie = 4 << 10
)

// cookies are the cookies of a Connector.
type cookies struct {
	mu   sync.Mutex
	kept []cookie
}

// A cookie is sent to URLs of its origin and path, until a time if that is not zero.
type cookie struct {
	name, value, origin, path string
	until                     time.Time
}

// keep takes over what a response to a request for u sets. A cookie for TLS only is kept only if the request used it.
func (c *cookies) keep(u *url.URL, resp *http.Response, now func() time.Time) {
	if len(resp.Header["Set-Cookie"]) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range resp.Cookies() {
		one := cookie{name: set.Name, value: set.Value, origin: origin(u), path: set.Path}
		// It replaces one of the name, whatever their paths, which SetCookieField does not know.
		c.kept = slices.DeleteFunc(c.kept, func(old cookie) bool { return old.name == one.name && old.origin == one.origin })
		if set.MaxAge > 0 {
			one.until = now().Add(time.Duration(set.MaxAge) * time.Second)
		} else if set.MaxAge == 0 && !set.Expires.IsZero() {
			one.until = set.Expires
		}
		isOver := set.MaxAge < 0 || !one.until.IsZero() && !one.until.After(now())
		if isOver || set.Secure && u.Scheme != "https" || len(one.name)+len(one.value) > longestCookie ||
			len(c.kept) == mostCookies {
			continue
		}
		c.kept = append(c.kept, one)
	}
}

// field returns the value of the Cookie field for a request for u, "" for none.
func (c *cookies) field(u *url.URL, now func() time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pairs []string
	for _, one := range c.kept {
		isOver := !one.until.IsZero() && !one.until.After(now())
		// It is sent to its path and those below (RFC 6265, section 5.1.4), or to all if it has none.
		path := strings.TrimSuffix(one.path, "/")
		isBelow := path == "" || u.Path == path || strings.HasPrefix(u.Path, path+"/")
		if !isOver && one.origin == origin(u) && isBelow {
			pairs = append(pairs, one.name+"="+one.value)
		}
	}
	return strings.Join(pairs, "; ")
}

// CookieField returns the Cookie field of requests for a URL, for SetCookieField in a later run. It is as good as a
// credential, and "" if there is none.
func (c *Connector) CookieField(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return c.cookies.field(u, c.rec.Now)
}

// SetCookieField keeps cookies of an earlier run for the origin of a URL.
func (c *Connector) SetCookieField(address, field string) {
	u, err := url.Parse(address)
	pairs, bad := http.ParseCookie(field)
	if err != nil || bad != nil {
		return
	}
	c.cookies.mu.Lock()
	defer c.cookies.mu.Unlock()
	for _, pair := range pairs {
		c.cookies.kept = append(c.cookies.kept, cookie{name: pair.Name, value: pair.Value, origin: origin(u), path: "/"})
	}
}
