package match

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
)

// A maker makes JSON at random, always the same for one seed.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 17))} }

var sampleNames = []string{"a", "b", "id", "name", "uri", "x/y", "~", "", "é", "😀", "_meta", "arguments", "cursor"}

func (m maker) value(depth int) string {
	switch kind := m.IntN(9); {
	case depth > 0 && kind < 2:
		names := m.Perm(len(sampleNames))[:m.IntN(5)]
		var all []string
		for _, n := range names {
			all = append(all, string(jsonraw.Quote(sampleNames[n]))+":"+m.value(depth-1))
		}
		return "{" + strings.Join(all, ",") + "}"
	case depth > 0 && kind < 4:
		var all []string
		for range m.IntN(4) {
			all = append(all, m.value(depth-1))
		}
		return "[" + strings.Join(all, ",") + "]"
	case kind < 5:
		return []string{"true", "false", "null"}[m.IntN(3)]
	case kind < 7:
		return []string{"0", "1", "-1", "1.5", "9007199254740993", "1e400", "-0.001"}[m.IntN(7)]
	}
	return string(jsonraw.Quote([]string{
		"", "red", "green", "a long text with words", "2026-01-02T03:04:05Z",
		"123e4567-e89b-12d3-a456-426614174000", "é\n\"\\", "••••(len 5, sha256:2cf2)",
	}[m.IntN(8)]))
}

func (m maker) object(depth int) json.RawMessage {
	for {
		if raw := m.value(depth); raw[0] == '{' {
			return json.RawMessage(raw)
		}
	}
}

// respelled is the same value with its members in another order, other white space, and
// numbers and texts in another spelling.
func (m maker) respelled(raw json.RawMessage) json.RawMessage {
	blank := []string{"", " ", "\n", "\t "}[m.IntN(4)]
	if members, err := jsonraw.Object(raw); err == nil {
		var all []string
		for _, i := range m.Perm(len(members)) {
			all = append(all, blank+string(m.text(members[i].Name))+blank+":"+string(m.respelled(members[i].Value)))
		}
		return json.RawMessage("{" + strings.Join(all, ",") + blank + "}")
	}
	if items, err := jsonraw.Array(raw); err == nil {
		var all []string
		for _, item := range items {
			all = append(all, blank+string(m.respelled(item))+blank)
		}
		return json.RawMessage("[" + strings.Join(all, ",") + "]")
	}
	if jsonraw.IsNumber(raw) {
		digits, power, _ := strings.Cut(jsonvalue.Decimal(string(raw)), "e")
		return json.RawMessage([]string{string(raw), digits + "e" + power, digits + ".00E" + power, digits + "0e" + power + "0"}[m.IntN(3)])
	}
	if text, ok := jsonraw.Text(raw); ok {
		return m.text(text)
	}
	return raw
}

func (m maker) text(text string) json.RawMessage {
	if m.IntN(2) == 0 || strings.ContainsRune(text, '😀') {
		return jsonraw.Quote(text)
	}
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return json.RawMessage(`"` + b.String() + `"`)
}

// A leaf is a value without parts, and its place.
type leaf struct {
	pointer string
	raw     json.RawMessage
}

func leavesOf(raw json.RawMessage, pointer string) (all []leaf) {
	if members, err := jsonraw.Object(raw); err == nil && len(members) > 0 {
		for _, m := range members {
			all = append(all, leavesOf(m.Value, jsonraw.Pointer(pointer, m.Name))...)
		}
		return all
	}
	if items, err := jsonraw.Array(raw); err == nil && len(items) > 0 {
		for i, item := range items {
			all = append(all, leavesOf(item, fmt.Sprintf("%s/%d", pointer, i))...)
		}
		return all
	}
	return []leaf{{pointer, raw}}
}

// changed is raw with another value at a pointer.
func changed(raw json.RawMessage, pointer, value string) json.RawMessage {
	n, err := jsonvalue.Parse(raw)
	if err != nil {
		panic(err)
	}
	at := n.Find(pointer)
	return json.RawMessage(string(raw[:at.At]) + value + string(raw[at.At+len(at.Raw):]))
}

// reordered is raw with the items of its lists in another order.
func (m maker) reordered(raw json.RawMessage) json.RawMessage {
	if members, err := jsonraw.Object(raw); err == nil {
		for _, member := range members {
			raw = jsonraw.With(raw, member.Name, m.reordered(member.Value))
		}
		return raw
	}
	if items, err := jsonraw.Array(raw); err == nil {
		m.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return jsonraw.List(items)
	}
	return raw
}
