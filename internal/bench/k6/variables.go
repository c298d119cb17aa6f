package k6

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/redact"
)

// variables are the environment variables for the secrets of a test.
type variables struct {
	list  []Secret
	names map[string]string // by placeholder
}

// A Secret is an environment variable of the script, with a description of its value.
type Secret struct {
	Env   string `json:"env"`
	Value string `json:"value"`
}

// The places of secrets other than header fields, which are identified by their names.
const (
	inURL    = "URL"
	inParams = "params"
)

// A variable and a handle are parts of a text that the script fills in.
type (
	variable struct {
		Env string `json:"env"`
	}
	handle struct {
		Line int    `json:"line"`
		Path []any  `json:"path"`
		Was  string `json:"was"` // JSON
	}
)

// text splits a text at the placeholders of secrets. It returns a string if the text has no
// placeholder, else a list of parts.
func (v *variables) text(text, where string) any {
	return joinParts(v.split(nil, text, where))
}

func (v *variables) split(parts []any, text, where string) []any {
	at := 0
	for _, place := range redact.HiddenIn(text) {
		parts = append(parts, text[at:place[0]], variable{v.variableFor(text[place[0]:place[1]], where)})
		at = place[1]
	}
	return append(parts, text[at:])
}

// joinParts removes empty strings. It returns a string if nothing else is left.
func joinParts(parts []any) any {
	kept := []any{}
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	if len(kept) == 1 {
		if text, ok := kept[0].(string); ok {
			return text
		}
	}
	return kept
}

// params splits params at handles and at the placeholders of secrets.
func (v *variables) params(raw json.RawMessage, bound []Bound) any {
	var parts []any
	at := 0
	for _, b := range bound {
		parts = v.split(parts, string(raw[at:b.From]), inParams)
		parts = append(parts, handle{b.Call + 1, b.Path, string(raw[b.From:b.To])})
		at = b.To
	}
	return joinParts(v.split(parts, string(raw[at:]), inParams))
}

// variableFor returns the variable for a placeholder. A placeholder has one variable.
func (v *variables) variableFor(shown, where string) string {
	if name := v.names[shown]; name != "" {
		return name
	}
	name := "MCP_" + strings.Map(variableRune, where)
	what := "the value of the header field " + where
	switch {
	case strings.EqualFold(where, "Authorization"):
		name = "MCP_TOKEN"
		what = "the credentials in the header field Authorization, without the scheme"
	case where == inURL:
		name = "MCP_URL_SECRET"
		what = "the secret in the URL, encoded as there"
	case where == inParams:
		name = "MCP_SECRET"
		what = "a secret in the params of a call"
	}
	taken := 1
	for _, s := range v.list {
		if s.Env == name || strings.HasPrefix(s.Env, name+"_") {
			taken++
		}
	}
	if taken > 1 {
		name = fmt.Sprintf("%s_%d", name, taken)
	}
	if v.names == nil {
		v.names = map[string]string{}
	}
	v.names[shown] = name
	v.list = append(v.list, Secret{name, what + ", a hidden value: " + shown})
	return name
}

// variableRune maps a character to one that a variable name can contain.
func variableRune(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + 'A'
	}
	if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}
