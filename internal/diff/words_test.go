package diff

import (
	"math"
	"strings"
	"testing"
)

func TestChangedWords(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"", "", 0},
		{"", "one two", 1},
		{"one two", "", 1},
		{"adds two numbers", "adds  two\nnumbers", 0},
		{"a b c d e f g h i j", "a b c d X f g h i j", 0.1},
		{"a b c d", "a b c d e", 0.2},
		{"a b c d", "d c b a", 0},
		{"formats: a, b, c", "formats: c, a, b", 0},
		{"one of json|xml|csv", "one of csv|json|xml", 0},
		{"json,xml;csv", "csv,json;xml", 0},
		{"json;xml", "xml; json.", 0},
		{"https://a.example/b.example", "https://b.example/a.example", 1},
		{"a a b b", "a b b b", 0.25},
		{"send it", "do not send it", 0.5},
		{"A b", "a b", 0.5},
		{"a b x", "c a b y", 0.5},
	} {
		if got, _ := changedWords(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%q, %q: got %v, want %v", c.a, c.b, got, c.want)
		}
		there, _ := changedWords(c.a, c.b)
		if back, _ := changedWords(c.b, c.a); there != back {
			t.Errorf("%q, %q: %v there and %v back", c.a, c.b, there, back)
		}
	}
}

func TestAlign(t *testing.T) {
	a, b := strings.Split("a b c d", " "), strings.Split("a X c d Y", " ")
	var got strings.Builder
	for _, p := range Align(a, b) {
		got.WriteString(map[[2]bool]string{{true, true}: "=", {true, false}: "-", {false, true}: "+"}[[2]bool{p.InA, p.InB}] + p.Text + " ")
	}
	if want := "=a -b +X =c =d +Y "; got.String() != want {
		t.Errorf("got %s, want %s", got.String(), want)
	}
}

func TestIsMoved(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"one two", "one  two", false},
		{"one, two, three.", "three, one, two.", true},
		{"one two", "one two two", false},
		{"", "", false},
	} {
		if got := isMoved(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: got %v", c.a, c.b, got)
		}
	}
}

// The words of a long text are counted in linear time, and its pieces come from its end.
func TestLongTextsEnd(t *testing.T) {
	a, b := strings.Repeat("a b ", 50_000), strings.Repeat("b c ", 50_000)
	if got, _ := changedWords(a, b); got != 0.5 {
		t.Errorf("got %v, want 0.5", got)
	}
	if got, added := changedWords(a, a+"x"); added != 1 || got > 0.001 {
		t.Errorf("got %v and %d", got, added)
	}
	if got := Align(strings.Fields(a), strings.Fields(b)); len(got) < 200_000 {
		t.Errorf("got %d pieces", len(got))
	}
}

func TestSplitWords(t *testing.T) {
	for _, text := range []string{"", " ", "a", "a b", "  a\n\tb  ", "é ü"} {
		if got := strings.Join(SplitWords(text), ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := SplitWords("one  two\nthree"); len(got) != 3 || got[0] != "one  " {
		t.Errorf("got %q", got)
	}
}
