package connect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/keepalive"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
	"mcpc/internal/state"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/wire"
)

// dial connects, and closes the connection when the test ends.
func dial(t *testing.T, env *host.Env, how connect.Options) *connect.Conn {
	t.Helper()
	c, out := connect.Dial(t.Context(), env, how)
	t.Cleanup(func() { c.Close(context.Background()) })
	if !out.OK() {
		t.Fatal(ended(out))
	}
	return c
}

// again is an Env of the next command of the same user.
func again(env *host.Env) *host.Env {
	next := *env
	next.Shared = new(host.Shared)
	return &next
}

// A session continues with ids that no other command uses; another revision opens a separate
// conversation.
func TestSessionsResumeWithUnusedIDs(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, "speaks 2025-11-25 2025-06-18\nsession s-1\ntool x\n")
	env, _ := connecttest.Env(t, "box")
	put(t, env, state.Session{
		Name: "box", Endpoint: server.URL, Transport: "http", Revision: "2025-11-25",
		SessionID: "s-0",
	})
	var ids []string
	for range 2 {
		c := dial(t, again(env), connect.Options{})
		for range 2 {
			if out := c.Do(t.Context(), client.Call{Method: "ping"}); !out.OK() {
				t.Fatal(ended(out))
			}
		}
		c.Close(t.Context())
	}
	for _, r := range server.Requests("ping") {
		ids = append(ids, string(r.Message.ID))
		if got := r.Header.Get("Mcp-Session-Id"); got != "s-0" {
			t.Errorf("in session %s", got)
		}
	}
	slices.Sort(ids)
	if len(slices.Compact(slices.Clone(ids))) != 4 || len(server.Requests("initialize")) > 0 {
		t.Errorf("ids %q, %d sessions opened", ids, len(server.Requests("initialize")))
	}
	env.Protocol = "2025-06-18"
	c := dial(t, again(env), connect.Options{})
	if c.Revision() != "2025-06-18" || len(server.Requests("initialize")) != 1 {
		t.Errorf("revision %s", c.Revision())
	}
}

// A session that the server no longer knows is opened again, and stored.
func TestSessionsAreRenewed(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, "speaks 2025-11-25\nsession s-1\ntool x\non ping #1\n    status 404\n")
	env, user := connecttest.Env(t, "box")
	put(t, env, state.Session{
		Name: "box", Endpoint: server.URL, Transport: "http", Revision: "2025-11-25",
		SessionID: "s-0",
	})
	c := dial(t, env, connect.Options{})
	if out := c.Do(t.Context(), client.Call{Method: "ping"}); !out.OK() {
		t.Fatal(ended(out))
	}
	_, st, err := env.LoadState()
	if saved, _ := st.Session("box"); err != nil || string(saved.SessionID) != "s-1" {
		t.Errorf("stored %q, %v", string(saved.SessionID), err)
	}
	if shown := user.Shown(); len(shown) != 1 || !strings.HasPrefix(shown[0], "note: ") {
		t.Errorf("shown %q", shown)
	}
}

// The server's description of itself is remembered for a day, so that the next command need not
// ask.
func TestServerAgreementsAreRememberedForADay(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, "speaks 2025-11-25\ntool x\n")
	env, _ := connecttest.Env(t, server.URL)
	for i, c := range []struct {
		later time.Duration
		want  int // probes of the new era in all
	}{{0, 1}, {24 * time.Hour, 1}, {24*time.Hour + time.Second, 2}} {
		next := again(env)
		next.Now = func() time.Time { return connecttest.Start.Add(c.later) }
		dial(t, next, connect.Options{}).Close(t.Context())
		if got := len(server.Requests("server/discover")); got != c.want {
			t.Errorf("command %d: %d probes", i+1, got)
		}
	}
}

