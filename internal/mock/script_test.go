package mock

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		says string
	}{
		{"sings 2025-11-25", 1, "unknown statement"},
		{"speaks", 1, "needs a revision"},
		{"tool echo {", 1, "JSON Schema"},
		{"\n\non tools/call #0", 3, "#1"},
		{"on", 1, "on needs"},
		{"on GET\n    explode now", 2, `unknown action "explode"`},
	} {
		_, err := Parse(c.text)
		var failed *ScriptError
		if !errors.As(err, &failed) || failed.Line != c.line || !strings.Contains(failed.Text, c.says) {
			t.Errorf("Parse(%q): got %v, want line %d with %q", c.text, err, c.line, c.says)
		}
	}
}

// An action that the transport cannot do is refused with its line; a rule whose event never occurs
// there is unused.
func TestCheckTransport(t *testing.T) {
	for _, c := range []struct {
		text, over string
		idle, line int
	}{
		{"on tools/call\n    status 503\n", OverHTTP, 0, 0},
		{"on tools/call\n    status 503\n", OverStdio, 0, 2},
		{"on *\n    wait 1ms\n    exit 3\n", OverHTTP, 0, 3},
		{"on *\n    wait 1ms\n    exit 3\n", OverStdio, 0, 0},
		{"on GET\n    status 405\non start\n    stderr hello\non ping\n    pass\n", OverHTTP, 3, 0},
		{"on GET\n    status 405\non start\n    stderr hello\non ping\n    pass\n", OverStdio, 1, 0},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		idle, err := s.CheckTransport(c.over)
		refused, idleAt := 0, 0
		if failed, ok := err.(*ScriptError); ok {
			refused = failed.Line
		}
		if len(idle) > 0 {
			idleAt = idle[0].Line
		}
		if refused != c.line || idleAt != c.idle {
			t.Errorf("%q over %s: line %d is refused and %d idle, want %d and %d", c.text, c.over, refused, idleAt, c.line, c.idle)
		}
	}
}

// A rule for this very time comes before one for every time, and a named one
// before "*".
func TestRuleForOneOccurrencePrecedesGeneralRule(t *testing.T) {
	s, err := Parse("on *\n close\non tools/call\n reset\non tools/call #2\n hang\n")
	if err != nil {
		t.Fatal(err)
	}
	seen := eventCounts{}
	for i, want := range []string{"reset", "hang", "reset"} {
		if got := s.countEvent(seen, "tools/call"); got == nil || got.actions[0].name != want {
			t.Errorf("call %d: got %+v, want %s", i+1, got, want)
		}
	}
	if got := s.countEvent(seen, "ping"); got == nil || got.actions[0].name != "close" {
		t.Errorf("ping: got %+v, want close", got)
	}
}

func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		`plain`:           "plain",
		`a\nb\tc\r`:       "a\nb\tc\r",
		`\x00\xff`:        "\x00\xff",
		`\u00e9`:          "é",
		`{"a":"\"q\""}`:   `{"a":"\"q\""}`,
		`ends with a \`:   `ends with a \`,
		`no such \escape`: "no such \x5cescape",
	} {
		if got := unescape(text); got != want {
			t.Errorf("unescape(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","_meta":{"progressToken":7}}}`))
	got := expandVariables("$ID $METHOD $NAME $TOKEN $VERSION $other", m, http.Header{"Mcp-Protocol-Version": {"v"}})
	if want := `"x" tools/call echo 7 v $other`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every action that a script may say is listed for the user, and the other way
// round nothing is listed that Parse refuses.
func TestListedActionsAreThoseOfParse(t *testing.T) {
	for _, w := range Words {
		word, _, _ := strings.Cut(w[0], " ")
		if _, err := Parse("on *\n    " + word + " 1"); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("speaks 2025-11-25\ntool echo {\"type\":\"object\"}\non tools/call #2\n    status 503\n    send a\\x00b\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err == nil && len(s.Speaks) == 0 {
			t.Error("a script that speaks nothing was taken")
		}
	})
}
