package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkPlain compares isPlain with the search that it saves.
func checkPlain(t *testing.T, s *Secrets, raw []byte) (plain bool) {
	t.Helper()
	if !s.isPlain(raw) {
		return false
	}
	before, text := valueCount(s), bytes.Clone(raw)
	if safe, n := s.hideInUnicode(raw); n > 0 || !bytes.Equal(safe, text) {
		t.Fatalf("%q is plain, but reads %q without its %d secrets", text, safe, n)
	}
	if valueCount(s) != before {
		t.Fatalf("%q is plain, but a secret was learnt from it", text)
	}
	return true
}

// plainMessages are messages that the fast pass is made for.
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
		if checkPlain(t, s, []byte(`"`+word+`"`)); hasToken([]byte(word)) || hasCodedText([]byte(word)) {
			t.Errorf("%s may be a secret", word)
		}
	}
}

func TestPlainFieldsAreNoSecrets(t *testing.T) {
	for name := range plainFields {
		if other := strings.ToLower(name); isSecretName(other) || isURLField(other) || strings.HasSuffix(other, "authorization") {
			t.Errorf("%s may be a secret", name)
		}
	}
}

// A text with a secret in any spelling, and the texts of the other tests, are not plain.
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
	for _, begin := range append([]string{"Bearer "}, oldForms...) {
		for _, form := range []string{"%s", `"%s"`, "a%s", `\n%s`, "task-%s,"} {
			checkPlain(t, s, fmt.Appendf(nil, form, begin+"abcDEF0123456789abcd.abc.def"))
		}
	}
}

// smallWindows makes a text of some kB a large one.
func smallWindows(t testing.TB) {
	before := window
	window = 1024
	t.Cleanup(func() { window = before })
}

// A secret is found at each place of a text of several windows.
func TestNoSecretIsPlainInWindows(t *testing.T) {
	smallWindows(t)
	s := &Secrets{}
	value := "known, as {it} is"
	s.Learn(value)
	long := strings.Repeat(" ", 3*window)
	for _, secret := range []string{
		value, hex.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(value)), `known, \u0061s {it} is`,
		"known, as%20{it} is", "password: abcdef1", "token = 5", `"password"` + long + `:"x"`, "Bearer abcdefghijkl0123456789", "ghp_abcdefghij0123456789",
		"Bearer " + strings.Repeat("a1", window), "http://u:p@host/", "http://" + strings.Repeat("u,", window) + "@host/", "\x00",
	} {
		for _, filler := range []string{"so it goes, ", `{"a":1},[2]`, strings.Repeat("x", 700) + " y"} {
			filler = strings.Repeat(filler, 1+3*window/len(filler))
			if !checkPlain(t, s, []byte(filler+filler)) {
				t.Fatalf("%q is not plain", filler)
			}
			for at := 0; at < 2*window+100; at += 3 {
				if text := filler[:at] + " " + secret + " " + filler[at:]; checkPlain(t, s, []byte(text)) {
					t.Fatalf("%q at %d is plain", secret, at)
				}
			}
		}
	}
}

func FuzzPlainWindows(f *testing.F) {
	smallWindows(f)
	for _, text := range plainMessages {
		f.Add([]byte(text), "some-secret-value", uint16(1000))
	}
	f.Fuzz(func(t *testing.T, raw []byte, value string, at uint16) {
		s := &Secrets{}
		s.Learn(value)
		filler := bytes.Repeat([]byte("so it goes, "), 300)
		text := slices.Concat(filler[:int(at)%len(filler)], raw, filler)
		checkPlain(t, s, text)
		checkPlain(t, nil, text)
	})
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

// logLine is a line of a log within a text in JSON.
const logLine = `2026-11-21 10:00:00 worker 7 did what it was told, and said \"so\" at 10:00:01 to the other one.\n`

func BenchmarkPlain(b *testing.B) {
	s := &Secrets{}
	s.Learn("some-secret-value", "another-secret-value", "sk-and-a-third-one")
	for i, text := range append(plainMessages, strings.Repeat(logLine, 8000)) {
		raw := []byte(text)
		b.SetBytes(int64(len(raw)))
		b.Run(fmt.Sprint("plain ", i), func(b *testing.B) {
			for b.Loop() {
				s.isPlain(raw)
			}
		})
		b.Run(fmt.Sprint("slow ", i), func(b *testing.B) {
			for b.Loop() {
				s.hideInUnicode(raw)
			}
		})
	}
}
