package console

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// A terminal is a stream with a size: what a person types, or sees.
type terminal struct {
	io.Reader
	bytes.Buffer
}

func (t *terminal) Read(b []byte) (int, error) { return t.Reader.Read(b) }

func (t *terminal) Size() (width, height int) { return 200, 24 }

// at returns a Console at a terminal where a person types lines and then Ctrl-D, and what the person sees.
func at(typed string, env map[string]string) (*Console, *terminal) {
	screen := &terminal{}
	settings := &host.Env{Shared: new(host.Shared), Now: time.Now, Getenv: func(name string) string { return env[name] }}
	c := New(&terminal{Reader: strings.NewReader(typed)}, screen, screen, settings)
	c.color = "never"
	c.SettleStyles()
	return &c, screen
}

// off returns a Console whose streams are no terminal.
func off(input string) (*Console, *bytes.Buffer) {
	var out bytes.Buffer
	settings := &host.Env{Shared: new(host.Shared), Now: time.Now, Getenv: func(string) string { return "" }}
	c := New(strings.NewReader(input), &out, &out, settings)
	c.color = "never"
	c.SettleStyles()
	return &c, &out
}

// Only yes is a yes; always counts if it is offered.
func TestYesOrNo(t *testing.T) {
	for typed, want := range map[string]string{
		"y\n": "yes", "YES \n": "yes", "n\n": "no", "\n": "no", "": "no", "yess\n": "no", "a\n": "always", "always\n": "always",
	} {
		c, screen := at(typed, nil)
		if got := c.AskAlways(t.Context(), "Sure?", "/a"); got != want ||
			!strings.HasPrefix(screen.String(), "Sure? [y/N/a] ") {
			t.Errorf("%q: got %s, %q", typed, got, screen.String())
		}
		if want == "always" {
			want = "no"
		}
		c, _ = at(typed, nil)
		if got := c.AskAlways(t.Context(), "Sure?", ""); got != want {
			t.Errorf("%q without the choice always: got %s", typed, got)
		}
		c, _ = at(typed, nil)
		if got := c.Ask(t.Context(), "Sure?"); got != (want == "yes") {
			t.Errorf("%q: got %v", typed, got)
		}
	}
}

// A person is asked at a terminal, unless that is forbidden.
func TestUserIsAskedAtTerminalOnly(t *testing.T) {
	c, _ := at("", nil)
	if !c.Interactive() || !c.CanAsk() || !c.IsTyped() || !c.ShowsProgress() {
		t.Error("a person at a terminal is not asked")
	}
	c, _ = at("", map[string]string{"CI": "1"})
	if !c.Interactive() || c.CanAsk() {
		t.Error("a CI job is asked")
	}
	c, _ = at("", nil)
	c.env.NoInput = true
	if c.Interactive() || c.CanAsk() {
		t.Error("--no-input asks")
	}
	c, _ = off("")
	if c.Interactive() || c.CanAsk() || c.IsTyped() || c.ShowsProgress() {
		t.Error("a pipe is asked")
	}
}

// An argument is text, a file or standard input.
func TestInputOfArguments(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("\xEF\xBB\xBFin a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ arg, want, from, bytes, failure string }{
		{"text", "text", "", "text", ""},
		{"-", "typed", "standard input", "\xEF\xBB\xBFtyped", ""},
		{"@-", "typed", "standard input", "\xEF\xBB\xBFtyped", ""},
		{"@" + name, "in a file", name, "\xEF\xBB\xBFin a file", ""},
		{"@" + name + "x", "", name + "x", "", "reading " + name + "x: no such file or directory"},
	} {
		console, _ := off("\xEF\xBB\xBFtyped")
		raw, from, err := console.Input(c.arg)
		console, _ = off("\xEF\xBB\xBFtyped")
		whole, _, _ := console.InputBytes(c.arg)
		if string(raw) != c.want || string(whole) != c.bytes || c.from != "" && from != c.from ||
			(err != nil) != (c.failure != "") {
			t.Errorf("%s: got %q of %q, %q, %v", c.arg, raw, from, whole, err)
		}
		if err != nil && err.Error() != c.failure {
			t.Errorf("%s: got %v", c.arg, err)
		}
	}
	console, screen := at("typed", nil)
	if raw, _, err := console.Input("-"); string(raw) != "typed" || err != nil ||
		!strings.Contains(screen.String(), "Ctrl-D ends it") {
		t.Errorf("at a terminal: %q, %v, %q", raw, err, screen.String())
	}
	console, _ = off("too long")
	console.env.Limits.Message = 3
	if _, _, err := console.Input("-"); err == nil || err.Error() != "standard input has more than 3 bytes" {
		t.Errorf("a limit: %v", err)
	}
}

