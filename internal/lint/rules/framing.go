package rules

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

var framingChecks = []Check{
	{ID: "L001", Kind: conv.OnMessage, Do: func(e *conv.Event) {
		p := firstProblem(e, "not_object", "jsonrpc", "empty_batch", "nested_batch", "trailing", "syntax", "depth",
			"shape", "method", "params")
		if p == nil || hasNaN(e.Message.Raw) {
			return // L009 judges NaN
		}
		if p.Rule == "shape" && !hasMethod(e) {
			return // L002 judges responses
		}
		e.FindMessage("message", p.Text+": "+e.Show(e.Message.Raw), `an object with "jsonrpc":"2.0"`)
	}},
	{ID: "L002", Kind: conv.OnMessage, When: isReply, Do: func(e *conv.Event) {
		if firstProblem(e, "shape") != nil {
			e.FindMessage("response", e.Show(e.Message.Raw), `"result" or "error"`)
		}
	}},
	{ID: "L003", Kind: conv.OnReply, When: identifiesRequest, Do: checkResponseID},
	{ID: "L004", Kind: conv.OnMessage, When: func(e *conv.Event) bool { return e.Message.ID != nil }, Do: checkIDType},
	{ID: "L005", Kind: conv.OnMessage, When: isReply, Do: func(e *conv.Event) {
		if p := firstProblem(e, "error", "error_code", "error_message"); p != nil {
			e.FindMessage("error", p.Text, "an integer code and a string message")
		}
	}},
	{ID: "L006", Kind: conv.OnReply, Do: func(e *conv.Event) {
		if repliesToNotification(e) {
			e.FindMessage("notification", e.Show(e.Message.Raw), "no response")
		}
	}},
	{ID: "L007", Kind: conv.OnBatch, Do: func(e *conv.Event) { e.Find("", e.Show(e.Message.Raw), "single messages") }},
	{ID: "L009", Kind: conv.OnMessage, Do: checkStrictJSON},
	{
		ID:   "L009",
		Kind: conv.OnNoise,
		When: isBrokenMessage,
		Do:   func(e *conv.Event) { e.Find("", e.Show(e.Value), "JSON in UTF-8") },
	},
	{ID: "L017", Kind: conv.OnMessage, Do: func(e *conv.Event) { checkMetaKeys(e, "/_meta", e.Raw("_meta")) }},
	{ID: "L017", Kind: conv.OnTool, Do: func(e *conv.Event) { checkMetaKeys(e, "/_meta", e.Raw("_meta")) }},
	{ID: "L017", Kind: conv.OnContent, Do: func(e *conv.Event) { checkMetaKeys(e, "/_meta", e.Raw("_meta")) }},
	{
		ID:   "L018",
		Kind: conv.OnMessage,
		When: func(e *conv.Event) bool { return e.Raw("_meta") != nil },
		Do: func(e *conv.Event) {
			// These are the three unprefixed keys of SEP-414.
			for name, isValid := range map[string]func(string) bool{
				"traceparent": isTraceparent, "tracestate": isKeyValueList, "baggage": isKeyValueList,
			} {
				raw := e.Raw("_meta", name)
				if text, ok := jsonraw.Text(raw); raw != nil && (!ok || !isValid(text)) {
					e.Find("/_meta/"+name, e.Show(raw), "a W3C "+name)
				}
			}
		},
	},
}

// firstProblem returns the first problem of a message with any of the rules, or nil.
func firstProblem(e *conv.Event, rules ...string) *wire.Finding {
	for i := range e.Message.Problems {
		if p := &e.Message.Problems[i]; slices.Contains(rules, p.Rule) {
			return p
		}
	}
	return nil
}

func hasMethod(e *conv.Event) bool { return jsonraw.First(e.Message.Raw, "method") != nil }

// isReply reports whether a message is a result or an error, or an invalid form of either.
func isReply(e *conv.Event) bool {
	if hasMethod(e) {
		return false
	}
	hasReply := e.Message.Result != nil || e.Message.Error != nil
	return hasReply || firstProblem(e, "shape", "error", "error_code", "error_message") != nil
}

