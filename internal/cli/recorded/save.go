package recorded

import (
	"bytes"
	"cmp"
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

// A CallSaver adds calls to a file of saved calls, which it begins where there is none.
type CallSaver struct {
	path string
	text []byte // nil where there is no file yet
	file saved.File
	// expectResult makes the result that comes what is expected of the saved call.
	expectResult bool
}

// NewSaving reads the file of --save before the call is sent. It returns an error if nothing can be added to the file,
// or if path is "".
func NewSaving(path string, expectResult bool) (*CallSaver, error) {
	if path == "" {
		return nil, usage.New("--expect-result needs --save", "use --save FILE")
	}
	s := &CallSaver{path: path, expectResult: expectResult}
	bad := func(why string) error {
		return usage.New("--save "+path+": "+why,
			"--save with another file; "+wire.Run("run "+shellwords.Quote(path)+" --list")+" shows this one")
	}
	if !cmdutil.IsFile(path) {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, bad(usage.Bare(err).Error())
	}
	s.text = text
	doc, err := yaml.Parse(text)
	if err != nil {
		return nil, bad(err.Error())
	}
	var found []saved.Problem
	s.file, found = saved.ReadFile(doc.JSON)
	if i := slices.IndexFunc(found, func(p saved.Problem) bool { return !p.Mild }); i >= 0 {
		return nil, bad(found[i].Text)
	}
	if _, err := yaml.Appended(text, "steps", saved.Step{Verb: saved.List, Subject: "tools"}.JSON()); err != nil {
		return nil, bad("a step can be added only at the end: " + err.Error())
	}
	return s, nil
}

// CheckServer refuses a file that is about another server.
func (s *CallSaver) CheckServer(c *connect.Conn) wire.Outcome {
	typedForms(c) // of other calls
	if out := s.answersAlike(c); !out.Good() || s == nil || s.file.Server == "" && s.file.Command == nil ||
		strings.Contains(s.file.Server, "${") {
		return out
	}
	is := fileOf(c)
	if s.file.Server == c.Target.String() || s.file.Server == is.Server && slices.Equal(s.file.Command, is.Command) {
		return wire.Outcome{}
	}
	return usage.Outcome(
		usage.New(
			fmt.Sprintf("--save %s: the file is for %s, and the call is for %s", s.path, ShownServer(s.file), c.Where),
			"--save with another file",
		),
	)
}

// answersAlike refuses a file that does not answer what the server asks as the call does:
// the step would not end as the call did.
func (s *CallSaver) answersAlike(c *connect.Conn) wire.Outcome {
	if s == nil || s.text == nil {
		return wire.Outcome{}
	}
	f := fileOf(c)
	asSaved(answerFlags(c), &f, (&ExportSaver{}).variable)
	own := f.Answers()
	theirs := s.file.Answers()
	if len(own) == 0 || s.file.Same(f) {
		return wire.Outcome{}
	}
	text := "the file's answers differ from the call's"
	if len(theirs) == 0 {
		text = "the call has answers to server requests, and the file has none"
	}
	return usage.Outcome(usage.New("--save "+s.path+": "+text, "--save with another file"))
}

// answerFlags are those that say how this conversation answers, as they were typed.
func answerFlags(c *connect.Conn) host.Answers {
	var before *host.Answers
	if c.Saved != nil {
		before = c.Saved.Answering
	}
	return c.Env.Answers.Over(before)
}

// fileOf is a file about the server of the conversation.
func fileOf(c *connect.Conn) (f saved.File) {
	place := cmp.Or(c.Saved, c.OneOff)
	switch {
	case c.Target.Kind == target.Known:
		f.Server = c.Target.Name
	case place.Endpoint == connect.DemoEndpoint:
		f.Server = "demo"
	case place.Endpoint != "":
		f.Server = place.Endpoint
	default:
		f.Command = place.Command
	}
	return f
}

// Add writes a call behind the others, with how it ended. Of a secret the file gets a
// variable of the environment.
func (s *CallSaver) Add(f *cmdutil.Factory, c *connect.Conn, o toolcall.Request, out wire.Outcome) error {
	if s == nil {
		return nil
	}
	if !slices.Contains(SavedKinds, out.Kind) || out.Reached == wire.Unsent {
		if out.Reached == wire.Unsent {
			f.Note("not saved: the call was not sent")
		} else {
			f.Note("not saved: the call got no response")
		}
		return nil
	}
	b := &ExportSaver{taken: string(s.text)}
	arguments, _ := f.Secrets.Bytes(o.Arguments)
	step := saved.Step{
		Verb:    saved.Call,
		Subject: saved.LiteralText(o.Name, b.variable),
		Args:    saved.Literal(arguments, b.variable),
		Loose:   o.NoValidate,
		Expect:  saved.Expect{Kind: out.Kind},
	}
	expects := s.expectResult && (out.Good() || out.Kind == wire.ToolError)
	if expects {
		step.Expect.Result = saved.Literal(expectable(f, out.Result), b.variable)
	}
	flags, answers := s.answers(c)
	text := s.widened(step)
	err := error(nil)
	again := text != nil
	if again {
		err = cmdutil.ReplaceFile(s.path, text)
	} else if text, err = s.written(c, b, step, flags); err == nil {
		err = cmdutil.AppendTo(s.path, text)
	}
	if err != nil {
		failed := usage.LocalIO("saving the call in "+s.path, usage.Bare(err))
		failed.Reached = out.Reached
		return cmdutil.Exit(failed)
	}
	if again {
		f.Note(
			fmt.Sprintf("step %d of %s now expects what both results have in common%s", len(s.file.Steps), s.path, answers),
		)
		return nil
	}
	s.file.Steps = append(s.file.Steps, step)
	run := "mcpc run " + shellwords.Quote(s.path)
	commands := c.Answering.OnElicit != "" || c.Answering.OnSampling != ""
	if s.file.Command != nil || s.text == nil && fileOf(c).Command != nil || commands {
		run += " --allow-exec"
	}
	if o.Yes {
		run += " --yes"
	}
	note := fmt.Sprintf("saved as step %d of %s", len(s.file.Steps), s.path)
	if !out.Good() {
		note += fmt.Sprintf(", which expects the outcome %s", out.Kind)
	}
	note += "; run it with: " + run
	if s.text == nil && namesLocalFile(fileOf(c).Command) {
		note += "; it runs only in this directory, to which its command is relative"
	}
	for _, h := range b.Secrets {
		note += fmt.Sprintf("; set %s to %s: %s", h.Variable, h.Where, h.Shown)
	}
	if s.expectResult && !expects {
		note += "; the call has no result to expect"
	}
	if s.text == nil && !s.expectResult && out.Good() {
		note += "; --expect-result also saves the result"
	}
	f.Note(note + answers)
	return nil
}

// namesLocalFile reports whether a word of a command is a file relative to the current directory: a saved file does not
// keep the directory.
func namesLocalFile(command []string) bool {
	return slices.ContainsFunc(command, func(word string) bool { return !filepath.IsAbs(word) && cmdutil.IsFile(word) })
}

// answers are the flags that answer what the server asks as it was done: those that were
// typed, and for a new file what a person typed into the forms. missing says that the
// file does not answer as the person did.
func (s *CallSaver) answers(c *connect.Conn) (flags host.Answers, missing string) {
	flags = answerFlags(c)
	typed := typedForms(c)
	isSaid := !flags.Elicits()
	for _, content := range typed {
		shown, _ := c.Env.Secrets.Bytes(content)
		flags.Answers = append(slices.Clip(flags.Answers), string(shown))
		isSaid = isSaid && content != nil
	}
	var f saved.File
	asSaved(flags, &f, (&ExportSaver{}).variable)
	if len(typed) == 0 || isSaid && (s.text == nil || s.file.Same(f)) {
		return flags, ""
	}
	return answerFlags(c), "; the file does not contain your answers: see mcpc help answering"
}

// typedForms takes what a person typed since they were last taken.
func typedForms(c *connect.Conn) (typed []json.RawMessage) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	typed = c.Typed
	c.Typed = nil
	return typed
}

