package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestPasswordsOfCurl(t *testing.T) {
	const secret = "hunter2-hunter2"
	for _, text := range []string{
		"curl -u user:" + secret + " https://host.example", "curl -uuser:" + secret + " x", "curl --user user:" + secret + " x", "curl --user=user:" + secret + " x",
		"curl -s --proxy-user 'user:" + secret + "' x", `{"text":"curl \"https://h\" -u \"user:` + secret + `\""}`, `{"text":"curl \\\n  -U user:` + secret + `"}`,
	} {
		s := new(Secrets)
		safe, n := s.Bytes([]byte(text))
		if n != 1 || strings.Contains(string(safe), secret) || json.Valid([]byte(text)) && !json.Valid(safe) {
			t.Errorf("%s", safe)
		}
		if !s.Knows(secret) {
			t.Errorf("%s: the password is not known", text)
		}
	}
	for _, text := range []string{"curl -u user https://h:80/x", `curl -u "user:$PASSWORD" x`, "sort -u a:b", "curl https://host.example/a-u b:c"} {
		if safe, n := new(Secrets).Bytes([]byte(text)); n > 0 {
			t.Errorf("%s", safe)
		}
	}
}

// Escapes of programming languages are undone as well.
func TestEscapesOfProgrammingLanguagesAreUndone(t *testing.T) {
	const secret = "hunter2-hunter2"
	for _, form := range []string{`\u{%x}`, `\u{00%x}`, `\%03o`, `\\u{%x}`, `\x%02x`} {
		s := new(Secrets)
		s.Learn(secret)
		var b strings.Builder
		for _, c := range []byte(secret) {
			fmt.Fprintf(&b, form, c)
		}
		if safe, n := s.Bytes([]byte("see " + b.String() + " there")); n != 1 || string(safe) != "see "+Redacted(secret)+" there" {
			t.Errorf("%s", safe)
		}
	}
}
