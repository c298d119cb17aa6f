package recorded

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/traffic"
	"mcpc/internal/saved"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// An ExportSaver turns recorded exchanges into saved calls.
type ExportSaver struct {
	File    saved.File
	server  string       // of all steps
	Secrets []hiddenText // with their variables
	// WithoutOutcome are the numbers of exchanges without an outcome that can be expected.
	WithoutOutcome []string
	// Omitted lists the reasons why exchanges are not steps. Omissions counts those exchanges.
	Omitted   []string
	Omissions int
	// KeepLists keeps all list requests as steps. Otherwise Lists counts the list requests that
	// were omitted because a command other than list sent them.
	KeepLists bool
	Lists     int
	// fileText is the text of the file, whose variables must not be used again.
	fileText string
}

// A hiddenText is the placeholder of a secret, the environment variable that replaces it, and where
// the secret was.
type hiddenText struct{ Shown, Variable, Where string }

// variable returns the variable of a hidden text in a message.
func (s *ExportSaver) variable(shown string) string { return s.variableIn(traffic.InBody)(shown) }

// variableIn returns a function that returns the variable of a placeholder in a place, such as
// traffic.InURL or the name of a header field. It makes a new variable for a placeholder that has
// none, also if the same secret has one in another form, such as percent-encoded.
func (s *ExportSaver) variableIn(place string) func(string) string {
	return func(shown string) string {
		otherForm := "" // the variable of the same secret in another form
		for _, h := range s.Secrets {
			if h.Shown == shown {
				return h.Variable
			}
			if traffic.IsSameSecret(h.Shown, shown) {
				otherForm = h.Variable
			}
		}
		first, where := traffic.Variable(place)
		if place == traffic.InBody {
			where = "the value in the message" // YAML encodes it
		}
		name := first
		for n := 2; s.isTaken(name); n++ {
			name = fmt.Sprintf("%s_%d", first, n)
		}
		s.Secrets = append(s.Secrets, hiddenText{
			Shown: shown, Variable: name, Where: traffic.InOtherForm(where, otherForm),
		})
		return name
	}
}

// isTaken reports whether a variable name is in use.
func (s *ExportSaver) isTaken(name string) bool {
	return strings.Contains(s.fileText, "${"+saved.Environment+name+"}") ||
		slices.ContainsFunc(s.Secrets, func(h hiddenText) bool { return h.Variable == name })
}

// Omit counts an exchange that does not become a step, and remembers the reason.
func (s *ExportSaver) Omit(why string) {
	s.Omissions++
	if !slices.Contains(s.Omitted, why) {
		s.Omitted = append(s.Omitted, why)
	}
}

// Add appends an exchange as a step, or counts the reason for omitting it. isOneOfSeveral is set if
// more exchanges are exported: lists that a command fetched to check a call are then omitted, and so
// is an exchange that cannot be a step. A single exchange that cannot be a step is an error.
func (s *ExportSaver) Add(r Request, isOneOfSeveral bool) error {
	if r.IsBare() || rows.IsByServer(r.Row) {
		s.Omit("without a client request")
		return nil
	}
	m := wire.ParseMessage(r.Exchange.Request.Raw)
	step, isFirstPage := stepOf(m.Method, r.Params())
	isOfRaw := r.Row.IsMain && r.HadWord("raw") // the request that the user typed
	if mcp.IsOpening(m.Method) && !isOfRaw {
		s.Omit("handshake")
		return nil
	}
	if isOneOfSeveral && !isFirstPage {
		s.Omit("further page of a list")
		return nil
	}
	isListForOther := step.Verb == saved.List && !r.HadWord("list")
	if isOneOfSeveral && isListForOther && !s.KeepLists {
		s.Lists++
		s.Omit("list for another request")
		return nil
	}
	kind, isExpectable := r.ExpectableKind()
	if !isExpectable && isOneOfSeveral {
		s.WithoutOutcome = append(s.WithoutOutcome, "#"+r.Row.Number())
		return nil
	}
	if !isExpectable {
		return &traffic.ScriptError{Text: "its outcome cannot be expected again: " + r.Row.Channel}
	}
	flags := r.RecordedAnswers()
	if isOneOfSeveral && kind == wire.InputRequired && !host.IsZero(flags) {
		s.Omit("request repeated with input") // the last round becomes the step
		return nil
	}
	if err := s.setServer(r); err != nil {
		return err
	}
	if err := s.addAnswers(flags); err != nil {
		return err
	}
	step.Subject = saved.LiteralText(step.Subject, s.variable)
	if step.Args != nil {
		step.Args = saved.Literal(step.Args, s.variable)
	}
	step.Expect.Kind = kind
	step.Loose = r.isUnchecked(step)
	s.File.Steps = append(s.File.Steps, step)
	return nil
}

