package validate

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is far more than any of this takes. On two cores of 2026 with nothing
// else to do, everything here ends within 200 ms; a machine that runs the tests
// of ten packages under the race detector may take ten times as long. That the
// bound is on work and not on time is what the want column is for.
const patience = time.Minute

func repeat(n int, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, ",")
}

func same(s string) func(int) string { return func(int) string { return s } }

// fanOut is 2^n times the same subschema in a line for each n.
func fanOut(n int, kw string) string {
	return fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s,"d%d":{"type":"string"}}}`, repeat(n, func(i int) string {
		return fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, kw, i+1, i+1)
	}), n)
}

// sameHash lists lists that the library has one hash for, because it hashes a
// list's beginning and not its end.
func sameHash(n int) string {
	var shapes []string
	for i := range n {
		var sb strings.Builder
		depth := 0
		for bit := range 14 {
			sb.WriteByte('[')
			depth++
			if i>>bit&1 == 1 {
				sb.WriteString("],")
				depth--
			}
		}
		shapes = append(shapes, "["+sb.String()+"[]"+strings.Repeat("]", depth)+"]")
	}
	return "[" + strings.Join(shapes, ",") + "]"
}

// rules 43
func TestHostileSchemas(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	nested := func(kw string, n int) string {
		return strings.Repeat(`{"`+kw+`":`, n) + "{}" + strings.Repeat("}", n)
	}
	defs := func(n int, f func(i int) string) string {
		return `{"$ref":"#/$defs/d0","$defs":{` + repeat(n, func(i int) string { return fmt.Sprintf(`"d%d":%s`, i, f(i)) }) + `}}`
	}
	for _, tt := range []struct{ name, schema, want string }{
		{"self", `{"$ref":"#"}`, "refers to itself"},
		{"self through allOf", `{"type":"object","allOf":[{"$ref":"#"}]}`, "refers to itself"},
		{"self through anyOf", `{"anyOf":[{"type":"string"},{"$ref":"#"}]}`, "refers to itself"},
		{"self through not", `{"not":{"$ref":"#"}}`, "refers to itself"},
		{"self through if", `{"if":{"type":"string"},"else":{"oneOf":[{"$ref":"#"}]}}`, "refers to itself"},
		{"self through dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, "refers to itself"},
		{"self through $dynamicRef", `{"$dynamicAnchor":"x","allOf":[{"$dynamicRef":"#x"}]}`, "refers to itself"},
		{
			"self through $recursiveRef", `{"$schema":"https://json-schema.org/draft/2019-09/schema","anyOf":[{"$recursiveRef":"#"}]}`,
			"refers to itself",
		},
		{"mutual", defs(2, func(i int) string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, 1-i) }), "refers to itself"},
		{
			"ring of 1000", defs(1000, func(i int) string { return fmt.Sprintf(`{"allOf":[{"$ref":"#/$defs/d%d"}]}`, (i+1)%1000) }),
			"refers to itself",
		},
		{"2^30 allOf", fanOut(30, "allOf"), "its subschemas multiply"},
		{"2^30 anyOf", fanOut(30, "anyOf"), "its subschemas multiply"},
		{"2^60 oneOf", fanOut(60, "oneOf"), "its subschemas multiply"},
		{"a megabyte", `{"title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "larger than 1048576 bytes"},
		{"JSON depth", strings.Repeat("[", 100_000), "nested deeper than 1000 levels"},
		{"nesting", nested("not", 64), "subschemas are nested deeper than 64 levels"},
		{"nesting in a reference", `{"$ref":"#/x","x":` + nested("items", 64) + `}`, "subschemas are nested deeper than 64 levels"},
		{"10 001 subschemas", `{"allOf":[` + repeat(10_000, same("{}")) + `]}`, "more than 10000 subschemas"},
		{"200 000 where only a reference leads", `{"$ref":"#/x","x":{"allOf":[` + repeat(200_000, same("true")) + `]}}`, "too "},
		{"9 000 subschemas", `{"allOf":[` + repeat(9_000, same("{}")) + `]}`, "too long to compile"},
		{"5 000 references elsewhere", `{"x":{` + repeat(4_000, func(i int) string { return fmt.Sprintf(`"x%d":{}`, i) }) + `},"allOf":[` +
			repeat(4_000, func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/x%d"}`, i) }) + `]}`, "too long to compile"},
		{
			"4 000 ids", `{"allOf":[` + repeat(4_000, func(i int) string { return fmt.Sprintf(`{"$id":"http://h/%d"}`, i) }) + `]}`,
			"too long to compile",
		},
		{
			"long pointers", `{"properties":{"` + strings.Repeat("k", 500_000) + `":{"allOf":[` + repeat(2_000, same("{}")) + `]}}}`,
			"too long to compile",
		},
		{"a chain of references elsewhere", `{"$ref":"#/x/x0","x":{` + repeat(4_000, func(i int) string {
			return fmt.Sprintf(`"x%d":{"$ref":"#/x/x%d"}`, i, i+1)
		}) + `}}`, "too long to compile"},
		{"ids times references", `{"allOf":[` + repeat(4_000, func(i int) string {
			return fmt.Sprintf(`{"$id":"h%d","$ref":"#/x/x%d"}`, i, i)
		}) + `]}`, "too long to compile"},
		{"a long id", `{"$id":"http://` + strings.Repeat("x", 500_000) + `","$defs":{"a":{}},"allOf":[` +
			repeat(3_000, same(`{"$ref":"#/$defs/a"}`)) + `]}`, "too long to compile"},
		{
			"long ids in ids", strings.Repeat(`{"$id":"`+strings.Repeat("a/", 6_000)+`","not":`, 60) + "{}" + strings.Repeat("}", 60),
			"too long to compile",
		},
		{"a reference to find behind a long name", `{"properties":{"` + strings.Repeat("A", 400_000) + `":{"enum":[` +
			repeat(100_000, same("0")) + `]},"z":{"$ref":"http://x/y"}}}`, "points outside the schema"},
		{"dynamic tangle", `{"$defs":{` + repeat(900, func(i int) string {
			return fmt.Sprintf(`"d%d":{"$id":"http://h/%d","$dynamicAnchor":"n"}`, i, i)
		}) + `},"allOf":[` + repeat(900, func(i int) string {
			return fmt.Sprintf(`{"items":{"$dynamicRef":"http://h/%d#n"}}`, i)
		}) + `]}`, "too many places"},
		{"numbers", `{"enum":[` + repeat(50_000, same("1e9999")) + `]}`, "more than 1000 digits"},
		{"a number", `{"minimum":1e1000000}`, "more than 1000 digits"},
		{"a number that big.Rat refuses", `{"minimum":1e9999999999999}`, "more than 1000 digits"},
		{"the same hash in required", `{"required":` + sameHash(5000) + `}`, "too long to compile"},
		{
			"the same hash in enum", `{"$schema":"http://json-schema.org/draft-04/schema#","enum":` + sameHash(5000) + `}`,
			"too long to compile",
		},
		{
			"patterns that expand", `{"allOf":[` + repeat(100, func(i int) string { return fmt.Sprintf(`{"pattern":"(x{0,1000})y%d"}`, i) }) + `]}`,
			"its patterns expand to more than",
		},
		{"a pattern that expands", `{"pattern":"` + strings.Repeat("(ab{0,500}){0,2}", 100) + `"}`, "its patterns expand to more than"},
		{"patterns of classes", `{"pattern":"` + strings.Repeat(`\\p{L}`, 20_000) + `"}`, "its patterns are too long"},
		{"patterns that fold", `{"pattern":"(?i)` + strings.Repeat(`[B-\\x{1e000}]`, 2_000) + `"}`, "its patterns are too long"},
		{
			"patterns in names", `{"patternProperties":{` + repeat(100, func(i int) string { return fmt.Sprintf(`"(x{0,1000})y%d":{}`, i) }) + `}}`,
			"its patterns expand to more than",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			_, _, err := Compile([]byte(tt.schema))
			took := time.Since(start)
			t.Logf("%d bytes: %v", len(tt.schema), took)
			var fault *Error
			if !errors.As(err, &fault) || !strings.Contains(fault.Text, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if took > patience {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestHostileValues(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	arrays := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	anyOf := `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[
		{"properties":{"k":{"const":1},"a":{"$ref":"#/$defs/n"}},"required":["k"]},
		{"properties":{"k":{"const":2},"a":{"$ref":"#/$defs/n"}},"required":["k"]}]}}}`
	chain := `{"items":{"$ref":"#/$defs/d0"},"$defs":{` +
		repeat(1000, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1) }) +
		`,"d1000":{"items":{"$ref":"#/$defs/d0"}}}}`
	const refused = "too complex"
	for _, tt := range []struct{ name, schema, value, want string }{
		{"recursive anyOf, 26 deep", anyOf, objects(26), refused},
		{"recursive anyOf, 900 deep", anyOf, objects(900), refused},
		{"recursive anyOf, 5 deep", anyOf, objects(5), "findings"},
		{"recursive patternProperties", `{"patternProperties":{"a":{"$ref":"#"},"^a":{"$ref":"#"}}}`, objects(100), refused},
		{"recursive dependentSchemas under not", `{"not":{"$ref":"#/$defs/n"},"$defs":{"n":{
			"dependentSchemas":{"a":{"$ref":"#/$defs/m"}},"properties":{"a":{"$ref":"#/$defs/n"}}},
			"m":{"properties":{"a":{"$ref":"#/$defs/n"}}}}}`, objects(100), refused},
		{"linear recursion, 900 deep", `{"properties":{"a":{"$ref":"#"}}}`, objects(900), "fine"},
		{"too deep", `{}`, arrays(1001), "nested deeper than 1000 levels"},
		{"calls nested a million deep", chain, arrays(900), refused},
		{"(x{0,1000})y on 100 kB", `{"pattern":"(x{0,1000})y"}`, `"` + strings.Repeat("x", 100_000) + `"`, refused},
		{
			"(x{0,1000})y on 100 kB as a name", `{"patternProperties":{"(x{0,1000})y":{}}}`,
			`{"` + strings.Repeat("x", 100_000) + `":1}`, refused,
		},
		{"^(a+)+$ on 50 kB", `{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 50_000) + `!"`, "findings"},
		{"base64 of 900 kB", `{"pattern":"^[A-Za-z0-9+/]*=*$"}`, `"` + strings.Repeat("QUJD", 225_000) + `"`, "fine"},
		{
			"1000 patterns on 100 000 names", `{"patternProperties":{` + repeat(1000, func(i int) string { return fmt.Sprintf(`"^x%d":{}`, i) }) + `}}`,
			`{` + repeat(100_000, func(i int) string { return fmt.Sprintf(`"a%d":1`, i) }) + `}`, refused,
		},
		{
			"enum of 10 000 on 10 000", `{"items":{"enum":[` + repeat(10_000, strconv.Itoa) + `]}}`,
			`[` + repeat(10_000, same("-1")) + `]`, refused,
		},
		{"1e999999999 against a limit", `{"minimum":5}`, `1e999999999`, refused},
		{"1e1000000 against a limit", `{"minimum":5}`, `1e1000000`, refused},
		{"a million digits", `{"type":"integer"}`, strings.Repeat("7", 1_000_000), refused},
		{"1e999999999 against none", `{"type":"number"}`, `1e999999999`, "fine"},
		{"1e999999999 as one of unique items", `{"uniqueItems":true}`, `[1e999999999,1]`, "fine"},
		{"the same hash", `{"uniqueItems":true}`, sameHash(10_000), "fine"},
		{"100 000 wrong items", `{"items":{"type":"string"}}`, `[` + repeat(100_000, same("1")) + `]`, "findings"},
		{"a million wrong items", `{"items":{"type":"string"}}`, `[` + repeat(1_000_000, same("1")) + `]`, refused},
		{
			"wrong items 900 deep", `{"type":"array","items":{"$ref":"#"}}`,
			strings.Repeat("[", 900) + repeat(100_000, same("1")) + strings.Repeat("]", 900), refused,
		},
		{
			"unevaluated under 500 branches", `{"allOf":[` + repeat(500, same(`{"properties":{"a":{}}}`)) + `],"unevaluatedProperties":false}`,
			`{` + repeat(5_000, func(i int) string { return fmt.Sprintf(`"a%d":1`, i) }) + `}`, refused,
		},
		{"$dynamicRef, 900 deep", `{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}`, arrays(900), "fine"},
		{
			"a schema for schemas, 40 deep", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
			strings.Repeat(`{"items":`, 40) + "{}" + strings.Repeat("}", 40), "fine",
		},
		{
			"a schema for schemas, 8 deep", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
			strings.Repeat(`{"items":`, 8) + "{}" + strings.Repeat("}", 8), "fine",
		},
		{
			"a schema for draft-07 schemas, 400 deep", `{"$ref":"http://json-schema.org/draft-07/schema#"}`,
			strings.Repeat(`{"items":`, 400) + "{}" + strings.Repeat("}", 400), "fine",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := mustCompile(t, tt.schema)
			start := time.Now()
			found, err := s.Check([]byte(tt.value))
			took := time.Since(start)
			t.Logf("%d bytes: %v", len(tt.value), took)
			got := "fine"
			if err != nil {
				got = err.Error()
			} else if len(found) > 0 {
				got = "findings"
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s %v, want %q", got, lines(found), tt.want)
			}
			if took > patience {
				t.Errorf("took %v", took)
			}
		})
	}
}

// S29: nothing is fetched and nothing is opened.
//
// rules 39
func TestSchemasFetchAndOpenNothing(t *testing.T) {
	hits := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits <- r.URL.Path
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, []byte(`{"const":"the-secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	file = "/" + strings.TrimPrefix(filepath.ToSlash(file), "/")
	for _, ref := range []string{server.URL + "/a", server.URL + "/b?c", "file://" + file, file, "file:" + file} {
		for _, schema := range []string{
			`{"$ref":%q}`, `{"properties":{"a":{"$ref":%q}}}`, `{"$dynamicRef":%q}`, `{"$id":%[1]q,"$ref":"x"}`,
			`{"$schema":%q}`, `{"$id":"http://x","$defs":{"a":{"$id":"http://y","$schema":%q}},"$ref":"#/$defs/a"}`,
		} {
			_, _, err := Compile(fmt.Appendf(nil, schema, ref))
			var fault *Error
			if !errors.As(err, &fault) || fault.Reason != ExternalRef && fault.Reason != UnknownDialect {
				t.Errorf(schema+": %v", ref, err)
			} else if strings.Contains(fault.Text, "the-secret") || fault.Where == "" {
				t.Errorf(schema+": %+v", ref, *fault)
			}
		}
	}
	// An $id without a reference to it is only a name.
	if _, _, err := Compile(fmt.Appendf(nil, `{"$id":%q,"type":"string"}`, server.URL+"/id")); err != nil {
		t.Error(err)
	}
	select {
	case path := <-hits:
		t.Errorf("%s was fetched", path)
	default:
	}
}

// The library puts a propertyNames error wherever it went next.
func TestPropertyNamesLocation(t *testing.T) {
	s, _ := mustCompile(t, `{"additionalProperties":{"propertyNames":{"maxLength":1}}}`)
	for range 50 {
		found := mustCheck(t, s, `{"a":{"bad":1},"b":{},"c":{},"d":{},"e":{},"f":{}}`)
		wantLines(t, found, []string{`/a member name "bad" must be at most 1 character long, got 3`})
	}
}

func TestSameFindingsEveryTime(t *testing.T) {
	s, _ := mustCompile(t, `{"patternProperties":{"^.$":{"anyOf":[{"type":"string"},{"type":"object","required":["x","y"]},
		{"type":"array","minItems":3}]}},"propertyNames":{"maxLength":1},"unevaluatedProperties":false,
		"dependentRequired":{"a":["p","q"],"b":["p"]}}`)
	value := `{"a":1,"bb":{},"c":[],"dd":{"x":1},"b":null,"f":[1],"g":2,"h":{},"i":3,"j":{"y":1},"k":[2]}`
	first := mustCheck(t, s, value)
	if len(first) < 10 {
		t.Fatalf("only %d findings", len(first))
	}
	for range 50 {
		if again := mustCheck(t, s, value); !slices.Equal(again, first) {
			t.Fatalf("got\n%v\nwant\n%v", again, first)
		}
	}
}

func TestConcurrentChecks(t *testing.T) {
	s, _ := mustCompile(t, `{"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"string","pattern":"^a"},{"$ref":"#"}]}}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				bad := (i+j)%2 == 0
				found, err := s.Check(fmt.Appendf(nil, `["a%d",["a"],[["a"],[%t]]]`, i, bad))
				if err != nil || len(found) == 0 {
					t.Errorf("found %v, error %v", found, err)
				}
			}
		})
	}
	wg.Wait()
}
