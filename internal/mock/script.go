package mock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
)

// A Script is what a server does, in the order of its rules.
type Script struct {
	// Speaks are the revisions it admits to; the first is the one it prefers.
	Speaks []string
	// Session is the Mcp-Session-Id it gives, "" for none.
	Session string
	// Capabilities is what it declares, a JSON object.
	Capabilities json.RawMessage
	// Tools are the entries of its tools/list.
	Tools []json.RawMessage
	// TLS names what is wrong with its certificate: "", "good", "expired",
	// "wrong-name" or "self-signed".
	TLS   string
	rules []*rule
}

// A rule says what to do when something comes: a JSON-RPC method, an HTTP
// method, a connection, the start of a stdio server or the end of its input.
type rule struct {
	// on is "tools/call", "GET", "start", "eof" or "*" for every message; "accept"
	// is a connection before its first byte, and before TLS.
	on string
	// nth is for which time it counts, from 1; 0 is every time.
	nth     int
	actions []action
	line    int
}

// An action is one indented line of a rule.
type action struct {
	word, rest string
	line       int
}

// A ScriptError says which line of a script cannot be understood.
type ScriptError struct {
	Line int
	Text string
}

func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// What a script is played over.
const (
	OverHTTP  = "HTTP"
	OverStdio = "stdio"
)

// Words are the actions of a script, each with the one transport that it is for, "" for
// both, and what it does: the reference that `mcpc help mock-scripts` prints.
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
	{"wait TIME", "", "do nothing for a while, as 50ms"},
	{"await METHOD", OverHTTP, "wait for this request, and respond to it here"},
	{"hang", "", "do nothing until the client disconnects"},
	{"close", OverHTTP, "close the connection"},
	{"reset", OverHTTP, "reset the connection"},
	{"line TEXT", OverStdio, "a line on stdout"},
	{"stderr TEXT", OverStdio, "a line on stderr"},
	{"exit CODE", OverStdio, "exit with this status"},
	{"kill SIGNAL", OverStdio, "die of TERM, KILL, SEGV or ABRT"},
	{"ignore WHAT", OverStdio, "keep running after the end of input (eof) or SIGTERM (term)"},
	{"fork TIME", OverStdio, "leave a child process that keeps the pipes open"},
	{"pass", "", "respond like a correct server"},
}

// events are what comes over one transport only, where it is not a message.
var events = map[string]string{"GET": OverHTTP, "DELETE": OverHTTP, "accept": OverHTTP, "start": OverStdio, "eof": OverStdio}

// actionOver gives the transport that an action is for, "" for both.
func actionOver(word string) (transport string, known bool) {
	for _, w := range Words {
		if name, _, _ := strings.Cut(w[0], " "); name == word {
			return w[1], true
		}
	}
	return "", false
}

// Fits refuses a script with an action that could not be done over a transport. Rules
// for what never comes there are idle: they may be meant for another time.
func (s *Script) Fits(transport string) (idle []ScriptError, err error) {
	for _, r := range s.rules {
		if over := events[r.on]; over != "" && over != transport {
			idle = append(idle, ScriptError{r.line, fmt.Sprintf("on %s comes over %s only", r.on, over)})
			continue
		}
		for _, a := range r.actions {
			if over, _ := actionOver(a.word); over != "" && over != transport {
				return idle, &ScriptError{a.line, fmt.Sprintf("%s is for %s only, and this is %s", a.word, over, transport)}
			}
		}
	}
	return idle, nil
}

// Parse reads a script.
func Parse(text string) (*Script, error) {
	s := &Script{Speaks: []string{revisions[0]}}
	var current *rule
	for i, line := range strings.Split(text, "\n") {
		number := i + 1
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		indented := line[0] == ' ' || line[0] == '\t'
		word, rest, _ := strings.Cut(trimmed, " ")
		if indented && current != nil {
			if _, known := actionOver(word); !known {
				return nil, &ScriptError{number, fmt.Sprintf("unknown action %q", word)}
			}
			current.actions = append(current.actions, action{word, strings.TrimLeft(rest, " "), number})
			continue
		}
		next, err := s.top(word, strings.TrimSpace(rest), number)
		if err != nil {
			return nil, err
		}
		current = next
	}
	if s.Capabilities == nil {
		s.declare()
	}
	return s, nil
}

