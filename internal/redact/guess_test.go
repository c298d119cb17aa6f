package redact

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	randomText = "f3Kq9ZtW1xRb7LmV2pYc8NhD4sJg6TaQ"
	pem        = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx\nabc=\n-----END RSA PRIVATE KEY-----"
	// encrypted has lines that do not look random one by one.
	encrypted = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nabc/sryyCH7lzm6\n-----END RSA PRIVATE KEY-----"
)

func TestGuessLevels(t *testing.T) {
	inBase64 := base64.StdEncoding.EncodeToString([]byte(`a text with the value ` + randomText + ` in it`))
	for name, c := range map[string]struct {
		text  string
		level Guess
		want  string // of the hidden text, or "" if nothing is hidden
	}{
		"random":                  {`{"text":"see ` + randomText + `"}`, GuessLikely, randomText},
		"not when recording":      {`{"text":"see ` + randomText + `"}`, GuessNone, ""},
		"in an argument":          {`--x=` + randomText, GuessLikely, randomText},
		"in a path":               {`https://host.example/hooks/` + randomText + `/x`, GuessLikely, randomText},
		"escaped":                 {`{"text":"{\"a\":\"b\n` + randomText + `\"}"}`, GuessLikely, randomText},
		"percent":                 {`?x=%22` + randomText + `%22`, GuessLikely, randomText},
		"with a slash":            {`wJalrXUtnFEMI/K7MDENG/bPxRfiCYEX4MPL3KEY`, GuessLikely, `wJalrXUtnFEMI/K7MDENG/bPxRfiCYEX4MPL3KEY`},
		"small letters":           {`x k3j9z7q2w8e4r6t1y5u0i3o9p7a2s8d4 y`, GuessLikely, `k3j9z7q2w8e4r6t1y5u0i3o9p7a2s8d4`},
		"a key":                   {"x\n" + pem + "\ny", GuessLikely, pem},
		"a key in a string":       {`{"text":"` + strings.ReplaceAll(pem, "\n", `\n`) + `"}`, GuessLikely, strings.ReplaceAll(pem, "\n", `\n`)},
		"an encrypted key":        {encrypted, GuessLikely, encrypted},
		"a cut key":               {`{"a":"` + strings.ReplaceAll(encrypted[:80], "\n", `\n`) + `","b":"x-y"}`, GuessLikely, "Proc-Type"},
		"short with a name":       {`"signingSecretValue":"ab12cd34ef56gh"`, GuessLikely, "ab12cd34ef56gh"},
		"in base64":               {inBase64, GuessLikely, "..."},
		"uuid":                    {`"550e8400-e29b-41d4-a716-446655440000"`, GuessLikely, ""},
		"Task uuid":               {`"Task-550e8400-e29b-41d4-a716-446655440000"`, GuessLikely, ""},
		"sha256":                  {`"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`, GuessLikely, ""},
		"integrity":               {`"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="`, GuessLikely, ""},
		"trace":                   {`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`, GuessLikely, ""},
		"id":                      {`{"jsonrpc":"2.0","id":"` + randomText + `"}`, GuessLikely, ""},
		"cursor":                  {`{"nextCursor": "` + randomText + `"}`, GuessLikely, ""},
		"cursor in a string":      {`"{\"nextCursor\": \"` + randomText + `\"}"`, GuessLikely, ""},
		"an image":                {`"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="`, GuessLikely, ""},
		"a large blob":            {`"blob":"` + strings.Repeat(randomText, 40) + `"`, GuessLikely, ""},
		"base64 of text":          {base64.StdEncoding.EncodeToString([]byte(`{"offset":100,"order":"ascending by name"}`)), GuessLikely, ""},
		"camel case":              {`getUserByIdFromDatabaseV2AndCacheItForLater`, GuessLikely, ""},
		"path":                    {`/usr/local/lib/python3.11/site-packages/Some_Package/Module2/File3.py`, GuessLikely, ""},
		"a pod":                   {`coredns-5d78c9869d-x8k2z-in-the-kube-system-namespace`, GuessLikely, ""},
		"a date":                  {`Screenshot-2024-01-01-at-10-11-12-PM-of-the-Screen`, GuessLikely, ""},
		"members":                 {`"io.modelcontextprotocol/clientCapabilities"`, GuessLikely, ""},
		"e-mail":                  {`"by":"jane.doe@corp.example"`, GuessStrict, "jane.doe@corp.example"},
		"e-mail, not strict":      {`"by":"jane.doe@corp.example"`, GuessLikely, ""},
		"home":                    {`"/home/jdoe/x.txt"`, GuessStrict, "/home/jdoe"},
		"address":                 {`from 93.184.216.34 port 1`, GuessStrict, "93.184.216.34"},
		"address of everybody":    {`http://127.0.0.1:3001/`, GuessStrict, ""},
		"a version is no address": {`1.2.3.4.5`, GuessStrict, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Secrets{Guess: c.level}
			safe, n := s.Bytes([]byte(c.text))
			switch {
			case c.want == "":
				if n != 0 {
					t.Errorf("%d hidden: %s", n, safe)
				}
			case c.want == "...":
				if n != 1 {
					t.Errorf("%d hidden: %s", n, safe)
				}
			case n == 0 || strings.Contains(string(safe), c.want):
				t.Errorf("%d hidden: %s", n, safe)
			case strings.Count(c.text, `\`) == 0 && string(safe) != strings.ReplaceAll(c.text, c.want, Redacted(c.want)) && !strings.Contains(c.text, "//"):
				t.Errorf("%s", safe)
			}
			if found := s.Find([]byte(c.text)); (len(found) > 0) != (c.want != "") {
				t.Errorf("found %v", found)
			}
		})
	}
}

// TestTheSameValueHasOnePseudonym: whatever text surrounds a value, it is replaced by the same
// text.
func TestTheSameValueHasOnePseudonym(t *testing.T) {
	for _, text := range []string{
		`"` + randomText + `"`, `"a\n` + randomText + `"`, `"{\"a\":\"` + randomText + `\"}"`, `%20` + randomText, "Bearer " + randomText,
		`{"api_key":"` + randomText + `"}`, `password=` + randomText,
	} {
		s := &Secrets{Guess: GuessLikely}
		if safe, _ := s.Bytes([]byte(text)); !strings.Contains(string(safe), Redacted(randomText)) {
			t.Errorf("%s: %s", text, safe)
		}
	}
}

// TestMostRandomTextsAreHidden counts the secrets of a usual form that are recognized by their
// form.
func TestMostRandomTextsAreHidden(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	const texts = 2000
	for length, least := range map[int]int{32: texts * 95 / 100, 40: texts * 98 / 100, 64: texts * 999 / 1000} {
		hidden := 0
		for range texts {
			var b strings.Builder
			for range length {
				b.WriteByte(letters[r.IntN(len(letters))])
			}
			s := &Secrets{Guess: GuessLikely}
			if _, n := s.Bytes([]byte(`"` + b.String() + `"`)); n > 0 {
				hidden++
			}
		}
		if hidden < least {
			t.Errorf("of %d characters %d of %d were hidden, want %d", length, hidden, texts, least)
		}
	}
}

// TestEncodedTextAfterRandomTextIsFound: a run of base64 that is no text ends where it ends.
func TestEncodedTextAfterRandomTextIsFound(t *testing.T) {
	coded := base64.StdEncoding.EncodeToString([]byte(`{"some":"text","api_key":"hunter2hunter2"}`))
	text := randomText + "abcd1234 there " + coded + " " + strings.Repeat("words ", 20)
	s := new(Secrets)
	if safe, n := s.Bytes([]byte(text)); n != 1 {
		t.Errorf("%d hidden: %s", n, safe)
	}
}
