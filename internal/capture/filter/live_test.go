package filter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

func TestFiltersOfLiveMessages(t *testing.T) {
	var l rows.Live
	open := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"claude-ai","version":"1"}}}`))
	opened := l.Row("http://h/mcp", "", wire.Sent, nil, open)
	l.LearnServer(opened, "s", wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":0,"result":{"serverInfo":{"name":"git","version":"2"}}}`)))
	m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-sum","arguments":{"a":"x y"}}}`))
	r := l.Row("http://h/mcp", "s", wire.Sent, nil, m)
	for text, want := range map[string]bool{
		"": true, "method:tools/call": true, "method:tools/list": false, "name:get-*": true, "id:7": true, "id:8": false,
		"dir:sent": true, "dir:received": false, "client:claude*": true, "server:git": true, "server:other": false,
		"target:*h/mcp": true, "era:legacy": true, `"x y"`: true, `body:"x z"`: false, "-get-sum": false,
		"name~/^get-(sum|diff)$/ id:7": true, "is:request": true, "is:response,notification": false, "-is:response": true, "(name:a or name:get-sum) -dir:received": true,
	} {
		f, err := ParseLive(text, time.Now())
		if err != nil || f.MatchLive(r, m) != want {
			t.Errorf("%s: %t %v", text, !want, err)
		}
	}
	for text, column := range map[string]int{"name:x dur:>2s": 8, "has:finding": 1, "-(http:404)": 3, "finding:L106": 1, "conn:3": 1, "secret:*": 1} {
		_, err := ParseLive(text, time.Now())
		if e, ok := errors.AsType[*Error](err); !ok || e.Column() != column || !strings.Contains(e.Text, "is not known while a message is on its way") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if _, err := ParseLive("is:error", time.Now()); err == nil || err.Error() != `is has no value "error": use request, response, notification` {
		t.Errorf("is:error: got %v", err)
	}
	get := l.Row("t", "", wire.Sent, &wire.HTTPHead{Method: "GET"}, nil)
	if f, _ := ParseLive("method:GET", time.Now()); !f.MatchLive(get, nil) || !f.Names("method") || f.Names("dir") {
		t.Error("an HTTP request without a message")
	}
}
