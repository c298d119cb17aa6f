package yaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"mcpc/internal/jsonraw"
)

// Write returns JSON as YAML in block style, with the members in the order of raw. Parse returns the
// same JSON again, except for white space.
func Write(raw json.RawMessage) ([]byte, error) {
	root, err := newNode(raw)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return []byte(escapeInvisible(b.String())), nil
}

// newNode returns the YAML node of a JSON value.
func newNode(raw json.RawMessage) (*yaml.Node, error) {
	if bad := jsonraw.Valid(raw); bad != nil {
		return nil, fmt.Errorf("writing YAML: %w", bad)
	}
	if members, err := jsonraw.Object(raw); err == nil {
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, m := range members {
			value, err := newNode(m.Value)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, textNode(m.Name), value)
		}
		return flowIfEmpty(n), nil
	}
	if items, err := jsonraw.Array(raw); err == nil {
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range items {
			value, err := newNode(item)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, value)
		}
		return flowIfEmpty(n), nil
	}
	if s, ok := jsonraw.Text(raw); ok {
		return textNode(s), nil
	}
	// Numbers, booleans and null keep their characters.
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(string(raw))}, nil
}

// flowIfEmpty sets the style of an empty mapping or list to {} or [].
func flowIfEmpty(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// textNode returns the node of a string. The encoder quotes a string that would be read as a
// different type.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsFunc(s, isInvisible) {
		n.Style = yaml.DoubleQuotedStyle
	} else if strings.Contains(s, "\n") && !strings.ContainsAny(s, "\r\t\x00\x1b") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// isInvisible reports whether a character is invisible or changes the direction of text.
func isInvisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }

// escapeInvisible escapes invisible characters. They occur only within double quotes, because
// textNode quotes their strings.
func escapeInvisible(out string) string {
	if !strings.ContainsFunc(out, isInvisible) {
		return out
	}
	var b strings.Builder
	for _, r := range out {
		switch {
		case !isInvisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
