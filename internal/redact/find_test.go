package redact

import (
	"fmt"
	"testing"
)

func TestFind(t *testing.T) {
	var s Secrets
	s.Learn("known-one", "a+b/c d&e")
	for text, want := range map[string]string{
		"":                                  "[]",
		"nothing in here":                   "[]",
		"it is known-one.":                  "[{6 15 known known-one}]",
		`{"password":"known-one"}`:          "[{13 22 known known-one}]",
		`{"password":"hunter2hunter2"}`:     "[{13 27 name }]",
		`{"password":"x"} known-one`:        "[{13 14 name } {17 26 known known-one}]",
		"https://u:p@h/ and https://h/":     "[{0 14 url }]",
		"a=b&code=1234":                     "[{0 13 url }]",
		"q=a%2Bb%2fc+d%26e":                 "[{2 17 known a+b/c d&e}]",
		"key ghp_0123456789abcdefABCD":      "[{4 28 token }]",
		"••••(len 9, sha256:e8a7) is it":    "[]",
		`{"a":"` + "\\u006bnown-one" + `"}`: "[{6 20 known known-one}]",
		// a variable is no secret, and what follows it may be one
		`-H 'X-Api-Key: '"$MCPC_X_API_KEY" -d 'password=hunter2'`:                     "[{47 54 name }]",
		"  Authorization: Bearer ${env.MCPC_SECRET}\n  X-Api-Key: ${env.MCPC_SECRET}": "[]",
		`password="$PASSWORD" token=$TOKEN1x secret=` + "$x1234567":                   "[{27 35 name } {43 52 name }]",
	} {
		s.Variables = true
		if got := fmt.Sprint(s.Find([]byte(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
