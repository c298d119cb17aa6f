package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
	"mcpc/internal/schema"
	"mcpc/internal/tests/rendertest"
	"mcpc/internal/validate"
)

// toolsOf reads testdata/tools/name.json: the lists of real servers, and strange, which no server
// should list.
func toolsOf(t testing.TB, name string) []mcp.Tool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "tools", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	items, syntax := jsonraw.Array(raw)
	if syntax != nil {
		t.Fatal(syntax)
	}
	var tools []mcp.Tool
	for _, item := range items {
		tool, finding := mcp.ParseTool(item)
		if finding != nil {
			t.Fatal(finding.Text)
		}
		tools = append(tools, tool)
	}
	return tools
}

func listed(t testing.TB, st term.Style, tools []mcp.Tool, long bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Tools(&b, st, tools, nil, long); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTools(t *testing.T) {
	for _, name := range []string{"everything", "go-sdk", "strange"} {
		tools := toolsOf(t, name)
		for width, st := range map[string]term.Style{
			"pipe": {Width: 80},
			"40":   {Terminal: true, Width: 40},
			"80":   {Terminal: true, Width: 80},
			"120":  {Terminal: true, Width: 120},
		} {
			rendertest.Golden(t, "tools_"+name+"_"+width+".txt", []byte(listed(t, st, tools, false)))
		}
		rendertest.Golden(t, "tools_"+name+"_long.txt", []byte(listed(t, term.Style{Terminal: true, Width: 80}, tools, true)))
	}
	tools := toolsOf(t, "strange")
	rendertest.Golden(t, "tools_strange_pipe_long.txt", []byte(listed(t, term.Style{}, tools, true)))
	rendertest.Golden(t, "tools_strange_color.txt", []byte(listed(t, term.Style{Terminal: true, Color: true, Width: 80}, tools, false)))
	rendertest.Golden(t, "tools_strange_ascii.txt", []byte(listed(t, term.Style{Terminal: true, ASCII: true, Width: 80}, tools, false)))
}

// No line may be wider than the terminal, or the terminal breaks it.
func TestToolsFit(t *testing.T) {
	var many []mcp.Tool
	for i := range 200 {
		for _, tool := range toolsOf(t, []string{"everything", "filesystem", "memory", "strange", "mcp-go"}[i%5]) {
			if len(many) < 200 {
				many = append(many, tool)
			}
		}
	}
	for _, width := range []int{20, 27, 40, 80, 99, 100, 120, 200, 500} {
		for _, color := range []bool{false, true} {
			out := listed(t, term.Style{Terminal: true, Color: color, Width: width}, many, false)
			for _, line := range strings.Split(out, "\n") {
				if w := ansi.StringWidth(line); w > width {
					t.Fatalf("width %d: %d columns: %q", width, w, line)
				}
			}
			if i := strings.IndexFunc(ansi.Strip(out), rendertest.IsForbidden); i >= 0 {
				t.Fatalf("holds %q", out[i:i+20])
			}
		}
	}
	for _, width := range []int{-1, 0, 1, 2, 5} {
		_ = listed(t, term.Style{Terminal: true, Width: width}, many, false)
		_ = listed(t, term.Style{Terminal: true, Width: width}, many, true)
	}
}

func TestToolsPipeIsOneLineEach(t *testing.T) {
	for _, name := range []string{"everything", "strange"} {
		tools := toolsOf(t, name)
		for _, long := range []bool{false, true} {
			lines := strings.Split(strings.TrimSuffix(listed(t, term.Style{}, tools, long), "\n"), "\n")
			if len(lines) != len(tools) {
				t.Errorf("%d lines for %d tools", len(lines), len(tools))
			}
			for _, line := range lines {
				if strings.Count(line, "\t") != 3 {
					t.Errorf("%q has not four fields", line)
				}
			}
		}
	}
	if got := listed(t, term.Style{Terminal: true}, nil, false); got != "" {
		t.Errorf("no tools, and still %q", got)
	}
}

// valid is an example that satisfies a schema, or nil; or {} if there is no schema.
func valid(raw []byte) json.RawMessage {
	example := schema.Example(raw)
	checker, warnings, err := validate.Compile(raw)
	if err != nil && string(example) == "{}" {
		return example
	}
	if err != nil || len(warnings) > 0 {
		return nil
	}
	if findings, err := checker.Check(example); err != nil || len(findings) > 0 {
		return nil
	}
	return example
}

// appOf is a tool's page of MCP Apps that could not be read.
func appOf(tool mcp.Tool) *mcp.App {
	if tool.UI == "" {
		return nil
	}
	app := mcp.AppOf(tool, nil)
	return &app
}

func TestDescribe(t *testing.T) {
	for _, name := range []string{"everything", "filesystem", "strange"} {
		for style, st := range map[string]term.Style{"pipe": {}, "80": {Terminal: true, Width: 80}} {
			var b bytes.Buffer
			for _, tool := range toolsOf(t, name) {
				if err := Describe(&b, st, tool, nil, valid(tool.InputSchema), appOf(tool)); err != nil {
					t.Fatal(err)
				}
				b.WriteString("\n================\n\n")
			}
			if i := strings.IndexFunc(b.String(), rendertest.IsForbidden); i >= 0 {
				t.Errorf("%s: holds %q", name, b.String()[i:i+20])
			}
			rendertest.Golden(t, "describe_"+name+"_"+style+".txt", b.Bytes())
		}
	}
}

// hostile are schemas that would keep a naive reader busy for ever.
func hostile() map[string]string {
	doubling := `"a32":{"type":"object"}`
	for i := range 32 {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1)
		doubling += fmt.Sprintf(`,"a%d":{"allOf":[%s,%s],"anyOf":[%s,%s],"properties":{"x":%s,"y":%s},"required":["x","y"]}`,
			i, ref, ref, ref, ref, ref, ref)
	}
	var wide strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&wide, `"p%d":{"type":"array","items":{"enum":[1,2,3]}},`, i)
	}
	return map[string]string{
		"itself":       `{"$ref":"#"}`,
		"circle":       `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"endless tree": `{"type":"object","properties":{"c":{"$ref":"#"}},"required":["c"]}`,
		"endless list": `{"type":"array","items":{"$ref":"#"},"minItems":3}`,
		"allOf itself": `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		"anyOf itself": `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		"doubling":     `{"$ref":"#/$defs/a0","$defs":{` + doubling + `}}`,
		"wide":         `{"type":"object","properties":{` + wide.String() + `"last":true}}`,
		"deep":         strings.Repeat(`{"properties":{"a":`, 450) + `{}` + strings.Repeat(`}}`, 450),
		"deep arrays":  strings.Repeat(`{"items":`, 900) + `{}` + strings.Repeat(`}`, 900),
		"too deep":     strings.Repeat(`{"not":`, 2000) + `{}` + strings.Repeat(`}`, 2000),
		"huge counts":  `{"type":"array","minItems":1e30,"items":{"type":"string","minLength":99999999999}}`,
		"huge numbers": `{"type":"number","minimum":1e99999999,"multipleOf":1e-99999999}`,
		"huge members": `{"type":"object","minProperties":1000000000}`,
		"huge pattern": `{"type":"string","pattern":"^((a{1000}){1000}){1000}$"}`,
		"pattern":      `{"type":"string","pattern":"^(a{100}){9}$"}`,
		"not JSON":     `{"type":`,
		"true":         `true`,
		"empty":        ``,
		"nonsense":     `{"type":7,"properties":[],"required":{"a":1},"enum":{},"items":"x","anyOf":7,"$ref":[]}`,
	}
}

func TestHostileSchemas(t *testing.T) {
	for name, text := range hostile() {
		tool := mcp.Tool{Name: "x", InputSchema: []byte(text), OutputSchema: []byte(text)}
		var b bytes.Buffer
		if err := Describe(&b, term.Style{Terminal: true, Width: 80}, tool, nil, nil, appOf(tool)); err != nil {
			t.Error(name, err)
		}
		_ = listed(t, term.Style{Terminal: true, Width: 80}, []mcp.Tool{tool}, true)
		if b.Len() > 1<<20 {
			t.Errorf("%s: described in %d bytes", name, b.Len())
		}
		if example := schema.Example([]byte(text)); jsonraw.Valid(example) != nil || len(example) > 1<<20 {
			t.Errorf("%s: the example is %.100s", name, example)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, schema := range hostile() {
		if len(schema) < 5000 {
			f.Add("name", "description", []byte(schema))
		}
	}
	for _, tool := range toolsOf(f, "strange") {
		f.Add(tool.Name, tool.Description, []byte(tool.InputSchema))
	}
	f.Fuzz(func(t *testing.T, name, about string, raw []byte) {
		tool := mcp.Tool{Name: name, Description: about, InputSchema: raw, OutputSchema: raw}
		var b bytes.Buffer
		if err := Describe(&b, term.Style{Terminal: true, Width: 80}, tool, nil, nil, appOf(tool)); err != nil {
			t.Fatal(err)
		}
		out := b.String() + listed(t, term.Style{Terminal: true, Width: 40}, []mcp.Tool{tool}, false)
		if i := strings.IndexFunc(out, rendertest.IsForbidden); i >= 0 {
			t.Fatalf("%q holds %q", out, out[i:])
		}
		if example := schema.Example(raw); jsonraw.Valid(example) != nil {
			t.Fatalf("the example is %q", example)
		}
	})
}

// The count without a check of each string equals the count with a check of each.
func TestHiddenInJSON(t *testing.T) {
	parts := []string{`a`, ` `, `é`, "\u200b", `\u200b`, `\u0061`, `\\`, `\\u200b`, `\"`, `\n`, `\t`, `\r`, `\r\n`, `\b`, `\f`, `\/`, "\x7f"}
	hidden := 0
	for _, one := range parts {
		for _, two := range parts {
			for _, three := range parts {
				raw := []byte(`{"a":"` + one + two + `","k` + three + `":[1,"b"]}`)
				want := 0
				var texts map[string]any
				if err := json.Unmarshal(raw, &texts); err != nil {
					t.Fatal(err)
				}
				for name, value := range texts {
					want += sanitize.Hidden(name)
					if text, ok := value.(string); ok {
						want += sanitize.Hidden(text)
					}
				}
				if got := hiddenInJSON(raw); got != want {
					t.Errorf("%s: %d, want %d", raw, got, want)
				}
				hidden += want
			}
		}
	}
	if hidden == 0 {
		t.Error("nothing is hidden in any")
	}
}
