package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
)

// at returns JSON where a path leads to a value; [] is a list of one item.
func at(path jsonvalue.Path, value string) string {
	for _, step := range slices.Backward(path) {
		if step.All || step.Item {
			value = "[" + value + "]"
		} else {
			value = "{" + string(jsonraw.Quote(step.Name)) + ":" + value + "}"
		}
	}
	return value
}

// Each line of the table decides on two messages that differ in nothing else, in the
// revisions and for the methods that it names, and in no other.
func TestEachLineOfTheTableDecides(t *testing.T) {
	samples := map[string][2]string{"time": {`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:06Z"`}, "empty": {`{}`, ``}}
	for _, v := range table().rows {
		action, _, _ := strings.Cut(v.action, ":")
		if action == "name" || action == "since" || action == "was" {
			continue // below
		}
		sample, ok := samples[action]
		if !ok {
			sample = [2]string{`"one"`, `"another"`}
		}
		was, is := at(v.path, sample[0]), `{}`
		if sample[1] != "" {
			is = at(v.path, sample[1])
		}
		method := "tools/call"
		if v.methods != nil {
			method = v.methods[0]
		}
		same := func(part Part, method, revision string) bool {
			c := Comparison{Part: part, Method: method, RecordedRevision: revision, CurrentRevision: revision}
			return Compare(json.RawMessage(was), json.RawMessage(is), c).Same()
		}
		line := fmt.Sprint(v.part, " ", v.methods, " ", v.path)
		for n, revision := range table().revisions {
			if want := v.from <= n && n <= v.to || otherLine(v, n, method); same(v.part, method, revision) != want {
				t.Errorf("%s in %s: same is not %v", line, revision, want)
			}
		}
		if !same(v.part, method, "") || !same(v.part, method, "2099-01-01") {
			t.Errorf("%s does not decide in a revision that is not known", line)
		}
		for _, part := range []Part{Params, Result, Error, ""} {
			if part != v.part && !slices.ContainsFunc(table().rows, func(o volatile) bool { return o.appliesTo(part, method) && o.path.String() == v.path.String() }) && same(part, method, "") {
				t.Errorf("%s decides in %s", line, part)
			}
		}
		if v.methods != nil && same(v.part, "x/other", "") {
			t.Errorf("%s decides for another method", line)
		}
	}
}

// otherLine reports another line for the same place in a revision.
func otherLine(v volatile, revision int, method string) bool {
	return slices.ContainsFunc(table().rows, func(o volatile) bool {
		return o.part == v.part && o.appliesTo(v.part, method) && o.path.String() == v.path.String() && o.from <= revision && revision <= o.to
	})
}

// A member that a later revision adds is ignored if the other side cannot have it.
func TestMembersOfLaterRevisionAreIgnored(t *testing.T) {
	for _, v := range table().rows {
		if v.action != "since" {
			continue
		}
		method := "tools/list"
		was, is := json.RawMessage(`{}`), json.RawMessage(at(v.path, `"x"`))
		old, now := table().revisions[v.from-1], table().revisions[v.from]
		for _, c := range []struct {
			was, is string
			same    bool
		}{{old, now, true}, {now, now, false}, {old, old, true}, {"", "", false}, {"", now, true}, {now, "", true}, {"", old, true}} {
			got := Compare(was, is, Comparison{Part: Result, Method: method, RecordedRevision: c.was, CurrentRevision: c.is})
			if c.was == c.is && c.was == old {
				c.same = false // no part of the revision: ordinary data
			}
			if got.Same() != c.same {
				t.Errorf("%s from %q to %q: %+v", v.path, c.was, c.is, got)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"x"}`, "x"},
		{"prompts/get", `{"name":"x"}`, "x"},
		{"resources/read", `{"uri":"file:///a"}`, "file:///a"},
		{"tools/list", `{"name":"x"}`, ""},
		{"tools/call", `{"name":7}`, ""},
		{"tools/call", `{}`, ""},
		{"tools/call", `{"name":"x","name":"y"}`, "x"},
		{"tools/call", `[]`, ""},
		{"tools/call", "", ""},
		{"tools/call", `{"na`, ""},
	} {
		if got := NameOf(c.method, json.RawMessage(c.params)); got != c.want {
			t.Errorf("%s %s: %q", c.method, c.params, got)
		}
	}
}

func TestABadTableIsFound(t *testing.T) {
	for _, line := range []string{"params * all a drop x", "params * all .a drop", "head * all .a drop x", "params * 2020-01-01.. .a drop x"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is read", line)
				}
			}()
			readTable("revisions 2024-11-05\n" + line)
		}()
	}
}

// The official schemas lie beside the repository, where they need not be.
var schemas = filepath.Join("..", "..", "..", "shared", "spec", "schema")

// Each source is a member of a definition in the official schema of the last revision that
// the line is about.
func TestSourcesAreInTheSchemas(t *testing.T) {
	for _, v := range table().rows {
		if strings.HasPrefix(v.source, "page:") {
			continue
		}
		revision, source := table().revisions[v.to], v.source
		if rest, extension := strings.CutPrefix(source, "tasks:"); extension {
			revision, source = "ext-tasks", rest
		}
		raw, err := os.ReadFile(filepath.Join(schemas, revision, "schema.json"))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("no official schemas at " + schemas)
		}
		if err != nil {
			t.Fatal(err)
		}
		definitions := jsonraw.First(raw, "$defs")
		if definitions == nil {
			definitions = jsonraw.First(raw, "definitions")
		}
		name, member, _ := strings.Cut(source, ".")
		if !hasProperty(jsonraw.First(definitions, name), member) {
			t.Errorf("%s: %s has no %s", revision, name, member)
		}
	}
}

// hasProperty looks for a property at any depth of a schema.
func hasProperty(raw json.RawMessage, name string) bool {
	if items, err := jsonraw.Array(raw); err == nil {
		return slices.ContainsFunc(items, func(item json.RawMessage) bool { return hasProperty(item, name) })
	}
	members, err := jsonraw.Object(raw)
	if err != nil {
		return false
	}
	properties, _ := jsonraw.Object(members.Value("properties"))
	if properties.Value(name) != nil {
		return true
	}
	return slices.ContainsFunc(members, func(m jsonraw.Member) bool { return hasProperty(m.Value, name) })
}

// The methods come from the official schemas.
func TestMethodsAreThoseOfTheSchemas(t *testing.T) {
	found := map[string]bool{}
	for _, revision := range append(slices.Clone(table().revisions), "ext-tasks") {
		raw, err := os.ReadFile(filepath.Join(schemas, revision, "schema.json"))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("no official schemas at " + schemas)
		}
		definitions := jsonraw.First(raw, "$defs")
		if definitions == nil {
			definitions = jsonraw.First(raw, "definitions")
		}
		eachMethod(definitions, func(method string) { found[method] = true })
	}
	for _, method := range table().methods {
		if !found[method] {
			t.Errorf("no schema has the method %s", method)
		}
		delete(found, method)
	}
	if len(found) > 0 {
		t.Errorf("the table lacks %v", found)
	}
}

func eachMethod(raw json.RawMessage, see func(string)) {
	items, _ := jsonraw.Array(raw)
	for _, item := range items {
		eachMethod(item, see)
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		if method := jsonraw.First(m.Value, "const"); m.Name == "method" && method != nil {
			text, _ := jsonraw.Text(method)
			see(text)
		}
		eachMethod(m.Value, see)
	}
}
