package redact

import (
	"slices"
	"strings"
	"sync"
)

// secretNames and secretEndings identify the header fields and parameters whose values are
// credentials or act as such. They are compared with the letters of a name alone: X-Api-Key,
// api_key and apiKey[0] are one name.
var (
	secretNames   = []string{"code", "dpop", "pass", "session", "sid", "sig", "usercode", "devicecode", "authcode"}
	secretEndings = []string{
		"assertion",
		"auth",
		"authorization",
		"bearer",
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
	// openNames end like the names of secrets but do not name one.
	openNames = map[string]bool{"idempotencykey": true, "secwebsocketkey": true}
)

// isSecretName reports whether name is the name of a secret. It compares letters only, in any case.
func isSecretName(name string) bool { return isSecretLetters(strings.Map(lettersOnly, name)) }

// isSecretLetters implements isSecretName for the lower-case letters of a name.
func isSecretLetters(name string) bool {
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

// byLastTwo has the secretNames and secretEndings by their last two letters, which rule out most
// other names. It is used for every member that is recorded.
var byLastTwo = sync.OnceValue(func() *[32 * 26][]secretText {
	table := new([32 * 26][]secretText)
	add := func(s secretText) {
		pair := pairOf(s.text[len(s.text)-2], s.text[len(s.text)-1])
		table[pair] = append(table[pair], s)
	}
	for _, name := range secretNames {
		add(secretText{text: name, whole: true})
	}
	for _, ending := range secretEndings {
		add(secretText{text: ending, whole: false})
	}
	return table
})

// A secretText is a whole name or the end of a name.
type secretText struct {
	text  string
	whole bool
}

// pairOf returns the index of two lower-case letters in byLastTwo.
func pairOf(a, b byte) int { return 32*int(a-'a') + int(b-'a') }

// lettersOnly maps a letter to lower case and drops every other character.
func lettersOnly(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	if r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

// openMembers are names that end like the names of secrets but seldom name one if they name a
// member and not a parameter of a URL: a progress token, a key of a map, the code of an error, the
// name of a session. The other side needs some of their values to understand the message.
var openMembers = map[string]bool{
	"progresstoken": true, "code": true, "key": true, "session": true, "sig": true,
	"pass": true, "primarykey": true, "foreignkey": true, "publickey": true, "sortkey": true, "cachekey": true,
	"filekey": true, "issuekey": true, "objectkey": true, "partitionkey": true, "projectkey": true, "spacekey": true,
	"tagkey": true,
}

// isSecretMember reports whether the word before a ":" or a "=" is the name of a secret.
func isSecretMember(word []byte) bool {
	if len(word) < 3 || len(word) > 64 {
		return false
	}
	var letters [64]byte
	n := 0
	for _, c := range word {
		c |= 'a' - 'A'
		if 'a' <= c && c <= 'z' { // no other byte of a word becomes a small letter
			letters[n] = c
			n++
		}
	}
	if n < 2 || byLastTwo()[pairOf(letters[n-2], letters[n-1])] == nil {
		return false
	}
	name := string(letters[:n])
	return isSecretLetters(name) && !openMembers[name]
}

// accessKeys are parts of the names of keys that grant access.
var accessKeys = []string{
	"access", "account", "admin", "api", "app", "auth", "client", "consumer", "crypt", "deploy",
	"hmac", "licen", "master", "private", "secret", "service", "shared", "sign", "ssh", "storage", "subscription",
}

// namesIdentifier reports whether name ends with "key" but contains no element of accessKeys. If
// the value is a word, as in facetKey="environment", it is an identifier and not a secret.
func namesIdentifier(name []byte) bool {
	letters := strings.Map(lettersOnly, string(name))
	return strings.HasSuffix(letters, "key") &&
		!slices.ContainsFunc(accessKeys, func(part string) bool { return strings.Contains(letters, part) })
}
