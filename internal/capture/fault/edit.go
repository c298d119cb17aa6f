package fault

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// mostBytes bounds what a rule may make of a message.
const mostBytes = 64 << 20

// old in a value means what the value replaces.
const old = "{old}"

// expanded is a value with \xNN as a byte, and {N*TEXT*} as N times TEXT. All else is taken as
// it stands: it need not be JSON.
func expanded(value string) (string, error) {
	var b strings.Builder
	for at := 0; at < len(value); {
		rest := value[at:]
		if strings.HasPrefix(rest, `\x`) && len(rest) >= 4 {
			if bytes, err := hex.DecodeString(rest[2:4]); err == nil {
				b.Write(bytes)
				at += 4
				continue
			}
		}
		if count, text, length := repeated(rest); length > 0 {
			if count > mostBytes || count*len(text)+b.Len() > mostBytes {
				return "", errors.New("the value has more than 64 MiB")
			}
			b.WriteString(strings.Repeat(text, count))
			at += length
			continue
		}
		b.WriteByte(value[at])
		at++
	}
	return b.String(), nil
}

// repeated reads {N*TEXT*}; its length is 0 where it is something else.
func repeated(rest string) (count int, text string, length int) {
	inside, ok := strings.CutPrefix(rest, "{")
	digits, more, starred := strings.Cut(inside, "*")
	text, _, closed := strings.Cut(more, "*}")
	count, err := strconv.Atoi(digits)
	if !ok || !starred || !closed || err != nil || count < 0 {
		return 0, "", 0
	}
	return count, text, len("{*") + len(digits) + len(text) + len("*}")
}

// replaced writes a value wherever a path leads to, or removes what is there where the value is
// "". A member that is missing is added to its object. It reports whether the path led anywhere.
func replaced(raw []byte, path jsonvalue.Path, value string) ([]byte, bool) {
	tree, err := jsonvalue.Parse(raw)
	if err != nil {
		return raw, false
	}
	var places []*jsonvalue.Node
	for _, pointer := range path.Select(raw) {
		places = append(places, tree.Find(pointer))
	}
	var parents []*jsonvalue.Node
	named := len(path) > 0 && !path[len(path)-1].Item && !path[len(path)-1].All
	if named {
		for _, pointer := range path[:len(path)-1].Select(raw) {
			parents = append(parents, tree.Find(pointer))
		}
	}
	switch {
	case value == "" && named:
		return spliced(raw, parents, func(object []byte) []byte { return jsonraw.Without(object, path[len(path)-1].Name) })
	case len(places) == 0 && value != "" && named:
		parents = slices.DeleteFunc(parents, func(n *jsonvalue.Node) bool { return n == nil || n.Kind != jsonvalue.Object })
		return spliced(raw, parents, func(object []byte) []byte {
			return jsonraw.Append(object, jsonraw.Member{Name: path[len(path)-1].Name, Value: json.RawMessage(value)})
		})
	}
	return spliced(raw, places, func(was []byte) []byte { return []byte(strings.ReplaceAll(value, old, string(was))) })
}

// spliced changes values in place, from the last to the first.
func spliced(raw []byte, places []*jsonvalue.Node, change func([]byte) []byte) ([]byte, bool) {
	places = slices.DeleteFunc(places, func(n *jsonvalue.Node) bool { return n == nil })
	slices.SortFunc(places, func(a, b *jsonvalue.Node) int { return b.At - a.At })
	out := slices.Clone(raw)
	for _, n := range places {
		out = slices.Concat(out[:n.At], change(n.Raw), out[n.At+len(n.Raw):])
	}
	return out, !bytes.Equal(out, raw)
}

// Request is the client's message as the server is to get it, and what the recording says where
// nothing changed. Mirror changes what mirrors it in the head.
func (d *Decision) Request(raw []byte) (out []byte, text string) {
	out, changed := replaced(raw, d.Path, d.Text)
	if !changed {
		text = "nothing to replace"
	}
	return out, text
}

