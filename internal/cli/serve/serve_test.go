package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/cli"
	"mcpc/internal/client"
	"mcpc/internal/demo"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A served is a run of `mcpc serve` in this process.
type served struct {
	t       *testing.T
	in, out *os.File // the client's ends of its streams
	said    *said
	signals chan os.Signal
	code    chan int
}

// said is its standard error.
type said struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    strings.Builder
	over    bool
}

func (s *said) read(from io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		s.mu.Lock()
		s.text.Write(buf[:n])
		s.over = err != nil
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// match waits until standard error matches, and gives the match.
func (s *said) match(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if m := re.FindStringSubmatch(s.text.String()); m != nil {
			return m
		}
		if s.over {
			t.Fatalf("standard error has no %s:\n%s", pattern, s.text.String())
		}
		s.changed.Wait()
	}
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// serve starts it.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	in, clientIn := pipe()
	clientOut, out := pipe()
	errs, errOut := pipe()
	s := &served{t: t, in: clientIn, out: clientOut, said: &said{}, signals: make(chan os.Signal, 1), code: make(chan int, 1)}
	s.said.changed = sync.NewCond(&s.said.mu)
	go s.said.read(errs)
	f := cli.New(in, out, errOut)
	env := map[string]string{"HOME": t.TempDir()}
	f.Getenv, f.Environ, f.Now, f.Version = func(name string) string { return env[name] }, func() []string { return nil }, time.Now, "1.2.3"
	go func() {
		code, _ := cli.Run(f, append([]string{"serve", "--state", env["HOME"] + "/state"}, args...), s.signals)
		out.Close()
		errOut.Close()
		s.code <- code
	}()
	t.Cleanup(func() {
		s.in.Close()
		select {
		case s.signals <- os.Interrupt:
		default:
		}
		<-s.code
		s.code <- 0
		s.out.Close()
		in.Close()
	})
	return s
}

// ends closes the input and waits for the exit code.
func (s *served) ends() int {
	s.in.Close()
	code := <-s.code
	s.code <- code
	return code
}

// A user is a client of it.
type user struct {
	*client.Session
	t     *testing.T
	notes chan *wire.Message
	// asked are the questions that it was asked.
	mu    sync.Mutex
	asked []client.InputRequest
}

const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}`

// open connects a client of a revision, over HTTP where url is not "".
func (s *served) open(revision, url string, capabilities string) *user {
	s.t.Helper()
	u := &user{t: s.t, notes: make(chan *wire.Message, 1000)}
	opt := client.Options{
		Protocol: revision, Version: "9", Capabilities: json.RawMessage(capabilities), Verbatim: true, Now: time.Now, Asker: u.answer, GetStream: true,
		Notified: func(m *wire.Message) { u.notes <- m },
	}
	if opt.Server.URL = url; url == "" {
		opt.Server.Pipe = func() (io.Reader, io.WriteCloser) { return s.out, s.in }
	}
	var out wire.Outcome
	if u.Session, out = client.Open(s.t.Context(), opt); !out.OK() {
		s.t.Fatalf("%s: %s\n%s", revision, out.Text, s.said)
	}
	s.t.Cleanup(func() { u.Close(context.Background(), true) })
	return u
}

func (u *user) answer(_ context.Context, q client.InputRequest) client.Answer {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, q)
	switch {
	case q.Method == "roots/list":
		return client.Answer{Result: json.RawMessage(`{"roots":[{"uri":"file:///one","name":"one"}]}`)}
	case q.Method == "sampling/createMessage":
		return client.Answer{Result: json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"sampled"}}`)}
	case strings.Contains(string(q.Params), `"tea"`):
		return client.Answer{Result: json.RawMessage(`{"action":"accept","content":{"tea":"green"}}`)}
	case strings.Contains(string(q.Params), `"sugar"`):
		return client.Answer{Result: json.RawMessage(`{"action":"accept","content":{"sugar":2}}`)}
	case strings.Contains(string(q.Params), `"mode":"url"`):
		return client.Answer{Result: json.RawMessage(`{"action":"accept"}`)}
	}
	return client.Answer{Result: json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)}
}

func (u *user) do(method, params string) wire.Outcome {
	u.t.Helper()
	return u.Do(u.t.Context(), client.Call{Method: method, Params: json.RawMessage(params)})
}

// call calls a tool and gives the text of the result.
func (u *user) call(tool, arguments string) string {
	u.t.Helper()
	out := u.do("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	if out.Message == nil {
		return "no message: " + out.Text
	}
	if out.Message.Error != nil {
		return "error: " + string(out.Message.Error.Raw)
	}
	content, _ := jsonraw.Array(jsonraw.First(out.Result, "content"))
	var texts []string
	for _, block := range content {
		texts = append(texts, jsonraw.TextOrRaw(jsonraw.First(block, "text")))
	}
	return strings.Join(texts, "\n")
}

// names are the names of a list.
func (u *user) names(method, member, key string) (names []string) {
	u.t.Helper()
	out := u.do(method, `{}`)
	if !out.OK() {
		u.t.Fatalf("%s: %s %s", method, out.Kind, out.Text)
	}
	items, _ := jsonraw.Array(jsonraw.First(out.Result, member))
	for _, item := range items {
		names = append(names, jsonraw.TextOrRaw(jsonraw.First(item, key)))
	}
	return names
}