// widened is the file where its last step is the same call: it then expects of the result
// what both have in common. It is nil where another step is needed.
func (s *CallSaver) widened(step saved.Step) []byte {
	last := len(s.file.Steps) - 1
	if s.text == nil || last < 0 || step.Expect.Result == nil {
		return nil
	}
	was := s.file.Steps[last]
	expects := s.file.Steps[last].Expect
	same := was.Verb == step.Verb && was.Subject == step.Subject && was.Loose == step.Loose &&
		expects.Kind == step.Expect.Kind
	doc, err := yaml.Parse(s.text)
	if err != nil || !same || expects.Result == nil ||
		!bytes.Equal(jsonraw.Compact(was.Args), jsonraw.Compact(step.Args)) {
		return nil
	}
	text, ok := yaml.Replaced(s.text, doc.NamePlace(expects.ResultAt), "result", expects.Result,
		commonOf(expects.Result, step.Expect.Result))
	if !ok {
		return nil
	}
	return text
}

// written is what the file gets: all of it, or one step more.
func (s *CallSaver) written(c *connect.Conn, b *ExportSaver, step saved.Step, flags host.Answers) ([]byte, error) {
	if s.text != nil {
		return yaml.Appended(s.text, "steps", step.JSON())
	}
	f := fileOf(c)
	f.Server = saved.LiteralText(c.Env.Secrets.Text(f.Server), b.in(traffic.InURL))
	f.Command = sliceutil.Map(c.Env.Secrets.Command(f.Command),
		func(word string) string { return saved.LiteralText(word, b.in(traffic.InArgv)) })
	f.Steps = []saved.Step{step}
	f.Protocol = c.Env.Protocol
	asSaved(flags, &f, b.variable)
	for _, line := range c.Env.Headers {
		name, value, _ := strings.Cut(line, ":")
		field := redact.RedactField(wire.Field{Name: name, Value: c.Env.Secrets.Text(strings.TrimSpace(value))})
		f.Headers = append(f.Headers, wire.Field{Name: name, Value: saved.LiteralText(field.Value, b.in(name))})
	}
	return yaml.Write(f.JSON())
}

