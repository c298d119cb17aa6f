package hidden

import (
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/redact"
)

func node(t *testing.T, text string) *jsonvalue.Node {
	t.Helper()
	n, err := jsonvalue.Parse(jsonraw.Quote(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Placeholders that a stranger wrote say what they like.
func TestForgedPlaceholders(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    Fit
	}{
		{"••••(len 99999999999999999999, sha256:0000)", "x", ByPlace},
		{"••••(len 99999999999999999999, sha256:0000)x••••(len 1, sha256:0000)", "xxx", ByPlace},
		{"••••(len 0, sha256:e3b0)", "", ByHash}, // of nothing
		{"••••(len 3, sha256:0000)", "abc", ByLength},
		{redact.Redacted("ab") + "b" + redact.Redacted("b"), "abbb", ByHash},
		{redact.Redacted("a") + "," + redact.Redacted("b"), "a", None},
		{redact.Redacted("a") + "," + redact.Redacted("b"), "a,", ByPlace},
		{"plain", redact.Redacted("plain"), ByHash},
		{redact.Redacted("ab") + redact.Redacted("cd"), redact.Redacted("ab") + "cd", ByHash},
		{redact.Redacted("ab") + redact.Redacted("cd"), "ab" + redact.Redacted("cd"), ByHash},
		{redact.Redacted("ab") + "," + redact.Redacted("cd"), redact.Redacted("ab") + ",cd", ByHash},
		{redact.Redacted("ab") + "," + redact.Redacted("cd"), redact.Redacted("ax") + ",cd", ByLength},
		{"plain", "plain", None}, // nothing is hidden
	} {
		for _, pair := range [][2]string{{c.was, c.is}, {c.is, c.was}} {
			if got := Compare(node(t, pair[0]), node(t, pair[1])); got != c.want {
				t.Errorf("%q: %d, want %d", pair, got, c.want)
			}
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("a "+redact.Redacted("secret")+" b", "a secret b")
	f.Add("?t=****(len-3,sha256:ba78)", "?t=abc")
	f.Add("%E2%80%A2%E2%80%A2%E2%80%A2%E2%80%A2%28len+6%2C+sha256%3A0000%29", "x")
	f.Fuzz(func(t *testing.T, was, is string) {
		was, is = strings.ToValidUTF8(was, ""), strings.ToValidUTF8(is, "")
		a, b := node(t, was), node(t, is)
		there, back := Compare(a, b), Compare(b, a)
		if there != back || there > None && !Comparable(a, b) || a.Hidden && len(redact.HiddenPartsIn(was)) <= maxMarks && Compare(a, a) == None {
			t.Fatalf("%q %q: %d and %d, itself %d", was, is, there, back, Compare(a, a))
		}
	})
}
