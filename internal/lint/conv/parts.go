package conv

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
)

// A list describes the items of a result, which are events.
type list struct {
	// member is the member with the items.
	member string
	kind   Kind
	noun   string
	// name is the member that identifies an item.
	name string
}

var lists = map[string]list{
	"tools/list":               {mcp.ListMember("tools/list"), OnTool, "tool ", "name"},
	"resources/list":           {mcp.ListMember("resources/list"), OnResource, "resource ", "uri"},
	"resources/templates/list": {mcp.ListMember("resources/templates/list"), OnTemplate, "template ", "uriTemplate"},
	"prompts/list":             {mcp.ListMember("prompts/list"), OnPrompt, "prompt ", "name"},
	"tools/call":               {"content", OnContent, "", ""},
	"tasks/result":             {"content", OnContent, "", ""},
	"resources/read":           {"contents", OnContents, "", ""},
}

// ListOf returns the member with the items of a list method, and the member that identifies an
// item. Both are "" for other methods.
func ListOf(method string) (member, name string) {
	if l := lists[method]; l.name != "" {
		return l.member, l.name
	}
	return "", ""
}

// mostParts limits the events per message and kind.
const mostParts = 10_000

// parts emits the events for the contents of a result.
func parts(e Event) {
	if l, ok := lists[e.Method]; ok {
		items, _ := e.Message.ResultItems(l.member)
		for i, item := range items[:min(len(items), mostParts)] {
			part := e
			part.Kind = l.kind
			part.Value = item
			part.Members = nil
			part.At = "/result/" + l.member + "/" + strconv.Itoa(i)
			if l.name != "" {
				if !e.Fresh(l.noun+e.Rev.Short(), item) {
					continue
				}
				part.Subject = l.noun + TextInside(item, l.name)
			}
			sendPart(part)
		}
	}
	switch e.Method {
	case "prompts/get":
		items, _ := e.Message.ResultItems("messages")
		for i, item := range items[:min(len(items), mostParts)] {
			if block := Inside(item, "content"); IsObject(block) {
				part := e
				part.Kind = OnContent
				part.Value = block
				part.Members = nil
				part.At = "/result/messages/" + strconv.Itoa(i) + "/content"
				sendPart(part)
			}
		}
	case "server/discover":
		icons(e, Inside(e.Value, "_meta", MetaPrefix+"serverInfo", "icons"),
			"/result/_meta/io.modelcontextprotocol~1serverInfo/icons")
	case "initialize":
		icons(e, Inside(e.Value, "serverInfo", "icons"), "/result/serverInfo/icons")
	}
	if asks, err := jsonraw.Object(e.Members.Value("inputRequests")); err == nil {
		for _, m := range asks {
			at := jsonraw.Pointer("/result/inputRequests", m.Name)
			question(e, TextInside(m.Value, "method"), Inside(m.Value, "params"), at+"/params")
		}
	}
}

// sendPart emits the event for an item of a list, and the events for its contents.
func sendPart(e Event) {
	e.Members, _ = jsonraw.Object(e.Value)
	e.send(e)
	switch e.Kind {
	case OnContent:
		if e.Text("type") == "resource" {
			contents := e
			contents.Kind = OnContents
			contents.Value = e.Raw("resource")
			contents.Members = nil
			contents.At += "/resource"
			e.send(contents)
		}
	case OnTool, OnResource, OnTemplate, OnPrompt:
		icons(e, e.Raw("icons"), e.At+"/icons")
	default:
	}
}

func icons(e Event, raw json.RawMessage, at string) {
	icons, _ := jsonraw.Array(raw)
	for i, icon := range icons[:min(len(icons), 100)] {
		part := e
		part.Kind = OnIcon
		part.Value = icon
		part.Members = nil
		part.At = at + "/" + strconv.Itoa(i)
		e.send(part)
	}
}

// question emits the event for a question to the client, in a request or in a result.
func question(e Event, method string, params json.RawMessage, at string) {
	e.Kind = OnQuestion
	e.Method = method
	e.Value = params
	e.At = at
	e.Members = nil
	e.Subject = method
	e.send(e)
}
