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

// maxOutput is the largest message that an action may produce, in bytes.
const maxOutput = 64 << 20

// oldValue is replaced by the previous value, in the value of replace.
const oldValue = "{old}"

// escapes matches \xNN, which is a byte, and {N*TEXT*}, which is TEXT repeated N times.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\x[0-9a-fA-F]{2}|\{\d+\*.*?\*\}`) })

// expandValue expands the escapes of a value, which need not be JSON. It returns an error if the
// result has more than maxOutput bytes.
func expandValue(value string) (string, error) {
	// size is at least the length of the result so far; it is checked before memory is used.
	size := len(value)
	isTooLong := false
	expanded := escapes().ReplaceAllStringFunc(value, func(escape string) string {
		if digits, isByte := strings.CutPrefix(escape, `\x`); isByte {
			raw, _ := hex.DecodeString(digits) // escapes matches two digits
			return string(raw)
		}
		count, text, _ := strings.Cut(escape[1:len(escape)-2], "*")
		n, err := strconv.Atoi(count)
		if err != nil || n > maxOutput || size+n*len(text) > maxOutput {
			isTooLong = true
			return ""
		}
		size += n * len(text)
		return strings.Repeat(text, n)
	})
	if isTooLong {
		return "", errors.New("the value has more than 64 MiB")
	}
	return expanded, nil
}

// replacePath writes value at each place that path selects, with the previous value in place of
// {old}. If value is "" it removes the members or items. A missing member is added to its object. It
// returns the new message and whether it differs; raw is returned if it is not JSON.
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
	last := len(path) - 1
	endsWithItem := last >= 0 && (path[last].Item || path[last].All)
	if endsWithItem && value == "" {
		return splice(raw, find(path[:last]), func(array []byte) []byte { return withoutItem(array, path[last]) })
	}
	endsWithMember := last >= 0 && !endsWithItem
	// To remove or add a member, edit the objects around it.
	if endsWithMember && (value == "" || len(places) == 0) {
		return splice(raw, find(path[:last]), func(object []byte) []byte {
			// The place above the member may be an array or a leaf.
			if object[0] != '{' {
				return object
			}
			if value == "" {
				return jsonraw.Without(object, path[last].Name)
			}
			return jsonraw.Append(object, jsonraw.Member{Name: path[last].Name, Value: json.RawMessage(value)})
		})
	}
	return splice(raw, places, func(old []byte) []byte { return []byte(strings.ReplaceAll(value, oldValue, string(old))) })
}

// withoutItem returns array without the item of a step, or without all items if step.All is set. All
// other bytes stay, except for the comma beside the item. It returns array unchanged if it has no such
// item or is not an array.
func withoutItem(array []byte, step jsonvalue.Step) []byte {
	tree, err := jsonvalue.Parse(array)
	if err != nil || tree.Kind != jsonvalue.Array || step.Index >= len(tree.Kids) {
		return array
	}
	items := tree.Kids
	endOf := func(i int) int { return items[i].At + len(items[i].Raw) }
	first := step.Index // 0 means all items
	last := step.Index
	if step.All {
		last = len(items) - 1
	}
	start := items[first].At
	end := endOf(last)
	if last < len(items)-1 {
		end = items[last+1].At
	} else if first > 0 {
		start = endOf(first - 1)
	}
	return slices.Concat(array[:start], array[end:])
}

// splice replaces the nodes at places by the results of change. It reports whether the message has
// changed.
func splice(raw []byte, places []*jsonvalue.Node, change func([]byte) []byte) ([]byte, bool) {
	// The last place comes first, so that the offsets of the others stay valid.
	slices.SortFunc(places, func(a, b *jsonvalue.Node) int { return b.At - a.At })
	out := slices.Clone(raw)
	for _, n := range places {
		out = slices.Concat(out[:n.At], change(n.Raw), out[n.At+len(n.Raw):])
	}
	return out, !bytes.Equal(out, raw)
}

