package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// seeds are the real messages that are small enough to be mutated quickly.
func seeds(f *testing.F, add func(raw []byte)) {
	f.Helper()
	for _, s := range samples(f) {
		if len(s.raw) <= 2<<10 {
			add(s.raw)
		}
	}
	for _, s := range []string{
		``, `{}`, `[]`, ` [1,[]] `, `"\ud800"`, "\xEF\xBB\xBF{}", "{\"a\":\"\xff\"}", `{"a":1,"a":{"a":1}}`,
		`{"jsonrpc":"2.0","id":1.0,"result":null}`, `{"jsonrpc":"2.0","error":{"code":"1","message":"\ud800"}}`, `{"a":1e400,}`,
	} {
		add([]byte(s))
	}
}

func FuzzParseMessage(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw) })
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		m := ParseMessage(raw)
		if !bytes.Equal(raw, before) {
			t.Fatal("the bytes were changed")
		}
		assertSound(t, raw, m)
		if again := ParseMessage(bytes.Clone(raw)); !reflect.DeepEqual(m, again) {
			t.Errorf("read again it is %s, was %s", view(again), view(m))
		}
		if m.Kind == Request && !ParseMessage(ComposeResult(m.ID, nil)).IsResponseTo(m.ID) {
			t.Errorf("an answer to %s is none", m.ID)
		}
		assertLikeOthers(t, raw)
	})
}

