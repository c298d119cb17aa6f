package redact

import (
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A text with too many secrets to track is withheld, and that is reported once.
func TestSecretsBeyondTheLimitAreWithheld(t *testing.T) {
	told := 0
	s := Secrets{values: knownValues{limit: 20}, Full: func() { told++ }}
	for i := range 30 {
		secret := fmt.Sprintf("token-number-%d", i)
		for _, raw := range []string{
			`{"jsonrpc":"2.0","id":7,"result":{"token":"` + secret + `"}}`, `{"jsonrpc":"2.0","id":"` + secret + `","method":"tools/call","params":{"x":"` + secret + `"}}`,
			`{"jsonrpc":"2.0","method":"` + secret + `","more":"` + secret + `","error":"` + secret + `"}`, "a line: " + secret,
		} {
			f := s.Frame(wire.Frame{Raw: []byte(raw), HTTP: &wire.HTTPHead{
				Method: "POST", URL: "http://h/x/" + secret + "?a=" + secret,
				Fields: []wire.Field{{Name: "X-Y", Value: secret}, {Name: "Content-Type", Value: "application/json"}},
			}, SSE: &sse.Facts{Event: secret, ID: &secret}, Close: &wire.CloseFacts{Text: secret}})
			all := string(f.Raw) + f.HTTP.URL + fmt.Sprint(f.HTTP.Fields) + f.SSE.Event + *f.SSE.ID + f.Close.Text + s.Text("it is "+secret)
			if strings.Contains(all, secret) {
				t.Fatalf("%d: %s", i, all)
			}
			if i < 20 || !s.Withholds() {
				continue
			}
			if f.Hidden == 0 || f.Size != len(raw) || f.HTTP.Method != "POST" || !strings.HasPrefix(f.HTTP.URL, "http://h/") || f.HTTP.Field("content-type") != "application/json" {
				t.Errorf("%+v %+v", f, f.HTTP)
			}
			m, was := wire.ParseMessage(f.Raw), wire.ParseMessage([]byte(raw))
			if m.Kind != was.Kind || len(string(was.ID)) == 1 && string(m.ID) != "7" {
				t.Errorf("%s became %s", raw, f.Raw)
			}
		}
	}
	if told != 1 || !s.Withholds() {
		t.Errorf("told %d times", told)
	}
	again := s.Frame(wire.Frame{Raw: []byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)})
	if twice := s.Frame(again); string(twice.Raw) == `{"jsonrpc":"2.0","id":7,"result":{}}` || !strings.Contains(string(twice.Raw), `"id":7`) {
		t.Errorf("%s", twice.Raw)
	}
}
