package client

import (
	"strings"
	"testing"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// replied is a reply as a transport would give it.
func replied(status int, body string) reply {
	r := reply{Reply: transport.Reply{Message: wire.ParseMessage([]byte(body))}}
	if status != 0 {
		r.HTTP = &wire.HTTPFacts{Status: status}
	}
	return r
}

func refusedWith(status int, kind wire.Kind) reply {
	return reply{Reply: transport.Reply{Fault: &transport.Fault{Kind: kind, Status: status}, HTTP: &wire.HTTPFacts{Status: status}}}
}

// saying is a refusal with a text.
func saying(status int, text string) reply {
	r := refusedWith(status, wire.Transport)
	r.HTTP.Body = []byte(text)
	return r
}

func rpc(code, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return `{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"m"` + data + `}}`
}

func result(raw string) string { return `{"jsonrpc":"2.0","id":1,"result":` + raw + `}` }

// One row for each branch of the two decision trees of 2026-07-28
// basic/versioning and of the transports' "Backward Compatibility".
func TestJudgeProbe(t *testing.T) {
	const stdioOnly, httpOnly, both = 1, 2, 3
	for _, c := range []struct {
		name string
		on   int
		r    reply
		want probeKind
		// revision is what was found, or is asked for again.
		revision string
	}{
		{"a result with our revision", both, replied(200, result(`{"supportedVersions":["2026-07-28","2025-11-25"]}`)), speaksModern, rev20260728},
		{"the newest of several", both, replied(200, result(`{"supportedVersions":["2025-11-25","2031-01-01","2026-07-28"]}`)), speaksModern, rev20260728},
		{"a result with handshakes only", both, replied(200, result(`{"supportedVersions":["2025-11-25"]}`)), tryHandshake, ""},
		{"a result with no versions", both, replied(200, result(`{"supportedVersions":[]}`)), tryHandshake, ""},
		{"a result with strange versions", both, replied(200, result(`{"supportedVersions":[1,null]}`)), tryHandshake, ""},
		{"a result with a revision to come", both, replied(200, result(`{"supportedVersions":["2031-01-01"]}`)), probeFailed, ""},
		{"a result of another shape", both, replied(200, result(`{"supportedVersions":"2026-07-28"}`)), tryHandshake, ""},
		{"an empty result", both, replied(200, result(`{}`)), tryHandshake, ""},
		{"a result that is no object", both, replied(200, result(`null`)), tryHandshake, ""},
		{"-32022 with our revision", both, replied(400, rpc("-32022", `{"supported":["2026-07-28"]}`)), askAgain, rev20260728},
		{"-32022 with handshakes only", both, replied(400, rpc("-32022", `{"supported":["2025-11-25","2024-11-05"]}`)), tryHandshake, ""},
		{"-32022 with an old handshake only", both, replied(400, rpc("-32022", `{"supported":["2024-10-07"]}`)), tryHandshake, ""},
		{"-32022, disjoint", both, replied(400, rpc("-32022", `{"supported":["2031-01-01"]}`)), probeFailed, ""},
		{"-32022, a revision to come and a handshake", both, replied(400, rpc("-32022", `{"supported":["2031-01-01","2025-06-18"]}`)), tryHandshake, ""},
		{"-32022 without data", both, replied(400, rpc("-32022", ``)), probeFailed, ""},
		{"-32022 with an empty list", both, replied(400, rpc("-32022", `{"supported":[]}`)), probeFailed, ""},
		{"-32022 with broken data", both, replied(400, rpc("-32022", `[1]`)), probeFailed, ""},
		{"-32004 with our revision", both, replied(400, rpc("-32004", `{"supported":["2026-07-28"]}`)), askAgain, rev20260728},
		{"-32004 without data", both, replied(400, rpc("-32004", ``)), tryHandshake, ""},
		{"-32020", both, replied(400, rpc("-32020", ``)), probeFailed, ""},
		{"-32021", both, replied(400, rpc("-32021", `{"requiredCapabilities":{}}`)), probeFailed, ""},
		{"-32601", both, replied(200, rpc("-32601", ``)), tryHandshake, ""},
		{"-32602", both, replied(200, rpc("-32602", ``)), tryHandshake, ""},
		{"-32600", both, replied(400, rpc("-32600", ``)), tryHandshake, ""},
		{"-32000", both, replied(400, rpc("-32000", ``)), tryHandshake, ""},
		{"-32000 of mcpc tap", both, replied(200, rpc("-32000", `{"by":"mcpc"}`)), probeFailed, ""},
		{"-32001, which is a session not found", both, replied(404, rpc("-32001", ``)), tryHandshake, ""},
		{"0", both, replied(200, rpc("0", ``)), tryHandshake, ""},
		{"a message that is no response", stdioOnly, replied(0, `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`), tryHandshake, ""},
		{"404 and -32601", httpOnly, replied(404, rpc("-32601", ``)), tryHandshake, ""},
		{"an error with 500", httpOnly, replied(500, rpc("-32603", ``)), probeFailed, ""},
		{"-32022 with 500", httpOnly, replied(500, rpc("-32022", `{"supported":["2026-07-28"]}`)), askAgain, rev20260728},
		{"400", httpOnly, refusedWith(400, wire.Transport), tryHandshake, ""},
		{"404", httpOnly, refusedWith(404, wire.Transport), tryHandshake, ""},
		{"405", httpOnly, refusedWith(405, wire.Transport), tryHandshake, ""},
		{"406", httpOnly, refusedWith(406, wire.Transport), tryHandshake, ""},
		{"415", httpOnly, refusedWith(415, wire.Transport), tryHandshake, ""},
		{"422", httpOnly, refusedWith(422, wire.Transport), tryHandshake, ""},
		{"401", httpOnly, refusedWith(401, wire.Auth), probeFailed, ""},
		{"403", httpOnly, refusedWith(403, wire.Auth), probeFailed, ""},
		{"407", httpOnly, refusedWith(407, wire.Transport), probeFailed, ""},
		{"408", httpOnly, refusedWith(408, wire.Transport), probeFailed, ""},
		{"429", httpOnly, refusedWith(429, wire.Transport), probeFailed, ""},
		{"302", httpOnly, refusedWith(302, wire.Transport), probeFailed, ""},
		{"500", httpOnly, refusedWith(500, wire.Transport), probeFailed, ""},
		{"500 whose text names the method", httpOnly, saying(500, "Unknown method server/discover"), tryHandshake, ""},
		{"501 whose text names the revision", httpOnly, saying(501, `{"error":"version 2026-07-28"}`), tryHandshake, ""},
		{
			"an error with 500 that names the revision", httpOnly,
			replied(500, rpc("-32603", `"Unsupported protocol version: 2026-07-28"`)), tryHandshake, "",
		},
		{"502 whose text names the method", httpOnly, saying(502, "server/discover failed"), probeFailed, ""},
		{"501", httpOnly, refusedWith(501, wire.Transport), probeFailed, ""},
		{"503", httpOnly, refusedWith(503, wire.Transport), probeFailed, ""},
		{"200 and a page", httpOnly, refusedWith(200, wire.BadResponse), tryHandshake, ""},
		{"a broken connection", httpOnly, failedReply(&transport.Fault{Kind: wire.Transport}), probeFailed, ""},
		{"no connection in time", httpOnly, failedReply(&transport.Fault{Kind: wire.Timeout}), probeFailed, ""},
		{"silence", httpOnly, failedReply(&transport.Fault{Kind: wire.Timeout, Reached: wire.Unknown}), tryHandshake, ""},
		{"Ctrl-C", both, failedReply(&transport.Fault{Kind: wire.Signal}), probeFailed, ""},
		{"no pipe to be had", both, failedReply(&transport.Fault{Kind: wire.LocalIO}), probeFailed, ""},
		{"silence on a pipe", stdioOnly, failedReply(&transport.Fault{Kind: wire.Timeout}), tryHandshake, ""},
		{"the process ended", stdioOnly, failedReply(&transport.Fault{Kind: wire.Transport}), tryHandshake, ""},
		{"nothing but noise", stdioOnly, failedReply(&transport.Fault{Kind: wire.BadResponse}), probeFailed, ""},
	} {
		for _, overStdio := range []bool{true, false} {
			if overStdio && c.on&stdioOnly == 0 || !overStdio && c.on&httpOnly == 0 {
				continue
			}
			r := c.r
			if overStdio {
				r.HTTP = nil
			}
			found := classifyProbe(r, overStdio)
			if found.kind != c.want || found.revision != c.revision {
				t.Errorf("%s (stdio %t): got %d %q, want %d %q", c.name, overStdio, found.kind, found.revision, c.want, c.revision)
			}
			if found.respawn != (c.name == "the process ended") {
				t.Errorf("%s: respawn is %t", c.name, found.respawn)
			}
			if found.kind == tryHandshake && found.why == "" {
				t.Errorf("%s: nobody is told why", c.name)
			}
		}
	}
}

func TestJudgeProbeNamesBothLists(t *testing.T) {
	found := classifyProbe(replied(400, rpc("-32022", `{"supported":["2031-01-01"]}`)), false)
	for _, want := range append(Revisions(), "2031-01-01") {
		if !strings.Contains(found.text, want) {
			t.Errorf("%q does not name %s", found.text, want)
		}
	}
}

// The conclusions from a reply about its conversation.
func TestJudgeReplies(t *testing.T) {
	session := &legacy{guarded: guarded[agreement]{value: agreement{revision: rev20251125, sessionID: "s"}}}
	sessionless := &legacy{guarded: guarded[agreement]{value: agreement{revision: rev20251125}}}
	fresh := &modern{version: rev20260728}
	notFound := `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`
	for _, c := range []struct {
		name        string
		e           era
		r           reply
		unconfirmed bool
		want        sessionState
	}{
		{"a result", session, replied(200, result(`{}`)), true, sessionValid},
		{"404 in a session", session, refusedWith(404, wire.Transport), false, sessionExpired},
		{"404 with an error without id", session, replied(404, notFound), false, sessionExpired},
		{"404 with a session error of the request", session, replied(404, rpc("-32001", "")), false, sessionExpired},
		{"404 that names an unknown method", session, replied(404, rpc("-32601", "")), false, sessionValid},
		{"404 that names an unknown tool", session, replied(404, rpc("-32602", "")), false, sessionValid},
		{"404 that names an unknown resource", session, replied(404, rpc("-32002", "")), false, sessionValid},
		{"404 of a server that failed", session, replied(404, rpc("-32603", "")), false, sessionValid},
		{"404 with invalid params and no id", session, replied(404, strings.Replace(rpc("-32602", ""), `"id":1`, `"id":null`, 1)), false, sessionExpired},
		{"404 with an invalid request", session, replied(404, rpc("-32600", "")), false, sessionExpired},
		{"404 with a code of the server's making", session, replied(404, rpc("-32000", "")), false, sessionExpired},
		{"404 with a code that means nothing here", session, replied(404, rpc("404", "")), false, sessionSuspect},
		{"404 without a session", sessionless, refusedWith(404, wire.Transport), false, sessionValid},
		{"404 without a session, at first", sessionless, refusedWith(404, wire.Transport), true, sessionSuspect},
		{"400 at first", session, refusedWith(400, wire.Transport), true, sessionSuspect},
		{"400 later", session, refusedWith(400, wire.Transport), false, sessionSuspect},
		{"400 later, without a session", sessionless, refusedWith(400, wire.Transport), false, sessionValid},
		{"400 later, with an error without id", session, replied(400, notFound), false, sessionSuspect},
		{"400 later, of the request", session, replied(400, rpc("-32602", "")), false, sessionValid},
		{"400 later, of the request, with a code of the server's making", session, replied(400, rpc("-32000", "")), false, sessionSuspect},
		{"410 later", session, refusedWith(410, wire.Transport), false, sessionSuspect},
		{"403 later", session, refusedWith(403, wire.Auth), false, sessionValid},
		{"429 later", session, refusedWith(429, wire.Transport), false, sessionValid},
		{"400 at first, of the request", session, replied(400, rpc("-32602", "")), true, sessionValid},
		{"401 at first", session, refusedWith(401, wire.Auth), true, sessionValid},
		{"403 at first", session, refusedWith(403, wire.Auth), true, sessionValid},
		{"407 at first", session, refusedWith(407, wire.Transport), true, sessionValid},
		{"408 at first", session, refusedWith(408, wire.Transport), true, sessionValid},
		{"429 at first", session, refusedWith(429, wire.Transport), true, sessionValid},
		{"500 at first", session, refusedWith(500, wire.Transport), true, sessionValid},
		{"no answer", session, failedReply(&transport.Fault{Kind: wire.Transport}), true, sessionValid},
		{"-32022 at first", session, replied(400, rpc("-32022", "")), true, sessionExpired},
		{"-32020 at first", sessionless, replied(400, rpc("-32020", "")), true, sessionExpired},
		{"-32022 later", session, replied(400, rpc("-32022", "")), false, sessionValid},
		{"stateless: 404", fresh, refusedWith(404, wire.Transport), false, sessionValid},
		{"stateless: 404 at first", fresh, refusedWith(404, wire.Transport), true, sessionSuspect},
		{"stateless: 403 at first", fresh, refusedWith(403, wire.Auth), true, sessionValid},
		{"stateless: 429 at first", fresh, refusedWith(429, wire.Transport), true, sessionValid},
		{"stateless: 400 without id at first", fresh, replied(400, notFound), true, sessionSuspect},
		{"stateless: unknown method at first", fresh, replied(404, rpc("-32601", "")), true, sessionValid},
		{"stateless: unknown method with 200 at first", fresh, replied(200, rpc("-32601", "")), true, sessionSuspect},
		{"stateless: unknown method with 400 at first", fresh, replied(400, rpc("-32601", "")), true, sessionSuspect},
		{"stateless: unknown method with 200", fresh, replied(200, rpc("-32601", "")), false, sessionValid},
		{"stateless: unknown method over stdio", fresh, reply{Reply: transport.Reply{Message: replied(200, rpc("-32601", "")).Message}}, true, sessionValid},
		{"stateless: invalid request at first", fresh, replied(400, rpc("-32600", "")), true, sessionSuspect},
		{"stateless: invalid request with 200 at first", fresh, replied(200, rpc("-32600", "")), true, sessionSuspect},
		{"stateless: invalid params at first", fresh, replied(200, rpc("-32602", "")), true, sessionValid},
		{"stateless: -32022 at first", fresh, replied(400, rpc("-32022", "")), true, sessionExpired},
		{"stateless: -32020 at first", fresh, replied(400, rpc("-32020", "")), true, sessionValid},
	} {
		if got := c.e.sessionStateAfter(c.r, c.unconfirmed); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestVisibleASCII(t *testing.T) {
	for id, want := range map[string]bool{
		"": true, "1868a90c-7d4b": true, "!~": true, strings.Repeat("a", 4096): true,
		"a b": false, "a\r\nb": false, "a\x00": false, "é": false, "\x7f": false, strings.Repeat("a", 4097): false,
	} {
		if got := isSessionID(id); got != want {
			t.Errorf("%q: got %t, want %t", jsonraw.Excerpt([]byte(id), 20), got, want)
		}
	}
}
