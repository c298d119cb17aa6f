package client

import (
	"encoding/json"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
)

// params are the parsed params of a request or notification, or a parsed result.
type params struct {
	raw json.RawMessage
	// members are the members of raw. If raw is not an object, isBroken is set, and members has the
	// members before the syntax error.
	members  jsonraw.Members
	isBroken bool
	// meta are the members of _meta. isMetaBroken is set if _meta is present and not an object.
	meta         jsonraw.Members
	isMetaBroken bool
}

// readParams parses raw. members are its members if the caller knows them, otherwise nil.
func readParams(raw json.RawMessage, members jsonraw.Members) *params {
	p := &params{raw: raw, members: slices.Clip(members)} // add must not write into the caller's array
	if members == nil && len(raw) > 0 {
		var err *jsonraw.SyntaxError
		p.members, err = jsonraw.Object(raw)
		p.isBroken = err != nil
	}
	if meta, ok := p.members.Get("_meta"); ok {
		var err *jsonraw.SyntaxError
		p.meta, err = jsonraw.Object(meta)
		p.isMetaBroken = err != nil
	}
	return p
}

// add adds a member that p does not have. It changes nothing if p is not an object.
func (p *params) add(name string, value json.RawMessage) {
	if p.isBroken {
		return
	}
	member := jsonraw.Member{Name: name, Value: value}
	if len(p.raw) == 0 {
		p.raw = json.RawMessage("{}")
	}
	p.raw = jsonraw.Append(p.raw, member)
	p.members = append(p.members, member)
}

// addMeta adds members to _meta, except members that the caller wrote. It changes nothing if p or
// _meta is not an object.
func (p *params) addMeta(added ...jsonraw.Member) {
	if p.isBroken || p.isMetaBroken || len(added) == 0 {
		return
	}
	own, hasMeta := p.members.Get("_meta")
	if len(p.meta) > 0 {
		added = slices.DeleteFunc(slices.Clone(added), func(member jsonraw.Member) bool {
			_, isOwn := p.meta.Get(member.Name)
			return isOwn
		})
	}
	meta := jsonraw.Append(jsonraw.OrEmpty(own), added...)
	if hasMeta {
		p.raw = jsonraw.With(p.raw, "_meta", meta)
	} else {
		p.add("_meta", meta)
	}
	p.meta = append(p.meta, added...)
}

// withMeta returns a result with members added to its _meta, except members that are already there.
func withMeta(result json.RawMessage, added ...jsonraw.Member) json.RawMessage {
	p := readParams(result, nil)
	p.addMeta(added...)
	return p.raw
}

// name returns the subject of a request: the name of a tool, the URI of a resource, or the id of a
// task. It reports false if the request has no subject.
func (p *params) name(method string) (string, bool) {
	member := mcp.NameMember(method)
	if member == "" {
		return "", false
	}
	return jsonraw.Text(p.members.Value(member))
}

// stamp returns the params of a call as they are sent, and stores header fields and the name and
// token of the request in out. It adds to _meta the members of the era, the progress token and the
// trace context, unless the caller wrote them. A bare call is sent unchanged.
func (c *connection) stamp(e era, call *Call, out *outgoing) json.RawMessage {
	p := readParams(call.Params, call.Members)
	out.name, _ = p.name(call.Method)
	if !call.Bare {
		metaMembers := e.stamp(c, call, p, out)
		if call.Progress { // the id is unique, and so serves as the token
			metaMembers = append(metaMembers, jsonraw.Member{Name: "progressToken", Value: out.ID})
		}
		p.addMeta(append(metaMembers, c.trace(p)...)...)
	}
	out.token = p.meta.Value("progressToken")
	return p.raw
}

// trace returns the members of _meta that put a request into a distributed trace (SEP-414), or nil
// if the caller wrote them.
func (c *connection) trace(p *params) []jsonraw.Member {
	if _, isTraced := p.meta.Get("traceparent"); isTraced || c.s.opt.Trace == nil {
		return nil
	}
	return c.s.opt.Trace()
}
