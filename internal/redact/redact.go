package redact

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// Redacted returns the placeholder for a secret: its length in bytes and the start of its
// hash, so that two secrets can be told apart or seen to be one.
func Redacted(secret string) string { return redactedBytes([]byte(secret)) }

// redactedBytes returns the placeholder of a secret, as Redacted does, for large texts in files.
func redactedBytes(secret []byte) string {
	sum := sha256.New()
	_, _ = spool.WriteAll(sum, secret)
	return fmt.Sprintf("••••(len %d, sha256:%x)", len(secret), sum.Sum(nil)[:2])
}

// inURL rewrites what Redacted returned with characters that a URL holds unescaped:
// percent-encoded, it would not be readable.
func inURL(shown string) string {
	if !strings.Contains(shown, " ") && !strings.Contains(shown, "•") {
		return shown // all that forURL replaces has one of them
	}
	return forURL.Replace(shown)
}

var forURL = strings.NewReplacer("•", "*", "len ", "len-", ", ", ",")

// What Redacted writes, and what becomes of it in a URL: now, and in recordings of a
// time when it was escaped there. What is cut at its first blank is none either. Nothing
// else fits, in which a secret could hide.
const (
	shownMark      = `••••\(len \d+, sha256:[0-9a-f]{4}\)`
	shownInURL     = `\*{4}\(len-\d+,sha256:[0-9a-f]{4}\)`
	shownOnceInURL = `(?:%E2%80%A2){4}%28len\+\d+%2C\+sha256%3A[0-9a-f]{4}%29`
)

var hidden = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + shownMark + `|` + shownInURL + `|••••\(len)$`)
})

// isHidden reports whether a value contains a placeholder.
func isHidden(value string) bool {
	return beginsHidden(value) && hidden().MatchString(value)
}

// hide returns the placeholder of a secret. It returns an empty or already hidden secret unchanged.
func hide(secret string) string {
	if secret == "" || isHidden(secret) {
		return secret
	}
	return Redacted(secret)
}

// secretNames and secretEndings tell the header fields and the parameters whose
// values are credentials or act as such. They are compared with the letters of
// the name alone: X-Api-Key, api_key and apiKey[0] are one name.
var (
	secretNames   = []string{"code", "dpop", "pass", "session", "sid", "sig", "usercode", "devicecode", "authcode"}
	secretEndings = []string{
		"assertion",
		"auth",
		"authorization",
		"cookie",
		"cookies",
		"credential",
		"credentials",
		"jwt",
		"key",
		"passcode",
		"passphrase",
		"passwd",
		"password",
		"passwords",
		"pwd",
		"secret",
		"secrets",
		"sessid",
		"sessionid",
		"signature",
		"token",
		"verifier",
		"adminpass",
		"dbpass",
		"mailpass",
		"redispass",
		"rootpass",
		"smtppass",
		"sqlpass",
		"userpass",
	}
	// openNames end like secrets and are none.
	openNames = map[string]bool{"idempotencykey": true, "secwebsocketkey": true}
)

func secretName(name string) bool { return secretLetters(strings.Map(lettersOnly, name)) }

// secretLetters implements secretName for the lower-case letters of a name.
func secretLetters(name string) bool {
	if len(name) < 2 {
		return false
	}
	for _, s := range byLastTwo()[pairOf(name[len(name)-2], name[len(name)-1])] {
		if name == s.text || !s.whole && strings.HasSuffix(name, s.text) {
			return !openNames[name]
		}
	}
	return false
}

// byLastTwo are the secretNames and secretEndings by their last two letters, which
// tell most other names: this is asked about every member that is recorded.
var byLastTwo = sync.OnceValue(func() *[32 * 26][]secretText {
	of := new([32 * 26][]secretText)
	note := func(s secretText) {
		at := pairOf(s.text[len(s.text)-2], s.text[len(s.text)-1])
		of[at] = append(of[at], s)
	}
	for _, name := range secretNames {
		note(secretText{name, true})
	}
	for _, ending := range secretEndings {
		note(secretText{ending, false})
	}
	return of
})

// A secretText is a whole name or how one ends.
type secretText struct {
	text  string
	whole bool
}

// pairOf returns the index of two lower-case letters in byLastTwo.
func pairOf(a, b byte) int { return 32*int(a-'a') + int(b-'a') }

// RedactCommand hides the secrets among the words of a command: what follows a
// flag that is named like one, or its "=", in a URL its user and parameters, and in a text
// what is named like one there.
func RedactCommand(argv []string) []string {
	out := make([]string, len(argv))
	for i, word := range argv {
		if before, secret, found := secretWord(argv, i); found {
			out[i] = before + hide(secret)
		} else if isTextWord(word) {
			out[i] = (*Secrets)(nil).text(word)
		} else {
			out[i] = RedactURL(word)
		}
	}
	return out
}

