package tui

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// maxTreeLines limits the lines of a drawn value, and maxTreeDepth its depth.
const (
	maxTreeLines = 5000
	maxTreeDepth = 200
)

// bodyLines returns a body as a foldable tree of JSON, or as text if the user wants that or the
// body is no complete JSON.
func bodyLines(d *detail, b *view.Body, w int) []tabLine {
	if b == nil {
		return nil
	}
	if d.raw || b.Hex || b.Cut || jsonraw.Valid([]byte(b.Text)) != nil {
		return rawLines(b, w)
	}
	t := tree{folds: d.folds, width: w}
	const rootPointer, noName, depth = "", "", 0
	t.addValue(rootPointer, noName, json.RawMessage(b.Text), depth)
	return t.lines
}

// schemaLines returns a schema, folded until the user opens it.
func schemaLines(d *detail, name string, schema json.RawMessage, w int) []tabLine {
	if len(schema) == 0 || jsonraw.Valid(schema) != nil {
		return nil
	}
	pointer := "#" + name // differs from all pointers into the message of the tab
	if _, known := d.folds[pointer]; !known {
		d.folds[pointer] = true
	}
	t := tree{folds: d.folds, width: w}
	t.addValue(pointer, name, schema, 0)
	return append([]tabLine{{}}, t.lines...)
}

// A tree collects the lines of a JSON value.
type tree struct {
	folds map[string]bool // by pointer, see detail
	width int             // in columns
	lines []tabLine
}

// addValue adds the lines of a value at a pointer. name is its name in the object or its index in
// the array around it, or "" at the root. It stops at maxTreeLines lines and below maxTreeDepth.
func (t *tree) addValue(pointer, name string, raw json.RawMessage, depth int) {
	if len(t.lines) > maxTreeLines || depth > maxTreeDepth {
		return
	}
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	head := cells.Line{cells.Blank(min(depth*2, t.width/2))}
	if name != "" {
		head = append(head, cells.Text(cells.Accent, name), cells.Text(cells.Faint, ": "))
	}
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '{':
		members, _ := jsonraw.Object(raw)
		t.addBranch(pointer, head, raw, len(members), "{", "}", func() {
			for _, m := range members {
				t.addValue(jsonraw.Pointer(pointer, m.Name), m.Name, m.Value, depth+1)
			}
		})
	case '[':
		items, _ := jsonraw.Array(raw)
		t.addBranch(pointer, head, raw, len(items), "[", "]", func() {
			for i, item := range items {
				t.addValue(jsonraw.Pointer(pointer, strconv.Itoa(i)), strconv.Itoa(i), item, depth+1)
			}
		})
	case '"':
		t.addText(pointer, head, raw)
	default:
		t.addLine(pointer, append(head, cells.Text(cells.Warn, string(raw))), raw, !canFold)
	}
}

// canFold is the parameter of addLine for objects and arrays.
const canFold = true

// addLine adds a line that shows the value raw or a part of it. isFoldable is canFold if the user
// can fold the value.
func (t *tree) addLine(pointer string, line cells.Line, raw json.RawMessage, isFoldable bool) {
	t.lines = append(t.lines, tabLine{line: line, pointer: pointer, value: string(raw), fold: isFoldable})
}

// addBranch adds an object or array of n members between the brackets open and shut: one line if it
// is empty or folded, or else the lines that inside adds.
func (t *tree) addBranch(
	pointer string, head cells.Line, raw json.RawMessage, n int, open, shut string, inside func(),
) {
	if n == 0 {
		t.addLine(pointer, append(head, cells.Text(cells.Faint, open+shut)), raw, !canFold)
	} else if t.folds[pointer] {
		t.addLine(pointer, append(head, cells.Text(cells.Faint, "▸ "+open+" "+english.Thousands(n)+" "+shut)), raw, canFold)
	} else {
		t.addLine(pointer, append(head, cells.Text(cells.Faint, "▾ "+open)), raw, canFold)
		inside()
	}
}

// addText adds a string on the line of its name, or as several lines if it is long or has line
// ends. Of long base64 it adds only the size.
func (t *tree) addText(pointer string, head cells.Line, raw json.RawMessage) {
	text, _ := jsonraw.Text(raw)
	if !strings.Contains(text, "\n") && head.Width()+term.Width(text)+2 <= t.width {
		t.addLine(pointer, append(head, cells.Text(cells.Plain, string(term.EscapeHidden(raw)))), raw, !canFold)
		return
	}
	if media := base64Size(text); media > 0 {
		t.addLine(pointer, append(head, cells.Text(cells.Faint, "base64, "+term.Bytes(int64(media)))), raw, !canFold)
		return
	}
	indent := min(head.Width(), t.width/3)
	for i, part := range cells.Wrap(cells.Plain, text, t.width-indent) {
		line := cells.Line{cells.Blank(indent)}
		if i == 0 { // the text begins after its name, or below a name that is too wide
			line = head
			if head.Width() > indent {
				t.addLine(pointer, head, raw, !canFold)
				line = cells.Line{cells.Blank(indent)}
			}
		}
		t.addLine(pointer, append(line[:len(line):len(line)], part...), raw, !canFold)
	}
}

const (
	// minBase64 is the minimum length of a text that can be shown as base64: a shorter text may be
	// a word.
	minBase64 = 400
	// base64Characters are the characters of both alphabets of base64 and the padding.
	base64Characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_"
)

// base64Size returns the number of bytes that a long base64 text encodes, or 0 if text is something
// else.
func base64Size(text string) int {
	if len(text) < minBase64 || strings.Trim(text, base64Characters) != "" {
		return 0
	}
	return len(strings.TrimRight(text, "=")) * 3 / 4
}
