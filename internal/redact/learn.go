package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// LearnField learns the secrets that RedactField hides in a header field, and the secrets of a URL
// in its value. A nil s learns nothing.
func (s *Secrets) LearnField(f wire.Field) {
	if s == nil {
		return
	}
	isSecretField := !isURLField(f.Name) && RedactField(f).Value != f.Value
	if !isSecretField {
		s.LearnURL(f.Value)
		return
	}
	if strings.Contains(strings.ToLower(f.Name), "cookie") {
		s.learnNamed(f.Value) // the whole field, then each value
		cookies := strings.Split(f.Value, ";")
		if strings.EqualFold(f.Name, "Set-Cookie") {
			cookies = cookies[:1] // the other parts are attributes of the cookie
		}
		for _, cookie := range cookies {
			_, value, _ := strings.Cut(cookie, "=")
			s.learnNamed(strings.Trim(value, jsonraw.WhiteSpace+`"`))
		}
		return
	}
	s.Learn(f.Value)
	if scheme, rest, ok := strings.Cut(f.Value, " "); ok { // such as Bearer
		s.Learn(strings.TrimSpace(rest))
		s.Learn(basicSecrets(scheme, rest)...)
	}
}

// basicSecrets returns the credentials of the scheme Basic, decoded as "user:password" from base64
// (RFC 7617, section 2), and the password. It returns nil if the scheme is different or the
// credentials are invalid.
func basicSecrets(scheme, credentials string) []string {
	if !strings.EqualFold(scheme, "basic") {
		return nil
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(credentials), "="))
	if err != nil {
		return nil
	}
	if _, password, ok := strings.Cut(string(text), ":"); ok {
		return []string{string(text), password}
	}
	return nil
}

// LearnURL learns the user information and the secret parameters of a URL, and of the URLs in its
// parameters.
//
// A value that is a word, such as the password "postgres", counts as a secret in URLs only:
// elsewhere it is not distinguishable from the word.
func (s *Secrets) LearnURL(raw string) { s.learnURLValues(urlSecrets(raw, maxURLLevels)) }

// learnURLValues learns values that were found in a URL. Words count as secrets in URLs only.
func (s *Secrets) learnURLValues(values []string) {
	if s == nil {
		return
	}
	for _, value := range values {
		if isWord(value) {
			s.values.addURLWord(value)
		} else {
			s.Learn(value)
		}
	}
}

// learnNamed learns values that were found by their names in messages. It skips words such as the
// password "postgres", and openWords: elsewhere they are not distinguishable from the word, so only
// hideNamed hides them. Values that the user gave, in the environment, in a command or as a header field, are
// hidden everywhere.
func (s *Secrets) learnNamed(values ...string) {
	for _, value := range values {
		if !isWord(value) && !openWords[value] {
			s.Learn(value)
		}
	}
}

// maxWord is the maximum length of a word, maxCluster the maximum number of its consonants
// in a row.
const (
	maxWord    = 16
	maxCluster = 4
)

// isWord reports whether a value looks like an ordinary word: at least three pronounceable letters,
// in one case or with an initial capital, and at most two digits at the end.
func isWord(value string) bool {
	letters := strings.TrimRight(value, "0123456789")
	if len(letters) < 3 || len(value)-len(letters) > 2 || len(value) > maxWord {
		return false
	}
	vowels := 0
	cluster := 0
	for i, c := range []byte(letters) {
		switch {
		case !isLetter(c):
			return false
		case i > 0 && isUpper(c) != isUpper(letters[1]): // mixed case after the first letter
			return false
		case i > 0 && isUpper(c) && !isUpper(letters[0]):
			return false
		case strings.IndexByte("aeiouy", c|0x20) >= 0:
			vowels++
			cluster = 0
		default:
			cluster++
		}
		if cluster > maxCluster {
			return false
		}
	}
	return 5*vowels >= len(letters) // at least one letter in five
}

// isUpper reports whether c is a capital ASCII letter.
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// urlSecrets returns the values that LearnURL learns, which may be empty. It checks URLs within
// URLs levels deep.
func urlSecrets(raw string, levels int) []string {
	if levels == 0 || !strings.ContainsAny(raw, "@=") {
		return nil
	}
	var all []string
	if u, err := url.Parse(raw); err == nil {
		all = append(all, userSecret(u))
	} else if _, rest, ok := strings.Cut(raw, "//"); ok { // the password contains an invalid character
		user := rest[:max(0, strings.LastIndexByte(rest, '@'))]
		_, password, _ := strings.Cut(user, ":")
		all = append(all, unescaped(password))
	}
	for _, param := range strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune(paramBegins, r) }) {
		name, value, _ := strings.Cut(param, "=")
		if text := unescaped(value); isSecretName(unescaped(name)) {
			all = append(all, text)
		} else {
			all = append(all, urlSecrets(text, levels-1)...)
		}
	}
	return all
}

// LearnCommand learns the secrets among the words of a command.
func (s *Secrets) LearnCommand(argv []string) {
	for i, word := range argv {
		if _, secret, found := secretWord(argv, i); found {
			s.Learn(secret)
		} else if isTextWord(word) {
			s.hideInText(word) // text learns the secrets that it hides
		} else {
			s.LearnURL(word)
		}
	}
}

// LearnEnvironment learns the secrets of an environment of "NAME=value", including secrets in URLs.
// It skips PWD and OLDPWD, which do not name passwords.
func (s *Secrets) LearnEnvironment(environ []string) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "PWD" || name == "OLDPWD":
		case isSecretName(name):
			s.Learn(value)
		case strings.Contains(value, "://"):
			s.LearnURL(value)
		}
	}
}

// hideForm hides the secrets of a form that was sent as a body, by the rules for the query of a
// URL. It hides nothing if raw is not a form, or longer than maxForm.
func hideForm(raw []byte, _ bool) edit {
	e := edit{raw: raw}
	if len(raw) == 0 || len(raw) > maxForm || !slices.Contains(raw, '&') {
		return e
	}
	beginsWithName := isNameByte(raw[0]) || raw[0] == '%'
	isForeign := func(c byte) bool { return classes[c]&(space|urlEnd) != 0 || c == '{' } // not in a form
	if !beginsWithName || slices.ContainsFunc(raw, isForeign) {
		return e
	}
	form := "?" + string(raw)
	if safe := RedactURL(form); safe != form {
		e.replace(0, len(raw), safe[1:])
		e.secrets = urlSecrets(form, maxURLLevels)
	}
	return e
}

// maxForm is the maximum size of a form in bytes.
const maxForm = 1 << 20
