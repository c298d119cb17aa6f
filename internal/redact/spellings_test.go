package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// spellings are the ways to write a text elsewhere.
var spellings = []struct {
	name string
	// as writes a text; blocks is set where its neighbours change how it is written.
	as     func(text string) string
	blocks bool
}{
	{"as it is", func(t string) string { return t }, false},
	{"JSON", func(t string) string { return inner(string(jsonraw.Quote(t))) }, false},
	{"JSON with escaped slashes", func(t string) string { return strings.ReplaceAll(inner(string(jsonraw.Quote(t))), "/", `\/`) }, false},
	{"JSON for HTML", func(t string) string { raw, _ := json.Marshal(t); return inner(string(raw)) }, false},
	{"JSON in ASCII", func(t string) string {
		return inUnits(t, func(u uint16) bool { return u > 0x7E || u < ' ' || u == '"' || u == '\\' }, `\u%04x`)
	}, false},
	{"JSON in numbers", func(t string) string { return inUnits(t, func(uint16) bool { return true }, `\u%04X`) }, false},
	{"form", url.QueryEscape, false},
	{"path", url.PathEscape, false},
	{"percent", func(t string) string { return inBytes(t, "%%%02X") }, false},
	{"percent in small letters", func(t string) string { return inBytes(t, "%%%02x") }, false},
	{"HTML", html.EscapeString, false},
	{"HTML numbers", func(t string) string { return inRunes(t, "&#%d;") }, false},
	{"HTML hexadecimal", func(t string) string { return inRunes(t, "&#x%X;") }, false},
	{"hex", func(t string) string { return hex.EncodeToString([]byte(t)) }, true},
	{"HEX", func(t string) string { return strings.ToUpper(hex.EncodeToString([]byte(t))) }, true},
	{"base64", func(t string) string { return base64.StdEncoding.EncodeToString([]byte(t)) }, true},
	{"base64 for URLs", func(t string) string { return base64.RawURLEncoding.EncodeToString([]byte(t)) }, true},
	{"base64 in lines", func(t string) string { return inLines(base64.StdEncoding.EncodeToString([]byte(t)), 76, "\r\n") }, true},
	{"base64 in short lines", func(t string) string { return inLines(base64.StdEncoding.EncodeToString([]byte(t)), 64, "\n") }, true},
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

func inUnits(text string, escaped func(uint16) bool, form string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		if escaped(u) {
			fmt.Fprintf(&b, form, u)
		} else {
			b.WriteByte(byte(u))
		}
	}
	return b.String()
}

func inBytes(text, form string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, form, c)
	}
	return b.String()
}

func inRunes(text, form string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, form, r)
	}
	return b.String()
}

func inLines(text string, length int, end string) string {
	var lines []string
	for ; len(text) > length; text = text[length:] {
		lines = append(lines, text[:length])
	}
	return strings.Join(append(lines, text), end)
}

// leaks reports the first part of a secret's own spelling that is still to be read: the longest
// common part of both.
func leaks(secret, safe string) string {
	most := max(7, len(secret)*2/3)
	for i := 0; i+most <= len(secret); i++ {
		if strings.Contains(safe, secret[i:i+most]) {
			return secret[i : i+most]
		}
	}
	return ""
}

// A trial is a secret within a text that is encoded in several ways, the innermost
// first.
type trial struct {
	secret, before, after string
	ways                  []int
}

func (c trial) String() string {
	var names []string
	for _, way := range c.ways {
		names = append(names, spellings[way].name)
	}
	return fmt.Sprintf("%q between %q and %q as %s", c.secret, c.before, c.after, strings.Join(names, ", then "))
}

// check hides the secret and looks for it. Its own spelling is the part that stays the same in any
// surrounding text.
func (c trial) check(t *testing.T, s *Secrets) {
	t.Helper()
	text, own := c.before+c.secret+c.after, c.secret
	for _, way := range c.ways {
		w := spellings[way]
		if w.blocks {
			own = ""
		} else if own != "" {
			own = w.as(own)
		}
		text = w.as(text)
	}
	safe := s.Text(text)
	if len(HiddenIn(safe)) == 0 {
		t.Errorf("%s: nothing is hidden in %q", c, text)
	} else if part := leaks(own, safe); own != "" && part != "" {
		t.Errorf("%s: %q still holds %q", c, safe, part)
	}
	// Undoing the encodings, outermost first, does not reveal it either.
	for i := len(c.ways) - 1; i >= 0; i-- {
		if strings.Contains(safe, c.secret) {
			t.Errorf("%s: %q is found behind %d steps", c, safe, len(c.ways)-1-i)
		}
		safe = unspelled(spellings[c.ways[i]].name, safe)
	}
	if strings.Contains(safe, c.secret) {
		t.Errorf("%s: it is found in %q", c, safe)
	}
}