// The declared capabilities decide what is requested, and the text about an answer.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, `speaks 2025-11-25
capabilities {"tools":{"listChanged":true},"logging":{},"extensions":{"a/b":{"c":1}}}
on prompts/list
    result {"prompts":[]}
on resources/list
    error -32601 no such method
on initialize #2
    result {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"m","version":"1"}}
`)
	env, user := connecttest.Env(t, server.URL)
	env.Verbose = 1
	c := dial(t, env, connect.Options{})
	user.Shown()
	for name, want := range map[string]bool{"tools": true, "a/b": true, "prompts": false} {
		if declared, known := c.Declares(name); declared != want || !known {
			t.Errorf("%s: declared %t, known %t", name, declared, known)
		}
	}
	for _, o := range []struct {
		capability, member string
		want               bool
	}{{"tools", "", true}, {"tools", "listChanged", true}, {"tools", "other", false}, {"prompts", "", false}, {
		"logging",
		"x", false,
	}} {
		if got := c.Offers(o.capability, o.member); got != o.want {
			t.Errorf("%+v: %t", o, got)
		}
	}
	if settings, known := c.Extension("a/b"); string(settings) != `{"c":1}` || !known {
		t.Errorf("%s %t", settings, known)
	}
	if got := connect.MethodsOf(c.Declared(connect.Kinds)); !slices.Equal(got, []string{"tools/list"}) {
		t.Errorf("declared %q", got)
	}
	if shown := user.Shown(); len(shown) != 4 ||
		shown[0] != "note: the server does not declare prompts, so prompts/list was not sent" {
		t.Errorf("shown %q", shown)
	}
	for range 2 {
		if _, out := c.Listed(t.Context(), connect.PromptKind, nil); !out.OK() {
			t.Error(ended(out))
		}
	}
	if shown := user.Shown(); len(shown) != 1 ||
		!strings.HasPrefix(shown[0], "warn: the server did not declare the capability prompts") {
		t.Errorf("shown %q", shown)
	}
	_, out := c.Listed(t.Context(), connect.ResourceKind, nil)
	const want = "the server does not declare resources; mcpc describe shows the server's capabilities"
	if out.Hint.String() != want {
		t.Error(ended(out))
	}
	if got := c.Label(); got != "mock 1 ("+server.URL+")" {
		t.Error(got)
	}
}

// --log-level is a separate request in a session, and part of each request elsewhere.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	const logging = `capabilities {"logging":{}}` + "\n"
	for _, c := range []struct{ name, script, want, shown string }{
		{"a session", "speaks 2025-11-25\n" + logging + "on logging/setLevel\n    result {}\n", `{"level":"info"}`, ""},
		{
			"undeclared", "speaks 2025-11-25\ncapabilities {}\non logging/setLevel\n    result {}\n", `{"level":"info"}`,
			"warn: the server did not declare the capability logging; ",
		},
		{
			"refused", "speaks 2025-11-25\n" + logging + "on logging/setLevel\n    error -32603 no\n", `{"level":"info"}`,
			"warn: the log level could not be set: no",
		},
		{"alone", "speaks 2026-07-28\n" + logging, "", ""},
		{"alone and undeclared", "speaks 2026-07-28\ntool x\n", "", "warn: the server does not declare logging"},
	} {
		server := connecttest.Play(t, c.script)
		env, user := connecttest.Env(t, server.URL)
		env.LogLevel = "info"
		dial(t, env, connect.Options{RequireServerInfo: true})
		got, shown := strings.Join(server.Params("logging/setLevel"), " "), strings.Join(user.Shown(), "\n")
		if got != c.want || !strings.HasPrefix(shown, c.shown) || (shown == "") != (c.shown == "") {
			t.Errorf("%s: sent %s, shown %q", c.name, got, shown)
		}
	}
}

// Unusable entries are left out of a list with a warning; names that several tools have are a warning, too.
func TestListingsWarnOfUnusableEntries(t *testing.T) {
	t.Parallel()
	const a = `{"name":"a","inputSchema":{"type":"object"}}`
	const script = `speaks 2025-11-25
