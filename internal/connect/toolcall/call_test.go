package toolcall_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/wire"
)

// A desk is a user with a separate state, and a server that plays a script.
type desk struct {
	t      *testing.T
	server *connecttest.Server
	env    *host.Env
	user   *connecttest.User
	c      *connect.Conn // the last connection
}

func sit(t *testing.T, script string) *desk {
	t.Helper()
	server := connecttest.Play(t, script)
	env, user := connecttest.Env(t, server.URL)
	return &desk{t: t, server: server, env: env, user: user}
}

// dial opens a connection, as each command does.
func (d *desk) dial() *connect.Conn {
	d.t.Helper()
	env := *d.env
	env.Shared = new(host.Shared)
	c, out := connect.Dial(d.t.Context(), &env, connect.Options{})
	d.t.Cleanup(func() { c.Close(d.t.Context()) })
	if !out.OK() {
		d.t.Fatal(out.Text)
	}
	d.c = c
	return c
}

// call calls a tool over a new connection. change, which may be nil, changes the request.
func (d *desk) call(name, words string, change func(*toolcall.Request)) wire.Outcome {
	d.t.Helper()
	c := d.dial()
	given, err := arguments.Parse(c.Env, strings.Fields(words), "", false)
	if err != nil {
		d.t.Fatal(err)
	}
	o := toolcall.Request{Name: name, Given: given}
	if change != nil {
		change(&o)
	}
	out, _ := toolcall.CallTool(d.t.Context(), c, &o)
	return out
}

func noValidate(o *toolcall.Request) { o.NoValidate = true }

// ended is an outcome as tables have it: its kind, text, hint and findings.
func ended(out wire.Outcome) string {
	all := []string{string(out.Kind), out.Text}
	for _, f := range out.Findings {
		all = append(all, strings.TrimSpace(f.Pointer+" "+f.Text))
	}
	if hint := out.Hint.String(); hint != "" {
		all = append(all, "("+hint+")")
	}
	return strings.Join(slices.DeleteFunc(all, func(text string) bool { return text == "" }), " | ")
}

const both = "speaks 2026-07-28 2025-11-25\n"

// Words are sent with the types of the schema, and with its defaults for required arguments.
func TestWordsAreSentWithTypesAndDefaults(t *testing.T) {
	t.Parallel()
	const tool = both + `tool x {"type":"object","properties":{"n":{"type":"number"},"s":{"type":"string"},` +
		`"d":{"type":"integer","default":7}},"required":["d"]}`
	for _, c := range []struct {
		words  string
		change func(*toolcall.Request)
		want   string
		shown  string
	}{
		{"d=1 n=2 s=3", nil, `{"name":"x","arguments":{"d":1,"n":2,"s":"3"}}`, ""},
		{
			"n=2", nil, `{"name":"x","arguments":{"n":2,"d":7}}`,
			"warn: x requires /d, which was not given: sending its default 7",
		},
		{`{"d":1.0}`, nil, `{"name":"x","arguments":{"d":1.0}}`, ""},
		{"n=two d=x", noValidate, `{"name":"x","arguments":{"n":"two","d":"x"}}`, ""},
		{"other=1 d=1", nil, `{"name":"x","arguments":{"other":"1","d":1}}`, `warn: the inputSchema has no argument "other"`},
		{"{}", func(o *toolcall.Request) {
			o.Given.Document = json.RawMessage(`{"d":1}`)
			o.Params = json.RawMessage(`{"arguments":{"d":1},"name":"x","more":true}`)
		}, `{"arguments":{"d":1},"name":"x","more":true}`, ""},
		{
			"{}", func(o *toolcall.Request) { o.Params = json.RawMessage(`{"arguments":{},"name":"x","more":true}`) },
			`{"arguments":{"d":7},"name":"x","more":true}`, "warn: x requires /d",
		},
	} {
		d := sit(t, tool)
		out := d.call("x", c.words, c.change)
		got := d.server.Params("tools/call")
		shown := strings.Join(d.user.Shown(), "\n")
		if !out.OK() || !slices.Equal(got, []string{c.want}) || !strings.HasPrefix(shown, c.shown) ||
			(shown == "") != (c.shown == "") {
			t.Errorf("%s: sent %q, shown %q, %s", c.words, got, shown, ended(out))
		}
	}
}

