package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// How many bytes of a message a Line has.
const (
	mostShort = 160 // of arguments and answers of a few words
	mostLong  = 400 // of a log message or an error
	// mostCursor is that of a cursor: longer ones would look like a secret.
	mostCursor = 24
)

// shortened is a text as it is, unless it is longer: then it is Cut.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return cutText(strings.ToValidUTF8(text[:min(len(text), 2*most)], ""), most)
}

// cutText is the beginning of a text on one line, with a mark where it was longer.
func cutText(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	for _, hidden := range redact.HiddenIn(text) {
		if hidden[0] < most && most < hidden[1] {
			most = hidden[0] // a part of it would be taken for a secret
		}
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// cutJSON is JSON on one line, cut as a text is.
func cutJSON(raw []byte, most int) string {
	const enough = 8
	if len(raw) > enough*most { // blanks are left out of the beginning only
		raw = raw[:enough*most]
		return cutText(string(raw), most)
	}
	return cutText(string(jsonraw.Compact(raw)), most)
}

// requestWords is a request in a few words: "call echo {"message":"hi"}", "tools/list".
func requestWords(m *wire.Message) string {
	params, _ := m.ParamMembers()
	switch m.Method {
	case "tools/call", "prompts/get":
		text := strings.TrimPrefix(m.Method, "tools/") + " " + cutText(params.Text("name"), mostShort)
		if arguments := params.Value("arguments"); arguments != nil {
			text += " " + cutJSON(arguments, mostShort)
		}
		return text
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return m.Method + " " + cutText(params.Text("uri"), mostShort)
	case "initialize":
		client, _ := jsonraw.Object(params.Value("clientInfo"))
		return strings.TrimSpace(
			"initialize " + cutText(strings.TrimSpace(client.Text("name")+" "+client.Text("version")), mostShort),
		)
	}
	if cursor := params.Text("cursor"); cursor != "" {
		return cutText(m.Method, mostShort) + " from " + cutText(cursor, mostCursor)
	}
	return cutText(m.Method, mostShort)
}

// questionText is what the server asks: `elicitation/create "Which repo?"`.
func questionText(method string, params json.RawMessage) string {
	members, _ := jsonraw.Object(params)
	text := cutText(method, mostShort)
	message := members.Text("message")
	if message == "" {
		messages, _ := jsonraw.Array(members.Value("messages"))
		if len(messages) > 0 {
			last, _ := jsonraw.Object(messages[len(messages)-1])
			content, _ := jsonraw.Object(last.Value("content"))
			message = content.Text("text")
		}
	}
	if message != "" {
		text += ` "` + cutText(message, mostShort) + `"`
	}
	if url := members.Text("url"); url != "" {
		text += " " + cutText(url, mostShort)
	}
	return text
}

// entryNouns are what one entry of a list is called, by the list's method.
var entryNouns = map[string]string{
	"tools/list": "tool", "prompts/list": "prompt",
	"resources/list": "resource", "resources/templates/list": "template", "roots/list": "root",
}

// responseWords is an answer in a few words: "ok, 31 kB ~8k tokens", "27 tools", "tool error: text".
func responseWords(method string, f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	if m.Error != nil {
		return fmt.Sprintf("error %d: %s", m.Error.Code, cutText(m.Error.Message, mostLong))
	}
	result, err := m.ResultMembers()
	if m.Result == nil {
		return "no JSON-RPC response: " + cutText(string(f.Raw[:min(len(f.Raw), 4*mostShort)]), mostShort)
	}
	if err != nil {
		return "result " + cutJSON(m.Result, mostShort)
	}
	if m.Traits().More {
		return "asks: " + inputRequests(result)
	}
	if noun, ok := entryNouns[method]; ok {
		member := mcp.ListMember(method)
		items, bad := m.ResultItems(member)
		if bad != nil || result.Value(member) == nil {
			return "a result without " + member
		}
		text := english.Plural(len(items), noun)
		if next := result.Value("nextCursor"); next != nil && string(next) != "null" {
			text += ", and more pages"
		}
		return text
	}
	switch method {
	case "tools/call":
		return toolResultText(result, m, f.Bytes())
	case "initialize", "server/discover":
		return serverText(result)
	case "elicitation/create":
		return strings.TrimSpace(
			cutText(result.Text("action"), mostShort) + " " + cutJSON(result.Value("content"), mostShort),
		)
	case "sampling/createMessage":
		content, _ := jsonraw.Object(result.Value("content"))
		return strings.TrimSpace(
			cutText(result.Text("model"), mostShort) + ` "` + cutText(content.Text("text"), mostShort) + `"`,
		)
	case "ping":
		return "ok"
	}
	return "ok, " + sizeText(f.Bytes())
}

// inputRequests are what a result of a round asks for.
func inputRequests(result jsonraw.Members) string {
	requests, _ := jsonraw.Object(result.Value("inputRequests"))
	var texts []string
	for _, r := range requests {
		request, _ := jsonraw.Object(r.Value)
		texts = append(texts, questionText(request.Text("method"), request.Value("params")))
	}
	return cmp.Or(strings.Join(texts, ", "), "for input")
}

// toolResultText is the result of a tool in a few words.
func toolResultText(result jsonraw.Members, m *wire.Message, bytes int) string {
	blocks, _ := m.ResultItems("content")
	first := ""
	for _, raw := range blocks {
		block, _ := jsonraw.Object(raw)
		first = block.Text("text")
		if first != "" {
			break
		}
	}
	if isError, _ := wire.ParseIsError(result.Value("isError")); isError {
		return "tool error: " + cutText(first, mostLong)
	}
	if items := itemsOf(result, first); items >= 0 {
		return "ok, " + english.Plural(items, "item") + ", " + sizeText(bytes)
	}
	if len(blocks) > 1 {
		return "ok, " + english.Plural(len(blocks), "block") + ", " + sizeText(bytes)
	}
	if len(first) > 0 && len(first) <= mostShort {
		return "ok: " + cutText(first, mostShort)
	}
	return "ok, " + sizeText(bytes)
}

// itemsOf counts the items where a result is one list, or an object with one; -1 elsewhere.
func itemsOf(result jsonraw.Members, text string) int {
	const most = 1 << 20
	value := result.Value("structuredContent")
	if value == nil && len(text) <= most {
		value = json.RawMessage(text)
	}
	if items, err := jsonraw.Array(value); err == nil {
		return len(items)
	}
	members, err := jsonraw.Object(value)
	if err != nil {
		return -1
	}
	count := -1
	for _, m := range members {
		if items, err := jsonraw.Array(m.Value); err == nil {
			if count >= 0 {
				return -1
			}
			count = len(items)
		}
	}
	return count
}

// serverText is what a server says of itself.
func serverText(result jsonraw.Members) string {
	server, _ := jsonraw.Object(mcp.ServerInfo(result))
	parts := []string{strings.TrimSpace("ok " + cutText(server.Text("name")+" "+server.Text("version"), mostShort))}
	if revision := result.Text("protocolVersion"); revision != "" {
		parts = append(parts, "protocol "+cutText(revision, 40))
	}
	capabilities, _ := jsonraw.Object(result.Value("capabilities"))
	for _, c := range capabilities {
		parts = append(parts, cutText(c.Name, 40))
	}
	return strings.Join(parts, ", ")
}

// sizeText is "123 bytes", of more than a kilobyte "31 kB ~8k tokens".
func sizeText(n int) string {
	text := term.Size(n)
	if n >= 1000 {
		text += " ~" + term.Scaled(int64(n)/4, "k", "M", "G") + " tokens"
	}
	return text
}
