package validate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

// The meaning of a pattern in ECMA-262, which is not always Go's.
func TestECMAPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern  string
		yes, not []string
	}{
		{`^\d+$`, []string{"12"}, []string{"١٢", "12\n", ""}},
		{`^\w$`, []string{"a", "_"}, []string{"é"}},
		{`^\s$`, []string{" ", "\t", "\v", "\u00a0", "\ufeff", "\u2028"}, []string{"a", "\u200b"}},
		{`^[\s\d]+$`, []string{"1 \v\u00a0"}, []string{"a"}},
		{`^\S$`, []string{"a", "é", "😀"}, []string{"\u00a0", "\v"}},
		{`^[\S]$`, []string{"a", "\u200b"}, []string{"\u3000"}},
		{`^.$`, []string{"a", "😀"}, []string{"\n", "\r", "\u2028"}},
		{`^[.]$`, []string{"."}, []string{"a"}},
		{`^\/\-\.$`, []string{"/-."}, []string{"a"}},
		{`^\u00e9\u{1F600}\uD83D\uDE00$`, []string{"é😀😀"}, []string{"é"}},
		{`^[\u0041-\u005A]$`, []string{"B"}, []string{"b"}},
		{`^\p{L}+$`, []string{"éß"}, []string{"1"}},
		{`^\p{Letter}\P{Lu}$`, []string{"éé"}, []string{"éÉ"}},
		{`^\p{Script=Greek}\p{gc=Lu}$`, []string{"αA"}, []string{"aA"}},
		{`^\cI\x09\t\0$`, []string{"\t\t\t\x00"}, []string{""}},
		{`^[\b]$`, []string{"\b"}, []string{"b"}},
		{`^[^]$`, []string{"\n"}, []string{""}},
		{`a|[]`, []string{"a"}, []string{"b", ""}},
		{`^[[a]$`, []string{"[", "a"}, []string{"b"}},
		{`^[[:alpha:]]$`, []string{"a]", ":]"}, []string{"b"}},
		{`^[^a-c\]]$`, []string{"d"}, []string{"b", "]"}},
		{`^[\w.-]+@$`, []string{"a.b-c@"}, []string{"@"}},
		{`^(?<y>\d{4})-(?:0|1)$`, []string{"2026-1"}, []string{"2026-2"}},
		{`(?i)^abc$`, []string{"ABC"}, []string{"ABD"}},
		{`b`, []string{"abc"}, []string{"x"}},
		{`^a{2}b{1,}c{,3}$`, []string{"aabbc{,3}"}, []string{"aabbccc"}},
		{`\\`, []string{`\`}, []string{"/"}},
	} {
		p, err := compilePattern(tt.pattern)
		if err != nil || p.re == nil {
			t.Errorf("%s: %v, not checked: %s", tt.pattern, err, p.unchecked)
			continue
		}
		for _, s := range tt.yes {
			if !p.MatchString(s) {
				t.Errorf("%s does not match %q", tt.pattern, s)
			}
		}
		for _, s := range tt.not {
			if p.MatchString(s) {
				t.Errorf("%s matches %q", tt.pattern, s)
			}
		}
	}
}

// brokenPatterns are the patterns below that are not valid in ECMA-262 either.
var brokenPatterns = []string{`\Z`, `(`, `a**`, `[`, `\`, `\u{}`, `(?=a`, `\k<a>(`}

func TestPatternsNotChecked(t *testing.T) {
	for pattern, why := range map[string]string{
		`(?=a)`:         "look-around is not supported",
		`x(?!a)`:        "look-around is not supported",
		`(?<=a)b`:       "look-around is not supported",
		`(?<!a)b`:       "look-around is not supported",
		`(a)\1`:         "a back-reference is not supported",
		`(a)\12`:        "a back-reference is not supported",
		`\k<a>`:         "a back-reference is not supported",
		`\ud800`:        "half of a surrogate pair is not supported",
		`a{1001}`:       "a repeat count over 1000 is not supported",
		`\Z`:            `"\\Z" is not supported`,
		`(`:             "not a regular expression that mcpc can read",
		`a**`:           "not a regular expression that mcpc can read",
		`[`:             "not a regular expression that mcpc can read",
		`\`:             "not a regular expression that mcpc can read",
		`\u{}`:          `"\\x{}" is not supported`,
		`\p{Nope}`:      `"\\p{Nope}" is not supported`,
		`\p{sc=Greek1}`: `"\\p{Greek1}" is not supported`,
		`(?=a`:          "look-around is not supported",
		`\k<a>(`:        "a back-reference is not supported",
	} {
		p, err := compilePattern(pattern)
		if err != nil || p.re != nil || p.unchecked != why {
			t.Errorf("%s: error %v, why %q", pattern, err, p.unchecked)
		}
		if want := slices.Contains(brokenPatterns, pattern); p.isInvalid != want {
			t.Errorf("%s: broken %v", pattern, p.isInvalid)
		}
		if !p.MatchString("anything") {
			t.Errorf("%s: not checked, but does not match", pattern)
		}
	}
}

// The size is what matching is paid by. It must not be less than what the
// program has.
func TestProgramSize(t *testing.T) {
	for pattern, least := range map[string]int{
		"abc": 3, "a|bb|c": 6, "(x{0,1000})y": 2000, "(a{10}){10}": 100, "[a-z]{3,}": 4, "(?:ab?c*)+": 5,
	} {
		p, err := compilePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.size < least || p.size > 3*least+8 {
			t.Errorf("%s: size %d, want about %d", pattern, p.size, least)
		}
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[json.Number]int{
		"1": 1, "-12.5": 5, "1e400": 401, "1E-400": 401, "1e+7": 8, "1e99999999999999999999": maxDigits + 1,
	} {
		if got := digitsOf(in); got != want {
			t.Errorf("digitsOf(%s) = %d, want %d", in, got, want)
		}
	}
	for _, equal := range [][]json.Number{{"1", "1.0", "10e-1", "0.1E1"}, {"0", "-0", "0e5"}, {"1e400", "10e399"}} {
		for _, n := range equal {
			if jsonraw.PlainNumber(string(n)) != jsonraw.PlainNumber(string(equal[0])) {
				t.Errorf("%s is not %s", n, equal[0])
			}
		}
	}
}

// A class that is small costs little under (?i), which needs a look at each letter of a large one.
func TestPatternsFoldCase(t *testing.T) {
	for pattern, ok := range map[string]bool{
		`(?i)^\s*(\d+|[a-z]+)\s+(kg|lb)\b`: true, `(?i)[^\x00-\x{10ffff}]`: true, `(?i)` + strings.Repeat(`\W`, 50): false,
	} {
		if _, err := compilePattern(pattern); (err == nil) != ok {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// compilePattern compiles a pattern of a schema that has no other.
func compilePattern(source string) (*pattern, error) {
	ps := patterns{cache: map[string]*pattern{}}
	return ps.compile(source)
}
