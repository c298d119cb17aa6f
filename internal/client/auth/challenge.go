package auth

import (
	"regexp"
	"strings"
	"sync"
)

// A Challenge is one of those that a WWW-Authenticate field holds (RFC 9110,
// section 11.6.1). Scheme and names are in lower case; of a parameter that stands
// twice the first counts.
type Challenge struct {
	Scheme string
	Params map[string]string
	// MoreMetadata are further values of resource_metadata, of this challenge or of others beside it.
	MoreMetadata []string
}

// A scheme may be followed by credentials, as Negotiate is, which have no parameters; the
// value of a parameter is a token or a quoted-string, and one that does not end is taken as
// it is. Some servers write single quotes.
const (
	blanks   = " \t\r\n"
	blank    = `[` + blanks + `]*`
	word     = `[-\w!#$%&'*+.^\x60|~]+`
	token68  = `[-\w!#$%&'*+.^\x60|~/]+=*`
	quoted   = `"((?:[^"\\]|\\.|\\$)*)"?`
	single   = `'([^',]*)'`
	unquoted = `([^,` + blanks + `]*)`
)

var (
	schemeIn = compiled(`^(` + word + `)(?:` + blank + token68 + blank + `(?:,|$))?`)
	paramIn  = compiled(`(?s)^(` + word + `)` + blank + `=` + blank +
		`(?:` + quoted + `|` + single + `|` + unquoted + `)`)
	escapedIn = compiled(`(?s)\\(.)`)
)

// compiled compiles a pattern when it is first needed: most servers send no challenge.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// ParseChallenges reads the values of WWW-Authenticate. It takes what makes sense
// of a value and leaves the rest: servers forget commas and quotes. What is neither a
// scheme nor a parameter is skipped, one character at a time.
func ParseChallenges(values []string) (all []Challenge) {
	behind := func(rest string, n int) string { return strings.TrimLeft(rest[n:], blanks+",") }
	for _, value := range values {
		for rest := behind(value, 0); rest != ""; {
			found := schemeIn().FindStringSubmatch(rest)
			if found == nil {
				rest = behind(rest, 1)
				continue
			}
			c := Challenge{Scheme: strings.ToLower(found[1]), Params: map[string]string{}}
			rest = behind(rest, len(found[0]))
			for p := paramIn().FindStringSubmatch(rest); p != nil; p = paramIn().FindStringSubmatch(rest) {
				name := strings.ToLower(p[1])
				text := escapedIn().ReplaceAllString(p[2], "$1") + p[3] + p[4]
				if _, twice := c.Params[name]; !twice {
					c.Params[name] = text
				} else if name == "resource_metadata" {
					c.MoreMetadata = append(c.MoreMetadata, text)
				}
				rest = behind(rest, len(p[0]))
			}
			all = append(all, c)
		}
	}
	return all
}

// Wanted returns the challenge that a token answers: of several the one that says most. It has the resource
// metadata of the others, too.
func Wanted(all []Challenge) (best Challenge, ok bool) {
	var named []string
	for _, c := range all {
		if c.Scheme != "bearer" && c.Scheme != "dpop" {
			continue
		}
		named = append(named, c.metadata()...)
		if !ok || best.Params["resource_metadata"] == "" && best.Params["error"] == "" {
			best = c
			ok = true
		}
	}
	best.MoreMetadata = missing(named, []string{best.Params["resource_metadata"]})
	return best, ok
}

// metadata returns the places of the resource metadata that the challenge names, the first one first.
func (c Challenge) metadata() (named []string) {
	if first := c.Params["resource_metadata"]; first != "" {
		named = append(named, first)
	}
	return append(named, c.MoreMetadata...)
}

// NamesMetadata reports whether the challenge names the server's resource metadata, as OAuth's does since 2025-06-18.
func (c Challenge) NamesMetadata() bool { return len(c.metadata()) > 0 }

// Scopes are those that the challenge asks for; nil where it names none.
func (c Challenge) Scopes() []string { return strings.Fields(c.Params["scope"]) }
