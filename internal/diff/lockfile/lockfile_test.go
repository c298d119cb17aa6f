package lockfile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/diff"
)

func full() diff.Snapshot {
	raw := func(all ...string) (list []json.RawMessage) {
		list = []json.RawMessage{}
		for _, one := range all {
			list = append(list, json.RawMessage(one))
		}
		return list
	}
	return diff.Snapshot{
		Implementation: json.RawMessage(`{"version":"1.0","name":"w"}`), Revisions: []string{"r2", "r1"}, Capabilities: json.RawMessage(`{"tools":{}}`),
		Instructions: json.RawMessage(`null`), Authorization: new(false),
		Tools:     raw(`{"name":"b","inputSchema":{"type":"object","properties":{"n":{"maximum":1.50}}}}`, `{"name":"a","description":"`+"\u202e"+`A","inputSchema":{}}`, `{"name":"b","inputSchema":{}}`, `{}`),
		Prompts:   raw(),
		Resources: raw(`{"uri":"file:///b","name":"b"}`, `{"uri":"file:///a","name":"a"}`), Templates: raw(`{"uriTemplate":"x:{y}"}`),
		TTL: map[string]int64{"tools": 60000},
	}
}

func TestWrite(t *testing.T) {
	got, want := Write(full()), filepath.Join("testdata", "full.lock.json")
	text, err := os.ReadFile(want)
	if err != nil || string(got) != string(text) {
		t.Errorf("%v: got\n%s", err, got)
	}
	if got := string(Write(diff.Snapshot{})); got != "{\n  \"mcpcLock\": 1\n}\n" {
		t.Errorf("got %s", got)
	}
}

// A written file is read without a change, and written again with the same bytes.
func TestRoundTrip(t *testing.T) {
	s := full()
	text := Write(s)
	back, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if changes := diff.Compare(s, back, diff.Options{}); len(changes) > 0 {
		t.Errorf("got %+v", changes)
	}
	if again := Write(back); string(again) != string(text) {
		t.Errorf("got\n%s\nafter\n%s", again, text)
	}
	s.Tools[0], s.Tools[1] = s.Tools[1], s.Tools[0]
	s.Tools[0] = json.RawMessage(`{"inputSchema" : {},"description":"\u202eA" ,"name":"\u0061"}`)
	if again := Write(s); strings.Count(string(again), "sha256") != 7 || Hash(s.Tools[0]) != Hash(full().Tools[1]) {
		t.Errorf("got\n%s", again)
	}
	if empty, err := Parse(Write(diff.Snapshot{})); err != nil || empty.Tools != nil || empty.Revisions != nil || empty.TTL != nil || empty.Authorization != nil {
		t.Errorf("got %+v, %v", empty, err)
	}
}

func TestErrors(t *testing.T) {
	good := string(Write(full()))
	for _, c := range []struct {
		text    string
		reason  Reason
		pointer string
	}{
		{strings.Replace(good, `"mcpcLock": 1`, `"mcpcLock": 2`, 1), Newer, "/mcpcLock"},
		{`{"mcpcLock":2,"tools":"of another form"}`, Newer, "/mcpcLock"},
		{`{"mcpcLock":0}`, Damaged, "/mcpcLock"},
		{`{"mcpcLock":"1"}`, Damaged, "/mcpcLock"},
		{`{}`, NotALock, ""},
		{`[]`, NotALock, ""},
		{``, NotJSON, ""},
		{"{\n<<<<<<< HEAD\n}", NotJSON, ""},
		{strings.Replace(good, "1.50", "1.51", 1), Damaged, "/tools/2/sha256"},
		{`{"mcpcLock":1,"tools":[{"definition":{}}]}`, Damaged, "/tools/0"},
		{`{"mcpcLock":1,"tools":{}}`, Damaged, "/tools"},
		{`{"mcpcLock":1,"ttlMs":{"tools":1.5}}`, Damaged, "/ttlMs/tools"},
		{`{"mcpcLock":1,"ttlMs":[]}`, Damaged, "/ttlMs"},
		{`{"mcpcLock":1,"revisions":[1]}`, Damaged, "/revisions"},
		{`{"mcpcLock":1,"revisions":1}`, Damaged, "/revisions"},
	} {
		_, err := Parse([]byte(c.text))
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != c.reason || e.Pointer != c.pointer || e.Text == "" || e.Hint == "" {
			t.Errorf("%.60s: got %+v, want %s at %s", c.text, err, c.reason, c.pointer)
		}
	}
	if _, err := Parse([]byte(strings.Replace(good, "1.50", "1.5", 1))); err != nil {
		t.Errorf("%v: another form of the same number has the same hash", err)
	}
}

func TestParseTools(t *testing.T) {
	for text, n := range map[string]int{
		`[]`:                             0,
		`[{"name":"a"}]`:                 1,
		`{"tools":[{"name":"a"},{}]}`:    2,
		`{"tools":[],"nextCursor":null}`: 0,
		`{"tools":[{"name":"a"}],"ttlMs":5,"cacheScope":"public","resultType":"complete"}`: 1,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}`:                       1,
	} {
		s, err := ParseAny([]byte(text))
		if err != nil || len(s.Tools) != n || s.Tools == nil || s.Prompts != nil || strings.Contains(text, "ttlMs") != (s.TTL["tools"] == 5) {
			t.Errorf("%s: got %+v, %v", text, s, err)
		}
	}
	for _, c := range []struct {
		text    string
		reason  Reason
		pointer string
	}{
		{`{"tools":[],"nextCursor":""}`, Partial, "/nextCursor"},
		{`{"result":{"tools":[],"nextCursor":"x"}}`, Partial, "/result/nextCursor"},
		{`{"prompts":[]}`, NotALock, ""},
		{`{"tools":{}}`, NotALock, "/tools"},
		{`{"tools":[1]}`, NotALock, "/tools/0"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}`, NotALock, "/error"},
		{`"tools"`, NotALock, ""},
		{`[`, NotJSON, ""},
	} {
		_, err := ParseAny([]byte(c.text))
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != c.reason || e.Pointer != c.pointer || e.Hint == "" {
			t.Errorf("%s: got %+v, want %s at %s", c.text, err, c.reason, c.pointer)
		}
	}
	if s, err := ParseAny(Write(full())); err != nil || len(s.Tools) != 4 || !s.Sorted {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Any bytes are an error or a snapshot, which is written and read again.
func FuzzParse(f *testing.F) {
	f.Add(Write(full()))
	f.Add([]byte(`{"tools":[{"name":"a"}]}`))
	f.Add([]byte(`[{}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := ParseAny(raw)
		if _, typed := errors.AsType[*Error](err); err != nil && !typed {
			t.Fatalf("%T: %v", err, err)
		}
		if err != nil {
			return
		}
		if back, err := Parse(Write(s)); err != nil || string(Write(back)) != string(Write(s)) {
			t.Errorf("%s: %v", Write(s), err)
		}
	})
}