// Response answers the client's request without the server: of rpc and tool-error.
func (d *Decision) Response() []byte {
	if d.Name == "rpc" {
		e := wire.ComposeError(d.message.ID, d.N, d.Text)
		if d.Data == "" {
			return e
		}
		return slices.Concat(bytes.TrimSuffix(e, []byte("}}")), []byte(`,"data":`+d.Data+`}}`))
	}
	complete := ""
	if d.standsAlone {
		complete = `"resultType":"complete",`
	}
	return wire.ComposeResult(d.message.ID, []byte(`{`+complete+`"content":[{"type":"text","text":`+string(jsonraw.Quote(d.Text))+`}],"isError":true}`))
}

// A Pace says how the bytes of a response come: at most Size at a time, and Wait between; with
// Once only before the second piece, which is all the rest. Without a Size they come as they are.
type Pace struct {
	Size int
	Wait time.Duration
	Once bool
}

// Pace is that of throttle, slow-loris and stall.
func (d *Decision) Pace() Pace {
	switch d.Name {
	case "throttle":
		size := max(1, d.N/20)
		return Pace{Size: int(size), Wait: time.Duration(size) * time.Second / time.Duration(d.N)}
	case "slow-loris":
		return Pace{Size: 1, Wait: d.Wait}
	case "stall":
		return Pace{Size: 16, Wait: d.Wait, Once: true}
	}
	return Pace{}
}

// Message is what comes in the place of a message for the client: none, one or several. Done is
// false where the action has nothing to change in it.
func (d *Decision) Message(raw []byte) (out [][]byte, done bool) {
	one := func(b []byte) ([][]byte, bool) { return [][]byte{b}, true }
	switch d.Name {
	case "drop response", "drop notification":
		return nil, true
	case "duplicate":
		return [][]byte{raw, raw}, true
	case "truncate":
		return [][]byte{raw[:min(len(raw), int(d.N))]}, len(raw) > int(d.N)
	case "garbage":
		return one(d.garbage())
	case "bad-utf8":
		return one(badUTF8(raw))
	case "replace":
		if d.OfRequest && d.crossed == wire.Sent {
			return [][]byte{raw}, false
		}
		b, changed := replaced(raw, d.Path, d.Text)
		return [][]byte{b}, changed
	case "ttl":
		if jsonraw.First(jsonraw.First(raw, "result"), "ttlMs") == nil {
			return [][]byte{raw}, false
		}
		b, _ := replaced(raw, jsonvalue.Path{{Name: "result"}, {Name: "ttlMs"}}, strconv.FormatInt(d.N, 10))
		return one(b)
	case "list-changed":
		return [][]byte{d.ListChanged(), raw}, true
	case "banner":
		return [][]byte{[]byte(d.Text), raw}, true
	}
	return [][]byte{raw}, false
}

// ListChanged is the notification of list-changed: on a subscription it names that.
func (d *Decision) ListChanged() []byte {
	params := ""
	if d.message != nil && d.message.Method == "subscriptions/listen" {
		params = `,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(jsonraw.OrNull(d.message.ID)) + `}}`
	}
	return []byte(`{"jsonrpc":"2.0","method":"notifications/` + d.Text + `/list_changed"` + params + `}`)
}

// garbage is random bytes without line ends, which would end the message on stdio.
func (d *Decision) garbage() []byte {
	random := rand.New(rand.NewPCG(d.seeds[0], d.seeds[1]))
	out := make([]byte, d.N)
	for i := range out {
		for out[i] = byte(random.Uint32()); out[i] == '\n' || out[i] == '\r'; {
			out[i] = byte(random.Uint32())
		}
	}
	return out
}

// badUTF8 puts a byte that is no UTF-8 into the first string of the result, the error or the
// params.
func badUTF8(raw []byte) []byte {
	at := 0
	for _, name := range []string{`"result"`, `"error"`, `"params"`} {
		if i := bytes.Index(raw, []byte(name)); i >= 0 {
			at = i + len(name)
			break
		}
	}
	quote := bytes.IndexByte(raw[at:], '"')
	if quote < 0 {
		return slices.Concat([]byte{0xff}, raw)
	}
	at += quote + 1
	return slices.Concat(raw[:at], []byte{0xff}, raw[at:])
}
