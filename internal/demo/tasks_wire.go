//lint:file-ignore SA1019 sampling and roots are deprecated and still spoken

package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// completeResult is the resultType of all results except the result that creates a task.
const completeResult = "complete"

// taskTime is the format of times, which are in UTC.
const taskTime = "2006-01-02T15:04:05.000Z07:00"

// taskParams are the params of all three methods.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// A taskRecord is the result of each method, and of the call that becomes a task. An
// acknowledgement only has a resultType. Any other record has all members up to PollIntervalMs.
type taskRecord struct {
	mcp.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId,omitempty"`
	Status         string              `json:"status,omitempty"`
	CreatedAt      string              `json:"createdAt,omitempty"`
	LastUpdatedAt  string              `json:"lastUpdatedAt,omitempty"`
	TTLMs          int64               `json:"ttlMs,omitempty"`
	PollIntervalMs int64               `json:"pollIntervalMs,omitempty"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result         mcp.Result          `json:"result,omitempty"`
	Error          *jsonrpc.Error      `json:"error,omitempty"`
}

// newRecord returns the result of the call that became a task.
func (t *task) newRecord() *taskRecord {
	created := t.created.UTC().Format(taskTime)
	return &taskRecord{
		ResultType: "task", TaskID: t.id, Status: taskWorking, CreatedAt: created, LastUpdatedAt: created,
		TTLMs: timeToLive.Milliseconds(), PollIntervalMs: pollInterval.Milliseconds(),
	}
}

// detailedRecordLocked returns the task as the result of tasks/get. t.m.mu is locked.
func (t *task) detailedRecordLocked() *taskRecord {
	r := t.newRecord()
	r.ResultType = completeResult
	r.Status = t.status
	r.LastUpdatedAt = t.updated.UTC().Format(taskTime)
	switch t.status {
	case taskInputRequired:
		r.InputRequests = mcp.InputRequestMap{}
		for key, request := range t.pending { // answers may be added during encoding
			r.InputRequests[key] = request
		}
	case taskCompleted:
		r.Result = t.result
	case taskFailed:
		r.Error = t.err
	}
	return r
}

// handleTaskMethod returns an SDK method that looks up the task and calls handle with m.mu locked. The method
// does not exist in older revisions.
func (m *taskManager) handleTaskMethod(
	method string,
	handle func(*task, *taskParams) (*taskRecord, error),
) func(context.Context, *mcp.ServerSession, *taskParams) (*taskRecord, error) {
	return func(_ context.Context, _ *mcp.ServerSession, p *taskParams) (*taskRecord, error) {
		if p == nil || p.GetMeta()[mcp.MetaKeyProtocolVersion] == nil {
			return nil, &jsonrpc.Error{
				Code:    jsonrpc.CodeMethodNotFound,
				Message: fmt.Sprintf("%q unsupported in this revision", method),
			}
		}
		if !declaresTasks(p.GetMeta()) {
			return nil, undeclaredTasksError()
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

// declaresTasks reports whether the request declares the extension.
func declaresTasks(meta map[string]any) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[tasksExtension].(map[string]any)
	return ok
}

func undeclaredTasksError() error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "This needs a client that declares the extension " + tasksExtension + ".",
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
	}
}

// readTaskAnswers parses the answers to requests. It returns an error if an answer does not have
// the type that its request requires.
func readTaskAnswers(raw map[string]json.RawMessage, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	b, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var answers mcp.InputResponseMap
	if err := json.Unmarshal(b, &answers); err != nil {
		return nil, err
	}
	for key, answer := range answers {
		if !FitsRequest(requests[key], answer) {
			return nil, fmt.Errorf("inputResponses[%q] does not answer what was asked", key)
		}
	}
	return answers, nil
}

// FitsRequest reports whether an answer has the type that its request requires.
func FitsRequest(request mcp.InputRequest, answer mcp.InputResponse) bool {
	fits := false
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
