package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/live/view"
)

// opened opens a conversation of a client.
func opened(conn int, client string) string {
	return fmt.Sprintf(`
@%[1]d 0 > {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"%[2]s","version":"1"}}}
@%[1]d 1 < {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"git","version":"2"}}}
`, conn, client)
}

// page is a tools/list and its answer.
func page(conn, id, ms int, cursor, next, tools string) string {
	params, more := "", ""
	if cursor != "" {
		params = `,"params":{"cursor":"` + cursor + `"}`
	}
	if next != "" {
		more = `,"nextCursor":"` + next + `"`
	}
	return fmt.Sprintf(`
@%[1]d %[3]d > {"jsonrpc":"2.0","id":%[2]d,"method":"tools/list"%[4]s}
@%[1]d %[3]d < {"jsonrpc":"2.0","id":%[2]d,"result":{"tools":[%[6]s]%[5]s}}
`, conn, id, ms, params, more, tools)
}

// tool is an entry of a list.
func tool(name, schema string) string {
	return fmt.Sprintf(`{"name":"%s","description":"does it","inputSchema":%s}`, name, schema)
}

// called is a call and its answer.
func called(conn, id, ms, took int, name, arguments, result string) string {
	return fmt.Sprintf(`
@%[1]d %[3]d > {"jsonrpc":"2.0","id":%[2]d,"method":"tools/call","params":{"name":"%[5]s","arguments":%[6]s}}
@%[1]d %[4]d < {"jsonrpc":"2.0","id":%[2]d,"result":%[7]s}
`, conn, id, ms, ms+took, name, arguments, result)
}

const (
	anyObject = `{"type":"object"}`
	okResult  = `{"content":[{"type":"text","text":"fine"}]}`
	badResult = `{"isError":true,"content":[{"type":"text","text":"no such row"}]}`
)

func toolsText(tools []view.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		short := ""
		if t.ShortPage != "" {
			short = " (" + t.ShortPage + ")"
		}
		fmt.Fprintf(&b, "%s | listed: %s | page: %s%s | schema: %s | called: %d | %s\n", t.Name, t.Listed, t.Page, short, t.Schema, t.Called, t.Reason)
		for _, text := range []string{t.Changed, t.LastError} {
			if text != "" {
				fmt.Fprintf(&b, "  %s\n", text)
			}
		}
	}
	return b.String()
}

