package share

import (
	"bytes"
	"testing"

	"mcpc/internal/capture/rows"
)

// TestAsRefusesUnknownFormats writes nothing in a format that it does not know.
func TestAsRefusesUnknownFormats(t *testing.T) {
	for _, format := range []string{"", "nope", "bundle", "CURL"} {
		var b bytes.Buffer
		err := WriteAs(nil, format, &b, &rows.Capture{}, nil)
		if err == nil || b.Len() > 0 {
			t.Errorf("%q: %v, %q", format, err, b.String())
		}
	}
}