// declare is what a script that does not say it declares: tools, and whatever it
// answers otherwise than as unknown.
func (s *Script) declare() {
	s.Capabilities = json.RawMessage(`{"tools":{}}`)
	unknown := func(a action) bool { return a.word == "error" && strings.HasPrefix(a.rest, "-32601") }
	for _, r := range s.rules {
		family, _, ok := strings.Cut(r.on, "/")
		if family == "completion" {
			family = "completions"
		}
		if ok && slices.Contains(families, family) && !slices.ContainsFunc(r.actions, unknown) {
			s.Capabilities = jsonraw.With(s.Capabilities, family, json.RawMessage("{}"))
		}
	}
}

var families = []string{"prompts", "resources", "completions", "logging"}

// top reads a line that is not indented; it gives the rule that begins there.
func (s *Script) top(word, rest string, line int) (*rule, error) {
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
			return nil, &ScriptError{line, "capabilities wants a JSON object"}
		}
	case "tls":
		s.TLS = rest
	case "tool":
		return nil, s.addTool(rest, line)
	case "on":
		return s.addRule(rest, line)
	default:
		return nil, &ScriptError{line, fmt.Sprintf("unknown statement %q; use speaks, session, capabilities, tls, tool or on", word)}
	}
	return nil, nil
}

// addTool reads "NAME", "NAME SCHEMA" or a whole tool as JSON.
func (s *Script) addTool(rest string, line int) error {
	name, schema, _ := strings.Cut(rest, " ")
	raw := json.RawMessage(rest)
	if !strings.HasPrefix(rest, "{") {
		schema = cmp.Or(schema, `{"type":"object"}`)
		raw = jsonraw.With(jsonraw.With(nil, "name", jsonraw.Quote(name)), "inputSchema", json.RawMessage(schema))
	}
	if jsonraw.Valid(raw) != nil {
		return &ScriptError{line, "tool wants a name and a JSON Schema, or a tool as JSON"}
	}
	s.Tools = append(s.Tools, raw)
	return nil
}

func (s *Script) addRule(rest string, line int) (*rule, error) {
	r := &rule{line: line}
	what, nth, counted := strings.Cut(rest, " #")
	r.on = strings.TrimSpace(what)
	if counted {
		n, err := strconv.Atoi(strings.TrimSpace(nth))
		if err != nil || n < 1 {
			return nil, &ScriptError{line, "a rule is for the first time as #1"}
		}
		r.nth = n
	}
	if r.on == "" {
		return nil, &ScriptError{line, "on wants a method, GET, DELETE, accept, start, eof or *"}
	}
	s.rules = append(s.rules, r)
	return r, nil
}

// A count remembers how often each thing has come.
type count map[string]int

// ruleFor finds the rule for something that came now: one for this very time
// before one for every time, and a named one before "*".
func (s *Script) ruleFor(seen count, names ...string) *rule {
	var every *rule
	for _, name := range names {
		seen[name]++
	}
	for _, name := range append(names, "*") {
		for _, r := range s.rules {
			if r.on != name {
				continue
			}
			if r.nth > 0 && r.nth == seen[name] {
				return r
			}
			if r.nth == 0 && every == nil {
				every = r
			}
		}
	}
	return every
}

// unescape reads the escapes of Go's strings; text that has none that Go knows
// stays as it is.
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
		r, multibyte, tail, err := strconv.UnquoteChar(text, 0)
		switch {
		case err != nil:
			b.WriteByte(text[0])
			tail = text[1:]
		case multibyte:
			b.WriteRune(r)
		default:
			b.WriteByte(byte(r))
		}
		text = tail
	}
	return b.String()
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}
