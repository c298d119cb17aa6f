package rules

import (
	"regexp"
	"strings"
	"sync"
)

// secretWords match what asks for a secret, in names written with hyphens, underscores
// or capitals. Words that have a harmless meaning ("token" in max_tokens, "key" alone)
// count with their companions only.
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)\b(pass ?words?|pass ?phrase|passwd|secret( key)?|client secret|api ?keys?|access ?key|private ?key|` +
			`(access|auth|bearer|refresh|session|api|id|security) ?tokens?|token|credentials?|` +
			`cvv2?|cvc|ssn|social security( number)?|` +
			`(credit|debit) ?card( number)?|card ?number|pin( code)?|otp|one.time (code|password)|seed phrase|iban)\b`,
	)
})

// notSecret are names that contain such a word and ask for no secret.
var notSecret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)\b((page|next|cursor|continuation|sync|pagination|progress|max|min|total|count|cancel(l?ation)?|` +
			`stop|design|csrf) tokens?|tokens? (count|limit|budget|type|symbol|address|id|name|usage)|` +
			`secret (name|id|path)|password (policy|length|reset|strength)|pin (to|message|post|id|board))\b`,
	)
})

// secretIn returns the words with which a name or a sentence asks for a secret, or "".
func findSecret(text string) string {
	words := notSecret().ReplaceAllString(splitWords(text), " ")
	at := secretWords().FindStringIndex(words)
	if at == nil || negation().MatchString(words[:at[0]]) {
		return ""
	}
	return strings.TrimSpace(words[at[0]:at[1]])
}

// negation matches the begin of a sentence that asks not to give what it names.
var negation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(do not|don't|never|must not|without)\b[^.!?]{0,100}$`)
})

// apart writes apiKey, api_key and api-key as "api Key" and "api key".
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