// changeForServer returns the client's message as the server receives it, and a note for the
// recording, which is "" unless there was nothing to replace.
func (d *decision) changeForServer(raw []byte) (message []byte, note string) {
	message, changed := replacePath(raw, d.Path, d.Text)
	if !changed {
		return message, "nothing to replace"
	}
	return message, ""
}

// composeResponse returns the response of rpc and tool-error, which do not forward the request.
func (d *decision) composeResponse() []byte {
	if d.Name == actionRPCError {
		e := wire.ComposeError(d.message.ID, d.N, d.Text)
		if d.Data == "" {
			return e
		}
		// ComposeError writes no data: add it as the last member of "error".
		return slices.Concat(bytes.TrimSuffix(e, []byte("}}")), []byte(`,"data":`+d.Data+`}}`))
	}
	resultType := "" // only requests of 2026-07-28 name their revision, and only its results have a type
	if d.namesRevision {
		resultType = `"resultType":"complete",`
	}
	content := `"content":[{"type":"text","text":` + string(jsonraw.Quote(d.Text)) + `}]`
	return wire.ComposeResult(d.message.ID, []byte(`{`+resultType+content+`,"isError":true}`))
}

// A pace is the speed of a response: at most size bytes at a time, with wait after each piece. With
// once set, only the first piece is limited. A pace without a size is no limit.
type pace struct {
	size      int
	wait      time.Duration
	firstOnly bool
}

// pace returns the pace of throttle, slow-loris and stall.
func (d *decision) pace() pace {
	switch d.Name {
	case actionThrottle: // 20 pieces per second
		size := max(1, d.N/20) // at least 1 byte, if the limit is less than 20 per second
		return pace{size: int(size), wait: time.Duration(size) * time.Second / time.Duration(d.N)}
	case actionSlowLoris:
		return pace{size: 1, wait: d.Wait}
	case actionStall: // 16 bytes are too few for a message
		return pace{size: 16, wait: d.Wait, firstOnly: true}
	}
	return pace{}
}

// changeForClient returns the messages that the client receives in place of raw, possibly none.
// changed is false if the action does not change this message; then the only message is raw.
func (d *decision) changeForClient(raw []byte) (messages [][]byte, changed bool) {
	message := raw
	changed = true
	switch d.Name {
	case actionDropResponse, actionDropNotification:
		return nil, true
	case actionDuplicate:
		return [][]byte{raw, raw}, true
	case actionListChanged:
		return [][]byte{d.composeListChanged(), raw}, true
	case actionBanner:
		return [][]byte{[]byte(d.Text), raw}, true
	case actionTruncate:
		message = raw[:min(len(raw), int(d.N))]
		changed = len(message) < len(raw)
	case actionGarbage:
		random := rand.New(rand.NewPCG(d.seeds[0], d.seeds[1]))
		message = make([]byte, d.N)
		for i := range message { // without line ends, which would end the message on stdio
			message[i] = byte(' ' + random.IntN(256-' '))
		}
	case actionBadUTF8:
		message = badUTF8(raw)
	case actionReplace:
		// The decision about a request also sees the response; replace changes either.
		changed = !d.OfRequest || d.dir == wire.Received
		if changed {
			message, changed = replacePath(raw, d.Path, d.Text)
		}
	case actionTTL:
		message, changed = replacePath(raw, jsonvalue.Path{{Name: "result"}, {Name: "ttlMs"}}, strconv.FormatInt(d.N, 10))
	default:
		changed = false
	}
	return [][]byte{message}, changed
}

// composeListChanged returns the notification of list-changed. For a subscription it carries the
// subscription's id.
func (d *decision) composeListChanged() []byte {
	params := ""
	if d.message != nil && d.message.Method == "subscriptions/listen" {
		params = `,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(jsonraw.OrNull(d.message.ID)) + `}}`
	}
	return []byte(`{"jsonrpc":"2.0","method":"notifications/` + d.Text + `/list_changed"` + params + `}`)
}

// badUTF8 returns raw with a byte that is not UTF-8 inserted into the first string of the result,
// the error or the params. Without such a string the byte comes first.
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
