package match

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/redact"
)

func call(params string) Request {
	return Request{Method: "tools/call", Params: json.RawMessage(params)}
}

func indexOf(o Options, requests ...Request) *Index {
	x := NewIndex(o)
	for _, r := range requests {
		x.Add(r)
	}
	return x
}

func TestFind(t *testing.T) {
	weather := func(arguments string) Request { return call(`{"name":"get-weather","arguments":` + arguments + `}`) }
	recorded := []Request{
		0: weather(`{"city":"Paris","days":3}`),
		1: weather(`{"city":"Oslo","days":3}`),
		2: call(`{"name":"get-sum","arguments":{"a":1,"b":2}}`),
		3: {Method: "tools/list"},
		4: {Method: "tools/list", Params: json.RawMessage(`{"cursor":"page-2"}`)},
		5: {Method: "tools/list", Params: json.RawMessage(`{"cursor":"page-3"}`)},
		6: weather(`{"city":"Paris","days":3}`),
		7: call(`{"name":"ask","arguments":{}}`),
		8: call(`{"name":"ask","arguments":{},"requestState":"s1","inputResponses":{"who":{"action":"accept"}}}`),
		9: call(`{"name":"login","arguments":{"password":"` + redact.Redacted("secret") + `","user":"ada"}}`),
	}
	for _, c := range []struct {
		level Level
		live  Request
		hits  string
		near  string
	}{
		{Strict, weather(`{"days":3.0,"city":"P\u0061ris"}`), "[0 6]", ""},
		{Strict, call(`{"_meta":{"progressToken":5},"arguments":{"b":2,"a":1},"name":"get-sum"}`), "[2]", ""},
		{Strict, Request{Method: "tools/list", Params: json.RawMessage(`{}`)}, "[3]", ""},
		{Strict, Request{Method: "tools/list", Params: json.RawMessage(`{"_meta":{"io.modelcontextprotocol/clientInfo":{}}}`)}, "[3]", ""},
		{Strict, Request{Method: "tools/list", Params: json.RawMessage(`{"cursor":"page-3"}`)}, "[5 4]", ""}, // the same cursor first
		{Strict, Request{Method: "tools/list", Params: json.RawMessage(`{"cursor":"other"}`)}, "[4 5]", ""},
		{Strict, call(`{"name":"ask"}`), "[7]", ""},
		{Strict, call(`{"name":"ask","arguments":{},"requestState":"live","inputResponses":{"who":{"action":"accept"}}}`), "[8]", ""},
		{Strict, call(`{"name":"login","arguments":{"password":"secret","user":"ada"}}`), "[9]", ""},
		{Strict, weather(`{"city":"Pariss","days":3}`), "[]", `0 0.19 1 .arguments.city "Paris" "Pariss"; 6 0.19 1 .arguments.city "Paris" "Pariss"; 1 0.33 1`},
		{Strict, weather(`{"city":"Oslo","days":4}`), "[]", `1 0.33 1 .arguments.days 3 4`},
		{Strict, weather(`{"city":"Oslo","days":3,"unit":"C"}`), "[]", `1 0.25 1 .arguments.unit  "C"`},
		{Strict, call(`{"name":"get-wether","arguments":{"city":"Oslo","days":3}}`), "[]", `1 1.18 1 .name "get-weather" "get-wether"`},
		{Strict, Request{Method: "prompts/get", Params: json.RawMessage(`{"name":"get-sum","arguments":{"a":1,"b":2}}`)}, "[]", `2 2.00 1 method "tools/call" "prompts/get"`},
		{Strict, call(`{"name":"login","arguments":{"password":"another","user":"ada"}}`), "[]", `9 0.33 1 .arguments.password`},
		{Exact, weather(`{"city":"Paris","days":3}`), "[0 6]", ""},
		{Exact, weather(`{"days":3,"city":"Paris"}`), "[]", `0 0.00 1 . `},
		{Exact, Request{Method: "tools/list", Params: json.RawMessage(`{"cursor":"page-3"}`)}, "[5]", ""},
		{Loose, weather(`{"city":"Oslo!","days":9}`), "[1 0 6]", ""},
		{Loose, call(`{"name":"get-sum"}`), "[2]", ""},
		{Loose, call(`{"name":"get-sam","arguments":{"a":1}}`), "[]", `2 1.52 2 .arguments.b 2`},
		{Strict, Request{Method: "tools/list", Params: json.RawMessage(`{`)}, "[]", `3 1.00 1 .  {`},
	} {
		f := indexOf(Options{Level: c.level}, recorded...).Find(c.live)
		if got := fmt.Sprint(f.Hits); got != c.hits {
			t.Errorf("%s %s %s: hits %s, want %s", c.level, c.live.Method, c.live.Params, got, c.hits)
		}
		var near []string
		for _, n := range f.Near {
			near = append(near, fmt.Sprintf("%d %.2f %d %s %s %s", n.Candidate, n.Distance, n.Differences, n.First.Path, n.First.Was, n.First.Is))
		}
		if got := strings.Join(near, "; "); !strings.HasPrefix(got, c.near) || (len(f.Hits) > 0) != (got == "") {
			t.Errorf("%s %s %s: near\n%s\nwant\n%s", c.level, c.live.Method, c.live.Params, got, c.near)
		}
	}
}

