package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/wire"
)

// folded folds messages over a pipe, or with http over streams: ">" begins those that a
// client sent, "<" those of the server on the stream of the request, "~" those on another one.
func folded(t *testing.T, http bool, messages ...string) *wire.Exchange {
	t.Helper()
	var frames []wire.Frame
	for i, m := range messages {
		f := wire.Frame{Seq: uint64(i + 1), Kind: wire.Body, Raw: []byte(m[1:])}
		f.Dir = map[byte]wire.Direction{'>': wire.Sent, '<': wire.Received, '~': wire.Received}[m[0]]
		if http {
			f.Stream = map[byte]int{'>': 1, '<': 1, '~': 2}[m[0]]
			if f.Dir == wire.Received {
				f.Kind = wire.Event
			}
		}
		frames = append(frames, f)
	}
	for _, x := range wire.GroupFrames(frames) {
		if x.Request.Raw != nil && !x.IsFromServer() {
			return x
		}
	}
	t.Fatalf("no exchange in %q", messages)
	return nil
}

const asked = `>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}`

func response(result string) string { return `<{"jsonrpc":"2.0","id":1,"result":` + result + `}` }

func failed(code int, text string) string {
	return fmt.Sprintf(`<{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":%q}}`, code, text)
}

func progress(n string) string {
	return `<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":` + n + `}}`
}

func logged(level string) string {
	return `<{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":"x"}}`
}

func described(r Report) string {
	text := string(r.Verdict)
	for _, d := range r.Differences {
		text += fmt.Sprintf("; %s %s was %s is %s", d.Path, d.How, d.Was, d.Is)
		if d.Pointer != "" {
			text += " at " + d.Pointer
		}
	}
	if counts := r.Counts.String(); counts != "" {
		text += " | " + counts
	}
	return text
}

