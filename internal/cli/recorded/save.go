package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/traffic"
	"mcpc/internal/saved"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// A CallSaver adds calls to a file of saved calls, and creates the file if needed.
type CallSaver struct {
	path string
	text []byte // of the file; nil if it does not exist
	file saved.File
	// expectResult makes the saved call expect the result of this call.
	expectResult bool
}

// NewCallSaver reads the file of --save before the call is sent. It returns an error if no call can
// be added to the file, or if path is "".
func NewCallSaver(path string, expectResult bool) (*CallSaver, error) {
	if path == "" {
		return nil, usage.New("--expect-result needs --save", "use --save FILE")
	}
	s := &CallSaver{path: path, expectResult: expectResult}
	usageError := func(why string) error {
		return usage.New("--save "+path+": "+why,
			"--save with another file; "+wire.Run("run "+shellwords.Quote(path)+" --list")+" shows this one")
	}
	if !cmdutil.IsFile(path) {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError(usage.Bare(err).Error())
	}
	s.text = text
	doc, err := yaml.Parse(text)
	if err != nil {
		return nil, usageError(err.Error())
	}
	var found []saved.Problem
	s.file, found = saved.ReadFile(doc.JSON)
	if i := slices.IndexFunc(found, func(p saved.Problem) bool { return !p.Mild }); i >= 0 {
		return nil, usageError(found[i].Text)
	}
	// Any step shows before the call whether one can be appended.
	sample := saved.Step{Verb: saved.List, Subject: "tools"}
	if _, err := yaml.Appended(text, "steps", sample.JSON()); err != nil {
		return nil, usageError("a step can be added only at the end: " + err.Error())
	}
	return s, nil
}

// CheckServer refuses a file that is about another server. A nil CallSaver accepts all.
func (s *CallSaver) CheckServer(c *connect.Conn) wire.Outcome {
	takeTypedForms(c) // discards the forms of earlier calls
	if s == nil {
		return wire.Outcome{}
	}
	if out := s.checkAnswers(c); !out.OK() {
		return out
	}
	return s.checkSameServer(c)
}

// checkSameServer refuses a file that names a different server.
func (s *CallSaver) checkSameServer(c *connect.Conn) wire.Outcome {
	hasServer := s.file.Server != "" || s.file.Command != nil
	if !hasServer || strings.Contains(s.file.Server, "${") { // a variable may have any value
		return wire.Outcome{}
	}
	current := newFileFor(c)
	hasSameServer := s.file.Server == current.Server && slices.Equal(s.file.Command, current.Command)
	if hasSameServer || s.file.Server == c.Target.String() {
		return wire.Outcome{}
	}
	text := fmt.Sprintf("--save %s: the file is for %s, and the call is for %s", s.path, ShownServer(s.file), c.Where)
	return usage.Outcome(usage.New(text, "--save with another file"))
}

// checkAnswers refuses a file that answers server requests differently from the call: the saved
// step would end differently.
func (s *CallSaver) checkAnswers(c *connect.Conn) wire.Outcome {
	if s == nil || s.text == nil {
		return wire.Outcome{}
	}
	f := newFileFor(c) // only to compare its answers
	setAnswers(ownAnswers(c), &f, (&ExportSaver{}).variable)
	if len(f.Answers()) == 0 || s.file.Same(f) {
		return wire.Outcome{}
	}
	text := "the file's answers differ from the call's"
	if len(s.file.Answers()) == 0 {
		text = "the call has answers to server requests, and the file has none"
	}
	return usage.Outcome(usage.New("--save "+s.path+": "+text, "--save with another file"))
}

// ownAnswers returns how this conversation answers server requests, as the user typed it.
func ownAnswers(c *connect.Conn) host.Answers {
	var before *host.Answers
	if c.Saved != nil {
		before = c.Saved.Answering
	}
	return c.Env.Answers.Over(before)
}

// newFileFor returns an empty file of saved calls for the server of a conversation.
func newFileFor(c *connect.Conn) saved.File {
	session := c.Saved
	if session == nil {
		session = c.OneOff
	}
	var f saved.File
	switch {
	case c.Shown != nil:
		f.Command = c.Shown
	case c.Target.Kind == target.Known:
		f.Server = c.Target.Name
	case session.Endpoint == connect.DemoEndpoint:
		f.Server = "demo"
	case session.Endpoint != "":
		f.Server = session.Endpoint
	default:
		f.Command = session.Command
	}
	return f
}

