package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// walk follows nextCursor to the end and returns the items, and fails when the
// tools come in fewer than three pages. more are members of each request.
func walk(t *testing.T, p *peer, method, key, more string) (items []json.RawMessage) {
	t.Helper()
	cursor, pages := "", 0
	for {
		members := more
		if cursor != "" {
			members = strings.Trim(fmt.Sprintf(`"cursor":%q,%s`, cursor, more), ",")
		}
		var page map[string]json.RawMessage
		var found []json.RawMessage
		if err := json.Unmarshal(p.do(request(9000+pages, method, members)).Result, &page); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(page[key], &found); err != nil || len(found) == 0 || len(found) > defaultPageSize {
			t.Fatalf("%s: page of %d items, error %v", method, len(found), err)
		}
		items = append(items, found...)
		pages++
		if page["nextCursor"] == nil {
			break
		}
		if err := json.Unmarshal(page["nextCursor"], &cursor); err != nil {
			t.Fatal(err)
		}
	}
	if method == "tools/list" && pages < 3 {
		t.Errorf("%s has %d pages, want three", method, pages)
	}
	return items
}

func TestLists(t *testing.T) {
	for _, era := range []struct{ name, more string }{{"handshake", ""}, {"stateless", meta}} {
		t.Run(era.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := handshake(t, "2025-11-25", `{}`)
				want(t, "tools", len(walk(t, p, "tools/list", "tools", era.more)), 24)
				want(t, "resources", len(walk(t, p, "resources/list", "resources", era.more)), 6)
				want(t, "templates", len(walk(t, p, "resources/templates/list", "resourceTemplates", era.more)), 2)
				want(t, "prompts", len(walk(t, p, "prompts/list", "prompts", era.more)), 4)
				want(t, "bad cursor", string(p.do(request(1, "tools/list", strings.Trim(`"cursor":"bogus",`+era.more, ","))).Error),
					`{"code":-32602,"message":"invalid params"}`)
				p.finish()
			})
		})
	}
}

func TestResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		for i, c := range []struct{ uri, want string }{
			{"demo://resource/dynamic/text/1", `"mimeType":"text/plain","text":"Resource 1: This is a plaintext resource"`},
			{"demo://resource/dynamic/blob/2", `"mimeType":"application/octet-stream","blob":"UmVzb3VyY2UgMjogVGhpcyBpcyBhIGJhc2U2NCBibG9i"`},
			{logoURI, `"mimeType":"image/png","blob":"iVBORw0KGgo`},
			{documentsURI + "features.md", `"mimeType":"text/markdown","text":"# What this server has\n`},
			{documentsURI + "how-it-works.md", `"mimeType":"text/markdown","text":"# How this server works\n`},
			{documentsURI + "instructions.md", `"mimeType":"text/markdown","text":"# mcpc demo server\n`},
			{pageURI, `"mimeType":"text/html;profile=mcp-app","text":"\u003c!doctype html\u003e`},
		} {
			got := string(p.do(request(i, "resources/read", fmt.Sprintf(`"uri":%q`, c.uri))).Result)
			if !strings.Contains(got, `"contents":[{"uri":"`+c.uri+`",`+c.want) {
				t.Errorf("%s: %s", c.uri, got)
			}
		}
		folder := string(p.do(request(20, "resources/read", fmt.Sprintf(`"uri":%q`, documentsURI))).Result)
		want(t, "contents of the folder", strings.Count(folder, `"uri":"`+documentsURI), 3)
		page := string(p.do(request(21, "resources/read", fmt.Sprintf(`"uri":%q`, pageURI))).Result)
		for _, part := range []string{`"_meta":{"ui":{`, `"csp":{"connectDomains":["https://weather.example"]}`, `"permissions":{"geolocation":{}}`} {
			want(t, part, strings.Contains(page, part), true)
		}
		for i, uri := range []string{"demo://nowhere", "demo://resource/dynamic/text/abc", "demo://resource/dynamic/text/0"} {
			for code, more := range map[int]string{-32002: "", -32602: "," + meta} { // until 2025-11-25, and since
				want(t, uri, string(p.do(request(i, "resources/read", fmt.Sprintf(`"uri":%q`, uri)+more)).Error),
					fmt.Sprintf(`{"code":%d,"message":"Resource not found","data":{"uri":%q}}`, code, uri))
			}
		}
		p.finish()
	})
}

