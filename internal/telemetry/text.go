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

// bounded is a text as valid UTF-8 of at most n bytes, cut where a character begins. It keeps no
// memory of a longer one.
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

// noSecrets has learned no values: it hides what is named like a secret or looks like one.
var noSecrets *redact.Secrets

// shown returns what may be said of a text of a message.
func shown(text string) string {
	return bounded(noSecrets.Text(bounded(text, longestLookedAt)), longestMessage)
}

// content is what may be said of a value of a message, as JSON.
func content(raw json.RawMessage) string {
	safe, _ := noSecrets.Bytes(raw[:min(len(raw), longestLookedAt)])
	return bounded(string(safe), longestContent)
}

// idText is an id as a text: 7 of 7, abc of "abc"; "" of null.
func idText(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		return bounded(text, longestName)
	}
	if string(id) == "null" {
		return ""
	}
	return bounded(string(id), longestName)
}

// hashIn is the hash that recordings have in place of a secret, or other where the text has none.
func hashIn(text, other string) string {
	if all := redact.HashesIn(text); len(all) > 0 {
		return all[0]
	}
	return other
}