// Add appends a call and its outcome to the file. Secrets become environment variables. A nil
// CallSaver does nothing.
func (s *CallSaver) Add(f *cmdutil.Factory, c *connect.Conn, request toolcall.Request, out wire.Outcome) error {
	if s == nil {
		return nil
	}
	if out.Reached == wire.Unsent {
		f.Note("not saved: the call was not sent")
		return nil
	}
	if !slices.Contains(ExpectableKinds, out.Kind) {
		f.Note("not saved: the call got no response")
		return nil
	}
	secrets := &ExportSaver{fileText: string(s.text)}
	arguments, _ := f.Secrets.Bytes(request.Arguments)
	step := saved.Step{
		Verb:    saved.Call,
		Subject: saved.LiteralText(request.Name, secrets.variable),
		Args:    saved.Literal(arguments, secrets.variable),
		Loose:   request.NoValidate,
		Expect:  saved.Expect{Kind: out.Kind},
	}
	expects := s.expectResult && (out.OK() || out.Kind == wire.ToolError)
	if expects {
		step.Expect.Result = saved.Literal(expectedResult(f, out.Result), secrets.variable)
	}
	flags, missingAnswers := s.answersToSave(c)
	text := s.widenLastStep(step)
	isWidened := text != nil
	var err error
	if isWidened {
		err = cmdutil.ReplaceFile(s.path, text)
	} else if text, err = s.newText(c, secrets, step, flags); err == nil {
		err = cmdutil.AppendTo(s.path, text)
	}
	if err != nil {
		failed := usage.LocalIO("saving the call in "+s.path, usage.Bare(err))
		failed.Reached = out.Reached
		return cmdutil.Exit(failed)
	}
	if isWidened {
		f.Note(fmt.Sprintf("step %d of %s now expects what both results have in common%s",
			len(s.file.Steps), s.path, missingAnswers))
		return nil
	}
	s.file.Steps = append(s.file.Steps, step)
	note := s.savedNote(c, request, out, secrets)
	if s.expectResult && !expects {
		note += "; the call has no result to expect"
	}
	if s.text == nil && !s.expectResult && out.OK() {
		note += "; --expect-result also saves the result"
	}
	f.Note(note + missingAnswers)
	return nil
}

// newStep returns a step without an expected outcome. Secrets become environment variables.
func newStep(f *cmdutil.Factory, secrets *ExportSaver, verb saved.Verb, name string, args json.RawMessage) saved.Step {
	args, _ = f.Secrets.Bytes(args)
	return saved.Step{
		Verb: verb, Subject: saved.LiteralText(name, secrets.variable), Args: saved.Literal(args, secrets.variable),
	}
}

// StepText returns the text of a new file of saved calls with one step. args may be nil.
func StepText(
	f *cmdutil.Factory, c *connect.Conn, verb saved.Verb, name string, args json.RawMessage,
) (string, error) {
	secrets := &ExportSaver{}
	text, err := (&CallSaver{}).newText(c, secrets, newStep(f, secrets, verb, name, args), host.Answers{})
	return string(text), err
}

// RunLine returns the command that runs a file with steps for the server of a connection.
func RunLine(file string, c *connect.Conn) string {
	return runLine(file, newFileFor(c).Command != nil)
}

// runLine returns the command that runs a file. needsExec is set if the file has commands.
func runLine(file string, needsExec bool) string {
	run := "mcpc run " + shellwords.Quote(file)
	if needsExec {
		run += " --allow-exec"
	}
	return run
}

// AddStep appends a step to the file, or creates the file, and returns the appended text. args may be
// nil. It refuses a file for another server. The user of a view answers the server's requests by hand, so
// a new file has no answers.
func (s *CallSaver) AddStep(
	f *cmdutil.Factory, c *connect.Conn, verb saved.Verb, name string, args json.RawMessage,
) (string, error) {
	if out := s.checkSameServer(c); !out.OK() {
		return "", cmdutil.Exit(out)
	}
	secrets := &ExportSaver{fileText: string(s.text)}
	text, err := s.newText(c, secrets, newStep(f, secrets, verb, name, args), host.Answers{})
	if err == nil {
		err = cmdutil.AppendTo(s.path, text)
	}
	if err != nil {
		return "", cmdutil.Exit(usage.LocalIO("saving the step in "+s.path, usage.Bare(err)))
	}
	return string(text), nil
}