func TestFindReportsAllowedDifferences(t *testing.T) {
	x := indexOf(Options{}, call(`{"name":"login","arguments":{"password":"`+redact.Redacted("secret")+`","n":1}}`))
	f := x.Find(call(`{"name":"login","arguments":{"password":"secret","n":1.0},"requestState":"x"}`))
	if f.Hits != nil || f.Near[0].First.How != Added {
		t.Errorf("a state that was not there: %+v", f)
	}
	f = x.Find(call(`{"name":"login","arguments":{"password":"secret","n":1.0}}`))
	if len(f.Hits) != 1 || !f.Report.HangsOnHidden() || f.Report.Counts.String() != "1 value normalised, 1 matched a redacted value" {
		t.Errorf("got %+v", f)
	}
	if r := x.Compare(call(`{"name":"login","arguments":{}}`), 0); len(r.Differences) != 2 {
		t.Errorf("got %s", show(r))
	}
	f = indexOf(Options{LengthOnly: true}, call(`{"name":"login","arguments":{"password":"`+redact.Redacted("secret")+`"}}`)).Find(call(`{"name":"login","arguments":{"password":"other!"}}`))
	if len(f.Hits) != 1 || f.Report.Counts[ByLength] != 1 {
		t.Errorf("got %+v", f)
	}
}

func TestFindWithRules(t *testing.T) {
	rules, err := ParseRules([]byte(`
tools/call search:
  params:
    .arguments.since: time
    .arguments.limit: number +-5
    .arguments.tags: unordered
    .arguments.trace: ignore
tools/call:
  params:
    .arguments.trace: uuid
`))
	if err != nil {
		t.Fatal(err)
	}
	search := func(since, limit, tags, more string) Request {
		return call(fmt.Sprintf(`{"name":"search","arguments":{"since":%q,"limit":%s,"tags":%s%s}}`, since, limit, tags, more))
	}
	x := indexOf(Options{Rules: rules},
		search("2026-01-01", "10", `["a","b"]`, ``),
		search("2026-01-01", "20", `["a","b"]`, `,"trace":1`),
		search("soon", "20", `["a","b"]`, ``),
		call(`{"name":"other","arguments":{"trace":`+id1+`}}`))
	for _, c := range []struct {
		live Request
		want string
	}{
		{search("2026-02-02", "12", `["b","a"]`, ``), "[0]"},
		{search("2026-02-02", "15", `["b","a"]`, `,"trace":{}`), "[0 1]"},
		{search("2026-02-02", "26", `["b","a"]`, ``), "[]"},
		{search("2026-02-02", "12", `["b","c"]`, ``), "[]"},
		{search("later", "20", `["a","b"]`, ``), "[]"},
		{search("soon", "20", `["a","b"]`, ``), "[2]"},
		{call(`{"name":"other","arguments":{"trace":` + id2 + `}}`), "[3]"},
		{call(`{"name":"other","arguments":{"trace":"x"}}`), "[]"},
	} {
		if got := fmt.Sprint(x.Find(c.live).Hits); got != c.want {
			t.Errorf("%s: %s, want %s", c.live.Params, got, c.want)
		}
	}
}

// Secrets that are hidden are in no sketch: more candidates are compared.
func TestFindAmongHiddenSecrets(t *testing.T) {
	login := func(password string) Request {
		return call(`{"name":"login","arguments":{"password":"` + password + `"}}`)
	}
	x := NewIndex(Options{})
	for i := range 200 {
		x.Add(login(redact.Redacted(fmt.Sprint("secret-", i))))
	}
	if f := x.Find(login("secret-150")); !slices.Equal(f.Hits, []int{150}) || f.Compared <= maxCompared {
		t.Errorf("%v of %d", f.Hits, f.Compared)
	}
}

