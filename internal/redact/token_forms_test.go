package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// body returns n characters of an alphabet, with digits among them.
func body(of *[256]bool, n int) string {
	var letters []byte
	for c := range of {
		if of[c] && (isLetter(byte(c)) || isDigit(byte(c))) {
			letters = append(letters, byte(c))
		}
	}
	var b strings.Builder
	for i := range n {
		b.WriteByte(letters[(i*7+3)%len(letters)])
	}
	return b.String()
}

// tokens returns one token of each form.
func tokens() (all []string) {
	for _, begin := range oldForms {
		if begin == "eyJ" {
			all = append(all, begin+body(alnum, 20)+"."+body(alnum, 20)+"."+body(alnum, 20))
		} else {
			all = append(all, begin+body(alnum, 40))
		}
	}
	for _, line := range tokenTable {
		for begin := range strings.FieldsSeq(line.prefixes) {
			all = append(all, begin+body(line.alphabet, line.minLength))
		}
	}
	for _, f := range otherForms {
		text := []byte(body(f.alphabet, f.minLength))
		if f.prefix == "pat" {
			text = []byte(body(alnum, 14) + "." + body(hexDigits, 64))
		}
		all = append(all, f.prefix+string(text))
	}
	return all
}

func TestTokenFormsAreFoundEverywhere(t *testing.T) {
	for _, token := range tokens() {
		secret := token
		for _, f := range otherForms {
			if f.keepsPrefix {
				secret = strings.TrimPrefix(secret, f.prefix)
			}
		}
		for name, text := range map[string]string{
			"alone": token, "in JSON": `{"text":"see ` + token + `"}`, "in a sentence": "it is " + token + ", see there",
			"after a line end": `{"text":"a\n` + token + `\nb"}`, "assigned": "A_VALUE=" + token, "in a form": "a=b&x=" + url.QueryEscape(token),
			"in base64":       base64.StdEncoding.EncodeToString([]byte(`{"text":"` + token + `"}`)),
			"in digits":       hex.EncodeToString([]byte("the text " + token)),
			"in JSON in JSON": `{"text":"{\"a\":\"` + token + `\"}"}`,
		} {
			s := new(Secrets)
			safe, n := s.Bytes([]byte(text))
			if n == 0 || strings.Contains(string(safe), secret) {
				t.Errorf("%s, %s: %s", token, name, safe)
			}
			if strings.HasPrefix(text, "{") && !json.Valid(safe) {
				t.Errorf("%s, %s: %s is no JSON", token, name, safe)
			}
			if len(new(Secrets).Find([]byte(text))) == 0 {
				t.Errorf("%s, %s: not found in a file", token, name)
			}
		}
	}
}

// Words that begin like tokens, and tokens that are too short or too long for their form, are not
// tokens.
func TestWordsAreNoTokens(t *testing.T) {
	for _, text := range []string{
		"task-management-of-the-year-2024", "pattern-matching-with-regular-expressions-2", "SKU-1234567890-ABCDEF-and-more", "key-value-store-with-1000-entries",
		"sess-" + "ion-storage-for-2024-and-later-years", "secret_santa_2024_the_movie_and_the_book_and_the_game", "gsk_learn_the_library_version_1_2_3_4",
		"dapi_docs_version_2_of_the_reference", "r8_and_more_and_more_and_more_and_more_2", "SG.is-the-country-code-of-Singapore",
		"ATBB" + strings.Repeat("x", 10), "sha256~" + "short", "npm_config_registry_of_the_project", "xai-research-and-development-2024-in-the-world",
		"SK" + strings.Repeat("ab12", 20), "EAAAE-" + "is-nothing-at-all-2", "hooks.slack.com/services/", "https://discord.com/api/webhooks/docs",
		"vca_configuration_file_for_testing_1", "fc-" + "football-club-of-the-town-since-1899", "glc_" + "configuration_2", "whsec_" + "test1",
		"01926f3c-7b1e-7cc0-9d3b-5a1f0c2d4e6f", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	} {
		if safe, n := new(Secrets).Bytes([]byte("see " + text + " there")); n > 0 {
			t.Errorf("%s", safe)
		}
	}
}

// keyNames are the names of private keys in text.
var keyNames = []string{"RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"}

// keyLine is the i-th line of a made-up key.
func keyLine(i int) string { return body(alnum, 60) + fmt.Sprintf("%04d", i) }

func keyOf(name, lineEnd string) string {
	lines := []string{"-----BEGIN " + name + "-----"}
	if name == "RSA PRIVATE KEY" {
		lines = append(lines, "Proc-Type: 4,ENCRYPTED", "")
	}
	lines = append(lines, keyLine(1), keyLine(2), keyLine(3)[:30]+"==", "-----END "+name+"-----")
	return strings.Join(lines, lineEnd)
}

