package filter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode/utf8"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// filterRows are rows of every sort; their bodies are in filterBodies.
var filterRows = []rows.Row{
	{Run: 1, Target: "http://127.0.0.1:3001/mcp", State: exchange.State{
		Method: "initialize", ID: "1", Channel: "ok", Status: 200, Era: "legacy", Revision: "2025-11-25",
		Duration: 3 * time.Millisecond, Sent: 300, Received: 700, Time: filterNow.Add(-26 * time.Hour),
		Kinds: exchange.Kinds(0).With(wire.Body).With(wire.Head),
	}},
	{Run: 2, Target: "demo", State: exchange.State{
		Method: "tools/call", Name: "get-sum", ID: "2", Channel: "tool_error", Exit: 5, Era: "modern",
		Duration: 500 * time.Millisecond, Sent: 1000, Time: filterNow.Add(-2 * time.Hour),
		Notes:    exchange.Notes{Retries: 1, Notifications: 3},
		Notified: []string{"notifications/progress", "notifications/tools/list_changed"},
	}},
	{Run: 3, Target: "demo", State: exchange.State{
		Method: "tools/call", Name: "Größe *", ID: "abc", Channel: "rpc_error", Exit: 6, Status: 404, Era: "modern",
		Duration: 2 * time.Second, Received: 1_500_000, Time: filterNow.Add(-10 * time.Minute), Findings: []wire.Finding{{Rule: "type"}},
	}},
	{Run: 4, Target: "demo", State: exchange.State{
		Method: "resources/read", Name: "demo://a", ID: "2", Channel: "open", Exit: -1, Status: 503,
		Duration: time.Minute, Time: filterNow.Add(-time.Second), Notes: exchange.Notes{Rounds: 1, Resumed: 2, Questions: 1}, Orphan: true,
		Kinds: exchange.Kinds(0).With(wire.Stderr).With(wire.Event),
	}},
	{Run: 5, State: exchange.State{Method: "ping", ID: "0", Channel: "ok"}},
}

// judge knows the findings about two rows.
var judge = rowJudge{2: {"L106", "error", "tools"}, 4: {"client-cursor", "warn", "client"}}

type rowJudge map[int][]string

func (j rowJudge) Words() []string {
	return []string{"error", "warn", "info", "L106", "L119", "client-cursor", "tools", "client"}
}

func (j rowJudge) WordsFor(r *rows.Row) ([]string, error) { return j[r.Run], nil }

var filterBodies = []string{`{"a":"Hello"}`, `{"say":"\"hi\" there"}`, `{"ß":"ÄPFEL"}`, ``, `{"code": -32601}`}

