package telemetry

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

const (
	longestName    = 256
	longestMessage = 1 << 10
	longestContent = 4 << 10
	// longestLookedAt is how much of a content is searched for secrets, before it is cut.
	longestLookedAt = 64 << 10
)

// bounded returns text as valid UTF-8 of at most n bytes, cut at a character. The result does not
// share the memory of a longer text.
func bounded(text string, n int) string {
	if len(text) > n {
		text = text[:jsonraw.RuneStart([]byte(text[:min(len(text), n+utf8.UTFMax)]), n)]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > n { // a replacement is longer than what it replaces
		text = text[:jsonraw.RuneStart([]byte(text), n)]
	}
	return strings.Clone(text)
}

// noSecrets is without values: it hides what is named like a secret or looks like one.
var noSecrets *redact.Secrets

// shown returns a text of a message without secrets.
func shown(text string) string {
	return bounded(noSecrets.Text(bounded(text, longestLookedAt)), longestMessage)
}

// content returns a value of a message as JSON without secrets.
func content(raw json.RawMessage) string {
	safe, _ := noSecrets.Bytes(raw[:min(len(raw), longestLookedAt)])
	return bounded(string(safe), longestContent)
}

// idText returns an id as text: 7 for 7, abc for "abc", "" for null.
func idText(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		return bounded(text, longestName)
	}
	if string(id) == "null" {
		return ""
	}
	return bounded(string(id), longestName)
}

// hashIn returns the hash that recordings have in place of a secret, or other if the text has none.
func hashIn(text, other string) string {
	if all := redact.HashesIn(text); len(all) > 0 {
		return all[0]
	}
	return other
}
