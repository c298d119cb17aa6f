package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/view"
)

// rowsView is a view of these rows; a filter selects a number of the first rows.
type rowsView struct {
	view.Reader
	all      []view.Row
	fitting  int
	asked    []view.Query
	searches int // answers that are not complete yet
	loads    int // changes until all is loaded
	detail   view.Detail
}

func (r *rowsView) Rows(_ context.Context, q view.Query) (view.Page, error) {
	r.asked = append(r.asked, q)
	if q.Talk == "9.9" {
		return view.Page{Absent: "no recording has this conversation"}, nil
	}
	if r.searches > 0 && q.Filter != "" {
		r.searches--
		return view.Page{Pending: 1}, nil
	}
	fitting := []view.Row{}
	for _, row := range r.all[:r.fitting] {
		if q.Only == nil || q.Only[0] == row.Key {
			fitting = append(fitting, row)
		}
	}
	return view.Page{Rows: fitting[min(q.From, len(fitting)):], From: q.From, Total: len(fitting)}, nil
}

func (r *rowsView) Wait(context.Context, uint64) uint64 {
	r.loads--
	return 0
}

func (r *rowsView) Status() (s view.Status) {
	s.Loading = r.loads > 0
	s.Rows = len(r.all)
	return s
}

func (r *rowsView) Detail(context.Context, string) (view.Detail, error) { return r.detail, nil }

func (r *rowsView) Tools(context.Context, view.Query) ([]view.Tool, error) { return nil, nil }

func (r *rowsView) Conversations() []view.Conversation {
	return []view.Conversation{{ID: "1.0"}, {ID: "2.0"}}
}

func agentOf(r *rowsView, filter string) *tools {
	return &tools{reader: r, filter: filter, now: func() time.Time { return time.Unix(0, 0) }, limit: time.Hour}
}

