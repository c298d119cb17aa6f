package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/render"
	"mcpc/internal/saved"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// A saver makes saved calls of recorded exchanges.
type saver struct {
	file saved.File
	// where is whom the calls are for, and secrets what stands for a hidden text.
	where   string
	secrets []hiddenText
	// endless are the rows that nothing can be expected of.
	endless []string
	// omitted says why exchanges are not steps, in order, and omissions how many they are.
	omitted   []string
	omissions int
	// taken is a text whose variables have their names already.
	taken string
}

type hiddenText struct{ shown, variable, where string }

// exportSaved writes rows as a file that mcpc run takes.
func (a *app) exportSaved(w io.Writer, c *trace.Capture, rows []*trace.Row) error {
	s := &saver{}
	for _, row := range rows {
		exchange, err := row.Exchange()
		if err != nil {
			return err
		}
		if exchange == nil {
			s.omit("not sent")
			continue
		}
		if err := s.add(again{row: row, exchange: exchange, capture: c, version: a.version}, len(rows) > 1); err != nil {
			return err
		}
	}
	if len(s.endless) > 0 {
		a.warn("the file omits " + strings.Join(s.endless, ", ") + ": its outcome cannot be expected again")
	}
	if s.omissions > 0 && len(s.file.Steps) > 0 {
		a.note(plural(s.omissions, "exchange") + " omitted: " + strings.Join(s.omitted, ", "))
	}
	if len(s.file.Steps) == 0 {
		return &render.Unscriptable{Text: "no call, read, prompt, list or other request to save"}
	}
	text, err := yaml.Write(s.file.JSON())
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, h := range s.secrets {
		b.WriteString(render.ToBeSet(h.variable, h.where, h.shown))
	}
	b.Write(text)
	_, err = io.WriteString(w, b.String())
	return err
}

// variable is what stands for a hidden text in a message.
func (s *saver) variable(shown string) string { return s.in(render.InBody)(shown) }

// in is what stands for a hidden text in that place, as in a script. What is shown of a
// secret is the same wherever it stood.
func (s *saver) in(what string) func(string) string {
	return func(shown string) string {
		for _, h := range s.secrets {
			if h.shown == shown {
				return h.variable
			}
		}
		first, where := render.VariableFor(what)
		if what == render.InBody {
			where = "the value in the message" // which YAML encodes
		}
		name := first
		for n := 2; s.has(name); n++ {
			name = fmt.Sprintf("%s_%d", first, n)
		}
		s.secrets = append(s.secrets, hiddenText{shown, name, where})
		return name
	}
}

// has reports whether a variable is called so already.
func (s *saver) has(name string) bool {
	return strings.Contains(s.taken, "${"+saved.Environment+name+"}") ||
		slices.ContainsFunc(s.secrets, func(h hiddenText) bool { return h.variable == name })
}

// omit counts an exchange that is no step.
func (s *saver) omit(why string) {
	s.omissions++
	if !slices.Contains(s.omitted, why) {
		s.omitted = append(s.omitted, why)
	}
}

// add makes a step of one exchange. Among several those are left out that led to
// others: openings, and lists that a call was checked with.
func (s *saver) add(g again, among bool) error {
	if g.bare() || byServer(g.row) {
		s.omit("without a client request")
		return nil
	}
	m := wire.ParseMessage(g.exchange.Request.Raw)
	step, ok := stepOf(m.Method, g.params())
	switch {
	case slices.Contains(opens, m.Method) && !(g.row.Own && g.had("raw")):
		s.omit("handshake")
		return nil
	case among && !ok:
		s.omit("further page of a list")
		return nil
	case among && step.Verb == saved.List && !g.had("list"):
		s.omit("list for another request")
		return nil
	}
	kind, ended := g.kind()
	switch {
	case !ended && among:
		s.endless = append(s.endless, "#"+g.row.Number())
		return nil
	case !ended:
		return &render.Unscriptable{Text: "its outcome cannot be expected again: " + g.row.Channel}
	}
	flags := g.answering()
	if among && kind == wire.InputRequired && !isZero(flags) {
		s.omit("request repeated with input")
		return nil
	}
	if err := s.aim(g); err != nil {
		return err
	}
	if err := s.answers(flags); err != nil {
		return err
	}
	step.Subject = saved.LiteralText(step.Subject, s.variable)
	if step.Args != nil {
		step.Args = saved.Literal(step.Args, s.variable)
	}
	step.Expect.Kind = kind
	step.Loose = g.unchecked(step)
	s.file.Steps = append(s.file.Steps, step)
	return nil
}

