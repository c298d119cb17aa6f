package proxy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestErrorsNameTheColumn(t *testing.T) {
	for _, test := range []struct {
		rule   string
		column int
		text   string
	}{
		{"do hang", 1, "begins with when"},
		{"  do hang", 3, "begins with when"},
		{"when method:tools/call", 23, "do and an action are missing"},
		{"when method:tools/call do", 26, "unknown action"},
		{"when method:tools/call do dalay 2s", 27, "did you mean delay?"},
		{"when method:tools/call do delay soon", 33, "must be a time"},
		{"when method:tools/call do delay 2s +-3s", 36, "not longer than the delay"},
		{"when method:tools/call do delay 2s now", 36, "nothing can follow"},
		{"when dur:>2s do hang", 6, "dur is not known while a message is on its way"},
		{"when name:x (has:finding) do hang", 14, "has is not known"},
		{"when nome:x do hang", 6, "unknown field"},
		{"when name:x, do hang", 13, "name takes"},
		{"when ü dir:up do hang", 12, "dir"},
		{"when name~/a b/ #0 do hang", 17, "from 1"},
		{"when name:x every 0 do hang", 19, "from 1"},
		{"when p=1.5 do hang", 6, "from 0 to 1"},
		{"when p=NaN do hang", 6, "from 0 to 1"},
		{"when p=0.5 seed=x do hang", 12, "whole number"},
		{"when after 3s soon do hang", 15, "expected a condition"},
		{"when after 3s for ever do hang", 19, "must be a time"},
		{"when do throttle 10kb", 18, "bytes per second"},
		{"when do status 99", 16, "from 200 to 599"},
		{"when do status 503 retry-after x", 32, "must be a number"},
		{"when do rpc boom", 13, "the code of an error"},
		{`when do rpc -1 "a" {`, 20, "must be JSON"},
		{"when do tool-error", 19, "missing"},
		{"when do drop it", 9, "unknown action"},
		{"when do cut 3", 13, "after N bytes"},
		{"when do cut after event x", 25, "must be a number"},
		{"when do cut after 3 events", 21, "after N bytes"},
		{"when do reorder -1", 17, "must be a number"},
		{"when do replace x 1", 17, "invalid path"},
		{"when do header X", 16, "NAME: VALUE"},
		{"when do list-changed roots", 22, "tools, prompts or resources"},
		{"when do truncate 99999999999", 18, "up to"},
		{"when do kill server", 9, "unknown action"},
	} {
		_, err := ParseRules("rules.txt", "# a comment\n\n"+test.rule+"\n", noon)
		e, ok := errors.AsType[*RuleError](err)
		if !ok || e.Line != 3 || e.Column != test.column || !strings.Contains(e.Text, test.text) {
			t.Errorf("%s: got %v, want column %d: %s", test.rule, err, test.column, test.text)
		}
	}
}