// A person is the model: what is typed is the message, unless it is declined.
func TestMessagesOfAPerson(t *testing.T) {
	q := client.InputRequest{
		Method: "sampling/createMessage",
		Params: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":100}`),
	}
	for _, c := range []struct{ name, typed, text string }{
		{"a dot ends it", "Hello\nyou\n.\n\n", "Hello\\nyou"},
		{"Ctrl-D in a text is an end, and then a refusal", "Hello\n", ""},
		{"Ctrl-D at once", "", ""},
		{"declined", "Hello\n.\nd\n", ""},
		{"sent by a word", "Hello\n.\nsend\n", "Hello"},
	} {
		console, screen := at(c.typed, nil)
		got := console.WriteMessage(t.Context(), q, "srv")
		if got.Declined != (c.text == "") || c.text != "" && !strings.Contains(string(got.Result), `"text":"`+c.text+`"`) {
			t.Errorf("%s: got %s, declined %v after\n%s", c.name, got.Result, got.Declined, screen.String())
		}
		if !strings.Contains(screen.String(),
			"srv requests a model's answer (sampling):\n  user: Hi\n  at most 100 tokens\n") {
			t.Errorf("%s: got\n%s", c.name, screen.String())
		}
	}
}

func TestFormsAtATerminal(t *testing.T) {
	check := func(json.RawMessage, json.RawMessage) []wire.Finding { return nil }
	q := client.InputRequest{Params: json.RawMessage(`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`)}
	c, screen := at("x\n\ny\n\n", nil)
	for _, want := range []string{"x", "y"} {
		if got := c.FillForm(t.Context(), q, "srv",
			check); string(got.Result) != `{"action":"accept","content":{"a":"`+want+`"}}` {
			t.Errorf("got %s after\n%s", got.Result, screen.String())
		}
	}
	if !strings.Contains(screen.String(), "[c]ancel> \nsrv asks: ") {
		t.Errorf("the second form is not apart:\n%s", screen.String())
	}
	if got := c.FillForm(t.Context(), client.InputRequest{Params: json.RawMessage(`{"message":1}`)}, "srv",
		check); got.Result != nil && strings.Contains(string(got.Result), "accept") {
		t.Errorf("a broken form is answered: %s", got.Result)
	}
	form, err := question.ParseForm(q.Params)
	if err != nil {
		t.Fatal(err)
	}
	c, _ = at("x\n", nil)
	if got := c.FillArguments(t.Context(), "tool", form, check); string(got["a"]) != `"x"` {
		t.Errorf("got %s", got)
	}
}

