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

// A probeResult is what the reply to a probe says about the era of the server.
type probeResult struct {
	kind     probeKind
	revision string
	// why says for the user what the server replied.
	why string
	// text replaces the text of the outcome if kind is probeFailed; "" keeps it.
	text string
	// respawn is set if the server's process exited and has to be started again.
	respawn bool
	// silent is set if there was no response.
	silent bool
}

type probeKind int

const (
	// probeFailed: the session cannot be opened.
	probeFailed probeKind = iota
	// speaksModern: the server speaks probeResult.revision, which is stateless.
	speaksModern
	// askAgain: the probe has to be repeated with probeResult.revision.
	askAgain
	// tryHandshake: the session has to be opened with initialize.
	tryHandshake
)

// classifyProbe returns what the reply to server/discover means. It assumes the stateless era only
// for a reply that no other server sends. Replies about authorization, overload, server failures
// and the network say nothing about the era. All other replies, and silence, mean that initialize
// should be tried.
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

// classifyFault returns what a probe without a response message means for the era. The kind is
// probeFailed for a fault that says nothing about it, such as a failed connection.
func classifyFault(r reply, overStdio bool) probeResult {
	f := r.Fault
	_, isLimit := f.Err.(transport.TimeoutError) // the limit of the probe, not of the connection
	mayHaveReached := overStdio || isLimit || f.Reached != wire.Unsent
	if f.Kind == wire.Timeout && mayHaveReached {
		return probeResult{kind: tryHandshake, why: "server/discover was not answered in time", silent: true}
	}
	if overStdio && f.Kind == wire.Transport {
		return probeResult{kind: tryHandshake, why: "the server exited on server/discover", respawn: true}
	}
	if !overStdio && f.Kind == wire.BadResponse {
		return probeResult{kind: tryHandshake, why: "server/discover got no JSON-RPC message"}
	}
	if r.HTTP != nil && (wire.IsRefusal(r.HTTP.Status) || rejectsProbe(r.HTTP, r.HTTP.Body)) {
		return probeResult{kind: tryHandshake, why: fmt.Sprintf("server/discover got HTTP %d", r.HTTP.Status)}
	}
	return probeResult{kind: probeFailed}
}

// rejectsProbe reports whether a response with status 500 or 501 contains the method or the
// revision of the probe: the server failed because it does not know them. Frameworks of servers
// write such pages for an exception. They have no code for it, so only the text can be checked.
func rejectsProbe(http *wire.HTTPFacts, text []byte) bool {
	if http.Status != 500 && http.Status != 501 {
		return false
	}
	return bytes.Contains(text, []byte("server/discover")) ||
		bytes.Contains(text, []byte(newestCommon(revisions, Stateless)))
}

// classifyVersions returns what a list of revisions means. found is the kind if the list has a
// stateless revision of mcpc; otherwise a handshake is tried. how is the beginning of the result's
// why. If the list has only unknown
// stateless revisions, the session cannot be opened, since the server would refuse a handshake,
// too.
func classifyVersions(theirs []string, found probeKind, how string) probeResult {
	if revision := newestCommon(theirs, Stateless); revision != "" {
		return probeResult{kind: found, revision: revision, why: how + joinOrNone(theirs)}
	}
	if newestCommon(theirs, hasHandshake) == "" && slices.ContainsFunc(theirs, Stateless) {
		text := "the server speaks " + joinOrNone(theirs) + "; mcpc speaks " + joinOrNone(revisions)
		return probeResult{kind: probeFailed, text: text}
	}
	return probeResult{kind: tryHandshake, why: how + joinOrNone(theirs)}
}

// classifyError returns what an error response to a probe means for the era. Most errors mean that a
// handshake should be tried; the kind is probeFailed for an error of the modern era that lists no
// revisions, for an error of mcpc tap, and for a failure of the server.
func classifyError(r reply) probeResult {
	e := r.Message.Error
	if e.IsByTap() { // no server has seen the probe
		return probeResult{kind: probeFailed}
	}
	theirs := supportedIn(e)
	if len(theirs) > 0 && (e.Code == codeUnsupportedVersion || e.Code == codeDraftVersion) {
		return classifyVersions(theirs, askAgain, fmt.Sprintf("server/discover got the error %d, which lists ", e.Code))
	}
	if slices.Contains(modernCodes, e.Code) {
		return probeResult{kind: probeFailed}
	}
	isServerFailure := r.HTTP != nil && r.HTTP.Status/100 == 5
	if isServerFailure && !rejectsProbe(r.HTTP, r.Message.Raw) {
		return probeResult{kind: probeFailed}
	}
	return probeResult{kind: tryHandshake, why: fmt.Sprintf("server/discover got the error %d", e.Code)}
}

// supportedVersions returns the revisions of a DiscoverResult. It reports false if result is not a
// DiscoverResult.
func supportedVersions(result json.RawMessage) ([]string, bool) {
	return stringsIn(jsonraw.First(result, "supportedVersions"))
}

// supportedIn returns data.supported of a version error; nil if e is nil or has no such list.
func supportedIn(e *wire.RPCError) []string {
	if e == nil {
		return nil
	}
	versions, _ := stringsIn(jsonraw.First(e.Data, "supported"))
	return versions
}

// stringsIn returns the strings in a JSON array. It reports false if raw is not an array.
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
