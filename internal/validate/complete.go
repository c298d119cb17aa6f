package validate

import (
	"bytes"
	"encoding/json"
	"strconv"

	"mcpc/internal/wire"
)

// A Default is what the schema has for a required member that is not there. Where
// is the member's JSON pointer.
type Default struct {
	Where string
	Value json.RawMessage
}

// Complete gives the value the required members that it lacks and that the schema
// has a default for, and says which they are. All else stays as it is. A default
// that does not fit the member's own schema is none.
func (s *Schema) Complete(value json.RawMessage) (json.RawMessage, []Default) {
	c := completer{schema: s}
	return c.complete(value, "", s.Expected()), c.added
}

type completer struct {
	schema *Schema
	added  []Default
}

func (c *completer) complete(value json.RawMessage, at string, e Expected) json.RawMessage {
	if members, err := wire.Object(value); err == nil {
		for _, m := range members {
			if inner, known := c.schema.Member(e, m.Name); known {
				if whole := c.complete(m.Value, at+pointer(m.Name), inner); !bytes.Equal(whole, m.Value) {
					value = wire.With(value, m.Name, whole)
				}
			}
		}
		return c.required(value, at, e)
	}
	items, _ := wire.Array(value)
	list, changed := []byte{'['}, false
	for i, item := range items {
		whole := item
		if inner, known := c.schema.Item(e, i); known {
			whole = c.complete(item, at+pointer(strconv.Itoa(i)), inner)
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, whole...)
		changed = changed || !bytes.Equal(whole, item)
	}
	if changed {
		return append(list, ']')
	}
	return value
}

// required adds what an object lacks.
func (c *completer) required(object json.RawMessage, at string, e Expected) json.RawMessage {
	for _, s := range e.every {
		for _, name := range s.Required {
			if wire.First(object, name) != nil {
				continue
			}
			inner, _ := c.schema.Member(e, name)
			if value := c.defaultOf(inner); value != nil {
				object = wire.With(object, name, value)
				c.added = append(c.added, Default{at + pointer(name), value})
			}
		}
	}
	return object
}

// defaultOf is the default that fits, or nil.
func (c *completer) defaultOf(e Expected) json.RawMessage {
	for _, s := range e.every {
		if s.Default == nil {
			continue
		}
		v := *s.Default
		err := c.schema.budget.run(s, v)
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err != nil || enc.Encode(v) != nil {
			return nil
		}
		return bytes.TrimSpace(b.Bytes())
	}
	return nil
}
