//lint:file-ignore SA1019 logging is deprecated in 2026-07-28 and still spoken

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// correctErrors returns a handler that replaces the text errors of the SDK by JSON-RPC errors of the
// specification. It also accepts valid requests that the SDK rejects. All other requests pass
// unchanged.
func correctErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcp.DefaultMaxRequestBodyBytes))
		if err != nil {
			status := http.StatusBadRequest
			if _, large := errors.AsType[*http.MaxBytesError](err); large {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, err.Error(), status)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		correctHeaders(w.Header(), r.Header)
		p := postedMessage{valid: json.Valid(body)}
		_ = json.Unmarshal(body, &p) // the SDK handles a batch
		if refusal := p.findMisreading(r.Header.Get("Mcp-Protocol-Version")); refusal != nil {
			writeError(w, http.StatusBadRequest, p.ID, refusal)
			return
		}
		next.ServeHTTP(&errorConverter{ResponseWriter: w, request: p}, r)
	})
}

// correctHeaders changes the headers of a request without a session for the SDK. The SDK compares
// Mcp-Name without decoding it, and rejects a request with Last-Event-ID.
func correctHeaders(response, request http.Header) {
	if !isStatelessRequest(request) {
		return
	}
	response.Set("X-Accel-Buffering", "no")
	request.Del("Last-Event-ID")
	if name, ok := decodeField(request.Get("Mcp-Name")); ok && request.Get("Mcp-Name") != "" {
		request.Set("Mcp-Name", name)
	}
}

// postedMessage has the parts of a POST message that decide whether it is rejected.
type postedMessage struct {
	valid  bool            // set if the body is JSON
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// findMisreading returns the error for a message that the SDK misreads, or nil. The SDK handles a request
// without a method as a response, and a request without a session as one with a session.
func (p *postedMessage) findMisreading(version string) *jsonrpc.Error {
	bodyVersion := p.Params.Meta.Version
	if p.ID != nil && p.Method == nil && p.Result == nil && p.Error == nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request has a method"}
	}
	if bodyVersion == "" || version == "" || version >= statelessRevision {
		return nil
	}
	if bodyVersion != version {
		return &jsonrpc.Error{
			Code:    mcp.CodeHeaderMismatch,
			Message: "MCP-Protocol-Version is " + version + ", and the request's revision " + bodyVersion,
		}
	}
	if !slices.Contains(revisions(), bodyVersion) {
		return unsupportedVersion(bodyVersion)
	}
	return nil
}

// unsupportedVersion returns the JSON-RPC error for a revision that the demo does not support.
func unsupportedVersion(version string) *jsonrpc.Error {
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: revisions(), Requested: version})
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}

// rejectUnknownVersion returns the error for a request with a version that does not exist, or nil. The SDK
// handles such a request like one in an older version.
func rejectUnknownVersion(msg jsonrpc.Message) *jsonrpc.Response {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	var p postedMessage
	_ = json.Unmarshal(req.Params, &p.Params)
	version := p.Params.Meta.Version
	if version == "" || version >= statelessRevision || slices.Contains(revisions(), version) {
		return nil
	}
	return &jsonrpc.Response{ID: req.ID, Error: unsupportedVersion(version)}
}

// errorConverter is a response writer that converts a text error into a JSON-RPC error.
type errorConverter struct {
	http.ResponseWriter
	request     postedMessage
	isTextError bool
}

func (w *errorConverter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader passes the status on. It delays the status of a text error until Write.
func (w *errorConverter) WriteHeader(status int) {
	w.isTextError = status == http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	if !w.isTextError {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write writes the body, or the JSON-RPC error for it if the SDK reports an error as text.
func (w *errorConverter) Write(b []byte) (int, error) {
	if !w.isTextError {
		return w.ResponseWriter.Write(b)
	}
	w.isTextError = false
	status := http.StatusBadRequest
	failed := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: strings.TrimSpace(string(b))}
	if !w.request.valid {
		failed.Code = jsonrpc.CodeParseError
	} else if strings.HasPrefix(failed.Message, "JSON RPC not handled") {
		// The Go SDK writes this text for an unknown method, with the same status as for other errors.
		status = http.StatusOK
		failed.Code = jsonrpc.CodeMethodNotFound
	}
	writeError(w.ResponseWriter, status, w.request.ID, failed)
	return len(b), nil
}

// writeError writes a JSON-RPC error with an HTTP status. id is nil if the request has no id.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, failed *jsonrpc.Error) {
	members := map[string]any{"jsonrpc": "2.0", "error": failed}
	if id != nil {
		members["id"] = id
	}
	message, _ := json.Marshal(members)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(message)
}

// rejectMalformed returns a handler that rejects requests that the SDK accepts by mistake: arguments that
// are not an object, and unknown log levels.
func rejectMalformed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		var level any
		params := req.GetParams()
		if v := reflect.ValueOf(params); v.Kind() == reflect.Pointer && !v.IsNil() {
			level = params.GetMeta()["io.modelcontextprotocol/logLevel"]
		}
		switch p := params.(type) {
		case *mcp.CallToolParamsRaw:
			if args := bytes.TrimSpace(p.Arguments); len(args) > 0 && args[0] != '{' && string(args) != "null" {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "arguments are an object"}
			}
		case *mcp.SetLoggingLevelParams:
			level = string(p.Level)
		}
		if name, _ := level.(string); level != nil && !slices.Contains(logLevels(), mcp.LoggingLevel(name)) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown log level"}
		}
		return next(ctx, method, req)
	}
}

func logLevels() []mcp.LoggingLevel {
	return []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}
