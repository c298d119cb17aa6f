package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
)

// A Script describes a server by what it declares and by rules.
type Script struct {
	// Speaks lists the revisions that the server supports, the preferred one first.
	Speaks []string
	// Session is the Mcp-Session-Id that the server issues, "" if it opens no session.
	Session string
	// Capabilities is the JSON object that the server declares.
	Capabilities json.RawMessage
	// Tools are the entries of the tools/list result.
	Tools []json.RawMessage
	// TLS names the fault of the certificate: "good", "expired", "wrong-name" or "self-signed". ""
	// means plain HTTP.
	TLS   string
	rules []*rule
}

// A rule is a list of actions for an event: a JSON-RPC method, an HTTP method, a connection, the
// start of a stdio server or the end of its input.
type rule struct {
	// event names the event: "tools/call", "GET", "start", "eof", or "*" for every message. "accept"
	// is a connection before its first byte, and before TLS.
	event string
	// nth is the occurrence that the rule applies to, counted from 1; 0 means every occurrence.
	nth     int
	actions []action
	line    int
}

// An action is one indented line of a rule.
type action struct {
	name, text string
	line       int
}

// A ScriptError reports the line of a script that is invalid.
type ScriptError struct {
	Line int
	Text string
}

func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// The transports that a script is played over.
const (
	OverHTTP  = "HTTP"
	OverStdio = "stdio"
)

// Words are the actions of a script. Each has its synopsis, the only transport that it works over
// ("" means both), and a description. `mcpc help mock-scripts` prints them.
var Words = [][3]string{
	{"status CODE [REASON]", OverHTTP, "the status line of the response"},
	{"header NAME: VALUE", OverHTTP, "a header field"},
	{"result JSON", "", "a result"},
	{"error CODE MESSAGE [| DATA]", "", "a JSON-RPC error"},
	{"json TEXT", "", "a body of type application/json with any content"},
	{"text TYPE BODY", OverHTTP, "a body of another type"},
	{"sse", OverHTTP, "begin an event stream"},
	{"event TEXT", "", "an event whose data is TEXT"},
	{"send BYTES", "", "these bytes, with the escapes \\n, \\t, \\r, \\xNN and \\uNNNN"},
	{"repeat N BYTES", "", "these bytes N times"},
	{"nest N", "", "an array in an array, N deep"},
	{"gzip BYTES", OverHTTP, "these bytes, compressed"},
	{"zeros N", OverHTTP, "N zero bytes, compressed"},
	{"drip TIME BYTES", OverHTTP, "these bytes one by one, with this time between them"},
	{"wait TIME", "", "do nothing for a while, such as 50ms"},
	{"await METHOD", OverHTTP, "wait for this request, and respond to it here"},
	{"hang", "", "do nothing until the client disconnects"},
	{"close", OverHTTP, "close the connection"},
	{"reset", OverHTTP, "reset the connection"},
	{"line TEXT", OverStdio, "a line on stdout"},
	{"stderr TEXT", OverStdio, "a line on stderr"},
	{"exit CODE", OverStdio, "exit with this status"},
	{"kill SIGNAL", OverStdio, "exit by the signal TERM, KILL, SEGV or ABRT"},
	{"ignore WHAT", OverStdio, "keep running after the end of input (eof) or SIGTERM (term)"},
	{"fork TIME", OverStdio, "leave a child process that keeps the pipes open"},
	{"pass", "", "respond like a correct server"},
}

// events maps the events that only one transport has to that transport.
var events = map[string]string{
	"GET": OverHTTP, "DELETE": OverHTTP, "accept": OverHTTP,
	"start": OverStdio, "eof": OverStdio,
}

// actionTransport returns the only transport of an action, "" if it has both, and whether the
// action exists.
func actionTransport(word string) (string, bool) {
	for _, w := range Words {
		if name, _, _ := strings.Cut(w[0], " "); name == word {
			return w[1], true
		}
	}
	return "", false
}

// CheckTransport returns an error if an action of a rule does not work over the transport. It also returns
// the rules whose event does not exist there: they never run, which is no error.
func (s *Script) CheckTransport(transport string) (idle []ScriptError, err error) {
	for _, r := range s.rules {
		if only := events[r.event]; only != "" && only != transport {
			idle = append(idle, ScriptError{r.line, fmt.Sprintf("on %s occurs over %s only", r.event, only)})
			continue
		}
		for _, a := range r.actions {
			if only, _ := actionTransport(a.name); only != "" && only != transport {
				return idle, &ScriptError{a.line, fmt.Sprintf("%s is for %s only, and this is %s", a.name, only, transport)}
			}
		}
	}
	return idle, nil
}

// Parse parses a script: statements at the beginning of a line, and the indented actions of the rule
// before them. The error is a *ScriptError.
func Parse(text string) (*Script, error) {
	s := &Script{Speaks: []string{revisions[0]}}
	var current *rule
	for i, line := range strings.Split(text, "\n") {
		number := i + 1
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		isIndented := line[0] == ' ' || line[0] == '\t'
		word, rest, _ := strings.Cut(trimmed, " ")
		if isIndented && current != nil { // without a rule before it, it is read as a statement
			if _, known := actionTransport(word); !known {
				return nil, &ScriptError{number, fmt.Sprintf("unknown action %q", word)}
			}
			current.actions = append(current.actions, action{word, strings.TrimLeft(rest, " "), number})
			continue
		}
		next, err := s.parseStatement(word, strings.TrimSpace(rest), number)
		if err != nil {
			return nil, err
		}
		current = next
	}
	if s.Capabilities == nil {
		s.declareDefaults()
	}
	return s, nil
}

