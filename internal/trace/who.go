package trace

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

// Client and Server are what the two sides of the row's conversation call themselves,
// with their versions; "" where neither has said so.
func (r *Row) Client() string { return r.said(func(c *conn) string { return c.client.String() }) }

// Server is like Client.
func (r *Row) Server() string { return r.said(func(c *conn) string { return c.server.String() }) }

// clientName and serverName are their names alone.
func (r *Row) clientName() string { return r.said(func(c *conn) string { return c.client.name }) }

func (r *Row) serverName() string { return r.said(func(c *conn) string { return c.server.name }) }

// Session is the hash in place of the id of the row's session, or the id itself where it is
// not hidden; "" where it has none.
func (r *Row) Session() string { return r.said(func(c *conn) string { return c.session }) }

// HasConn reports whether Conn is the number of a conversation: something crossed.
func (r *Row) HasConn() bool { return r.conn != nil }

func (r *Row) said(what func(c *conn) string) string {
	if r.conn == nil {
		return ""
	}
	return what(r.conn)
}

// An implementation is the name and the version of a client or a server.
type implementation struct{ name, version string }

func (i implementation) String() string { return strings.TrimSpace(i.name + " " + i.version) }

func whoIn(raw json.RawMessage) implementation {
	members, _ := jsonraw.Object(raw)
	return implementation{members.Text("name"), members.Text("version")}
}

// serverIn is what the result says of the server: in its _meta, or where a conversation is
// opened in itself.
func (r *Row) serverIn(p placed) implementation {
	if p.message == nil {
		meta, ok := jsonraw.Unquote(nil, slices.Concat([]byte(`"`), p.peeked.meta, []byte(`"`)))
		if !ok || len(meta) == 0 {
			return implementation{}
		}
		return whoIn(jsonraw.First(meta, metaPrefix+"serverInfo"))
	}
	result, _ := p.message.ResultMembers()
	meta, _ := result.Get("_meta")
	who := whoIn(jsonraw.First(meta, metaPrefix+"serverInfo"))
	if said, there := result.Get("serverInfo"); there && who == (implementation{}) && handshake[r.Method] {
		return whoIn(said)
	}
	return who
}

// hashIn is the hash that replaces a secret, or the text itself where none does.
func hashIn(text string) string {
	if all := hashesIn(text); len(all) > 0 {
		return all[0]
	}
	return text
}

// hashesIn are those of all secrets that were taken out of a text.
func hashesIn(text string) (all []string) {
	for _, at := range redact.HiddenIn(text) {
		_, hash, ok := strings.Cut(text[at[0]:at[1]], "sha256")
		if hash = strings.TrimLeft(strings.TrimPrefix(hash, "%3A"), ":"); ok && len(hash) >= 4 {
			all = append(all, hash[:4])
		}
	}
	return all
}
