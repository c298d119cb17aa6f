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

// The functions below find secrets in bytes that may be JSON, JSON within a JSON string, a log line
// or a fragment. They look at the characters alone and pass over the bytes once, because they check
// everything that is recorded.

// An edit replaces ranges of raw, in ascending order.
type edit struct {
	raw []byte
	// out is the spooled result, nil before the first replacement. done is how many bytes of raw it
	// covers.
	out  *spool.Buffer
	done int
	// failed is the first error of writing out.
	failed error
	// replaced are the replaced ranges of raw, as begin and end.
	replaced [][2]int
	// secrets are the replaced values that are to be learned. urlValues are the replaced values in
	// URLs, namedValues the replaced values that follow a name.
	secrets, urlValues, namedValues []string
}

// byForm finds secrets by their form: private keys, fields of a form, parts of a URL, values after
// a name, and tokens of well-known services. It is the one list for all text that is recorded,
// exported and checked. variables means the same as Secrets.Variables.
var byForm = [...]struct {
	kind FoundKind
	hide func(raw []byte, variables bool) edit
}{
	{FoundKey, hideKeys},
	{FoundURL, hideForm},
	{FoundURL, hideURLs},
	{FoundName, hideCurl},
	{FoundName, hideNamed},
	{FoundToken, hideTokens},
}

// replace replaces raw[from:to] with shown. from must not be before the end of the previous
// replacement.
func (e *edit) replace(from, to int, shown string) {
	if e.out == nil {
		e.out = spool.NewBeside(e.raw, int64(len(e.raw)+len(e.raw)/16))
	}
	e.copyTo(from)
	e.write([]byte(shown))
	e.done = to
	e.replaced = append(e.replaced, [2]int{from, to})
}

// result returns the edited bytes and the number of replacements. It returns raw itself if nothing
// was replaced, and a withheld text if the result could not be written.
func (e *edit) result() ([]byte, int) {
	if len(e.replaced) == 0 {
		return e.raw, 0
	}
	e.copyTo(len(e.raw))
	safe, err := e.out.Bytes()
	if e.failed != nil || err != nil { // the disk is full
		e.out.Close()
		return withholdText(e.raw), len(e.replaced)
	}
	return safe, len(e.replaced)
}

// copyTo copies raw from done up to offset to the result.
func (e *edit) copyTo(offset int) {
	for piece := range spool.Pieces(e.raw[e.done:offset]) {
		e.write(piece)
	}
}

// write appends p to the result, unless an earlier write failed.
func (e *edit) write(p []byte) {
	if e.failed == nil {
		_, e.failed = e.out.Write(p)
	}
}

// hideNamed hides the values that follow a secret name and ":" or "=", and the defaults of JSON
// Schemas with such a name.
func hideNamed(raw []byte, variables bool) edit {
	e := edit{raw: raw}
	colon := -1  // the next ":" from offset on
	equals := -1 // the next "="
	released := 0
	var defaults map[int]bool // where the defaults of schemas that describe a secret begin
	for offset := 0; ; {
		if colon < offset {
			colon = spool.Index(raw, ":", offset)
		}
		if equals < offset {
			equals = spool.Index(raw, "=", offset)
		}
		released = spool.ReleasePassed(raw, released, offset)
		offset = min(colon, equals) + 1
		if offset > len(raw) {
			return e
		}
		if offset-1 < e.done { // within the previous secret
			continue
		}
		isDefault := defaults[offset]
		name := wordBefore(raw[e.done : offset-1])
		// In the URN of a grant or token type, "oauth:" looks like a secret name.
		isOAuthURN := bytes.HasSuffix(raw[:offset], []byte("urn:ietf:params:oauth:"))
		isNamed := isSecretMember(name) && !isOAuthURN
		if !isNamed && !isDefault {
			continue
		}
		if variables {
			if after := environmentReference().Find(raw[offset:]); after != nil {
				offset += len(after)
				continue
			}
		}
		values, end := secretValues(raw, offset)
		if defaultStart := defaultIn(raw, offset); isNamed && defaultStart > 0 {
			if defaults == nil {
				defaults = map[int]bool{}
			}
			defaults[defaultStart] = true
		}
		for _, v := range values {
			secret := string(raw[v.from:v.to])
			isShortDefault := isDefault && len(secret) < minKnown // probably not a real secret
			if isHidden(secret) || isShortDefault {
				continue
			}
			isIdentifier := namesIdentifier(name) && isWord(joinedParts.Replace(secret))
			if isPlaceholder(secret) || isIdentifier {
				continue
			}
			e.replace(v.from, v.to, v.shown(secret))
			isPlainDefault := isDefault && len(secret) < minUnnamed && !strings.ContainsAny(secret, "0123456789")
			if isPlainDefault {
				continue // not learned: it is a word, which may occur anywhere
			}
			e.namedValues = append(e.namedValues, v.plainText(secret))
			e.namedValues = append(e.namedValues, basicSecrets(string(wordBefore(raw[:v.from])), secret)...)
		}
		offset = max(offset, end)
	}
}