// Words that make several items of a list and were perhaps meant for one are sent with a note,
// which is shown once.
func TestNoteOnSplitItems(t *testing.T) {
	t.Parallel()
	const tool = `tool x {"type":"object","properties":{"l":{"items":{"type":"object",` +
		`"properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}}`
	const note = "note: each [] adds an item: use l[0].a= and l[0].b= for members of one item"
	for _, c := range []struct{ words, want, shown string }{
		{"l[].a=x l[].b=y", `{"name":"x","arguments":{"l":[{"a":"x"},{"b":"y"}]}}`, note},
		{"l[].a=x l[].b=y l[].a=z", `{"name":"x","arguments":{"l":[{"a":"x"},{"b":"y"},{"a":"z"}]}}`, note},
		{"l[].a=x l[].a=y", `{"name":"x","arguments":{"l":[{"a":"x"},{"a":"y"}]}}`, ""},
		{"l[0].a=x l[0].b=y", `{"name":"x","arguments":{"l":[{"a":"x","b":"y"}]}}`, ""},
	} {
		d := sit(t, tool)
		out := d.call("x", c.words, nil)
		got, shown := d.server.Params("tools/call"), strings.Join(d.user.Shown(), "\n")
		if !out.OK() || !slices.Equal(got, []string{c.want}) || shown != c.shown {
			t.Errorf("%s: sent %q, shown %q, %s", c.words, got, shown, ended(out))
		}
	}
}

