package telemetry

import (
	"encoding/hex"
	"strings"

	"mcpc/internal/otlp"
)

// A Context is the W3C trace context of a span. The zero value is no context.
type Context struct {
	Trace   otlp.TraceID
	Span    otlp.SpanID
	Sampled bool
	// State is the tracestate, or "".
	State string
	// Remote is set if the context is from another process.
	Remote bool
}

// IsValid reports whether the context has a trace and a span.
func (c Context) IsValid() bool { return c.Trace != otlp.TraceID{} && c.Span != otlp.SpanID{} }

const traceparentLength = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

// ParseContext parses a traceparent as W3C Trace Context defines it. It reports false if the
// traceparent is invalid, and ignores an invalid tracestate.
func ParseContext(traceparent, tracestate string) (Context, bool) {
	if len(traceparent) < traceparentLength || traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-' {
		return Context{}, false
	}
	// VERSION-TRACE-SPAN-FLAGS
	version := traceparent[:2]
	rest := traceparent[traceparentLength:]
	var number, flags [1]byte
	c := Context{Remote: true}
	if !decodeLowerHex(version, number[:]) || !decodeLowerHex(traceparent[3:35], c.Trace[:]) ||
		!decodeLowerHex(traceparent[36:52], c.Span[:]) || !decodeLowerHex(traceparent[53:55], flags[:]) {
		return Context{}, false
	}
	isForbidden := version == "ff"
	hasBadSuffix := rest != "" && (version == "00" || rest[0] != '-') // a later version may append fields
	if isForbidden || hasBadSuffix || !c.IsValid() {
		return Context{}, false
	}
	c.Sampled = flags[0]&1 != 0
	if isTraceState(tracestate) {
		c.State = tracestate
	}
	return c, true
}

// Traceparent formats the context as a traceparent. It returns "" if the context is invalid.
func (c Context) Traceparent() string {
	if !c.IsValid() {
		return ""
	}
	flags := "-00"
	if c.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(c.Trace[:]) + "-" + hex.EncodeToString(c.Span[:]) + flags
}

// decodeLowerHex decodes hexadecimal digits into dst. It reports false if text has upper-case or
// other characters.
func decodeLowerHex(text string, dst []byte) bool {
	if strings.ToLower(text) != text {
		return false
	}
	_, err := hex.Decode(dst, []byte(text))
	return err == nil
}

const (
	maxStateMembers = 32
	maxState        = 512
	maxStateKey     = 256
	maxStateValue   = 256
)

// isTraceState reports whether a tracestate is valid. Its members must have different keys.
func isTraceState(text string) bool {
	if text == "" || len(text) > maxState {
		return false
	}
	keys := map[string]bool{}
	for i, member := range strings.Split(text, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		key, value, ok := strings.Cut(member, "=")
		if !ok || i >= maxStateMembers || keys[key] || !isStateKey(key) || !isStateValue(value) {
			return false
		}
		keys[key] = true
	}
	return len(keys) > 0
}

// isStateKey reports whether a key of a tracestate is valid: a key, or a tenant and a system joined
// by "@".
func isStateKey(key string) bool {
	tenant, system, isMultiTenant := strings.Cut(key, "@")
	// The lengths come from W3C Trace Context.
	if isMultiTenant && (len(tenant) > 241 || len(system) > 14 || system == "" || !isLower(system[0])) {
		return false
	}
	if tenant == "" || len(key) > maxStateKey || !isLower(tenant[0]) && !(isDigit(tenant[0]) && isMultiTenant) {
		return false
	}
	for _, c := range []byte(tenant + system) {
		if !isLower(c) && !isDigit(c) && !strings.ContainsRune("_-*/", rune(c)) {
			return false
		}
	}
	return true
}

// isStateValue reports whether a value of a tracestate is valid: printable ASCII without commas and
// equals signs.
func isStateValue(value string) bool {
	for _, c := range []byte(value) {
		if c < ' ' || c > '~' || c == ',' || c == '=' {
			return false
		}
	}
	return value != "" && len(value) <= maxStateValue && !strings.HasSuffix(value, " ")
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
