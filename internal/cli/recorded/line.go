package recorded

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/client"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/traffic"
	"mcpc/internal/wire"
)

// AddMcpcCommand writes the mcpc command that sends the same request. It returns a ScriptError for an
// exchange that is no request of a client, and if the recording does not name the server.
func AddMcpcCommand(s *traffic.Script, r Request) error {
	if err := r.CheckClientRequest(); err != nil {
		return err
	}
	if r.IsBare() {
		return &traffic.ScriptError{Text: "it contains no JSON-RPC request"}
	}
	words := []string{"mcpc"}
	if revision := r.Revision(); slices.Contains(client.Revisions(), revision) {
		words = append(words, "--protocol", revision)
	}
	var argv []string
	address := r.Address()
	switch {
	case IsAddress(address):
		words = append(words, "-s", s.URL(address))
	case address != "":
		words = append(words, "-s", s.Word(address, "server"))
	case r.ServerArgv() != nil:
		argv = []string{"--", s.Argv(r.ServerArgv())}
	default:
		return &traffic.ScriptError{Text: "the recording does not name the server"}
	}
	for _, f := range r.UserFields() {
		if field := s.Field(f); field != "" {
			words = append(words, "-H", field)
		}
	}
	words, input := r.AppendCommandWords(s, words)
	words = append(words, r.AnswerFlagWords(s)...)
	s.Run(words, input, argv...)
	return nil
}

// ServerName returns the name and version that a server gave when the conversation was opened, or
// "" if the capture does not contain them.
func ServerName(c *rows.Capture, row *rows.Row) string {
	for _, opening := range c.Rows() {
		isOpening := mcp.IsOpening(opening.Method) && opening.Channel == exchange.ChannelOK
		if !isOpening || opening.RunID() != row.RunID() {
			continue
		}
		if x, err := opening.Exchange(); err == nil && x != nil {
			if name := ServerNameOf(x.Response.Raw); name != "" {
				return name
			}
		}
	}
	if x, err := row.Exchange(); err == nil && x != nil { // stateless results name the server too
		return ServerNameOf(x.Response.Raw)
	}
	return ""
}

// ServerNameOf returns the name and version in a response's serverInfo, or "".
func ServerNameOf(response []byte) string {
	info, _ := jsonraw.Object(ServerInfo(response))
	return strings.TrimSpace(info.Text("name") + " " + info.Text("version"))
}

// ServerInfo returns the serverInfo of a response, or nil if it has no serverInfo.
func ServerInfo(response []byte) json.RawMessage {
	result, err := wire.ParseMessage(response).ResultMembers()
	if err != nil {
		return nil
	}
	return mcp.ServerInfo(result)
}
