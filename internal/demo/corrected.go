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

// corrected returns a handler that replaces the text errors of the SDK by JSON-RPC errors of the
// specification. It also accepts valid requests that the SDK rejects. All other requests pass
// unchanged.
func corrected(next http.Handler) http.Handler {
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
		p := posted{valid: json.Valid(body)}
		_ = json.Unmarshal(body, &p) // the SDK handles a batch
		if refusal := p.refusal(r.Header.Get("Mcp-Protocol-Version")); refusal != nil {
			answer(w, http.StatusBadRequest, p.ID, refusal)
			return
		}
		next.ServeHTTP(&explained{ResponseWriter: w, request: p}, r)
	})
}

// correctHeaders changes the headers of a request without a session for the SDK. The SDK compares
// Mcp-Name without decoding it, and rejects a request with Last-Event-ID.
func correctHeaders(response, request http.Header) {
	if !saysStateless(request) {
		return
	}
	response.Set("X-Accel-Buffering", "no")
	request.Del("Last-Event-ID")
	if name, ok := decodedField(request.Get("Mcp-Name")); ok && request.Get("Mcp-Name") != "" {
		request.Set("Mcp-Name", name)
	}
}

// posted has the parts of a POST message that decide whether it is rejected.
type posted struct {
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

// refusal returns the error for a message that the SDK misreads, or nil. The SDK handles a request
// without a method as a response, and a request without a session as one with a session.
func (p *posted) refusal(version string) *jsonrpc.Error {
	said := p.Params.Meta.Version
	if p.ID != nil && p.Method == nil && p.Result == nil && p.Error == nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request has a method"}
	}
	if said == "" || version == "" || version >= stateless {
		return nil
	}
	if said != version {
		return &jsonrpc.Error{
			Code:    mcp.CodeHeaderMismatch,
			Message: "MCP-Protocol-Version is " + version + ", and the request's revision " + said,
		}
	}
	if !slices.Contains(revisions(), said) {
		return unsupported(said)
	}
	return nil
}

func unsupported(version string) *jsonrpc.Error {
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: revisions(), Requested: version})
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}

// outdated returns the error for a request with a version that does not exist, or nil. The SDK
// handles such a request like one in an older version.
func outdated(msg jsonrpc.Message) *jsonrpc.Response {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	var p posted
	_ = json.Unmarshal(req.Params, &p.Params)
	if said := p.Params.Meta.Version; said != "" && said < stateless && !slices.Contains(revisions(), said) {
		return &jsonrpc.Response{ID: req.ID, Error: unsupported(said)}
	}
	return nil
}

// explained is a response writer that converts a text error into a JSON-RPC error.
type explained struct {
	http.ResponseWriter
	request posted
	text    bool
}

func (w *explained) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *explained) WriteHeader(status int) {
	w.text = status == http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	if !w.text {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *explained) Write(b []byte) (int, error) {
	if !w.text {
		return w.ResponseWriter.Write(b)
	}
	w.text = false
	status := http.StatusBadRequest
	failed := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: strings.TrimSpace(string(b))}
	if !w.request.valid {
		failed.Code = jsonrpc.CodeParseError
	} else if strings.HasPrefix(failed.Message, "JSON RPC not handled") {
		status = http.StatusOK
		failed.Code = jsonrpc.CodeMethodNotFound
	}
	answer(w.ResponseWriter, status, w.request.ID, failed)
	return len(b), nil
}

func answer(w http.ResponseWriter, status int, id json.RawMessage, failed *jsonrpc.Error) {
	members := map[string]any{"jsonrpc": "2.0", "error": failed}
	if id != nil {
		members["id"] = id
	}
	message, _ := json.Marshal(members)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(message)
}

// malformed returns a handler that rejects requests that the SDK accepts by mistake: arguments that
// are not an object, and unknown log levels.
func malformed(next mcp.MethodHandler) mcp.MethodHandler {
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
		if name, _ := level.(string); level != nil && !slices.Contains(levels(), mcp.LoggingLevel(name)) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown log level"}
		}
		return next(ctx, method, req)
	}
}

func levels() []mcp.LoggingLevel {
	return []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}
