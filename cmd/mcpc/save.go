package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"mcpc/internal/render"
	"mcpc/internal/saved"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// A saving adds calls to a file of saved calls, which it begins where there is none.
type saving struct {
	path string
	text []byte // nil where there is no file yet
	file saved.File
	// expectResult makes the result that comes what is expected of the saved call.
	expectResult bool
}

// newSaving reads the file and refuses one that nothing can be added to: before a call
// is made, and not when it is over. It is nil for no file.
func newSaving(path string, expectResult bool) (*saving, error) {
	switch {
	case path == "" && expectResult:
		return nil, hinted("--expect-result needs --save", "use --save FILE")
	case path == "":
		return nil, nil
	}
	s := &saving{path: path, expectResult: expectResult}
	bad := func(why string) error {
		return hinted("--save "+path+": "+why, "--save with another file; "+wire.Run("run "+shellwords.Quote(path)+" --list")+" shows this one")
	}
	if !isFile(path) {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, bad(bare(err).Error())
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

// fits refuses a file that is about another server.
func (s *saving) fits(c *conversation) wire.Outcome {
	c.typedForms() // of other calls
	if out := s.answersAlike(c); !out.Good() || s == nil || s.file.Server == "" && s.file.Command == nil || strings.Contains(s.file.Server, "${") {
		return out
	}
	is := c.asSaved()
	if s.file.Server == c.target.String() || s.file.Server == is.Server && slices.Equal(s.file.Command, is.Command) {
		return wire.Outcome{}
	}
	return usage(hinted(fmt.Sprintf("--save %s: the file is for %s, and the call is for %s", s.path, shownServer(s.file), c.where), "--save with another file"))
}

// answersAlike refuses a file that does not answer what the server asks as the call does:
// the step would not end as the call did.
func (s *saving) answersAlike(c *conversation) wire.Outcome {
	if s == nil || s.text == nil {
		return wire.Outcome{}
	}
	f := c.asSaved()
	asSaved(c.flags(), &f, (&saver{}).variable)
	own, theirs := f.Answers(), s.file.Answers()
	if len(own) == 0 || s.file.Same(f) {
		return wire.Outcome{}
	}
	text := "the file's answers differ from the call's"
	if len(theirs) == 0 {
		text = "the call has answers to server requests, and the file has none"
	}
	return usage(hinted("--save "+s.path+": "+text, "--save with another file"))
}

// flags are those that say how this conversation answers, as they were typed.
func (c *conversation) flags() answering {
	var before *answering
	if c.saved != nil {
		before = c.saved.Answering
	}
	return behind(c.a.answers, before)
}

// asSaved is a file about the server of the conversation.
func (c *conversation) asSaved() (f saved.File) {
	place := cmp.Or(c.saved, c.oneOff)
	switch {
	case c.target.Kind == target.Known:
		f.Server = c.target.Name
	case place.Endpoint == demoEndpoint:
		f.Server = "demo"
	case place.Endpoint != "":
		f.Server = place.Endpoint
	default:
		f.Command = place.Command
	}
	return f
}

// savedEndings are those of a request that a step may expect: what became of it at the
// server, or on the way.
var savedEndings = []wire.Kind{wire.OK, wire.ToolError, wire.RPCFailed, wire.OutputInvalid, wire.InputRequired,
	wire.Auth, wire.Transport, wire.BadResponse, wire.Timeout}

// add writes a call behind the others, with how it ended. Of a secret the file gets a
// variable of the environment.
func (s *saving) add(a *app, c *conversation, o callRequest, out wire.Outcome) {
	if s == nil {
		return
	}
	if !slices.Contains(savedEndings, out.Kind) || out.Reached == wire.Unsent {
		if out.Reached == wire.Unsent {
			a.note("not saved: the call was not sent")
		} else {
			a.note("not saved: the call got no response")
		}
		return
	}
	b := &saver{taken: string(s.text)}
	arguments, _ := a.secrets.Bytes(o.arguments)
	step := saved.Step{Verb: saved.Call, Subject: saved.LiteralText(o.name, b.variable), Args: saved.Literal(arguments, b.variable),
		Loose: o.noValidate, Expect: saved.Expect{Kind: out.Kind}}
	expects := s.expectResult && (out.Good() || out.Kind == wire.ToolError)
	if expects {
		step.Expect.Result = saved.Literal(a.expectable(out.Result), b.variable)
	}
	flags, answers := s.answers(c)
	text, err := s.widened(step), error(nil)
	again := text != nil
	if again {
		err = replaceFile(s.path, text)
	} else if text, err = s.written(c, b, step, flags); err == nil {
		err = appendTo(s.path, text)
	}
	if err != nil {
		failed := localIO("saving the call in "+s.path, bare(err))
		failed.Reached = out.Reached
		a.endAlso(failed)
		return
	}
	if again {
		a.note(fmt.Sprintf("step %d of %s now expects what both results have in common%s", len(s.file.Steps), s.path, answers))
		return
	}
	s.file.Steps = append(s.file.Steps, step)
	run := "mcpc run " + shellwords.Quote(s.path)
	commands := c.answering.OnElicit != "" || c.answering.OnSampling != ""
	if s.file.Command != nil || s.text == nil && c.asSaved().Command != nil || commands {
		run += " --allow-exec"
	}
	if o.yes {
		run += " --yes"
	}
	note := fmt.Sprintf("saved as step %d of %s", len(s.file.Steps), s.path)
	if !out.Good() {
		note += fmt.Sprintf(", which expects the outcome %s", out.Kind)
	}
	note += "; run it with: " + run
	for _, h := range b.secrets {
		note += fmt.Sprintf("; set %s to %s: %s", h.variable, h.where, h.shown)
	}
	if s.expectResult && !expects {
		note += "; the call has no result to expect"
	}
	a.note(note + answers)
}

// answers are the flags that answer what the server asks as it was done: those that were
// typed, and for a new file what a person typed into the forms. missing says that the
// file does not answer as the person did.
func (s *saving) answers(c *conversation) (flags answering, missing string) {
	flags, typed := c.flags(), c.typedForms()
	isSaid := !elicits(flags)
	for _, content := range typed {
		shown, _ := c.a.secrets.Bytes(content)
		flags.Answers = append(slices.Clip(flags.Answers), string(shown))
		isSaid = isSaid && content != nil
	}
	var f saved.File
	if asSaved(flags, &f, (&saver{}).variable); len(typed) == 0 || isSaid && (s.text == nil || s.file.Same(f)) {
		return flags, ""
	}
	return c.flags(), "; the file does not contain your answers: see mcpc help answering"
}

// typedForms takes what a person typed since they were last taken.
func (c *conversation) typedForms() (typed []json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	typed, c.typed = c.typed, nil
	return typed
}

// widened is the file where its last step is the same call: it then expects of the result
// what both have in common. It is nil where another step is needed.
func (s *saving) widened(step saved.Step) []byte {
	last := len(s.file.Steps) - 1
	if s.text == nil || last < 0 || step.Expect.Result == nil {
		return nil
	}
	was, expects := s.file.Steps[last], s.file.Steps[last].Expect
	same := was.Verb == step.Verb && was.Subject == step.Subject && was.Loose == step.Loose && expects.Kind == step.Expect.Kind
	doc, err := yaml.Parse(s.text)
	if err != nil || !same || expects.Result == nil || !bytes.Equal(wire.Compact(was.Args), wire.Compact(step.Args)) {
		return nil
	}
	text, ok := yaml.Replaced(s.text, doc.NamePlace(expects.ResultAt), "result", expects.Result, commonOf(expects.Result, step.Expect.Result))
	if !ok {
		return nil
	}
	return text
}

// written is what the file gets: all of it, or one step more.
func (s *saving) written(c *conversation, b *saver, step saved.Step, flags answering) ([]byte, error) {
	if s.text != nil {
		return yaml.Appended(s.text, "steps", step.JSON())
	}
	f := c.asSaved()
	f.Server = saved.LiteralText(c.a.secrets.Text(f.Server), b.in(render.InURL))
	f.Command = mapped(c.a.secrets.Command(f.Command), func(word string) string { return saved.LiteralText(word, b.in(render.InArgv)) })
	f.Steps, f.Protocol = []saved.Step{step}, c.a.protocol
	asSaved(flags, &f, b.variable)
	for _, line := range c.a.headers {
		name, value, _ := strings.Cut(line, ":")
		field := wire.RedactField(wire.Field{Name: name, Value: c.a.secrets.Text(strings.TrimSpace(value))})
		f.Headers = append(f.Headers, wire.Field{Name: name, Value: saved.LiteralText(field.Value, b.in(name))})
	}
	return yaml.Write(f.JSON())
}

// asSaved puts flags into a file of saved calls, as they were typed. Of a secret it gets
// a variable.
func asSaved(flags answering, f *saved.File, variable func(string) string) {
	var items []json.RawMessage
	for _, text := range flags.Answers {
		item := wire.Quote(saved.LiteralText(text, variable))
		if raw := json.RawMessage(text); wire.Valid(raw) == nil && raw[0] == '{' {
			item = saved.Literal(raw, variable)
		} else if list, err := wire.Array(raw); err == nil {
			for _, one := range list {
				items = append(items, saved.Literal(one, variable))
			}
			continue
		}
		items = append(items, item)
	}
	if f.Answer = asList(items); len(items) == 1 {
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
}
