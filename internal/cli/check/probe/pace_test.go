package probe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/client/transport"
	"mcpc/internal/lint"
	"mcpc/internal/wire"
)

// settled returns the options of a command line.
func settled(t *testing.T, words ...string) (*Options, error) {
	t.Helper()
	var o Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Declare(flags)
	if err := flags.Parse(words); err != nil {
		t.Fatal(err)
	}
	return &o, o.Validate()
}

// The flags say which rules are judged, and what is called.
func TestFlagsOfSending(t *testing.T) {
	for _, c := range []struct {
		words          []string
		negative, call bool
		auth           bool
		params         string
	}{
		{nil, false, false, false, ""},
		{[]string{"--negative"}, true, false, false, ""},
		{[]string{"--call-read-only"}, false, true, false, ""},
		{[]string{"--auth"}, false, false, true, ""},
		{[]string{"--deep"}, true, true, true, ""},
		{[]string{"--call", "a"}, false, true, false, `{"name":"a","arguments":{}}`},
		{[]string{"--call", `a={"b":"=1"}`}, false, true, false, `{"name":"a","arguments":{"b":"=1"}}`},
	} {
		o, err := settled(t, c.words...)
		if err != nil || o.Runs(lint.Negative) != c.negative || o.Runs(lint.Calls) != c.call || o.Auth != c.auth ||
			!o.Runs(lint.Passive) {
			t.Errorf("%q: got %+v, %v", c.words, o, err)
		}
		if c.params != "" && string(o.Calls[0].Params()) != c.params {
			t.Errorf("%q: got %s", c.words, o.Calls[0].Params())
		}
	}
	for _, c := range []struct{ word, failure string }{
		{"--rate=fast", `--rate: "fast" is not a rate`},
		{"--max-requests=-1", "--max-requests must be 0 or more"},
		{"--call=a=[1]", "--call a: the arguments are not a JSON object"},
		{"--call=a=", "--call a: the arguments are not a JSON object"},
	} {
		if _, err := settled(t, c.word); err == nil || err.Error() != c.failure {
			t.Errorf("%s: got %v", c.word, err)
		}
	}
}

// Requests wait for their turn, which is the gap of the rate, a quarter of it more or less.
func TestPacerKeepsTheRate(t *testing.T) {
	o, _ := settled(t, "--rate", "10/s", "--max-requests", "3")
	now := time.Unix(1000, 0)
	sent := 0
	p := o.newPacer("https://example.com/", func() int { return sent }, func() time.Time { return now })
	first, err := p.reserve()
	if first != 0 || err != nil {
		t.Errorf("the first waits %s, %v", first, err)
	}
	second, _ := p.reserve()
	third, _ := p.reserve()
	if second < 75*time.Millisecond || second > 125*time.Millisecond || third < second+75*time.Millisecond {
		t.Errorf("the next wait %s and %s", second, third)
	}
	now = now.Add(time.Second)
	if late, _ := p.reserve(); late != 0 {
		t.Errorf("after a pause one waits %s", late)
	}
	sent = 3
	if _, err := p.reserve(); err == nil || err.Error() != "stopped after 3 requests (--max-requests)" ||
		p.whyStopped() != err.Error() {
		t.Errorf("got %v", err)
	}
	o, _ = settled(t, "--max-requests", "0")
	p = o.newPacer("http://127.0.0.1:1/", func() int { return 1000 }, func() time.Time { return now })
	for range 3 {
		if wait, err := p.reserve(); wait != 0 || err != nil {
			t.Errorf("without limits: %s, %v", wait, err)
		}
	}
}

// paceAnswers is a transport with the same response to everything.
type paceAnswers struct {
	status int
	header http.Header
	times  int
}

func (a *paceAnswers) RoundTrip(*http.Request) (*http.Response, error) {
	a.times++
	return &http.Response{StatusCode: a.status, Proto: "HTTP/1.1", Header: a.header, Body: http.NoBody}, nil
}

// Facts about the server in responses are noted, and no request is sent after it reported that it
// is overloaded.
func TestFactsOfResponses(t *testing.T) {
	for _, c := range []struct {
		status  int
		header  http.Header
		stopped string
		asked   bool
	}{
		{200, http.Header{"Mcp-Session-Id": {"x"}}, "", false},
		{401, http.Header{"Www-Authenticate": {"Bearer"}}, "", true},
		{429, http.Header{"Retry-After": {" 30 "}}, "stopped: the server returned HTTP 429, retry after 30 s", false},
		{503, nil, "stopped: the server returned HTTP 503", false},
	} {
		o, _ := settled(t)
		p := o.newPacer("http://127.0.0.1:1/", func() int { return 0 }, time.Now)
		base := &paceAnswers{status: c.status, header: c.header}
		var order []string
		over := p.wrap(func(base http.RoundTripper) http.RoundTripper {
			order = append(order, "credentials")
			return base
		})(base)
		for range 2 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := over.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
		}
		facts := p.facts()
		if facts.Status != c.status || facts.Unauthorized != c.asked || facts.Session != c.header.Get("Mcp-Session-Id") ||
			p.whyStopped() != c.stopped {
			t.Errorf("%d: got %+v, stopped %q", c.status, facts, p.whyStopped())
		}
		if want := map[bool]int{true: 2, false: 1}[c.stopped == ""]; base.times != want ||
			strings.Join(order, " ") != "credentials" {
			t.Errorf("%d: sent %d times, by %q", c.status, base.times, order)
		}
	}
}

// A check that ends by its time limit has a report, a check that a signal ends has no report.
func TestTimedOutCheckHasReport(t *testing.T) {
	if out := Ended(transport.TimeoutError{
		Flag: "--max-time", What: "the check did not end",
		After: time.Second,
	}); out.Kind != wire.Timeout ||
		!strings.HasSuffix(out.Text, ": the report has the findings so far") || out.Hint != "--max-time TIME waits longer" {
		t.Errorf("got %+v", out)
	}
	if out := Ended(errors.New("signal")); out.Kind != wire.Signal || out.Text != "interrupted" {
		t.Errorf("got %+v", out)
	}
	ctx, stop := Limit(t.Context(), 0)
	stop()
	if ctx.Err() != nil {
		t.Error("without a limit the context ends")
	}
	ctx, stop = Limit(t.Context(), time.Nanosecond)
	defer stop()
	<-ctx.Done()
	if _, late := errors.AsType[transport.TimeoutError](context.Cause(ctx)); !late {
		t.Errorf("got %v", context.Cause(ctx))
	}
}
