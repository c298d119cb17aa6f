package serve

import "testing"

// A word is a server, or a name for one and the server.
func TestServerWordMayHaveName(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]namedServer{
		"box":                              {"box", "box"},
		"b=box":                            {"b", "box"},
		"cursor:box":                       {"box", "cursor:box"},
		"b=cursor:box":                     {"b", "cursor:box"},
		"http://h.example:1/mcp":           {"h.example:1", "http://h.example:1/mcp"},
		"http://h.example/mcp?key=1":       {"h.example", "http://h.example/mcp?key=1"},
		"b=http://h.example/mcp?key=1":     {"b", "http://h.example/mcp?key=1"},
		"my-box_2=http://127.0.0.1:1/?a=b": {"my-box_2", "http://127.0.0.1:1/?a=b"},
		"=box":                             {"=box", "=box"},
	} {
		if got := parseServer(word); got != want {
			t.Errorf("%s: %+v", word, got)
		}
	}
}