// assertLikeOthers compares the judgement of bytes with encoding/json's, which has neither our
// bound of depth nor the rule that JSON is in UTF-8.
func assertLikeOthers(t *testing.T, raw []byte) {
	t.Helper()
	err := jsonraw.Valid(raw)
	if err != nil && err.Rule == "depth" {
		return
	}
	if want := json.Valid(raw) && utf8.Valid(raw); want != (err == nil) {
		t.Errorf("valid: %v, error %v", want, err)
	}
	if err != nil && (err.Offset < 0 || err.Offset > int64(len(raw))) {
		t.Errorf("the error is at %d of %d", err.Offset, len(raw))
	}
	var slice []json.RawMessage
	items, notArray := jsonraw.Array(raw)
	if notArray == nil {
		if bad := json.Unmarshal(raw, &slice); bad != nil || !slices.EqualFunc(items, slice, same) {
			t.Errorf("items are %s, others see %s", items, slice)
		}
	}
	var theirs map[string]json.RawMessage
	members, notObject := jsonraw.Object(raw)
	if notObject == nil {
		if bad := json.Unmarshal(raw, &theirs); bad != nil {
			t.Errorf("others see no object: %v", bad)
		}
		for i, m := range members {
			assertView(t, raw, m.Name, m.Value)
			_, again := members[i+1:].Get(m.Name)
			if !again && !bytes.Equal(theirs[m.Name], m.Value) {
				t.Errorf("%q is %s, others see %s", m.Name, m.Value, theirs[m.Name])
			}
		}
	}
	if (notArray == nil || notObject == nil) && err != nil || (notArray == nil && notObject == nil) {
		t.Errorf("array: %v, object: %v, value: %v", notArray, notObject, err)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(`"a\u00e9\ud83d\ude00\ud800\n"`))
	f.Add([]byte(" \"\"\n"))
	f.Add([]byte(`"a"b"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := jsonraw.Text(raw)
		var want string
		valid := utf8.Valid(raw) && json.Unmarshal(raw, &want) == nil && bytes.TrimLeft(raw, jsonraw.WhiteSpace)[0] == '"'
		if ok != valid || ok && got != want {
			t.Errorf("%q, %v; others read %q, %v", got, ok, want, valid)
		}
		if again, ok := jsonraw.Text(jsonraw.Quote(string(raw))); !ok || utf8.Valid(raw) && again != string(raw) {
			t.Errorf("quoted %s", jsonraw.Quote(string(raw)))
		}
	})
}

func FuzzWith(f *testing.F) {
	seeds(f, func(raw []byte) {
		f.Add(raw, "_meta", []byte(`{"x":1}`))
		f.Add(raw, "id", []byte(` "}" `))
	})
	f.Fuzz(func(t *testing.T, object []byte, name string, value []byte) {
		before, err := jsonraw.Object(object)
		if err != nil || jsonraw.Valid(value) != nil || !utf8.ValidString(name) {
			jsonraw.With(object, name, value) // and it does not panic
			return
		}
		kept := bytes.Clone(object)
		got := jsonraw.With(object, name, value)
		if !bytes.Equal(kept, object) {
			t.Fatal("the object was changed")
		}
		if err := jsonraw.Valid(got); err != nil && err.Rule != "depth" {
			t.Fatalf("%s: %v", got, err)
		}
		assertWith(t, before, got, name, value)
	})
}

// assertWith: the member has the value, every other member keeps its place.
func assertWith(t *testing.T, before jsonraw.Members, got []byte, name string, value []byte) {
	t.Helper()
	after, err := jsonraw.Object(got)
	if err != nil {
		return // too deep, with the value in it
	}
	if _, had := before.Get(name); !had {
		before = append(before[:len(before):len(before)], jsonraw.Member{Name: name})
	}
	if len(after) != len(before) {
		t.Fatalf("%d members, were %d", len(after), len(before))
	}
	for i, m := range after {
		want := before[i].Value
		if before[i].Name == name {
			want = bytes.Trim(value, jsonraw.WhiteSpace)
		}
		if m.Name != before[i].Name || !bytes.Equal(m.Value, want) {
			t.Errorf("member %d is %q: %s, want %q: %s", i, m.Name, m.Value, before[i].Name, want)
		}
	}
}

// Composed messages contain the given values, on one line.
func FuzzCompose(f *testing.F) {
	seeds(f, func(raw []byte) {
		f.Add(raw, "tools/call", []byte(`7`), int64(-32601))
		f.Add(bytes.ReplaceAll(raw, []byte(","), []byte(" ,\r\n ")), "<&>\n\"é", []byte(`"a\u00e9"`), int64(0))
	})
	f.Fuzz(func(t *testing.T, params []byte, method string, id []byte, code int64) {
		assertOneLine(t, params)
		if jsonraw.Valid(params) != nil || jsonraw.Valid(id) != nil || !bytes.Equal(id, bytes.Trim(id, jsonraw.WhiteSpace)) || bytes.ContainsAny(id, "\r\n{[") {
			ComposeRequest(id, method, params)
			ComposeResult(id, params)
			return
		}
		text := strings.ToValidUTF8(method, "\uFFFD")
		for _, m := range []*Message{
			ParseMessage(ComposeRequest(id, method, params)), ParseMessage(ComposeNotification(method, params)),
			ParseMessage(ComposeResult(id, params)), ParseMessage(ComposeError(id, code, method)),
		} {
			if m.Kind == Invalid && m.Problems[0].Rule != "depth" || bytes.ContainsAny(m.Raw, "\r\n") {
				t.Fatalf("%s in %q", m.Problem(), m.Raw)
			}
			if m.Kind == Invalid {
				continue
			}
			if m.Kind != Notification && !bytes.Equal(m.ID, id) {
				t.Errorf("the id of %s is %s, was %s", m.Kind, m.ID, id)
			}
			if m.Error != nil && (m.Error.Code != code || m.Error.Message != text) || m.Error == nil && m.Result == nil && m.Method != text {
				t.Errorf("%s, given %d and %q", view(m), code, text)
			}
			if m.Error == nil {
				assertSameValue(t, params, append(m.Params, m.Result...))
			}
		}
	})
}

func assertSameValue(t *testing.T, given, sent []byte) {
	t.Helper()
	if !bytes.ContainsAny(given, "\r\n") {
		if !bytes.Equal(bytes.Trim(given, jsonraw.WhiteSpace), sent) {
			t.Errorf("%q was sent as %q", given, sent)
		}
		return
	}
	if !bytes.Equal(jsonraw.Compact(given), jsonraw.Compact(sent)) {
		t.Errorf("%q was sent as %q", given, sent)
	}
}

func assertOneLine(t *testing.T, raw []byte) {
	t.Helper()
	line := jsonraw.OneLine(raw)
	if bytes.ContainsAny(line, "\r\n") {
		t.Errorf("%q has a line end", line)
	}
	if (jsonraw.Valid(raw) == nil) && jsonraw.Valid(line) != nil {
		t.Errorf("%q became %q", raw, line)
	}
}

// Any frames fold, and no message of ours is lost.
func FuzzFold(f *testing.F) {
	f.Add("> 1 head\n> 1 {\"id\":1,\"method\":\"a\"}\n< 1 event 5 {\"id\":1,\"result\":{}}\n> 2 head 5\n< 2 {\"id\":1,\"method\":\"b\"}")
	f.Add("> 0 {\"id\":1,\"method\":\"a\"}\n> 0 {\"id\":1,\"method\":\"a\"}\n< 0 [{},1]\n< 0 {\"error\":{}}\n> 0 {\"id\":1,\"result\":0}")
	f.Fuzz(func(t *testing.T, text string) {
		var lines []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) > 3 && (line[0] == '<' || line[0] == '>') && utf8.ValidString(line) {
				lines = append(lines, line)
			}
		}
		frames := transcript(strings.Join(lines, "\n"))
		requests := 0
		for _, frame := range frames {
			if m := ParseMessage(frame.Raw); (frame.Kind == Body || frame.Kind == Event) && m.Kind == Request {
				requests++
			}
		}
		found := 0
		for _, e := range GroupFrames(frames) {
			for _, frame := range e.OtherMessages {
				if m := ParseMessage(frame.Raw); frame.Dir == Sent && m.Kind == Request {
					found++
				}
			}
			if e.Request.Raw == nil {
				continue // a stream
			}
			found++
			if m := ParseMessage(e.Request.Raw); m.Kind != Request || e.IsFromServer() != (e.Request.Dir == Received) {
				t.Errorf("the request is %s", view(m))
			}
		}
		if found < requests {
			t.Errorf("%d requests of %d in\n%s", found, requests, text)
		}
	})
}

func same(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
