package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// Several lines that are joined to one message, and lines that are not.
func TestMessagesOverSeveralLinesAreGathered(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		// want is the repaired text of the joined lines, or "" if nothing was joined.
		want string
	}{
		{"indented", []string{`{`, `  "a": [`, `    1`, `  ]`, `}`}, "{\n  \"a\": [\n    1\n  ]\n}"},
		{"line end in a text", []string{`{"a":"one`, `two"}`}, `{"a":"one\ntwo"}`},
		{"blank at the end of a line", []string{`{ `, `} `}, "{ \n} "},
		{"brackets and quotes in a text", []string{`{"a":"}]\"`, `{"}`}, `{"a":"}]\"\n{"}`},
		{"an array", []string{`[`, `{}]`}, "[\n{}]"},
		{"one line", []string{`{"a":1}`}, ""},
		{"a log", []string{`[info] ready`, `{level=info}`, `[x] {`}, ""},
		{"goes on behind the end", []string{`{`, `} done`}, ""},
		{"no bracket", []string{`a {`, `}`}, ""},
		{"no end", []string{`{`, `"a`, `}`}, ""},
		{"too large", []string{`{`, strings.Repeat(" ", 100), `}`}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var n stdoutNoise
			got := ""
			for _, line := range test.lines {
				if s := n.addLine([]byte(line), 50); s != nil {
					got += string(s.mended)
					if raw := strings.Join(test.lines, "\n"); string(s.raw) != raw {
						t.Errorf("raw is %q, want %q", s.raw, raw)
					}
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestIsUTF16(t *testing.T) {
	for line, want := range map[string]bool{
		"\xFF\xFE{\x00": true, "\xFE\xFF\x00{": true, "{\x00\"\x00": true, "\x00{\x00\"": true, "{\x00\"\x00}": true,
		"": false, "{": false, "{\x00": false, "{\"a\":1}": false, "\x00\x00\x00\x00": false, "a\x00bcd\x00": false,
	} {
		if got := isUTF16([]byte(line)); got != want {
			t.Errorf("isUTF16(%q) is %t", line, got)
		}
	}
}

// Lines that are no JSON, and whether they are the answer to request 3 all the same.
func TestBrokenLinesMayClaimRequest(t *testing.T) {
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":3,"result":{"n":NaN}}`:                true,
		`{"jsonrpc":"2.0","id":3,"result":{}}{"jsonrpc":"2.0"}`:      true,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":\"\xff\"}}": true,
		`{"jsonrpc":"2.0","id":3,"result":{"x":"one`:                 false, // the rest may come
		`{"jsonrpc":"2.0","id":4,"result":{"n":NaN}}`:                false,
		`{"jsonrpc":"2.0","id":"3","result":{"n":NaN}}`:              false,
		`{"jsonrpc":"2.0","result":{"n":NaN},"id":3}`:                false,
		`{"id":3,"level":NaN}`:                                       false,
		`{"jsonrpc":"2.0","id":3,"params":{"n":NaN},"method":"x"}`:   false,
		`{'jsonrpc': '2.0', 'id': 3, 'result': {}}`:                  false,
	} {
		if got := isBrokenResponse(wire.ParseMessage([]byte(line)), []byte("3"), false); got != want {
			t.Errorf("%q: %t, want %t", line, got, want)
		}
	}
}

func TestShowUnendedLines(t *testing.T) {
	long := strings.Repeat("x", maxShown)
	for _, test := range []struct {
		name  string
		reads []string
		want  string
	}{
		{"whole lines", []string{"a\n", "b\nc\n"}, ""},
		{"a blank", []string{"a\n \r"}, ""},
		{"behind a line", []string{"a\nb", "c"}, `2 bytes without a line end: "bc"`},
		{"ended later", []string{"a", "b\n"}, ""},
		{"long", []string{long[:70], long, "y"}, `151 bytes without a line end, beginning with "` + long + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Pipe{}
			for _, read := range test.reads {
				if n, err := p.tail.Write([]byte(read)); n != len(read) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := p.Pending(); got.Text != test.want || got.Hint != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// silentInbox takes everything.
type silentInbox struct{}

func (silentInbox) Receive(*wire.Message) bool    { return false }
func (silentInbox) Finding(wire.Finding)          {}
func (silentInbox) Repeated(wire.Finding, string) {}
func (silentInbox) Diagnose(Diagnostic)           {}

// A server that frames its messages with Content-Length is recognized by the first message, however it is written.
// Fields that a server logs before a message of MCP are noise.
func TestFramedMessages(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"result":{}}`
	long := `{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("x", 100_000) + `"}}`
	header := func(of string) string { return fmt.Sprintf("Content-Length: %d\r\n", len(of)) }
	const isFramed = "frames its messages with Content-Length"
	for _, test := range []struct {
		name   string
		writes []string
		want   string // of the fault, or "" if there is a response
	}{
		{"at once", []string{header(message) + "\r\n" + message}, isFramed},
		{"header first", []string{header(message) + "\r\n", message}, isFramed},
		{"in pieces", []string{"Content-", header(message)[8:], "\r", "\n", message[:9], message[9:]}, isFramed},
		{"with a type", []string{header(message) + "Content-Type: application/vscode-jsonrpc\r\n\r\n" + message}, isFramed},
		{"another case, no CR", []string{strings.ToLower(strings.TrimSpace(header(message))) + "\n\n" + message}, isFramed},
		{"long", []string{header(long) + "\r\n", long}, isFramed},
		{"logged before a message", []string{header("{}") + "\r\n{}\n" + message + "\n"}, ""},
		{"logged, then a message in pieces", []string{"Content-Length: 9\n\n", message[:5], message[5:] + "\n"}, ""},
		{"logged with its line end", []string{header(message) + "\r\n" + message + "\n"}, ""},
		{"logged among other fields", []string{header(message) + "Server: x\r\n\r\n", message + "\n"}, ""},
		{"logged without a number", []string{"Content-Length: none\r\n\r\n", message + "\n"}, ""},
		{"logged text of that length", []string{"Content-Length: 5\n\nstart", "ed\n" + message + "\n"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, server := io.Pipe()
			requests, out := io.Pipe()
			defer server.Close()
			p := NewPipe(in, out, 0, &Recorder{}, silentInbox{}, nil)
			p.Listen()
			go func() {
				_, _ = requests.Read(make([]byte, 1000))
				for _, text := range test.writes {
					if _, err := io.WriteString(server, text); err != nil {
						return
					}
				}
			}()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			r := p.Call(ctx, &Outgoing{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), ID: json.RawMessage("1")})
			switch {
			case test.want == "" && r.Fault != nil:
				t.Errorf("got %v", r.Fault)
			case test.want != "" && (r.Fault == nil || r.Fault.Kind != wire.BadResponse || !strings.Contains(r.Fault.Text, test.want)):
				t.Errorf("got %+v", r.Fault)
			}
		})
	}
}
