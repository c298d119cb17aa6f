package jsonraw

import (
	"encoding/json"
	"slices"
	"strconv"
)

// A Builder builds a JSON object member by member. It keeps the bytes of values unchanged.
type Builder struct{ b []byte }

// Raw adds a member with an unchanged value. It adds nothing if value is nil.
func (o *Builder) Raw(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	o.writeName(name)
	o.b = append(o.b, value...)
}

// Grow reserves n bytes.
func (o *Builder) Grow(n int) { o.b = slices.Grow(o.b, n) }

// writeName appends the name of a member and the colon.
func (o *Builder) writeName(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(appendQuote(o.b, name), ':')
}

// Text adds a member with a string.
func (o *Builder) Text(name, value string) {
	o.writeName(name)
	o.b = appendQuote(o.b, value)
}

// Number adds a member with a number.
func (o *Builder) Number(name string, value int64) {
	o.writeName(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// Bool adds a member with true or false.
func (o *Builder) Bool(name string, value bool) { o.Raw(name, strconv.AppendBool(nil, value)) }

// ListIfAny adds a member with an array, unless it is empty.
func (o *Builder) ListIfAny(name string, items []json.RawMessage) {
	if len(items) > 0 {
		o.Raw(name, List(items))
	}
}

// TextIfAny adds a member with a string, unless it is empty.
func (o *Builder) TextIfAny(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// Bytes closes the object and returns it. No member may be added afterwards.
func (o *Builder) Bytes() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}