func TestPrompts(t *testing.T) {
	message := func(s string) string {
		return `{"content":{"type":"text","text":"` + s + `"},"role":"user"}`
	}
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		for i, c := range []struct{ params, want string }{
			{`"name":"simple-prompt"`, message("This is a simple prompt without arguments.")},
			{`"name":"args-prompt","arguments":{"city":"Chicago"}`, message("What's weather in Chicago?")},
			{`"name":"args-prompt","arguments":{"city":"Chicago","state":"IL"}`, message("What's weather in Chicago, IL?")},
			{`"name":"completable-prompt","arguments":{"department":"Sales","name":"Eve"}`, message("Please promote Eve to the head of the Sales team.")},
			{
				`"name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"1"}`,
				message("This prompt includes the Text resource with id: 1. Please analyze the following resource:") +
					`,{"content":{"type":"resource","resource":{"uri":"demo://resource/dynamic/text/1","mimeType":"text/plain",` +
					`"text":"Resource 1: This is a plaintext resource"}},"role":"user"}`,
			},
		} {
			got := string(p.do(request(i, "prompts/get", c.params)).Result)
			if !strings.HasSuffix(got, `"messages":[`+c.want+`]}`) {
				t.Errorf("%s:\n got %s\nwant %s", c.params, got, c.want)
			}
		}
		for i, c := range []struct{ params, want string }{
			{`"name":"nope"`, `{"code":-32602,"message":"unknown prompt \"nope\""}`},
			{`"name":"args-prompt"`, `{"code":-32602,"message":"prompt args-prompt: required argument \"city\" is missing"}`},
			{
				`"name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"x"}`,
				`{"code":-32602,"message":"resourceId: expected a positive integer, got \"x\""}`,
			},
			{
				`"name":"resource-prompt","arguments":{"resourceType":"Cat","resourceId":"1"}`,
				`{"code":-32602,"message":"resourceType: expected one of [\"Text\" \"Blob\"], got \"Cat\""}`,
			},
		} {
			want(t, c.params, string(p.do(request(i, "prompts/get", c.params)).Error), c.want)
		}
		p.finish()
	})
}

func TestCompletion(t *testing.T) {
	const team = `"ref":{"type":"ref/prompt","name":"completable-prompt"},`
	const template = `"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},`
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		for i, c := range []struct{ params, want string }{
			{team + `"argument":{"name":"department","value":"S"}`, `{"total":2,"values":["Sales","Support"]}`},
			{team + `"argument":{"name":"department","value":""}`, `{"total":4,"values":["Engineering","Marketing","Sales","Support"]}`},
			{team + `"argument":{"name":"name","value":"A"},"context":{"arguments":{"department":"Engineering"}}`, `{"total":1,"values":["Alice"]}`},
			{team + `"argument":{"name":"name","value":"A"}`, `{"values":[]}`},
			{template + `"argument":{"name":"resourceId","value":"7"}`, `{"total":1,"values":["7"]}`},
			{template + `"argument":{"name":"resourceId","value":""}`, `{"total":3,"values":["1","2","3"]}`},
			{template + `"argument":{"name":"resourceId","value":"x"}`, `{"values":[]}`},
		} {
			want(t, c.params, string(p.do(request(i, "completion/complete", c.params)).Result), `{"completion":`+c.want+`}`)
		}
		want(t, "unknown", string(p.do(request(9, "completion/complete", team+`"argument":{"name":"nope","value":""}`)).Error),
			`{"code":-32602,"message":"nothing to complete for argument \"nope\" of completable-prompt"}`)
		p.finish()
	})
}
