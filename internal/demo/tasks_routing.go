package demo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxTaskBody is the maximum size in bytes of a request of a task method.
const maxTaskBody = 4 << 20

// checkTaskNames returns a handler that rejects a request of a task method if its header Mcp-Name
// is not the task's id (extension, "Routing headers"). The SDK compares Mcp-Method with the body
// for all methods, and Mcp-Name only for the methods that it supports.
func checkTaskNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !slices.Contains(taskMethods(), r.Header.Get("Mcp-Method")) {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTaskBody))
		if err != nil {
			status := http.StatusBadRequest
			if _, large := errors.AsType[*http.MaxBytesError](err); large {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, err.Error(), status)
			return
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Params struct {
				TaskID string `json:"taskId"`
			} `json:"params"`
		}
		name, good := decodeField(r.Header.Get("Mcp-Name"))
		if err := json.Unmarshal(body, &message); err == nil && message.Params.TaskID != "" &&
			(!good || name != message.Params.TaskID) {
			writeTaskMismatch(w, message.ID,
				fmt.Sprintf("header mismatch: Mcp-Name is %q, and the task %q", r.Header.Get("Mcp-Name"), message.Params.TaskID))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func writeTaskMismatch(w http.ResponseWriter, id json.RawMessage, why string) {
	message := map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": mcp.CodeHeaderMismatch, "message": why}}
	if id != nil {
		message["id"] = id
	}
	b, err := json.Marshal(message)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(b)
}

// decodeField decodes the value of a header field, which may be marked as Base64 (transports,
// "Value encoding"). It returns false if the Base64 is invalid.
func decodeField(value string) (string, bool) {
	inner, begins := strings.CutPrefix(value, "=?base64?")
	inner, ends := strings.CutSuffix(inner, "?=")
	if !begins || !ends {
		return value, true
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(text), err == nil
}
