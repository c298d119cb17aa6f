package redact

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// Redacted returns the placeholder for a secret. It has the secret's length in bytes and the start
// of its hash, so that equal secrets can be recognized.
func Redacted(secret string) string { return redactedBytes([]byte(secret)) }

// redactedBytes implements Redacted for large texts, which may be in files.
func redactedBytes(secret []byte) string {
	sum := sha256.New()
	_, _ = spool.WriteAll(sum, secret)
	return fmt.Sprintf("••••(len %d, sha256:%x)", len(secret), sum.Sum(nil)[:2])
}

// placeholderInURL rewrites a placeholder with characters that a URL can hold unescaped, because it
// would not be readable with percent escapes.
func placeholderInURL(shown string) string {
	if !strings.Contains(shown, " ") && !strings.Contains(shown, "•") {
		return shown // every text that forURL replaces has a blank or a bullet
	}
	return forURL.Replace(shown)
}

var forURL = strings.NewReplacer("•", "*", "len ", "len-", ", ", ",")

// The forms of the placeholder: in a text, in a URL, and in URLs of old recordings, which escaped
// it. The patterns match nothing else, so that no secret can hide in a text that looks like a
// placeholder.
const (
	shownMark      = `••••\(len \d+, sha256:[0-9a-f]{4}\)`
	shownInURL     = `\*{4}\(len-\d+,sha256:[0-9a-f]{4}\)`
	shownOnceInURL = `(?:%E2%80%A2){4}%28len\+\d+%2C\+sha256%3A[0-9a-f]{4}%29`
)

// hidden matches a whole placeholder, or a placeholder that was cut at its first space.
var hidden = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + shownMark + `|` + shownInURL + `|••••\(len)$`)
})

// isHidden reports whether value is a placeholder, or the beginning of one up to its first space.
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

// RedactCommand returns the words of a command without their secrets: the word after a flag with a
// secret name, the text after its "=", the user information and parameters of a URL, and the values
// of secret names in a text. It has no list of secret values, so it searches only for names and forms.
func RedactCommand(argv []string) []string {
	out := make([]string, len(argv))
	for i, word := range argv {
		if before, secret, found := secretWord(argv, i); found {
			out[i] = before + hide(secret)
		} else if isTextWord(word) {
			out[i] = (*Secrets)(nil).hideInText(word)
		} else {
			out[i] = RedactURL(word)
		}
	}
	return out
}

// ShownCommand returns the words of a command as RedactCommand does, and hides in addition the values
// of header fields in flags: a server may take a secret in a field of any name. The values of
// plainFields and references to variables stay readable.
func ShownCommand(argv []string) []string {
	out := RedactCommand(argv)
	for i := range argv {
		if before, value, isField := headerWord(argv, i); isField {
			out[i] = before + hideHeaderValue(before, value)
		}
	}
	return out
}

// headerFlags are the flags of mcpc, mcp-remote, supergateway and curl whose value is a header field.
var headerFlags = []string{"--header", "-H"}

// headerWord returns the value of the header field in a word of a command, and the part of the word
// before it. It reports whether the word has a header field.
func headerWord(argv []string, i int) (before, value string, isField bool) {
	field := argv[i]
	if i == 0 || !slices.Contains(headerFlags, argv[i-1]) {
		field, isField = strings.CutPrefix(field, "--header=")
		if !isField {
			return "", "", false
		}
	}
	_, value, hasColon := strings.Cut(field, ":")
	value = strings.TrimLeft(value, jsonraw.WhiteSpace)
	return strings.TrimSuffix(argv[i], value), value, hasColon
}

// hideHeaderValue hides the value of a header field. before is the word up to the value, with the
// field's name.
func hideHeaderValue(before, value string) string {
	name := strings.TrimRight(strings.TrimPrefix(before, "--header="), ":"+jsonraw.WhiteSpace)
	isPlain := slices.ContainsFunc(slices.Collect(maps.Keys(plainFields)), func(plain string) bool {
		return strings.EqualFold(plain, name)
	})
	if isPlain || isReference(value) {
		return value
	}
	scheme, rest, _ := strings.Cut(value, " ")
	if !authSchemes[strings.ToLower(scheme)] {
		return hide(value)
	}
	if isReference(rest) {
		return value
	}
	return scheme + " " + hide(rest)
}