// isTextWord reports whether a word is text or JSON and not a URL, although it may have an "@": it
// has a space or a bracket before its first colon or "//", or a colon that does not follow a user name.
func isTextWord(word string) bool {
	head, rest, _ := strings.Cut(word, ":")
	head, _, _ = strings.Cut(head, "//")
	return strings.ContainsAny(head, "{["+jsonraw.WhiteSpace) ||
		rest != "" && strings.ContainsAny(rest[:1], "="+jsonraw.WhiteSpace)
}

// secretWord returns the secret in a word of a command, and the part of the word before it.
func secretWord(argv []string, i int) (before, secret string, found bool) {
	name, value, assigned := strings.Cut(argv[i], "=")
	if i > 0 && !strings.HasPrefix(argv[i], "-") && strings.HasPrefix(argv[i-1], "-") &&
		!strings.Contains(argv[i-1], "=") && secretName(argv[i-1]) {
		return "", argv[i], true
	}
	if assigned && secretName(name) && !strings.Contains(name, "://") {
		return name + "=", value, true
	}
	return "", "", false
}

func lettersOnly(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	if r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

// authSchemes are the words before the credentials of an Authorization field.
// Any other first word may be a part of the secret.
var authSchemes = map[string]bool{"basic": true, "bearer": true, "digest": true, "dpop": true, "negotiate": true,
	"ntlm": true, "token": true, "apikey": true}

// RedactField hides the value of a field that carries a secret. The scheme of
// an Authorization field stays readable. Where the value is a URL, what is
// secret in it is hidden. What was hidden before stays as it is.
func RedactField(f wire.Field) wire.Field {
	if plainFields[f.Name] {
		return f
	}
	name := strings.ToLower(f.Name)
	if strings.HasSuffix(name, "authorization") {
		scheme, rest, ok := strings.Cut(f.Value, " ")
		if ok && authSchemes[strings.ToLower(scheme)] {
			return wire.Field{Name: f.Name, Value: scheme + " " + hide(rest)}
		}
		return wire.Field{Name: f.Name, Value: hide(f.Value)}
	}
	if secretName(name) {
		return wire.Field{Name: f.Name, Value: hide(f.Value)}
	}
	if isURLField(name) {
		return wire.Field{Name: f.Name, Value: RedactURL(f.Value)}
	}
	return f
}

// plainFields are fields that nearly all requests and responses have, with values that are neither
// secrets nor URLs: telling that by their names costs more than the rest of a recorded head.
var plainFields = map[string]bool{
	"Accept":               true,
	"Accept-Encoding":      true,
	"Cache-Control":        true,
	"Connection":           true,
	"Content-Length":       true,
	"Content-Type":         true,
	"Date":                 true,
	"Mcp-Method":           true,
	"Mcp-Name":             true,
	"Mcp-Protocol-Version": true,
	"User-Agent":           true,
	"Vary":                 true,
}

func isURLField(name string) bool {
	if plainFields[name] {
		return false
	}
	name = strings.ToLower(name)
	return name == "location" || name == "content-location" || name == "referer"
}

// RedactURL hides the user information and the values of the secret parameters
// of a URL, in its query and its fragment, and in the URLs that it carries in
// its parameters. Everything else stays as it was written. What was hidden
// before stays as it is.
func RedactURL(raw string) string { return redactURL(raw, 3) }

// redactURL looks into URLs within URLs so many levels deep: each costs a pass.
func redactURL(raw string, levels int) string {
	if levels == 0 || !strings.ContainsAny(raw, "@=") {
		return raw
	}
	start := 0
	if at := strings.Index(raw, "//"); at >= 0 && !strings.ContainsAny(raw[:at], paramBegins+"@") {
		start = at + len("//")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return redactBroken(raw, start, levels)
	}
	if userSecret(u) != "" {
		end := start + strings.IndexAny(raw[start:]+"/", "/?#")
		raw = raw[:start] + userMark + raw[strings.LastIndexByte(raw[:end], '@'):]
	}
	return redactParams(raw, levels)
}

// userSecret returns what is secret in the user information of a URL: the password, or the name alone
// in a URL of HTTP, where it is often a token. Elsewhere, as in postgres://postgres@host/db, a name
// without a password is "" since it is no secret.
func userSecret(u *url.URL) string {
	password, _ := u.User.Password()
	if password == "" && isHTTP(u.Scheme) {
		return u.User.Username()
	}
	return password
}

// isHTTP reports the scheme of a URL that is requested by HTTP, also by git or as a WebSocket. Without
// a scheme it may be one.
func isHTTP(scheme string) bool {
	for _, name := range []string{"", "http", "https", "ws", "wss"} {
		if scheme == name || name != "" && strings.HasSuffix(scheme, "+"+name) {
			return true
		}
	}
	return false
}

// redactBroken works on the text of a URL that url.Parse cannot take apart: often
// its password holds a character that it may not hold. Only the last "@" then
// tells where the user information ends.
func redactBroken(raw string, start, levels int) string {
	safe := redactParams(raw, levels)
	if strings.Count(safe, "@") < strings.Count(raw, "@") {
		return raw[:start] + userMark
	}
	if at := strings.LastIndexByte(safe, '@'); at >= start {
		return raw[:start] + userMark + safe[at:]
	}
	return safe
}

// paramBegins are the characters behind which a parameter may begin.
const paramBegins = "?&;#"

// redactParams hides secret values as far as the next "&", whatever they hold.
func redactParams(raw string, levels int) string {
	var b strings.Builder
	for {
		at := strings.IndexAny(raw, paramBegins) + 1
		if at == 0 {
			return b.String() + raw
		}
		b.WriteString(raw[:at])
		raw = raw[at:]
		equals := strings.IndexAny(raw, paramBegins+"=")
		if equals < 0 || raw[equals] != '=' {
			continue
		}
		name := raw[:equals+1]
		value, safe := redactParam(name, raw[len(name):], levels)
		b.WriteString(name + safe)
		raw = raw[len(name)+len(value):]
	}
}

// redactParam returns the value at the start of rest, and the value without its secrets.
func redactParam(name, rest string, levels int) (value, safe string) {
	if secretName(unescaped(name)) {
		value, _, _ = strings.Cut(rest, "&")
		text := unescaped(value)
		if hide(text) == text {
			return value, value
		}
		return value, inURL(Redacted(text))
	}
	value = rest
	if at := strings.IndexAny(rest, paramBegins); at >= 0 {
		value = rest[:at]
	}
	text := unescaped(value)
	safe = redactURL(text, levels-1)
	if safe != text {
		return value, url.QueryEscape(safe)
	}
	return value, value
}

// unescaped returns s with its URL escapes decoded. Invalid escapes stay unchanged.
func unescaped(s string) string {
	if text, err := url.QueryUnescape(s); err == nil {
		return text
	}
	return s
}

// hiddenIn matches what Redacted returns, in the form of a text or of a URL.
var hiddenIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(shownMark + `|` + shownInURL + `|` + shownOnceInURL)
})

