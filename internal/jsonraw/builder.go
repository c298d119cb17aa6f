package jsonraw

import (
	"encoding/json"
	"strconv"
)

// Builder composes a JSON object member by member, so that bytes from the wire
// can stand in it unchanged.
type Builder struct{ b []byte }

// Raw adds a member with a value as it stands; nil adds none.
func (o *Builder) Raw(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	if len(o.b) > 0 {
		o.b = append(o.b, ',')
	}
	o.b = append(appendQuote(o.b, name), ':')
	o.b = append(o.b, value...)
}

// Text adds a member with a string.
func (o *Builder) Text(name, value string) { o.Raw(name, Quote(value)) }

// Number adds a member with a number.
func (o *Builder) Number(name string, value int64) { o.Raw(name, strconv.AppendInt(nil, value, 10)) }

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

// Bytes gives the object.
func (o *Builder) Bytes() []byte { return append(append([]byte{'{'}, o.b...), '}') }
