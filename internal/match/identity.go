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

// A Level is the strictness of a comparison of two requests.
type Level int

// The levels. Strict compares the method and the params, and accepts the differences that
// volatile.txt and the rules allow. Exact compares the method and the bytes of the params. Loose
// compares the method and the name, and prefers the most similar params.
const (
	Strict Level = iota
	Exact
	Loose
)

// levelNames are the names of the levels.
var levelNames = []string{"strict", "exact", "loose"}

// String returns the name of the level.
func (l Level) String() string { return levelNames[l] }

// ParseLevel returns the level with a name.
func ParseLevel(text string) (Level, error) {
	if i := slices.Index(levelNames, text); i >= 0 {
		return Level(i), nil
	}
	unknown := fmt.Sprintf("unknown level %q; the levels are exact, strict and loose", text)
	return 0, errors.New(suggest.OrMeant(unknown, text, levelNames))
}

// A Request identifies a request by its method and its params, which may be nil. Revision is the
// protocol revision of the connection, "" if unknown.
type Request struct {
	Revision, Method string
	Params           json.RawMessage
}

// An identity holds the hashes that an Index finds a request by.
type identity struct {
	// key is equal for requests that may be equal, handles for requests with equal handles, and
	// plain for requests that are equal without the rules of a file.
	key, handles, plain uint64
	name                string
	// params is nil if the params are not valid JSON.
	params *jsonvalue.Node
	sketch sketch
	// hasMatcher is set if a matcher decides on a value, so that equal keys are not sufficient.
	hasMatcher bool
}

// identify returns the identity of a request.
func (x *Index) identify(r Request) identity {
	var id identity
	n, err := jsonvalue.Parse(r.Params)
	h := jsonvalue.NewHash()
	jsonvalue.WriteName(&h, r.Method)
	if err != nil || x.options.Level == Exact { // compared by their bytes
		h.Write(r.Params)
	}
	if err == nil {
		id.params = n
		id.name = NameOf(r.Method, r.Params)
		scope := x.compiledRules(r.Method, id.name, r.Revision, r.Revision)
		m := mask{handles: jsonvalue.NewHash()}
		paramsHash := m.hash(n, scope) // also collects the handles
		if x.options.Level != Exact {
			jsonvalue.WriteUint(&h, paramsHash)
		}
		id.handles = m.handles.Sum64()
		id.hasMatcher = m.hasMatcher
		if id.hasMatcher {
			id.plain = maskedHash(n, compile(nil, Params, r.Method, id.name, r.Revision, r.Revision))
		}
		id.sketch = sketchOf(n, scope)
	}
	id.key = h.Sum64()
	return id
}

// sketchSize is the maximum number of hashes in a sketch.
const sketchSize = 16

// A sketch holds the smallest hashes of a request's values with their paths, where an index counts
// as []. The hashes are the same in every run, so that search results are deterministic.
type sketch []uint32

// sketchOf returns the sketch of a value, without the values that the branches ignore.
func sketchOf(n *jsonvalue.Node, scope branches) sketch {
	var all sketch
	var add func(n *jsonvalue.Node, scope branches, path string)
	add = func(n *jsonvalue.Node, scope branches, path string) {
		if rule := scope.rule(); rule != nil && rule.Matcher.decidesWhole() {
			return
		}
		for i, kid := range n.Kids {
			if n.Kind == jsonvalue.Object {
				add(kid, scope.member(kid.Name), path+"\xff"+kid.Name) // no text contains 0xff
			} else {
				add(kid, scope.item(i, i), path+"\xff[]")
			}
		}
		if len(n.Kids) == 0 && !n.Hidden { // the other side may have the secret itself, with another hash
			all = append(all, crc32.ChecksumIEEE([]byte(path+"\xff"+token(n))))
		}
	}
	add(n, scope, "")
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.Clone(all[:min(len(all), sketchSize)])
}

// maxLikeness is the likeness of requests with equal values.
const maxLikeness = 1000

// likeness estimates the share of values that two requests have in common, from 0 to maxLikeness.
func (s sketch) likeness(other sketch) int {
	shared := 0 // hashes in both sketches, which are sorted
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
	return maxLikeness * shared / max(len(s)+len(other)-shared, 1)
}
