package view_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/live/view"
)

const slowCall = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"slow","arguments":{"n":3},"_meta":{"progressToken":"p"}}}`

// stories are captures of one call, and the texts of its Detail.
var stories = []struct{ name, capture, cut, why string }{
	{
		"resumed", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
21 < 3 #k3-1
30 < 3 #k3-2 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":3}}
100 < 3 cut unexpected EOF
300 > 4 GET k3-2
310 < 4 200 text/event-stream
320 < 4 #k3-3 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2,"total":3,"message":"page 2"}}
400 < 4 #k3-4 {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}]}}
401 < 4 end
`, "cut by the server after event k3-2; resumed 200 ms later from k3-2; 2 events came; nothing lost",
		"370 ms of 400 ms after the server's first message, while 2 messages came before the response",
	},
	{
		"never resumed", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 #k4-2 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
100 < 3 cut unexpected EOF
`, "cut by the server after event k4-2; never resumed: the answer and anything after k4-2 are lost",
		"70 ms of 100 ms after the server's first message",
	},
	{
		"resumed from an earlier event", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 #a {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
40 < 3 #b {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2}}
100 < 3 cut unexpected EOF
300 > 4 GET a
310 < 4 200 text/event-stream
320 < 4 #c {"jsonrpc":"2.0","id":4,"result":{"content":[]}}
`, "cut by the server after event b; resumed 200 ms later from a; 1 event came; it asked from a, so events may come twice",
		"290 ms of 320 ms after the server's first message, while 2 messages came before the response",
	},
	{
		"cut twice", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 #a {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
100 < 3 cut unexpected EOF
300 > 4 GET a
310 < 4 200 text/event-stream
320 < 4 #b {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2}}
330 < 4 cut unexpected EOF
400 > 5 GET b
410 < 5 200 text/event-stream
420 < 5 #c {"jsonrpc":"2.0","id":4,"result":{"content":[]}}
`, "cut 2 times, the last time by the server after event b; resumed 70 ms later from b; 1 event came; nothing lost",
		"390 ms of 420 ms after the server's first message, while 2 messages came before the response",
	},
	{
		"resumed twice", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 #a {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
100 < 3 cut unexpected EOF
300 > 4 GET a
310 < 4 503
400 > 5 GET a
410 < 5 200 text/event-stream
420 < 5 #b {"jsonrpc":"2.0","id":4,"result":{"content":[]}}
`, "cut by the server after event a; resumed 200 ms later from a; 1 event came; nothing lost",
		"390 ms of 420 ms after the server's first message, while 1 message came before the response",
	},
	{"closed by the client", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 #a {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
100 > 3 cancelled
`, "", "70 ms of 100 ms after the server's first message"},
	{"lists follow", `
0 < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
1 > {"jsonrpc":"2.0","id":1,"method":"prompts/list"}
2 < {"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}
3 < {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}
4 > {"jsonrpc":"2.0","id":2,"method":"tools/list"}
5 < {"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"n"}}
`, "", ""},
	{"no connection", `
0 > 3 POST
0 > 3 ` + slowCall + `
1 < 3 cut dial tcp 127.0.0.1:1: connect: connection refused
`, "could not be opened: dial tcp 127.0.0.1:1: connect: connection refused", "1 ms of 1 ms waiting for the server's first byte"},
	{"no connection to resume", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 #a {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
100 < 3 cut unexpected EOF
300 > 4 GET a
301 < 4 cut dial tcp 127.0.0.1:1: connect: connection refused
500 > 5 GET a
501 < 5 cut dial tcp 127.0.0.1:1: connect: connection refused
`, "cut by the server after event a; not resumed in 2 attempts: the answer and anything after a are lost", "471 ms of 501 ms after the server's first message"},
	{"a session that cannot be ended", `
0 > 3 DELETE
1 < 3 cut dial tcp 127.0.0.1:1: connect: connection refused
`, "could not be opened: dial tcp 127.0.0.1:1: connect: connection refused", "1 ms of 1 ms waiting for the server's first byte"},
	{"no ids", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
100 < 3 cut unexpected EOF
`, "cut by the server; never resumed: the answer is lost", "80 ms of 100 ms after the server's first byte"},
	{"a whole 503", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 503 text/plain
21 < 3 end
`, "", "10 ms of 21 ms waiting for the server's first byte"},
	{"a whole answer that is no JSON-RPC", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 application/json
21 < 3 end
`, "", "10 ms of 21 ms waiting for the server's first byte"},
	{
		"ended early", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 #k4-2 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
100 < 3 end
`, "cut by the server after event k4-2; not resumed yet: else the answer and anything after k4-2 are lost",
		"the last message was received or sent 3600 s ago",
	},
	{"accepted, answered on the stream of HTTP+SSE", `
0 > 2 GET
1 < 2 200 text/event-stream
2 > 3 POST
2 > 3 ` + slowCall + `
4 < 3 202 
5 < 3 end
12 < 2 #x {"jsonrpc":"2.0","id":4,"result":{"content":[]}}
`, "", "10 ms of 10 ms waiting for the server's first byte"},
	{"slow server", `
0 > 3 POST
0 > 3 ` + slowCall + `
2100 < 3 200 application/json
2200 < 3 {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}]}}
2200 < 3 end
`, "", "2.1 s of 2.2 s waiting for the server's first byte"},
	{"slow pipe", `
0 > ` + slowCall + `
10 ! warming up
2100 < {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}]}}
`, "", "2.1 s of 2.1 s waiting for the server's first message"},
	{"asked", `
0 > ` + slowCall + `
100 < {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Which repo?","requestedSchema":{"type":"object","properties":{}}}}
740 > {"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"repo":"x"}}}
800 < {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}]}}
`, "", "640 ms of 800 ms waiting for a response to the server's request"},
	{"rounds", `
0 > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"slow","arguments":{}}}
100 < {"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","requestState":"s1","inputRequests":{"repo":{"method":"elicitation/create","params":{"message":"Which repo?"}}}}}
740 > {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow","arguments":{},"requestState":"s1","inputResponses":{"repo":{"action":"accept"}}}}
800 < {"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"done"}]}}
`, "", "640 ms of 800 ms waiting for a response to the server's request"},
	{"cancelled late", `
0 > ` + slowCall + `
5000 > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"the user was tired"}}
7000 < {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}]}}
`, "", "7 s of 7 s waiting for the server's first message"},
	{"logs", `
0 > ` + slowCall + `
1 < {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":"slow query"}}
2 < {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":"slow query"}}
3 < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
4 < {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"a":1}}}
5 < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2}}
6 < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
7 < {"jsonrpc":"2.0","id":4,"result":{"isError":true,"content":[{"type":"text","text":"no\u001b[31m such\nrow"}]}}
`, "", "4 ms of 7 ms after the server's first message, while 5 messages came before the response"},
	{"died", `
0 > ` + slowCall + `
10 ! panic: out of memory
20 < exit exit status 2
end
`, "cut by the exit of the server; never resumed: the answer is lost", "20 ms of 20 ms waiting for the server's first message"},
	{"open", `
0 > ` + slowCall + `
10 < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
`, "", "the last message was received or sent 3600 s ago"},
	{"held", `
0 > ` + slowCall + `
1 > held 4 waiting
2001 > held 4 edited 2000 {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"slow","arguments":{"n":4}}}
2100 < {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}]}}
`, "", "held by mcpc for 2 s"},
	{"the answer is dropped", `
0 > 3 POST
0 > 3 ` + slowCall + `
20 < 3 200 text/event-stream
30 < 3 held 4 waiting
2030 < 3 held 4 dropped 2000 {"jsonrpc":"2.0","id":4,"result":{}}
2040 < 3 end
`, "", "held by mcpc for 2 s"},
	{"the request is dropped", `
0 > 3 POST
0 > 3 ` + slowCall + `
1 > 3 held 4 waiting
2001 > 3 held 4 dropped 2000
3000 < 3 cut context canceled
`, "", "held by mcpc for 2 s"},
	{"asking", `
0 > ` + slowCall + `
100 < {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Which repo?","requestedSchema":{"type":"object","properties":{}}}}
`, "", "the server waits for a response to its request"},
}

func TestStoriesOfACall(t *testing.T) {
	var all strings.Builder
	for _, c := range stories {
		v := views(t, made(t, c.capture), view.Options{})
		blocks, _, err := v.Talk(t.Context(), view.Query{})
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("# " + c.name + "\n" + talkText(blocks))
		d, err := v.Detail(t.Context(), blocks[0].Row.Key)
		if err != nil {
			t.Fatal(err)
		}
		if c.name == "held" && (!d.Row.Edited || d.Frames[2].Was == nil || !strings.Contains(d.Frames[2].Was.Text, `"n":3`) || !strings.Contains(d.Frames[2].Body.Text, `"n":4`)) {
			t.Errorf("edited %v, frame %+v", d.Row.Edited, d.Frames[2])
		}
		if c.name == "held" && (!strings.Contains(d.Request.Text, `"n":4`) || d.Request.Frame != 3 || d.Request.Was == nil || !strings.Contains(d.Request.Was.Text, `"n":3`) ||
			!strings.Contains(fmt.Sprint(d.Facts), "in place of {")) {
			t.Errorf("request %+v, was %+v, %q", d.Request, d.Request.Was, d.Facts)
		}
		if d.Cut != c.cut {
			t.Errorf("%s: cut is\n%q, not\n%q", c.name, d.Cut, c.cut)
		}
		if d.Why != c.why {
			t.Errorf("%s: why is\n%q, not\n%q", c.name, d.Why, c.why)
		}
	}
	golden(t, "stories.txt", all.String())
}