// identifiesRequest reports whether a reply has an id that should be the id of a request. Other
// rules judge replies without an id.
func identifiesRequest(e *conv.Event) bool {
	return e.Message.ID != nil && string(e.Message.ID) != "null" && !repliesToNotification(e)
}

// checkResponseID reports a response with an unknown id, and a second response to a request.
func checkResponseID(e *conv.Event) {
	id := e.Show(e.Message.ID)
	if e.Call == nil {
		checkUnknownID(e, id)
		return
	}
	if e.Call.Answers > 0 && e.Call.Method != "subscriptions/listen" {
		e.Hit(conv.Hit{
			Root: true, Subject: e.Method, Pointer: "/id",
			Got: "response number " + strconv.Itoa(e.Call.Answers+1) + " with id " + id, Want: "one response",
		})
	}
}

// checkUnknownID reports a response whose id is the id of no request. Without the beginning of the
// conversation, it reports only an id that differs from a request's id in its JSON type.
func checkUnknownID(e *conv.Event, id string) {
	if call := e.CallWithOtherIDType(e.Message.ID); call != nil {
		e.Hit(conv.Hit{
			Root: true, Subject: "response", Pointer: "/id", Got: "id " + id,
			Want: "id " + string(call.ID) + ", in this JSON type",
		})
		return
	}
	answersRequest := e.Stream != nil && e.Stream.Call != nil
	if e.Opened || answersRequest {
		e.Hit(conv.Hit{
			Root: true, Subject: "response", Pointer: "/id", Got: "id " + id + " of no request",
			Want: "the id of a request",
		})
	}
}

// checkIDType reports an id that is neither a string nor an integer.
func checkIDType(e *conv.Event) {
	p := firstProblem(e, "id")
	if p == nil {
		return
	}
	severity := conv.Severity("")
	// JSON-RPC has the id null in an error about a request that could not be read.
	if string(e.Message.ID) == "null" && e.Message.Error != nil && e.Rev < conv.Rev20251125 {
		severity = conv.Warn
	}
	e.Hit(conv.Hit{
		Root: true, Severity: severity, Subject: "message", Got: "id " + e.Show(e.Message.ID),
		Want: "a string or an integer",
	})
}

// repliesToNotification reports whether a reply answers a message that needs no answer. Over stdio
// it assumes so if the last message sent was a notification and no request is open.
func repliesToNotification(e *conv.Event) bool {
	if e.Call != nil {
		return false
	}
	if e.Stream != nil {
		return e.Stream.Sent == wire.Notification || e.Stream.Sent == wire.Response
	}
	hasOnlyNotification := e.LastSent == wire.Notification && e.OpenCalls() == 0
	hasRequestID := e.Conversation.CallWithID(conv.Key(e.Message.ID)) != nil || e.CallWithOtherIDType(e.Message.ID) != nil
	return hasOnlyNotification && !hasRequestID
}

// hasNaN reports whether text is invalid JSON with NaN or Infinity.
func hasNaN(raw []byte) bool {
	mayHaveNaN := bytes.Contains(raw, []byte("NaN")) || bytes.Contains(raw, []byte("Infinity"))
	return mayHaveNaN && jsonraw.Valid(raw) != nil
}

// isBrokenMessage reports whether a line of stdout is a JSON-RPC message with NaN, Infinity or
// invalid UTF-8.
func isBrokenMessage(e *conv.Event) bool {
	if e.IsJoined || !bytes.Contains(e.Value, []byte(`"jsonrpc"`)) {
		return false
	}
	if hasNaN(e.Value) {
		return true
	}
	fault := jsonraw.Valid(e.Value)
	return fault != nil && fault.Rule == "utf8"
}

