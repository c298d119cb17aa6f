package gateway_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/gateway"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/wire"
)

// A front is a gateway before some servers.
type front struct {
	g *gateway.Gateway

	mu   sync.Mutex
	told []string
}

// said returns the messages to the user until now, one per line.
func (f *front) said() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.told, "\n")
}

// behind returns a gateway and its servers, named one, two and three, which play scripts. A script may be the URL of a
// server.
func behind(t *testing.T, change func(*gateway.Options), scripts ...string) (*front, []*connecttest.Server) {
	t.Helper()
	f := &front{}
	o := gateway.Options{Token: rand.Text, Now: time.Now, Version: "1.2.3", Tell: func(text string,
		stderr ...string,
	) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.told = append(append(f.told, text), stderr...)
	}}
	servers := make([]*connecttest.Server, len(scripts))
	folder := t.TempDir()
	for i, script := range scripts {
		url := script
		if !strings.HasPrefix(script, "http") {
			servers[i] = connecttest.Play(t, script)
			url = servers[i].URL
		}
		name := []string{"one", "two", "three"}[i]
		o.Members = append(o.Members, gateway.Member{Name: name, Given: "cursor:" + name, ID: name, Env: func() (*host.Env,
			func(),
		) {
			env, _ := connecttest.Env(t, url)
			env.State = folder
			return env, func() {}
		}})
	}
	if change != nil {
		change(&o)
	}
	f.g = gateway.New(o)
	t.Cleanup(f.g.Close)
	return f, servers
}

// A pipe is a client of a gateway over stdio.
type pipe struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Scanner
	id     int
	opened *wire.Message // the response to initialize
	// between are the messages that came before the last response.
	between []*wire.Message
	// asked answers a request of the server; nil answers no request.
	asked func(m *wire.Message) json.RawMessage
}

// connectTo opens a pipe to the gateway, and a session in it with these capabilities.
func (f *front) connectTo(t *testing.T, capabilities string) *pipe {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	done := make(chan bool)
	go func() {
		defer close(done)
		_ = f.g.Stdio(context.Background(), inRead, outWrite)
		outWrite.Close()
	}()
	t.Cleanup(func() {
		inWrite.Close()
		go func() { _, _ = io.Copy(io.Discard, outRead) }()
		<-done
	})
	p := &pipe{t: t, in: inWrite, out: bufio.NewScanner(outRead)}
	p.out.Buffer(nil, 1<<20)
	const self = `"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"}`
	p.opened = p.call("initialize", "{"+self+`,"capabilities":`+capabilities+"}")
	p.send(wire.ComposeNotification("notifications/initialized", nil))
	return p
}