func TestPrivateKeysAreFoundInEveryForm(t *testing.T) {
	for _, name := range keyNames {
		plain := keyOf(name, "\n")
		quoted, _ := json.Marshal(plain)
		twice, _ := json.Marshal(string(quoted))
		for form, text := range map[string]string{
			"lines": "x\n" + plain + "\ny", "Windows": keyOf(name, "\r\n"), "JSON": `{"text":` + string(quoted) + `,"n":1}`, "JSON in JSON": `{"text":` + string(twice) + `}`,
			"a word": "KEY=" + keyOf(name, `\n`), "one line": `{"text":"` + keyOf(name, " ") + `"}`, "no line ends": keyOf(name, ""), "form": "a=b&x=" + url.QueryEscape(plain),
			"URL": "https://host.example/?x=" + url.PathEscape(plain), "base64": base64.StdEncoding.EncodeToString([]byte(plain)), "digits": hex.EncodeToString([]byte(plain)),
			"cut": `{"text":"` + keyOf(name, `\n`)[:150] + `","n":1}`, "YAML": "key: |\n  " + keyOf(name, "\n  ") + "\nother: 1", "escaped": `{"text":"` + strings.ReplaceAll(keyOf(name, `\n`), "-", `\u002d`) + `"}`,
		} {
			s := new(Secrets)
			safe, n := s.Bytes([]byte(text))
			if n == 0 {
				t.Errorf("%s, %s: nothing hidden in %s", name, form, text)
			}
			for _, encoded := range []string{keyLine(1)[:40], base64.StdEncoding.EncodeToString([]byte(keyLine(1)))[8:40], hex.EncodeToString([]byte(keyLine(1)))[:40]} {
				if strings.Contains(string(safe), encoded) {
					t.Errorf("%s, %s: %s", name, form, safe)
				}
			}
			if json.Valid([]byte(text)) && !json.Valid(safe) {
				t.Errorf("%s, %s: %s is no JSON", name, form, safe)
			}
			if strings.Contains(text, `"n":1`) && !strings.Contains(string(safe), `"n":1`) {
				t.Errorf("%s, %s: more than the key is hidden in %s", name, form, safe)
			}
			if found := new(Secrets).Find([]byte(text)); len(found) == 0 {
				t.Errorf("%s, %s: not found in a file", name, form)
			}
			unparted := name == "RSA PRIVATE KEY" && form == "no line ends" // the word before is a part of the first line
			if safe, n := s.Bytes([]byte("later " + keyLine(2))); n == 0 && !unparted {
				t.Errorf("%s, %s: a line of it is %s", name, form, safe)
			}
		}
	}
}

func TestTextsAboutKeysAreNoKeys(t *testing.T) {
	for _, text := range []string{
		"-----BEGIN PUBLIC KEY-----\n" + keyLine(1) + "\n-----END PUBLIC KEY-----", "a file that begins with -----BEGIN PRIVATE KEY----- is a key",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "a PRIVATE KEY", "PRIVATE", "-----BEGIN CERTIFICATE-----\n" + keyLine(1) + "\n-----END CERTIFICATE-----",
	} {
		if safe, n := new(Secrets).Bytes([]byte(text)); n > 0 {
			t.Errorf("%s", safe)
		}
	}
}

// A word in the user information of a URL is hidden there and nowhere else, and a name alone is a
// secret only in a URL of HTTP.
func TestWordsOfURLs(t *testing.T) {
	for _, c := range []struct{ url, safe string }{
		{"postgres://postgres@host/db", "postgres://postgres@host/db"},
		{"postgres://app:postgres@host/db", "postgres://redacted@host/db"},
		{"ssh://git@github.com/a/b", "ssh://git@github.com/a/b"},
		{"redis://:inventory@host", "redis://redacted@host"},
		{"https://inventory@host/x", "https://redacted@host/x"},
		{"git+https://inventory@host/x", "git+https://redacted@host/x"},
		{"https://host/?token=inventory", "https://host/?token=" + placeholderInURL(Redacted("inventory"))},
	} {
		s := new(Secrets)
		s.LearnURL(c.url)
		s.LearnCommand([]string{"server", c.url})
		if got := RedactURL(c.url); got != c.safe {
			t.Errorf("%s became %s", c.url, got)
		}
		for _, word := range []string{"postgres", "inventory"} {
			for _, text := range []string{`{"name":"` + word + `_query","description":"runs SQL on ` + word + `"}`, word + "://h/t", "https://" + word + "/x"} {
				if safe, n := s.Bytes([]byte(text)); n > 0 {
					t.Errorf("after %s: %s", c.url, safe)
				}
			}
		}
		if c.url == c.safe {
			continue
		}
		for _, text := range []string{c.url, `{"text":"` + c.url + `"}`, strings.ReplaceAll(c.url, "/", `\/`), base64.StdEncoding.EncodeToString([]byte("see " + c.url + " there")), "?u=" + url.QueryEscape(c.url)} {
			if safe, n := s.Bytes([]byte(text)); n == 0 {
				t.Errorf("after %s: %s", c.url, safe)
			}
		}
	}
	s := new(Secrets)
	s.LearnURL("postgres://app:hunter2hunter2@host/db") // no word
	if safe, n := s.Bytes([]byte("failed for hunter2hunter2")); n == 0 {
		t.Errorf("%s", safe)
	}
}

func TestIsWord(t *testing.T) {
	for word, want := range map[string]bool{
		"postgres": true, "Postgres": true, "POSTGRES": true, "inventory": true, "admin12": true, "hunter2hunter2": false,
		"xkqzvbnmplk": false, "aB3dE5gH": false, "correcthorsebattery": false, "12345678": false, "ab": false, "pass-word": false, "": false,
	} {
		if got := isWord(word); got != want {
			t.Errorf("%s: %v", word, got)
		}
	}
}