// savedNote describes the step that was added last, how to run it, and which variables it needs.
func (s *CallSaver) savedNote(
	c *connect.Conn,
	request toolcall.Request,
	out wire.Outcome,
	secrets *ExportSaver,
) string {
	note := fmt.Sprintf("saved as step %d of %s", len(s.file.Steps), s.path)
	if !out.OK() {
		note += fmt.Sprintf(", which expects the outcome %s", out.Kind)
	}
	isNewFile := s.text == nil
	command := s.file.Command
	if isNewFile {
		command = newFileFor(c).Command
	}
	startsServer := command != nil
	answersByCommand := c.Answering.OnElicit != "" || c.Answering.OnSampling != ""
	run := runLine(s.path, startsServer || answersByCommand)
	if request.Yes {
		run += " --yes"
	}
	note += "; run it with: " + run
	if isNewFile && namesLocalFile(newFileFor(c).Command) {
		note += "; it runs only in this directory, to which its command is relative"
	}
	for _, h := range secrets.Secrets {
		note += fmt.Sprintf("; set %s to %s: %s", h.Variable, h.Where, h.Shown)
	}
	return note
}

// namesLocalFile reports whether a word of a command is a file relative to the current directory. A
// saved file does not store the directory.
func namesLocalFile(command []string) bool {
	return slices.ContainsFunc(command, func(word string) bool { return !filepath.IsAbs(word) && cmdutil.IsFile(word) })
}

// answersToSave returns the answers to server requests for the file: the flags and what the user
// typed into forms. If the file cannot have what the user typed, it returns the flags only, and
// missing is a note about that; otherwise missing is "".
func (s *CallSaver) answersToSave(c *connect.Conn) (flags host.Answers, missing string) {
	flags = ownAnswers(c)
	typed := takeTypedForms(c)
	canSaveForms := !flags.Elicits() // a file with other answers to forms would not use these
	for _, content := range typed {
		shown, _ := c.Env.Secrets.Bytes(content)
		flags.Answers = append(slices.Clip(flags.Answers), string(shown))
		canSaveForms = canSaveForms && content != nil // nil: the user refused this form
	}
	var f saved.File
	setAnswers(flags, &f, (&ExportSaver{}).variable)
	fitsFile := s.text == nil || s.file.Same(f)
	if len(typed) == 0 || canSaveForms && fitsFile {
		return flags, ""
	}
	return ownAnswers(c), "; the file does not contain your answers: see mcpc help answering"
}

// takeTypedForms returns and removes the forms that the user filled in.
func takeTypedForms(c *connect.Conn) []json.RawMessage {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	typed := c.Typed
	c.Typed = nil
	return typed
}

// widenLastStep returns the text of the file with its last step expecting what this result and the
// expected one have in common. It returns nil if the last step is a different call or expects no
// result, and if the text cannot be changed: the call is then a step of its own.
func (s *CallSaver) widenLastStep(step saved.Step) []byte {
	last := len(s.file.Steps) - 1
	if s.text == nil || last < 0 || step.Expect.Result == nil {
		return nil
	}
	previous := s.file.Steps[last]
	expected := previous.Expect
	isSameTool := previous.Verb == step.Verb && previous.Subject == step.Subject && previous.Loose == step.Loose
	hasSameArgs := bytes.Equal(jsonraw.Compact(previous.Args), jsonraw.Compact(step.Args))
	if !isSameTool || !hasSameArgs || expected.Kind != step.Expect.Kind || expected.Result == nil {
		return nil
	}
	doc, err := yaml.Parse(s.text)
	if err != nil {
		return nil
	}
	text, ok := yaml.Replaced(s.text, doc.NamePlace(expected.ResultAt), "result", expected.Result,
		intersect(expected.Result, step.Expect.Result))
	if !ok {
		return nil
	}
	return text
}

// newText returns the text to append: one step, or the whole new file.
func (s *CallSaver) newText(
	c *connect.Conn,
	secrets *ExportSaver,
	step saved.Step,
	flags host.Answers,
) ([]byte, error) {
	if s.text != nil {
		return yaml.Appended(s.text, "steps", step.JSON())
	}
	f := newFileFor(c)
	f.Server = saved.LiteralText(c.Env.Secrets.Text(f.Server), secrets.variableIn(traffic.InURL))
	f.Command = sliceutil.Map(c.Env.Secrets.Command(f.Command),
		func(word string) string { return saved.LiteralText(word, secrets.variableIn(traffic.InArgv)) })
	f.Steps = []saved.Step{step}
	f.Protocol = c.Env.Protocol
	setAnswers(flags, &f, secrets.variable)
	for _, line := range c.Env.Headers {
		name, value, _ := strings.Cut(line, ":")
		field := redact.RedactField(wire.Field{Name: name, Value: c.Env.Secrets.Text(strings.TrimSpace(value))})
		f.Headers = append(f.Headers, wire.Field{Name: name, Value: saved.LiteralText(field.Value, secrets.variableIn(name))})
	}
	return yaml.Write(f.JSON())
}

