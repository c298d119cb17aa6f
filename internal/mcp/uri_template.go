package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// A URITemplate is a URI template (RFC 6570, level 4): what a server lists as uriTemplate.
// yosida95/uritemplate is not used: it encodes code points in place of UTF-8, counts a prefix in
// bytes, and refuses names with a hyphen and literals with a space, which servers have.
type URITemplate struct{ parts []templatePart }

// A templatePart is a literal, or an expression: an operator with variables.
type templatePart struct {
	literal  string
	operator operator
	vars     []templateVar
}

type templateVar struct {
	name string
	// prefix is the number of characters of the value to use; 0 means all.
	prefix int
	// isExploded is set by the modifier *.
	isExploded bool
}

// An operator says how an expression writes its values (RFC 6570, appendix A).
type operator struct {
	op byte
	// first is written before the first value, sep between values.
	first, sep string
	// writesNames is set if the operator writes names before values.
	writesNames bool
	// empty is written after the name of an empty value.
	empty string
	// keepsReserved is set if reserved characters are not encoded.
	keepsReserved bool
}

// operators are all operators; the last one is for expressions without an operator.
var operators = []operator{
	{op: '+', sep: ",", keepsReserved: true},
	{op: '#', first: "#", sep: ",", keepsReserved: true},
	{op: '.', first: ".", sep: "."},
	{op: '/', first: "/", sep: "/"},
	{op: ';', first: ";", sep: ";", writesNames: true},
	{op: '?', first: "?", sep: "&", writesNames: true, empty: "="},
	{op: '&', first: "&", sep: "&", writesNames: true, empty: "="},
	{sep: ","},
}

// ParseURITemplate parses a template. The error says where the template breaks the grammar.
func ParseURITemplate(text string) (URITemplate, error) {
	var t URITemplate
	for rest := text; rest != ""; {
		literal, after, hasExpression := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return t, fmt.Errorf("a } without a { before it in %q", text)
		}
		if literal != "" {
			t.parts = append(t.parts, templatePart{literal: literal})
		}
		if !hasExpression {
			break
		}
		inner, next, isClosed := strings.Cut(after, "}")
		if !isClosed {
			return t, fmt.Errorf("a { without a } after it in %q", text)
		}
		part, err := parseExpression(inner)
		if err != nil {
			return t, fmt.Errorf("{%s}: %w", inner, err)
		}
		t.parts = append(t.parts, part)
		rest = next
	}
	return t, nil
}

// parseExpression parses the text between the braces of an expression.
func parseExpression(inner string) (templatePart, error) {
	part := templatePart{operator: operators[len(operators)-1]}
	for _, o := range operators {
		if o.op != 0 && inner != "" && inner[0] == o.op {
			part.operator = o
			inner = inner[1:]
			break
		}
	}
	for spec := range strings.SplitSeq(inner, ",") {
		v, err := parseVariable(spec)
		if err != nil {
			return part, err
		}
		part.vars = append(part.vars, v)
	}
	return part, nil
}

// parseVariable parses name, name* or name:3. It accepts a hyphen in a name: the grammar does not,
// but many servers use it.
func parseVariable(spec string) (templateVar, error) {
	var v templateVar
	v.name, v.isExploded = strings.CutSuffix(spec, "*")
	if name, digits, cut := strings.Cut(v.name, ":"); cut {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > 9999 || v.isExploded {
			return v, fmt.Errorf("%q is not a prefix length", digits)
		}
		v.name = name
		v.prefix = n
	}
	for i := range len(v.name) {
		if c := v.name[i]; !isAlphanumeric(c) && !strings.ContainsRune("_.%-", rune(c)) {
			return v, fmt.Errorf("%q is not a variable name", v.name)
		}
	}
	if v.name == "" {
		return v, fmt.Errorf("%q is not a variable", spec)
	}
	return v, nil
}

// Variables returns the distinct names in the template, in order.
func (t URITemplate) Variables() []string {
	var names []string
	for _, p := range t.parts {
		for _, v := range p.vars {
			if !slices.Contains(names, v.name) {
				names = append(names, v.name)
			}
		}
	}
	return names
}

// Required returns the variables that a URI needs: all but those of a query or a fragment.
func (t URITemplate) Required() []string {
	var names []string
	for _, p := range t.parts {
		if strings.ContainsRune("?&#", rune(p.operator.op)) {
			continue
		}
		for _, v := range p.vars {
			if !slices.Contains(names, v.name) {
				names = append(names, v.name)
			}
		}
	}
	return names
}

