package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"mcpc/internal/wire"
)

// A Program is a jq expression that is ready to run (gojq's dialect of it).
// Numbers keep their digits. The members of an object come out sorted by name,
// as gojq does it: for the order that crossed the wire there is --json. No
// expression reaches the environment, a file or another input.
type Program struct{ code *gojq.Code }

// Query compiles the jq expression expr. An error names the place in expr.
func Query(expr string) (*Program, error) {
	query, err := gojq.Parse(expr)
	if err != nil {
		return nil, queryError(expr, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("compiling the jq expression: %w", err)
	}
	return &Program{code}, nil
}

func queryError(expr string, err error) error {
	var at *gojq.ParseError
	if !errors.As(err, &at) {
		return fmt.Errorf("reading the jq expression: %w", err)
	}
	offset := min(max(at.Offset-len(at.Token), 0), len(expr))
	place := utf8.RuneCountInString(expr[:offset]) + 1
	return fmt.Errorf("reading the jq expression: %w at character %d", err, place)
}

// Run gives each value that the program makes of raw to emit, until emit fails:
// a string as its own bytes, as jq -r does, everything else as JSON on one line.
func (p *Program) Run(raw []byte, emit func([]byte) error) error {
	return p.RunContext(context.Background(), raw, emit)
}

// RunContext is Run until ctx ends. A program may go on for ever.
func (p *Program) RunContext(ctx context.Context, raw []byte, emit func([]byte) error) error {
	return p.run(ctx, raw, func(_ any, text []byte) error { return emit(text) })
}

// Print writes each value of the program to w on a line of its own, for a
// terminal sanitized and indented.
func (p *Program) Print(ctx context.Context, w io.Writer, st Style, raw []byte) error {
	return p.run(ctx, raw, func(v any, text []byte) error {
		switch _, isText := v.(string); {
		case !isText:
			return JSON(w, st, text)
		case st.watched():
			return writeText(w, []byte(st.Block(string(text))))
		}
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

func (p *Program) run(ctx context.Context, raw []byte, emit func(any, []byte) error) error {
	if err := wire.Valid(raw); err != nil {
		return fmt.Errorf("reading the input of the jq expression: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var input any
	if err := d.Decode(&input); err != nil {
		return fmt.Errorf("reading the input of the jq expression: %w", err)
	}
	values := p.code.RunWithContext(ctx, input)
	for {
		v, more := values.Next()
		if !more {
			return nil
		}
		if err, failed := v.(error); failed {
			return stopped(err)
		}
		text, err := encode(v)
		if err != nil {
			return err
		}
		if err := emit(v, text); err != nil {
			return err
		}
	}
}

// stopped is the error that ended a program; halt without a value is a good end.
func stopped(err error) error {
	var halt *gojq.HaltError
	if errors.As(err, &halt) && halt.Value() == nil {
		return nil
	}
	return fmt.Errorf("running the jq expression: %w", err)
}

func encode(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	text, err := gojq.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing a value of the jq expression: %w", err)
	}
	return text, nil
}