// isPlaceholder reports whether value is a placeholder for a secret in an example, such as "Bearer
// token", YOUR_API_KEY or <password>. hideNamed does not hide it.
func isPlaceholder(value string) bool {
	if len(value) > maxPlaceholder || strings.ContainsAny(value, "0123456789") {
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

// maxPlaceholder is the maximum length of a placeholder in bytes.
const maxPlaceholder = 40

// A word that follows ":" in a text counts as a secret from minUnnamed bytes on, or from minWithDigit
// bytes on if it has a digit.
const (
	minUnnamed   = 20
	minWithDigit = 6
)

// joinedParts joins the parts of a value such as created_at.
var joinedParts = strings.NewReplacer("_", "", "-", "")

// environmentReference matches a reference to an environment variable, in a shell or in a file of
// saved calls. The reference itself is not a secret.
var environmentReference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^\s*(?i:(?:bearer|basic|token) )?['"\\]*\$(?:[A-Z_][A-Z0-9_]*|\{(?:env\.)?[A-Z_][A-Z0-9_]*\})(?:['"\\\s,;)}\]]|$)`,
	)
})

// wordBefore returns the last word of text, without the quotes and the space after it. It returns
// at most 65 bytes of a word, which is enough to see that it is too long for a name.
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

// A span is the place of a secret value in the bytes.
type span struct {
	from, to int
	// quote is put on both sides of the placeholder for a JSON number.
	quote string
	// slashes is the number of backslashes before each quote of the value.
	slashes int
}

// shown returns the placeholder for secret, in quotes if it replaces a JSON number.
func (v span) shown(secret string) string {
	return v.quote + Redacted(v.plainText(secret)) + v.quote
}

// plainText returns secret with its JSON escapes decoded, once for each level of JSON strings that
// it is in.
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

// secretValues returns the secret values at raw[offset:], after a secret name and its ":" or "=":
// one string or word, or all strings and numbers of an array or an object. It returns no values if
// the value is a JSON Schema. The search for names continues at end.
func secretValues(raw []byte, offset int) (values []span, end int) {
	value := len(raw) - len(bytes.TrimLeft(raw[offset:], jsonraw.WhiteSpace))
	if value == len(raw) {
		return nil, value
	}
	if v, ok := quotedAt(raw, value); ok {
		v.from += schemeLength(raw[v.from:v.to])
		return asList(v), v.to
	}
	quote := quoteBefore(raw[:offset-1]) // of the name, for the replacement of a number
	if raw[value] != '[' && raw[value] != '{' {
		isAssigned := raw[offset-1] == '=' && value == offset
		return unquotedAt(raw, value, isAssigned, quote), offset
	}
	if isSchema(raw[value:min(len(raw), value+schemaWithin)]) {
		return nil, offset
	}
	return valuesWithin(raw, value, quote)
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

// asList returns v as a list, or nil if v is empty.
func asList(v span) []span {
	if v.from >= v.to {
		return nil
	}
	return []span{v}
}

// quotedAt returns the text between the quotes at a place. In JSON within a JSON string a quote
// follows one backslash, one level deeper three. If the closing quote is missing, the text reaches
// to the end of raw. quotedAt reports false if no quote begins at the place.
func quotedAt(raw []byte, offset int) (span, bool) {
	open := offset
	for open < len(raw) && raw[open] == '\\' {
		open++
	}
	if open == len(raw) || raw[open] != '"' && raw[open] != '\'' {
		return span{}, false
	}
	slashes := open - offset
	quote := raw[open]
	from := open + 1
	for i := from; i < len(raw); i++ {
		next := bytes.IndexByte(raw[i:], quote)
		if next < 0 {
			break
		}
		i += next
		before := 0 // backslashes before the quote
		for i-before > from && raw[i-before-1] == '\\' {
			before++
		}
		// Within the text, a backslash is escaped as 2*(slashes+1) backslashes, and a quote with
		// slashes+1. Fewer backslashes end an enclosing text, because this text was cut.
		if before < slashes || before%(2*(slashes+1)) == slashes {
			return span{from: from, to: i - min(before, slashes), slashes: slashes}, true
		}
	}
	return span{from: from, to: len(raw), slashes: slashes}, true // it was cut: the rest is the secret
}

// schemeLength returns the length of the authentication scheme and the space at the beginning of
// value, or 0 if there is no known scheme.
func schemeLength(value []byte) int {
	word, _, ok := bytes.Cut(value, []byte(" "))
	if ok && authSchemes[strings.ToLower(string(word))] {
		return len(word) + 1
	}
	return 0
}

// marks are the beginnings of the placeholder: in a text, in a URL, and in URLs of old recordings.
var marks = [...]string{"••••(len", "****(len-", "%E2%80%A2%E2%80%A2%E2%80%A2%E2%80%A2%28len"}

// beginsHidden reports whether word begins with a placeholder.
func beginsHidden(word string) bool {
	return slices.ContainsFunc(marks[:], func(mark string) bool { return strings.HasPrefix(word, mark) })
}

// unquotedAt returns the unquoted value at a place, or nil if it is not a secret. After "=", when
// isAssigned is set, any word is a secret. After ":" the text may be prose, as in "the token: it has
// expired", so a word counts only if it is long, has digits or is a number. quote is for the
// placeholder of a number after ":".
func unquotedAt(raw []byte, offset int, isAssigned bool, quote string) []span {
	end := offset
	for end < len(raw) && classes[raw[end]]&wordEnd == 0 {
		end++
	}
	word := string(raw[offset:end])
	// A placeholder and a private key contain blanks: this word is only the beginning of one.
	if beginsHidden(word) || strings.HasPrefix(word, "-----BEGIN") {
		return nil
	}
	if authSchemes[strings.ToLower(word)] && end < len(raw) && raw[end] == ' ' {
		const isCredential = true // after the scheme any word is the secret
		return unquotedAt(raw, end+1, isCredential, "")
	}
	if word == "" || word == "…" || word == "true" || word == "false" || word == "null" {
		return nil
	}
	isNumber := jsonraw.IsNumber([]byte(word)) && jsonraw.Valid([]byte(word)) == nil
	if isNumber && !isAssigned {
		return []span{{from: offset, to: end, quote: quote}}
	}
	hasDigit := strings.ContainsAny(word, "0123456789")
	if isAssigned || len(word) >= minUnnamed || len(word) >= minWithDigit && hasDigit {
		return []span{{from: offset, to: end}}
	}
	return nil
}

// valuesWithin returns the strings and numbers of the array or object at a place, except the names
// of members. quote is for the placeholders of numbers. end is the place of the closing bracket, or
// the end of raw if it is missing.
func valuesWithin(raw []byte, offset int, quote string) (values []span, end int) {
	depth := 0
	for i := offset; i < len(raw); i++ {
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
				return append(values, asList(v)...), len(raw)
			}
			i = v.to + closing
			rest := bytes.TrimLeft(raw[i+1:], jsonraw.WhiteSpace)
			isMemberName := len(rest) > 0 && rest[0] == ':'
			if !isMemberName {
				values = append(values, asList(v)...)
			}
		case jsonraw.IsNumber(raw[i:i+1]) && !isNameByte(raw[i-1]):
			const isAssigned = false
			found := unquotedAt(raw, i, isAssigned, quote)
			values = append(values, found...)
			if len(found) > 0 {
				i = found[0].to - 1
			}
		}
	}
	return values, len(raw)
}

