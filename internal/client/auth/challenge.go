package auth

import (
	"regexp"
	"strings"
	"sync"
)

// A Challenge is one challenge of a WWW-Authenticate field (RFC 9110, section 11.6.1). Scheme and
// names of parameters are in lower case. If a parameter occurs twice, the first value counts.
type Challenge struct {
	Scheme string
	Params map[string]string
	// MoreMetadata are further values of resource_metadata, of this challenge or of others in the
	// response.
	MoreMetadata []string
}

// Patterns of a challenge. Credentials without parameters may follow a scheme, such as Negotiate.
// The value of a parameter is a token or a quoted-string, also without its closing quote. Some
// servers use single quotes.
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

// compiled returns a function that compiles a pattern at its first call: most servers send no
// challenge.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// ParseChallenges parses the values of WWW-Authenticate; a value may contain several challenges.
// Servers forget commas and quotes, so it skips what is neither a scheme nor a parameter, one
// character at a time.
func ParseChallenges(values []string) []Challenge {
	// skip returns rest without n bytes and the separators after them.
	skip := func(rest string, n int) string { return strings.TrimLeft(rest[n:], blanks+",") }
	var all []Challenge
	for _, value := range values {
		for rest := skip(value, 0); rest != ""; {
			found := schemeIn().FindStringSubmatch(rest)
			if found == nil {
				rest = skip(rest, 1)
				continue
			}
			c := Challenge{Scheme: strings.ToLower(found[1]), Params: map[string]string{}}
			rest = skip(rest, len(found[0])) // the scheme and its token68
			for p := paramIn().FindStringSubmatch(rest); p != nil; p = paramIn().FindStringSubmatch(rest) {
				name := strings.ToLower(p[1])
				// Only one of the three forms of a value has matched; the others are "".
				text := escapedIn().ReplaceAllString(p[2], "$1") + p[3] + p[4]
				if _, isRepeated := c.Params[name]; !isRepeated {
					c.Params[name] = text
				} else if name == "resource_metadata" {
					c.MoreMetadata = append(c.MoreMetadata, text)
				}
				rest = skip(rest, len(p[0]))
			}
			all = append(all, c)
		}
	}
	return all
}

// SelectChallenge returns the challenge that a token answers: the first one that names resource
// metadata or an error, or else the last one. It adds the resource metadata of the other
// challenges. It reports whether a challenge with a scheme for tokens was found.
func SelectChallenge(all []Challenge) (best Challenge, ok bool) {
	var named []string
	for _, c := range all {
		if c.Scheme != "bearer" && c.Scheme != "dpop" {
			continue
		}
		named = append(named, c.metadata()...)
		saysNothing := best.Params["resource_metadata"] == "" && best.Params["error"] == ""
		if !ok || saysNothing {
			best = c
			ok = true
		}
	}
	best.MoreMetadata = difference(named, []string{best.Params["resource_metadata"]})
	return best, ok
}

// metadata returns the URLs of resource metadata that the challenge names.
func (c Challenge) metadata() []string {
	var named []string
	if first := c.Params["resource_metadata"]; first != "" {
		named = append(named, first)
	}
	return append(named, c.MoreMetadata...)
}

// NamesMetadata reports whether the challenge names the server's resource metadata, as OAuth
// challenges do since 2025-06-18.
func (c Challenge) NamesMetadata() bool { return len(c.metadata()) > 0 }

// Scopes returns the scopes that the challenge requires, or nil if it names no scope.
func (c Challenge) Scopes() []string { return strings.Fields(c.Params["scope"]) }