// The items of one key keep their order, so that a sorted hash is not enough.
func TestFindListsInAnyOrder(t *testing.T) {
	rules, err := ParseRules([]byte("tools/call:\n  params:\n    .arguments.rows: unordered by /id\n"))
	if err != nil {
		t.Fatal(err)
	}
	rows := func(text string) Request { return call(`{"name":"x","arguments":{"rows":` + text + `}}`) }
	x := indexOf(Options{Rules: rules}, rows(`[{"id":1,"v":"a"},{"id":1,"v":"b"},{"id":2}]`), rows(`[{"id":1,"v":"b"},{"id":1,"v":"a"},{"id":2}]`))
	if f := x.Find(rows(`[{"id":2},{"id":1,"v":"a"},{"id":1,"v":"b"}]`)); fmt.Sprint(f.Hits) != "[0]" || f.Report.Counts.String() != "1 value in another order" {
		t.Errorf("got %+v", f)
	}
}

// A recorded request may be of another revision than the live one.
func TestFindInAnotherRevision(t *testing.T) {
	revisions := table().revisions
	was, is := revisions[len(revisions)-2], revisions[len(revisions)-1]
	for _, level := range []Level{Strict, Loose} {
		x := indexOf(Options{Level: level}, Request{was, "tools/call", json.RawMessage(`{"name":"x","arguments":{"a":1},"_meta":{"progressToken":3}}`)})
		live := json.RawMessage(`{"name":"x","arguments":{"a":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"p","io.modelcontextprotocol/clientCapabilities":{}}}`)
		if f := x.Find(Request{is, "tools/call", live}); len(f.Hits) != 1 || !f.Report.Same() {
			t.Errorf("%s: %+v", level, f)
		}
		if f := x.Find(Request{was, "tools/call", live}); level == Strict && len(f.Hits) != 0 {
			t.Errorf("what is no member of the protocol in %s is dropped", was)
		}
	}
}

func TestParseLevel(t *testing.T) {
	for _, l := range []Level{Strict, Exact, Loose} {
		if got, err := ParseLevel(l.String()); got != l || err != nil {
			t.Errorf("%s: %v %v", l, got, err)
		}
	}
	if _, err := ParseLevel("stict"); err == nil || !strings.Contains(err.Error(), "did you mean strict?") {
		t.Errorf("got %v", err)
	}
}

// --- properties ---

// A recorded request matches itself, however it is spelled, and with other volatile members.
func TestARecordedRequestMatchesItself(t *testing.T) {
	x := NewIndex(Options{})
	var all []Request
	for seed := range uint64(runs) {
		m := newMaker(seed)
		r := Request{Method: []string{"tools/call", "tools/list", "resources/read", "x/custom"}[m.IntN(4)], Params: m.object(3)}
		all = append(all, r)
		x.Add(r)
	}
	for i, r := range all {
		m := newMaker(uint64(i))
		r.Params = m.respelled(r.Params)
		if n, err := jsonvalue.Parse(r.Params); err == nil && n.Member("_meta") == nil {
			r.Params = jsonraw.With(r.Params, "_meta", json.RawMessage(`{"progressToken":7,"traceparent":"00-1"}`))
		}
		f := x.Find(r)
		if !slices.Contains(f.Hits, i) || !f.Report.Same() {
			t.Fatalf("%s %s\nis not found as\n%s\n%v", r.Method, r.Params, all[i].Params, f.Near)
		}
		for _, hit := range f.Hits {
			if report := x.Compare(r, hit); !report.Same() {
				t.Fatalf("%s %s\nmatches\n%s\n%s", r.Method, r.Params, all[hit].Params, show(report))
			}
		}
	}
}

