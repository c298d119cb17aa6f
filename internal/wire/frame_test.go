package wire

import "testing"

func TestIsToken(t *testing.T) {
	for text, want := range map[string]bool{
		"X-Own": true, "get": true, "!#$%&'*+-.^_`|~09azAZ": true,
		"": false, "a b": false, " a": false, "a:": false, "(a)": false, `a"`: false, `a\`: false, "a/b": false, "[a]": false,
		"a?": false, "{a}": false, "a=b": false, "a@b": false, "a,b": false, "a;b": false, "<a>": false,
		"a\t": false, "a\x00": false, "a\x7f": false, "ä": false,
	} {
		if got := IsToken(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func TestMediaType(t *testing.T) {
	for contentType, want := range map[string]string{
		"":                                    "",
		"text/event-stream":                   "text/event-stream",
		" Text/Event-Stream ; charset=utf-8":  "text/event-stream",
		"text/event-stream; a=1; a=2":         "text/event-stream",
		"text/event-stream;":                  "text/event-stream",
		"text/event-stream; =":                "text/event-stream",
		"text/event-streams":                  "text/event-streams",
		"APPLICATION/JSON":                    "application/json",
		"application/json, text/event-stream": "application/json, text/event-stream",
		"; charset=utf-8":                     "",
	} {
		if got := MediaType(contentType); got != want {
			t.Errorf("%q: got %q, want %q", contentType, got, want)
		}
	}
}

// Recordings have the text, so that it must not change.
func TestExitText(t *testing.T) {
	if got := ExitText("exit status 1"); got != "the server exited (exit status 1)" {
		t.Errorf("got %q", got)
	}
	for text, want := range map[string]string{
		ExitText("signal: killed"): "signal: killed", ExitText("exit status 1") + " before it answered": "", "reset": "", "": "",
	} {
		if got := (&CloseFacts{Text: text}).HowExited(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