// declareDefaults sets the capabilities of a script that does not state them. They are tools, and
// each capability with a rule that does not respond "method not found".
func (s *Script) declareDefaults() {
	s.Capabilities = json.RawMessage(`{"tools":{}}`)
	isUnknownMethod := func(a action) bool { return a.name == "error" && strings.HasPrefix(a.text, "-32601") }
	for _, r := range s.rules {
		capability, _, isMethod := strings.Cut(r.event, "/")
		if capability == "completion" { // the only method whose capability has another name
			capability = "completions"
		}
		if !isMethod || !slices.Contains(ruleCapabilities, capability) {
			continue
		}
		if !slices.ContainsFunc(r.actions, isUnknownMethod) {
			s.Capabilities = jsonraw.With(s.Capabilities, capability, json.RawMessage("{}"))
		}
	}
}

var ruleCapabilities = []string{"prompts", "resources", "completions", "logging"}

// parseStatement parses a line that is not indented: word is its first word, rest the others, line its
// number. It returns the new rule of an "on" statement, else nil.
func (s *Script) parseStatement(word, rest string, line int) (*rule, error) {
	switch word {
	case "speaks":
		s.Speaks = strings.Fields(rest)
		if len(s.Speaks) == 0 {
			return nil, &ScriptError{line, "speaks needs a revision"}
		}
	case "session":
		s.Session = unescape(rest)
	case "capabilities":
		s.Capabilities = json.RawMessage(rest)
		if _, err := jsonraw.Object(s.Capabilities); err != nil {
			return nil, &ScriptError{line, "capabilities needs a JSON object"}
		}
	case "tls":
		s.TLS = rest
	case "tool":
		return nil, s.addTool(rest, line)
	case "on":
		return s.addRule(rest, line)
	default:
		return nil, &ScriptError{
			line,
			fmt.Sprintf("unknown statement %q; use speaks, session, capabilities, tls, tool or on", word),
		}
	}
	return nil, nil
}

// addTool parses "NAME", "NAME SCHEMA" or a whole tool as JSON, and adds the tool.
func (s *Script) addTool(rest string, line int) error {
	name, schema, _ := strings.Cut(rest, " ")
	raw := json.RawMessage(rest)
	if !strings.HasPrefix(rest, "{") {
		if schema == "" {
			schema = `{"type":"object"}`
		}
		raw = jsonraw.With(jsonraw.With(nil, "name", jsonraw.Quote(name)), "inputSchema", json.RawMessage(schema))
	}
	if jsonraw.Valid(raw) != nil {
		return &ScriptError{line, "tool needs a name and a JSON Schema, or a tool as JSON"}
	}
	s.Tools = append(s.Tools, raw)
	return nil
}

// addRule parses the event of an "on" statement and adds a rule for it.
func (s *Script) addRule(rest string, line int) (*rule, error) {
	r := &rule{line: line}
	event, nth, hasNumber := strings.Cut(rest, " #")
	r.event = strings.TrimSpace(event)
	if hasNumber {
		n, err := strconv.Atoi(strings.TrimSpace(nth))
		if err != nil || n < 1 {
			return nil, &ScriptError{line, "the number after # must be 1 or more: #1 is the first time"}
		}
		r.nth = n
	}
	if r.event == "" {
		return nil, &ScriptError{line, "on needs an event: a method, GET, DELETE, accept, start, eof or *"}
	}
	s.rules = append(s.rules, r)
	return r, nil
}

// An eventCounts maps the name of an event to the number of its occurrences.
type eventCounts map[string]int

// countEvent counts an event under each of its names and returns its rule, or nil. A rule for this
// occurrence precedes one for every occurrence; a rule with a name precedes "*".
func (s *Script) countEvent(seen eventCounts, names ...string) *rule {
	var general *rule
	for _, name := range names {
		seen[name]++
	}
	for _, name := range append(names, "*") { // "*" has no count: rules for it are for every occurrence
		for _, r := range s.rules {
			if r.event != name {
				continue
			}
			if r.nth > 0 && r.nth == seen[name] {
				return r
			}
			if r.nth == 0 && general == nil {
				general = r
			}
		}
	}
	return general
}

// unescape replaces the escapes of Go string literals. It leaves a backslash that begins no valid
// escape as it is.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for text != "" {
		if text[0] != '\\' {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		const noQuote = 0 // neither ' nor " can be escaped
		char, isMultibyte, tail, err := strconv.UnquoteChar(text, noQuote)
		if err != nil {
			b.WriteByte(text[0])
			tail = text[1:]
		} else if isMultibyte {
			b.WriteRune(char)
		} else { // \xNN is a byte, which need not be UTF-8
			b.WriteByte(byte(char))
		}
		text = tail
	}
	return b.String()
}

// parseDuration parses a time as 50ms; it returns 0 if the text is invalid.
func parseDuration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}