// isReference reports whether a text is only a reference to a variable, as ${NAME} or $NAME.
func isReference(text string) bool {
	name, isVariable := strings.CutPrefix(text, "$")
	if strings.HasPrefix(name, "{") && strings.HasSuffix(name, "}") {
		name = name[1 : len(name)-1]
	}
	return isVariable && name != "" && !strings.ContainsAny(name, "${}"+jsonraw.WhiteSpace)
}

// isTextWord reports whether a word is text or JSON and not a URL, although it may have an "@": it
// has a space or a bracket before its first colon or "//", or a colon that does not follow a user
// name.
func isTextWord(word string) bool {
	head, rest, _ := strings.Cut(word, ":")
	head, _, _ = strings.Cut(head, "//")
	beginsText := strings.ContainsAny(head, "{["+jsonraw.WhiteSpace)
	continuesAsText := rest != "" && strings.ContainsAny(rest[:1], "="+jsonraw.WhiteSpace)
	return beginsText || continuesAsText
}

// secretWord returns the secret in a word of a command, and the part of the word before it.
func secretWord(argv []string, i int) (before, secret string, found bool) {
	isFlag := func(word string) bool { return strings.HasPrefix(word, "-") }
	if i > 0 && isFlag(argv[i-1]) && !isFlag(argv[i]) { // may be the value of the flag
		flag := argv[i-1]
		if !strings.Contains(flag, "=") && isSecretName(flag) {
			return "", argv[i], true
		}
	}
	name, value, isAssignment := strings.Cut(argv[i], "=")
	if isAssignment && isSecretName(name) && !strings.Contains(name, "://") {
		return name + "=", value, true
	}
	return "", "", false
}

// authSchemes are the words before the credentials of an Authorization field. A different first
// word may be a part of the secret.
var authSchemes = map[string]bool{
	"basic": true, "bearer": true, "digest": true, "dpop": true, "negotiate": true,
	"ntlm": true, "token": true, "apikey": true,
}

// RedactField hides the value of a field that carries a secret. The scheme of an Authorization
// field stays readable. If the value is a URL, RedactField hides the secrets in it. Placeholders
// stay unchanged.
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
	if isSecretName(name) {
		return wire.Field{Name: f.Name, Value: hide(f.Value)}
	}
	if isURLField(name) {
		return wire.Field{Name: f.Name, Value: RedactURL(f.Value)}
	}
	return f
}

// plainFields are fields that nearly all requests and responses have, with values that are neither
// secrets nor URLs. Checking their names would take longer than the rest of a recorded head.
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

// isURLField reports whether the value of a header field is a URL.
func isURLField(name string) bool {
	if plainFields[name] {
		return false
	}
	name = strings.ToLower(name)
	return name == "location" || name == "content-location" || name == "referer"
}

// RedactURL hides the user information and the values of the secret parameters of a URL, in its
// query, its fragment and the URLs in its parameters. The rest of the URL and placeholders stay
// unchanged.
func RedactURL(raw string) string { return redactURL(raw, maxURLLevels) }

// maxURLLevels is how deep URLs in the parameters of URLs are checked, the outermost included.
const maxURLLevels = 3