func (p *pipe) send(raw []byte) {
	p.t.Helper()
	if _, err := p.in.Write(append(raw, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// call sends a request and returns its response.
func (p *pipe) call(method, params string) *wire.Message {
	p.t.Helper()
	p.id++
	id := json.RawMessage(fmt.Sprint(p.id))
	p.send(wire.ComposeRequest(id, method, json.RawMessage(params)))
	p.between = nil
	for p.out.Scan() {
		m := wire.ParseMessage(slices.Clone(p.out.Bytes()))
		switch {
		case m.Kind == wire.Request && p.asked != nil:
			p.send(wire.ComposeResult(m.ID, p.asked(m)))
		case m.Kind != wire.Request && m.Kind != wire.Notification && string(m.ID) == string(id):
			return m
		}
		p.between = append(p.between, m)
	}
	p.t.Fatalf("%s: the pipe has ended", method)
	return nil
}

// answer is a response as tables have it: the result, or the code and the text of the error.
func answer(m *wire.Message) string {
	if m.Error != nil {
		return fmt.Sprintf("%d %s", m.Error.Code, m.Error.Message)
	}
	return string(m.Result)
}

// names returns the names of the entries in a list.
func names(m *wire.Message, list, member string) string {
	items, _ := jsonraw.Array(jsonraw.First(m.Result, list))
	var all []string
	for _, item := range items {
		all = append(all, jsonraw.TextOrRaw(jsonraw.First(item, member)))
	}
	return strings.Join(all, " ")
}

const earlier = "speaks 2025-11-25\n"

// tools are statements for tools that take any object.
func tools(names ...string) (script string) {
	for _, name := range names {
		script += "tool " + name + ` {"type":"object"}` + "\n"
	}
	return script
}

// Tools are listed with the names of their servers before theirs, called by these, and sent with their own.
func TestToolsOfSeveralServers(t *testing.T) {
	t.Parallel()
	f, servers := behind(t, nil, earlier+tools("add", "say"), "speaks 2026-07-28\n"+tools("add"))
	p := f.connectTo(t, "{}")
	if got := names(p.call("tools/list", "{}"), "tools", "name"); got != "one__add one__say two__add" {
		t.Errorf("listed %s", got)
	}
	for _, c := range []struct{ params, want string }{
		{`{"name":"one__say","arguments":{"a":1}}`, `{"content":[{"type":"text","text":"{\"a\":1}"}]}`},
		{`{"name":"two__add","arguments":{"b":2}}`, `{"content":[{"type":"text","text":"{\"b\":2}"}]}`},
		{`{"name":"two__say"}`, "-32602 Unknown tool: two__say"},
		{`{"name":"add"}`, "-32602 Unknown tool: add"},
		{`{"name":"three__add"}`, "-32602 Unknown tool: three__add"},
		{`{"name":"one__add","Name":"one__say"}`, "-32602 params has Name beside name"},
	} {
		if got := answer(p.call("tools/call", c.params)); got != c.want {
			t.Errorf("%s: %s", c.params, got)
		}
	}
	if got := servers[0].Params("tools/call"); !slices.Equal(got, []string{`{"name":"say","arguments":{"a":1}}`}) {
		t.Errorf("sent %q", got)
	}
	if got := answer(p.call("tools/list", `{"cursor":"x"}`)); !strings.HasPrefix(got, "-32602 unknown cursor") {
		t.Error(got)
	}
	if got := answer(p.call("no/such", "{}")); got != "-32601 Method not found" {
		t.Error(got)
	}
	if got := answer(p.call("ping", "{}")); got != "{}" {
		t.Error(got)
	}
}

// --allow and --deny decide which tools are served; a pattern that matches no tool is reported.
func TestAllowAndDeny(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, deny []string
		want, said  string
	}{
		{nil, nil, "one__add one__say two__add", ""},
		{[]string{"one/*"}, nil, "one__add one__say", ""},
		{[]string{"*/add"}, []string{"two/*"}, "one__add", ""},
		{[]string{"cursor:two/add"}, nil, "two__add", ""},
		{nil, []string{"*/say", "x/*"}, "one__add two__add", "--deny x/* matches no tool"},
		{[]string{"*", "y"}, []string{"*"}, "", "--allow y matches no tool"},
	} {
		f, _ := behind(t, func(o *gateway.Options) { o.Allow, o.Deny = c.allow, c.deny }, earlier+tools("add", "say"),
			earlier+tools("add"))
		p := f.connectTo(t, "{}")
		if got := names(p.call("tools/list", "{}"), "tools", "name"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if said := f.said(); !strings.HasPrefix(said, c.said) || (said == "") != (c.said == "") {
			t.Errorf("%+v: said %q", c, said)
		}
		got := answer(p.call("tools/call", `{"name":"one__say"}`))
		if served := strings.Contains(c.want, "one__say"); strings.Contains(got,
			"the tool one__say is not served") == served {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Without prefixes two tools of one name are a conflict; of resources and prompts the first is served.
func TestConflicts(t *testing.T) {
	t.Parallel()
	const more = `capabilities {"tools":{},"resources":{},"prompts":{}}
on resources/list
    result {"resources":[{"uri":"test://r","name":"r"},{"name":"none"}]}
on prompts/list
    result {"prompts":[{"name":"p"},{"name":"p"}]}
`
	f, _ := behind(t, func(o *gateway.Options) { o.Plain = true }, earlier+tools("add")+more, earlier+tools("add")+more)
	p := f.connectTo(t, "{}")
	const conflict = "-32603 one and two both list the tool add: " +
		"mcpc serve needs --deny for one of them, or no --no-prefix"
	if got := answer(p.call("tools/list", "{}")); got != conflict {
		t.Error(got)
	}
	if got := names(p.call("resources/list", "{}"), "resources", "uri"); got != "test://r" {
		t.Error(got)
	}
	if got := names(p.call("prompts/list", "{}"), "prompts", "name"); got != "p" {
		t.Error(got)
	}
	said := f.said()
	for _, want := range []string{
		"two lists 1 resource that one lists too: read from one",
		"one: an entry of a list is left out: ",
		"one lists the prompt p more than once: the first is served",
	} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not once in %q", want, said)
		}
	}
}

// A request for a resource goes to the server that lists it, that has a template for it, or that alone has resources.
func TestRoutesOfResources(t *testing.T) {
	t.Parallel()
	resources := func(uri, template, text string) string {
		return earlier + `capabilities {"resources":{}}` + "\non resources/list\n    result {\"resources\":[" + uri + "]}\n" +
			"on resources/templates/list\n    result {\"resourceTemplates\":[" + template + "]}\n" +
			"on resources/read\n    result {\"contents\":[{\"uri\":\"x\",\"text\":\"" + text + "\"}]}\n" +
			"on completion/complete\n    result {\"completion\":{\"values\":[\"" + text + "\"]}}\n"
	}
	one := resources(`{"uri":"test://a","name":"a"}`, `{"uriTemplate":"one://{x}","name":"t"}`, "from one")
	two := resources(`{"uri":"test://b","name":"b"}`, `{"uriTemplate":"two://{x}","name":"t"}`, "from two")
	f, _ := behind(t, nil, one, two)
	p := f.connectTo(t, "{}")
	for uri, want := range map[string]string{
		"test://a": "from one", "test://b": "from two", "one://1": "from one", "two://1": "from two",
		"test://c": "-32002 no server lists the resource test://c or a template for it; it may belong to one, two",
	} {
		if got := answer(p.call("resources/read", `{"uri":"`+uri+`"}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", uri, got)
		}
	}
	const ref = `{"ref":{"type":"ref/resource","uri":"two://{x}"},"argument":{"name":"x","value":""}}`
	if got := answer(p.call("completion/complete", ref)); !strings.Contains(got, "from two") {
		t.Error(got)
	}
	if got := names(p.call("resources/templates/list", "{}"), "resourceTemplates",
		"uriTemplate"); got != "one://{x} two://{x}" {
		t.Error(got)
	}
	f, _ = behind(t, nil, one, earlier+tools("x"))
	p = f.connectTo(t, "{}")
	if got := answer(p.call("resources/read", `{"uri":"test://c"}`)); !strings.Contains(got, "from one") {
		t.Errorf("the only one: %s", got)
	}
	f, _ = behind(t, nil, earlier+tools("x"))
	p = f.connectTo(t, "{}")
	if got := answer(p.call("resources/read", `{"uri":"test://c"}`)); !strings.Contains(got,
		"no server that is connected has resources") {
		t.Errorf("none: %s", got)
	}
}

// A prompt is got by its shown name, and so is a completion for it.
func TestPrompts(t *testing.T) {
	t.Parallel()
	f, servers := behind(t, nil, earlier+`capabilities {"prompts":{},"completions":{}}
on prompts/list
    result {"prompts":[{"name":"p.1"}]}
on prompts/get
    result {"messages":[]}
on completion/complete
    result {"completion":{"values":["v"]}}
`)
	p := f.connectTo(t, "{}")
	name := names(p.call("prompts/list", "{}"), "prompts", "name")
	if !strings.HasPrefix(name, "one__p_1_") {
		t.Errorf("listed %s", name)
	}
	p.call("prompts/get", `{"name":"`+name+`","arguments":{"a":"b"}}`)
	p.call("completion/complete", `{"ref":{"type":"ref/prompt","name":"`+name+`"},"argument":{"name":"a","value":""}}`)
	if got := servers[0].Params("prompts/get"); !slices.Equal(got, []string{`{"name":"p.1","arguments":{"a":"b"}}`}) {
		t.Errorf("sent %q", got)
	}
	want := `{"ref":{"type":"ref/prompt","name":"p.1"},"argument":{"name":"a","value":""}}`
	if got := servers[0].Params("completion/complete"); !slices.Equal(got, []string{want}) {
		t.Errorf("sent %q", got)
	}
	if got := answer(p.call("prompts/get", `{"name":"one__q"}`)); got != "-32602 Unknown prompt: one__q" {
		t.Error(got)
	}
}

// A server that is not there has one tool in the list, which returns the reason, as its other tools do.
func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, nil, earlier+tools("add"), "http://127.0.0.1:1/mcp")
	p := f.connectTo(t, "{}")
	for range 2 {
		if got := names(p.call("tools/list", "{}"), "tools", "name"); got != "one__add two__status" {
			t.Error(got)
		}
	}
	if got := answer(p.call("tools/call", `{"name":"two__status"}`)); !strings.Contains(got, `the server \"two\": `) {
		t.Error(got)
	}
	if got := answer(p.call("tools/call", `{"name":"one__status"}`)); !strings.Contains(got, "the server answers again") {
		t.Error(got)
	}
	if said := f.said(); strings.Count(said, "two is left out: ") != 1 {
		t.Errorf("said %q", said)
	}
	got := answer(p.call("tools/call", `{"name":"two__x"}`))
	if !strings.Contains(got, `the server \"two\": `) || !strings.HasSuffix(got, `"isError":true}`) {
		t.Error(got)
	}
	if got := answer(p.call("prompts/get", `{"name":"two__x"}`)); !strings.HasPrefix(got, `-32603 the server "two": `) {
		t.Error(got)
	}
}

// A request that is cancelled while the server has not answered yet has no response.
func TestACancelledRequest(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case asked <- true:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	f, _ := behind(t, nil, silent.URL)
	p := f.connectTo(t, "{}")
	p.send(wire.ComposeRequest(json.RawMessage(`"c"`), "tools/call", json.RawMessage(`{"name":"one__x"}`)))
	<-asked
	p.send(wire.ComposeNotification("notifications/cancelled", json.RawMessage(`{"requestId":"c"}`)))
	p.in.Close()
	for p.out.Scan() {
		if m := wire.ParseMessage(p.out.Bytes()); string(m.ID) == `"c"` {
			t.Errorf("the response is %s", p.out.Bytes())
		}
	}
}

// Errors of a server, progress and log messages of a call come to the client as its own.
func TestErrorsProgressAndLogsReachTheCaller(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, nil, earlier+"capabilities {\"tools\":{},\"logging\":{}}\n"+tools("slow", "bad")+`on logging/setLevel
    result {}
on tools/call #1
    sse
    event {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":1}}
    event {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"l","data":"d"}}
    event {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}
on tools/call #2
    error -32055 broken | {"why":1}
`)
	p := f.connectTo(t, "{}")
	if got := answer(p.call("logging/setLevel", `{"level":"info"}`)); got != "{}" {
		t.Error(got)
	}
	if got := answer(p.call("logging/setLevel", `{"level":"loud"}`)); got != "-32602 unknown log level: loud" {
		t.Error(got)
	}
	slow := p.call("tools/call", `{"name":"one__slow","_meta":{"progressToken":"mine"}}`)
	if got := answer(slow); got != `{"content":[]}` {
		t.Error(got)
	}
	var got []string
	for _, m := range p.between {
		got = append(got, m.Method+" "+jsonraw.TextOrRaw(jsonraw.First(m.Params,
			"progressToken"))+jsonraw.TextOrRaw(jsonraw.First(m.Params, "logger")))
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"notifications/message one/l", "notifications/progress mine"}) {
		t.Errorf("before the response: %q", got)
	}
	m := p.call("tools/call", `{"name":"one__bad"}`)
	if answer(m) != "-32055 broken" || !strings.Contains(string(m.Error.Raw), `"data":{"why":1}`) {
		t.Errorf("%s", m.Raw)
	}
}

// A question of a server is asked to the client of its call, and the answer comes back to it.
func TestQuestions(t *testing.T) {
	t.Parallel()
	const question = `{"method":"elicitation/create","params":{"mode":"form","message":"m",` +
		`"requestedSchema":{"type":"object","properties":{}}}}`
	const asks = `on tools/call #1
    result {"resultType":"input_required","inputRequests":{"q":` + question + `},"requestState":"s"}
`
	f, servers := behind(t, nil, "speaks 2026-07-28\n"+tools("ask")+asks)
	p := f.connectTo(t, `{"elicitation":{}}`)
	var asked []string
	p.asked = func(m *wire.Message) json.RawMessage {
		asked = append(asked, m.Method)
		return json.RawMessage(`{"action":"accept","content":{}}`)
	}
	if got := answer(p.call("tools/call", `{"name":"one__ask","arguments":{}}`)); !strings.HasPrefix(got, `{"content":[`) {
		t.Error(got)
	}
	sent := servers[0].Params("tools/call")
	if len(sent) != 2 || !strings.Contains(sent[1], `"inputResponses":{"q":{"action":"accept","content":{}}}`) ||
		!slices.Equal(asked, []string{"elicitation/create"}) {
		t.Errorf("sent %q, asked %q", sent, asked)
	}
}

// overHTTP connects a client of mcpc's own to the gateway over HTTP.
func (f *front) overHTTP(t *testing.T, protocol string, as *connect.Stand) *connect.Conn {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server := httptest.NewServer(f.g.Handler(ctx))
	env, _ := connecttest.Env(t, server.URL)
	env.Protocol = protocol
	c, out := connect.Dial(t.Context(), env, connect.Options{RequireServerInfo: true, As: as})
	t.Cleanup(func() {
		c.Close(context.Background())
		stop()
		server.Close()
	})
	if !out.OK() {
		t.Fatal(out.Text)
	}
	return c
}

// Over HTTP both eras are served, and a question is asked in the way of the client's, whatever the server's is.
func TestQuestionsOverHTTP(t *testing.T) {
	t.Parallel()
	demoServer := connecttest.Demo(t, demo.Options{})
	const earlierEra, laterEra = "2025-11-25", "2026-07-28"
	for _, c := range []struct{ client, server string }{
		{earlierEra, earlierEra}, {earlierEra, laterEra}, {laterEra, earlierEra}, {laterEra, laterEra},
	} {
		var connections atomic.Int32
		f, _ := behind(t, func(o *gateway.Options) {
			connects := o.Members[0].Env
			o.Members[0].Env = func() (*host.Env, func()) {
				connections.Add(1)
				env, end := connects()
				env.Protocol = c.server
				return env, end
			}
		}, demoServer)
		var asked atomic.Int32
		var conn *connect.Conn
		conn = f.overHTTP(t, c.client, &connect.Stand{
			Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`),
			Asker: func(ctx context.Context, _ client.InputRequest) client.Answer {
				asked.Add(1)
				other := json.RawMessage(`{"name":"one__get-sum","arguments":{"a":1,"b":2}}`)
				if out := conn.Do(ctx, client.Call{Method: "tools/call", Params: other}); !out.OK() {
					t.Errorf("%+v: a call besides: %s %s", c, out.Kind, out.Text)
				}
				return client.Answer{Result: json.RawMessage(`{"action":"accept","content":{"name":"Ann-of-the-test"}}`)}
			},
		})
		if got := connect.ServerName(conn.ServerInfo()); got != "mcpc serve (mcpc-serve) 1.2.3" {
			t.Error(got)
		}
		all, out := conn.Tools(t.Context(), nil)
		if !out.OK() || !slices.Contains(connect.ToolNames(all.Tools), "one__get-sum") {
			t.Errorf("%+v: %s %q", c, out.Text, connect.ToolNames(all.Tools))
		}
		params := json.RawMessage(`{"name":"one__trigger-elicitation-request","arguments":{}}`)
		out = conn.Do(t.Context(), client.Call{Method: "tools/call", Params: params})
		if !out.OK() || asked.Load() != 1 || !strings.Contains(string(out.Result), "Ann-of-the-test") {
			t.Errorf("%+v: asked %d times, %s %s %s", c, asked.Load(), out.Kind, out.Text, out.Result)
		}
		want := int32(1)
		if c.client == laterEra && c.server == earlierEra { // a question over a shared line may be of another client
			want = 2
		}
		if got := connections.Load(); got != want {
			t.Errorf("%+v: %d connections", c, got)
		}
	}
}

// A request that comes back with the answer to no question, or with another request's, is refused.
func TestUnknownRequestState(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, func(o *gateway.Options) { o.Token = func() string { return "token" } }, earlier+tools("x"))
	conn := f.overHTTP(t, "2026-07-28", nil)
	for _, state := range []string{"token-1", "another"} {
		params := json.RawMessage(`{"name":"one__x","arguments":{},"requestState":"` + state + `"}`)
		out := conn.Do(t.Context(), client.Call{Method: "tools/call", Params: params})
		if refused := strings.HasPrefix(out.Text, "unknown requestState"); refused != (state == "token-1") {
			t.Errorf("%s: %s %s", state, out.Kind, out.Text)
		}
	}
}

// until reads to the next notification with a method.
func (p *pipe) until(method string) *wire.Message {
	p.t.Helper()
	for p.out.Scan() {
		if m := wire.ParseMessage(slices.Clone(p.out.Bytes())); m.Method == method {
			return m
		}
	}
	p.t.Fatalf("no %s: the pipe has ended", method)
	return nil
}

// The client is notified of a changed list.
func TestClientIsNotifiedOfChangedList(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, nil, connecttest.Demo(t, demo.Options{}))
	p := f.connectTo(t, "{}")
	before := names(p.call("prompts/list", "{}"), "prompts", "name")
	p.send(wire.ComposeRequest(json.RawMessage(`"c"`), "tools/call",
		json.RawMessage(`{"name":"one__change-list","arguments":{"list":"prompts"}}`)))
	p.until("notifications/prompts/list_changed")
	if got := names(p.call("prompts/list", "{}"), "prompts", "name"); strings.Contains(before, "one__extra") ||
		!strings.Contains(got, "one__extra") {
		t.Errorf("%s, then %s", before, got)
	}
}

const watched = earlier + `capabilities {"resources":{"subscribe":true},"tools":{}}
tool touch
on GET
    sse
    hang
on resources/list
    result {"resources":[{"uri":"test://r","name":"r"}]}
on resources/subscribe
    result {}
on resources/unsubscribe
    result {}
on tools/call
    sse
    event {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://r"}}
    event {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}
`

// A client that watches a resource is notified of its changes; several clients are one subscription at the server.
func TestWatchedResources(t *testing.T) {
	t.Parallel()
	f, servers := behind(t, nil, watched)
	p := f.connectTo(t, "{}")
	if got := answer(p.call("resources/subscribe", `{"uri":"test://none"}`)); got != "{}" {
		t.Errorf("of the only server: %s", got)
	}
	for range 2 {
		if got := answer(p.call("resources/subscribe", `{"uri":"test://r"}`)); got != "{}" {
			t.Error(got)
		}
	}
	if got := servers[0].Params("resources/subscribe"); !slices.Equal(got, []string{
		`{"uri":"test://none"}`,
		`{"uri":"test://r"}`,
	}) {
		t.Errorf("sent %q", got)
	}
	p.send(wire.ComposeRequest(json.RawMessage(`"c"`), "tools/call",
		json.RawMessage(`{"name":"one__touch","arguments":{}}`)))
	if m := p.until("notifications/resources/updated"); string(m.Params) != `{"uri":"test://r"}` {
		t.Errorf("%s", m.Raw)
	}
	if got := answer(p.call("resources/unsubscribe", `{"uri":"test://r"}`)); got != "{}" {
		t.Error(got)
	}
	await(t, servers[0], "resources/unsubscribe")
}

// Two subscriptions of stateless clients are one subscription at the server, which has it before the clients
// get the acknowledgement. That leaves out a resource that the server does not report on.
func TestSubscriptionsOfClientsShareOneAtTheServer(t *testing.T) {
	t.Parallel()
	refuses := strings.Replace(watched, "on resources/subscribe\n", "on resources/subscribe #1\n    error -32002 none\non resources/subscribe\n", 1)
	f, servers := behind(t, nil, refuses)
	conn := f.overHTTP(t, "2026-07-28", nil)
	refused, end := context.WithCancel(t.Context())
	conn.Listen(refused, client.ListenRequest{
		SubscriptionFilter: client.SubscriptionFilter{URIs: []string{"test://none"}},
		Began: func(agreed client.SubscriptionFilter) {
			if len(agreed.URIs) > 0 {
				t.Errorf("a subscription that the server refuses is acknowledged: %q", agreed.URIs)
			}
			end()
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began := make(chan client.SubscriptionFilter, 2)
	ended := make(chan wire.Outcome, 2)
	for range 2 {
		go func() {
			filter := client.SubscriptionFilter{Tools: true, URIs: []string{"test://r"}}
			request := client.ListenRequest{SubscriptionFilter: filter}
			request.Began = func(agreed client.SubscriptionFilter) { began <- agreed }
			ended <- conn.Listen(ctx, request)
		}()
	}
	for range 2 {
		select {
		case agreed := <-began:
			if !agreed.Tools || !slices.Equal(agreed.URIs, []string{"test://r"}) {
				t.Errorf("agreed %+v", agreed)
			}
		case out := <-ended:
			t.Fatalf("%s %s", out.Kind, out.Text)
		}
		if !slices.Contains(servers[0].Params("resources/subscribe"), `{"uri":"test://r"}`) {
			t.Error("the client got the acknowledgement before the server got the subscription")
		}
	}
	stop()
	<-ended
	<-ended
	// Its end may come before the response of the server, and is then not sent.
	got := slices.DeleteFunc(servers[0].Params("resources/subscribe"), func(p string) bool { return p != `{"uri":"test://r"}` })
	if len(got) != 1 {
		t.Errorf("%d subscriptions at the server", len(got))
	}
}

// await waits until a server got a request with a method.
func await(t *testing.T, server *connecttest.Server, method string) {
	t.Helper()
	for start := time.Now(); len(server.Requests(method)) == 0; runtime.Gosched() {
		if time.Since(start) > time.Minute {
			t.Fatalf("the server did not get %s", method)
		}
	}
}

// A server that finds the header fields out of date is listed again, and asked again.
func TestHeaderFieldsThatAreOutOfDate(t *testing.T) {
	t.Parallel()
	const mismatch = "on tools/call #1\n    status 400\n    error -32020 Header mismatch\n"
	f, servers := behind(t, nil, "speaks 2026-07-28\n"+tools("x")+mismatch)
	p := f.connectTo(t, "{}")
	if got := answer(p.call("tools/call", `{"name":"one__x","arguments":{}}`)); !strings.HasPrefix(got, `{"content":[`) {
		t.Error(got)
	}
	if calls, lists := len(servers[0].Requests("tools/call")), len(servers[0].Requests("tools/list")); calls != 2 ||
		lists != 2 {
		t.Errorf("%d calls, %d lists", calls, lists)
	}
}

// The instructions name the servers, and say what the names mean.
func TestInstructions(t *testing.T) {
	t.Parallel()
	for plain, want := range map[bool]string{
		false: "These are the tools, prompts and resources of several MCP servers: one, two. " +
			"The name of a tool or prompt begins with that of its server and __.",
		true: "These are the tools, prompts and resources of several MCP servers: one, two.",
	} {
		f, _ := behind(t, func(o *gateway.Options) { o.Plain = plain }, earlier+tools("x"), earlier+tools("y"))
		for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
			if got := f.overHTTP(t, protocol, nil).Info().Instructions; got != want {
				t.Errorf("%t, %s: %s", plain, protocol, got)
			}
		}
	}
}
