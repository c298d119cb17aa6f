package jsonraw

import "testing"

// A text that breaks off within a character was cut off; one with a wrong byte is not UTF-8.
func TestCutWithinACharacter(t *testing.T) {
	for raw, want := range map[string]string{
		"[\"gr\xc3":         "the JSON ends too early",
		"{\"a\":\"\xe2\x82": "the JSON ends too early",
		"[\"gr\xc3\"]":      "not UTF-8",
		"[\"gr\xff":         "not UTF-8",
		"{}\xc3":            "more bytes follow the JSON value",
		"[\"\xc3\xbc":       "the JSON ends too early",
	} {
		err := Valid([]byte(raw))
		if err == nil || err.Text != want {
			t.Errorf("%q: got %v, want %s", raw, err, want)
		}
	}
}