// If one value is changed in one request among many, it is no hit, and the nearest candidate is
// that request, with the pointer of that value first.
func TestNearestIsTheChangedRequest(t *testing.T) {
	x := NewIndex(Options{})
	var all []Request
	for seed := range uint64(1000) {
		arguments := fmt.Sprintf(`{"id":%d,"city":"city %d","list":[1,%d,{"x":"y%d"}],"on":true}`, seed, seed*7, seed%10, seed%3)
		all = append(all, call(`{"name":"t","arguments":`+arguments+`}`))
		x.Add(all[seed])
	}
	for i, r := range all[:100] {
		m := newMaker(uint64(i))
		leaves := slices.DeleteFunc(leavesOf(r.Params, ""), func(l leaf) bool { return l.pointer == "/name" })
		at := leaves[m.IntN(len(leaves))]
		f := x.Find(call(string(changed(r.Params, at.pointer, `"changed"`))))
		if len(f.Hits) > 0 || len(f.Near) != maxNear || f.Near[0].Candidate != i || f.Near[0].First.Pointer != at.pointer || f.Near[0].Differences != 1 {
			t.Fatalf("%s with another %s: %+v", r.Params, at.pointer, f)
		}
	}
}

// --- bounds ---

// tenThousand returns calls of one tool; every tenth differs in a name.
func tenThousand(o Options) (*Index, []Request) {
	x := NewIndex(o)
	var all []Request
	for i := range 10_000 {
		r := call(fmt.Sprintf(`{"name":"tool-%d","arguments":{"id":%d,"query":"words of %d","filter":{"a":[1,2,3],"b":{"c":true,"d":null}},"limit":10,"text":"%s"}}`,
			i%10/9, i, i, strings.Repeat("x", 200)))
		all = append(all, r)
		x.Add(r)
	}
	return x, all
}

// The work of a search is counted, since a test does not measure time.
func TestASearchIsBounded(t *testing.T) {
	miss := call(`{"name":"tool-0","arguments":{"id":-1,"query":"other","filter":{"a":[1,2,3],"b":{"c":true,"d":null}},"limit":10,"text":"y"}}`)
	x, all := tenThousand(Options{})
	if f := x.Find(all[5000]); f.Compared > 2 || f.Scanned != 0 || !slices.Equal(f.Hits, []int{5000}) {
		t.Errorf("a hit: %d compared, %d scanned, %v", f.Compared, f.Scanned, f.Hits)
	}
	if f := x.Find(miss); f.Compared > maxCompared || f.Scanned != 9000 || len(f.Near) != 3 {
		t.Errorf("a miss: %d compared, %d scanned", f.Compared, f.Scanned)
	}
	if f := x.Find(Request{Method: "x/y", Params: miss.Params}); f.Compared > maxCompared || f.Scanned != 10_000 || len(f.Near) != 3 {
		t.Errorf("another method: %d compared, %d scanned", f.Compared, f.Scanned)
	}
	if f := x.Find(call(`{"name":"tool-7"}`)); f.Compared > maxCompared || f.Scanned != 10_000 || f.Near[0].Distance < 1 {
		t.Errorf("another name: %d compared, %d scanned", f.Compared, f.Scanned)
	}
	x, all = tenThousand(Options{Level: Loose})
	if f := x.Find(all[5000]); f.Compared > maxCompared+1 || f.Hits[0] != 5000 {
		t.Errorf("loose: %d compared, %v", f.Compared, f.Hits)
	}
	rules, err := ParseRules([]byte("tools/call:\n  params:\n    .arguments.id: number +-1\n    .arguments.query: type\n"))
	if err != nil {
		t.Fatal(err)
	}
	x, _ = tenThousand(Options{Rules: rules})
	miss = call(strings.Replace(string(all[0].Params), `"id":0`, `"id":-9`, 1))
	if f := x.Find(miss); f.Compared > maxComparedRuled+maxCompared || f.Hits != nil || !f.Partial {
		t.Errorf("rules: %d compared, hits %v, partial %v", f.Compared, f.Hits, f.Partial)
	}
	for _, n := range []int{500, 5000} {
		f := x.Find(all[n])
		if f.Compared > maxComparedRuled+1 || !slices.Contains(f.Hits, n) || !f.Partial {
			t.Errorf("rules: %d compared, hits %v, partial %v", f.Compared, f.Hits, f.Partial)
		}
	}
}

func TestTheBytesThatAreReadAreBounded(t *testing.T) {
	x := NewIndex(Options{})
	large := strings.Repeat("x", maxComparedBytes)
	for i := range 100 {
		x.Add(call(fmt.Sprintf(`{"name":"t","arguments":{"i":%d,"text":%q}}`, i, large)))
	}
	if f := x.Find(call(`{"name":"t","arguments":{"i":-1}}`)); f.Compared > maxNear || len(f.Near) != maxNear {
		t.Errorf("%d compared, %d near", f.Compared, len(f.Near))
	}
}