func TestEveryActionIsRead(t *testing.T) {
	examples := map[ActionName]string{
		"delay": "2s +-500ms", "throttle": "10kb/s", "status": "503 retry-after 1", "rpc": `-32603 "boom" {"a":1}`, "tool-error": "no",
		"reorder": "2", "cut": "after event 2 rst", "stall": "3s", "replace": `.result.content[0].text "x"`, "header": "X-A: b",
		"truncate": "5", "garbage": "5", "banner": "Loading", "ttl": "0", "list-changed": "prompts",
	}
	for _, k := range actionKinds {
		rules, err := ParseRules("x", "when method:tools/call do "+string(k.name)+" "+examples[k.name], noon)
		if err != nil || rules[0].Action.Name != k.name {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

func TestPresetsAreRules(t *testing.T) {
	want := "expired-token flaky mobile rolling-restart slow sse-buffering-proxy stateless-lb"
	if got := strings.Join(Presets(), " "); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	for _, name := range Presets() {
		text, err := Preset(name)
		rules, failed := ParseRules(PresetPrefix+name, text, noon)
		if err != nil || failed != nil || len(rules) == 0 || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: %v %v", name, err, failed)
		}
	}
	if _, err := Preset("flakey"); err == nil || !strings.Contains(err.Error(), "did you mean flaky?") {
		t.Errorf("got %v", err)
	}
	if _, err := Preset("../rule.go"); err == nil {
		t.Error("a preset outside of the presets")
	}
}

func newSet(t *testing.T, seed uint64, link Link, text string) *Desk {
	t.Helper()
	s := &Desk{Seed: seed, Link: link, Now: func() time.Time { return noon }}
	rules, err := ParseRules("test", text, noon)
	if err == nil {
		err = s.Add(rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Desk) ask(dir wire.Direction, raw string) *decision {
	m := wire.ParseMessage([]byte(raw))
	return s.fireRule(subject{Row: s.Live.Row("demo", "", dir, nil, m), Message: m})
}

const (
	echoCall     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`
	progressNote = `{"jsonrpc":"2.0","method":"notifications/progressNote","params":{"progressToken":1}}`
)

func TestTheFirstRuleThatFiresWins(t *testing.T) {
	s := newSet(t, 1, LinkStdio, "when name:other do hang\nwhen name:echo #2 do rpc 1\nwhen dir:sent do rpc 2\nwhen method:notifications/* do drop notification")
	var got []int64
	for range 3 {
		got = append(got, s.ask(wire.Sent, echoCall).N)
	}
	if got[0] != 2 || got[1] != 1 || got[2] != 2 {
		t.Errorf("got %v, want 2 1 2", got)
	}
	if d := s.ask(wire.Received, progressNote); d == nil || d.Name != "drop notification" {
		t.Errorf("a notification: %v", d)
	}
	rows := s.Rules(true)
	if rows[0].Seen != 0 || rows[1].Seen != 3 || rows[1].Fired != 1 || rows[2].Fired != 2 {
		t.Errorf("got %+v", rows)
	}
}

func TestRulesAskAboutServerMessagesByFilter(t *testing.T) {
	for text, want := range map[string]bool{
		"when do delay 1s": false, "when progressNote do delay 1s": false, "when dir:received do delay 1s": true,
		"when method:notifications/* do delay 1s": true, "when dir:sent do delay 1s": false,
	} {
		if got := newSet(t, 1, LinkStdio, text).ask(wire.Received, progressNote) != nil; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestTheSameSeedGivesTheSameFaults(t *testing.T) {
	pattern := func(seed uint64, text string) (fired string) {
		s := newSet(t, seed, LinkStdio, text)
		for range 200 {
			if d := s.ask(wire.Sent, echoCall); d != nil {
				out, _ := d.changeForClient([]byte("{}"))
				fired += d.Wait.String() + string(out[0])
			} else {
				fired += "-"
			}
		}
		return fired
	}
	for _, text := range []string{"when p=0.3 do delay 1s +-1s", "when p=0.3 do garbage 3"} {
		a, b, c := pattern(7, text), pattern(7, text), pattern(8, text)
		if a != b || a == c || !strings.Contains(a, "-") {
			t.Errorf("%s: the same seed: %t, another: %t", text, a == b, a == c)
		}
		if own := pattern(8, strings.Replace(text, " do", " seed=7 do", 1)); own != a {
			t.Errorf("%s: the rule's own seed is another", text)
		}
	}
}

func TestRulesWithTimeRange(t *testing.T) {
	now := noon
	s := newSet(t, 1, LinkStdio, "when after 30s for 10s do hang")
	s.Now = func() time.Time { return now }
	for after, want := range map[time.Duration]bool{0: false, 29 * time.Second: false, 30 * time.Second: true, 39 * time.Second: true, 40 * time.Second: false} {
		now = noon.Add(after)
		if got := s.ask(wire.Sent, echoCall) != nil; got != want {
			t.Errorf("after %s: %t", after, got)
		}
	}
}

func TestActionsThatTransportLacksAreRefused(t *testing.T) {
	for text, link := range map[string]Link{
		"status 503": LinkStdio | LinkChild, "401": LinkStdio, "header A: b": LinkStdio, "expire-session": LinkStdio,
		"cut after event 2": LinkStdio, "banner x": LinkHTTP, "kill child": LinkStdio,
	} {
		rules, err := ParseRules("--fault", "when do "+text, noon)
		if err != nil {
			t.Fatal(err)
		}
		err = (&Desk{Link: link, Now: func() time.Time { return noon }}).Add(rules)
		if e, ok := errors.AsType[*RuleError](err); !ok || e.Column != 9 || !strings.Contains(e.Text, "needs") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSessionStaysExpiredWithoutRules(t *testing.T) {
	s := newSet(t, 1, LinkHTTP, "when method:tools/call do expire-session\nwhen name:other do hang")
	m := wire.ParseMessage([]byte(echoCall))
	isRefused := func(session string) bool {
		row := s.Live.Row("demo", session, wire.Sent, nil, m)
		d := s.fireRule(subject{Row: row, Message: m, Session: session})
		return d != nil && d.Name == actionExpireSession
	}
	if !isRefused("a") {
		t.Fatal("the rule did not fire")
	}
	s.Remove(1)
	if !isRefused("a") || isRefused("b") {
		t.Errorf("with another rule: a is expired %t, b %t", isRefused("a"), isRefused("b"))
	}
	s.Remove(0)
	if !isRefused("a") || isRefused("b") || !s.mayIntervene() {
		t.Errorf("without rules: a is expired %t, b %t", isRefused("a"), isRefused("b"))
	}
}

// TestRowsOfTheFaultTable has a rule for what a server can do wrong in JSON and JSON-RPC.
func TestRowsOfTheFaultTable(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":5,"content":[{"type":"text","text":"Zürich"}],"tools":[{"name":"a"}]}}`
	for row, test := range map[string][2]string{
		"truncated":              {"truncate 20", answer[:20]},
		"trailing garbage":       {`replace . {old} x`, answer + " x"},
		"two documents":          {`replace . {old}{old}`, answer + answer},
		"duplicate keys":         {`replace .result {"a":1,"a":2}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`},
		"keys in other case":     {`replace . {"JSONRPC":"2.0","ID":1,"Result":{}}`, `{"JSONRPC":"2.0","ID":1,"Result":{}}`},
		"byte order mark":        {`replace . \xef\xbb\xbf{old}`, "\xef\xbb\xbf" + answer},
		"NUL":                    {`replace .result "a\x00b"`, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\x00b\"}"},
		"escaped NUL":            {`replace .result "a\u0000b"`, `{"jsonrpc":"2.0","id":1,"result":"a\u0000b"}`},
		"lone surrogate":         {`replace .result "\ud800"`, `{"jsonrpc":"2.0","id":1,"result":"\ud800"}`},
		"invalid UTF-8":          {`bad-utf8`, strings.Replace(answer, `"resultType"`, "\"\xffresultType\"", 1)},
		"deep nesting":           {`replace .result {1001*[*}{1001*]*}`, `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + "}"},
		"large number":           {`replace .result.ttlMs 1e400`, strings.Replace(answer, `:5,`, `:1e400,`, 1)},
		"NaN":                    {`replace .result NaN`, `{"jsonrpc":"2.0","id":1,"result":NaN}`},
		"batch":                  {`replace . [{old}]`, "[" + answer + "]"},
		"no object":              {`replace . null`, `null`},
		"jsonrpc missing":        {`replace .jsonrpc`, strings.Replace(answer, `"jsonrpc":"2.0",`, "", 1)},
		"jsonrpc a number":       {`replace .jsonrpc 2.0`, strings.Replace(answer, `"2.0"`, "2.0", 1)},
		"another id":             {`replace .id 8`, strings.Replace(answer, `"id":1`, `"id":8`, 1)},
		"id of another type":     {`replace .id "{old}"`, strings.Replace(answer, `"id":1`, `"id":"1"`, 1)},
		"id null":                {`replace .id null`, strings.Replace(answer, `"id":1`, `"id":null`, 1)},
		"result and error":       {`replace .result 1,"error":{"code":1,"message":"x"}`, `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"x"}}`},
		"neither":                {`replace .result`, `{"jsonrpc":"2.0","id":1}`},
		"malformed error":        {`replace . {"jsonrpc":"2.0","id":1,"error":"no"}`, `{"jsonrpc":"2.0","id":1,"error":"no"}`},
		"without resultType":     {`replace .result.resultType`, strings.Replace(answer, `"resultType":"complete",`, "", 1)},
		"strange resultType":     {`replace .result.resultType "weird"`, strings.Replace(answer, "complete", "weird", 1)},
		"null result":            {`replace .result null`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		"null tool":              {`replace .result.tools [null]`, strings.Replace(answer, `[{"name":"a"}]`, `[null]`, 1)},
		"no name":                {`replace .result.tools[].name`, strings.Replace(answer, `{"name":"a"}`, `{}`, 1)},
		"many tools":             {`replace .result.tools [{3*{"name":"a"},*}{"name":"b"}]`, strings.Replace(answer, `[{"name":"a"}]`, `[{"name":"a"},{"name":"a"},{"name":"a"},{"name":"b"}]`, 1)},
		"unknown member":         {`replace .result.extra {"x":1}`, strings.TrimSuffix(answer, "}}") + `,"extra":{"x":1}}}`},
		"late duplicate":         {"duplicate", answer + answer},
		"list of another length": {"ttl 0", strings.Replace(answer, `"ttlMs":5`, `"ttlMs":0`, 1)},
	} {
		d := newSet(t, 1, LinkStdio, "when method:tools/call do "+test[0]).ask(wire.Sent, echoCall)
		out, done := d.changeForClient([]byte(answer))
		var got string
		for _, message := range out {
			got += string(message)
		}
		if !done || got != test[1] {
			t.Errorf("%s: got %t %q, want %q", row, done, got, test[1])
		}
	}
	if _, err := ParseRules("x", "when do replace . {99999999*aaaaaaaa*}", noon); err == nil {
		t.Error("a value of 800 MB")
	}
}

func TestReplaceWithoutValueDeletesItems(t *testing.T) {
	for path, want := range map[string]string{
		".a[0]":    `{"a":[ {"b": 2}, [3]], "c":[[4],[5,6]]}`,
		".a[1]":    `{"a":[ 1, [3]], "c":[[4],[5,6]]}`,
		".a[2]":    `{"a":[ 1, {"b": 2}], "c":[[4],[5,6]]}`,
		".a[]":     `{"a":[ ], "c":[[4],[5,6]]}`,
		".c[][0]":  `{"a":[ 1, {"b": 2}, [3]], "c":[[],[6]]}`,
		".c[0][0]": `{"a":[ 1, {"b": 2}, [3]], "c":[[],[5,6]]}`,
		".a[3]":    "",
		".a[1][0]": "",
		".[0]":     "",
	} {
		const raw = `{"a":[ 1, {"b": 2}, [3]], "c":[[4],[5,6]]}`
		parsed, err := jsonvalue.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		isChanged := want != ""
		if !isChanged {
			want = raw
		}
		if got, changed := replacePath([]byte(raw), parsed, ""); string(got) != want || changed != isChanged {
			t.Errorf("%s: got %s, %t, want %s", path, got, changed, want)
		}
	}
}

func TestFaultResponses(t *testing.T) {
	d := newSet(t, 1, LinkStdio, `when do rpc -32603 "boom" {"a":1}`).ask(wire.Sent, echoCall)
	if b := d.composeResponse(); string(b) != `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"boom","data":{"a":1}}}` {
		t.Errorf("got %s", b)
	}
	s := newSet(t, 1, LinkStdio, `when do tool-error no luck`)
	if b := s.ask(wire.Sent, echoCall).composeResponse(); string(b) != `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no luck"}],"isError":true}}` {
		t.Errorf("got %s", b)
	}
	own := strings.Replace(echoCall, `"arguments"`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"x"},"arguments"`, 1)
	if b := s.ask(wire.Sent, own).composeResponse(); !strings.Contains(string(b), `"resultType":"complete"`) {
		t.Errorf("got %s", b)
	}
	if d := s.ask(wire.Sent, strings.Replace(echoCall, "tools/call", "tools/list", 1)); d != nil {
		t.Error("tool-error is about tool calls")
	}
}

func TestRemovedRulesAreListed(t *testing.T) {
	s := newSet(t, 1, LinkStdio, "when do hang\nwhen do hang")
	if n := s.Remove(1); n != 1 || len(s.Rules(false)) != 1 || len(s.Rules(true)) != 2 || s.Rules(false)[0].Number != 2 {
		t.Errorf("got %d %v", n, s.Rules(true))
	}
	if n := s.Remove(0); n != 1 || s.mayIntervene() {
		t.Errorf("got %d %t", n, s.mayIntervene())
	}
	var none Desk
	if none.mayIntervene() || none.fireRule(subject{Row: &rows.Row{}}) != nil {
		t.Error("no rules")
	}
}
