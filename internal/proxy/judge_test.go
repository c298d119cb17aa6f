package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// frames are written one per line: the time in ms, the stream, the direction and kind, and the
// text: of a fault its action.
func framesOf(t *testing.T, text string) (frames []wire.Frame) {
	t.Helper()
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(words) < 3 {
			continue
		}
		var ms, stream int
		_, err := fmt.Sscan(words[0], &ms)
		if _, failed := fmt.Sscan(words[1], &stream); err != nil || failed != nil {
			t.Fatal(line)
		}
		f := wire.Frame{Time: noon.Add(time.Duration(ms) * time.Millisecond), Stream: stream, Dir: wire.Sent, Kind: wire.Body}
		rest := strings.Join(words[3:], "")
		switch words[2] {
		case "<":
			f.Dir, f.Raw = wire.Received, []byte(rest)
		case "noise":
			f.Dir, f.Kind, f.Raw = wire.Received, wire.Noise, []byte(rest)
		case ">":
			f.Raw = []byte(rest)
		case "resume":
			f.Kind, f.HTTP = wire.Head, &wire.HTTPHead{Method: "GET", Fields: []wire.Field{{Name: "Last-Event-ID", Value: rest}}}
		case "fault":
			method, action, _ := strings.Cut(rest, " ")
			f.Kind, f.Fault = wire.Fault, &wire.FaultFacts{Action: action, Method: method, Name: "buy", ID: "1"}
		case "left":
			f.Kind, f.Close = wire.Closed, &wire.CloseFacts{How: "cancelled"}
		case "ended":
			f.Kind, f.Dir, f.Close = wire.Closed, wire.Received, &wire.CloseFacts{By: wire.Received, How: "cut"}
		}
		frames = append(frames, f)
	}
	return frames
}

