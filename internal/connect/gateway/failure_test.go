package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/connect/host"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// A client is told why a server failed, without the secrets that the error repeats.
func TestFailuresShowNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-s3cret-s3cret"
	l := &link{Member: &Member{Name: "one"}, env: &host.Env{Shared: new(host.Shared)}}
	l.env.Secrets.Learn(secret)
	out := wire.Outcome{Kind: wire.Transport, Text: "GET http://h.example/" + secret + " failed"}
	for _, method := range []string{"tools/call", "prompts/get"} {
		m := &wire.Message{Kind: wire.Request, ID: json.RawMessage("1"), Method: method}
		got := string(l.failure(mcpserver.Caller{}, m, out))
		if strings.Contains(got, secret) || !strings.Contains(got, `the server \"one\": GET http://h.example/`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}
