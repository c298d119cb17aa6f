package validate

import (
	"bytes"
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
)

// A Default is the default that was added for a missing required member. Where is the member's JSON
// pointer.
type Default struct {
	Where string
	Value json.RawMessage
}

// Complete adds missing required members that have a valid default to a value, and returns the
// defaults it added. It changes nothing else.
func (s *Schema) Complete(value json.RawMessage) (json.RawMessage, []Default) {
	c := completer{schema: s}
	return c.complete(value, "", s.Expected()), c.added
}

// A completer adds defaults to a value and records them in added.
type completer struct {
	schema *Schema
	added  []Default
}

func (c *completer) complete(value json.RawMessage, pointer string, e Expected) json.RawMessage {
	if members, err := jsonraw.Object(value); err == nil {
		for _, m := range members {
			inner, isDescribed := c.schema.Member(e, m.Name)
			if !isDescribed {
				continue
			}
			completed := c.complete(m.Value, jsonraw.Pointer(pointer, m.Name), inner)
			if !bytes.Equal(completed, m.Value) {
				value = jsonraw.With(value, m.Name, completed)
			}
		}
		return c.addRequired(value, pointer, e)
	}
	items, _ := jsonraw.Array(value)
	isChanged := false
	for i, item := range items {
		if inner, isDescribed := c.schema.Item(e, i); isDescribed {
			items[i] = c.complete(item, pointer+"/"+strconv.Itoa(i), inner)
		}
		isChanged = isChanged || !bytes.Equal(items[i], item)
	}
	if isChanged {
		return jsonraw.List(items)
	}
	return value
}

// addRequired adds the missing required members of an object.
func (c *completer) addRequired(object json.RawMessage, pointer string, e Expected) json.RawMessage {
	for _, s := range e.schemas {
		for _, name := range s.Required {
			if jsonraw.First(object, name) != nil {
				continue
			}
			inner, _ := c.schema.Member(e, name)
			if value := c.defaultOf(inner); value != nil {
				object = jsonraw.With(object, name, value)
				c.added = append(c.added, Default{jsonraw.Pointer(pointer, name), value})
			}
		}
	}
	return object
}

// defaultOf returns the first default, or nil if no schema has a default or it is invalid.
func (c *completer) defaultOf(e Expected) json.RawMessage {
	for _, s := range e.schemas {
		if s.Default == nil {
			continue
		}
		v := *s.Default
		raw, err := jsonraw.Marshal(v)
		if err != nil || c.schema.budget.validate(s, v) != nil {
			return nil
		}
		return raw
	}
	return nil
}
