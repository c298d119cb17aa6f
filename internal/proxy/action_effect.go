package proxy

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// mostMade bounds what a rule may make of a message.
const maxOutput = 64 << 20

// old in a value means what the value replaces.
const oldValue = "{old}"

// special are \xNN, a byte, and {N*TEXT*}, N times TEXT.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\x[0-9a-fA-F]{2}|\{\d+\*.*?\*\}`) })

// expanded is a value with what is special in it written out. All else is taken as it stands: it
// need not be JSON.
func expandValue(value string) (out string, err error) {
	size := len(value)
	out = escapes().ReplaceAllStringFunc(value, func(word string) string {
		if b, ok := strings.CutPrefix(word, `\x`); ok {
			raw, _ := hex.DecodeString(b)
			return string(raw)
		}
		digits, text, _ := strings.Cut(word[1:len(word)-2], "*")
		n, failed := strconv.Atoi(digits)
		if failed != nil || n > maxOutput || size+n*len(text) > maxOutput {
			err = errors.New("the value has more than 64 MiB")
			return ""
		}
		size += n * len(text)
		return strings.Repeat(text, n)
	})
	return out, err
}

// replaced writes a value wherever a path leads to, or removes what is there where the value is
// "". A member that is missing is added to its object. It reports whether anything changed.
func replacePath(raw []byte, path jsonvalue.Path, value string) ([]byte, bool) {
	tree, err := jsonvalue.Parse(raw)
	if err != nil {
		return raw, false
	}
	find := func(path jsonvalue.Path) (nodes []*jsonvalue.Node) {
		for _, pointer := range path.Select(raw) {
			if n := tree.Find(pointer); n != nil {
				nodes = append(nodes, n)
			}
		}
		return nodes
	}
	places := find(path)
	if last := len(path) - 1; last >= 0 && !path[last].Item && !path[last].All && (value == "" || len(places) == 0) {
		return splice(raw, find(path[:last]), func(object []byte) []byte {
			if object[0] != '{' {
				return object
			}
			if value == "" {
				return jsonraw.Without(object, path[last].Name)
			}
			return jsonraw.Append(object, jsonraw.Member{Name: path[last].Name, Value: json.RawMessage(value)})
		})
	}
	return splice(raw, places, func(was []byte) []byte { return []byte(strings.ReplaceAll(value, oldValue, string(was))) })
}

// spliced changes values in place, from the last to the first.
func splice(raw []byte, places []*jsonvalue.Node, change func([]byte) []byte) ([]byte, bool) {
	slices.SortFunc(places, func(a, b *jsonvalue.Node) int { return b.At - a.At })
	out := slices.Clone(raw)
	for _, n := range places {
		out = slices.Concat(out[:n.At], change(n.Raw), out[n.At+len(n.Raw):])
	}
	return out, !bytes.Equal(out, raw)
}

// Request is the client's message as the server is to get it, and what the recording says where
// nothing changed. Mirror changes what mirrors it in the head.
func (d *decision) changedRequest(raw []byte) (out []byte, text string) {
	out, changed := replacePath(raw, d.Path, d.Text)
	if !changed {
		text = "nothing to replace"
	}
	return out, text
}

// Response answers the client's request without the server: of rpc and tool-error.
func (d *decision) ownResponse() []byte {
	if d.Name == "rpc" {
		e := wire.ComposeError(d.message.ID, d.N, d.Text)
		if d.Data == "" {
			return e
		}
		return slices.Concat(bytes.TrimSuffix(e, []byte("}}")), []byte(`,"data":`+d.Data+`}}`))
	}
	complete := ""
	if d.namesRevision {
		complete = `"resultType":"complete",`
	}
	return wire.ComposeResult(d.message.ID,
		[]byte(`{`+complete+`"content":[{"type":"text","text":`+string(jsonraw.Quote(d.Text))+`}],"isError":true}`))
}

// A Pace says how the bytes of a response come: at most Size at a time, and Wait between; with
// Once only before the second piece, which is all the rest. Without a Size they come as they are.
type pace struct {
	Size int
	Wait time.Duration
	Once bool
}

// Pace is that of throttle, slow-loris and stall.
func (d *decision) responsePace() pace {
	switch d.Name {
	case "throttle":
		size := max(1, d.N/20)
		return pace{Size: int(size), Wait: time.Duration(size) * time.Second / time.Duration(d.N)}
	case "slow-loris":
		return pace{Size: 1, Wait: d.Wait}
	case "stall":
		return pace{Size: 16, Wait: d.Wait, Once: true}
	}
	return pace{}
}

// Message is what comes in the place of a message for the client: none, one or several. Done is
// false where the action has nothing to change in it.
func (d *decision) changedMessages(raw []byte) (out [][]byte, done bool) {
	message := raw
	done = true
	switch d.Name {
	case "drop response", "drop notification":
		return nil, true
	case "duplicate":
		return [][]byte{raw, raw}, true
	case "list-changed":
		return [][]byte{d.listChanged(), raw}, true
	case "banner":
		return [][]byte{[]byte(d.Text), raw}, true
	case "truncate":
		message = raw[:min(len(raw), int(d.N))]
		done = len(message) < len(raw)
	case "garbage":
		random := rand.New(rand.NewPCG(d.seeds[0], d.seeds[1]))
		message = make([]byte, d.N)
		for i := range message { // no line end, which would end the message on stdio
			message[i] = byte(' ' + random.IntN(256-' '))
		}
	case "bad-utf8":
		message = badUTF8(raw)
	case "replace":
		done = !d.OfRequest || d.dir == wire.Received
		if done {
			message, done = replacePath(raw, d.Path, d.Text)
		}
	case "ttl":
		message, done = replacePath(raw, jsonvalue.Path{{Name: "result"}, {Name: "ttlMs"}}, strconv.FormatInt(d.N, 10))
	default:
		done = false
	}
	return [][]byte{message}, done
}

// ListChanged is the notification of list-changed: on a subscription it names that.
func (d *decision) listChanged() []byte {
	params := ""
	if d.message != nil && d.message.Method == "subscriptions/listen" {
		params = `,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(jsonraw.OrNull(d.message.ID)) + `}}`
	}
	return []byte(`{"jsonrpc":"2.0","method":"notifications/` + d.Text + `/list_changed"` + params + `}`)
}

// badUTF8 puts a byte that is no UTF-8 into the first string of the result, the error or the
// params.
func badUTF8(raw []byte) []byte {
	start := 0
	for _, name := range []string{`"result"`, `"error"`, `"params"`} {
		if i := bytes.Index(raw, []byte(name)); i >= 0 {
			start = i + len(name)
			break
		}
	}
	quote := bytes.IndexByte(raw[start:], '"')
	if quote < 0 {
		return slices.Concat([]byte{0xff}, raw)
	}
	start += quote + 1
	return slices.Concat(raw[:start], []byte{0xff}, raw[start:])
}
