package target

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

// secretMembers are the members, in lower case, that hold environment variables or header fields in
// the files of clients.
var secretMembers = []string{"env", "envs", "environment", "env_vars", "headers", "http_headers", "env_http_headers"}

// maxShownDepth is how many nested objects and lists are read; anything deeper is hidden.
const maxShownDepth = 32

// Hidden returns the text of a client's file without secrets: without the values of variables and
// header fields anywhere in the file, without the comments among them, and without the secrets in
// lists of arguments. It returns nil if it cannot parse the file.
func (c Client) Hidden(text []byte) []byte {
	if isTOML(c.paths[""]) {
		return c.hideTOML(text)
	}
	plain, err := standardJSON(text)
	if err != nil {
		return nil
	}
	doc, err := hujson.Parse(plain)
	if err != nil {
		return nil
	}
	h := hider{client: c, plain: plain}
	h.hideIn(&doc, nil)
	// Everything in plain is at the same offset as in text.
	return splice(text, h.edits...)
}

// holdsValues reports whether path leads to a member of secretMembers. A server with such a name,
// such as "env", is not such a member.
func (c Client) holdsValues(path []string) bool {
	last := len(path) - 1
	isServer := slices.Equal(path[:last], c.Member)
	return !isServer && slices.Contains(secretMembers, strings.ToLower(path[last]))
}

// A hider finds the values to hide in JSON.
type hider struct {
	client Client
	plain  []byte
	edits  []edit
}

// hideIn adds edits that hide the values of secretMembers anywhere in v, and everything below
// maxShownDepth. path has the names of the members around v, where "" is an element of a list.
func (h *hider) hideIn(v *hujson.Value, path []string) {
	if v.Value.Kind() != '{' && v.Value.Kind() != '[' {
		return
	}
	if len(path) > maxShownDepth {
		h.edits = append(h.edits, edit{spanOfValue(v), h.placeholder(v)})
		return
	}
	if list, isList := v.Value.(*hujson.Array); isList {
		h.hideWords(list)
		for i := range list.Elements {
			h.hideIn(&list.Elements[i], append(path[:len(path):len(path)], "")) // append copies path
		}
		return
	}
	members := membersOf(v)
	for i := range members {
		value := &members[i].Value
		inside := append(path[:len(path):len(path)], memberName(members[i]))
		if h.client.holdsValues(inside) {
			h.edits = append(h.edits, edit{spanOfValue(value), h.hideValues(value)})
		} else {
			h.hideIn(value, inside)
		}
	}
}

// hideWords adds edits that hide the secrets among the texts of a list, which may be the words of a
// command.
func (h *hider) hideWords(list *hujson.Array) {
	words := make([]string, len(list.Elements))
	for i := range list.Elements {
		v := &list.Elements[i]
		words[i], _ = jsonraw.Text(h.plain[v.StartOffset:v.EndOffset]) // "" if it is no text
	}
	for i, shown := range redact.ShownCommand(words) {
		if shown != words[i] {
			h.edits = append(h.edits, edit{spanOfValue(&list.Elements[i]), quote(shown)})
		}
	}
}

// hideValues returns the text of v with its values hidden: of an object each member's value, any
// other value as a whole.
func (h *hider) hideValues(v *hujson.Value) string {
	if v.Value.Kind() != '{' {
		return h.placeholder(v)
	}
	var b strings.Builder
	done := v.StartOffset
	for _, m := range membersOf(v) {
		b.Write(h.plain[done:m.Value.StartOffset]) // has blanks instead of comments
		b.WriteString(h.placeholder(&m.Value))
		done = m.Value.EndOffset
	}
	b.Write(h.plain[done:v.EndOffset])
	return b.String()
}

// placeholder returns the replacement of a value.
func (h *hider) placeholder(v *hujson.Value) string {
	raw := h.plain[v.StartOffset:v.EndOffset]
	text, isText := jsonraw.Text(raw)
	if !isText {
		text = string(raw)
	}
	return hiddenValue(text)
}

func hiddenValue(text string) string {
	if text == "" {
		return `""`
	}
	return `"` + redact.Redacted(text) + `"`
}

// hideTOML returns the text of a TOML file without secrets, or nil if it cannot parse the file. It
// hides each text and number separately, so that lists and tables keep their form.
func (c Client) hideTOML(text []byte) []byte {
	h := tomlHider{client: c}
	p := unstable.Parser{KeepComments: true}
	p.Reset(text)
	var table []string
	inValues := false // the current table is a member of secretMembers or is in one
	for p.NextExpression() {
		n := p.Expression()
		hidesComment := inValues // a comment beside a secret may repeat it
		switch {
		case n.Kind == unstable.Table || n.Kind == unstable.ArrayTable:
			table = keysOf(n)
			inValues = false
			// In [mcp_servers.x.env.sub] it is in one.
			for i := range table {
				inValues = inValues || c.holdsValues(table[:i+1])
			}
			hidesComment = inValues
		case inValues:
			h.hide(n)
		default:
			hidesComment = h.hideIn(table, n)
		}
		if comment := n.Next(); hidesComment && comment != nil { // on the same line
			h.hide(comment)
		}
	}
	if p.Error() != nil {
		return nil
	}
	return splice(text, h.edits...)
}

// A tomlHider finds the values to hide in TOML.
type tomlHider struct {
	client Client
	edits  []edit
}

// hideIn adds edits that hide the values of secretMembers anywhere in n. path has the names around
// n. It reports whether n itself is a value of secretMembers, which is then hidden as a whole.
func (h *tomlHider) hideIn(path []string, n *unstable.Node) bool {
	switch n.Kind {
	case unstable.KeyValue:
		for _, key := range keysOf(n) {
			path = append(path[:len(path):len(path)], key)
			if h.client.holdsValues(path) {
				h.hide(n.Value())
				return true
			}
		}
		h.hideIn(path, n.Value())
	case unstable.Array, unstable.InlineTable:
		h.hideWords(n)
		for it := n.Children(); it.Next(); {
			h.hideIn(path, it.Node())
		}
	}
	return false
}

// hideWords adds edits that hide the secrets among the texts of a list, which may be the words of a
// command.
func (h *tomlHider) hideWords(list *unstable.Node) {
	var words []string
	var places []span
	for it := list.Children(); it.Next(); {
		if it.Node().Kind == unstable.String {
			words = append(words, string(it.Node().Data))
			places = append(places, spanOf(it.Node()))
		}
	}
	for i, shown := range redact.ShownCommand(words) {
		if shown != words[i] {
			h.edits = append(h.edits, edit{places[i], quote(shown)})
		}
	}
}

// hide hides the values in n, and the text of a comment.
func (h *tomlHider) hide(n *unstable.Node) {
	switch n.Kind {
	case unstable.Comment:
		h.edits = append(h.edits, edit{spanOf(n), "#"})
	case unstable.KeyValue:
		h.hide(n.Value())
	case unstable.Array, unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			h.hide(it.Node())
		}
	default:
		h.edits = append(h.edits, edit{spanOf(n), hiddenValue(string(bytes.TrimSpace(n.Data)))})
	}
}