capabilities {"tools":{},"prompts":{},"resources":{}}
on tools/list
    result {"tools":[` + a + `,{"inputSchema":{"type":"object"}},` + a + `]}
on prompts/list
    result {"prompts":[{"name":"p"},{"name":7}]}
on resources/list
    result {"resources":[{"uri":"test://r","name":"r"}]}
on resources/templates/list
    error -32601 no
`
	const twice = `warn: the server lists 2 tools named "a": use --index to call one`
	for _, taken := range []bool{false, true} {
		server := connecttest.Play(t, script)
		env, user := connecttest.Env(t, server.URL)
		c := dial(t, env, connect.Options{})
		var l connect.Listing
		var rows collector
		var left []string
		for _, k := range connect.Kinds[:4] {
			var out wire.Outcome
			var isLeft bool
			if taken {
				out, isLeft = l.Take(t.Context(), c, k, true, connect.Taking{
					Rows: &rows,
					JSON: connect.NewItems(spool.Dir(t.TempDir())),
				})
			} else {
				out, isLeft = l.Add(t.Context(), c, k, true, true)
			}
			if isLeft {
				left = append(left, k.Many)
			} else if !out.OK() {
				t.Errorf("%s: %s", k.Many, ended(out))
			}
		}
		shown := user.Shown()
		for _, want := range []string{
			"warn: entry 1 from tools/list is omitted: ", twice,
			"warn: entry 1 from prompts/list is omitted: ",
			"warn: resources/templates/list is omitted: the server does not have this method",
		} {
			if !slices.ContainsFunc(shown, func(text string) bool { return strings.HasPrefix(text, want) }) {
				t.Errorf("taken %t: %q is not in %q", taken, want, shown)
			}
		}
		if l.Shown != 4 || l.Unusable != 2 || !slices.Equal(left, []string{"templates"}) || len(l.Lists) != 3 ||
			len(l.Messages) != 3 {
			t.Errorf("taken %t: %d shown, %d unusable, %q left out, %d lists", taken, l.Shown, l.Unusable, left, len(l.Lists))
		}
		if taken {
			var b strings.Builder
			if err := l.Lists[2].WriteJSON(&b); err != nil ||
				b.String() != `{"resources":[{"uri":"test://r","name":"r"}]}`+"\n" {
				t.Errorf("written: %s, %v", b.String(), err)
			}
			if rows.count != 4 {
				t.Errorf("%d rows", rows.count)
			}
			continue
		}
		if got := string(l.Result(true)); !strings.HasSuffix(got, `"resources":[{"uri":"test://r","name":"r"}]}`) ||
			!strings.HasPrefix(got, `{"tools":[`) {
			t.Errorf("together: %s", got)
		}
	}
}

// A collector takes the rows of lists.
type collector struct {
	count int
	names []string
}

func (r *collector) Take(e connect.Entries) {
	r.count += e.Count()
	r.names = append(r.names, connect.ToolNames(e.Tools)...)
}

func (r *collector) Empty() { r.names = nil }

func (r *collector) Special() []string { return r.names }

// A tool is found by its name; a missing tool is reported with the name that was perhaps meant.
func TestDefineFindsToolsByName(t *testing.T) {
	t.Parallel()
	const script = "speaks 2026-07-28\ntool one\ntool two\ntool twice\ntool twice\n" +
		`tool {"name":"broken","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}` +
		"\n"
	for _, c := range []struct {
		name  string
		index int
		want  string // the name, or how the outcome begins
	}{
		{"one", 0, "one"},
		{"one", 1, "one"},
		{"twice", 1, "twice"},
		{"twice", 2, "twice"},
		{"one", 2, `invalid_arguments | the server lists 1 tool called "one" | (--index selects one, from 1 to 1`},
		{"twice", 0, `invalid_arguments | the server lists 2 tools called "twice"`},
		{"twice", 3, `invalid_arguments | the server lists 2 tools called "twice" | (--index selects one, from 1 to 2`},
		{"onee", 0, `invalid_arguments | the server has no tool "onee" | (did you mean one?)`},
		{"zzzzzz", 0, `invalid_arguments | the server has no tool "zzzzzz" | (there are: broken, one, twice, twice, two; ` +
			`mcpc call zzzzzz --no-validate calls one that is not listed)`},
		{"broken", 0, "invalid_arguments | broken from tools/list is omitted: "},
		{"test://x", 0, `invalid_arguments | the server has no tool "test://x" | (for a resource: mcpc read test://x)`},
	} {
		env, _ := connecttest.Env(t, connecttest.Play(t, script).URL)
		env.Index = c.index
		conn := dial(t, env, connect.Options{})
		tool, out := conn.Define(t.Context(), c.name)
		got := ended(out)
		if tool != nil {
			got = tool.Name
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %d: %s, want %s", c.name, c.index, got, c.want)
		}
	}
}

// Of a list only the pages up to the tool are fetched, unless all of it is remembered.
func TestDefineFetchesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	const script = "speaks 2025-11-25\ncapabilities {\"tools\":{}}\n" +
		"on tools/list\n    result " + `{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}` + "\n" +
		"on tools/list #2\n    result " + `{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}` + "\n"
	for _, c := range []struct {
		how     connect.Options
		session bool
		want    int
	}{{connect.Options{}, false, 1}, {connect.Options{MultiCall: true}, false, 2}, {connect.Options{}, true, 2}} {
		server := connecttest.Play(t, script)
		env, _ := connecttest.Env(t, server.URL)
		if c.session {
			put(t, env, state.Session{Name: "box", Endpoint: server.URL, Transport: "http", Revision: "2025-11-25"})
			env.Server = "box"
		}
		conn := dial(t, env, c.how)
		if _, out := conn.DefineOnce(t.Context(), "a"); !out.OK() || len(server.Requests("tools/list")) != c.want {
			t.Errorf("%+v: %d requests, %s", c, len(server.Requests("tools/list")), ended(out))
		}
	}
}

// In a conversation of many calls a list is fetched when it is stale, at most once a minute where calls come quickly,
// and after a notification that it changed.
func TestWhenAListIsFetchedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		how     connect.Options
		ttl     string
		later   time.Duration
		changed bool
		name2   string
		want    int
	}{
		{"at once", connect.Options{MultiCall: true}, "60000", 0, false, "x", 1},
		{"fresh", connect.Options{MultiCall: true}, "60000", 59 * time.Second, false, "x", 1},
		{"stale", connect.Options{MultiCall: true}, "60000", 60 * time.Second, false, "x", 2},
		{"no promise", connect.Options{MultiCall: true}, "0", 0, false, "x", 2},
		{"no promise and quick", connect.Options{MultiCall: true, FewLists: true}, "0", 59 * time.Second, false, "x", 1},
		{"no promise, a minute later", connect.Options{MultiCall: true, FewLists: true}, "0", time.Minute, false, "x", 2},
		{"another name", connect.Options{MultiCall: true}, "60000", time.Second, false, "y", 2},
		{"another name, quickly", connect.Options{MultiCall: true, FewLists: true}, "60000", time.Second, false, "y", 1},
		{
			"another name, a minute later",
			connect.Options{MultiCall: true, FewLists: true},
			"600000", time.Minute, false,
			"y", 1,
		},
		{"another name, later", connect.Options{MultiCall: true, FewLists: true}, "600000", time.Minute + 1, false, "y", 2},
		{"forgotten", connect.Options{MultiCall: true}, "60000", 0, true, "x", 2},
	} {
		server := connecttest.Play(t, "speaks 2026-07-28\ntool x\non tools/list\n    result "+
			`{"tools":[{"name":"x","inputSchema":{"type":"object"}}],`+
			`"resultType":"complete","ttlMs":`+c.ttl+`,"cacheScope":"private"}`+"\n")
		env, _ := connecttest.Env(t, server.URL)
		now := connecttest.Start
		env.Now = func() time.Time { return now }
		conn := dial(t, env, c.how)
		define := func(name string) {
			if conn.Remembered(name) == nil {
				_, _ = conn.DefineOnce(t.Context(), name)
			}
		}
		define("x")
		now = now.Add(c.later)
		if c.changed {
			conn.ForgetLists()
		}
		define(c.name2)
		if got := len(server.Requests("tools/list")); got != c.want {
			t.Errorf("%s: %d lists", c.name, got)
		}
	}
}

