package transport

import (
	"strings"
	"testing"

	"mcpc/internal/wire"
)

// The parts of a line before, between and after its messages, if request 3 is open.
func TestSplitLine(t *testing.T) {
	const (
		answer  = `{"jsonrpc":"2.0","id":3,"result":{"a":"}{\"\\"}}`
		other   = `{"jsonrpc":"2.0","id":4,"result":{}}`
		request = `{"jsonrpc":"2.0","id":3,"method":"x"}`
		note    = `{"jsonrpc":"2.0","method":"x"}`
		broken  = `{"jsonrpc":"2.0","id":3,"result":NaN}`
	)
	isAwaited := func(m *wire.Message) bool {
		return m.IsResponseTo([]byte("3")) || isBrokenResponse(m, []byte("3"), false)
	}
	for _, test := range []struct {
		name, line string
		// want are the parts, the messages of them in brackets; "" is that nothing can be used.
		want string
	}{
		{"text before", "ready " + answer, "ready |<" + answer + ">"},
		{"text around", "\x1b[32m" + answer + "\x1b[0m", "\x1b[32m|<" + answer + ">|\x1b[0m"},
		{"byte after", answer + "\x00", "<" + answer + ">|\x00"},
		{"two messages", note + answer, "<" + note + ">|<" + answer + ">"},
		{"blanks between and after", note + " \t" + other + " ", "<" + note + ">|< \t" + other + " >"},
		{"other messages beside text are text", "a " + note + other + answer, "a " + note + other + "|<" + answer + ">"},
		{"an open request beside a log", "got " + request + " " + answer, "got " + request + "|< " + answer + ">"},
		{"broken response", "ready " + broken, "ready |<" + broken + ">"},
		{"braces before", "{level=info} {} " + answer, "{level=info} {} |<" + answer + ">"},
		{"a response to nothing", "ready " + other, ""},
		{"a request", "ready " + request, ""},
		{"notifications in a log", "got " + note + " and " + note, ""},
		{"nested in JSON", `log {"got":` + answer + `}`, ""},
		{"nested in what looks like JSON", `log {got:` + answer + `}`, ""},
		{"nested in an object that does not end", `log {"got":` + answer, ""},
		{"nested in a broken message", `x {"jsonrpc":"2.0","id":4,"result":[NaN,` + answer + `]}`, ""},
		{"in a text", `log "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"`, ""},
		{"no message", `"jsonrpc" is great`, ""},
		{"too many braces", `"jsonrpc"` + strings.Repeat("{x}", maxNotJSON+1) + answer, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var parts []string
			whole := ""
			for _, part := range SplitLine([]byte(test.line), isAwaited) {
				text := string(part.Raw)
				whole += text
				if part.Message != nil {
					text = "<" + text + ">"
				}
				parts = append(parts, text)
			}
			if got := strings.Join(parts, "|"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if whole != test.line && test.want != "" {
				t.Errorf("the parts are %q together", whole)
			}
		})
	}
}