func TestFilterMatches(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"", []int{1, 2, 3, 4, 5}},
		{"hello", []int{1}},
		{"HELLO", []int{1}},
		{`"get-sum"`, []int{2}},
		{"Get-", []int{2}},
		{"get-*", nil},
		{"127.0.0.1", []int{1}},
		{`"say \"hi\""`, nil},
		{`"\"hi\" there"`, []int{2}},
		{`{"a":"hello"}`, []int{1}},
		{`({"a":"HELLO"} or {"code": )`, []int{1, 5}},
		{`{"code":`, []int{5}},
		{`{"say":"\"hi\" there"} -ping`, []int{2}},
		{`{"say":"\"hi\" where`, nil},
		{"äpfel", []int{3}},
		{"GRÖSSE", nil}, // ß has no capital that ToLower knows
		{"grÖße", []int{3}},
		{"demo", []int{2, 3, 4}},
		{"method:tools/call", []int{2, 3}},
		{"method:tools", nil},
		{"method:notifications/tools/list_changed", []int{2}},
		{`method:"notifications/progress"`, []int{2}},
		{"method:NOTIFICATIONS/*", []int{2}},
		{"method:notifications/prompts/*", nil},
		{"method:*list_changed", nil},
		{"-method:notifications/progress", []int{1, 3, 4, 5}},
		{"method:TOOLS/*", []int{2, 3}},
		{"method:*/*", []int{2, 3, 4}},
		{"name:get-s?m", []int{2}},
		{`name:"Größe *"`, []int{3}},
		{`name:"get*"`, nil},
		{"name:gr*e?*", []int{3}},
		{"name~/^get-/", []int{2}},
		{"name~/^GET-/", nil},
		{"name~/(?i)^GET-/", []int{2}},
		{"target:*3001*", []int{1}},
		{"channel:tool_error,rpc_error", []int{2, 3}},
		{"channel:*_error", []int{2, 3}},
		{"channel:open", []int{4}},
		{"era:modern", []int{2, 3}},
		{"protocol:2025-*", []int{1}},
		{"id:2", []int{2, 4}},
		{"id:abc,0", []int{3, 5}},
		{"kind:stderr", []int{4}},
		{"kind:head,event", []int{1, 4}},
		{"http:404", []int{3}},
		{"http:4xx,503", []int{3, 4}},
		{"http:>=400", []int{3, 4}},
		{"http:>4xx", []int{4}},
		{"http:<4xx", []int{1}},
		{"http:!=200", []int{3, 4}},
		{"-http:200", []int{2, 3, 4, 5}},
		{"http:400..499", []int{3}},
		{"exit:!=0", []int{2, 3}},
		{"exit:0", []int{1, 5}},
		{"exit:>5", []int{3}},
		{"dur:>500ms", []int{3, 4}},
		{"dur:>=500ms", []int{2, 3, 4}},
		{"dur:1ms..1s", []int{1, 2}},
		{"dur:..3ms", []int{1, 5}},
		{"dur:1m", []int{4}},
		{"size:1kb", []int{1, 2}},
		{"size:>1mb", []int{3}},
		{"size:>1.5mb", nil},
		{"size:>=1.5MB", []int{3}},
		{"size:>1mib", []int{3}},
		{"size:0", []int{4, 5}},
		{"run:2..3", []int{2, 3}},
		{"run:>3", []int{4, 5}},
		{"since:1h", []int{3, 4}},
		{"since:1d", []int{2, 3, 4}},
		{"since:2026-11-20", []int{1, 2, 3, 4}},
		{"since:17:00", []int{3, 4}},
		{"time:2026-11-20", []int{1}},
		{"time:2026-11-21", []int{2, 3, 4}},
		{"time:2026-11-20..2026-11-21", []int{1, 2, 3, 4}},
		{"time:>2026-11-20", []int{2, 3, 4}},
		{"time:<2026-11-21", []int{1}},
		{"time:15:30", []int{2}},
		{"time:15:30..17:20", []int{2, 3}},
		{`time:>"2026-11-21 15:30"`, []int{3, 4}},
		{"time:>=2026-11-21T15:30:00", []int{2, 3, 4}},
		{"time:2026-11-21T14:30:00Z", []int{2}},
		{"time:2026-11-21t14:30:00z", []int{2}},
		{"has:finding", []int{2, 3, 4}},
		{"-has:Finding", []int{1, 5}},
		{`has:retry,"finding"`, []int{2, 3, 4}},
		{"finding:L106", []int{2}},
		{"finding:l106,client-cursor", []int{2, 4}},
		{"finding:client-*", []int{4}},
		{"finding:error method:tools/*", []int{2}},
		{`finding:"tools"`, []int{2}},
		{"finding:L119", nil},
		{"not finding:* demo", []int{3}},
		{"has:retry,resume", []int{2, 4}},
		{"has:round has:question", []int{4}},
		{"has:notification", []int{2}},
		{"is:open", []int{4}},
		{"is:error", []int{2, 3}},
		{"IS:Orphan", []int{4}},
		{"body:hello", []int{1}},
		{"body:get-sum", nil},
		{`body~/"code": ?-32\d{3}/`, []int{5}},
		{`body~/\{/`, []int{1, 2, 3, 5}},
		{"demo -method:tools/call", []int{4}},
		{"not demo and not is:open", []int{1, 5}},
		{"id:2 or id:0 exit:0", []int{2, 4, 5}},
		{"(id:2 or id:0) exit:0", []int{5}},
		{"-(id:2 or hello)", []int{3, 5}},
		{"-(id:2 is:open)", []int{1, 2, 3, 5}},
	} {
		f := parse(t, c.text)
		var got []int
		for i := range filterRows {
			if f.match(&candidate{row: &filterRows[i], findInTraffic: func(s search) (bool, error) { return s.matches([]byte(filterBodies[i])), nil }}) {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.text, got, c.want)
		}
	}
}