// A notification of a changed list makes a remembered one useless.
func TestAChangedListIsForgotten(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, `speaks 2025-11-25
capabilities {"tools":{"listChanged":true},"prompts":{}}
tool x
on prompts/list
    result {"prompts":[{"name":"p"}]}
on ping
    sse
    event {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
    event {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}
    event {"jsonrpc":"2.0","id":$ID,"result":{}}
`)
	env, _ := connecttest.Env(t, server.URL)
	c := dial(t, env, connect.Options{})
	if _, out := c.Define(t.Context(), "x"); !out.OK() || c.Remembered("x") == nil {
		t.Fatal("it is not remembered")
	}
	if _, out := c.Listed(t.Context(), connect.PromptKind, nil); !out.OK() ||
		c.RememberedEntry(connect.PromptKind, "p") == nil {
		t.Fatal("the prompt is not remembered")
	}
	if got := c.SuggestKind(connect.ToolKind,
		"p"); got.String() != "there is a prompt with this name: mcpc prompt p" {
		t.Error(got.String())
	}
	if out := c.Do(t.Context(), client.Call{Method: "ping"}); !out.OK() {
		t.Fatal(ended(out))
	}
	if c.Remembered("x") != nil || c.LastKnown("x") != nil || c.RememberedEntry(connect.PromptKind, "p") != nil {
		t.Error("they are still remembered")
	}
}