// unspelled undoes a spelling as far as it can: each part between two marks alone.
func unspelled(name, text string) string {
	var b strings.Builder
	from := 0
	for _, at := range append(HiddenIn(text), []int{len(text), len(text)}) {
		part := text[from:at[0]]
		from = at[1]
		switch {
		case strings.HasPrefix(name, "JSON"):
			var plain string
			if json.Unmarshal([]byte(`"`+part+`"`), &plain) == nil {
				part = plain
			}
		case name == "form":
			part = unescaped(part)
		case name == "path" || strings.HasPrefix(name, "percent"):
			if plain, err := url.PathUnescape(part); err == nil {
				part = plain
			}
		case strings.HasPrefix(name, "HTML"):
			part = html.UnescapeString(part)
		case strings.EqualFold(name, "hex"):
			if plain, err := hex.DecodeString(part); err == nil {
				part = string(plain)
			}
		case strings.HasPrefix(name, "base64"):
			part = strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/", "=", "").Replace(part)
			for skip := range min(4, len(part)) { // with each possible beginning of the group
				if plain, _ := base64.RawStdEncoding.DecodeString(part[skip:]); len(plain) > 0 {
					b.Write(plain)
					b.WriteString(" ")
				}
			}
		}
		b.WriteString(part + Redacted("")[:4])
	}
	return b.String()
}

// trialOf makes one by chance.
func trialOf(r *rand.Rand) trial {
	letters := [][]rune{
		[]rune(lettersAndDigits), []rune(lettersAndDigits + "-_.~+/=:@!$&'()*,;"),
		[]rune(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n\tabcXYZ0189"), []rune("abcäöüßéλжあ中😀🔑\u00a01234"),
	}[r.IntN(4)]
	some := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	secret := some(8 + r.IntN(40))
	for {
		if v, ok := decode([]byte(secret), escape); !ok || len(v.text) >= minKnown {
			break
		}
		secret += some(1) // what is shorter once its own escapes are undone is not looked for so
	}
	c := trial{secret: secret, before: strings.Repeat("x", r.IntN(5)) + " ", after: " " + strings.Repeat("y", r.IntN(70))}
	for range 1 + r.IntN(3) {
		c.ways = append(c.ways, r.IntN(len(spellings)))
	}
	return c
}

// Any secret of eight characters is hidden in any three spellings. The trials are the
// same each time; FuzzSpellings searches for others.
func TestSecretsAreHiddenInEverySpelling(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 2))
	for i := range 3000 {
		c := trialOf(r)
		var s Secrets
		s.Learn(c.secret)
		if c.check(t, &s); t.Failed() {
			t.Fatalf("trial %d", i)
		}
	}
}

func FuzzSpellings(f *testing.F) {
	f.Add(uint64(1), uint64(1))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		c := trialOf(rand.New(rand.NewPCG(a, b)))
		var s Secrets
		s.Learn(c.secret)
		c.check(t, &s)
	})
}

// A text in base64 or in hexadecimal digits may stand behind what looks like more of it,
// and begin with bytes that are no text.
func TestEncodedTextsAreFoundAfterOtherText(t *testing.T) {
	const secret = "cAn/A8+x"
	encoded := base64.StdEncoding.EncodeToString
	spelled := inBytes(secret, `\u%04x`)
	for _, coded := range []string{
		encoded([]byte(encoded([]byte(secret)))), encoded([]byte(spelled)), hex.EncodeToString([]byte(spelled)),
		encoded([]byte("\x1b[31m" + spelled)), encoded([]byte("gr\xfc\xdfe " + spelled)),
	} {
		for _, before := range []string{"", "a", "_-", "0x", "/fil/", "/file/", "/files/", "some/long/path-of_words/"} {
			s := &Secrets{}
			s.Learn(secret)
			if text := `{"a":"` + before + coded + `"}`; s.Text(text) == text {
				t.Errorf("%s: %s is shown", before, coded)
			}
		}
	}
	s, words := &Secrets{}, strings.Repeat("words of a file. ", 1<<17)
	s.Learn(secret)
	if text := encoded([]byte(words + spelled + words)); s.Text("a "+text) == "a "+text {
		t.Error("a secret in a long text is shown")
	}
}

// What has so much in it that not all can be looked at is withheld.
func TestTextsWithTooManyNestedTextsAreWithheld(t *testing.T) {
	const secret = "cAnA8x7Qz"
	encoded := base64.StdEncoding.EncodeToString
	junk := []byte(`\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\%2525252525252541&amp;amp;amp;amp;amp;amp;lt; ` + strings.Repeat("some words ", 50))
	for range 4 {
		junk = []byte(string(junk) + encoded(junk))
	}
	message := `{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat(encoded(junk)+" ", 20) + `","b":"` + inBytes(secret, `\u%04x`) + `"}}`
	s := &Secrets{}
	s.Learn(secret)
	got := string(s.Frame(wire.Frame{Raw: []byte(message)}).Raw)
	if want := `{"jsonrpc":"2.0","id":1,"result":"••••(len `; !strings.HasPrefix(got, want) {
		t.Errorf("%.300s", got)
	}
	if len(s.Find([]byte(message))) == 0 {
		t.Error("nothing is found")
	}
}