// MayGive reports whether a URI has the literals of the template in order, so that some values may
// give this URI.
func (t URITemplate) MayGive(uri string) bool {
	if len(t.parts) == 1 && t.parts[0].literal != "" {
		return uri == t.parts[0].literal
	}
	for i, p := range t.parts {
		isLast := i == len(t.parts)-1
		if p.literal == "" { // an expression
			if isLast {
				return true
			}
			continue
		}
		offset := strings.Index(uri, p.literal)
		isMisplaced := i == 0 && offset != 0 // the template begins with this literal
		if offset < 0 || isMisplaced {
			return false
		}
		if isLast {
			return strings.HasSuffix(uri, p.literal)
		}
		uri = uri[offset+len(p.literal):]
	}
	return uri == ""
}

// Expand returns the template with the values. A value is a string, a number or a boolean, an array
// of them, or an object of them; null and empty arrays and objects count as missing.
func (t URITemplate) Expand(values jsonraw.Members) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.vars == nil {
			const keepReserved = true // as for +: RFC 6570, section 3.1
			b.WriteString(percentEncode(p.literal, keepReserved))
			continue
		}
		separator := p.operator.first // before the next value
		for _, v := range p.vars {
			text, err := p.operator.expandVariable(v, values.Value(v.name))
			if err != nil {
				return "", fmt.Errorf("%s: %w", v.name, err)
			}
			if text != nil {
				b.WriteString(separator + *text)
				separator = p.operator.sep
			}
		}
	}
	return b.String(), nil
}

// expandVariable returns the text of one variable, nil if it has no value.
func (e operator) expandVariable(v templateVar, raw json.RawMessage) (*string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '[' && raw[0] != '{' {
		text := scalarText(raw)
		if r := []rune(text); v.prefix > 0 {
			text = string(r[:min(v.prefix, len(r))])
		}
		text = e.withName(v.name, percentEncode(text, e.keepsReserved))
		return &text, nil
	}
	if v.prefix > 0 {
		return nil, fmt.Errorf("a list has no first %d characters", v.prefix)
	}
	items, err := compositeItems(raw)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	text := e.formatComposite(v, items)
	return &text, nil
}

// withName returns a value with its name before it, if the operator writes names. Both are already
// encoded.
func (e operator) withName(name, value string) string {
	if !e.writesNames {
		return value
	}
	if value == "" {
		return name + e.empty
	}
	return name + "=" + value
}

// formatComposite returns the items of a list or an object: with the modifier * as separate values,
// without it as one value with commas.
func (e operator) formatComposite(v templateVar, items []compositeItem) string {
	var parts []string
	for _, item := range items {
		value := percentEncode(item.value, e.keepsReserved)
		key := percentEncode(item.key, e.keepsReserved)
		switch {
		case v.isExploded && item.hasKey && e.writesNames:
			parts = append(parts, e.withName(key, value))
		case v.isExploded && item.hasKey:
			parts = append(parts, key+"="+value)
		case v.isExploded:
			parts = append(parts, e.withName(v.name, value))
		case item.hasKey:
			parts = append(parts, key, value)
		default:
			parts = append(parts, value)
		}
	}
	if v.isExploded {
		return strings.Join(parts, e.sep)
	}
	return e.withName(v.name, strings.Join(parts, ","))
}

// A compositeItem is one item of an array, or one member of an object.
type compositeItem struct {
	key, value string
	hasKey     bool
}

// compositeItems returns the items of an array or the members of an object, without nulls. It fails
// if an item is an array or an object.
func compositeItems(raw json.RawMessage) (items []compositeItem, err error) {
	add := func(item compositeItem, value json.RawMessage) {
		if len(value) > 0 && (value[0] == '[' || value[0] == '{') {
			err = fmt.Errorf("a list in a list cannot be expanded in a URI: %s", jsonraw.Excerpt(value, 40))
		} else if string(value) != "null" {
			item.value = scalarText(value)
			items = append(items, item)
		}
	}
	if raw[0] == '[' {
		list, _ := jsonraw.Array(raw)
		for _, value := range list {
			add(compositeItem{}, value)
		}
		return items, err
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		add(compositeItem{key: m.Name, hasKey: true}, m.Value)
	}
	return items, err
}

// scalarText returns the text of a string, or the JSON of a number or boolean.
func scalarText(raw json.RawMessage) string {
	if text, ok := jsonraw.Text(raw); ok {
		return text
	}
	return string(raw)
}

// percentEncode encodes characters that a URI must not contain as %XX. With keepReserved, it leaves
// reserved characters and encoded ones unchanged.
func percentEncode(text string, keepReserved bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		isUnreserved := isAlphanumeric(c) || strings.IndexByte("-._~", c) >= 0
		isReserved := strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0
		isEncoded := c == '%' && i+2 < len(text) && isHexDigit(text[i+1]) && isHexDigit(text[i+2])
		if isUnreserved || keepReserved && (isReserved || isEncoded) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func isAlphanumeric(c byte) bool {
	return c < utf8.RuneSelf && (c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z')
}

func isHexDigit(c byte) bool { return unicode.Is(unicode.ASCII_Hex_Digit, rune(c)) }