// If requests are loaded again, an Index holds no requests.
func TestRequestsAreLoadedAgain(t *testing.T) {
	all := []Request{call(`{"name":"a"}`), call(`{"name":"b"}`)}
	var loaded []int
	x := NewIndex(Options{Load: func(n int) Request {
		loaded = append(loaded, n)
		return all[n]
	}})
	for _, r := range all {
		x.Add(r)
	}
	if f := x.Find(call(`{"name":"b"}`)); !slices.Equal(f.Hits, []int{1}) || x.requests != nil || len(loaded) == 0 || slices.Contains(loaded, 0) {
		t.Errorf("hits %v, loaded %v", f.Hits, loaded)
	}
}

// Two searches of one index give the same, and may run at once.
func TestSearchesRunAtOnce(t *testing.T) {
	x, all := tenThousand(Options{})
	want := fmt.Sprintf("%+v", x.Find(call(`{"name":"tool-0","arguments":{"id":77}}`)))
	done := make(chan string)
	for i := range 4 {
		go func() {
			x.Find(all[i])
			done <- fmt.Sprintf("%+v", x.Find(call(`{"name":"tool-0","arguments":{"id":77}}`)))
		}()
	}
	for range 4 {
		if got := <-done; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLikeness(t *testing.T) {
	of := func(raw string) sketch {
		n, err := jsonvalue.Parse(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		return sketchOf(n, nil)
	}
	for _, c := range []struct {
		a, b     string
		from, to int
	}{
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, 1000, 1000},
		{`{"a":1,"b":2}`, `{"a":1,"b":3}`, 333, 333},
		{`{"a":1}`, `{"b":1}`, 0, 0},
		{`{"a":"••••(len 5, sha256:2cf2)"}`, `{"a":"••••(len 6, sha256:2cf2)"}`, 0, 0}, // nothing is known
		{`[1,2,3]`, `[3,1,2]`, 1000, 1000},
		{`{"a":"` + strings.Repeat("x", 100) + `","l":[` + numbers(0, 100) + `]}`, `{"l":[` + numbers(0, 100) + `]}`, 850, 1000},
		{`[` + numbers(0, 100) + `]`, `[` + numbers(50, 150) + `]`, 60, 700},
	} {
		if got := of(c.a).likeness(of(c.b)); got < c.from || got > c.to || got != of(c.b).likeness(of(c.a)) {
			t.Errorf("%.40s and %.40s: %d", c.a, c.b, got)
		}
	}
}

func numbers(from, to int) string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

func BenchmarkFind(b *testing.B) {
	for _, c := range []struct {
		name string
		live func(all []Request, i int) Request
	}{
		{"hit", func(all []Request, i int) Request { return all[i%len(all)] }},
		{"miss", func(all []Request, i int) Request {
			return call(strings.Replace(string(all[i%len(all)].Params), "words", "letters", 1))
		}},
		{"other-method", func(all []Request, i int) Request { return Request{Method: "x/y", Params: all[i%len(all)].Params} }},
	} {
		x, all := tenThousand(Options{})
		b.Run(c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				x.Find(c.live(all, i*7919))
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add("tools/call", []byte(`{"name":"a","arguments":{"x":[1,"••••(len 5, sha256:2cf2)"]}}`), []byte(`{"name":"b"}`))
	f.Add("tools/list", []byte(`{"cursor":"a"}`), []byte(`{"_meta":{}}`))
	rules, err := ParseRules([]byte("'*':\n  params:\n    .arguments.x: unordered\n    .arguments.y: type\n    .z: ignore\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method string, a, b []byte) {
		for _, o := range []Options{{}, {Level: Exact}, {Level: Loose}, {Rules: rules, LengthOnly: true}} {
			x := indexOf(o, Request{"", method, a}, Request{"", method, b}, call(`{"name":"a"}`))
			found := x.Find(Request{"", method, a})
			if !slices.Contains(found.Hits, 0) {
				t.Fatalf("%s %q is not found: %+v", method, a, found)
			}
			for _, hit := range found.Hits {
				if o.Level == Strict && !x.Compare(Request{"", method, a}, hit).Same() {
					t.Fatalf("%s %q matches %d: %+v", method, a, hit, found)
				}
			}
			x.Find(Request{"", "other", b})
		}
	})
}
