package planted

import (
	"encoding/json"
	"io"
	"net/http"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Handler returns a server with the tools over Streamable HTTP, in revision 2025-11-25. A call that
// is never answered waits for the client to give up; a call that ends the server breaks its
// connection.
func Handler(tools []*Tool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		m := wire.ParseMessage(body)
		if m.Kind == wire.Notification {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		switch m.Method {
		case "initialize":
			reply(w, m, "result", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"planted","version":"1"}}`)
		case "ping":
			reply(w, m, "result", "{}")
		case "tools/list":
			reply(w, m, "result", `{"tools":`+string(jsonraw.ListOf(tools, (*Tool).entry))+`}`)
		case "tools/call":
			call(w, r, m, tools)
		default:
			reply(w, m, "error", `{"code":-32601,"message":"unknown method"}`)
		}
	})
}

// entry returns the tool as tools/list has it.
func (t *Tool) entry() json.RawMessage {
	entry := jsonraw.With(nil, "name", jsonraw.Quote(t.Name))
	entry = jsonraw.With(entry, "inputSchema", json.RawMessage(t.Input))
	if t.OutputSchema != "" {
		entry = jsonraw.With(entry, "outputSchema", json.RawMessage(t.OutputSchema))
	}
	if !t.Writes {
		entry = jsonraw.With(entry, "annotations", json.RawMessage(`{"readOnlyHint":true}`))
	}
	return entry
}

// call answers a tools/call.
func call(w http.ResponseWriter, r *http.Request, m *wire.Message, tools []*Tool) {
	name, _ := jsonraw.Text(jsonraw.First(m.Params, "name"))
	for _, t := range tools {
		if t.Name == name {
			send(w, r, m, t.Call(jsonraw.OrEmpty(jsonraw.First(m.Params, "arguments"))))
			return
		}
	}
	reply(w, m, "error", `{"code":-32602,"message":"unknown tool"}`)
}

// send sends the answer of a tool.
func send(w http.ResponseWriter, r *http.Request, m *wire.Message, a Answer) {
	switch {
	case a.IsSilent:
		<-r.Context().Done()
	case a.Ends:
		panic(http.ErrAbortHandler)
	case a.Status != 0:
		w.WriteHeader(a.Status)
	case a.Code != 0:
		failed := jsonraw.With(json.RawMessage(`{"code":-32602}`), "message", jsonraw.Quote(a.Text))
		if a.Code == -32603 {
			failed = jsonraw.With(failed, "code", json.RawMessage("-32603"))
		}
		reply(w, m, "error", string(failed))
	case a.Raw != "":
		reply(w, m, "result", a.Raw)
	default:
		content := jsonraw.With(json.RawMessage(`{"type":"text"}`), "text", jsonraw.Quote(a.Text))
		result := jsonraw.With(nil, "content", jsonraw.List([]json.RawMessage{content}))
		if a.Structured != "" {
			result = jsonraw.With(result, "structuredContent", json.RawMessage(a.Structured))
		}
		if a.IsError {
			result = jsonraw.With(result, "isError", json.RawMessage("true"))
		}
		reply(w, m, "result", string(result))
	}
}

// reply sends a response with a result or an error; value may be invalid JSON.
func reply(w http.ResponseWriter, m *wire.Message, member, value string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"`+member+`":`+value+`}`)
}
