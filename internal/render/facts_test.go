package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// A reader's values are broken at the terminal's width and hang under each other; a
// pipe has one line for each.
func TestFactsWrap(t *testing.T) {
	pairs := [][]string{{"a", "one two three four five\n\nsix"}}
	for _, c := range []struct {
		st   Style
		want string
	}{
		{Style{Terminal: true, Width: 17}, "a  one two three\n   four five\n\n   six\n"},
		{Style{Terminal: true, Width: 10}, "a  one two\n   three\n   four\n   five\n\n   six\n"},
		{Style{Width: 17}, "a\tone two three four five␊␊six\n"},
	} {
		var b bytes.Buffer
		if err := Facts(&b, c.st, pairs); err != nil || b.String() != c.want {
			t.Errorf("%v\ngot  %q\nwant %q", err, b.String(), c.want)
		}
	}
}

// A word is broken where it is longer than a line, and nowhere else.
func TestFactsKeepWords(t *testing.T) {
	var b bytes.Buffer
	pairs := [][]string{{"command", "run -y '--another-option=yes please' /a/path/that/is/longer"}}
	want := "command  run -y\n         '--another-option=yes\n         please'\n         /a/path/that/is/longe\n         r\n"
	if err := Facts(&b, Style{Terminal: true, Width: 30}, pairs); err != nil || b.String() != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, b.String(), want)
	}
}

// A pipe gets the facts of an exchange in columns too, and each on one line.
func TestShownFactsStayWhole(t *testing.T) {
	command := "run" + strings.Repeat(" --answer name=Ada", 10)
	for _, c := range []struct {
		st   Style
		want string
	}{
		{Style{Width: 80}, "#1\ncommand  " + command + "\n"},
		{Style{Terminal: true, Width: 120}, "#1\ncommand  run" + strings.Repeat(" --answer name=Ada", 6) + "\n         " +
			strings.TrimSpace(strings.Repeat(" --answer name=Ada", 4)) + "\n"},
	} {
		var b bytes.Buffer
		if err := ShowTraffic(&b, c.st, Traffic{Title: "#1", Facts: [][]string{{"command", command}}}); err != nil || b.String() != c.want {
			t.Errorf("%v\ngot\n%s\nwant\n%s", err, b.String(), c.want)
		}
	}
}

// A message that matches no request has no timing: nothing was sent. mcpc closes the
// stdin of a server, which then exits or is terminated.
func TestShownWithoutRequest(t *testing.T) {
	message := wire.Frame{Time: time.Unix(100, 0), Dir: wire.Received, Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":999,"result":{}}`)}
	for how, want := range map[string]string{
		"exit status 0":      "  the client closed the server's stdin; the server then exited (exit status 0)\n",
		"signal: terminated": "  the client closed the server's stdin; the server was then terminated (signal: terminated)\n",
	} {
		closed := wire.Frame{Time: time.Unix(101, 0), Dir: wire.Sent, Kind: wire.Closed,
			Close: &wire.CloseFacts{By: wire.Sent, How: "end", Text: "the server exited (" + how + ")"}}
		x := &wire.Exchange{Between: []wire.Frame{message}, Beside: []wire.Frame{closed}}
		var b bytes.Buffer
		if err := ShowTraffic(&b, Style{Width: 120}, Traffic{Title: "#1", Exchange: x}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.HasSuffix(text, want) || strings.Contains(text, "timing") {
			t.Errorf("%s:\n%s", how, text)
		}
	}
}

func TestAsked(t *testing.T) {
	if got, want := (Style{Terminal: true, Width: 24}).Asked("Run it, by all that is? [y/N]"), "Run it, by all that is?\n  [y/N]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
