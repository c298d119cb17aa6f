package client

import (
	"encoding/json"
	"fmt"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A verdict is what the answer to a probe says about the era of the server.
type verdict struct {
	kind     verdictKind
	revision string
	why      string
	// text replaces the outcome's where the probe is the end of it.
	text    string
	respawn bool
}

type verdictKind int

// giveUp: the answer is the end of it. speaksModern: the revision was found.
// askAgain: once more with the revision. tryHandshake: initialize.
const (
	giveUp verdictKind = iota
	speaksModern
	askAgain
	tryHandshake
)

// judgeProbe reads the answer to server/discover. Only what a server of the
// stateless era alone would say is taken for that era; authorization, load and
// network say nothing of it; everything else means "try initialize".
func judgeProbe(r reply, overStdio bool) verdict {
	switch {
	case r.fault != nil:
		return judgeFault(r, overStdio)
	case r.message.Kind == wire.Response:
		// A result is no proof. Servers exist that answer {} to any method, and servers that
		// list only revisions with a handshake.
		theirs, ok := supportedVersions(r.message.Result)
		if !ok {
			return verdict{kind: tryHandshake, why: "the response to server/discover lists no versions"}
		}
		return judgeVersions(theirs, speaksModern, "server/discover lists ")
	case r.message.Error != nil:
		return judgeError(r)
	}
	return verdict{kind: tryHandshake, why: "server/discover got a non-response"}
}

func judgeFault(r reply, overStdio bool) verdict {
	f := r.fault
	switch {
	case overStdio && f.kind == wire.Timeout:
		return verdict{kind: tryHandshake, why: "server/discover was not answered in time"}
	case overStdio && f.kind == wire.Transport:
		return verdict{kind: tryHandshake, why: "the server exited on server/discover", respawn: true}
	case !overStdio && f.kind == wire.BadResponse:
		return verdict{kind: tryHandshake, why: "server/discover got no JSON-RPC message"}
	case r.http != nil && isRefusal(r.http.Status):
		return verdict{kind: tryHandshake, why: fmt.Sprintf("server/discover got HTTP %d", r.http.Status)}
	}
	return verdict{}
}

// judgeVersions: a stateless revision that both speak comes first, then one with
// a handshake. Where there is only a stateless one that mcpc does not know, a
// handshake would be refused as well.
func judgeVersions(theirs []string, found verdictKind, how string) verdict {
	if revision := newest(theirs, Stateless); revision != "" {
		return verdict{kind: found, revision: revision, why: how + list(theirs)}
	}
	if newest(theirs, handshake) == "" && slices.ContainsFunc(theirs, Stateless) {
		return verdict{text: "the server speaks " + list(theirs) + "; mcpc speaks " + list(revisions)}
	}
	return verdict{kind: tryHandshake, why: how + list(theirs)}
}

func judgeError(r reply) verdict {
	e := r.message.Error
	theirs := supportedIn(e)
	switch {
	case len(theirs) > 0 && (e.Code == codeUnsupportedVersion || e.Code == codeDraftVersion):
		return judgeVersions(theirs, askAgain, fmt.Sprintf("server/discover got the error %d, which lists ", e.Code))
	case slices.Contains(modernCodes, e.Code):
		return verdict{}
	case r.http != nil && r.http.Status/100 == 5:
		return verdict{}
	}
	return verdict{kind: tryHandshake, why: fmt.Sprintf("server/discover got the error %d", e.Code)}
}

// supportedVersions reads a DiscoverResult; false where it is none.
func supportedVersions(result json.RawMessage) ([]string, bool) {
	return texts(jsonraw.First(result, "supportedVersions"))
}

// supportedIn reads data.supported of a version error; nil where there is none.
func supportedIn(e *wire.RPCError) []string {
	if e == nil {
		return nil
	}
	versions, _ := texts(jsonraw.First(e.Data, "supported"))
	return versions
}

func texts(raw json.RawMessage) ([]string, bool) {
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
