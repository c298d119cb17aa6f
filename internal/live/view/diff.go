package view

import (
	"context"
	"encoding/json"
	"strconv"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// maxChanges limits the differences listed between two values.
const maxChanges = 1000

// Diff compares the params and the responses of two exchanges.
func (v *Views) Diff(_ context.Context, a, b string) (request, response []Change, err error) {
	var asked, answered [2]json.RawMessage
	for i, key := range []string{a, b} {
		err = v.withRow(key, func(r *rows.Row) (err error) {
			asked[i], answered[i], err = comparedParts(r)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	request, err = changesIn(asked[0], asked[1])
	if err == nil {
		response, err = changesIn(answered[0], answered[1])
	}
	return request, response, err
}

// comparedParts returns the params of an exchange without its progress token, and its result or
// error. The response is nil if it was not recorded.
func comparedParts(r *rows.Row) (params, response json.RawMessage, err error) {
	x, err := readExchange(r, maxBytes)
	if err != nil {
		return nil, nil, err
	}
	params = wire.ParseMessage(x.Request.Raw).Params
	if meta := jsonraw.First(params, "_meta"); meta != nil {
		params = jsonraw.With(params, "_meta", jsonraw.Without(meta, "progressToken"))
	}
	if x.Response.Raw == nil {
		return params, nil, nil
	}
	if m := wire.ParseMessage(x.Response.Raw); m.Error != nil {
		// As an object, so that an error differs from a result with the same members.
		var b jsonraw.Builder
		b.Raw("error", m.Error.Raw)
		response = b.Bytes()
	} else {
		response = m.Result
	}
	return params, response, nil
}

// changesIn returns the differences of two JSON values; nil means that a value is absent.
func changesIn(a, b json.RawMessage) (changes []Change, err error) {
	changes = []Change{}
	if a == nil && b == nil {
		return changes, nil
	}
	if a == nil || b == nil {
		return append(changes, Change{Was: a, Is: b}), nil
	}
	was, err := jsonvalue.Parse(a)
	if err != nil {
		return changes, err
	}
	is, err := jsonvalue.Parse(b)
	if err == nil {
		appendChanges("", was, is, &changes)
	}
	return changes, err
}

// appendChanges appends the differences of two values at a JSON pointer to changes.
func appendChanges(at string, was, is *jsonvalue.Node, changes *[]Change) {
	switch {
	case len(*changes) >= maxChanges || was != nil && is != nil && was.Is(is):
	case was == nil:
		*changes = append(*changes, Change{Pointer: at, Is: is.Raw})
	case is == nil:
		*changes = append(*changes, Change{Pointer: at, Was: was.Raw})
	case was.Kind == jsonvalue.Object && is.Kind == jsonvalue.Object:
		// Walk through both lists of members at once.
		a := was.Kids
		b := is.Kids // sorted
		for len(a)+len(b) > 0 {
			switch {
			case len(b) == 0 || len(a) > 0 && jsonvalue.CompareNames(a[0].Name, b[0].Name) < 0:
				appendChanges(jsonraw.Pointer(at, a[0].Name), a[0], nil, changes)
				a = a[1:]
			case len(a) == 0 || jsonvalue.CompareNames(a[0].Name, b[0].Name) > 0:
				appendChanges(jsonraw.Pointer(at, b[0].Name), nil, b[0], changes)
				b = b[1:]
			default:
				appendChanges(jsonraw.Pointer(at, a[0].Name), a[0], b[0], changes)
				a = a[1:]
				b = b[1:]
			}
		}
	case was.Kind == jsonvalue.Array && is.Kind == jsonvalue.Array:
		for i := range max(len(was.Kids), len(is.Kids)) {
			appendChanges(jsonraw.Pointer(at, strconv.Itoa(i)), itemAt(was, i), itemAt(is, i), changes)
		}
	default:
		*changes = append(*changes, Change{Pointer: at, Was: was.Raw, Is: is.Raw})
	}
}

func itemAt(n *jsonvalue.Node, i int) *jsonvalue.Node {
	if i >= len(n.Kids) {
		return nil
	}
	return n.Kids[i]
}
