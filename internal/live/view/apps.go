package view

import (
	"encoding/json"

	"mcpc/internal/mcp"
)

// An AppOpening names the tool whose page is to be shown (extension MCP Apps). Target is the target of
// a Tool or of a row.
type AppOpening struct {
	Target string `json:"target"`
	Tool   string `json:"tool"`
	// Confirmed is true if the user agreed to the question of the previous App.
	Confirmed bool `json:"confirmed,omitempty"`
}

// An App is the page of a tool. If Confirm is set, nothing was read, and Confirm is the question to ask.
type App struct {
	Confirm  string  `json:"confirm,omitempty"`
	Declared mcp.App `json:"declared"`
	// Definition is the entry of the tool in tools/list.
	Definition json.RawMessage `json:"definition,omitempty"`
	// Frame is the URL of the frame that shows the page, and Allow the attribute allow of that frame. The web
	// server sets them.
	Frame string `json:"frame,omitempty"`
	Allow string `json:"allow"`
}

// An AppRequest is a request of a page to its server.
type AppRequest struct {
	Target    string          `json:"target"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"`
	Confirmed bool            `json:"confirmed,omitempty"`
}

// An AppResponse is the response to an AppRequest: its result, the error of the server, or what else
// became of it.
type AppResponse struct {
	Sent
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}
