// Package jq runs jq expressions on JSON and keeps the bytes of its objects.
package jq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
)

// A Program is a compiled jq expression (in gojq's dialect). Numbers keep their digits. An object
// of the input keeps the order and the spelling of its members in every value. The members of an
// object that the expression makes are sorted by name. An expression cannot read the environment, a
// file or another input.
type Program struct {
	code   *gojq.Code
	values []any
	// left is the expression on the left of a comparison; nil if the program is not a comparison.
	left *gojq.Code
}

// A Variable is a value that an expression can use as $Name.
type Variable struct {
	Name  string
	Value json.RawMessage
}

// Compile compiles the jq expression expr, which may use variables. Its error has the position in
// expr.
func Compile(expr string, variables ...Variable) (*Program, error) {
	query, err := gojq.Parse(expr)
	if err != nil {
		return nil, parseError(expr, err)
	}
	p := &Program{}
	var names []string
	for _, v := range variables {
		value, err := decodeInput(v.Value)
		if err != nil {
			return nil, err
		}
		names = append(names, "$"+v.Name)
		p.values = append(p.values, value)
	}
	p.code, err = gojq.Compile(query, gojq.WithVariables(names))
	if err != nil {
		return nil, fmt.Errorf("compiling the jq expression: %w", err)
	}
	if left := leftOperand(query); left != nil {
		// If the left side does not compile alone, Holds returns the values of the whole.
		p.left, _ = gojq.Compile(left, gojq.WithVariables(names))
	}
	return p, nil
}

// leftOperand returns the left side of a comparison at the end of a pipe, with the pipe before it, or
// nil: a | b == 3 becomes a | b.
func leftOperand(q *gojq.Query) *gojq.Query {
	switch q.Op {
	case gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe:
		return q.Left
	case gojq.OpPipe:
		if left := leftOperand(q.Right); left != nil {
			piped := *q
			piped.Right = left
			return &piped
		}
	}
	return nil
}

// Values returns the values of the program for the input raw, as JSON.
func (p *Program) Values(ctx context.Context, raw []byte) ([]json.RawMessage, error) {
	var values []json.RawMessage
	err := eachValue(ctx, p.code, p.values, raw, func(v any, text []byte) error {
		if _, isText := v.(string); isText {
			text = jsonraw.Quote(string(text))
		}
		values = append(values, text)
		return nil
	})
	return values, err
}

// Holds reports whether the program has at least one value for the input raw and all are true. got
// is the left side of a comparison if it fails, else the values.
func (p *Program) Holds(ctx context.Context, raw []byte) (holds bool, got string, err error) {
	values, err := p.Values(ctx, raw)
	if err != nil {
		return false, "", err
	}
	holds = len(values) > 0 && !slices.ContainsFunc(values, func(v json.RawMessage) bool { return string(v) != "true" })
	if !holds && p.left != nil {
		left := Program{code: p.left, values: p.values}
		if compared, err := left.Values(ctx, raw); err == nil {
			values = compared
		}
	}
	if len(values) == 0 {
		return holds, "nothing", nil
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return holds, strings.Join(texts, ", "), nil
}

// Compares reports whether the program is a comparison, so that Holds returns its left side.
func (p *Program) Compares() bool { return p.left != nil }

func parseError(expr string, err error) error {
	var at *gojq.ParseError
	if !errors.As(err, &at) {
		return fmt.Errorf("reading the jq expression: %w", err)
	}
	offset := min(max(at.Offset-len(at.Token), 0), len(expr))
	place := utf8.RuneCountInString(expr[:offset]) + 1
	return fmt.Errorf("reading the jq expression: %w at character %d", err, place)
}

// Print writes each value of the program on a separate line. For a terminal it sanitizes and
// indents it. It stops with an error if ctx ends.
func (p *Program) Print(ctx context.Context, w io.Writer, st term.Style, raw []byte) error {
	return eachValue(ctx, p.code, p.values, raw, func(v any, text []byte) error {
		if _, isText := v.(string); !isText {
			return render.JSON(w, st, text)
		}
		if st.Pretty() {
			return term.WriteText(w, []byte(st.Block(string(text))))
		}
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// decodeInput decodes JSON; its numbers keep their digits.
func decodeInput(raw []byte) (value any, err error) {
	if err := jsonraw.Valid(raw); err != nil {
		return nil, fmt.Errorf("reading the input of the jq expression: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading the input of the jq expression: %w", err)
	}
	return value, nil
}

// eachValue calls emit for each value of code for the input raw. The second argument of emit is the text
// of a string as jq -r prints it, or any other value as JSON on one line. It returns an error if emit
// fails or ctx ends; a program can be endless.
func eachValue(ctx context.Context, code *gojq.Code, variables []any, raw []byte, emit func(any, []byte) error) error {
	input, err := decodeInput(raw)
	if err != nil {
		return err
	}
	values := code.RunWithContext(ctx, input, variables...)
	var inputs originals           // nil until a value needs it
	defer runtime.KeepAlive(input) // inputs has the addresses of its maps
	for {
		v, hasNext := values.Next()
		if !hasNext {
			return nil
		}
		if err, isError := v.(error); isError {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil { // the function halt
				return nil
			}
			return fmt.Errorf("running the jq expression: %w", err)
		}
		switch v.(type) {
		case map[string]any, []any:
			if inputs == nil {
				inputs = originals{}
				inputs.add(input, raw)
			}
		}
		text, err := inputs.encode(v)
		if err != nil {
			return fmt.Errorf("writing a value of the jq expression: %w", err)
		}
		if err := emit(v, text); err != nil {
			return err
		}
	}
}

// originals maps the address of each decoded object of an input to its bytes. gojq never changes a
// map of its input.
type originals map[uintptr][]byte

// add adds v, decoded from raw, and everything in it.
func (o originals) add(v any, raw []byte) {
	switch v := v.(type) {
	case map[string]any:
		o[reflect.ValueOf(v).Pointer()] = raw
		members, _ := jsonraw.Object(raw)
		for _, m := range members {
			o.add(v[m.Name], m.Value)
		}
	case []any:
		items, _ := jsonraw.Array(raw)
		// The lengths differ if a member occurs twice: raw is then the value of one and v of the other.
		for i, item := range items[:min(len(items), len(v))] {
			o.add(v[i], item)
		}
	}
}

// encode returns the bytes of a string, and other values as JSON.
func (o originals) encode(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	return o.append(nil, v)
}

// append appends v as JSON. It copies the bytes of an object of the input.
func (o originals) append(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case map[string]any:
		if raw, ok := o[reflect.ValueOf(v).Pointer()]; ok {
			return append(b, jsonraw.Compact(raw)...), nil
		}
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, jsonraw.Quote(name)...), ':')
			b, err = o.append(b, v[name])
			if err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b, err = o.append(b, item)
			if err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	text, err := gojq.Marshal(v)
	return append(b, text...), err
}
