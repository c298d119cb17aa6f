package auth

import (
	"net/http"
	"strings"
)

// A Challenge is one of those that a WWW-Authenticate field holds (RFC 9110,
// section 11.6.1). Scheme and names are in lower case; of a parameter that stands
// twice the first counts.
type Challenge struct {
	Scheme string
	Params map[string]string
}

// ParseChallenges reads the values of WWW-Authenticate. It takes what makes sense
// of a value and leaves the rest: servers forget commas and quotes.
func ParseChallenges(values []string) (all []Challenge) {
	for _, value := range values {
		s := scanner{value}
		for s.next() {
			all = append(all, s.challenge()...)
		}
	}
	return all
}

// Wanted is the challenge that a token answers: of several the one that says most.
func Wanted(all []Challenge) (best Challenge, ok bool) {
	for _, c := range all {
		if c.Scheme != "bearer" && c.Scheme != "dpop" {
			continue
		}
		if !ok || best.Params["resource_metadata"] == "" && best.Params["error"] == "" {
			best, ok = c, true
		}
	}
	return best, ok
}

// wantedOf is the challenge of a response.
func wantedOf(h http.Header) (Challenge, bool) {
	return Wanted(ParseChallenges(h.Values("WWW-Authenticate")))
}

// Scopes are those that the challenge asks for; nil where it names none.
func (c Challenge) Scopes() []string { return strings.Fields(c.Params["scope"]) }

// A scanner walks over a field's value.
type scanner struct{ rest string }

const blanks = " \t\r\n"

// next goes to what comes behind blanks and commas; false at the end.
func (s *scanner) next() bool {
	s.rest = strings.TrimLeft(s.rest, blanks+",")
	return s.rest != ""
}

// challenge reads a scheme and what belongs to it. What is neither a scheme nor a
// parameter is skipped, one character at a time.
func (s *scanner) challenge() []Challenge {
	scheme := s.token()
	if scheme == "" {
		s.rest = s.rest[1:]
		return nil
	}
	c := Challenge{strings.ToLower(scheme), map[string]string{}}
	if s.token68() {
		return []Challenge{c}
	}
	for s.next() {
		before := s.rest
		name, value, ok := s.param()
		if !ok {
			s.rest = before
			break
		}
		if _, twice := c.Params[name]; !twice {
			c.Params[name] = value
		}
	}
	return []Challenge{c}
}

// param reads name = value; false where the next word is a scheme.
func (s *scanner) param() (name, value string, ok bool) {
	name = strings.ToLower(s.token())
	rest := strings.TrimLeft(s.rest, blanks)
	if name == "" || !strings.HasPrefix(rest, "=") {
		return "", "", false
	}
	s.rest = strings.TrimLeft(rest[1:], blanks)
	if strings.HasPrefix(s.rest, `"`) {
		return name, s.quoted(), true
	}
	end := strings.IndexAny(s.rest, blanks+",")
	if end < 0 {
		end = len(s.rest)
	}
	value, s.rest = s.rest[:end], s.rest[end:]
	return name, value, true
}

// quoted reads a quoted-string; one that does not end is taken as it is.
func (s *scanner) quoted() string {
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			s.rest = s.rest[i+1:]
			return b.String()
		case c == '\\' && i+1 < len(s.rest):
			i++
			b.WriteByte(s.rest[i])
		default:
			b.WriteByte(c)
		}
	}
	s.rest = ""
	return b.String()
}

func (s *scanner) token() string {
	end := 0
	for end < len(s.rest) && isTokenByte(s.rest[end]) {
		end++
	}
	word := s.rest[:end]
	s.rest = s.rest[end:]
	return word
}

// token68 skips the credentials of schemes like Negotiate, which have no
// parameters.
func (s *scanner) token68() bool {
	rest := strings.TrimLeft(s.rest, blanks)
	end := 0
	for end < len(rest) && (isTokenByte(rest[end]) || rest[end] == '/') {
		end++
	}
	word := end
	for end < len(rest) && rest[end] == '=' {
		end++
	}
	after := strings.TrimLeft(rest[end:], blanks)
	if word == 0 || after != "" && after[0] != ',' {
		return false
	}
	s.rest = after
	return true
}

func isTokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
