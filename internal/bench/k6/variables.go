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
		Line     int    `json:"line"`
		Path     []any  `json:"path"`
		Recorded string `json:"was"` // JSON
	}
)

// splitText splits a text at the placeholders of secrets. It returns a string if the text has no
// placeholder, else a list of parts.
func (v *variables) splitText(text, where string) any {
	return joinParts(v.appendSplit(nil, text, where))
}

// appendSplit appends the parts of a text: strings, and variables for the placeholders.
func (v *variables) appendSplit(parts []any, text, where string) []any {
	end := 0 // of the last placeholder
	for _, span := range redact.HiddenIn(text) {
		placeholder := text[span[0]:span[1]]
		parts = append(parts, text[end:span[0]], variable{Env: v.define(placeholder, where)})
		end = span[1]
	}
	return append(parts, text[end:])
}

// joinParts removes empty strings. It returns a string if nothing else is left.
func joinParts(parts []any) any {
	nonEmpty := []any{}
	for _, part := range parts {
		if part != "" {
			nonEmpty = append(nonEmpty, part)
		}
	}
	if len(nonEmpty) == 0 {
		return ""
	}
	if len(nonEmpty) == 1 {
		if text, isText := nonEmpty[0].(string); isText { // not a variable or a handle
			return text
		}
	}
	return nonEmpty
}

// splitParams splits params at handles and at the placeholders of secrets.
func (v *variables) splitParams(raw json.RawMessage, bound []Bound) any {
	var parts []any
	end := 0 // of the last handle
	for _, b := range bound {
		parts = v.appendSplit(parts, string(raw[end:b.Start]), inParams)
		line := b.Call + 1 // of the Data file, from 1
		parts = append(parts, handle{Line: line, Path: b.Path, Recorded: string(raw[b.Start:b.End])})
		end = b.End
	}
	return joinParts(v.appendSplit(parts, string(raw[end:]), inParams))
}

// define returns the name of the variable for a placeholder in a place: inURL, inParams or the name
// of a header field. A placeholder has one variable, which the first place names.
func (v *variables) define(placeholder, where string) string {
	if name := v.names[placeholder]; name != "" {
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
	uses := 1
	for _, s := range v.list {
		if s.Env == name || strings.HasPrefix(s.Env, name+"_") {
			uses++
		}
	}
	if uses > 1 {
		name = fmt.Sprintf("%s_%d", name, uses)
	}
	if v.names == nil {
		v.names = map[string]string{}
	}
	v.names[placeholder] = name
	v.list = append(v.list, Secret{Env: name, Value: what + ", a hidden value: " + placeholder})
	return name
}

// variableRune maps a character to a character that a variable name can contain.
func variableRune(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + 'A'
	}
	if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}
