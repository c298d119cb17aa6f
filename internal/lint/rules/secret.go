package rules

import (
	"regexp"
	"strings"
	"sync"
)

// secretWords matches names and sentences that ask for a secret, with spaces between words. Words
// that also have a harmless meaning ("token" in max_tokens, "key" alone) match only with a second
// word.
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)\b(pass ?words?|pass ?phrase|passwd|secret( key)?|client secret|api ?keys?|access ?key|private ?key|` +
			`(access|auth|bearer|refresh|session|api|id|security) ?tokens?|token|credentials?|` +
			`cvv2?|cvc|ssn|social security( number)?|` +
			`(credit|debit) ?card( number)?|card ?number|pin( code)?|otp|one.time (code|password)|seed phrase|iban)\b`,
	)
})

// notSecret matches names that contain such a word but ask for no secret.
var notSecret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)\b((page|next|cursor|continuation|sync|pagination|progress|max|min|total|count|cancel(l?ation)?|` +
			`stop|design|csrf) tokens?|tokens? (count|limit|budget|type|symbol|address|id|name|usage)|` +
			`secret (name|id|path)|password (policy|length|reset|strength)|pin (to|message|post|id|board))\b`,
	)
})

// findSecret returns the words in a name or a sentence that ask for a secret, or "".
func findSecret(text string) string {
	words := notSecret().ReplaceAllString(splitWords(text), " ")
	at := secretWords().FindStringIndex(words)
	if at == nil || negation().MatchString(words[:at[0]]) {
		return ""
	}
	return strings.TrimSpace(words[at[0]:at[1]])
}

// negation matches the beginning of a sentence that says not to give something.
var negation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(do not|don't|never|must not|without)\b[^.!?]{0,100}$`)
})

// splitWords splits names into words: apiKey, api_key and api-key become "api Key" and "api key".
func splitWords(text string) string {
	var b strings.Builder
	lower := false
	for _, r := range text {
		if r == '_' || r == '-' {
			r = ' '
		} else if r >= 'A' && r <= 'Z' && lower {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		b.WriteRune(r)
	}
	return b.String()
}