// Arguments that the schema forbids are not sent, and the outcome has the reason.
func TestInvalidArgumentsAreNotSent(t *testing.T) {
	t.Parallel()
	const input = `{"type":"object","properties":{"n":{"type":"number"},"free":{"type":["integer","string"]}},` +
		`"required":["n"],"additionalProperties":false}`
	strict := func(d *desk) { d.env.Strict = true }
	const broken = `tool x {"type":"object","properties":{"n":{"type":"nothing"}}}`
	const unchecked = "invalid_arguments | the arguments could not be validated: "
	const invalid = "invalid_arguments | the arguments do not match the tool's inputSchema"
	for _, c := range []struct {
		name, script, words string
		change              func(*desk)
		want                string // how the outcome begins; "" is a call that is sent
		shown               string
	}{
		{"a type", "tool x " + input, "n=two", nil, invalid + " | /n must be a number, such as n=1, got n=two", ""},
		{"nothing", "tool x " + input, "", nil, invalid + ` | missing required member "n"`, ""},
		{"a name", "tool x " + input, "n=1 m=1", nil, invalid, ""},
		{"two at once", "tool x " + input, "n=two m=1", nil, invalid + " | /n must be a number", ""},
		{"another type was meant", "tool x " + input, "n=1 free:=2.5", nil, invalid, ""},
		{"no arguments at all", `tool x {"type":"object","additionalProperties":false}`, "n=1", nil, invalid, ""},
		{
			"a broken schema", broken, "n=1", nil, "",
			"warn: the inputSchema of x cannot be used, so the arguments were not validated",
		},
		{
			"a broken schema, strictly", broken, "n=1", strict,
			unchecked, "",
		},
		{
			"a pattern of another language", `tool x {"type":"object","properties":{"n":{"pattern":"(?<=a)b"}}}`, "n=1", nil,
			"", "warn: ",
		},
		{
			"the same, strictly", `tool x {"type":"object","properties":{"n":{"pattern":"(?<=a)b"}}}`, "n=1", strict,
			unchecked, "",
		},
		{
			"a schema that is elsewhere", `tool x {"type":"object","$ref":"https://h.example/s"}`, "n=1", nil,
			unchecked, "",
		},
	} {
		d := sit(t, both+c.script)
		if c.change != nil {
			c.change(d)
		}
		out := d.call("x", c.words, nil)
		sent := len(d.server.Requests("tools/call"))
		shown := strings.Join(d.user.Shown(), "\n")
		if c.want == "" && (!out.OK() || sent != 1) || c.want != "" && (!strings.HasPrefix(ended(out), c.want) ||
			sent > 0) {
			t.Errorf("%s: %d sent, %s", c.name, sent, ended(out))
		}
		if !strings.HasPrefix(shown, c.shown) || (shown == "") != (c.shown == "") {
			t.Errorf("%s: shown %q", c.name, shown)
		}
		if c.want != "" && (out.Part != wire.BeforeOperation || out.Method != "tools/call" || out.Name != "x") {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
}

// The hint of a refused call names what was perhaps meant.
func TestHintsOfRefusedCalls(t *testing.T) {
	t.Parallel()
	const tools = both + `tool none {"type":"object","additionalProperties":false}` + "\n" +
		`tool free {"type":"object","properties":{"a":{"maxLength":1}}}` + "\n" +
		`tool typed {"type":"object","properties":{"b":{"minimum":3,"type":["number","string"],"minLength":3}}}`
	for _, c := range []struct{ tool, words, want string }{
		{"none", "a=1", "none takes no arguments; --no-validate sends them anyway"},
		{"free", "a=22", "a=22 is sent as a string; a:=22 sends the number"},
		{"free", "a=xx", ""},
		{"typed", "b=22", "b=22 is sent as a string; b:=22 sends the number"},
		{"fre", "a=22", "did you mean free?"},
		{"nothing-like-it", "", "there are: free, none, typed; " +
			"mcpc call nothing-like-it --no-validate calls one that is not listed"},
	} {
		out := sit(t, tools).call(c.tool, c.words, nil)
		if out.Kind != wire.InvalidArguments || out.Hint.String() != c.want {
			t.Errorf("%s %s: %s", c.tool, c.words, ended(out))
		}
	}
}

// A value that its header field cannot carry is refused if requests are stateless, and otherwise
// sent.
func TestHeaderFieldsOfArguments(t *testing.T) {
	t.Parallel()
	const tool = `tool x {"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`
	for speaks, want := range map[string]string{"speaks 2026-07-28\n": "eu", "speaks 2025-11-25\n": ""} {
		d := sit(t, speaks+tool)
		if out := d.call("x", "region=eu", nil); !out.OK() {
			t.Fatal(ended(out))
		}
		if got := d.server.Requests("tools/call")[0].Header.Get("Mcp-Param-Region"); got != want {
			t.Errorf("%s: the field is %q", speaks, got)
		}
	}
	const number = `tool x {"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}`
	d := sit(t, "speaks 2026-07-28\n"+number)
	out := d.call("x", "n=9007199254740993", nil)
	if sent := d.server.Requests("tools/call"); len(sent) > 0 || !strings.Contains(out.Text, "header field") {
		t.Errorf("a number that is not exact: %s", ended(out))
	}
}

// A result is checked against the outputSchema.
func TestResultIsCheckedAgainstOutputSchema(t *testing.T) {
	t.Parallel()
	const tool = both + `tool {"name":"x","inputSchema":{"type":"object"},` +
		`"outputSchema":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}}` +
		"\non tools/call\n    result "
	const content = `{"content":[],"resultType":"complete"`
	for _, c := range []struct {
		name, result string
		change       func(*toolcall.Request)
		want         string
	}{
		{"one that fits", content + `,"structuredContent":{"n":1}}`, nil, ""},
		{
			"none", content + `}`, nil,
			"output_invalid | the tool has an outputSchema, but the result has no structuredContent",
		},
		{
			"another", content + `,"structuredContent":{"n":"1"}}`, nil,
			"output_invalid | the structuredContent does not match the tool's outputSchema | /n",
		},
		{"unchecked", content + `,"structuredContent":{"n":"1"}}`, noValidate, ""},
		{"an error of the tool", content + `,"isError":true}`, nil, "tool_error"},
	} {
		out := sit(t, tool+c.result+"\n").call("x", "", c.change)
		if got := ended(out); !strings.HasPrefix(got, c.want) || (c.want == "") != out.OK() {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	d := sit(t, both+`tool {"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"nothing"}}`+
		"\non tools/call\n    result "+content+`,"structuredContent":1}`+"\n")
	out := d.call("x", "", nil)
	if shown := strings.Join(d.user.Shown(), "\n"); !out.OK() ||
		!strings.HasPrefix(shown, "warn: the result was not validated against the outputSchema: ") {
		t.Errorf("a broken outputSchema: %s, shown %q", ended(out), shown)
	}
}

// lists is a rule of a script: a list with one tool x, for time number n, which may be remembered for an hour.
func lists(n int, rest string) string {
	return "on tools/list #" + string(rune('0'+n)) + "\n    result {\"tools\":[{\"name\":\"x\"," + rest +
		`}],"resultType":"complete","ttlMs":3600000,"cacheScope":"private"}` + "\n"
}

const (
	number = `"inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}`
	text   = `"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}`
	more   = `"inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}}`
)

// open takes any argument besides.
const open = `"inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"additionalProperties":true}`

// A definition that an earlier command fetched is used as long as it accepts the arguments; before
// it rejects them a new definition is fetched.
func TestRememberedDefinitions(t *testing.T) {
	t.Parallel()
	const start = "speaks 2026-07-28\n"
	const refuses = "on tools/call #2\n    error -32602 no\n"
	const mismatch = "on tools/call #2\n    status 400\n    error -32020 Header mismatch\n"
	sumless := `,"outputSchema":{"type":"object","required":["sum"]}`
	for _, c := range []struct {
		name, script, words string
		want                string // of the second call
		lists, calls        int    // requests of both calls
	}{
		{"it fits", lists(1, number), "a=2", "", 1, 2},
		{"it no longer forbids", lists(1, number) + lists(2, text), "a=two", "", 2, 2},
		{"it still forbids", lists(1, number) + lists(2, number), "a=two", "invalid_arguments", 2, 1},
		{"an argument is new", lists(1, number) + lists(2, more), "b=2", "", 2, 2},
		{"an argument is unknown", lists(1, number) + lists(2, number), "b=2", "", 2, 2},
		{"an argument is unknown and allowed", lists(1, open) + lists(2, open), `{"b":2}`, "", 2, 2},
		{
			"the server says no", lists(1, number) + lists(2, number) + refuses, "a=2",
			"rpc_error | no | (mcpc describe x shows its arguments)", 2, 2,
		},
		{
			"the server rejects its own result", lists(1, number) + lists(2, number) +
				"on tools/call #2\n    error -32602 Invalid tools/call result: no text\n", "a=2",
			"rpc_error | Invalid tools/call result: no text", 1, 2,
		},
		{
			"the tool has gone", lists(1, number) + strings.Replace(lists(2, number), `"x"`, `"y"`, 1) + refuses, "a=2",
			"rpc_error | no | (", 2, 2,
		},
		{"the header fields are out of date", lists(1, number) + lists(2, number) + mismatch, "a=2", "", 2, 3},
		{
			"the result has another shape", lists(1, number+sumless) + lists(2, number) +
				"on tools/call\n    result {\"content\":[],\"structuredContent\":{\"sum\":1},\"resultType\":\"complete\"}\n" +
				"on tools/call #2\n    result {\"content\":[],\"structuredContent\":{},\"resultType\":\"complete\"}\n", "a=2", "",
			2, 2,
		},
		{
			"the result is wrong", lists(1, number+sumless) + lists(2, number+sumless) +
				"on tools/call\n    result {\"content\":[],\"structuredContent\":{\"sum\":1},\"resultType\":\"complete\"}\n" +
				"on tools/call #2\n    result {\"content\":[],\"structuredContent\":{},\"resultType\":\"complete\"}\n", "a=2",
			"output_invalid", 2, 2,
		},
	} {
		d := sit(t, start+"tool x\n"+c.script)
		if out := d.call("x", "a=1", nil); !out.OK() {
			t.Errorf("%s: at first: %s", c.name, ended(out))
			continue
		}
		out := d.call("x", c.words, nil)
		got := strings.ReplaceAll(ended(out), d.server.URL, "URL")
		if !strings.HasPrefix(got, c.want) || (c.want == "") != out.OK() {
			t.Errorf("%s: %s", c.name, got)
		}
		listed, called := len(d.server.Requests("tools/list")), len(d.server.Requests("tools/call"))
		if listed != c.lists || called != c.calls {
			t.Errorf("%s: %d lists and %d calls, want %d and %d", c.name, listed, called, c.lists, c.calls)
		}
	}
}

// A failed call by a remembered definition makes the next one fetch it, whatever it was remembered for.
func TestFailedCallRefetchesRememberedDefinition(t *testing.T) {
	t.Parallel()
	d := sit(t, "speaks 2026-07-28\ntool x\n"+lists(1, number)+lists(2, number)+
		"on tools/call #2\n    result {\"content\":[],\"isError\":true,\"resultType\":\"complete\"}\n")
	for i, want := range []int{1, 1, 2, 2} {
		d.call("x", "a=1", nil)
		if got := len(d.server.Requests("tools/list")); got != want {
			t.Errorf("call %d: %d lists", i+1, got)
		}
	}
}

// Without a check no definition is fetched if nothing depends on it.
func TestNoValidateFetchesNoDefinition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		speaks, words string
		want          int
	}{{"2025-11-25", `{"a":1}`, 0}, {"2025-11-25", "a=1", 1}, {"2026-07-28", `{"a":1}`, 1}} {
		d := sit(t, "speaks "+c.speaks+"\ntool x\n")
		out := d.call("x", c.words, noValidate)
		if got := len(d.server.Requests("tools/list")); got != c.want || !out.OK() {
			t.Errorf("%+v: %d lists, %s", c, got, ended(out))
		}
	}
	d := sit(t, both+"tool x\n")
	out := d.call("y", "a=1", noValidate)
	if out.Kind != wire.RPCFailed || !slices.Equal(d.server.Params("tools/call"),
		[]string{`{"name":"y","arguments":{"a":"1"}}`}) {
		t.Errorf("an unknown tool: %s", ended(out))
	}
}

// Prepare gives what CallTool would send.
func TestPrepareReturnsWhatCallToolSends(t *testing.T) {
	t.Parallel()
	d := sit(t, both+"tool x {\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}}}\n")
	c := d.dial()
	for words, want := range map[string]string{"a=1": `{"name":"x","arguments":{"a":1}}`, "a=x": ""} {
		given, _ := arguments.Parse(c.Env, []string{words}, "", false)
		call, tool, out := toolcall.Prepare(t.Context(), c, &toolcall.Request{Name: "x", Given: given})
		if string(call.Params) != want || (want == "") == out.OK() || (tool == nil) == out.OK() {
			t.Errorf("%s: %s, %s", words, call.Params, ended(out))
		}
	}
	if len(d.server.Requests("tools/call")) > 0 {
		t.Error("it was sent")
	}
}

// The user is asked for required arguments that are missing, if a form has fields for them.
func TestMissingArgumentsAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, schema, words string
		atTerminal          bool
		typed               map[string]json.RawMessage
		shown, want         string // what was sent, or the kind
	}{
		{
			"typed", `{"properties":{"a":{"type":"number"},"b":{"type":"string"}},"required":["a"]}`, "b=x", true,
			map[string]json.RawMessage{"a": json.RawMessage("7")},
			"fill: x a", `{"name":"x","arguments":{"b":"x","a":7}}`,
		},
		{
			"a name with a dot", `{"properties":{"a.b":{"type":"number"}},"required":["a.b"]}`, "", true,
			map[string]json.RawMessage{"a.b": json.RawMessage("7")},
			"fill: x a.b", `{"name":"x","arguments":{"a.b":7}}`,
		},
		{
			"nothing typed", `{"properties":{"a":{"type":"number"}},"required":["a"]}`, "", true, nil, "fill: x a",
			"invalid_arguments",
		},
		{"nobody there", `{"properties":{"a":{"type":"number"}},"required":["a"]}`, "", false, nil, "", "invalid_arguments"},
		{"wrong words", `{"properties":{"a":{"type":"number"}},"required":["a"]}`, "a=x", true, nil, "", "invalid_arguments"},
		{
			"no field for it", `{"properties":{"a":{"$ref":"#/x"}},"required":["a"],"x":{"type":"object"}}`, "", true, nil, "",
			"invalid_arguments",
		},
		{
			"wrong values", `{"properties":{"a":{"type":"number"}},"required":["a"]}`, "", true,
			map[string]json.RawMessage{"a": json.RawMessage(`"x"`)},
			"fill: x a", "invalid_arguments",
		},
	} {
		d := sit(t, both+"tool x "+strings.Replace(c.schema, "{", `{"type":"object",`, 1)+"\n")
		d.user.AtTerminal, d.user.Arguments = c.atTerminal, c.typed
		out := d.call("x", c.words, nil)
		got := strings.Join(d.server.Params("tools/call"), "\n")
		if !out.OK() {
			got = string(out.Kind)
		}
		if shown := strings.Join(d.user.Shown(), "\n"); got != c.want || shown != c.shown {
			t.Errorf("%s: %s, shown %q", c.name, got, shown)
		}
	}
}
