package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// What follows finds secrets in bytes that may be JSON, JSON within a JSON string,
// a log line or half of anything: it goes by the characters alone, and in one
// pass, because it runs over everything that is recorded.

// openMembers end like secrets and are none, or seldom, where they name a member
// and not a parameter of a URL: a token of progress, a key of a map, an error's
// code, a session's name. Others carry what the other side needs to be understood.
var openMembers = map[string]bool{"progresstoken": true, "code": true, "key": true, "session": true, "sig": true,
	"pass": true, "primarykey": true, "foreignkey": true, "publickey": true, "sortkey": true, "cachekey": true,
	"filekey": true, "issuekey": true, "objectkey": true, "partitionkey": true, "projectkey": true, "spacekey": true, "tagkey": true}

// secretMember reports whether the word before a ":" or a "=" is a secret name.
func secretMember(word []byte) bool {
	if len(word) < 3 || len(word) > 64 {
		return false
	}
	var letters [64]byte
	n := 0
	for _, c := range word {
		c |= 'a' - 'A'
		if 'a' <= c && c <= 'z' { // which no other byte of a word becomes
			letters[n] = c
			n++
		}
	}
	if n < 2 || byLastTwo()[pairOf(letters[n-2], letters[n-1])] == nil {
		return false
	}
	name := string(letters[:n])
	return secretLetters(name) && !openMembers[name]
}

// An edit is bytes of which some are replaced, from the front to the end.
type edit struct {
	raw []byte
	// out is beside raw, done how much of raw is in it.
	out  *spool.Buffer
	done int
	// failed is set where out could not be written.
	failed error
	// replaced is what was, in bytes of raw: the begin and the end of each place.
	replaced [][2]int
	// secrets are the values that were replaced, as they are to be learnt, linked the values in URLs, and named
	// the values after a name.
	secrets, linked, named []string
}

// byForm finds secrets by how they look: private keys, in a form, in a URL, after a name, tokens of
// well-known services. It is the one list for all that is recorded, exported and checked. Variables is as in
// Secrets.
var byForm = [...]struct {
	kind FoundKind
	hide func(raw []byte, variables bool) edit
}{
	{FoundKey, hideKeys}, {FoundURL, hideForm}, {FoundURL, hideURLs}, {FoundName, hideCurl}, {FoundName, hideNamed},
	{FoundToken, hideTokens},
}

// put replaces raw[from:to].
func (e *edit) put(from, to int, shown string) {
	if e.out == nil {
		e.out = spool.Beside(e.raw, int64(len(e.raw)+len(e.raw)/16))
	}
	e.copyTo(from)
	e.write([]byte(shown))
	e.done, e.replaced = to, append(e.replaced, [2]int{from, to})
}

func (e *edit) result() ([]byte, int) {
	if len(e.replaced) == 0 {
		return e.raw, 0
	}
	e.copyTo(len(e.raw))
	safe, err := e.out.Bytes()
	if e.failed != nil || err != nil { // the disk is full
		e.out.Close()
		return withheldText(e.raw), len(e.replaced)
	}
	return safe, len(e.replaced)
}

// copyTo copies what is not replaced before a place.
func (e *edit) copyTo(at int) {
	for piece := range spool.Pieces(e.raw[e.done:at]) {
		e.write(piece)
	}
}

func (e *edit) write(p []byte) {
	if e.failed == nil {
		_, e.failed = e.out.Write(p)
	}
}

