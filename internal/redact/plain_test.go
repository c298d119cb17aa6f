package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkPlain holds isPlain against the look that it saves.
func checkPlain(t *testing.T, s *Secrets, raw []byte) (plain bool) {
	t.Helper()
	if !s.isPlain(raw) {
		return false
	}
	before, text := valueCount(s), bytes.Clone(raw)
	if safe, n := s.slowBytes(raw); n > 0 || !bytes.Equal(safe, text) {
		t.Fatalf("%q is plain, but reads %q without its %d secrets", text, safe, n)
	}
	if valueCount(s) != before {
		t.Fatalf("%q is plain, but a secret was learnt from it", text)
	}
	return true
}

// plainMessages are those for which the pass is made.
var plainMessages = []string{
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p7","progress":5,"total":100000}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5,"message":"Schritt 5 ist fertig"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-sum","arguments":{"a":1,"b":2},"_meta":{"progressToken":7}}}`,
	`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"line one\nand \"two\" of http://example.com/a"}],"structuredContent":{"sum":3}}}`,
}

func TestUsualMessagesArePlain(t *testing.T) {
	s := &Secrets{}
	s.Learn("some-secret-value", "another of them")
	for _, text := range plainMessages {
		if !checkPlain(t, s, []byte(text)) || !checkPlain(t, nil, []byte(text)) {
			t.Errorf("%s is not plain", text)
		}
		for _, secret := range []string{"some-secret-value", "ghp_abcdefghij0123456789", `","password":"x`, "https://u:p@host/", "\x00"} {
			if s.isPlain([]byte(strings.Replace(text, ":", ":"+secret, 3))) {
				t.Errorf("%s with %q is plain", text, secret)
			}
		}
	}
	for word := range openWords {
		if checkPlain(t, s, []byte(`"`+word+`"`)); beginsIn([]byte(word)) != 0 || holdsCoded([]byte(word)) {
			t.Errorf("%s may be a secret", word)
		}
	}
}

func TestPlainFieldsAreNoSecrets(t *testing.T) {
	for name := range plainFields {
		if other := strings.ToLower(name); secretName(other) || isURLField(other) || strings.HasSuffix(other, "authorization") {
			t.Errorf("%s may be a secret", name)
		}
	}
}

// What is hidden in any spelling, and what the other tests hide, is not plain.
func TestNoSecretIsPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 6))
	for range 3000 {
		c := trialOf(r)
		text := c.before + c.secret + c.after
		for _, way := range c.ways {
			text = spellings[way].as(text)
		}
		s := &Secrets{}
		s.Learn(c.secret)
		for _, raw := range []string{text, `{"jsonrpc":"2.0","result":{"text":"` + text + `"}}`, "key=" + text, "a: " + text} {
			checkPlain(t, s, []byte(raw))
		}
	}
	s := &Secrets{}
	for _, name := range append(append([]string{}, secretNames...), secretEndings...) {
		for _, form := range []string{`{"%s":"abc"}`, `%s=abc`, `%s: abcdef1`, `{"a":"{\"%s\":[\"x\"]}"}`, `"X-%s" : 'a'`, `?a=b&%s=c`, `http://h/?%s=c`} {
			checkPlain(t, s, fmt.Appendf(nil, form, name))
		}
	}
	for _, begin := range tokenBegins {
		for _, form := range []string{"%s", `"%s"`, "a%s", `\n%s`, "task-%s,"} {
			checkPlain(t, s, fmt.Appendf(nil, form, begin+"abcDEF0123456789abcd.abc.def"))
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, text := range plainMessages {
		f.Add([]byte(text), "some-secret-value")
	}
	files, _ := filepath.Glob("*_test.go")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if i%8 == 0 {
				f.Add(bytes.TrimSpace(line), "another \"value\" of 8")
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, value string) {
		s := &Secrets{}
		s.Learn(value)
		checkPlain(t, s, raw)
		checkPlain(t, nil, raw)
	})
}

func BenchmarkPlain(b *testing.B) {
	s := &Secrets{}
	s.Learn("some-secret-value", "another-secret-value", "sk-and-a-third-one")
	for i, text := range plainMessages {
		raw := []byte(text)
		b.Run(fmt.Sprint("plain ", i), func(b *testing.B) {
			for b.Loop() {
				s.isPlain(raw)
			}
		})
		b.Run(fmt.Sprint("slow ", i), func(b *testing.B) {
			for b.Loop() {
				s.slowBytes(raw)
			}
		})
	}
}