// defaultIn returns the place after the colon of the member "default" if the value at a place is a
// JSON Schema with a default, else 0.
func defaultIn(raw []byte, offset int) int {
	value := len(raw) - len(bytes.TrimLeft(raw[offset:], jsonraw.WhiteSpace))
	schema := raw[value:min(len(raw), value+schemaWithin)]
	if len(schema) == 0 || !isSchema(schema) {
		return 0
	}
	from := 0
	_ = jsonraw.EachMember(schema, func(_ int, name string, begin, _ int) bool {
		if name == "default" {
			from = value + len(bytes.TrimRight(schema[:begin], jsonraw.WhiteSpace))
		}
		return from == 0
	})
	return from
}

// schemaWithin is how many bytes of a value are checked for a schema.
const schemaWithin = 4 << 10

// schemaTypes are the values of "type" that identify a JSON Schema.
var schemaTypes = map[string]bool{
	"string": true, "object": true, "array": true, "number": true, "integer": true,
	"boolean": true, "null": true,
}

// isSchema reports whether raw begins like a JSON Schema. A schema with the name of a secret
// describes a secret and does not contain one.
func isSchema(raw []byte) bool {
	if raw[0] != '{' {
		return false
	}
	found := false
	_ = jsonraw.EachMember(raw, func(_ int, name string, from, to int) bool {
		switch name {
		case "type":
			text, isText := jsonraw.Text(raw[from:to])
			found = !isText || schemaTypes[text] // a schema may have a list of types
		case "$ref", "anyOf", "oneOf", "allOf", "enum", "const":
			found = true
		}
		return !found
	})
	return found
}

// hideURLs hides the secrets that RedactURL finds in the URLs of a text.
func hideURLs(raw []byte, _ bool) edit {
	e := edit{raw: raw}
	released := 0
	for offset := 0; ; {
		offset = spool.Index(raw, "://", offset)
		if offset == len(raw) {
			return e
		}
		released = spool.ReleasePassed(raw, released, offset)
		from := offset
		to := offset
		for from > e.done && isNameByte(raw[from-1]) {
			from--
		}
		for to < len(raw) && classes[raw[to]]&urlEnd == 0 {
			to++
		}
		if bytes.ContainsAny(raw[from:to], "@=") { // else it has neither user information nor parameters
			link := string(raw[from:to])
			if safe := RedactURL(link); safe != link {
				e.replace(from, to, safe)
				e.urlValues = append(e.urlValues, urlSecrets(link, maxURLLevels)...)
			}
		}
		offset = to
	}
}
