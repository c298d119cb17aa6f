package view

import (
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

// The largest numbers of bytes of a message in a Line.
const (
	maxShort = 160 // for arguments and short responses
	maxLong  = 400 // for log messages and errors
	// maxCursor is for cursors: longer ones would look like a secret.
	maxCursor = 24
)

// shortened returns a text unchanged if it has at most limit bytes, else its beginning on one line
// with "…".
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	// 2*limit bytes suffice, as cutText only joins blanks.
	return cutText(strings.ToValidUTF8(text[:min(len(text), 2*limit)], ""), limit)
}

// cutText returns the beginning of a text on one line, with "…" if it was longer than limit bytes.
// It cuts no hidden secret in two.
func cutText(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit {
		return text
	}
	for _, hidden := range redact.HiddenIn(text) {
		if hidden[0] < limit && limit < hidden[1] {
			limit = hidden[0] // a part of the replacement would be taken for a secret
		}
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// cutJSON returns JSON on one line, with "…" if it was longer than limit bytes. The beginning of a
// long text keeps its blanks inside.
func cutJSON(raw []byte, limit int) string {
	const enough = 8
	if len(raw) > enough*limit { // compacting all of it would take too long
		raw = raw[:enough*limit]
		return cutText(string(raw), limit)
	}
	return cutText(string(jsonraw.Compact(raw)), limit)
}

// requestWords describes a request in a few words: `call echo {"message":"hi"}`, "tools/list".
func requestWords(m *wire.Message) string {
	params, _ := m.ParamMembers()
	switch m.Method {
	case "tools/call", "prompts/get":
		text := strings.TrimPrefix(m.Method, "tools/") + " " + cutText(params.Text("name"), maxShort)
		if arguments := params.Value("arguments"); arguments != nil {
			text += " " + cutJSON(arguments, maxShort)
		}
		return text
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return m.Method + " " + cutText(params.Text("uri"), maxShort)
	case "initialize":
		client, _ := jsonraw.Object(params.Value("clientInfo"))
		return strings.TrimSpace(
			"initialize " + cutText(strings.TrimSpace(client.Text("name")+" "+client.Text("version")), maxShort),
		)
	}
	if cursor := params.Text("cursor"); cursor != "" {
		return cutText(m.Method, maxShort) + " from " + cutText(cursor, maxCursor)
	}
	return cutText(m.Method, maxShort)
}

// questionText describes a request of the server with its message, or the last message to sample,
// and its URL: `elicitation/create "Which repo?"`.
func questionText(method string, params json.RawMessage) string {
	members, _ := jsonraw.Object(params)
	text := cutText(method, maxShort)
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
		text += ` "` + cutText(message, maxShort) + `"`
	}
	if url := members.Text("url"); url != "" {
		text += " " + cutText(url, maxShort)
	}
	return text
}

// entryNouns maps list methods to the noun for one entry.
var entryNouns = map[string]string{
	"tools/list": "tool", "prompts/list": "prompt",
	"resources/list": "resource", "resources/templates/list": "template", "roots/list": "root",
}

// responseWords describes a response in a few words: "ok, 31 kB ~8k tokens", "27 tools", "tool
// error: text".
func responseWords(method string, f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	if m.Error != nil {
		if why, _ := m.Error.TapReason(); why != "" {
			return cutText(why, maxLong)
		}
		return fmt.Sprintf("error %d: %s", m.Error.Code, cutText(m.Error.Message, maxLong))
	}
	result, err := m.ResultMembers()
	if m.Result == nil {
		return "no JSON-RPC response: " + cutText(string(f.Raw[:min(len(f.Raw), 4*maxShort)]), maxShort)
	}
	if err != nil {
		return "result " + cutJSON(m.Result, maxShort)
	}
	if m.Traits().RequiresInput {
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
			cutText(result.Text("action"), maxShort) + " " + cutJSON(result.Value("content"), maxShort),
		)
	case "sampling/createMessage":
		content, _ := jsonraw.Object(result.Value("content"))
		return strings.TrimSpace(
			cutText(result.Text("model"), maxShort) + ` "` + cutText(content.Text("text"), maxShort) + `"`,
		)
	case "ping":
		return "ok"
	}
	return "ok, " + sizeWords(f.Bytes())
}

// inputRequests describes the input that a result asks for.
func inputRequests(result jsonraw.Members) string {
	requests, _ := jsonraw.Object(result.Value("inputRequests"))
	var texts []string
	for _, r := range requests {
		request, _ := jsonraw.Object(r.Value)
		texts = append(texts, questionText(request.Text("method"), request.Value("params")))
	}
	text := strings.Join(texts, ", ")
	if text == "" {
		return "for input"
	}
	return text
}

// toolResultText describes the result of a tool call in a few words.
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
		return "tool error: " + cutText(first, maxLong)
	}
	// The number of items says more than the text of a list.
	if items := countItems(result, first); items >= 0 {
		return "ok, " + english.Plural(items, "item") + ", " + sizeWords(bytes)
	}
	if len(blocks) > 1 {
		return "ok, " + english.Plural(len(blocks), "block") + ", " + sizeWords(bytes)
	}
	if len(first) > 0 && len(first) <= maxShort {
		return "ok: " + cutText(first, maxShort)
	}
	return "ok, " + sizeWords(bytes)
}

// countItems counts the items of a result that is a list or an object with exactly one list: the
// structured content, or else the JSON in text. It returns -1 for other results.
func countItems(result jsonraw.Members, text string) int {
	const maxParsed = 1 << 20
	value := result.Value("structuredContent")
	if value == nil && len(text) <= maxParsed {
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

// serverText describes a server from the result of its handshake.
func serverText(result jsonraw.Members) string {
	server, _ := jsonraw.Object(mcp.ServerInfo(result))
	parts := []string{strings.TrimSpace("ok " + cutText(server.Text("name")+" "+server.Text("version"), maxShort))}
	if revision := result.Text("protocolVersion"); revision != "" {
		parts = append(parts, "protocol "+cutText(revision, 40))
	}
	capabilities, _ := jsonraw.Object(result.Value("capabilities"))
	for _, c := range capabilities {
		parts = append(parts, cutText(c.Name, 40))
	}
	return strings.Join(parts, ", ")
}

// sizeWords returns "123 bytes", or from a kilobyte on "31 kB ~8k tokens".
func sizeWords(n int) string {
	text := term.Size(n)
	if n >= 1000 {
		text += " ~" + term.Scale(int64(n)/4, "k", "M", "G") + " tokens"
	}
	return text
}