// A page is opened after a yes, and its address is shown whole.
func TestPagesAtATerminal(t *testing.T) {
	params := func(url string) json.RawMessage {
		return json.RawMessage(`{"mode":"url","message":"Log in","elicitationId":"1","url":"` + url + `"}`)
	}
	none := filepath.Join(t.TempDir(), "none")
	const page = "https://example.com/a?b=c"
	for _, c := range []struct {
		name, url, typed, want, says string
		again                        bool
	}{
		{"yes", page, "y\n", `{"action":"accept"}`, "cannot start a browser", false},
		{"yes, and done", page, "y\n\n", `{"action":"accept"}`, "Press Enter when you are done there", true},
		{"yes, and cancelled", page, "y\n", `{"action":"cancel"}`, "Press Enter when you are done there", true},
		{"no", page, "no\n", `{"action":"decline"}`, "  domain: example.com\n", false},
		{
			"declined", page, "d\n", `{"action":"decline"}`,
			"srv requests that you visit a page: Log in\n  https://example.com/a?b=c\n", false,
		},
		{"cancelled", page, "c\n", `{"action":"cancel"}`, "Open it? [y]es, [d]ecline, [c]ancel> ", false},
		{"Ctrl-D", page, "", `{"action":"cancel"}`, "", false},
		{"no page", "file:///etc/passwd", "y\n", `{"action":"decline"}`, "  not opened: ", false},
	} {
		console, screen := at(c.typed, map[string]string{"BROWSER": none})
		got := console.VisitPage(t.Context(), client.InputRequest{Params: params(c.url), WillRetry: c.again}, "srv")
		if string(got.Result) != c.want || !strings.Contains(screen.String(), c.says) {
			t.Errorf("%s: got %s after\n%s", c.name, got.Result, screen.String())
		}
	}
}

func TestIssuersAreChosenByNumber(t *testing.T) {
	c, screen := at("0\nb\n2\n", nil)
	got, err := ChooseIssuer(c)(t.Context(), []string{"https://a", "https://b"})
	if got != "https://b" || err != nil || strings.Count(screen.String(), "type a number from 1 to 2") != 2 {
		t.Errorf("got %q, %v after\n%s", got, err, screen.String())
	}
	if _, err := ChooseIssuer(c)(t.Context(), nil); err == nil {
		t.Error("no error for Ctrl-D")
	}
}

// The login URL is shown even if no browser can be started: to a user as a note, to a program as an
// error.
func TestBrowsersThatCannotBeStarted(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	c, screen := at("", map[string]string{"BROWSER": none})
	Visitor(c, nil)(t.Context(), "https://example.com/")
	if got := screen.String(); !strings.Contains(got, "log in here: https://example.com/\n") ||
		!strings.Contains(got, "open the URL yourself") {
		t.Errorf("got\n%s", got)
	}
	c, out := off("")
	c.env.Getenv = func(string) string { return none }
	unopened := make(chan error, 1)
	Visitor(c, unopened)(t.Context(), "https://example.com/")
	if err := <-unopened; err == nil || strings.Contains(out.String(), "yourself") {
		t.Errorf("got %v and\n%s", err, out)
	}
	ShowCode(c)(t.Context(), "https://user@example.com/", "AB-CD")
	if got := out.String(); !strings.Contains(got, "enter the code AB-CD\n") || !strings.Contains(got, "warning") {
		t.Errorf("got\n%s", got)
	}
}

// A line is typed after a prompt; a secret one needs a terminal that can hide it.
func TestTypedLines(t *testing.T) {
	c, screen := at("abc\n", nil)
	if got, err := c.TypedLine(t.Context(), "Name", false); got != "abc" || err != nil || screen.String() != "Name: " {
		t.Errorf("got %q, %v, %q", got, err, screen.String())
	}
}

// A command of many calls gives each warning once.
func TestRepeatedWarnings(t *testing.T) {
	c, out := off("")
	c.Repeats = &RepeatedWarnings{}
	for range 3 {
		c.Warn("too slow")
	}
	if got := out.String(); got != "mcpc: warning: too slow\n" || c.Repeats.Left() != 2 {
		t.Errorf("got %q, %d left", got, c.Repeats.Left())
	}
	for range connect.MostWarnings + 5 {
		c.Repeats.Again(strings.Repeat("x", c.Repeats.Left()+len(c.Repeats.shown)))
	}
	if len(c.Repeats.shown) != connect.MostWarnings {
		t.Errorf("%d warnings are given", len(c.Repeats.shown))
	}
}
