package mock

import (
	"testing"

	"mcpc/internal/match"
	"mcpc/internal/mcp"
)

// A list that was recorded up to its first page ends there, and a list that was not recorded has
// the called tools.
func TestMissingListPagesAreDerived(t *testing.T) {
	const half = opening + `
	> {"id":2,"method":"tools/list","params":{}}
	< {"id":2,"result":{"tools":[{"name":"a"}],"nextCursor":"p2"}}
	> {"id":3,"method":"prompts/get","params":{"name":"p"}}
	< {"id":3,"result":{"messages":[]}}
	> {"id":4,"method":"prompts/get","params":{"name":"p","arguments":{"x":"1"}}}
	< {"id":4,"result":{"messages":[]}}`
	const second = `
	> {"id":5,"method":"tools/list","params":{"cursor":"p2"}}
	< {"id":5,"result":{"tools":[{"name":"b"}]}}`
	for _, level := range []match.Level{match.Strict, match.Exact, match.Loose} {
		p, said := player(t, recordingNamed(half), func(o *PlayerOptions) { o.Level = level })
		plays(t, p, opening+`
	> {"id":2,"method":"tools/list","params":{}}
	< {"id":2,"result":{"tools":[{"name":"a"}],"nextCursor":"p2"}}
	> {"id":7,"method":"tools/list","params":{"cursor":"p2"}}
	< {"id":7,"result":{"tools":[]}}
	> {"id":3,"method":"prompts/list"}
	< {"id":3,"result":{"prompts":[{"name":"p"}]}}`)
		if c := p.Coverage(); c.Misses != 0 || !said.has("the recording has no further page of tools/list") || !said.has("prompts/list was not recorded: the list has the 1 name of the recorded prompts/get requests") {
			t.Errorf("%v: %+v, reported %q", level, c, said.lines)
		}
		p, said = player(t, recordingNamed(half+second), func(o *PlayerOptions) { o.Level = level })
		plays(t, p, opening+`
	> {"id":2,"method":"tools/list","params":{}}
	< {"id":2,"result":{"tools":[{"name":"a"}],"nextCursor":"p2"}}
	> {"id":3,"method":"tools/list","params":{"cursor":"p2"}}
	< {"id":3,"result":{"tools":[{"name":"b"}]}}`)
		if len(said.lines) > 0 {
			t.Errorf("%v: reported %q", level, said.lines)
		}
	}
}

// recordingNamed is recordingOf with the names of exchanges, as a capture has them.
func recordingNamed(lines string) Recording {
	r := recordingOf(talk(lines))
	for i, x := range r.Exchanges {
		if m, _ := x.Request(); !mcp.IsServerList(x.Method) {
			r.Exchanges[i].Name = match.NameOf(m.Method, m.Params)
		}
	}
	return r
}
