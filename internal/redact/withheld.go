package redact

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// If there are more secret values than can be kept, later ones cannot be recognized. All later text
// is withheld: of a message the members that identify its exchange remain, of a head the fields
// that say how to read it.

// Withholds reports whether there are more secrets than can be tracked.
func (s *Secrets) Withholds() bool { return s != nil && s.full.Load() }

// openFields are header fields whose values are not secret.
var openFields = []string{
	"accept",
	"accept-encoding",
	"allow",
	"cache-control",
	"connection",
	"content-encoding",
	"content-length",
	"content-type",
	"date",
	"host",
	"mcp-method",
	"mcp-protocol-version",
	"server",
	"transfer-encoding",
	"user-agent",
	"vary",
}

// withholdFrame returns a frame with its text and every value that may be secret hidden.
func withholdFrame(f wire.Frame) wire.Frame {
	if len(f.Raw) > 0 {
		f.Size = f.Bytes() // the size of the original, which is computed from Raw
		f.Raw = withholdText(f.Raw)
		f.Hidden++
	}
	if f.HTTP != nil {
		head := *f.HTTP
		head.URL = withholdURL(head.URL)
		head.Fields = slices.Clone(head.Fields)
		for i, field := range head.Fields {
			if !slices.Contains(openFields, strings.ToLower(field.Name)) {
				head.Fields[i].Value = hide(field.Value)
			}
		}
		f.HTTP = &head
	}
	if f.Close != nil {
		end := *f.Close
		end.Text = hide(end.Text)
		f.Close = &end
	}
	if f.Fault != nil {
		facts := *f.Fault
		facts.Rule = hide(facts.Rule)
		facts.Name = hide(facts.Name)
		facts.Text = hide(facts.Text)
		f.Fault = &facts
	}
	if f.Held != nil {
		facts := *f.Held
		facts.Name = hide(facts.Name)
		f.Held = &facts
	}
	if f.SSE != nil {
		facts := *f.SSE
		if facts.Event != "message" && facts.Event != "endpoint" {
			facts.Event = hide(facts.Event)
		}
		if facts.ID != nil {
			id := hide(*facts.ID)
			facts.ID = &id
		}
		f.SSE = &facts
	}
	return f
}

// withholdURL returns a URL with everything after the host hidden.
func withholdURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return placeholderInURL(hide(raw))
	}
	origin := u.Scheme + "://" + u.Host
	if rest := u.RequestURI(); raw != origin && rest != "/" {
		return origin + "/" + placeholderInURL(hide(rest))
	}
	return origin
}

// withholdText returns a message with its params, result and error hidden. If raw is not a JSON
// object, it returns a placeholder for raw.
func withholdText(raw []byte) []byte {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return []byte(redactedBytes(raw))
	}
	var safe []jsonraw.Member
	for _, m := range members {
		value := m.Value
		text, isText := jsonraw.Text(value)
		switch {
		case m.Name == "jsonrpc": // unchanged, like the next three
		case m.Name == "id" && !isText:
		case m.Name == "id" && len(text) < minKnown:
		case m.Name == "method" && isMethod(text):
		case m.Name == "id" || m.Name == "method":
			value = jsonraw.Quote(hide(text))
		case slices.Contains([]string{"params", "result", "error"}, m.Name):
			value = jsonraw.Quote(redactedBytes(value))
		default:
			continue
		}
		safe = append(safe, jsonraw.Member{Name: m.Name, Value: value})
	}
	return jsonraw.Append(json.RawMessage("{}"), safe...)
}

// isMethod reports whether a text can be a method of the protocol.
func isMethod(text string) bool {
	return len(text) < 64 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzCHILMPRSTU_$/") == ""
}