// setAnswers stores answers in a file of saved calls. variable returns the variable for a secret.
func setAnswers(flags host.Answers, f *saved.File, variable func(string) string) {
	var items []json.RawMessage
	for _, text := range flags.Answers {
		raw := json.RawMessage(text)
		if list, err := jsonraw.Array(raw); err == nil { // several answers in one value
			for _, item := range list {
				items = append(items, saved.Literal(item, variable))
			}
		} else if jsonraw.Valid(raw) == nil && raw[0] == '{' {
			items = append(items, saved.Literal(raw, variable))
		} else { // FIELD=VALUE or @FILE
			items = append(items, jsonraw.Quote(saved.LiteralText(text, variable)))
		}
	}
	switch len(items) {
	case 0:
		f.Answer = nil
	case 1:
		f.Answer = items[0]
	default:
		f.Answer = arguments.AsList(items)
	}
	text := func(s string) string { return saved.LiteralText(s, variable) }
	f.Answering = saved.Answering{
		Defaults: flags.Defaults, Decline: flags.Decline,
		OnElicit: text(flags.OnElicit), Sampling: text(flags.Sampling), OnSampling: text(flags.OnSampling),
	}
	for _, dir := range flags.Roots {
		f.Answering.Roots = append(f.Answering.Roots, text(dir))
	}
	for _, extension := range flags.Extensions {
		f.Answering.Extensions = append(f.Answering.Extensions, text(extension))
	}
}

// ShownServer returns the server of a file of saved calls, without its secrets.
func ShownServer(f saved.File) string {
	if f.Command != nil {
		return connect.CommandLine(f.Command)
	}
	return redact.RedactURL(f.Server)
}

// expectedResult returns the part of a result that the same call is likely to return again.
// Expected members must be present; others may have any value. Lists must have the same length, and
// saved.Any matches any value. Members that the protocol adds to all results are omitted, secrets
// become saved.Any.
func expectedResult(f *cmdutil.Factory, result json.RawMessage) json.RawMessage {
	hidden, _ := f.Secrets.Bytes(result)
	for _, name := range []string{"_meta", "resultType"} {
		result = jsonraw.Without(result, name)
	}
	return intersect(result, hidden) // where they differ, result has a secret
}

// intersect returns what two values have in common: the members that both objects have, and lists of
// one length item by item. saved.Any replaces values that differ.
func intersect(a, b json.RawMessage) json.RawMessage {
	if aMembers, bMembers, ok := Objects(a, b); ok {
		object := json.RawMessage("{}")
		for _, m := range aMembers {
			if value, isInBoth := bMembers.Get(m.Name); isInBoth {
				object = jsonraw.With(object, m.Name, intersect(m.Value, value))
			}
		}
		return object
	}
	if aItems, bItems, ok := Arrays(a, b); ok {
		items := make([]json.RawMessage, len(aItems))
		for i := range aItems {
			items[i] = intersect(aItems[i], bItems[i])
		}
		return arguments.AsList(items)
	}
	if !SameScalar(a, b) {
		return jsonraw.Quote(saved.Any)
	}
	return a
}

// Objects parses two values as objects. It returns false if one is not an object.
func Objects(a, b json.RawMessage) (first, second jsonraw.Members, both bool) {
	first, err := jsonraw.Object(a)
	second, failed := jsonraw.Object(b)
	return first, second, err == nil && failed == nil
}

// Arrays parses two values as arrays. It returns false if one is not an array or their lengths
// differ.
func Arrays(a, b json.RawMessage) (first, second []json.RawMessage, both bool) {
	first, err := jsonraw.Array(a)
	second, failed := jsonraw.Array(b)
	return first, second, err == nil && failed == nil && len(first) == len(second)
}

// SameScalar reports whether two values without parts are equal. Escapes in strings do not matter.
func SameScalar(a, b json.RawMessage) bool {
	text, isText := jsonraw.Text(a)
	other, alsoText := jsonraw.Text(b)
	if isText && alsoText {
		return text == other
	}
	return bytes.Equal(a, b)
}
