package shape

import (
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A result conforms where a checker finds nothing in it, and only there.
func FuzzConforms(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"b":{}}},"annotations":{"readOnlyHint":true}}],"resultType":"complete","ttlMs":0,"cacheScope":"public"}`,
		`{"tools":[{"name":1,"inputSchema":[]}],"nextCursor":2}`, `{"tools":[{"n\u0061me":"a","inputSchema":{"type":"object"}}]}`, `{"tools":{}}`, `{}`, `[]`, `null`,
		`{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"audio","data":"","mimeType":""}],"isError":false,"structuredContent":{}}`,
		`{"prompts":[{"name":"a","arguments":[{"name":"b","required":true}]}],"resultType":"complete","ttlMs":1.5,"cacheScope":"x"}`,
		`{"resources":[{"uri":"a","name":"b","size":-1,"annotations":{"priority":2,"audience":["user","x"]}}]}`,
		`{"completion":{"values":["a"],"total":1,"hasMore":false}}`,
	} {
		f.Add([]byte(seed))
	}
	methods := []string{"tools/list", "tools/call", "prompts/list", "resources/list", "resources/templates/list", "resources/read", "prompts/get", "completion/complete", "initialize", "server/discover"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if jsonraw.Valid(raw) != nil {
			return
		}
		for i, revision := range table().revisions {
			for _, method := range methods {
				k := table().result(method, i+1, &wire.Message{Result: raw})
				if k == nil {
					continue
				}
				c := &checker{revision: i + 1}
				c.value(k, trimmed(raw))
				if got := conforms(k, i+1, raw); got != (len(c.found) == 0) {
					t.Errorf("%s %s: %t for %s, in which is found %+v", revision, method, got, raw, c.found)
				}
			}
		}
	})
}

func trimmed(raw []byte) []byte {
	value, _ := jsonraw.Prefix(raw)
	for len(value) > 0 && value[0] <= ' ' {
		value = value[1:]
	}
	return value
}