// Progress and log messages are shown without secrets; who takes notifications gets all of them.
func TestNotificationsAreShown(t *testing.T) {
	t.Parallel()
	const progress = `{"progressToken":$TOKEN,"progress":1,"message":"half of s3cret-value-1"}`
	const log = `{"level":"info","logger":"l","data":"it is s3cret-value-1"}`
	const script = `speaks 2025-11-25
tool x
on ping
    sse
    event {"jsonrpc":"2.0","method":"notifications/progress","params":` + progress + `}
    event {"jsonrpc":"2.0","method":"notifications/message","params":` + log + `}
    event {"jsonrpc":"2.0","id":$ID,"result":{}}
`
	for _, takes := range []bool{false, true} {
		env, user := connecttest.Env(t, connecttest.Play(t, script).URL)
		env.Headers = []string{"X-Api-Key: s3cret-value-1"}
		var taken []string
		how := connect.Options{}
		if takes {
			how.OnNotification = func(m *wire.Message) { taken = append(taken, m.Method) }
		}
		c := dial(t, env, how)
		if out := c.Do(t.Context(), client.Call{Method: "ping", Progress: true}); !out.OK() {
			t.Fatal(ended(out))
		}
		shown := strings.Join(user.Shown(), "\n")
		if strings.Contains(shown, "s3cret") || !strings.HasPrefix(shown, "progress: half of ") ||
			strings.Contains(shown, "\nlog: info l \"it is ") == takes || (len(taken) == 2) != takes {
			t.Errorf("takes %t: shown %q, taken %q", takes, shown, taken)
		}
	}
}

