package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/suggest"
)

// A Level says when two requests are the same one.
type Level int

// The levels. Strict compares the method and the params but for what volatile.txt and the
// rules let pass; Exact the method and the bytes of the params; Loose the method and the
// name, and takes the nearest params.
const (
	Strict Level = iota
	Exact
	Loose
)

var levelNames = []string{"strict", "exact", "loose"}

func (l Level) String() string { return levelNames[l] }

// ParseLevel reads what Level.String writes.
func ParseLevel(text string) (Level, error) {
	if at := slices.Index(levelNames, text); at >= 0 {
		return Level(at), nil
	}
	unknown := fmt.Sprintf("unknown level %q; the levels are exact, strict and loose", text)
	return 0, errors.New(suggest.OrMeant(unknown, text, levelNames))
}

// A Request is what one is told by: its method and its params, which are nil where there
// are none. Revision is that of the connection, "" where it is not known.
type Request struct {
	Revision, Method string
	Params           json.RawMessage
}

// An identity is what an Index knows of a request.
type identity struct {
	// key is the same for requests that may be the same, handles for those whose handles are,
	// and plain for those that are the same without the rules of a file.
	key, handles, plain uint64
	name                string
	// params is nil where they cannot be read.
	params *jsonvalue.Node
	sketch sketch
	// ruled is set where a matcher decides on a value, so that one key is not enough.
	ruled bool
}

func (x *Index) identify(r Request) identity {
	var id identity
	n, err := jsonvalue.Parse(r.Params)
	h := jsonvalue.NewHash()
	jsonvalue.WriteName(&h, r.Method)
	if err != nil || x.options.Level == Exact {
		h.Write(r.Params)
	}
	if err == nil {
		id.params, id.name = n, NameOf(r.Method, r.Params)
		on := x.compiled(r.Method, id.name, r.Revision, r.Revision)
		m := mask{handles: jsonvalue.NewHash()}
		if key := m.hash(n, on); x.options.Level != Exact {
			jsonvalue.WriteUint(&h, key)
		}
		id.handles = m.handles.Sum64()
		id.ruled = m.ruled
		if id.ruled {
			id.plain = masked(n, compile(nil, Params, r.Method, id.name, r.Revision, r.Revision))
		}
		id.sketch = sketchOf(n, on)
	}
	id.key = h.Sum64()
	return id
}

// sketchSize is how many hashes of a sketch are kept.
const sketchSize = 16

// A sketch has the smallest hashes of a request's values, each with its path, where an index counts as []. They are the
// same in each run, and so is what is found by them.
type sketch []uint32

// sketchOf returns the sketch of a value, without the values that are let pass.
func sketchOf(n *jsonvalue.Node, on branches) sketch {
	var all sketch
	var add func(n *jsonvalue.Node, on branches, path string)
	add = func(n *jsonvalue.Node, on branches, path string) {
		if rule := on.rule(); rule != nil && rule.Matcher.leafwise() {
			return
		}
		for i, kid := range n.Kids {
			if n.Kind == jsonvalue.Object {
				add(kid, on.member(kid.Name), path+"\xff"+kid.Name) // 0xff is in no text
			} else {
				add(kid, on.item(i, i), path+"\xff[]")
			}
		}
		if len(n.Kids) == 0 && !n.Hidden {
			all = append(all, crc32.ChecksumIEEE([]byte(path+"\xff"+token(n))))
		}
	}
	add(n, on, "")
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.Clone(all[:min(len(all), sketchSize)])
}

// mostAlike is the likeness of requests whose values are the same.
const mostAlike = 1000

// likeness estimates the share of the values that two requests have in common.
func (s sketch) likeness(other sketch) int {
	shared := 0
	for i, j := 0, 0; i < len(s) && j < len(other); {
		switch {
		case s[i] < other[j]:
			i++
		case s[i] > other[j]:
			j++
		default:
			i++
			j++
			shared++
		}
	}
	return mostAlike * shared / max(len(s)+len(other)-shared, 1)
}
