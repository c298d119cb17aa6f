package codegen

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/mcp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// hostile has everything that a list of tools can do to code.
func hostile(t *testing.T) []mcp.Tool {
	t.Helper()
	var tools []mcp.Tool
	for _, raw := range []string{
		`{"name":"$(touch x)","description":"*/ process.exit(1) /*\n//go:build ignore\r\n\u2028import \"C\"\u202e\u0000","inputSchema":{"type":"object"}}`,
		`{"name":"\"); os.Exit(1) //","inputSchema":{"type":"object","properties":{"a` + "`" + `b":{"type":"string"},"c\"d":{"type":"string"}},"required":["a"]}}`,
		`{"name":"${process.exit(1)}","inputSchema":{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"integer"},"-":{"type":"string"},"x,omitempty":{"type":"string"}}}}`,
		`{"name":"-rf","inputSchema":{"type":"object"}}`,
		`{"name":"client","inputSchema":{"type":"object"}}`,
		`{"name":"Client","inputSchema":{"type":"object"}}`,
		`{"name":"call","inputSchema":{"type":"object"}}`,
		`{"name":"server","inputSchema":{"type":"object"}}`,
		`{"name":"get_sum","description":"[x]: http://evil\n# A heading\n- a list","inputSchema":{"type":"object","properties":{"a":{"type":"number","description":"- one\n\n# two"},"A":{"type":"number"},"a ":{"type":"integer"}},"required":["a"]}}`,
		`{"name":"get-sum","inputSchema":{"type":"object","properties":{"type":{"type":"string"},"func":{"enum":["a","b*/","\u2028"]},"range":{"const":1}}}}`,
		`{"name":"天気","inputSchema":{"type":"object","properties":{"市":{"type":"string"}},"required":["市"]}}`,
		`{"name":"7","inputSchema":{"type":"object","properties":{"7":{"type":["string","null"]},"":{"type":"string"}}}}`,
		`{"name":"deep","inputSchema":{"type":"object","$defs":{"n":{"type":"object","properties":{"l":{"$ref":"#/$defs/n"},"r":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}},
			"properties":{"n":{"$ref":"#/$defs/n"},"bad":{"$ref":"#/nowhere"},"out":{"$ref":"file:///etc/passwd"},"any":true,"never":false,"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"boolean"}},"required":["x"]}},
			"map":{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}},"opt":{"anyOf":[{"type":"string"},{"type":"null"}]},"many":{"oneOf":[{"type":"string"},{"type":"integer"}]}},"required":["n","list","opt"]},
			"outputSchema":{"type":"object","properties":{"sum":{"type":"number"},"parts":{"type":"array","items":{"type":"object","properties":{"v":{}}}},"left":{"type":["array","null"],"items":{"type":"string"}}},"required":["sum"]}}`,
		`{"name":"Deep Args","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"outputSchema":{"type":"array","items":{"type":"string"}}}`,
	} {
		tool, bad := mcp.ParseTool(json.RawMessage(raw))
		if bad != nil {
			t.Fatalf("%s: %s", raw, bad.Text)
		}
		tools = append(tools, tool)
	}
	return tools
}

func source(t *testing.T) Source {
	return Source{Server: "evil\n\x1b[31m */ +build ignore", Target: "http://x/\"$(touch y)\u2028`", Command: []string{"sh", "-c", "`x` \"y\""}, Tools: hostile(t)}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(want, got) {
		t.Errorf("%s is not what is written (-update writes it anew): %v", name, err)
	}
}

// The code of a hostile list compiles, is formatted, and is the same each time.
func TestGoCompiles(t *testing.T) {
	code, left := Go(source(t), "tools")
	again, _ := Go(source(t), "tools")
	if !bytes.Equal(code, again) {
		t.Error("two runs differ")
	}
	if len(left) != 1 || left[0].Name != "-rf" {
		t.Errorf("left out: %+v", left)
	}
	formatted, err := format.Source(code)
	if err != nil {
		t.Fatalf("%v\n%s", err, code)
	}
	if !bytes.Equal(formatted, code) {
		t.Errorf("gofmt would change it:\n%s", formatted)
	}
	golden(t, "hostile.go.txt", code)
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module tools\n\ngo 1.24\n", "tools.go": string(code)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

func TestTypeScriptOfAHostileList(t *testing.T) {
	code, left := TypeScript(source(t))
	again, _ := TypeScript(source(t))
	if !bytes.Equal(code, again) || len(left) != 1 {
		t.Errorf("two runs differ, or %+v is left out", left)
	}
	golden(t, "hostile.ts.txt", code)
	for _, bad := range []string{"*/ process", "\u2028", "\u202e", "\x1b", "\x00"} {
		if strings.Contains(string(code), bad) {
			t.Errorf("%q stands in the code", bad)
		}
	}
}

// The types alone compile, and call nothing.
func TestTypesAloneCompile(t *testing.T) {
	s := source(t)
	s.OnlyTypes = true
	code, _ := Go(s, "tools")
	formatted, err := format.Source(code)
	if err != nil || !bytes.Equal(formatted, code) || bytes.Contains(code, []byte("func ")) {
		t.Errorf("%v\n%s", err, code)
	}
	golden(t, "types.go.txt", code)
	code, _ = TypeScript(s)
	if bytes.Contains(code, []byte("import ")) || bytes.Contains(code, []byte("class ")) {
		t.Errorf("%s", code)
	}
	golden(t, "types.ts.txt", code)
}

// Reading a schema that refers to itself many times ends.
func TestRecursiveSchemasAreBounded(t *testing.T) {
	props := func(of string) string {
		var all []string
		for _, n := range "abcdefghij" {
			all = append(all, `"`+string(n)+`":`+of)
		}
		return strings.Join(all, ",")
	}
	schema := `{"type":"object","properties":{` + props(`{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":{"type":"object","properties":{` + props(`{"$ref":"#/$defs/b"}`) +
		`}},"b":{"type":"object","properties":{` + props(`{"$ref":"#/$defs/c"}`) + `}},"c":{"type":"object","properties":{` + props(`{"$ref":"#/$defs/d"}`) + `}},"d":{"$ref":"#/$defs/a"}}}`
	tool, _ := mcp.ParseTool(json.RawMessage(`{"name":"x","inputSchema":` + schema + `}`))
	if code, _ := Go(Source{Server: "x", Tools: []mcp.Tool{tool}}, "x"); len(code) > 2<<20 {
		t.Errorf("%d bytes of code", len(code))
	}
}

// The members of the TypeScript code that are assigned take undefined, as exactOptionalPropertyTypes of
// tsc --init asks for.
func TestTypeScriptOfExactOptionals(t *testing.T) {
	code, _ := TypeScript(Source{Server: "x", Target: "demo"})
	for _, line := range strings.Split(string(code), "\n") {
		name, kind, optional := strings.Cut(strings.TrimSpace(line), "?: ")
		ofResult := slices.Contains([]string{"text", "data", "mimeType", "uri", "resource", "structuredContent", "isError"}, name)
		if optional && !ofResult && !strings.Contains(name, " ") && !strings.HasSuffix(kind, "| undefined;") {
			t.Errorf("%s cannot be set to undefined", line)
		}
	}
}
