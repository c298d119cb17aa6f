//lint:file-ignore SA1019 sampling and roots are deprecated and still spoken

package tasks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// complete is the resultType of all results but the one that creates a task.
const complete = "complete"

// instant is how times are written, in UTC.
const instant = "2006-01-02T15:04:05.000Z07:00"

// params are those of all three methods.
type params struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// A record is the result of each method, and of the call that becomes a task: a mere
// acknowledgement has only a resultType.
type record struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	*state
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        mcp.Result          `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
}

// A state has the members that a task has in every status.
type state struct {
	TaskID         string `json:"taskId"`
	Status         string `json:"status"`
	CreatedAt      string `json:"createdAt"`
	LastUpdatedAt  string `json:"lastUpdatedAt"`
	TTLMs          int64  `json:"ttlMs"`
	PollIntervalMs int64  `json:"pollIntervalMs"`
}

// creation is the result of the call that became a task, which was working then.
func (t *task) creation() *record {
	created := t.created.UTC().Format(instant)
	return &record{ResultType: "task", state: &state{
		TaskID: t.id, Status: working, CreatedAt: created, LastUpdatedAt: created,
		TTLMs: timeToLive.Milliseconds(), PollIntervalMs: pollInterval.Milliseconds(),
	}}
}

// detailLocked is the task as tasks/get has it.
func (t *task) detailLocked() *record {
	r := t.creation()
	r.ResultType, r.Status, r.LastUpdatedAt = complete, t.status, t.updated.UTC().Format(instant)
	switch t.status {
	case inputRequired:
		r.InputRequests = mcp.InputRequestMap{}
		for key, request := range t.pending { // the answers come while this is written
			r.InputRequests[key] = request
		}
	case completed:
		r.Result = t.result
	case failed:
		r.Error = t.err
	}
	return r
}

// gated makes a method of the SDK of a handler for a task that there is. The handler is
// called with m.mu held. Before the extension the methods do not exist.
func (m *Manager) gated(method string, handle func(*task, *params) (*record, error)) func(context.Context, *mcp.ServerSession, *params) (*record, error) {
	return func(_ context.Context, _ *mcp.ServerSession, p *params) (*record, error) {
		if p == nil || p.GetMeta()[mcp.MetaKeyProtocolVersion] == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%q unsupported in this revision", method)}
		}
		if !declared(p.GetMeta()) {
			return nil, notDeclared()
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.expireLocked()
		t := m.tasks[p.TaskID]
		if t == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown task %q", p.TaskID)}
		}
		return handle(t, p)
	}
}

// declared reports that a request declares the extension.
func declared(meta map[string]any) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[Extension].(map[string]any)
	return ok
}

func notDeclared() error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "This needs a client that declares the extension " + Extension + ".",
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + Extension + `":{}}}}`),
	}
}

// readAnswers reads the answers to requests, each of which has to be of the kind that its
// request asks for.
func readAnswers(raw map[string]json.RawMessage, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	b, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var answers mcp.InputResponseMap
	if err := json.Unmarshal(b, &answers); err != nil {
		return nil, err
	}
	for key, answer := range answers {
		if !Fits(requests[key], answer) {
			return nil, fmt.Errorf("inputResponses[%q] does not answer what was asked", key)
		}
	}
	return answers, nil
}

// Fits reports that an answer is of the kind that its request asks for.
func Fits(request mcp.InputRequest, answer mcp.InputResponse) (fits bool) {
	switch request.(type) {
	case *mcp.ElicitParams:
		_, fits = answer.(*mcp.ElicitResult)
	case *mcp.CreateMessageWithToolsParams:
		_, fits = answer.(*mcp.CreateMessageWithToolsResult)
	case *mcp.ListRootsParams:
		_, fits = answer.(*mcp.ListRootsResult)
	}
	return fits
}