// A date means the calendar day of its time zone, even if that has 23 or 25 hours.
func TestFilterDayIsACalendarDay(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text         string
		first, after time.Time // the day's first instant, and the next day's
		hours        float64
	}{
		{"2026-03-29", time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), time.Date(2026, 3, 30, 0, 0, 0, 0, berlin), 23},
		{"2026-03-30", time.Date(2026, 3, 30, 0, 0, 0, 0, berlin), time.Date(2026, 3, 31, 0, 0, 0, 0, berlin), 24},
		{"2026-10-25", time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), time.Date(2026, 10, 26, 0, 0, 0, 0, berlin), 25},
	} {
		if got := c.after.Sub(c.first).Hours(); got != c.hours {
			t.Fatalf("%s has %v hours, want %v", c.text, got, c.hours)
		}
		for _, instant := range []struct {
			at     time.Time
			in     bool
			behind bool
		}{
			{at: c.first.Add(-time.Nanosecond)},
			{at: c.first, in: true},
			{at: c.after.Add(-time.Nanosecond), in: true},
			{at: c.after, behind: true},
		} {
			for text, want := range map[string]bool{"time:": instant.in, "time:>": instant.behind, "time:<=": !instant.behind} {
				f, err := Parse(text+c.text, filterNow.In(berlin), judge)
				if err != nil {
					t.Fatal(err)
				}
				if got := f.match(&candidate{row: &rows.Row{State: exchange.State{Time: instant.at.UTC()}}}); got != want {
					t.Errorf("%s%s matches %s: %t, want %t", text, c.text, instant.at, got, want)
				}
			}
		}
	}
}

// The traffic is not read if the row decides.
func TestFilterReadsMessagesOnlyIfNeeded(t *testing.T) {
	for _, c := range []struct {
		text  string
		needs bool
		looks int // into row 2, tools/call get-sum
	}{
		{"", false, 0},
		{"method:x or is:open", false, 0},
		{"-name~/a/", false, 0},
		{"hello", true, 1},
		{"get-sum", true, 0},
		{"hello method:ping", true, 0},
		{"(hello or body~/x/) method:ping", true, 0},
		{"hello or method:tools/call", true, 0},
		{"hello or body:world or -body~/x/", true, 3},
		{"-(hello or body~/x/) name:get-sum", true, 2},
	} {
		f, looks := parse(t, c.text), 0
		f.match(&candidate{row: &filterRows[1], findInTraffic: func(search) (bool, error) { looks++; return false, nil }})
		needs := f.root != nil && f.root.readsTraffic()
		if needs != c.needs || looks != c.looks {
			t.Errorf("%s: needs bytes %v and looked %d times, want %v and %d", c.text, needs, looks, c.needs, c.looks)
		}
	}
}

func FuzzNeedle(f *testing.F) {
	for _, seed := range [][2]string{{"sum", `{"name":"get-SUM"}`}, {"äß", "ÄSS äß"}, {"рост", "РОСТ"}, {"\xff", "a\xffb"}, {"aab", "aaab"}, {"ſK", "sk"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		if text == "" {
			return
		}
		n := newNeedle(text)
		line := capture.AppendFrame(nil, wire.Frame{Raw: []byte(body)})
		if n.isIn([]byte(body)) && !n.mayBeInLine(line) {
			t.Fatalf("%q is in %q and not in its line %s", text, body, line)
		}
		if exact := strings.Contains(body, text); exact && !n.isIn([]byte(body)) {
			t.Fatalf("%q is not found in %q", text, body)
		}
		if upper := strings.ToUpper(body); utf8.ValidString(text) && len(upper) == len(body) && strings.ToLower(upper) == body && strings.Contains(body, text) && !n.isIn([]byte(upper)) {
			t.Fatalf("%q is not found in %q", text, upper)
		}
		found := false
		for _, form := range n.forms {
			for i := 0; i+len(form.lower) <= len(body); i++ {
				found = found || strings.EqualFold(body[i:i+len(form.lower)], string(form.lower))
			}
		}
		if n.isIn([]byte(body)) && !found {
			t.Fatalf("%q is found in %q", text, body)
		}
	})
}

func BenchmarkNeedle(b *testing.B) {
	body := bytes.Repeat([]byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"The sum of 1 and 2 is 3."}]}},`), 10_000)
	for _, text := range []string{"not there", "summary", "größe"} {
		b.Run(fmt.Sprintf("%q", text), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for n := newNeedle(text); b.Loop(); {
				n.isIn(body)
			}
		})
	}
}