func TestWhyAClientDoesNotSeeATool(t *testing.T) {
	for _, c := range []struct{ name, capture, want string }{
		{
			"called and listed", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", anyObject)) + called(1, 3, 10, 5, "a", "{}", okResult) + called(1, 4, 20, 5, "a", "{}", badResult),
			"a | listed: yes | page: 1 of 1 | schema: usable | called: 2 | \n  tool error: no such row\n",
		},
		{
			"not called", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", anyObject)),
			"a | listed: yes | page: 1 of 1 | schema: usable | called: 0 | \n",
		},
		{
			"not listed", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", anyObject)) + called(1, 3, 10, 5, "b", "{}", badResult),
			"b | listed: no | page:  | schema:  | called: 1 | the server did not list it for claude\n  tool error: no such row\n" +
				"a | listed: yes | page: 1 of 1 | schema: usable | called: 0 | \n",
		},
		{
			"no list", opened(1, "claude") + called(1, 3, 10, 5, "b", "{}", okResult),
			"b | listed: no | page:  | schema:  | called: 1 | no tools/list was recorded\n",
		},
		{
			"page 2 fetched by another", opened(1, "claude") + page(1, 2, 5, "", "p2", tool("a", anyObject)) +
				opened(2, "cursor") + page(2, 2, 6, "", "p2", tool("a", anyObject)) + page(2, 3, 7, "p2", "", tool("b", anyObject)) + called(2, 4, 10, 5, "a", "{}", okResult),
			"b | listed: only on page 2, which was not fetched by claude | page: 2 of 2 | schema: usable | called: 0 | it is on page 2 of the list, and claude fetched no further than page 1\n" +
				"a | listed: yes | page: 1 of 2 | schema: usable | called: 1 | \n",
		},
		{
			"page 2 fetched by none", opened(1, "claude") + page(1, 2, 5, "", "p2", tool("a", anyObject)) + called(1, 4, 10, 5, "a", "{}", okResult),
			"(tools on page 2) | listed: no | page: 2 | schema:  | called: 0 | the list has a page 2, which was not fetched by claude\n" +
				"a | listed: yes | page: 1 of 1 or more (1 of 1+) | schema: usable | called: 1 | \n",
		},
		{
			"schema", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", `{"type":"objekt"}`)),
			"a | listed: yes | page: 1 of 1 | schema: SCHEMA | called: 0 | clients may leave it out, because its schema is not usable: SCHEMA\n",
		},
		{
			"schema of no object", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", `{"type":"array"}`)+","+tool("b", `{}`)),
			"a | listed: yes | page: 1 of 1 | schema: /inputSchema/type must be \"object\", got \"array\" | called: 0 | clients may leave it out, because its schema is not usable: /inputSchema/type must be \"object\", got \"array\"\n" +
				"b | listed: yes | page: 1 of 1 | schema: /inputSchema/type must be \"object\", got nothing | called: 0 | clients may leave it out, because its schema is not usable: /inputSchema/type must be \"object\", got nothing\n",
		},
		{
			"name", opened(1, "claude") + page(1, 2, 5, "", "", tool("a b", anyObject)) + called(1, 3, 10, 5, "a b", "{}", okResult),
			"a b | listed: yes | page: 1 of 1 | schema: usable | called: 1 | clients may refuse its name, which is not 1 to 128 characters of A-Z a-z 0-9 _ . -\n",
		},
		{
			"all of that", opened(1, "claude") + page(1, 2, 5, "", "", tool("a b", `{}`)+","+tool("a b", `{}`)),
			"a b | listed: yes | page: 1 of 1 | schema: /inputSchema/type must be \"object\", got nothing | called: 0 | clients may leave it out, because its schema is not usable: /inputSchema/type must be \"object\", got nothing; " +
				"clients may refuse its name, which is not 1 to 128 characters of A-Z a-z 0-9 _ . -; the list has 2 tools of this name, and clients call one of them\n",
		},
		{
			"listed twice", opened(1, "claude") + page(1, 2, 5, "", "p2", tool("a", anyObject)) + page(1, 3, 6, "p2", "", tool("a", `{"type":"object","required":["n"]}`)+","+tool("b", anyObject)),
			"a | listed: yes | page: 1 of 2 | schema: usable | called: 0 | the list has 2 tools of this name, and clients call one of them\n" +
				"b | listed: yes | page: 2 of 2 | schema: usable | called: 0 | \n",
		},
		{"list_changed", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", anyObject)) + `
@1 2000 < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
`, "a | listed: yes | page: 1 of 1 | schema: usable | called: 0 | the server said at 11:00:02 that its tools changed, and claude did not list them again\n"},
		{
			"list_changed followed", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", anyObject)) + `
@1 2000 < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
` + page(1, 3, 3000, "", "", tool("a", `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)+","+tool("b", anyObject)) + called(1, 4, 3001, 5, "a", "{}", okResult),
			"a | listed: yes | page: 1 of 1 | schema: usable | called: 1 | \n  argument n is new and required\n" +
				"b | listed: yes | page: 1 of 1 | schema: usable | called: 0 | \n",
		},
		{
			"once whole", opened(1, "claude") + page(1, 2, 5, "", "p2", tool("a", anyObject)) + page(1, 3, 6, "p2", "", tool("b", anyObject)) + page(1, 4, 7, "", "p2", tool("a", anyObject)),
			"a | listed: yes | page: 1 of 2 | schema: usable | called: 0 | \nb | listed: yes | page: 2 of 2 | schema: usable | called: 0 | \n",
		},
		{
			"from an unknown page", opened(1, "claude") + page(1, 2, 5, "", "p2", tool("a", anyObject)) + page(1, 3, 6, "p9", "", tool("b", anyObject)),
			"a | listed: not for claude | page: 1 of 1 or more (1 of 1+) | schema: usable | called: 0 | the last list that claude fetched does not have it\n" +
				"b | listed: yes | page:  | schema: usable | called: 0 | \n",
		},
		{"changed before", opened(1, "claude") + `
@1 3 < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
` + page(1, 2, 5, "", "", tool("a", anyObject)), "a | listed: yes | page: 1 of 1 | schema: usable | called: 0 | \n"},
		{
			"removed", opened(1, "claude") + page(1, 2, 5, "", "", tool("a", anyObject)+","+tool("b", anyObject)) + page(1, 3, 3000, "", "", tool("a", anyObject)) + called(1, 4, 3001, 5, "a", "{}", okResult),
			"b | listed: not for claude | page: 1 of 1 | schema: usable | called: 0 | the last list that claude fetched does not have it\n" +
				"a | listed: yes | page: 1 of 1 | schema: usable | called: 1 | \n",
		},
	} {
		tools, err := views(t, made(t, c.capture), view.Options{}).Tools(t.Context(), view.Query{})
		if err != nil {
			t.Fatal(err)
		}
		got := toolsText(tools)
		if c.name == "schema" && len(tools) == 1 {
			got = strings.ReplaceAll(got, tools[0].Schema, "SCHEMA")
		}
		if got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	schema := `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`
	path := made(t, opened(1, "claude")+page(1, 2, 5, "", "", tool("a", schema))+called(1, 3, 10, 5, "a", `{"n":"x"}`, okResult)+called(1, 4, 20, 5, "a", `{"n":"x"}`, okResult))
	d, err := views(t, path, view.Options{}).Detail(t.Context(), "4")
	if err != nil {
		t.Fatal(err)
	}
	if string(d.InputSchema) != schema || len(d.Wrong) != 1 || d.Wrong[0].Pointer != "/n" || d.Before != "3" {
		t.Errorf("schema %s, wrong %q, before %q", d.InputSchema, d.Wrong, d.Before)
	}
}

