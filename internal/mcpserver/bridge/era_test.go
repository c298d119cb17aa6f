package bridge

import "testing"

func TestConvertResult(t *testing.T) {
	for _, c := range []struct {
		stateless, recordedStateless bool
		method, result, want         string
	}{
		{true, false, "tools/call", `{"z":1,"a":2}`, `{"z":1,"a":2,"resultType":"complete"}`},
		{true, false, "tools/list", `{"tools":[]}`, `{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`},
		{true, false, "tools/list", `{"ttlMs":7,"tools":[]}`, `{"ttlMs":7,"tools":[],"resultType":"complete","cacheScope":"private"}`},
		{true, false, "tools/call", `{}`, `{"resultType":"complete"}`},
		{true, false, "tools/call", `[1]`, `[1]`},
		{true, true, "tools/call", `{ "content" : [] }`, `{ "content" : [] }`},
		{false, false, "tools/list", `{"tools":[],"ttlMs":1}`, `{"tools":[],"ttlMs":1}`},
		{false, true, "tools/list", `{"resultType":"complete","tools":[],"ttlMs":1,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, `{"tools":[]}`},
		{false, true, "tools/call", `{"resultType":"complete","ttlMs":1,"_meta":{"io.modelcontextprotocol/serverInfo":{},"own":1}}`, `{"ttlMs":1,"_meta":{"own":1}}`},
	} {
		if got := string(ConvertResult(c.stateless, c.recordedStateless, c.method, []byte(c.result))); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.method, c.result, got, c.want)
		}
	}
}

func TestConvertError(t *testing.T) {
	const missing, adapted = `{"code":-32002,"message":"m","data":{"uri":"a:b"}}`, `{"code":-32602,"message":"m","data":{"uri":"a:b"}}`
	if got := string(ConvertError(true, false, "resources/read", []byte(missing))); got != adapted {
		t.Errorf("got %s", got)
	}
	for _, method := range []string{"resources/read", "tools/call"} {
		if got := string(ConvertError(false, false, method, []byte(missing))); got != missing {
			t.Errorf("%s: got %s", method, got)
		}
	}
	if got := string(ConvertError(true, false, "tools/call", []byte(missing))); got != missing {
		t.Errorf("got %s", got)
	}
	if got := string(ConvertError(false, true, "resources/read", []byte(adapted))); got != missing {
		t.Errorf("got %s", got)
	}
	const other = `{"code":-32602,"message":"the uri is not a text"}`
	if got := string(ConvertError(false, true, "resources/read", []byte(other))); got != other {
		t.Errorf("got %s", got)
	}
}

func TestConvertQuestion(t *testing.T) {
	for _, c := range []struct {
		stateless    bool
		params, want string
	}{
		{true, `{"mode":"url","elicitationId":"e","url":"u"}`, `{"mode":"url","url":"u"}`},
		{false, `{"mode":"url","url":"u"}`, `{"mode":"url","url":"u","elicitationId":"mock"}`},
		{false, `{"mode":"url","elicitationId":"e"}`, `{"mode":"url","elicitationId":"e"}`},
		{false, `{"message":"m"}`, `{"message":"m"}`},
	} {
		if got := string(ConvertQuestion(c.stateless, "elicitation/create", []byte(c.params), "mock")); got != c.want {
			t.Errorf("%s: got %s, want %s", c.params, got, c.want)
		}
	}
}

func TestIsLoudEnough(t *testing.T) {
	if !IsLoudEnough([]byte(`{"level":"error"}`), "warning") || IsLoudEnough([]byte(`{"level":"info"}`), "warning") || !IsLoudEnough([]byte(`{"level":"info"}`), "info") {
		t.Error("levels are compared wrongly")
	}
}

func TestNegotiateRevision(t *testing.T) {
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-06-18": "2025-06-18", "2026-07-28": "2025-11-25", "": "2025-11-25", "1999-01-01": "2025-11-25"} {
		if got := NegotiateRevision(asked); got != want {
			t.Errorf("%q: got %s, want %s", asked, got, want)
		}
	}
}
