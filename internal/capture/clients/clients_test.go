package clients

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

var update = flag.Bool("update", false, "write the answers of the testdata anew")

// compare returns the clients of some files.
func compare(t *testing.T, paths ...string) []*Client {
	t.Helper()
	var r Reader
	for _, path := range paths {
		c, err := rows.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Add(c, func(*rows.Row) bool { return true }); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	return Compare(r.Conversations())
}

// answers returns the answers as text: a line for each client, and one for each value.
func answers(clients []*Client) string {
	var b strings.Builder
	for _, c := range clients {
		fmt.Fprintf(&b, "%s %s, %s, conversations %d, requests %d\n",
			c.Name, c.Version, c.Transport, c.Conversations, c.Requests)
		for _, f := range c.Facts {
			if f.Value != NotSeen {
				fmt.Fprintf(&b, "  %s: %s ×%d %s\n", f.Name, f.Value, f.Count, strings.Join(f.Exchanges, " "))
			}
		}
	}
	return b.String()
}

// The recordings are shortened ones of real clients. Each answer in the .txt files was read by hand
// against the traffic.
func TestAnswersOfRealClients(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	if err != nil || len(samples) < 8 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			got := answers(compare(t, name))
			golden := strings.TrimSuffix(name, ".jsonl") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A client is one client in all recordings, and each fact has an entry.
func TestClientsOfSeveralRecordings(t *testing.T) {
	name := filepath.Join("testdata", "go-sdk.jsonl")
	one := compare(t, name)
	both := compare(t, name, copyOf(t, name, func(text []byte) []byte { return text }), filepath.Join("testdata", "mcpc.jsonl"))
	if len(both) != 2 || both[0].Conversations != 2*one[0].Conversations || both[0].Requests != 2*one[0].Requests {
		t.Errorf("got %s", answers(both))
	}
	for _, c := range both {
		for i, f := range c.Facts {
			if f.Question == "" || f.Exchanges == nil || (f.Value == NotSeen) != (f.Count == 0) {
				t.Errorf("fact %d of %s: %+v", i, c.Name, f)
			}
		}
		if len(c.Facts) < len(Facts) {
			t.Errorf("%d facts", len(c.Facts))
		}
	}
	if got, _ := json.Marshal(both[1]); !bytes.Contains(got, []byte(
		`{"name":"resumes","question":"Does it resume streams with Last-Event-ID?","value":"not seen","count":0,"exchanges":[]}`)) {
		t.Errorf("got %s", got)
	}
}

// copyOf writes an edited copy of a file and returns its path.
func copyOf(t *testing.T, name string, edit func(text []byte) []byte) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.jsonl")
	if err := os.WriteFile(path, edit(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Two facts are planted in the recording of a real client: these two answers change, and no other.
func TestPlantedFactsChangeTheirAnswersOnly(t *testing.T) {
	name := filepath.Join("testdata", "ai-sdk.jsonl")
	before := compare(t, name)
	after := compare(t, copyOf(t, name, func(text []byte) []byte {
		declined := []byte(`{\"action\":\"decline\"}`)
		page := []byte(`{\"method\":\"tools/list\",\"params\":{\"cursor\":\"p2\"}`)
		if bytes.Count(text, declined) != 1 || bytes.Count(text, page) != 3 {
			t.Fatal("the recording is not the expected one")
		}
		text = bytes.Replace(text, declined, []byte(`{\"action\":\"cancel\"}`), 1)
		// Another cursor than the one of the result.
		return bytes.ReplaceAll(text, page, []byte(`{\"method\":\"tools/list\",\"params\":{\"cursor\":\"p3\"}`))
	}))
	var changed []string
	for i, f := range before[0].Facts {
		if g := after[0].Facts[i]; f.Name != g.Name || f.Value != g.Value {
			changed = append(changed, f.Name+" "+f.Value+" "+g.Value)
		}
	}
	if diff := cmp.Diff([]string{"pages yes no", "elicitation decline cancel"}, changed); diff != "" {
		t.Error(diff)
	}
}

// A recording of a proxy, in which several clients take turns in any order, has the same answers
// for each client. Only the numbers of the exchanges differ.
func TestOtherClientsDoNotChangeTheAnswers(t *testing.T) {
	var all [][]wire.Frame // of each client
	var want []*Client
	for _, name := range []string{"ts-sdk-v1", "ts-sdk-v2", "go-sdk", "mcpc"} {
		path := filepath.Join("testdata", name+".jsonl")
		all = append(all, framesOf(t, path))
		want = append(want, compare(t, path)...)
	}
	slices.SortFunc(want, func(a, b *Client) int { return strings.Compare(a.Name, b.Name) })
	for seed := range uint64(20) {
		rest := slices.Clone(all)
		random := rand.New(rand.NewPCG(seed, 1))
		b := capture.AppendHead(nil, capture.Head{Started: time.Unix(0, 0), By: capture.ByProxy})
		for seq := uint64(1); ; seq++ {
			var open []int
			for i, frames := range rest {
				if len(frames) > 0 {
					open = append(open, i)
				}
			}
			if len(open) == 0 {
				break
			}
			i := open[random.IntN(len(open))]
			f := rest[i][0]
			rest[i] = rest[i][1:]
			f.Seq = seq
			f.Conn = f.Conn*len(all) + i
			f.Stream = f.Stream*len(all) + i
			b = capture.AppendFrame(b, f)
		}
		path := filepath.Join(t.TempDir(), "many.jsonl")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(withoutNumbers(want), withoutNumbers(compare(t, path))); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// framesOf returns the frames of a recording.
func framesOf(t *testing.T, path string) (frames []wire.Frame) {
	t.Helper()
	c, err := rows.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.EachFrame(func(_ int, f wire.Frame) error {
		frames = append(frames, f)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return frames
}

// withoutNumbers returns copies of clients without the numbers of exchanges.
func withoutNumbers(clients []*Client) []Client {
	var all []Client
	for _, c := range clients {
		bare := *c
		bare.Facts = slices.Clone(c.Facts)
		for i := range bare.Facts {
			bare.Facts[i].Exchanges = nil
		}
		all = append(all, bare)
	}
	return all
}

// recordingOf returns a recording of a proxy or tap with some frames, a second after each other.
func recordingOf(t *testing.T, by string, frames ...wire.Frame) string {
	t.Helper()
	b := capture.AppendHead(nil, capture.Head{Started: time.Unix(0, 0), By: by})
	for i, f := range frames {
		f.Seq = uint64(i + 1)
		f.Time = time.Unix(int64(i), 0)
		b = capture.AppendFrame(b, f)
	}
	path := filepath.Join(t.TempDir(), "made.jsonl")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// body returns a message. The text begins with > for a message of the client.
func body(text string) wire.Frame {
	f := wire.Frame{Raw: []byte(`{"jsonrpc":"2.0",` + text[1:] + `}`)}
	if text[0] == '<' {
		f.Dir = wire.Received
	}
	return f
}

// valuesOfFact returns the values of a fact with their exchanges.
func valuesOfFact(c *Client, name string) string {
	var values []string
	for _, f := range c.Facts {
		if f.Name == name {
			values = append(values, strings.Join(append([]string{f.Value}, f.Exchanges...), " "))
		}
	}
	return strings.Join(values, ", ")
}

// What no recorded client does, or only some do, over stdio.
func TestFactsOverStdio(t *testing.T) {
	const listed = `<"id":1,"result":{"tools":[]}`
	const list = `>"id":1,"method":"tools/list"`
	const list2 = `>"id":2,"method":"tools/list"`
	const roots = `>"id":1,"method":"initialize","params":{"capabilities":{"roots":{}}}`
	const forms = `>"id":1,"method":"initialize","params":{"capabilities":{"elicitation":{"form":{}}}}`
	const opened = `<"id":1,"result":{"protocolVersion":"2025-11-25"}`
	meta := func(rest string) string {
		return `"params":{` + rest + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	}
	call := func(id, rest string) string { return `>"id":` + id + `,"method":"tools/call",` + rest }
	big := `"big":"` + strings.Repeat("x", 10_000) + `"`
	for name, c := range map[string]struct {
		fact, want string
		messages   []string
	}{
		"no list before the change": {"lists-again", NotSeen, []string{
			`<"method":"notifications/tools/list_changed"`, list, listed,
		}},
		"another list":          {"lists-again", NotSeen, []string{list, listed, `<"method":"notifications/prompts/list_changed"`, call("2", `"params":{}`), `<"id":2,"result":{}`}},
		"lists again":           {"lists-again", "yes 3", []string{list, listed, `<"method":"notifications/tools/list_changed"`, list, listed}},
		"ends after the change": {"lists-again", NotSeen, []string{list, listed, `<"method":"notifications/tools/list_changed"`, call("2", `"params":{}`)}},
		"continues without":     {"lists-again", "no 2", []string{list, listed, `<"method":"notifications/tools/list_changed"`, call("2", `"params":{}`), `<"id":2,"result":{}`}},
		"an escaped cursor":     {"pages", "yes 2", []string{list, `<"id":1,"result":{"nextCursor":"é/"}`, `>"id":2,"method":"tools/list","params":{"cursor":"\u00e9\/"}`}},
		"an empty cursor":       {"empty-cursor", "yes 2", []string{list, `<"id":1,"result":{"nextCursor":""}`, `>"id":2,"method":"tools/list","params":{"cursor":""}`}},
		"a null cursor":         {"pages", NotSeen, []string{list, `<"id":1,"result":{"nextCursor":null}`, list, listed}},
		"a large page":          {"pages", "yes 2", []string{list, `<"id":1,"result":{` + big + `,"nextCursor":"n"}`, `>"id":2,"method":"tools/list","params":{"cursor":"n"}`}},
		"ping without an answer": {"ping", "no 2", []string{
			list, listed, `<"id":1,"method":"ping"`, list, listed,
		}},
		"ping at the end":  {"ping", NotSeen, []string{list, listed, `<"id":1,"method":"ping"`}},
		"equal calls":      {"repeats-calls", "yes 2", []string{call("1", `"params":{"name":"a",`+big+`}`), `<"id":1,"result":{}`, call("2", `"params":{"name":"a",`+big+`}`)}},
		"no response":      {"repeats-calls", "no 2", []string{call("1", `"params":{"name":"a"}`), call("2", `"params":{"name":"a"}`), `<"id":2,"result":{}`}},
		"unequal calls":    {"repeats-calls", "no 2", []string{call("1", `"params":{"name":"a",`+big+`}`), `<"id":1,"result":{}`, call("2", `"params":{`+big+`,"name":"b"}`)}},
		"before the end":   {"respects-ttl", "no 2", []string{`>"id":1,"method":"tools/list",` + meta(""), `<"id":1,"result":{"ttlMs":60000}`, `>"id":2,"method":"tools/list",` + meta("")}},
		"after the end":    {"respects-ttl", "yes 2", []string{`>"id":1,"method":"tools/list",` + meta(""), `<"id":1,"result":{"ttlMs":500}`, `>"id":2,"method":"tools/list",` + meta("")}},
		"after a change":   {"respects-ttl", NotSeen, []string{`>"id":1,"method":"tools/list",` + meta(""), `<"id":1,"result":{"ttlMs":60000}`, `<"method":"notifications/tools/list_changed"`, `>"id":2,"method":"tools/list",` + meta("")}},
		"another page":     {"respects-ttl", NotSeen, []string{`>"id":1,"method":"tools/list",` + meta(""), `<"id":1,"result":{"ttlMs":60000}`, `>"id":2,"method":"tools/list",` + meta(`"cursor":"n",`)}},
		"no ttl":           {"respects-ttl", NotSeen, []string{`>"id":1,"method":"tools/list",` + meta(""), `<"id":1,"result":{"ttlMs":0}`, `>"id":2,"method":"tools/list",` + meta("")}},
		"a subscription":   {"listens", "subscription 2", []string{`>"id":1,"method":"tools/list",` + meta(""), listed, `>"id":2,"method":"subscriptions/listen",` + meta("")}},
		"initialized":      {"initialized", "no 1", []string{`>"id":1,"method":"initialize","params":{}`, `<"id":1,"result":{"protocolVersion":"2025-11-25"}`, list, listed}},
		"a failed opening": {"initialized", NotSeen, []string{`>"id":1,"method":"initialize","params":{}`, `<"id":1,"error":{"code":1,"message":"x"}`, list, listed}},
		"a cancellation":   {"cancels", "notification 1", []string{call("1", `"params":{}`), `>"method":"notifications/cancelled","params":{"requestId":1}`}},
		"no capability":    {"capabilities", "none 1", []string{`>"id":1,"method":"initialize","params":{"capabilities":{}}`}},
		"some": {"capabilities", "a, b.c 1", []string{
			`>"id":1,"method":"initialize","params":{"capabilities":{"b":{"c":{},"d":false},"a":{}}}`,
		}},
		"ping": {"ping", "yes 2", []string{list, listed, `<"id":7,"method":"ping"`, `>"id":7,"result":{}`}},
		"input": {"sampling", "yes 1", []string{
			call("1", meta("")), `<"id":1,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage"}},"requestState":"s"}`,
			call("2", meta(`"requestState":"s","inputResponses":{"k":{"role":"user"}},`)), `<"id":2,"result":{}`,
		}},
		"no input": {"sampling", "no 1", []string{
			call("1", meta("")), `<"id":1,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage"}}}`, list, listed,
		}},
		"works":                              {"works-with", "2026-07-28 1", []string{`>"id":1,"method":"tools/list",` + meta(""), listed}},
		"an empty cursor that ends the list": {"empty-cursor", "no 1", []string{list, `<"id":1,"result":{"nextCursor":""}`, call("2", `"params":{}`), `<"id":2,"result":{}`}},
		"an empty cursor is no other one":    {"pages", NotSeen, []string{list, `<"id":1,"result":{"nextCursor":""}`, call("2", `"params":{}`), `<"id":2,"result":{}`}},
		"a claim":                            {"keeps-claims", "yes 2", []string{roots, opened, `<"id":7,"method":"roots/list"`, `>"id":7,"error":{"code":-1,"message":"x"}`}},
		"a lie":                              {"keeps-claims", "no 2", []string{roots, opened, `<"id":7,"method":"roots/list"`, `>"id":7,"error":{"code":-32601,"message":"x"}`}},
		"a silent lie":                       {"keeps-claims", "no 2", []string{roots, opened, `<"id":7,"method":"roots/list"`, list2, `<"id":2,"result":{"tools":[]}`}},
		"no claim":                           {"keeps-claims", NotSeen, []string{roots, opened, `<"id":7,"method":"sampling/createMessage"`, `>"id":7,"error":{"code":-32601,"message":"x"}`}},
		"no claim of a mode":                 {"keeps-claims", NotSeen, []string{forms, opened, `<"id":7,"method":"elicitation/create","params":{"mode":"url"}`, `>"id":7,"error":{"code":-32601,"message":"x"}`}},
		"a form":                             {"elicitation", "accept 2", []string{forms, opened, `<"id":7,"method":"elicitation/create"`, `>"id":7,"result":{"action":"accept"}`}},
		"a page":                             {"elicitation-url", "accept 2", []string{forms, opened, `<"id":7,"method":"elicitation/create","params":{"mode":"url"}`, `>"id":7,"result":{"action":"accept"}`}},
		"unknown":                            {"unknown-request", "yes 2", []string{roots, opened, `<"id":7,"method":"x/y"`, `>"id":7,"error":{"code":-32601,"message":"x"}`}},
		"another code":                       {"unknown-request", "error -32600 2", []string{roots, opened, `<"id":7,"method":"x/y"`, `>"id":7,"error":{"code":-32600,"message":"x"}`}},
		"a result of unknown":                {"unknown-request", "no 2", []string{roots, opened, `<"id":7,"method":"x/y"`, `>"id":7,"result":{}`}},
		"a late response":                    {"late-response", "yes 1", []string{call("1", `"params":{}`), `>"method":"notifications/cancelled","params":{"requestId":1}`, `<"id":1,"result":{}`, list2, `<"id":2,"result":{"tools":[]}`}},
		"two responses":                      {"two-responses", "yes 1", []string{list, listed, listed, list2, `<"id":2,"result":{"tools":[]}`}},
		"a cancellation in time":             {"cancels-in-flight", "yes 1", []string{call("1", `"params":{}`), `>"method":"notifications/cancelled","params":{"requestId":1}`}},
		"a late cancellation":                {"cancels-in-flight", "no 1", []string{call("1", `"params":{}`), `<"id":1,"result":{}`, list2, `<"id":2,"result":{"tools":[]}`, `>"method":"notifications/cancelled","params":{"requestId":1}`}},
		"unknown content":                    {"unknown-content", "yes 1", []string{call("1", `"params":{}`), `<"id":1,"result":{"content":[{"type":"x"}]}`, list2, `<"id":2,"result":{"tools":[]}`}},
		"known content":                      {"unknown-content", NotSeen, []string{call("1", `"params":{}`), `<"id":1,"result":{"content":[{"type":"audio"}]}`, list2, `<"id":2,"result":{"tools":[]}`}},
		"an unknown notification":            {"unknown-notification", "yes 2", []string{list, listed, `<"method":"notifications/x"`, list2, `<"id":2,"result":{"tools":[]}`}},
		"progress that extends": {"progress-extends", "yes 2", []string{
			call("1", `"params":{}`), `>"method":"notifications/cancelled","params":{"requestId":1}`,
			call("2", `"params":{"_meta":{"progressToken":5}}`), `<"method":"notifications/progress","params":{"progressToken":5,"progress":1}`, `<"id":2,"result":{}`,
		}},
		"progress that does not": {"progress-extends", "no 2", []string{
			call("1", `"params":{}`), `>"method":"notifications/cancelled","params":{"requestId":1}`,
			call("2", `"params":{"_meta":{"progressToken":5}}`), `<"method":"notifications/progress","params":{"progressToken":5,"progress":1}`,
			`>"method":"notifications/cancelled","params":{"requestId":2}`,
		}},
		"a strange action": {"elicitation", "other value 2", []string{
			list, listed, `<"id":1,"method":"elicitation/create"`, `>"id":1,"result":{"action":"maybe"}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var frames []wire.Frame
			for _, text := range c.messages {
				frames = append(frames, body(text))
			}
			got := compare(t, recordingOf(t, capture.ByTap, frames...))
			if len(got) != 1 || got[0].Transport != Stdio {
				t.Fatalf("got %s", answers(got))
			}
			if got := valuesOfFact(got[0], c.fact); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGoodAndBadValues(t *testing.T) {
	for _, c := range []struct {
		fact, value string
		want        string
	}{
		{"pages", yes, "good"},
		{"pages", no, "bad"},
		{"pages", NotTried, ""},
		{"listens", "GET", ""},
		{"large-result", stops, "bad"},
		{"large-result", reconnects, ""},
		{"retry-after", early, "bad"},
		{"works-with", not + "2024-11-05", "bad"},
		{"repeats-calls", yes, "bad"},
		{"repeats-calls", no, "good"},
	} {
		f := Finding{Name: c.fact, Value: c.value}
		if f.IsGood() != (c.want == "good") || f.IsBad() != (c.want == "bad") {
			t.Errorf("%s %s: good %v, bad %v", c.fact, c.value, f.IsGood(), f.IsBad())
		}
	}
}

// A client that changes a value all the time has a bounded number of values.
func TestManyValues(t *testing.T) {
	var frames []wire.Frame
	for i := range 50 {
		frames = append(frames, body(fmt.Sprintf(
			`>"id":%d,"method":"initialize","params":{"clientInfo":{"name":"a"},"protocolVersion":"%d"}`, i, i)))
	}
	got := compare(t, recordingOf(t, capture.ByTap, frames...))
	var values, count int
	for _, f := range got[0].Facts {
		if f.Name == "asks-revision" {
			values++
			count += f.Count
		}
	}
	if values != maxValues+1 || count != 50 {
		t.Errorf("%d values, %d answers", values, count)
	}
}

// A recording that continues in another file is one: the list in the second part follows the change
// in the first one, and the repeated opening counts once.
func TestPartsOfARecording(t *testing.T) {
	opening := []wire.Frame{
		body(`>"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}`),
		body(`<"id":1,"result":{"protocolVersion":"2025-11-25"}`),
	}
	first := append(slices.Clone(opening), body(`>"id":2,"method":"tools/list"`), body(`<"id":2,"result":{}`),
		body(`<"method":"notifications/tools/list_changed"`), body(`>"id":3,"method":"tools/call","params":{}`),
		body(`<"id":3,"result":{}`))
	second := append(slices.Clone(opening), body(`>"id":4,"method":"tools/list"`), body(`<"id":4,"result":{}`))
	var paths []string
	for i, frames := range [][]wire.Frame{first, second} {
		head := capture.Head{Run: i + 5, Started: time.Unix(7, 0), By: capture.ByTap}
		if i > 0 {
			head.PreviousRun = 5
			head.FirstRun = 5
		}
		b := capture.AppendHead(nil, head)
		for n, f := range frames {
			if i > 0 && n == len(opening) {
				b = append(b, "{\"carried\":2}\n"...)
			}
			f.Seq = uint64(10*i + n + 1)
			b = capture.AppendFrame(b, f)
		}
		path := filepath.Join(t.TempDir(), "part.jsonl")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	slices.Reverse(paths) // the newest part is read first
	got := compare(t, paths...)
	if len(got) != 1 || got[0].Conversations != 1 || got[0].Requests != 4 {
		t.Fatalf("got %s", answers(got))
	}
	if got := valuesOfFact(got[0], "lists-again"); got != "yes 6.2" {
		t.Errorf("got %q", got)
	}
	if got := valuesOfFact(got[0], "asks-revision"); got != "none 5.1" {
		t.Errorf("got %q", got)
	}
}

// on returns a frame on an HTTP stream.
func on(stream int, f wire.Frame) wire.Frame {
	f.Stream = stream
	return f
}

// sentHead and receivedHead return the head of an HTTP request, and of a response with a session.
func sentHead(method string, fields ...wire.Field) wire.Frame {
	return wire.Frame{Kind: wire.Head, HTTP: &wire.HTTPHead{Method: method, URL: "http://127.0.0.1/mcp?x=1", Fields: fields}}
}

func receivedHead() wire.Frame {
	fields := []wire.Field{{Name: "Mcp-Session-Id", Value: "x"}}
	return wire.Frame{Kind: wire.Head, Dir: wire.Received, HTTP: &wire.HTTPHead{Status: 200, Fields: fields}}
}

// closed returns the end of a stream by the side.
func closed(by wire.Direction) wire.Frame {
	return wire.Frame{Kind: wire.Closed, Dir: by, Close: &wire.CloseFacts{By: by, How: "cancelled"}}
}

// exchangeOn returns a request on an HTTP stream with its response.
func exchangeOn(stream int, request string) []wire.Frame {
	return []wire.Frame{
		on(stream, sentHead("POST")), on(stream, body(fmt.Sprintf(`>"id":%d,%s`, stream, request))),
		on(stream, receivedHead()), on(stream, body(fmt.Sprintf(`<"id":%d,"result":{}`, stream))),
	}
}

func TestFactsOverHTTP(t *testing.T) {
	first := exchangeOn(1, `"method":"tools/list"`)
	later := exchangeOn(9, `"method":"tools/list"`)
	oldest := []wire.Frame{
		on(1, sentHead("POST")), on(1, body(`>"id":1,"method":"initialize"`)), on(1, receivedHead()),
		on(1, body(`<"id":1,"result":{"protocolVersion":"2024-11-05"}`)),
	}
	abandoned := func(method string) []wire.Frame {
		return []wire.Frame{
			on(2, sentHead("POST")), on(2, body(`>"id":2,"method":"`+method+`"`)), on(2, receivedHead()), on(2, closed(wire.Sent)),
		}
	}
	const call, again = `"method":"tools/call","params":{"name":"a"}`, `"method":"tools/call","params":{"name":"b"}`
	refused := []wire.Frame{
		on(2, sentHead("POST")), on(2, body(`>"id":2,`+again)),
		on(2, wire.Frame{Kind: wire.Head, Dir: wire.Received, HTTP: &wire.HTTPHead{Status: 503}}), on(2, closed(wire.Received)),
	}
	get := []wire.Frame{on(3, sentHead("GET")), on(3, receivedHead()), on(3, closed(wire.Sent))}
	id := "7"
	broken := []wire.Frame{
		on(2, sentHead("POST")), on(2, body(`>"id":2,"method":"tools/call"`)), on(2, receivedHead()),
		on(2, wire.Frame{Kind: wire.Event, Dir: wire.Received, SSE: &sse.Facts{ID: &id}}), on(2, closed(wire.Received)),
	}
	resumption := []wire.Frame{on(4, sentHead("GET", wire.Field{Name: "Last-Event-ID", Value: id})), on(4, receivedHead())}
	for name, c := range map[string]struct {
		fact, want string
		frames     [][]wire.Frame
	}{
		"closes a request":         {"cancels", "closes the stream 2", [][]wire.Frame{first, abandoned("tools/call"), later}},
		"not in this revision":     {"listens", NotSeen, [][]wire.Frame{oldest, later}},
		"leaves during a request":  {"cancels", NotSeen, [][]wire.Frame{first, abandoned("tools/call")}},
		"closes a subscription":    {"cancels", NotSeen, [][]wire.Frame{first, abandoned("subscriptions/listen"), later}},
		"no fields":                {"user-agent", NotSeen, [][]wire.Frame{first}},
		"Accept without fields":    {"accept", NotSeen, [][]wire.Frame{first}},
		"refused calls":            {"repeats-calls", "no 3", [][]wire.Frame{exchangeOn(1, call), refused, exchangeOn(3, again)}},
		"repeated calls":           {"repeats-calls", "yes 2", [][]wire.Frame{exchangeOn(1, call), exchangeOn(3, call)}},
		"leaves":                   {"ends-session", "no 1", [][]wire.Frame{first, get}},
		"closes its GET":           {"ends-session", NotSeen, [][]wire.Frame{first, get, later}},
		"deletes":                  {"ends-session", "yes 1", [][]wire.Frame{first, {on(5, sentHead("DELETE"))}, get}},
		"a broken stream":          {"resumes", "no 2", [][]wire.Frame{first, broken, later}},
		"a broken stream at last":  {"resumes", NotSeen, [][]wire.Frame{first, broken}},
		"a resumed stream":         {"resumes", "yes 2", [][]wire.Frame{first, broken, resumption, later}},
		"resumes, does not listen": {"listens", "no 1", [][]wire.Frame{first, broken, resumption, later}},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare(t, recordingOf(t, capture.ByProxy, slices.Concat(c.frames...)...))
			if len(got) != 1 || got[0].Transport != StreamableHTTP {
				t.Fatalf("got %s", answers(got))
			}
			if got := valuesOfFact(got[0], c.fact); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A client that has ended did not do what it has not done. One that begins another conversation may
// have a connection for each call.
func TestClientsThatHaveEnded(t *testing.T) {
	opening := func(id int, revision string) []string {
		return []string{
			fmt.Sprintf(`>"id":%d,"method":"initialize","params":{"clientInfo":{"name":"a"}}`, id),
			fmt.Sprintf(`<"id":%d,"result":{"protocolVersion":%q}`, id, revision),
		}
	}
	const discover, refused = `>"id":1,"method":"server/discover"`, `<"id":1,"error":{"code":-32601,"message":"no"}`
	unknown := []string{
		`>"id":2,"method":"tools/call","params":{}`, `<"method":"notifications/x"`, `<"id":2,"result":{}`,
	}
	list := []string{`>"id":3,"method":"tools/list"`, `<"id":3,"result":{}`}
	for name, c := range map[string]struct {
		fact, want string
		// messages are those of each connection.
		messages [][]string
	}{
		"ends after a notification":  {"unknown-notification", "stops 3", [][]string{slices.Concat(opening(1, "2025-11-25"), unknown)}},
		"connects again afterwards":  {"unknown-notification", "reconnects 3", [][]string{slices.Concat(opening(1, "2025-11-25"), unknown), opening(3, "2025-11-25")}},
		"continues afterwards":       {"unknown-notification", "yes 3", [][]string{slices.Concat(opening(1, "2025-11-25"), unknown, list), opening(4, "2025-11-25")}},
		"initializes after discover": {"discover", "yes 1", [][]string{{discover, refused}, opening(3, "2025-11-25")}},
		"connects again and again":   {"discover", "no 1 2", [][]string{opening(1, "2025-11-25"), opening(3, "2025-11-25")}},
	} {
		t.Run(name, func(t *testing.T) {
			var frames []wire.Frame
			for i, texts := range c.messages {
				for _, text := range texts {
					f := body(text)
					f.Conn = i + 1
					if text == discover {
						f.Raw = []byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` +
							`"io.modelcontextprotocol/clientInfo":{"name":"a"}}}}`)
					}
					frames = append(frames, f)
				}
			}
			recording, err := rows.Open(recordingOf(t, capture.ByTap, frames...))
			if err != nil {
				t.Fatal(err)
			}
			defer recording.Close()
			r := Reader{ClientsEnded: true}
			if err := r.Add(recording, func(*rows.Row) bool { return true }); err != nil {
				t.Fatal(err)
			}
			got := Compare(r.Conversations())
			if len(got) != 1 {
				t.Fatalf("got %s", answers(got))
			}
			if got := valuesOfFact(got[0], c.fact); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Clients without a session are known by their names only: the requests of each are one
// conversation until it begins again, with server/discover or its first id.
func TestClientsWithoutSessions(t *testing.T) {
	conn := 0
	request := func(client string, id int, method, params, result string) (frames []wire.Frame) {
		conn++
		text := fmt.Sprintf(`>"id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"}}}`, id, method, params, client)
		for _, f := range []wire.Frame{
			sentHead("POST", wire.Field{Name: "Accept", Value: "*/*"}), body(text),
			receivedHead(), body(fmt.Sprintf(`<"id":%d,"result":%s`, id, result)),
		} {
			f.Conn = conn
			frames = append(frames, on(conn, f))
		}
		return frames
	}
	got := compare(t, recordingOf(t, capture.ByProxy, slices.Concat(
		request("a", 1, "tools/list", "", `{"nextCursor":"n"}`),
		request("b", 1, "tools/list", "", `{"nextCursor":"n"}`),
		request("c", 1, "tools/list", "", `{"ttlMs":60000}`),
		request("a", 2, "tools/list", `"cursor":"n",`, `{}`),
		request("b", 2, "tools/call", `"name":"x",`, `{}`),
		request("c", 2, "tools/call", `"name":"x",`, `{}`),
		request("b", 3, "server/discover", "", `{}`),
		request("b", 4, "tools/list", `"cursor":"n",`, `{}`),
		request("c", 1, "tools/list", "", `{"ttlMs":60000}`),
	)...))
	if len(got) != 3 || got[0].Conversations != 1 || got[1].Conversations != 2 || got[2].Conversations != 2 {
		t.Fatalf("got %s", answers(got))
	}
	for i, want := range []string{"pages yes 4", "pages no 2", "respects-ttl not seen"} {
		fact, value, _ := strings.Cut(want, " ")
		if got := valuesOfFact(got[i], fact); got != value {
			t.Errorf("client %d: got %s %q, want %q", i, fact, got, value)
		}
	}
	if got := valuesOfFact(got[1], "version-header") + ", " + valuesOfFact(got[1], "name-header"); got != "no 2 5 7 8, no 5" {
		t.Errorf("got %q", got)
	}
}