// redactURL implements RedactURL for URLs within URLs up to levels deep. Each level costs a pass.
func redactURL(raw string, levels int) string {
	if levels == 0 || !strings.ContainsAny(raw, "@=") {
		return raw
	}
	start := 0 // where the user information would begin
	if offset := strings.Index(raw, "//"); offset >= 0 && !strings.ContainsAny(raw[:offset], paramBegins+"@") {
		start = offset + len("//")
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

// userSecret returns the secret in the user information of a URL: the password, or in an HTTP URL
// without password the user name, which is often a token. In other URLs, such as
// postgres://postgres@host/db, a name without a password is not a secret: userSecret returns "".
func userSecret(u *url.URL) string {
	password, _ := u.User.Password()
	if password == "" && isHTTP(u.Scheme) {
		return u.User.Username()
	}
	return password
}

// isHTTP reports whether scheme is HTTP or WebSocket, also as in git+https. An empty scheme may be
// HTTP.
func isHTTP(scheme string) bool {
	for _, name := range []string{"", "http", "https", "ws", "wss"} {
		if scheme == name || name != "" && strings.HasSuffix(scheme, "+"+name) {
			return true
		}
	}
	return false
}

// redactBroken redacts a URL that url.Parse rejects, often because of an invalid character in its
// password. start is where its user information begins. Only the last "@" then shows where that
// ends.
func redactBroken(raw string, start, levels int) string {
	safe := redactParams(raw, levels)
	if strings.Count(safe, "@") < strings.Count(raw, "@") { // the last "@" was in a parameter's value
		return raw[:start] + userMark
	}
	if offset := strings.LastIndexByte(safe, '@'); offset >= start {
		return raw[:start] + userMark + safe[offset:]
	}
	return safe
}

// paramBegins are the characters after which a parameter may begin.
const paramBegins = "?&;#"

// redactParams hides the values of secret parameters up to the next "&", and redacts URLs in other
// values.
func redactParams(raw string, levels int) string {
	var b strings.Builder
	for {
		offset := strings.IndexAny(raw, paramBegins) + 1
		if offset == 0 {
			return b.String() + raw
		}
		b.WriteString(raw[:offset])
		raw = raw[offset:]
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

// redactParam returns the value at the start of rest as it is, and without its secrets. name is the
// parameter's name with its "=".
func redactParam(name, rest string, levels int) (value, safe string) {
	if isSecretName(unescaped(name)) {
		value, _, _ = strings.Cut(rest, "&")
		text := unescaped(value)
		if hide(text) == text { // empty, or a placeholder already
			return value, value
		}
		return value, placeholderInURL(Redacted(text))
	}
	value = rest
	if end := strings.IndexAny(rest, paramBegins); end >= 0 {
		value = rest[:end]
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

// hiddenIn matches placeholders in a text, in a URL and in a URL of an old recording.
var hiddenIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(shownMark + `|` + shownInURL + `|` + shownOnceInURL)
})

// HiddenIn returns the ranges of the placeholders in a text, each as begin and end in bytes. It
// returns nil if text has no placeholders.
func HiddenIn(text string) [][]int {
	if !slices.ContainsFunc(marks[:], func(mark string) bool { return strings.Contains(text, mark) }) {
		return nil // most texts have no placeholder, and the pattern is slow
	}
	return hiddenIn().FindAllStringIndex(text, -1)
}

// userMark replaces the user information of a URL. It shows neither its length nor its hash.
const userMark = "redacted"

// HiddenPartsIn returns the ranges of a text that do not show the original: the placeholders and the
// hidden user information of URLs, in ascending order.
func HiddenPartsIn(text string) [][]int {
	all := HiddenIn(text)
	for offset := 0; ; {
		next := strings.Index(text[offset:], "//"+userMark+"@")
		if next < 0 {
			break
		}
		begin := offset + next + len("//")
		end := begin + len(userMark)
		all = append(all, []int{begin, end})
		offset = end
	}
	slices.SortFunc(all, func(a, b []int) int { return a[0] - b[0] })
	return all
}

// HasHiddenParts reports whether a text has hidden parts.
func HasHiddenParts(text string) bool { return len(HiddenPartsIn(text)) > 0 }

// WithWords returns raw with each placeholder replaced by a word, the same word for the same
// secret. It is for places where the text must be plausible, such as a name.
func WithWords(raw []byte) []byte {
	return replaceRanges(raw, HiddenIn(string(raw)), func(mark string) string { return "x" + HashesIn(mark)[0] })
}

// Blank returns raw with each hidden part replaced by the same mark.
func Blank(raw []byte) []byte {
	return replaceRanges(raw, HiddenPartsIn(string(raw)), func(string) string { return "••••" })
}

// replaceRanges returns raw with each of the places replaced by the result of replacement. It
// returns raw itself if there are no places.
func replaceRanges(raw []byte, places [][]int, replacement func(mark string) string) []byte {
	if len(places) == 0 {
		return raw
	}
	var b []byte
	done := 0
	for _, place := range places {
		b = append(b, raw[done:place[0]]...)
		b = append(b, replacement(string(raw[place[0]:place[1]]))...)
		done = place[1]
	}
	return append(b, raw[done:]...)
}

// HashesIn returns the four hexadecimal digits in each of the placeholders in a text, in order.
func HashesIn(text string) []string {
	var all []string
	for _, place := range HiddenIn(text) {
		_, hash, ok := strings.Cut(text[place[0]:place[1]], "sha256")
		hash = strings.TrimLeft(strings.TrimPrefix(hash, "%3A"), ":")
		if ok && len(hash) >= 4 {
			all = append(all, hash[:4])
		}
	}
	return all
}