func TestAgentStaysWithinTheFilterOfTheCommandLine(t *testing.T) {
	r := &rowsView{}
	a := agentOf(r, "name:echo or name:add")
	for _, filter := range []string{"x) or (y", "name:x) or (name:y", ")", "("} {
		for name, ask := range map[string]func(context.Context, toolArguments) (*page, error){"find": a.find, "tools": a.listTools, "stats": a.stats, "findings": a.findings} {
			if _, err := ask(t.Context(), toolArguments{Filter: filter}); err == nil {
				t.Errorf("%s with the filter %q asked %+v", name, filter, r.asked)
			}
		}
	}
	if _, err := a.findings(t.Context(), toolArguments{Filter: "x or y", Count: 1}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.asked[len(r.asked)-1].Filter, "(name:echo or name:add) (x or y) (has:finding)"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestAgentShowsNothingBesideTheFilter(t *testing.T) {
	r := &rowsView{all: []view.Row{{Key: "1.1", Talk: "1.0"}, {Key: "2.1", Talk: "2.0"}}, fitting: 1, searches: 1}
	a := agentOf(r, "text")
	if _, _, err := a.show(t.Context(), toolArguments{Key: "2.1"}); !errors.Is(err, view.ErrGone) {
		t.Errorf("a row that does not fit: %v, want ErrGone", err)
	}
	r.searches = 1
	if _, _, err := a.show(t.Context(), toolArguments{Key: "1.1"}); err != nil {
		t.Errorf("a row that is found late: %v", err)
	}
	r.searches = 1
	if p, err := a.conversations(t.Context(), toolArguments{Count: 10}); err != nil || len(p.items) != 1 {
		t.Errorf("conversations: %+v %v, want the one with a row", p, err)
	}
	if p, err := agentOf(r, "").conversations(t.Context(), toolArguments{Count: 10}); err != nil || len(p.items) != 2 {
		t.Errorf("conversations without a filter: %+v %v", p, err)
	}
}

func TestAgentGetsPastLongEntries(t *testing.T) {
	long := strings.Repeat("\u009b\U000e0041é", 1<<13)
	row := view.Row{Key: "1", Talk: long, Client: long, Server: long, Target: long, Method: long, Name: long, ID: long, Channel: long, Notes: long, Text: long, Note: long}
	r := &rowsView{all: []view.Row{row, {Key: "2"}, {Key: "3"}}, fitting: 3}
	a := agentOf(r, "")
	seen := 0
	for from, calls := 0, 0; from < 3; calls++ {
		p, err := a.find(t.Context(), toolArguments{From: from, Count: 50})
		if err != nil || len(p.items) == 0 || calls > 3 {
			t.Fatalf("from %d: %d entries, %v", from, len(p.items), err)
		}
		from += len(p.items)
		seen += len(p.items)
		bounded(t, p.result)
	}
	if seen != 3 {
		t.Errorf("%d entries, want 3", seen)
	}
}

func TestAgentShowIsBounded(t *testing.T) {
	long := strings.Repeat("\u009b\U000e0041é", 1<<13)
	finding, wrong := view.Finding{Rule: long, Text: long, Fix: long}, view.Wrong{Pointer: long, Text: long}
	d := view.Detail{
		Row: view.Row{Key: "1", Name: long, Client: long}, Why: long, Cut: long, Group: long, Before: long, Facts: [][2]string{{long, long}}, Stderr: []string{long},
		Request: &view.Body{Text: long, Bytes: len(long)}, Response: &view.Body{Text: long, Bytes: len(long)},
	}
	for range 1000 {
		d.Findings, d.Wrong, d.Lines = append(d.Findings, finding), append(d.Wrong, wrong), append(d.Lines, view.Line{Text: long, Kind: "x"})
	}
	a := agentOf(&rowsView{detail: d}, "")
	bounded(t, func() (string, json.RawMessage, error) { return a.show(t.Context(), toolArguments{Key: "1"}) })
}

// bounded checks a result: how long it is, and that nothing in it steers or hides.
func bounded(t *testing.T, result func() (string, json.RawMessage, error)) {
	t.Helper()
	text, raw, err := result()
	if err != nil || !json.Valid(raw) {
		t.Fatalf("%v, %.200s", err, raw)
	}
	const most = 128 << 10
	if len(text) > most || len(raw) > most {
		t.Errorf("%d bytes of text, %d of JSON", len(text), len(raw))
	}
	for _, part := range []string{text, string(raw)} {
		if strings.ContainsAny(part, "\x1b\u009b\u202e\U000e0041") {
			t.Errorf("raw characters: %.300q", part)
		}
	}
}

// No tool answers before the recordings that were there are read, unless the request ends before.
func TestAgentWaitsForTheRecordings(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for i, tool := range agentOf(&rowsView{}, "").definitions() {
		r := &rowsView{loads: 2}
		tool = agentOf(r, "").definitions()[i]
		if _, _, err := tool.Call(ended, json.RawMessage("{}")); !strings.Contains(fmt.Sprint(err), context.Canceled.Error()) || r.loads != 2 {
			t.Errorf("%s: %v", tool.Name, err)
		}
		if _, _, _ = tool.Call(t.Context(), json.RawMessage("{}")); r.loads > 0 {
			t.Errorf("%s does not wait", tool.Name)
		}
	}
}

// answer calls a tool, and returns its text and its JSON.
func answer(t *testing.T, a *tools, name, arguments string) (text string, structured map[string]any, err error) {
	t.Helper()
	for _, tool := range a.definitions() {
		if tool.Name != name {
			continue
		}
		text, raw, err := tool.Call(t.Context(), json.RawMessage(arguments))
		if err == nil {
			err = json.Unmarshal(raw, &structured)
		}
		return text, structured, err
	}
	t.Fatalf("no tool %s", name)
	return "", nil, nil
}

// An incomplete search is reported in the text and in the JSON, and gives no total.
func TestAgentSaysWhatItDidNotSearch(t *testing.T) {
	all := []view.Row{{Key: "1.1", Talk: "1.0"}, {Key: "2.1", Talk: "2.0"}}
	for _, name := range []string{"find", "findings", "stats", "tools", "conversations"} {
		const arguments = `{"filter":"body:x","count":50}`
		a := agentOf(&rowsView{all: all, fitting: 2, searches: 1 << 30}, "name:echo")
		a.limit = 0
		text, structured, err := answer(t, a, name, arguments)
		if _, total := structured["total"]; err != nil || total || structured["complete"] != false || structured["searched"] != 1.0 || structured["of"] != 2.0 {
			t.Errorf("%s: %v %v", name, structured, err)
		}
		if !strings.Contains(text, "NOT COMPLETE") || !strings.Contains(text, "1 of 2 exchanges searched") || strings.Contains(text, "No ") {
			t.Errorf("%s: %s", name, text)
		}
		a = agentOf(&rowsView{all: all, fitting: 0, searches: 3}, "name:echo")
		text, structured, err = answer(t, a, name, arguments)
		if err != nil || structured["complete"] != true || structured["total"] != 0.0 || !strings.Contains(text, "No ") {
			t.Errorf("%s: %v %v %s", name, structured, err, text)
		}
		if structured["within"] != "name:echo" || !strings.Contains(text, "name:echo") {
			t.Errorf("%s does not tell the filter of the command line: %v, %s", name, structured, text)
		}
		a = agentOf(&rowsView{all: all, fitting: 2, loads: 1 << 30}, "")
		a.limit = 0
		text, structured, err = answer(t, a, name, `{"count":50}`)
		if _, total := structured["total"]; err != nil || total || structured["complete"] != false || structured["loading"] != true || !strings.Contains(text, "still being read") {
			t.Errorf("%s: %v %v %s", name, structured, err, text)
		}
	}
	a := agentOf(&rowsView{all: all, fitting: 2, searches: 1 << 30}, "name:echo")
	a.limit = 0
	if _, _, err := answer(t, a, "show", `{"key":"1.1"}`); err == nil || !strings.Contains(err.Error(), "not searched yet") {
		t.Errorf("show: %v", err)
	}
	if text := agentOf(&rowsView{}, "name:echo").instructions(); !strings.Contains(text, "name:echo") {
		t.Errorf("the instructions do not tell the filter: %s", text)
	}
}

func TestAgentDoesNotKnowAConversation(t *testing.T) {
	for _, name := range []string{"find", "findings", "stats", "tools"} {
		text, structured, err := answer(t, agentOf(&rowsView{}, ""), name, `{"conversation":"9.9"}`)
		if err == nil || !strings.Contains(err.Error(), "no recording has this conversation; conversations lists ids") {
			t.Errorf("%s: %s %v %v", name, text, structured, err)
		}
	}
}
