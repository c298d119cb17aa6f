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
	root, err := node(raw)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return []byte(shown(b.String())), nil
}

// node returns the YAML node of a JSON value.
func node(raw json.RawMessage) (*yaml.Node, error) {
	if bad := jsonraw.Valid(raw); bad != nil {
		return nil, fmt.Errorf("writing YAML: %w", bad)
	}
	if members, err := jsonraw.Object(raw); err == nil {
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, m := range members {
			value, err := node(m.Value)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, text(m.Name), value)
		}
		return flat(n), nil
	}
	if items, err := jsonraw.Array(raw); err == nil {
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range items {
			value, err := node(item)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, value)
		}
		return flat(n), nil
	}
	if s, ok := jsonraw.Text(raw); ok {
		return text(s), nil
	}
	// Numbers, booleans and null keep their characters.
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(string(raw))}, nil
}

// flat sets the style of an empty mapping or list to {} or [].
func flat(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// text returns the node of a string. The encoder quotes a string that would be read as a different
// type.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsFunc(s, hides) {
		n.Style = yaml.DoubleQuotedStyle
	} else if strings.Contains(s, "\n") && !strings.ContainsAny(s, "\r\t\x00\x1b") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// hides reports whether a character is invisible or changes the direction of text.
func hides(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }

// shown escapes invisible characters. They occur only within double quotes, because text quotes
// their strings.
func shown(out string) string {
	if !strings.ContainsFunc(out, hides) {
		return out
	}
	var b strings.Builder
	for _, r := range out {
		switch {
		case !hides(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