// HiddenIn returns the ranges of the placeholders in a text, as begin and end in bytes.
func HiddenIn(text string) [][]int {
	if !slices.ContainsFunc(marks[:], func(mark string) bool { return strings.Contains(text, mark) }) {
		return nil // most texts have none, and the pattern is slow
	}
	return hiddenIn().FindAllStringIndex(text, -1)
}

// userMark replaces the user information of a URL. It shows neither its length nor its hash.
const userMark = "redacted"

// UnknownIn returns where a text has no longer what was sent: the places of HiddenIn, and hidden user
// information of URLs.
func UnknownIn(text string) [][]int {
	all := HiddenIn(text)
	for at := 0; ; {
		next := strings.Index(text[at:], "//"+userMark+"@")
		if next < 0 {
			break
		}
		from := at + next + len("//")
		at = from + len(userMark)
		all = append(all, []int{from, at})
	}
	slices.SortFunc(all, func(a, b []int) int { return a[0] - b[0] })
	return all
}

// IsUnknown reports whether a text has hidden parts.
func IsUnknown(text string) bool { return len(UnknownIn(text)) > 0 }

// WithWords returns a text with a word in each place in which something was hidden, the same for the same
// secret. It serves where the text itself must be plausible, as a name.
func WithWords(raw []byte) []byte {
	return replaced(raw, HiddenIn(string(raw)), func(mark string) string { return "x" + HashesIn(mark)[0] })
}

// Blank returns a text with the same mark in each place in which something was hidden, whatever it was.
func Blank(raw []byte) []byte {
	return replaced(raw, UnknownIn(string(raw)), func(string) string { return "••••" })
}

// replaced returns a text with other words in some places; itself if there are none.
func replaced(raw []byte, places [][]int, by func(mark string) string) []byte {
	if len(places) == 0 {
		return raw
	}
	var b []byte
	done := 0
	for _, place := range places {
		b = append(b, raw[done:place[0]]...)
		b = append(b, by(string(raw[place[0]:place[1]]))...)
		done = place[1]
	}
	return append(b, raw[done:]...)
}

// HashesIn returns the hashes of all secrets that were hidden in a text.
func HashesIn(text string) (all []string) {
	for _, at := range HiddenIn(text) {
		_, hash, ok := strings.Cut(text[at[0]:at[1]], "sha256")
		hash = strings.TrimLeft(strings.TrimPrefix(hash, "%3A"), ":")
		if ok && len(hash) >= 4 {
			all = append(all, hash[:4])
		}
	}
	return all
}
