package client

import (
	"encoding/json"
	"testing"
)

// Sampling takes each use of a tool with its results only.
func TestUsesOfToolsAndTheirResults(t *testing.T) {
	const use, result, text = `{"type":"tool_use","id":"1","name":"x","input":{}}`, `{"type":"tool_result","toolUseId":"1","content":[]}`, `{"type":"text","text":"x"}`
	for messages, want := range map[string]string{
		``:                                       "",
		`{"role":"user","content":` + text + `}`: "",
		`{"role":"assistant","content":` + use + `},{"role":"user","content":` + result + `}`:                          "",
		`{"role":"assistant","content":[` + text + `,` + use + `]},{"role":"user","content":[` + result + `]}`:         "",
		`{"role":"assistant","content":` + use + `}`:                                                                   `the tool_use "1" has no tool_result`,
		`{"role":"assistant","content":` + use + `},{"role":"user","content":` + text + `}`:                            `the tool_use "1" has no tool_result in the next message`,
		`{"role":"assistant","content":` + use + `},{"role":"user","content":[` + result + `,` + text + `]}`:           "message 1 mixes tool results with other content",
		`{"role":"user","content":` + result + `}`:                                                                     `the tool_result "1" matches no tool_use of the previous message`,
		`{"role":"assistant","content":` + use + `},{"content":` + text + `},{"role":"user","content":` + result + `}`: `the tool_use "1" has no tool_result in the next message`,
	} {
		if got := invalidSampling("sampling/createMessage", json.RawMessage(`{"messages":[`+messages+`]}`)); got != want {
			t.Errorf("%s: got %q, want %q", messages, got, want)
		}
	}
	if got := invalidSampling("elicitation/create", json.RawMessage(`{"messages":[{"content":`+use+`}]}`)); got != "" {
		t.Errorf("got %q", got)
	}
}