// asSaved puts flags into a file of saved calls, as they were typed. Of a secret it gets
// a variable.
func asSaved(flags host.Answers, f *saved.File, variable func(string) string) {
	var items []json.RawMessage
	for _, text := range flags.Answers {
		item := jsonraw.Quote(saved.LiteralText(text, variable))
		if raw := json.RawMessage(text); jsonraw.Valid(raw) == nil && raw[0] == '{' {
			item = saved.Literal(raw, variable)
		} else if list, err := jsonraw.Array(raw); err == nil {
			for _, one := range list {
				items = append(items, saved.Literal(one, variable))
			}
			continue
		}
		items = append(items, item)
	}
	f.Answer = arguments.AsList(items)
	if len(items) == 1 {
		f.Answer = items[0]
	} else if items == nil {
		f.Answer = nil
	}
	text := func(s string) string { return saved.LiteralText(s, variable) }
	f.Answering = saved.Answering{Defaults: flags.Defaults, Decline: flags.Decline,
		OnElicit: text(flags.OnElicit), Sampling: text(flags.Sampling), OnSampling: text(flags.OnSampling)}
	for _, dir := range flags.Roots {
		f.Answering.Roots = append(f.Answering.Roots, text(dir))
	}
	for _, extension := range flags.Extensions {
		f.Answering.Extensions = append(f.Answering.Extensions, text(extension))
	}
}

// ShownServer is the server of a file of saved calls as it may be shown.
func ShownServer(f saved.File) string {
	if f.Command != nil {
		return connect.CommandLine(f.Command)
	}
	return redact.RedactURL(f.Server)
}

// A result is expected member by member: those that are not named may be anything, lists
// have to be as long, and saved.Any matches any value.

// expectable is a result as the same call may give it again. What the protocol adds to
// every result is left out, and what is secret is left open.
func expectable(f *cmdutil.Factory, result json.RawMessage) json.RawMessage {
	hidden, _ := f.Secrets.Bytes(result)
	for _, name := range []string{"_meta", "resultType"} {
		result = jsonraw.Without(result, name)
	}
	return commonOf(result, hidden)
}

// commonOf is what two values have in common.
func commonOf(a, b json.RawMessage) json.RawMessage {
	if members, others, both := Objects(a, b); both {
		object := json.RawMessage("{}")
		for _, m := range members {
			if other, there := others.Get(m.Name); there {
				object = jsonraw.With(object, m.Name, commonOf(m.Value, other))
			}
		}
		return object
	}
	if items, others, both := Arrays(a, b); both {
		for i, other := range others {
			items[i] = commonOf(items[i], other)
		}
		return arguments.AsList(items)
	}
	if !SameScalar(a, b) {
		return jsonraw.Quote(saved.Any)
	}
	return a
}

func Objects(a, b json.RawMessage) (first, second jsonraw.Members, both bool) {
	first, err := jsonraw.Object(a)
	second, failed := jsonraw.Object(b)
	return first, second, err == nil && failed == nil
}

// Arrays are two of the same length.
func Arrays(a, b json.RawMessage) (first, second []json.RawMessage, both bool) {
	first, err := jsonraw.Array(a)
	second, failed := jsonraw.Array(b)
	return first, second, err == nil && failed == nil && len(first) == len(second)
}

// SameScalar compares what has no parts: texts whatever their escapes.
func SameScalar(a, b json.RawMessage) bool {
	text, isText := jsonraw.Text(a)
	other, alsoText := jsonraw.Text(b)
	return isText && alsoText && text == other || bytes.Equal(a, b)
}