// unchecked reports whether a step has to be taken without a check, so that the same
// is sent again: nobody had checked it, or a check would not let it through.
func (g again) unchecked(s saved.Step) bool {
	failed := s.Expect.Kind == wire.ToolError || s.Expect.Kind == wire.RPCFailed
	switch s.Verb {
	case saved.Call:
		return g.had("--no-validate") || !g.had("call") && (!g.had("run") || failed)
	case saved.Prompt:
		return g.had("--no-validate") || failed
	}
	return false
}

// kind is the ending of the request; not ok where it has none that a step may expect.
// A command that judges ends in another way than its last request.
func (g again) kind() (kind wire.Kind, ok bool) {
	kind = wire.Kind(g.row.Channel)
	answer := wire.ParseMessage(g.exchange.Response.Raw)
	switch {
	case slices.Contains(savedEndings, kind):
		return kind, true
	case answer.Error != nil:
		return wire.RPCFailed, true
	case kind == wire.CheckFailed && string(wire.First(answer.Result, "isError")) == "true":
		return wire.ToolError, true
	}
	return wire.OK, answer.Result != nil || g.row.Channel == trace.ChannelOK
}

// stepOf is a request as a step; not ok where it is the next page of a list.
func stepOf(method string, params json.RawMessage) (step saved.Step, ok bool) {
	members, _ := wire.Object(params)
	arguments, _ := members.Get("arguments")
	simple := func(names ...string) bool {
		return !slices.ContainsFunc(members, func(m wire.Member) bool { return !slices.Contains(names, m.Name) })
	}
	switch {
	case method == "tools/call" && members.Text("name") != "" && simple("name", "arguments"):
		return saved.Step{Verb: saved.Call, Subject: members.Text("name"), Args: arguments}, true
	case method == "prompts/get" && members.Text("name") != "" && simple("name", "arguments"):
		return saved.Step{Verb: saved.Prompt, Subject: members.Text("name"), Args: arguments}, true
	case method == "resources/read" && members.Text("uri") != "" && simple("uri"):
		return saved.Step{Verb: saved.Read, Subject: members.Text("uri")}, true
	}
	for _, k := range kinds {
		if method == k.method && simple("cursor") {
			_, next := members.Get("cursor")
			return saved.Step{Verb: saved.List, Subject: k.many}, !next
		}
	}
	return saved.Step{Verb: saved.Raw, Subject: method, Args: params}, true
}

// answers settles how the file answers what the server asks, which is the same for all
// its steps.
func (s *saver) answers(flags answering) error {
	if isZero(flags) {
		return nil
	}
	with := s.file
	asSaved(flags, &with, s.variable)
	if len(s.file.Answers()) > 0 && !s.file.Same(with) {
		return &render.Unscriptable{Text: "its requests answer server requests differently, and a file of saved calls has one set of answers"}
	}
	s.file = with
	return nil
}

// aim settles whom the file speaks to, which is the same for all its steps.
func (s *saver) aim(g again) error {
	address, argv := g.address(), g.serverArgv()
	where := cmp.Or(address, strings.Join(argv, " "))
	switch {
	case where == "":
		return &render.Unscriptable{Text: "the recording does not name the server"}
	case s.where == where:
		return nil
	case s.where != "":
		return &render.Unscriptable{Text: "it uses several servers, and a file of saved calls has one"}
	}
	s.where = where
	if address != "" {
		s.file.Server = saved.LiteralText(address, s.in(render.InURL))
	} else {
		s.file.Command = mapped(argv, func(word string) string { return saved.LiteralText(word, s.in(render.InArgv)) })
	}
	if g.had("--protocol") {
		s.file.Protocol = g.row.Revision
	}
	for _, f := range g.ownFields() {
		s.file.Headers = append(s.file.Headers, wire.Field{Name: f.Name, Value: saved.LiteralText(f.Value, s.in(f.Name))})
	}
	return nil
}