func TestCompare(t *testing.T) {
	ok := []string{asked, response(`{"content":[{"type":"text","text":"a"}]}`)}
	other := []string{asked, response(`{"content":[{"type":"text","text":"b"}]}`)}
	toolError := []string{asked, response(`{"content":[{"type":"text","text":"no"}],"isError":true}`)}
	rpc, unanswered := []string{asked, failed(-32603, "boom")}, []string{asked}
	asks := []string{asked, response(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"M"}}}}`)}
	form := `<{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"M"}}`
	said := `>{"jsonrpc":"2.0","id":9,"result":{"action":"accept"}}`
	roots := `<{"jsonrpc":"2.0","id":8,"method":"roots/list"}`
	last := ok[1]
	for name, c := range map[string]struct {
		was, is []string
		o       Options
		failed  wire.Kind // of is
		want    string
	}{
		"same":                   {ok, ok, Options{}, "", "same"},
		"other text":             {ok, other, Options{}, "", `differs; .content[0].text changed was "a" is "b" at /content/0/text`},
		"other text, status":     {ok, other, Options{Level: Status}, "", "same"},
		"other text, schema":     {ok, other, Options{Level: Schema}, "", "same | 1 value matched by type"},
		"more items, schema":     {ok, []string{asked, response(`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`)}, Options{Level: Schema}, "", "same | 1 value matched by type"},
		"a new member, schema":   {ok, []string{asked, response(`{"content":[{"type":"text","text":"a"}],"x":1}`)}, Options{Level: Schema}, "", "differs; .x added was  is 1 at /x"},
		"another type, schema":   {ok, []string{asked, response(`{"content":[{"type":"text","text":1}]}`)}, Options{Level: Schema}, "", `differs; .content[0].text type was "a" is 1 at /content/0/text`},
		"a name in brackets":     {[]string{asked, response(`{}`)}, []string{asked, response(`{"a b":1}`)}, Options{Level: Schema}, "", `differs; .["a b"] added was  is 1 at /a b`},
		"spelling":               {[]string{asked, response(`{"a":1.0}`)}, []string{asked, response(`{"a":1}`)}, Options{}, "", "same | 1 value normalised"},
		"spelling, exact":        {[]string{asked, response(`{"a":1.0}`)}, []string{asked, response(`{"a":1}`)}, Options{Bytes: true}, "", `differs; . bytes was {"a":1.0} is {"a":1}`},
		"worse":                  {ok, toolError, Options{}, "", `worse; outcome changed was "ok" is "tool_error: no"`},
		"worse by an error":      {ok, rpc, Options{}, "", `worse; outcome changed was "ok" is "rpc_error -32603: boom"`},
		"better":                 {rpc, ok, Options{}, "", `better; outcome changed was "rpc_error -32603: boom" is "ok"`},
		"fails otherwise":        {toolError, rpc, Options{}, "", `differs; outcome changed was "tool_error: no" is "rpc_error -32603: boom"`},
		"another code":           {rpc, []string{asked, failed(-32602, "boom")}, Options{}, "", `differs; error.code changed was -32603 is -32602 at /error/code`},
		"another code, status":   {rpc, []string{asked, failed(-32602, "boom")}, Options{Level: Status}, "", `differs; error changed was -32603 is -32602 at /error`},
		"another message":        {rpc, []string{asked, failed(-32603, "bang")}, Options{Level: Status}, "", "same"},
		"new":                    {unanswered, ok, Options{}, "", "new"},
		"never an answer":        {unanswered, unanswered, Options{}, "", "same"},
		"missing":                {ok, unanswered, Options{}, wire.Timeout, `missing; outcome changed was "ok" is "timeout"`},
		"missing, was an error":  {rpc, unanswered, Options{}, wire.Transport, `missing; outcome changed was "rpc_error -32603: boom" is "transport"`},
		"a form":                 {[]string{asked, form, said, last}, []string{asked, form, said, last}, Options{}, "", "same"},
		"another form":           {[]string{asked, form, said, last}, []string{asked, strings.Replace(form, `"M"`, `"N"`, 1), said, last}, Options{}, "", `differs; elicitation/create.message changed was "M" is "N" at /elicitation~1create/message`},
		"no form any more":       {[]string{asked, form, said, last}, ok, Options{}, "", `differs; server request removed was "elicitation/create" is `},
		"a form is new":          {ok, []string{asked, form, said, last}, Options{}, "", `differs; server request added was  is "elicitation/create"`},
		"not compared together":  {ok, []string{asked, form, said, last}, Options{Notifications: Ignored}, "", "same"},
		"roots at any time":      {[]string{asked, roots, last}, ok, Options{}, "", "same"},
		"not answered":           {asks, asks, Options{}, wire.InputRequired, "same"},
		"not answered any more":  {ok, asks, Options{}, wire.InputRequired, `worse; outcome changed was "ok" is "input_required"`},
		"not answered in 2025":   {ok, ok, Options{}, wire.InputRequired, `worse; outcome changed was "ok" is "input_required"`},
		"progress by its ends":   {[]string{asked, progress("1"), progress("2"), progress("3"), last}, []string{asked, progress("1"), progress("3"), last}, Options{}, "", "same"},
		"progress in order":      {[]string{asked, progress("1"), progress("2"), progress("3"), last}, []string{asked, progress("1"), progress("3"), last}, Options{Notifications: InOrder}, "", `differs; notifications changed was "progress 1, progress 2, progress 3" is "progress 1, progress 3"`},
		"progress ends before":   {[]string{asked, progress("1"), progress("3"), last}, []string{asked, progress("1"), progress("2"), last}, Options{}, "", `differs; notifications changed was "progress 1 to 3" is "progress 1 to 2"`},
		"progress goes back":     {[]string{asked, progress("1"), progress("2"), progress("3"), last}, []string{asked, progress("1"), progress("0.5"), progress("3"), last}, Options{}, "", `differs; notifications changed was "progress 1 to 3" is "progress 1 to 3, not rising"`},
		"logs in any order":      {[]string{asked, logged("info"), logged("error"), last}, []string{asked, logged("error"), logged("info"), logged("info"), last}, Options{}, "", "same"},
		"a log is gone":          {[]string{asked, logged("info"), logged("error"), last}, []string{asked, logged("info"), last}, Options{Notifications: InOrder}, "", `differs; notifications changed was "message info, message error" is "message info"`},
		"a log of any request":   {[]string{asked, logged("info"), logged("error"), last}, []string{asked, logged("info"), last}, Options{}, "", "same"},
		"a log is gone, ignored": {[]string{asked, logged("info"), last}, ok, Options{Notifications: Ignored}, "", "same"},
		"a list changed":         {ok, []string{asked, `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, last}, Options{Notifications: InOrder}, "", "same"},
	} {
		r := Compare(Side{Exchange: folded(t, false, c.was...)}, Side{Exchange: folded(t, false, c.is...), Failed: c.failed}, c.o)
		if got := described(r); got != c.want {
			t.Errorf("%s:\n got  %s\n want %s", name, got, c.want)
		}
		if r.Verdict.Fails() != strings.Contains("differs worse missing unmatched", string(r.Verdict)) {
			t.Errorf("%s: fails is %v", name, r.Verdict.Fails())
		}
	}
}

