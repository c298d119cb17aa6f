package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A probeResult is what the answer to a probe says about the era of the server.
type probeResult struct {
	kind     probeKind
	revision string
	why      string
	// text replaces the outcome's where the probe is the end of it.
	text    string
	respawn bool
	// silent is set if there was no response.
	silent bool
}

type probeKind int

// giveUp: the answer is the end of it. speaksModern: the revision was found.
// askAgain: once more with the revision. tryHandshake: initialize.
const (
	giveUp probeKind = iota
	speaksModern
	askAgain
	tryHandshake
)

// judgeProbe reads the answer to server/discover. Only what a server of the
// stateless era alone would say is taken for that era; authorization, load, failures and
// the network say nothing of it; everything else means "try initialize", and so does silence.
func classifyProbe(r reply, overStdio bool) probeResult {
	if r.Fault != nil {
		return classifyFault(r, overStdio)
	}
	if r.Message.Kind == wire.Response {
		// A result is no proof. Servers exist that answer {} to any method, and servers that
		// list only revisions with a handshake.
		theirs, ok := supportedVersions(r.Message.Result)
		if !ok {
			return probeResult{kind: tryHandshake, why: "the response to server/discover lists no versions"}
		}
		return classifyVersions(theirs, speaksModern, "server/discover lists ")
	}
	if r.Message.Error != nil {
		return classifyError(r)
	}
	return probeResult{kind: tryHandshake, why: "server/discover got a non-response"}
}

func classifyFault(r reply, overStdio bool) probeResult {
	f := r.Fault
	_, isLimit := f.Err.(transport.TimeoutError) // of the probe, in contrast to that of a connection
	switch {
	case f.Kind == wire.Timeout && (overStdio || isLimit || f.Reached != wire.Unsent):
		return probeResult{kind: tryHandshake, why: "server/discover was not answered in time", silent: true}
	case overStdio && f.Kind == wire.Transport:
		return probeResult{kind: tryHandshake, why: "the server exited on server/discover", respawn: true}
	case !overStdio && f.Kind == wire.BadResponse:
		return probeResult{kind: tryHandshake, why: "server/discover got no JSON-RPC message"}
	case r.HTTP != nil && (transport.IsRefusal(r.HTTP.Status) || rejectsProbe(r.HTTP, r.HTTP.Body)):
		return probeResult{kind: tryHandshake, why: fmt.Sprintf("server/discover got HTTP %d", r.HTTP.Status)}
	}
	return probeResult{}
}

// rejectsProbe reports a response with status 500 or 501 whose text names what is new in the probe, its method or its
// revision: the server does not know it, and fails for no other reason.
func rejectsProbe(http *wire.HTTPFacts, text []byte) bool {
	if http.Status != 500 && http.Status != 501 {
		return false
	}
	return bytes.Contains(text, []byte("server/discover")) || bytes.Contains(text, []byte(newest(revisions, Stateless)))
}

// judgeVersions: a stateless revision that both speak comes first, then one with
// a handshake. Where there is only a stateless one that mcpc does not know, a
// handshake would be refused as well.
func classifyVersions(theirs []string, found probeKind, how string) probeResult {
	if revision := newest(theirs, Stateless); revision != "" {
		return probeResult{kind: found, revision: revision, why: how + joinOrNone(theirs)}
	}
	if newest(theirs, handshake) == "" && slices.ContainsFunc(theirs, Stateless) {
		return probeResult{text: "the server speaks " + joinOrNone(theirs) + "; mcpc speaks " + joinOrNone(revisions)}
	}
	return probeResult{kind: tryHandshake, why: how + joinOrNone(theirs)}
}

func classifyError(r reply) probeResult {
	e := r.Message.Error
	theirs := supportedIn(e)
	if len(theirs) > 0 && (e.Code == codeUnsupportedVersion || e.Code == codeDraftVersion) {
		return classifyVersions(theirs, askAgain, fmt.Sprintf("server/discover got the error %d, which lists ", e.Code))
	}
	if slices.Contains(modernCodes, e.Code) {
		return probeResult{}
	}
	if r.HTTP != nil && r.HTTP.Status/100 == 5 && !rejectsProbe(r.HTTP, r.Message.Raw) {
		return probeResult{}
	}
	return probeResult{kind: tryHandshake, why: fmt.Sprintf("server/discover got the error %d", e.Code)}
}

// supportedVersions reads a DiscoverResult; false where it is none.
func supportedVersions(result json.RawMessage) ([]string, bool) {
	return stringsIn(jsonraw.First(result, "supportedVersions"))
}

// supportedIn reads data.supported of a version error; nil where there is none.
func supportedIn(e *wire.RPCError) []string {
	if e == nil {
		return nil
	}
	versions, _ := stringsIn(jsonraw.First(e.Data, "supported"))
	return versions
}

func stringsIn(raw json.RawMessage) ([]string, bool) {
	items, err := jsonraw.Array(raw)
	if err != nil {
		return nil, false
	}
	var out []string
	for _, item := range items {
		if s, ok := jsonraw.Text(item); ok {
			out = append(out, s)
		}
	}
	return out, true
}