func TestWhatAClientDidAfterAFault(t *testing.T) {
	const (
		buy     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy","_meta":{"progressToken":1}}}`
		again   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"buy"}}`
		other   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"buy","arguments":{"n":2}}}`
		done    = `{"jsonrpc":"2.0","id":1,"result":{}}`
		safe    = `{"jsonrpc":"2.0","id":0,"result":{"tools":[{"name":"buy","annotations":{"idempotentHint":true}}]}}`
		lists   = `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
		otherID = `{"jsonrpc":"2.0","id":7,"result":{}}`
		badUTF8 = `{"jsonrpc":"2.0","id":1,"result":{"x":"` + "\xFF" + `"}}`
		stop    = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	)
	for name, c := range map[string]struct {
		frames, did string
		after       float64
		bad         bool
	}{
		"a call is repeated":             {"0 1 > " + buy + "\n10 1 fault tools/call cut\n11 1 ended\n1210 2 > " + again, Repeated, 1.2, true},
		"in a new conversation":          {"0 1 > " + buy + "\n10 1 fault tools/call cut\n11 1 ended\n900 2 > " + `{"jsonrpc":"2.0","id":9,"method":"server/discover"}` + "\n1210 3 > " + again, CalledAnew, 1.2, false},
		"over stdio":                     {"0 0 > " + buy + "\n10 0 fault tools/call drop response\n1210 0 > " + again, Repeated, 1.2, true},
		"a tool that can be repeated":    {"0 1 < " + safe + "\n0 1 > " + buy + "\n10 1 fault tools/call cut\n11 1 ended\n1210 2 > " + again, Retried, 1.2, false},
		"another call":                   {"0 1 > " + buy + "\n10 1 fault tools/call cut\n11 1 ended\n1210 2 > " + other, Stopped, 0.001, false},
		"much later":                     {"0 1 > " + buy + "\n10 1 fault tools/call cut\n11 1 ended\n99999 2 > " + again, Stopped, 0.001, false},
		"what was refused":               {"0 1 > " + buy + "\n10 1 fault tools/call 401\n20 2 > " + again, Retried, 0.01, false},
		"a status of the client's fault": {"0 1 > " + buy + "\n10 1 fault tools/call status 429\n20 2 > " + again, Retried, 0.01, false},
		"a status of the server's fault": {"0 1 > " + buy + "\n10 1 fault tools/call status 503\n20 2 > " + again, Repeated, 0.01, true},
		"a resumed stream":               {"0 1 > " + buy + "\n10 1 fault tools/call cut\n11 1 ended\n510 2 resume 7", Resumed, 0.5, false},
		"another session":                {"0 1 > " + buy + "\n10 1 fault tools/call expire-session\n20 2 > " + `{"jsonrpc":"2.0","id":9,"method":"initialize"}`, Reopened, 0.01, false},
		"given up":                       {"0 1 > " + buy + "\n10 1 fault tools/call hang\n2010 1 left", GaveUp, 2, false},
		"cancelled":                      {"0 0 > " + buy + "\n10 0 fault tools/call hang\n2010 0 > " + stop, GaveUp, 2, false},
		"given up and repeated":          {"0 1 > " + buy + "\n10 1 fault tools/call hang\n2010 1 left\n2510 2 > " + again, Repeated, 2.5, true},
		"hung for long":                  {"0 1 > " + buy + "\n10 1 fault tools/call hang\n70010 1 < {}", StillWaited, 70, true},
		"hung until the end":             {"0 1 > " + buy + "\n10 1 fault tools/call hang\n3010 1 < {}", StillWaited, 3, false},
		"a late response":                {"0 1 > " + buy + "\n10 1 fault tools/call delay\n2010 1 < " + done, TookResponse, 2, false},
		"a cut behind the response":      {"0 1 > " + buy + "\n5 1 < " + done + "\n10 1 fault tools/call cut\n1210 2 > " + again, TookResponse, 0, false},
		"a list that was read again":     {"0 1 > " + buy + "\n10 1 fault tools/call list-changed\n20 2 > " + `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, ReadListAgain, 0.01, false},
		"list-changed, and the response": {"0 1 > " + buy +
			"\n10 1 fault tools/call list-changed\n20 1 < " + done + "\n21 1 ended", IgnoredChange, 0.01, false},
		"list-changed, and a second call": {"0 1 > " + buy +
			"\n10 1 fault tools/call list-changed\n20 1 < " + done + "\n30 2 > " + again, IgnoredChange, 0.01, false},
		"list-changed, response, list": {"0 1 > " + buy +
			"\n10 1 fault tools/call list-changed\n20 1 < " + done + "\n30 2 > " + lists, ReadListAgain, 0.02, false},
		"list-changed on a stream": {"10 1 fault GET list-changed\n500 1 left", IgnoredChange, 0.49, false},
		"a replaced value": {"0 1 > " + buy +
			"\n10 1 fault tools/call replace\n20 1 < " + done + "\n21 1 ended", GotChangedResponse, 0.01, false},
		"a replaced value, called twice": {"0 0 > " + buy +
			"\n10 0 fault tools/call replace\n20 0 < " + done + "\n30 0 > " + again, GotChangedResponse, 0.01, false},
		"a replaced id": {"0 1 > " + buy +
			"\n10 1 fault tools/call replace\n20 1 < " + otherID + "\n21 1 ended", Stopped, 0.011, false},
		"bytes that are no UTF-8": {"0 1 > " + buy +
			"\n10 1 fault tools/call bad-utf8\n20 1 < " + badUTF8 + "\n21 1 ended", GotChangedResponse, 0.01, false},
		"no UTF-8 on a pipe": {"0 0 > " + buy +
			"\n10 0 fault tools/call bad-utf8\n20 0 noise " + badUTF8 + "\n5000 0 left", GotChangedResponse, 0.01, false},
		"no UTF-8, and once more": {"0 0 > " + buy +
			"\n10 0 fault tools/call bad-utf8\n20 0 noise " + badUTF8 + "\n30 0 > " + again, Repeated, 0.02, true},
		"no UTF-8, and no end": {"0 0 > " + buy +
			"\n10 0 fault tools/call bad-utf8\n20 0 noise " + badUTF8 + "\n99000 0 > {}", GotChangedResponse, 0.01, false},
		"a notification": {"0 1 fault notifications/x drop notification", Unjudged, 0, false},
	} {
		var j Judge
		for _, f := range framesOf(t, c.frames) {
			j.Add(f)
		}
		got := j.Verdicts()
		if len(got) != 1 || got[0].Did != c.did || got[0].Bad != c.bad || got[0].After != c.after {
			t.Errorf("%s: got %+v, want %s after %g", name, got, c.did, c.after)
		}
	}
}