// checkStrictJSON reports messages that lenient parsers accept: a byte order mark, invalid UTF-8, NaN,
// duplicate members.
func checkStrictJSON(e *conv.Event) {
	m := e.Message
	if p := firstProblem(e, "bom", "utf8", "surrogate"); p != nil {
		e.FindMessage("message", p.Text, "JSON in UTF-8 without a byte order mark")
		return
	}
	if hasNaN(m.Raw) {
		e.FindMessage("message", e.Show(m.Raw), "a number, or null")
		return
	}
	if p := firstProblem(e, "duplicate_member"); p != nil {
		e.Hit(conv.Hit{Root: true, Severity: conv.Warn, Subject: "message", Got: p.Text, Want: "each member once"})
		return
	}
	if pointer := m.DuplicateInResult(); pointer != "" {
		e.Hit(conv.Hit{Severity: conv.Warn, Pointer: pointer, Got: "a member that is duplicated", Want: "each member once"})
	}
}

// protocolKeys are the names that the protocol itself uses with its prefix.
var protocolKeys = []string{
	"protocolVersion", "clientInfo", "clientCapabilities", "logLevel", "serverInfo", "subscriptionId",
	"related-task", "model-immediate-response", "ui", "tasks",
}

// checkMetaKeys checks the keys of a _meta object; at is its JSON pointer.
func checkMetaKeys(e *conv.Event, at string, meta []byte) {
	if !conv.IsObject(meta) {
		return
	}
	members, _ := jsonraw.Object(meta)
	for _, m := range members {
		if want := wantedMetaKey(m.Name, e.Rev); want != "" {
			e.Find(jsonraw.Pointer(at, m.Name), "key "+e.Show([]byte(m.Name)), want)
		}
	}
}

// wantedMetaKey returns what is expected in place of a key of _meta, "" if the key is valid.
func wantedMetaKey(key string, rev conv.Rev) string {
	const format = "prefix/name, of letters, digits and hyphens"
	prefix, name, hasPrefix := strings.Cut(key, "/")
	if !hasPrefix {
		if !isKeyName(key, false) {
			return format
		}
		return ""
	}
	if !isKeyPrefix(prefix) || !isKeyName(name, true) {
		return format
	}
	isOfProtocol := prefix+"/" == conv.MetaPrefix && slices.Contains(protocolKeys, name)
	if isReservedPrefix(prefix, rev) && !isOfProtocol {
		return "a prefix that is not reserved for MCP"
	}
	return ""
}

// isKeyPrefix reports whether prefix consists of labels with dots between them: each begins with a
// letter, ends with a letter or a digit, and may have hyphens inside.
func isKeyPrefix(prefix string) bool {
	for label := range strings.SplitSeq(prefix, ".") {
		if label == "" || !isAlnum(label[0]) || label[0] <= '9' || !isAlnum(label[len(label)-1]) {
			return false
		}
		for i := range len(label) {
			if !isAlnum(label[i]) && label[i] != '-' {
				return false
			}
		}
	}
	return true
}

// isKeyName reports whether name is a valid name of a key. It may be empty after a prefix.
func isKeyName(name string, hasPrefix bool) bool {
	if name == "" {
		return hasPrefix
	}
	if !isAlnum(name[0]) || !isAlnum(name[len(name)-1]) {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isReservedPrefix reports whether the prefix is reserved for MCP: by its second label since
// 2025-11-25, by its last label but one before.
func isReservedPrefix(prefix string, rev conv.Rev) bool {
	labels := strings.Split(prefix, ".")
	index := 1
	if rev < conv.Rev20251125 {
		index = len(labels) - 2
	}
	exists := index >= 0 && index < len(labels)
	return exists && isOneOf(labels[index], "modelcontextprotocol", "mcp")
}

// isTraceparent reports whether text is a W3C traceparent: version, trace id, parent id and flags.
func isTraceparent(text string) bool {
	parts := strings.Split(text, "-")
	isVersion0 := parts[0] == "00" // later versions may add parts
	if len(parts) < 4 || len(parts) > 4 && isVersion0 {
		return false
	}
	for i, size := range []int{2, 32, 16, 2} {
		if len(parts[i]) != size || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return parts[0] != "ff" && strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

// isKeyValueList reports whether text is a comma-separated list of key=value.
func isKeyValueList(text string) bool {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		key, _, ok := strings.Cut(item, "=")
		if !ok || key == "" || strings.ContainsAny(strings.TrimSpace(key), " \t") {
			return false
		}
	}
	return true
}