// Over HTTP only what came on the stream of the request is sure to belong to it.
func TestMessagesOnOtherStreams(t *testing.T) {
	last := response(`{}`)
	elsewhere := "~" + logged("info")[1:]
	form := `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"M"}}`
	for _, c := range []struct {
		is   []string
		want string
	}{
		{[]string{asked, elsewhere, last}, "same"},
		{[]string{asked, logged("info"), last}, `differs; notifications changed was "" is "message info"`},
		{[]string{asked, "~" + form, last}, "same"},
		{[]string{asked, "<" + form, last}, `differs; server request added was  is "elicitation/create"`},
	} {
		r := Compare(Side{Exchange: folded(t, true, asked, last)}, Side{Exchange: folded(t, true, c.is...)}, Options{})
		if got := described(r); got != c.want {
			t.Errorf("%q: got %s, want %s", c.is, got, c.want)
		}
	}
}

// Rules, revisions and the result with handles put into it count.
func TestCompareByRules(t *testing.T) {
	rules, err := match.ParseRules([]byte("tools/call t:\n  .a: ignore\n"))
	if err != nil {
		t.Fatal(err)
	}
	was, is := folded(t, false, asked, response(`{"a":1,"b":2}`)), folded(t, false, asked, response(`{"a":9,"b":3,"resultType":"complete"}`))
	for _, c := range []struct {
		was, is Side
		want    string
	}{
		{Side{Exchange: was, Revision: "2025-11-25"}, Side{Exchange: is, Revision: "2026-07-28"}, "differs; .b changed was 2 is 3 at /b | 1 value ignored"},
		{Side{Exchange: was, Revision: "2026-07-28"}, Side{Exchange: is, Revision: "2026-07-28"}, `differs; .b changed was 2 is 3 at /b; .resultType added was  is "complete" at /resultType | 1 value ignored`},
		{Side{Exchange: was, Revision: "2025-11-25"}, Side{Exchange: is, Revision: "2026-07-28", Result: []byte(`{"a":1,"b":2}`)}, "same"},
	} {
		if got := described(Compare(c.was, c.is, Options{Rules: rules})); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestDurations(t *testing.T) {
	x := folded(t, false, asked, response(`{}`))
	for _, c := range []struct {
		was, is time.Duration
		most    float64
		want    Verdict
	}{
		{time.Second, time.Minute, 0, Same},
		{time.Second, 2 * time.Second, 2, Same},
		{time.Second, 2*time.Second + 1, 2, Differs},
		{time.Millisecond, 51*time.Millisecond - 1, 2, Same},
		{time.Millisecond, 51 * time.Millisecond, 2, Differs},
		{0, time.Hour, 2, Same},
	} {
		r := Compare(Side{Exchange: x, Took: c.was}, Side{Exchange: x, Took: c.is}, Options{MaxSlowdown: c.most})
		if r.Verdict != c.want {
			t.Errorf("%v to %v, at most %g: %s", c.was, c.is, c.most, described(r))
		}
	}
}

// A question that may belong to another request is no difference if one side is on a pipe and the other one is not.
func TestQuestionsOverAnotherTransport(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m"}}`
	other := "<" + strings.Replace(question, `"m"`, `"n"`, 1)
	own, apart := []string{"<" + question}, []string{"~" + question}
	for name, c := range map[string]struct {
		was, is         []string
		wasHTTP, isHTTP bool
		want            Verdict
	}{
		"asked on another stream":      {was: apart, is: own, wasHTTP: true, want: Same},
		"asked on its stream":          {was: own, is: own, wasHTTP: true, want: Same},
		"not asked over HTTP":          {is: own, wasHTTP: true, want: Same},
		"not asked over HTTP now":      {was: own, isHTTP: true, want: Same},
		"asked on another stream now":  {was: own, is: apart, isHTTP: true, want: Same},
		"not asked on the pipe":        {was: own, wasHTTP: true, want: Differs},
		"another question":             {was: own, is: []string{other}, wasHTTP: true, want: Differs},
		"another one, on other stream": {was: apart, is: []string{other}, wasHTTP: true, want: Differs},
		"on pipes":                     {is: own, want: Differs},
		"over HTTP":                    {is: apart, wasHTTP: true, isHTTP: true, want: Same},
		"on its stream over HTTP":      {is: own, wasHTTP: true, isHTTP: true, want: Differs},
	} {
		side := func(http bool, messages []string) Side {
			return Side{Exchange: folded(t, http, append(append([]string{asked}, messages...), response(`{}`))...)}
		}
		r := Compare(side(c.wasHTTP, c.was), side(c.isHTTP, c.is), Options{})
		if r.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, described(r), c.want)
		}
	}
}

