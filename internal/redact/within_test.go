package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type leafy struct {
	Name  string
	Raw   json.RawMessage
	List  []string
	Inner *leafy
	Map   map[string]string
	own   string
}

func TestRedactWithinValues(t *testing.T) {
	const secret = "canary-0123456789abcdef"
	s := new(Secrets)
	s.Learn(secret)
	make := func(text string) *leafy {
		leaf := leafy{"a " + text, json.RawMessage(`{"b":"` + text + `"}`), []string{"c", text}, nil, map[string]string{"k": text}, secret}
		return &leafy{text, nil, nil, &leaf, nil, ""}
	}
	got := make(secret)
	Within(s, got)
	if diff := cmp.Diff(make(s.Text(secret)), got, cmp.AllowUnexported(leafy{})); diff != "" || strings.Contains(s.Text(secret), secret) {
		t.Error(diff)
	}
}
