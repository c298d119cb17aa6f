package telemetry

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

const (
	maxName    = 256
	maxMessage = 1 << 10
	maxContent = 4 << 10
	// maxSearched is how many bytes of a content are searched for secrets before the content is
	// cut.
	maxSearched = 64 << 10
)

// cutText returns text as valid UTF-8 of at most maxBytes bytes, cut at a character. The result is
// a copy, so that a long text can be freed.
func cutText(text string, maxBytes int) string {
	if len(text) > maxBytes {
		text = text[:jsonraw.RuneStart([]byte(text[:min(len(text), maxBytes+utf8.UTFMax)]), maxBytes)]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > maxBytes { // U+FFFD may be longer than the invalid bytes
		text = text[:jsonraw.RuneStart([]byte(text), maxBytes)]
	}
	return strings.Clone(text)
}

// noSecrets has no values. It redacts values that have the name or the form of a secret.
var noSecrets *redact.Secrets

// safeText returns the text of a message without secrets, at most maxMessage bytes.
func safeText(text string) string {
	return cutText(noSecrets.Text(cutText(text, maxSearched)), maxMessage)
}

// safeContent returns a JSON value of a message without secrets, at most maxContent bytes.
func safeContent(raw json.RawMessage) string {
	safe, _ := noSecrets.Bytes(raw[:min(len(raw), maxSearched)])
	return cutText(string(safe), maxContent)
}

// idText returns an id as text: 7 for 7, abc for "abc", and "" if id is null.
func idText(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		return cutText(text, maxName)
	}
	if string(id) == "null" {
		return ""
	}
	return cutText(string(id), maxName)
}

// firstHash returns the hash that recordings have in place of a secret, or fallback if the text has
// no hash.
func firstHash(text, fallback string) string {
	if all := redact.HashesIn(text); len(all) > 0 {
		return all[0]
	}
	return fallback
}