// A message that breaks its revision is a warning, and with --strict the end of a command.
func TestMalformedMessages(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		env, user := connecttest.Env(t, connecttest.Play(t, `speaks 2025-11-25
tool x
on ping
    sse
    event {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}}
    event {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":2}}
    event {"jsonrpc":"2.0","id":$ID,"result":{}}
`).URL)
		env.Strict = strict
		c := dial(t, env, connect.Options{})
		if out := c.Do(t.Context(), client.Call{Method: "ping"}); !out.OK() {
			t.Fatal(ended(out))
		}
		warned := slices.DeleteFunc(user.Shown(), func(text string) bool { return !strings.HasPrefix(text, "warn: ") })
		out := c.Close(t.Context())
		if len(warned) != 1 || (out.Kind == wire.BadResponse) != strict {
			t.Errorf("strict %t: %q, %s", strict, warned, ended(out))
		}
	}
}

// The number of tools that a server lists for a user who can be asked is compared with that for scripts.
func TestNoteListLength(t *testing.T) {
	t.Parallel()
	env, user := connecttest.Env(t, connecttest.Demo(t, demo.Options{}))
	for _, c := range []struct {
		person bool
		count  int
		want   string
	}{
		{false, 3, ""},
		{true, 3, ""},
		{
			true, 5,
			"note: without elicitation, which mcpc declares at a terminal, the server listed 3 tools",
		},
		{false, 3, "note: with elicitation, which mcpc declares at a terminal, the server listed 5 tools"},
		{false, 6, ""},
	} {
		conn := dial(t, again(env), connect.Options{})
		user.AtTerminal = c.person
		list := connect.Sorted{Kind: connect.ToolKind, List: client.List{IsComplete: true, Count: c.count}}
		conn.NoteListLength(t.Context(), list, true)
		if shown := strings.Join(user.Shown(), "\n"); !strings.HasPrefix(shown, c.want) || (shown == "") != (c.want == "") {
			t.Errorf("%+v: %q", c, shown)
		}
	}
}

// The demo server is spoken to inside of the process, and listed as any other.
func TestDemoPipe(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "demo")
	c := dial(t, env, connect.Options{RequireServerInfo: true})
	if _, out := c.Define(t.Context(), "get-sum"); !out.OK() || c.ServerInfo() == nil {
		t.Error(ended(out))
	}
	for _, k := range []connect.Kind{connect.ResourceKind, connect.TemplateKind, connect.SkillKind} {
		list, out := c.Listed(t.Context(), k, nil)
		if e := c.SortEntries(k, list); !out.OK() || e.Count() == 0 || e.Count() != list.Count {
			t.Errorf("%s: %d of %d, %s", k.Many, e.Count(), list.Count, ended(out))
		}
	}
	raw, out := c.Entry(t.Context(), connect.PromptKind, "no-such-prompt")
	if raw != nil || !strings.HasPrefix(ended(out), `invalid_arguments | the server has no prompt "no-such-prompt"`) {
		t.Error(ended(out))
	}
}