func TestQuestions(t *testing.T) {
	round := `<{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"A"}},"b":{"method":"roots/list"}}}}`
	next := `>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"a":{"action":"decline"},"b":{"roots":[]}}}}`
	second := `<{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"s2","inputRequests":{"a":{"method":"sampling/createMessage"}}}}`
	for _, c := range []struct {
		messages []string
		want     string
	}{
		{[]string{asked, response(`{}`)}, ""},
		{[]string{asked, round, next, second}, `a elicitation/create {"message":"A"} {"action":"decline"}; b roots/list  {"roots":[]}; a sampling/createMessage  `},
		{
			[]string{asked, `<{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"M"}}`, `>{"jsonrpc":"2.0","id":9,"result":{"action":"accept"}}`, response(`{}`)},
			` elicitation/create {"message":"M"} {"action":"accept"}`,
		},
	} {
		var all []string
		for _, q := range Questions(folded(t, false, c.messages...)) {
			all = append(all, fmt.Sprintf("%s %s %s %s", q.Key, q.Method, q.Params, q.Answer))
		}
		if got := strings.Join(all, "; "); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	if Questions(nil) != nil {
		t.Error("nothing has questions")
	}
}

// Nothing that a server or a file has is too odd to be compared.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{}],"isError":true}}`), []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":[]}}}`), []byte(`{`))
	f.Fuzz(func(t *testing.T, was, is []byte) {
		side := func(raw []byte) Side {
			request := wire.Frame{Seq: 1, Dir: wire.Sent, Raw: []byte(asked[1:])}
			return Side{Exchange: &wire.Exchange{Request: request, OtherMessages: []wire.Frame{{Seq: 2, Dir: wire.Received, Raw: raw}}, Response: wire.Frame{Seq: 3, Dir: wire.Received, Raw: raw}}}
		}
		a, b := side(was), side(is)
		if r := Compare(a, a, Options{}); r.Verdict != Same && jsonraw.Valid(was) == nil {
			t.Errorf("%s is not the same as itself: %s", was, described(r))
		}
		Compare(a, b, Options{Level: Schema})
		Compare(b, a, Options{Notifications: InOrder, Bytes: true})
	})
}
