package schema

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestSamplesAreDeterministic(t *testing.T) {
	for _, p := range []struct{ a, b string }{
		{`{"type":"integer","minimum":3,"multipleOf":2}`, `{"enum":["a",1]}`},
		{`{"required":["a"],"properties":{"a":{"items":{"type":"string","maxLength":4}}}}`, `{"minProperties":2}`},
	} {
		one, _, _ := sampleValues(json.RawMessage(p.a), json.RawMessage(p.b))
		two, _, _ := sampleValues(json.RawMessage(p.a), json.RawMessage(p.b))
		if fmt.Sprint(one) != fmt.Sprint(two) || len(one) > maxSamples {
			t.Errorf("%s %s: %d and %d values", p.a, p.b, len(one), len(two))
		}
	}
}

func TestPlainNumber(t *testing.T) {
	for in, want := range map[string]string{"3e0": "3", "1e1": "10", "-15e-1": "-1.5", "5e-1": "0.5", "25e-3": "0.025", "0e0": "0", "1e30": "1e30", "1e-9": "1e-9", "9007199254740993e0": "9007199254740993", `"1e1"`: `"1e1"`} {
		if got := string(plainNumber(json.RawMessage(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	for _, p := range []struct {
		x, y string
		want int
	}{
		{"1", "1.0", 0},
		{"0", "-0", 0},
		{"-1", "0", -1},
		{"10", "9", 1},
		{"-10", "-9", -1},
		{"0.1", "0.09", 1},
		{"1e3", "999.9", 1},
		{"9007199254740993", "9007199254740992", 1},
		{"1e999999999", "1e999999998", 1},
		{"-1e-999999", "0", -1},
		{"12", "123e-1", -1},
	} {
		got, ok := compareNumbers(p.x, p.y)
		back, _ := compareNumbers(p.y, p.x)
		if !ok || got != p.want || back != -p.want {
			t.Errorf("%s %s: got %d and %d, want %d", p.x, p.y, got, back, p.want)
		}
	}
	if _, ok := compareNumbers("1e99999999999999999999", "1"); ok {
		t.Error("an exponent beyond 32 bits was compared")
	}
}