// A server is kept if it is a command, for the idle time of --idle.
func TestOnlyCommandsAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keep connect.Keeping
		ok   bool
	}{
		{connect.Keeping{}, true},
		{connect.Keeping{On: true, Idle: time.Second}, true},
		{connect.Keeping{Idle: time.Second}, false},
	} {
		if err := c.keep.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.keep, err)
		}
	}
	for server, want := range map[string]string{
		"demo":                   "the demo server runs inside mcpc",
		"http://127.0.0.1:1/mcp": "over HTTP the server keeps",
	} {
		env, _ := connecttest.Env(t, server)
		c, out := connect.Dial(t.Context(), env, connect.Options{NoResume: true, Keep: &connect.Keeping{On: true}})
		if out.Kind != wire.Usage || !strings.Contains(out.Text, want) {
			t.Errorf("%s: %s", server, ended(out))
		}
		c.Close(t.Context())
	}
	held := state.Session{Name: "box", Command: []string{"run"}, Held: &state.KeptServer{Socket: "/s", Idle: time.Minute}}
	for _, c := range []struct {
		name string
		conn *connect.Conn
		want bool
	}{
		{"a command", &connect.Conn{OneOff: &state.Session{Command: []string{"run"}}}, true},
		{"a URL", &connect.Conn{OneOff: &state.Session{Endpoint: "http://h/mcp"}}, false},
		{"a kept one", &connect.Conn{Saved: &held}, false},
	} {
		if got := c.conn.StartsServer(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// The end of a kept server is explained, with its idle time if that was over.
func TestALostServerIsExplained(t *testing.T) {
	t.Parallel()
	held := &state.Session{Name: "box", Held: &state.KeptServer{
		Socket: filepath.Join(os.TempDir(), "none", "s"),
		Idle:   time.Minute,
	}}
	for _, c := range []struct {
		name string
		held *state.Session
		idle time.Duration
		out  wire.Outcome
		want string
	}{
		{
			"gone", held, time.Second,
			wire.Outcome{Kind: wire.Transport, Err: keepalive.ErrGone},
			`transport | the server of session "box" has exited | (mcpc init --keep box starts it again)`,
		},
		{
			"idle", held, time.Minute,
			wire.Outcome{Kind: wire.Transport, Err: keepalive.ErrGone},
			`transport | the server of session "box" has exited: it was idle for `,
		},
		{
			"another failure", held, 0,
			wire.Outcome{Kind: wire.Transport, Text: "broken"},
			"transport | broken | (mcpc init --keep box starts it again)",
		},
		{"another kind", held, 0, wire.Outcome{Kind: wire.Timeout, Text: "late"}, "timeout | late"},
		{"not kept", nil, 0, wire.Outcome{Kind: wire.Transport, Text: "broken"}, "transport | broken"},
	} {
		env, _ := connecttest.Env(t, "")
		env.Held, env.HeldUsed = c.held, connecttest.Start.Add(-c.idle)
		if got := ended(connect.Explain(env, c.out)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// The capabilities that the server gets are the ones that the flags and the user can answer.
func TestOfferedCapabilitiesFollowFlagsAndUser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		flags  host.Answers
		person bool
		want   string
	}{
		{"nothing", host.Answers{}, false, "{}"},
		{"a person", host.Answers{}, true, `{"elicitation":{"form":{},"url":{}}}`},
		{"fields", host.Answers{Answers: []string{"a=1"}}, false, `{"elicitation":{"form":{}}}`},
		{"--decline", host.Answers{Decline: true}, false, `{"elicitation":{"form":{},"url":{}}}`},
		{"--on-elicit", host.Answers{OnElicit: "x"}, false, `{"elicitation":{"form":{},"url":{}}}`},
		{"sampling", host.Answers{OnSampling: "x"}, false, `{"sampling":{}}`},
		{"roots", host.Answers{Roots: []string{os.TempDir()}}, false, `{"roots":{}}`},
		{
			"extensions",
			host.Answers{Extensions: []string{"a/b", `c/d={"e":1}`}},
			false,
			`{"extensions":{"a/b":{},"c/d":{"e":1}}}`,
		},
	} {
		server := connecttest.Play(t, "speaks 2025-11-25\ntool x\n")
		env, user := connecttest.Env(t, server.URL)
		env.Asker = func(*host.Env, host.Server, host.Answers, bool) (client.Asker, error) {
			return func(context.Context, client.InputRequest) client.Answer { return client.Answer{} }, nil
		}
		env.Answers, user.AtTerminal = c.flags, c.person
		conn := dial(t, env, connect.Options{})
		if string(conn.Promised) != c.want {
			t.Errorf("%s: %s", c.name, conn.Promised)
		}
		sent := jsonraw.First(server.Requests("initialize")[0].Message.Params, "capabilities")
		members, _ := jsonraw.Object(json.RawMessage(c.want))
		for _, m := range members {
			if jsonraw.First(sent, m.Name) == nil {
				t.Errorf("%s: %s is not declared: %s", c.name, m.Name, sent)
			}
		}
	}
}

// A session that was opened without what the flags offer stays, and the command opens a separate
// session.
func TestASessionWithoutTheCapabilities(t *testing.T) {
	t.Parallel()
	for declared, own := range map[string]bool{"{}": true, `{"sampling":{}}`: false} {
		server := connecttest.Play(t, "speaks 2025-11-25\nsession s-1\ntool x\n")
		env, user := connecttest.Env(t, "box")
		env.Asker = func(*host.Env, host.Server, host.Answers, bool) (client.Asker, error) {
			return func(context.Context, client.InputRequest) client.Answer { return client.Answer{} }, nil
		}
		env.Answers = host.Answers{OnSampling: "x"}
		put(t, env, state.Session{
			Name: "box", Endpoint: server.URL, Transport: "http", Revision: "2025-11-25",
			SessionID: "s-0",
			Declared:  json.RawMessage(declared),
		})
		c := dial(t, env, connect.Options{})
		shown := strings.Join(user.Shown(), "\n")
		if c.Passing != own || (len(server.Requests("initialize")) == 1) != own ||
			strings.HasPrefix(shown, "note: session box was opened without") != own {
			t.Errorf("%s: passing %t, shown %q", declared, c.Passing, shown)
		}
	}
}

// Nothing answers at the default URL: the hint shows how to name a server.
func TestUnreachableDefaultURLIsExplained(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "http://127.0.0.1:1/mcp")
	c, out := connect.Dial(t.Context(), env, connect.Options{})
	defer c.Close(t.Context())
	if out.Kind != wire.Transport || out.Part != wire.BeforeOperation || out.Reached != wire.Unsent {
		t.Errorf("%+v", out)
	}
	refused := wire.Outcome{Kind: wire.Usage, Text: fmt.Sprint("not ", "this")}
	env, _ = connecttest.Env(t, "http://127.0.0.1:1/mcp")
	if _, out := connect.Dial(t.Context(), env,
		connect.Options{Fits: func(*connect.Conn) wire.Outcome { return refused }}); out.Text != "not this" {
		t.Error(ended(out))
	}
}

// An entry is found by what asks for it, else by the name beside that.
func TestEntriesAreFound(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, `speaks 2025-11-25
capabilities {"resources":{}}
on resources/list
    result {"resources":[{"uri":"test://one","name":"o"},{"uri":"test://two","name":"test://one"}]}
`)
	for name, want := range map[string]string{
		"test://one": "test://one", "test://two": "test://two", "o": "test://one", "x": "",
	} {
		env, _ := connecttest.Env(t, server.URL)
		raw, out := dial(t, env, connect.Options{}).Entry(t.Context(), connect.ResourceKind, name)
		uri, _ := jsonraw.Text(jsonraw.First(raw, "uri"))
		if uri != want || out.OK() != (want != "") {
			t.Errorf("%s: found %q, %s", name, uri, ended(out))
		}
	}
}

// Tools are remembered for the header fields that they were listed with: another user may see others.
func TestToolsAreRememberedByFields(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, "speaks 2025-11-25\ntool x\n")
	env, _ := connecttest.Env(t, server.URL)
	env.Headers = []string{"X-User: a"}
	if _, out := dial(t, env, connect.Options{}).Define(t.Context(), "x"); !out.OK() {
		t.Fatal(ended(out))
	}
	for field, want := range map[string]bool{"X-User: a": true, "X-User: b": false, "X-Other: a": false} {
		next := again(env)
		next.Headers = []string{field}
		if got := dial(t, next, connect.Options{}).LastKnown("x") != nil; got != want {
			t.Errorf("with %s: known %t", field, got)
		}
	}
}