func TestDetailNamesLastGoodCall(t *testing.T) {
	failure := `{"content":[],"isError":true}`
	path := made(t, opened(1, "claude")+called(1, 3, 10, 5, "a", `{}`, okResult)+called(1, 4, 20, 5, "a", `{}`, failure)+
		called(1, 5, 30, 5, "a", `{}`, failure)+called(1, 6, 40, 5, "a", `{}`, okResult))
	v := views(t, path, view.Options{})
	for key, want := range map[string]string{"2": "", "3": "2", "4": "2", "5": ""} {
		d, err := v.Detail(t.Context(), key)
		if err != nil || d.LastGood != want {
			t.Errorf("the last good call before %s is %q, want %q, %v", key, d.LastGood, want, err)
		}
	}
}

func TestCompareTwoVersions(t *testing.T) {
	path := made(t, opened(1, "claude")+page(1, 2, 5, "", "", tool("a", anyObject)+","+tool("b", anyObject))+
		called(1, 3, 10, 5, "a", "{}", okResult)+called(1, 4, 20, 50, "b", "{}", okResult)+called(1, 5, 80, 50, "d", "{}", okResult)+
		opened(2, "claude")+page(2, 2, 5, "", "", tool("a", `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)+","+tool("c", anyObject))+
		called(2, 3, 10, 500, "a", "{}", badResult)+called(2, 4, 520, 50, "b", "{}", okResult)+called(2, 5, 600, 90, "d", "{}", okResult))
	got, err := views(t, path, view.Options{}).Compare(t.Context(), "-1.1", "-1.2")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.json", document(t, got))
	if _, err := views(t, path, view.Options{}).Compare(t.Context(), "-1.1", "-1.9"); err != view.ErrGone {
		t.Errorf("a conversation that is not there: %v", err)
	}
}

// A tool that only one conversation has is reported, too, but not a tool that one may not have
// seen.
func TestCompareWhatOnlyOneHas(t *testing.T) {
	text := opened(1, "claude") + page(1, 2, 5, "", "p2", tool("a", anyObject)) + page(1, 3, 6, "p2", "", tool("b", anyObject)+","+tool("a", `{"type":"object","required":["n"]}`)) +
		called(1, 4, 10, 5, "a", `{"n":1}`, okResult) + called(1, 5, 20, 5, "b", "{}", okResult) +
		opened(2, "cursor") + page(2, 2, 5, "", "p2", tool("a", anyObject)) + called(2, 3, 10, 5, "a", `{"n":2}`, badResult) + `
@2 100 > {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"a","arguments":{}}}
@2 101 > {"jsonrpc":"2.0","id":10,"method":"ping"}
`
	for range 3 {
		text += called(2, 11, 200, 5, "c", "{}", okResult)
	}
	got, err := views(t, made(t, text), view.Options{}).Compare(t.Context(), "-1.1", "-1.2")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "compare-only.json", document(t, got))
	back, err := views(t, made(t, text), view.Options{}).Compare(t.Context(), "-1.2", "-1.1")
	if want := "b is in the list of the second only; the first did not fetch all pages of its list"; err != nil || len(back.Tools) != 1 || back.Tools[0] != want {
		t.Errorf("the other way round: %q, %v", back.Tools, err)
	}
}

// A filter that finds calls selects the tools that were called; another filter selects servers, and
// a filter that finds nothing selects no tool.
func TestFilterOfTools(t *testing.T) {
	path := made(t, opened(1, "claude")+page(1, 2, 5, "", "", tool("a", anyObject)+","+tool("b", anyObject)+","+tool("c", anyObject))+
		called(1, 3, 10, 5, "a", "{}", okResult)+called(1, 4, 20, 5, "b", "{}", badResult))
	for filter, want := range map[string]string{
		"": "a b c", "client:claude": "a b c", "name:nothing": "", "name:a": "a", "is:error": "b", "method:tools/call": "a b",
		"method:tools/list": "a b c",
	} {
		tools, err := views(t, path, view.Options{}).Tools(t.Context(), view.Query{Filter: filter})
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%q: %s, want %s, %v", filter, got, want, err)
		}
	}
}

// A filter for failed calls does not change how often a tool was called.
func TestFilterLeavesTheCallsOfAConversation(t *testing.T) {
	path := made(t, opened(1, "claude")+page(1, 2, 5, "", "", tool("a", anyObject))+called(1, 3, 10, 5, "a", "{}", okResult)+called(1, 4, 20, 5, "a", "{}", badResult)+
		opened(2, "cursor")+called(2, 2, 30, 5, "a", "{}", okResult))
	for filter, want := range map[string]int{"": 3, "is:error": 2, "method:tools/list": 2, "client:cursor": 1} {
		tools, err := views(t, path, view.Options{}).Tools(t.Context(), view.Query{Filter: filter})
		if err != nil || len(tools) != 1 || tools[0].Called != want {
			t.Errorf("%q: %s, %v", filter, toolsText(tools), err)
		}
	}
}
