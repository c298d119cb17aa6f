package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// The default of an argument that is named like a secret is a secret.
func TestDefaultsOfSecrets(t *testing.T) {
	const secret = "hunter2-hunter2"
	for _, schema := range []string{
		`{"api_key":{"type":"string","default":"` + secret + `"}}`,
		`{"api_key": { "type" : "string" , "description":"The token: yours.", "default" : "` + secret + `" } }`,
		`{"token":{"anyOf":[{"type":"string"},{"type":"null"}],"default":"` + secret + `"}}`,
		`{"credentials":{"type":"object","properties":{"name":{"type":"string","default":"me"}},"default":{"name":"` + secret + `"}}}`,
		`{"credentials":{"type":"object","properties":{"password":{"type":"string","default":"` + secret + `"}}}}`,
		`{"secret":{"type":"array","items":{"type":"string"},"default":["` + secret + `"]}}`,
	} {
		s := new(Secrets)
		safe, n := s.Bytes([]byte(schema))
		if n != 1 || strings.Contains(string(safe), secret) || !json.Valid(safe) {
			t.Errorf("%s: %d places", safe, n)
		}
		if !s.Knows(secret) {
			t.Errorf("%s: the default is not known", schema)
		}
	}
	for _, schema := range []string{
		`{"api_key":{"type":"string","default":""}}`,
		`{"api_key":{"type":"string","default":"none"}}`,
		`{"api_key":{"type":["string","null"],"default":null}}`,
		`{"name":{"type":"string","default":"` + secret + `"}}`,
		`{"token":{"type":"string","description":"By default: none"}}`,
		`{"token":{"type":"string"},"name":{"type":"string","default":"` + secret + `"}}`,
		`{"password":{"type":"boolean","default":false}}`,
		`{"max_tokens":{"type":"integer","default":1000}}`,
	} {
		if safe, n := new(Secrets).Bytes([]byte(schema)); n > 0 {
			t.Errorf("%s", safe)
		}
	}
	s := new(Secrets)
	safe, n := s.Bytes([]byte(`{"password":{"type":"string","default":"postgres"},"description":"Rows of postgres"}`))
	if n != 1 || !strings.Contains(string(safe), "Rows of postgres") || s.Knows("postgres") {
		t.Errorf("a word is hidden where it is no secret: %s", safe)
	}
}
