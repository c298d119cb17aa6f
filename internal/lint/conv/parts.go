package conv

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
)

// A list describes the items of a result, which are events.
type listShape struct {
	// member is the member with the items.
	member        string
	kind          Kind
	subjectPrefix string
	// nameMember is the member that identifies an item.
	nameMember string
}

var listShapes = map[string]listShape{
	"tools/list":               {mcp.ListMember("tools/list"), OnTool, "tool ", "name"},
	"resources/list":           {mcp.ListMember("resources/list"), OnResource, "resource ", "uri"},
	"resources/templates/list": {mcp.ListMember("resources/templates/list"), OnTemplate, "template ", "uriTemplate"},
	"prompts/list":             {mcp.ListMember("prompts/list"), OnPrompt, "prompt ", "name"},
	"tools/call":               {"content", OnContent, "", ""},
	"tasks/result":             {"content", OnContent, "", ""},
	"resources/read":           {"contents", OnContents, "", ""},
}

// ListOf returns the member with the items of a list method, and the member that identifies an
// item. Both are "" if method lists nothing.
func ListOf(method string) (member, name string) {
	if l := listShapes[method]; l.nameMember != "" {
		return l.member, l.nameMember
	}
	return "", ""
}

// maxItems limits the events per message and kind.
const maxItems = 10_000

// maxIcons limits the icons of one entry.
const maxIcons = 100

// sendParts emits the events for the contents of a result.
func sendParts(e Event) {
	if l, ok := listShapes[e.Method]; ok {
		items, _ := e.Message.ResultItems(l.member)
		for i, item := range items[:min(len(items), maxItems)] {
			part := e
			part.Kind = l.kind
			part.Value = item
			part.Members = nil
			part.Pointer = "/result/" + l.member + "/" + strconv.Itoa(i)
			if l.nameMember != "" {
				if !e.IsFirstSighting(l.subjectPrefix+e.Rev.Short(), item) {
					continue // judged before, when the list was read
				}
				part.Subject = l.subjectPrefix + TextInside(item, l.nameMember)
			}
			sendPart(part)
		}
	}
	switch e.Method {
	case "prompts/get":
		items, _ := e.Message.ResultItems("messages")
		for i, item := range items[:min(len(items), maxItems)] {
			if block := Inside(item, "content"); IsObject(block) {
				part := e
				part.Kind = OnContent
				part.Value = block
				part.Members = nil
				part.Pointer = "/result/messages/" + strconv.Itoa(i) + "/content"
				sendPart(part)
			}
		}
	case "server/discover":
		sendIcons(e, Inside(e.Value, "_meta", MetaPrefix+"serverInfo", "icons"),
			"/result/_meta/io.modelcontextprotocol~1serverInfo/icons")
	case "initialize":
		sendIcons(e, Inside(e.Value, "serverInfo", "icons"), "/result/serverInfo/icons")
	}
	if requests, err := jsonraw.Object(e.Members.Value("inputRequests")); err == nil {
		for _, m := range requests {
			pointer := jsonraw.Pointer("/result/inputRequests", m.Name)
			sendQuestion(e, TextInside(m.Value, "method"), Inside(m.Value, "params"), pointer+"/params")
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
			contents.Pointer += "/resource"
			e.send(contents)
		}
	case OnTool, OnResource, OnTemplate, OnPrompt:
		sendIcons(e, e.Raw("icons"), e.Pointer+"/icons")
	default:
	}
}

// sendIcons emits the events for a list of icons; at is its JSON pointer.
func sendIcons(e Event, raw json.RawMessage, at string) {
	icons, _ := jsonraw.Array(raw)
	for i, icon := range icons[:min(len(icons), maxIcons)] {
		part := e
		part.Kind = OnIcon
		part.Value = icon
		part.Members = nil
		part.Pointer = at + "/" + strconv.Itoa(i)
		e.send(part)
	}
}

// sendQuestion emits the event for a question to the client, in a request or in a result.
func sendQuestion(e Event, method string, params json.RawMessage, at string) {
	e.Kind = OnQuestion
	e.Method = method
	e.Value = params
	e.Pointer = at
	e.Members = nil
	e.Subject = method
	e.send(e)
}