// hideNamed hides the values that stand behind a secret name and ":" or "=".
func hideNamed(raw []byte, variables bool) edit {
	e := edit{raw: raw}
	colon := -1
	equals := -1
	kept := 0
	var defaults map[int]bool // where the defaults of schemas begin that describe a secret
	for at := 0; ; {
		if colon < at {
			colon = spool.Index(raw, ":", at)
		}
		if equals < at {
			equals = spool.Index(raw, "=", at)
		}
		kept = spool.Passed(raw, kept, at)
		at = min(colon, equals) + 1
		if at > len(raw) {
			return e
		}
		if at-1 < e.done {
			continue
		}
		isDefault := defaults[at]
		name := wordBefore(raw[e.done : at-1])
		isNamed := secretMember(name) &&
			!bytes.HasSuffix(raw[:at], []byte("urn:ietf:params:oauth:"))
		if !isNamed && !isDefault {
			continue
		}
		if variables {
			if after := variable().Find(raw[at:]); after != nil {
				at += len(after)
				continue
			}
		}
		values, end := secretValues(raw, at)
		if from := defaultIn(raw, at); isNamed && from > 0 {
			if defaults == nil {
				defaults = map[int]bool{}
			}
			defaults[from] = true
		}
		for _, v := range values {
			secret := string(raw[v.from:v.to])
			if isHidden(secret) || isDefault && len(secret) < shortestKnown {
				continue
			}
			if isPlaceholder(secret) || namesThings(name) && isWord(joinedParts.Replace(secret)) {
				continue
			}
			e.put(v.from, v.to, v.shown(secret))
			if isDefault && len(secret) < 20 && !strings.ContainsAny(secret, "0123456789") {
				continue // it is a word, which may stand anywhere
			}
			e.named = append(e.named, v.plainText(secret))
			e.named = append(e.named, basicSecrets(string(wordBefore(raw[:v.from])), secret)...)
		}
		at = max(at, end)
	}
}

// isPlaceholder reports a value that stands for a secret in an example, such as "Bearer token", YOUR_API_KEY or
// <password>. It is hidden nowhere.
func isPlaceholder(value string) bool {
	if len(value) > longestPlaceholder || strings.ContainsAny(value, "0123456789") {
		return false
	}
	if strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") {
		return true
	}
	letters := strings.TrimPrefix(strings.Map(lettersOnly, value), "your")
	if slices.Contains(secretEndings, letters) {
		return true
	}
	for _, kind := range []string{"api", "access", "auth", "bearer", "client", "refresh", "secret"} {
		if rest, ok := strings.CutPrefix(letters, kind); ok && slices.Contains(secretEndings, rest) {
			return true
		}
	}
	return false
}

const longestPlaceholder = 40

// accessKeys are parts of the names of keys that give access.
var accessKeys = []string{"access", "account", "admin", "api", "app", "auth", "client", "consumer", "crypt", "deploy",
	"hmac", "licen", "master", "private", "secret", "service", "shared", "sign", "ssh", "storage", "subscription"}

// joinedParts joins the parts of a value such as created_at.
var joinedParts = strings.NewReplacer("_", "", "-", "")

// namesThings reports whether name is the name of a key that need not give access. If its value is a
// word, the key is an identifier, as in facetKey="environment".
func namesThings(name []byte) bool {
	letters := strings.Map(lettersOnly, string(name))
	return strings.HasSuffix(letters, "key") &&
		!slices.ContainsFunc(accessKeys, func(part string) bool { return strings.Contains(letters, part) })
}

// variable is a value that is a variable of the environment, in a shell or in a file of
// saved calls, which is no secret itself.
var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^\s*(?i:(?:bearer|basic|token) )?['"\\]*\$(?:[A-Z_][A-Z0-9_]*|\{(?:env\.)?[A-Z_][A-Z0-9_]*\})(?:['"\\\s,;)}\]]|$)`,
	)
})

// wordBefore returns the last word of text, with or without quotes.
func wordBefore(text []byte) []byte {
	to := len(text)
	for to > 0 && classes[text[to-1]]&space != 0 {
		to--
	}
	for to > 0 && classes[text[to-1]]&quote != 0 {
		to--
	}
	from := to
	for from > 0 && isNameByte(text[from-1]) && to-from <= 64 {
		from--
	}
	return text[from:to]
}

// A span is where in the bytes a secret value stands.
type span struct {
	from, to int
	// quote is what stands on both sides of what replaces a JSON number.
	quote string
	// slashes is how many backslashes stand before the quotes of the value.
	slashes int
}

func (v span) shown(secret string) string {
	return v.quote + Redacted(v.plainText(secret)) + v.quote
}