// stepOf returns a request as a step. It returns false if the request is for a further page of a
// list.
func stepOf(method string, params json.RawMessage) (saved.Step, bool) {
	members, _ := jsonraw.Object(params)
	arguments, _ := members.Get("arguments")
	hasOnly := func(names ...string) bool {
		return !slices.ContainsFunc(members, func(m jsonraw.Member) bool { return !slices.Contains(names, m.Name) })
	}
	if method == "tools/call" && members.Text("name") != "" && hasOnly("name", "arguments") {
		return saved.Step{Verb: saved.Call, Subject: members.Text("name"), Args: arguments}, true
	}
	if method == "prompts/get" && members.Text("name") != "" && hasOnly("name", "arguments") {
		return saved.Step{Verb: saved.Prompt, Subject: members.Text("name"), Args: arguments}, true
	}
	if method == "resources/read" && members.Text("uri") != "" && hasOnly("uri") {
		return saved.Step{Verb: saved.Read, Subject: members.Text("uri")}, true
	}
	for _, k := range connect.Kinds {
		if method == k.Method && hasOnly("cursor") {
			_, next := members.Get("cursor")
			return saved.Step{Verb: saved.List, Subject: k.Many}, !next
		}
	}
	return saved.Step{Verb: saved.Raw, Subject: method, Args: params}, true
}

// addAnswers sets how the file answers server requests. All steps share these answers: it returns a
// ScriptError for different ones.
func (s *ExportSaver) addAnswers(flags host.Answers) error {
	if host.IsZero(flags) {
		return nil
	}
	answering := s.File
	setAnswers(flags, &answering, s.variable)
	if len(s.File.Answers()) > 0 && !s.File.Same(answering) {
		return &traffic.ScriptError{
			Text: "its requests answer server requests differently, and a file of saved calls has one set of answers",
		}
	}
	s.File = answering
	return nil
}

// setServer sets the server of the file, with its header fields, from the first request. All steps
// share it: it returns a ScriptError for a request to another server.
func (s *ExportSaver) setServer(r Request) error {
	address := r.Address()
	argv := r.ServerArgv()
	where := address
	if where == "" {
		where = strings.Join(argv, " ")
	}
	if where == "" {
		return &traffic.ScriptError{Text: "the recording does not name the server"}
	}
	if s.server == where {
		return nil
	}
	if s.server != "" {
		return &traffic.ScriptError{Text: "the calls go to several servers; a file of saved calls can name only one"}
	}
	s.server = where
	if address != "" {
		s.File.Server = saved.LiteralText(address, s.variableIn(traffic.InURL))
	} else {
		s.File.Command = sliceutil.Map(argv,
			func(word string) string { return saved.LiteralText(word, s.variableIn(traffic.InArgv)) })
	}
	if r.HadWord("--protocol") {
		s.File.Protocol = r.Row.Revision
	}
	for _, f := range r.UserFields() {
		value := saved.LiteralText(f.Value, s.variableIn(f.Name))
		s.File.Headers = append(s.File.Headers, wire.Field{Name: f.Name, Value: value})
	}
	return nil
}

// isUnchecked reports whether the step must skip the check of arguments to send the same request:
// it was sent unchecked, or the check would reject it. A successful request of another client is
// checked.
func (r Request) isUnchecked(s saved.Step) bool {
	if r.HadWord("--no-validate") {
		return s.Verb == saved.Call || s.Verb == saved.Prompt
	}
	hasFailed := s.Expect.Kind == wire.ToolError || s.Expect.Kind == wire.RPCFailed
	switch s.Verb {
	case saved.Call:
		isChecked := r.HadWord("call") // call rejects invalid arguments
		isOfOtherCommand := r.Row.By == capture.ByCommand && !r.HadWord("run")
		return !isChecked && (isOfOtherCommand || hasFailed)
	case saved.Prompt:
		return hasFailed
	}
	return false
}

// ExpectableKind returns the outcome of the request. It returns false if a step cannot expect that
// outcome. The channel of the row may be the outcome of a command that judges results; then the
// response decides.
func (r Request) ExpectableKind() (kind wire.Kind, ok bool) {
	kind = wire.Kind(r.Row.Channel)
	if slices.Contains(ExpectableKinds, kind) {
		return kind, true
	}
	response := wire.ParseMessage(r.Exchange.Response.Raw)
	if response.Error != nil {
		return wire.RPCFailed, true
	}
	if kind == wire.CheckFailed && wire.IsToolError(response.Result) {
		return wire.ToolError, true
	}
	return wire.OK, response.Result != nil || r.Row.Channel == exchange.ChannelOK
}