func (u *user) tools() []string { return u.names("tools/list", "tools", "name") }

// note waits for a notification.
func (u *user) note(method string) *wire.Message {
	u.t.Helper()
	for {
		select {
		case m := <-u.notes:
			if m.Method == method {
				return m
			}
		case <-u.t.Context().Done():
			u.t.Fatal("no " + method)
		}
	}
}

// eachPair runs a test for each revision of a client and of a server, over stdio and HTTP, with a server inside the
// process and one over HTTP.
func eachPair(t *testing.T, test func(t *testing.T, u *user)) {
	web := httptest.NewServer(demo.Handler(demo.Options{Now: time.Now}))
	t.Cleanup(web.Close)
	for _, theirs := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, ours := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			for _, over := range []string{"stdio", "http"} {
				for _, server := range []string{"demo=demo", "demo=" + web.URL + "/mcp"} {
					_, address, _ := strings.Cut(server, "=")
					where, _, _ := strings.Cut(address, ":")
					t.Run(fmt.Sprintf("client-%s-%s/server-%s-%s", ours, over, theirs, where), func(t *testing.T) {
						if over == "stdio" {
							test(t, serve(t, server, "--protocol", theirs).open(ours, "", everything))
							return
						}
						s := serve(t, server, "--protocol", theirs, "--http", "0")
						test(t, s.open(ours, s.said.match(t, `listening on (\S+);`)[1], everything))
					})
				}
			}
		}
	}
}

func TestCallsInEachPairOfRevisions(t *testing.T) {
	eachPair(t, func(t *testing.T, u *user) {
		if got := u.call("demo__get-sum", `{"a":1,"b":2}`); !strings.Contains(got, "is 3") {
			t.Error(got)
		}
		if out := u.do("tools/call", `{"name":"demo__fail"}`); out.Kind != wire.ToolError {
			t.Errorf("a tool error: %s %s", out.Kind, out.Text)
		}
		out := u.do("tools/call", `{"name":"demo__raise-protocol-error","arguments":{"code":-32055,"message":"mine"}}`)
		if e := out.RPCError(); e == nil || e.Code != -32055 || !strings.Contains(e.Message, "mine") {
			t.Errorf("an error: %s %s", out.Kind, out.Text)
		}
		if got := u.names("prompts/list", "prompts", "name"); len(got) == 0 || !strings.HasPrefix(got[0], "demo__") {
			t.Errorf("prompts: %q", got)
		}
		if out := u.do("resources/read", `{"uri":"demo://resource/static/document/instructions.md"}`); !out.OK() {
			t.Errorf("resources/read: %s", out.Text)
		}
	})
}

func TestQuestionsInEachPairOfRevisions(t *testing.T) {
	eachPair(t, func(t *testing.T, u *user) {
		if got := u.call("demo__order-tea", `{}`); got != "Tea for Ada: green, sugar 2." {
			t.Error(got)
		}
		if got := u.call("demo__trigger-elicitation-request", `{}`); !strings.Contains(got, "Ada") {
			t.Error(got)
		}
		if got := u.call("demo__trigger-sampling-request", `{"prompt":"x"}`); !strings.Contains(got, "sampled") {
			t.Error(got)
		}
		if got := u.call("demo__get-roots-list", `{}`); !strings.Contains(got, "one") {
			t.Error(got)
		}
	})
}

func TestChangesInEachPairOfRevisions(t *testing.T) {
	eachPair(t, func(t *testing.T, u *user) {
		const uri = "demo://resource/static/document/instructions.md"
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		began := make(chan client.SubscriptionFilter, 10)
		var listening sync.WaitGroup
		defer listening.Wait()
		defer stop()
		listening.Go(func() {
			u.Listen(ctx, client.ListenRequest{
				SubscriptionFilter: client.SubscriptionFilter{Tools: true, Prompts: true, Resources: true, URIs: []string{uri}},
				Began:              func(agreed client.SubscriptionFilter) { began <- agreed },
			})
		})
		if agreed := <-began; len(agreed.URIs) != 1 {
			t.Fatalf("agreed: %+v", agreed)
		}
		before := len(u.tools())
		for _, remove := range []bool{false, true} {
			if got := u.call("demo__change-list", fmt.Sprintf(`{"list":"tools","remove":%v}`, remove)); strings.HasPrefix(got, "error") {
				t.Fatal(got)
			}
			u.note("notifications/tools/list_changed")
			if after := len(u.tools()); (after == before) != remove {
				t.Errorf("%d tools, then %d", before, after)
			}
		}
		u.call("demo__touch-resource", fmt.Sprintf(`{"uri":%q}`, uri))
		if m := u.note("notifications/resources/updated"); !strings.Contains(string(m.Params), uri) {
			t.Errorf("%s", m.Params)
		}
	})
}

func TestEndOfInput(t *testing.T) {
	s := serve(t, "demo=demo")
	u := s.open("2025-06-18", "", `{}`)
	u.tools()
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d: %s", code, s.said)
	}
}
