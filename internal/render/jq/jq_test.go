package jq

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"mcpc/internal/render/term"
)

func run(t *testing.T, expr, input string) (string, error) {
	t.Helper()
	program, err := Compile(expr)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	err = program.each(context.Background(), input, func(_ any, text []byte) error {
		all.Write(append(text, '\n'))
		return nil
	})
	return all.String(), err
}

func (p *Program) each(ctx context.Context, input string, emit func(any, []byte) error) error {
	return eachValue(ctx, p.code, p.values, []byte(input), emit)
}

func TestQuery(t *testing.T) {
	for _, c := range []struct{ expr, input, want string }{
		{`.tools[].name`, `{"tools":[{"name":"a"},{"name":"b\tc"}]}`, "a\nb\tc\n"},
		{`.`, `{"b":9007199254740993,"a":1.10,"c":1e400}`, `{"b":9007199254740993,"a":1.10,"c":1e400}` + "\n"},
		{`.n + 1`, `{"n":9007199254740993}`, "9007199254740994\n"},
		{`.[] | select(. > 1)`, `[1,2,3]`, "2\n3\n"},
		{`.missing`, `{}`, "null\n"},
		{`.t`, `{"t":"<b>&\u2028"}`, "<b>&\u2028\n"},
		{`.`, `["<b>&"]`, `["<b>&"]` + "\n"},
		{
			`.a, .a[0]`, `{"a": [ {"z": 1.0, "y": {"x": "\u0041", "b": 1e2}} ]}`,
			`[{"z":1.0,"y":{"x":"\u0041","b":1e2}}]` + "\n" + `{"z":1.0,"y":{"x":"\u0041","b":1e2}}` + "\n",
		},
		{`{z: .z, a: [.z]}`, `{"z":{"y":1,"x":2}}`, `{"a":[{"y":1,"x":2}],"z":{"y":1,"x":2}}` + "\n"},
		{`.z.y = 3`, `{"z":{"y":1,"x":2},"b":{"d":1,"c":2}}`, `{"b":{"d":1,"c":2},"z":{"x":2,"y":3}}` + "\n"},
		{`[.[] | select(.n == 2)] | map(.), length`, `[{"n":2,"m":1},{"n":1}]`, `[{"n":2,"m":1}]` + "\n1\n"},
		{`.a`, `{"a":[{"d":1,"c":2},1,2],"a":[{"f":1,"e":2}]}`, `[{"f":1,"e":2}]` + "\n"},
		{`empty`, `{}`, ""},
		{`halt`, `{}`, ""},
		{`env | length`, `{}`, "0\n"},
		{`$ENV.PATH`, `{}`, "null\n"},
		{`@base64d`, `"aGk="`, "hi\n"},
	} {
		got, err := run(t, c.expr, c.input)
		if err != nil || got != c.want {
			t.Errorf("%s of %s: %q %v, want %q", c.expr, c.input, got, err, c.want)
		}
	}
}

func TestQueryErrors(t *testing.T) {
	for _, c := range []struct{ expr, input, want string }{
		{`.tools[}`, `{}`, `reading the jq expression: unexpected token "}" at character 8`},
		{`.日本 | }`, `{}`, `at character`},
		{`.a | (`, `{}`, `reading the jq expression: unexpected EOF at character 7`},
		{`"abc`, `{}`, `reading the jq expression: unterminated string literal`},
		{`nosuch(1)`, `{}`, `compiling the jq expression: function not defined: nosuch/1`},
		{`$x`, `{}`, `compiling the jq expression: variable not defined: $x`},
		{`input`, `{}`, `compiling the jq expression: input(s)/0 is not allowed`},
		{`import "a" as a; .`, `{}`, `compiling the jq expression`},
		{`.a.b`, `{"a":1}`, `running the jq expression: expected an object but got: number (1)`},
		{`error("no")`, `{}`, `running the jq expression: error: no`},
		{`.`, `{"a":1,}`, `reading the input of the jq expression: invalid JSON at byte`},
	} {
		_, err := run(t, c.expr, c.input)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.expr, c.input, err, c.want)
		}
	}
}

func TestQueryEndsWithItsContext(t *testing.T) {
	program, err := Compile(`def f: f; f`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err = program.each(ctx, `1`, func(any, []byte) error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	program, err = Compile(`range(infinite)`)
	if err != nil {
		t.Fatal(err)
	}
	err = program.each(context.Background(), `1`, func(any, []byte) error { return io.ErrClosedPipe })
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func TestQueryPrint(t *testing.T) {
	program, err := Compile(`.[]`)
	if err != nil {
		t.Fatal(err)
	}
	input := []byte("[\"\\u001b[2J\\na\",{\"k\":\"\u202e\"},1.0]")
	for _, c := range []struct {
		st   term.Style
		want string
	}{
		{term.Style{}, "\x1b[2J\na\n{\"k\":\"\u202e\"}\n1.0\n"},
		{term.Style{Terminal: true, Width: 80}, "␛[2J\na\n{\n  \"k\": \"\\u202e\"\n}\n1.0\n"},
	} {
		var b bytes.Buffer
		if err := program.Print(context.Background(), &b, c.st, input); err != nil || b.String() != c.want {
			t.Errorf("%+v: %q %v, want %q", c.st, b.String(), err, c.want)
		}
	}
}

func TestExpressionHolds(t *testing.T) {
	const doc = `{"a":1,"b":[1,2],"s":"x","big":9007199254740993,"f":false}`
	for _, c := range []struct {
		expr, got string
		holds     bool
	}{
		{".a == 1", "true", true},
		{".a == 2", "1", false},
		{".b | length == 3", "2", false},
		{".b | length | . > 1", "true", true},
		{".b[] | . > 1", "1, 2", false},
		{".b[] > 0", "true, true", true},
		{".f", "false", false},
		{".a", "1", false},
		{".none", "null", false},
		{"empty", "nothing", false},
		{".s == $v", "true", true},
		{".big == 9007199254740993 and .a == 2", "false", false},
	} {
		p, err := Compile(c.expr, Variable{"v", []byte(`"x"`)})
		if err != nil {
			t.Fatal(err)
		}
		holds, got, err := p.Holds(t.Context(), []byte(doc))
		if err != nil || holds != c.holds || got != c.got {
			t.Errorf("%s: got %v %s %v, want %v %s", c.expr, holds, got, err, c.holds, c.got)
		}
	}
}
