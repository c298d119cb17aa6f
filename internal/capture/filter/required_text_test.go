package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A text is found in any spelling of another writer.
func TestTextIsFoundInAnySpelling(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":"ünï \"q\" http://y/"}}`)
	for range 200 {
		line := spell(random, raw)
		for _, text := range []string{"a/b", "http://Y", "ünï", `"q"`, "ÜNÏ", "jsonrpc"} {
			if n := newNeedle(text); !n.isIn(raw) || !n.mayBeInLine(line) {
				t.Fatalf("%q is not looked for in %s", text, line)
			}
		}
	}
}

func TestRequiredTexts(t *testing.T) {
	for pattern, want := range map[string]string{
		`abc`:                                 "abc",
		`"code": ?-32\d{3}`:                   `"code":`,
		`^\{.*tool-7"`:                        `tool-7"`,
		`(foo|barbar)baz`:                     "baz",
		`foobar|quux`:                         "foobar or quux",
		`(?:foobar|quux)x?`:                   "foobar or quux",
		`foobar|[0-9]+`:                       "",
		`(abc)+d*`:                            "abc",
		`(abc)*def`:                           "def",
		`(abc)?`:                              "",
		`(abc){2,}`:                           "abc",
		`(abc){0,3}`:                          "",
		`\bword\b`:                            "word",
		`a.b`:                                 "",
		`resources/read`:                      "resources",
		`(?i)abcd`:                            "ABCD in any case",
		`(?i)select`:                          "ELECT in any case",
		`(?i)kelvin`:                          "ELVIN in any case",
		`(?i)ÜNÏ`:                             "ÜNÏ in any case",
		`ab(?i)CDE`:                           "CDE in any case",
		"x\uFFFDyz":                           "yz",
		`a|bb|ccc`:                            "",
		`[ab][cd]`:                            "",
		``:                                    "",
		`a\nbc`:                               "a\nbc",
		`aa|bb|cc|dd|ee|ff|gg|h`:              "",
		`(?:aa|bb|cc|dd|ee|ff|gg|hh|ii)xyz`:   "xyz",
		`(?s)longest.(?:longer|longestofall)`: "longest",
	} {
		var got []string
		r := requiredTexts(regexp.MustCompile(pattern))
		for _, text := range r.exact {
			plain, _ := jsonraw.Unquote(nil, slices.Concat([]byte(`"`), text, []byte(`"`)))
			got = append(got, string(plain))
		}
		for _, f := range r.anyCase {
			got = append(got, string(f.upper)+" in any case")
		}
		if strings.Join(got, " or ") != want {
			t.Errorf("%s needs %q, want %q", pattern, got, want)
		}
	}
}

// spell writes a line as no Recorder does, and as every reader understands.
func spell(random *rand.Rand, raw []byte) []byte {
	b := []byte(`{"seq":1,"time":"2026-11-21T12:00:00Z","dir":"received","kind":"event","sse":{"event":"a}\"b"},"size":9,"raw":"`)
	for _, r := range string(raw) {
		switch {
		case r == '/' && random.IntN(2) == 0:
			b = append(b, `\/`...)
		case r < 0x10000 && random.IntN(6) == 0:
			b = fmt.Appendf(b, `\u%04X`, r)
		default:
			quoted, _ := json.Marshal(string(r))
			b = append(b, quoted[1:len(quoted)-1]...)
		}
	}
	return append(b, `"}`...)
}

// spellings returns lines of one frame as different writers spell it; the bytes of the frame are
// the same.
func spellings(random *rand.Rand, raw []byte) [][]byte {
	f := wire.Frame{Seq: 1, Time: filterNow, Dir: wire.Received, Raw: raw}
	withHead := f
	withHead.Kind, withHead.Stream, withHead.Conn, withHead.Hidden = wire.Event, 3, 4, 2
	id := "{\"}"
	withHead.SSE = &sse.Facts{Event: "message", ID: &id}
	lines := [][]byte{capture.AppendFrame(nil, f), capture.AppendFrame(nil, withHead)}
	if bytes.Equal([]byte(string([]rune(string(raw)))), raw) { // others have no way to write what is no text
		lines = append(lines, spell(random, raw))
	}
	return lines
}

// seek looks for an expression as it was before anything was done to be quick, and as
// a filter does it.
func seek(re *regexp.Regexp, line []byte) (plain, quick bool, err error) {
	var frame struct {
		Raw   *string `json:"raw"`
		Raw64 []byte  `json:"raw64"`
	}
	err = json.Unmarshal(line, &frame)
	body := frame.Raw64
	if frame.Raw != nil {
		body = []byte(*frame.Raw)
	}
	plain = re.Match(body)
	return plain, plain && requiredTexts(re).mayBeInLine(line), err
}

// An expression finds the same with both ways of searching: random expressions over random bytes of
// a few letters, so that many are found.
func TestExpressionSearchesAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	letters := []string{"a", "b", "A", "k", "s", "K", "ſ", "\u212a", "é", "É", "ß", "ẞ", "ı", "İ", "σ", "ς", `"`, `\`, "/", "\n", "\t", "\x01", "<", "u", "0", "\xff", "\uFFFD", " "}
	some := func(n int) (text string) {
		for range 1 + random.IntN(n) {
			text += letters[random.IntN(len(letters))]
		}
		return text
	}
	var expression func(depth int) string
	expression = func(depth int) string {
		switch n := random.IntN(9); {
		case n < 4 || depth == 0:
			return regexp.QuoteMeta(strings.ToValidUTF8(some(4), "\uFFFD"))
		case n == 4:
			return expression(depth-1) + "|" + expression(depth-1)
		case n == 5:
			return "(" + expression(depth-1) + ")" + []string{"*", "+", "?", "{2}", "{0,2}", ""}[random.IntN(6)]
		case n == 6:
			return "(?i:" + expression(depth-1) + ")"
		case n == 7:
			return expression(depth-1) + []string{".", ".*", "[a-k]", `\b`, "^", "$", `\W`}[random.IntN(7)] + expression(depth-1)
		}
		return expression(depth-1) + expression(depth-1)
	}
	found, skipped := 0, 0
	for range 5_000 {
		re, err := regexp.Compile(expression(3))
		if err != nil {
			continue
		}
		needs := requiredTexts(re)
		raw := []byte(some(30))
		for _, line := range spellings(random, raw) {
			plain, quick, err := seek(re, line)
			if err != nil || plain != quick {
				t.Fatalf("%q in %q, written %q: %v, quickly %v, %v", re, raw, line, plain, quick, err)
			}
			if plain {
				found++
			}
			if !needs.mayBeInLine(line) {
				skipped++
			}
		}
	}
	if found < 1000 || skipped < 1000 {
		t.Errorf("%d were found and %d not looked at: too few to tell", found, skipped)
	}
}

func FuzzExpressionsFindTheSame(f *testing.F) {
	for _, seed := range [][2]string{{`"code": ?-32\d{3}`, `{"error":{"code": -32601}}`}, {`(?i)kelvin`, "\u212aelvin"}, {"x|yz+", "\xffyzz"}, {`a/b`, `a\/b`}, {"^$", ""}} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, pattern string, raw []byte) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Skip()
		}
		for _, line := range spellings(rand.New(rand.NewPCG(1, uint64(len(raw)))), raw) {
			plain, quick, err := seek(re, line)
			if err != nil || plain != quick {
				t.Fatalf("%q in %q, written %q: %v, quickly %v, %v", re, raw, line, plain, quick, err)
			}
		}
	})
}