// plainText returns secret with its JSON escapes undone, once for each level of JSON
// strings within JSON strings that it is in.
func (v span) plainText(secret string) string {
	for slashes := 2*v.slashes + 1; slashes > 0 && strings.Contains(secret, `\`); slashes /= 2 {
		text, ok := jsonraw.Text([]byte(`"` + secret + `"`))
		if !ok {
			break
		}
		secret = text
	}
	return secret
}

// secretValues finds what is secret behind a secret name: one string or word, or
// all strings of an array or an object. Before end nothing more is to be found.
func secretValues(raw []byte, at int) (values []span, end int) {
	value := len(raw) - len(bytes.TrimLeft(raw[at:], jsonraw.WhiteSpace))
	if value == len(raw) {
		return nil, value
	}
	if v, ok := quotedAt(raw, value); ok {
		v.from += schemeOf(raw[v.from:v.to])
		return nonEmpty(v), v.to
	}
	if raw[value] != '[' && raw[value] != '{' {
		return wordAt(raw, value, raw[at-1] == '=' && value == at, quoteBefore(raw[:at-1])), at
	}
	if isSchema(raw[value:min(len(raw), value+schemaWithin)]) {
		return nil, at
	}
	return valuesWithin(raw, value, quoteBefore(raw[:at-1]))
}

// quoteBefore returns the quote at the end of text with its backslashes, or "".
func quoteBefore(text []byte) string {
	text = bytes.TrimRight(text, jsonraw.WhiteSpace)
	quoted := bytes.TrimRight(text, `"'`)
	if len(quoted) == len(text) {
		return ""
	}
	return string(text[len(bytes.TrimRight(quoted, `\`)):])
}

func nonEmpty(v span) []span {
	if v.from >= v.to {
		return nil
	}
	return []span{v}
}

// quotedAt finds the text between quotes at a place. In JSON within a JSON string
// a quote follows one backslash, one level deeper three.
func quotedAt(raw []byte, at int) (v span, ok bool) {
	open := at
	for open < len(raw) && raw[open] == '\\' {
		open++
	}
	if open == len(raw) || raw[open] != '"' && raw[open] != '\'' {
		return span{}, false
	}
	slashes := open - at
	quote := raw[open]
	from := open + 1
	for i := from; i < len(raw); i++ {
		next := bytes.IndexByte(raw[i:], quote)
		if next < 0 {
			break
		}
		i += next
		before := 0
		for i-before > from && raw[i-before-1] == '\\' {
			before++
		}
		// A backslash of the text is written as 2*(slashes+1) of them, and one before a
		// quote of the text as slashes+1. Fewer end a text around this one, which was cut.
		if before < slashes || before%(2*(slashes+1)) == slashes {
			return span{from: from, to: i - min(before, slashes), slashes: slashes}, true
		}
	}
	return span{from: from, to: len(raw), slashes: slashes}, true // it was cut: the rest is the secret
}

// schemeOf returns the length of the scheme and the space before credentials.
func schemeOf(value []byte) int {
	word, _, ok := bytes.Cut(value, []byte(" "))
	if ok && authSchemes[strings.ToLower(string(word))] {
		return len(word) + 1
	}
	return 0
}

// marks are how Redacted begins in a text, and in a URL now and once.
var marks = [...]string{"••••(len", "****(len-", "%E2%80%A2%E2%80%A2%E2%80%A2%E2%80%A2%28len"}

func beginsHidden(word string) bool {
	return slices.ContainsFunc(marks[:], func(mark string) bool { return strings.HasPrefix(word, mark) })
}

// wordAt finds a value without quotes. Behind a "=" any is one; behind a ":" the
// text may be prose, "the token: it has expired", so that only a line that begins
// with the name, or a word that looks like a secret, is one. What replaces a number
// behind a ":" is put between quotes like those of the name.
func wordAt(raw []byte, at int, assigned bool, quote string) []span {
	end := at
	for end < len(raw) && classes[raw[end]]&wordEnd == 0 {
		end++
	}
	word := string(raw[at:end])
	if beginsHidden(word) || strings.HasPrefix(word, "-----BEGIN") { // which goes on after a blank
		return nil
	}
	if authSchemes[strings.ToLower(word)] && end < len(raw) && raw[end] == ' ' {
		return wordAt(raw, end+1, true, "")
	}
	if word == "" || word == "…" || word == "true" || word == "false" || word == "null" {
		return nil
	}
	if jsonraw.IsNumber([]byte(word)) && jsonraw.Valid([]byte(word)) == nil && !assigned {
		return []span{{from: at, to: end, quote: quote}}
	}
	if assigned || len(word) >= 20 || len(word) >= 6 && strings.ContainsAny(word, "0123456789") {
		return []span{{from: at, to: end}}
	}
	return nil
}

// valuesWithin finds the strings and numbers of an array or object that has a
// secret name.
func valuesWithin(raw []byte, at int, quote string) (values []span, end int) {
	for i, depth := at, 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
			if depth == 0 {
				return values, i
			}
		case c == '"' || c == '\\':
			v, ok := quotedAt(raw, i)
			if !ok {
				continue
			}
			closing := bytes.IndexByte(raw[v.to:], '"')
			if closing < 0 {
				return append(values, nonEmpty(v)...), len(raw)
			}
			i = v.to + closing
			if rest := bytes.TrimLeft(raw[i+1:], jsonraw.WhiteSpace); len(rest) == 0 || rest[0] != ':' {
				values = append(values, nonEmpty(v)...)
			}
		case jsonraw.IsNumber(raw[i:i+1]) && !isNameByte(raw[i-1]):
			found := wordAt(raw, i, false, quote)
			values = append(values, found...)
			if len(found) > 0 {
				i = found[0].to - 1
			}
		}
	}
	return values, len(raw)
}

// defaultIn returns where the value of the member "default" begins, after its colon, if the value at a place is a JSON
// Schema with one; else 0.
func defaultIn(raw []byte, at int) (from int) {
	value := len(raw) - len(bytes.TrimLeft(raw[at:], jsonraw.WhiteSpace))
	schema := raw[value:min(len(raw), value+schemaWithin)]
	if len(schema) == 0 || !isSchema(schema) {
		return 0
	}
	_ = jsonraw.EachMember(schema, func(_ int, name string, begin, _ int) bool {
		if name == "default" {
			from = value + len(bytes.TrimRight(schema[:begin], jsonraw.WhiteSpace))
		}
		return from == 0
	})
	return from
}

// schemaWithin bounds how far a value is read to see whether it is a schema.
const schemaWithin = 4 << 10

// schemaTypes are the values of "type" that tell a JSON Schema.
var schemaTypes = map[string]bool{"string": true, "object": true, "array": true, "number": true, "integer": true,
	"boolean": true, "null": true}

// isSchema reports whether raw begins like a JSON Schema. A schema with the name of a secret
// describes a secret and does not contain one.
func isSchema(raw []byte) bool {
	if raw[0] != '{' {
		return false
	}
	schema := false
	_ = jsonraw.EachMember(raw, func(_ int, name string, from, to int) bool {
		text, ok := jsonraw.Text(raw[from:to])
		switch name {
		case "type":
			schema = !ok || schemaTypes[text]
		case "$ref", "anyOf", "oneOf", "allOf", "enum", "const":
			schema = true
		}
		return !schema
	})
	return schema
}

// hideURLs hides what RedactURL does in the URLs that stand in a text.
func hideURLs(raw []byte, _ bool) edit {
	e := edit{raw: raw}
	kept := 0
	for at := 0; ; {
		at = spool.Index(raw, "://", at)
		if at == len(raw) {
			return e
		}
		kept = spool.Passed(raw, kept, at)
		from := at
		to := at
		for from > e.done && isNameByte(raw[from-1]) {
			from--
		}
		for to < len(raw) && classes[raw[to]]&linkEnd == 0 {
			to++
		}
		if bytes.ContainsAny(raw[from:to], "@=") {
			link := string(raw[from:to])
			if safe := RedactURL(link); safe != link {
				e.put(from, to, safe)
				e.linked = append(e.linked, urlSecrets(link, 3)...)
			}
		}
		at = to
	}
}
