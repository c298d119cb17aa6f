package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/saved"
	"mcpc/internal/wire"
)

// A fileRun is one file while its steps are taken.
type fileRun struct {
	*runner
	f    *runFile
	vars map[string]saved.Value
	c    *conversation // nil where there is none
	// opening is how the conversation could not be opened; the first step that is
	// taken ends with it.
	opening wire.Outcome
	result  render.RunFile
}

// file takes the steps of one file, in one conversation.
func (r *runner) file(ctx context.Context, f *runFile) {
	a := r.a
	run := &fileRun{runner: r, f: f, vars: map[string]saved.Value{}}
	for _, v := range f.Vars {
		run.vars[v.Name] = saved.Value{JSON: v.Value}
	}
	maps.Copy(run.vars, r.given)
	run.result = render.RunFile{Path: f.path, Server: cmp.Or(r.replacement(), shownServer(f.File)), Started: a.now()}
	before := a.globals()
	if len(f.Steps) > 0 && !r.stopped {
		run.open(ctx)
	}
	if r.live != nil {
		_ = render.RunHead(r.live, r.liveStyle, run.result)
	}
	for i, s := range f.Steps {
		if f.chosen[i] {
			run.step(ctx, s)
		}
	}
	if run.c != nil {
		a.close(ctx, run.c)
	}
	a.setGlobals(before)
	run.result.Took = a.now().Sub(run.result.Started)
	r.done = append(r.done, run.result)
}

// open opens the conversation of the file. Whom it is with is said by the command
// line, else by the file, else as for every command.
func (r *fileRun) open(ctx context.Context) {
	a, argv := r.a, r.o.argv
	named := argv != nil || a.serverGiven || a.getenv(envName("server")) != ""
	fill := func(text string) string {
		filled, err := saved.FillText(text, r.lookup)
		if err != nil && r.opening.Good() {
			r.opening = usage(err)
		}
		return filled
	}
	if !named && r.f.Command != nil {
		argv = mapped(r.f.Command, fill)
		if !r.o.allowExec {
			r.opening = wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: r.f.path + " would start " + commandLine(argv),
				Hint: "--allow-exec starts it"}
			return
		}
	} else if !named && r.f.Server != "" {
		a.server, a.serverGiven = fill(r.f.Server), true
	}
	a.headers = slices.Clone(a.headers)
	for _, h := range r.f.Headers {
		a.headers = append(a.headers, h.Name+": "+fill(h.Value))
	}
	if how := r.f.Answering; how.Commands() && !r.o.allowExec {
		r.opening = wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: r.f.path + " would run " + fill(how.OnElicit+how.OnSampling),
			Hint: "--allow-exec starts it"}
		return
	}
	before := r.answering(fill)
	a.answers = behind(a.answers, &before)
	a.protocol = cmp.Or(a.protocol, r.f.Protocol)
	if err := a.check(); err != nil {
		r.opening = usage(err)
	}
	if !r.opening.Good() {
		return
	}
	c, out := a.open(ctx, opening{argv: argv, many: true})
	r.result.Server = a.secrets.Text(cmp.Or(c.where, r.result.Server))
	if r.opening = out; out.Good() {
		r.c = c
	} else {
		a.close(ctx, c)
	}
}

// answering is how the file answers what the server asks.
func (r *fileRun) answering(fill func(string) string) answering {
	how := r.f.Answering
	flags := answering{Defaults: how.Defaults, Decline: how.Decline, OnElicit: fill(how.OnElicit),
		Sampling: fill(how.Sampling), OnSampling: fill(how.OnSampling), Roots: mapped(how.Roots, fill)}
	if r.f.Answer == nil {
		return flags
	}
	answer, err := r.filled(r.f.Answer)
	if err != nil {
		r.opening = usage(err)
	}
	items, _ := wire.Array(answer)
	if items == nil {
		items = []json.RawMessage{answer}
	}
	flags.Answers = mapped(items, plainValue)
	return flags
}

// filled is a value with all variables; those without a type are texts, as in a list.
func (r *fileRun) filled(raw json.RawMessage) (json.RawMessage, error) {
	filled, _, err := saved.Fill(json.RawMessage("["+string(raw)+"]"), r.lookup)
	if err != nil {
		return nil, err
	}
	return filled[1 : len(filled)-1], nil
}

// lookup gives the value of a variable. What comes from the environment is secret.
func (r *fileRun) lookup(name string) (saved.Value, error) {
	if variable, ok := strings.CutPrefix(name, saved.Environment); ok {
		value, set := r.a.fromEnviron(variable)
		if !set {
			return saved.Value{}, fmt.Errorf("the environment has no variable %s", variable)
		}
		r.a.secrets.Learn(value)
		return saved.Value{JSON: wire.Quote(value), Untyped: true}, nil
	}
	v, ok := r.vars[name]
	if !ok {
		return v, fmt.Errorf("nothing was captured as %s", name)
	}
	return v, nil
}

// step takes one step and judges what came.
func (r *fileRun) step(ctx context.Context, s saved.Step) {
	result := render.RunStep{Name: s.Name, Line: r.f.doc.Place(s.At).Line, State: render.StepPassed}
	if why := r.skipped(ctx, s); why != "" {
		if ctx.Err() != nil {
			r.interrupted()
		}
		result.State, result.Why = render.StepSkipped, why
		r.add(result)
		return
	}
	taken := r.take(ctx, s)
	taken.out = signalled(ctx, taken.out)
	r.a.gaveUp(taken.out, taken.out.ExitCode())
	if taken.out.Kind == wire.Signal {
		r.interrupted()
	}
	result.Kind, result.Took = taken.out.Kind, taken.took
	j := &judgement{fileRun: r, ctx: ctx, step: s, taken: taken, result: &result}
	j.judge()
	if len(result.Misses) > 0 || r.live == nil { // else nobody is told, and a long file need not be read
		result.See = r.see(taken)
	}
	if result.State != render.StepPassed && ctx.Err() != nil { // so may an expression be that has no end
		result.State = render.StepBroken
		r.interrupted()
	}
	if result.State != render.StepPassed {
		result.Ended = r.a.withoutSecrets(taken.out)
	}
	if result.State != render.StepPassed && r.o.failFast {
		r.stopped = true
	}
	r.add(result)
}

// interrupted is the ending of a run that no further step is taken of.
func (r *runner) interrupted() {
	r.broken, r.stopped = wire.Outcome{Kind: wire.Signal, Text: "interrupted", Many: true, Reached: wire.Unknown}, true
}

// skipped says why a step is not taken, "" where it is.
func (r *fileRun) skipped(ctx context.Context, s saved.Step) string {
	if r.stopped || ctx.Err() != nil {
		if r.o.failFast && ctx.Err() == nil {
			return "--fail-fast"
		}
		return "interrupted"
	}
	if r.c == nil && len(r.result.Steps) > 0 {
		return "no connection"
	}
	for _, name := range append(s.Uses(), usedInQueries(s)...) {
		own := slices.ContainsFunc(s.Capture, func(c saved.Capture) bool { return c.Name == name })
		if strings.HasPrefix(name, saved.Environment) || own || !r.captured(name) {
			continue
		}
		if _, there := r.vars[name]; !there {
			return "needs " + name + ", which was not captured"
		}
	}
	return ""
}

// captured reports whether some step of the file captures a variable.
func (r *fileRun) captured(name string) bool {
	return slices.ContainsFunc(r.f.Steps, func(s saved.Step) bool {
		return slices.ContainsFunc(s.Capture, func(c saved.Capture) bool { return c.Name == name })
	})
}

// add keeps what came of a step, without secrets, and shows it.
func (r *fileRun) add(s render.RunStep) {
	hide := r.a.secrets.Text
	s.Name, s.Why, s.See, s.Hint = hide(s.Name), hide(s.Why), wire.Hint(hide(string(s.See))), wire.Hint(hide(string(s.Hint)))
	for i, m := range s.Misses {
		s.Misses[i].Want, s.Misses[i].Got = hide(m.Want), hide(m.Got)
	}
	r.result.Steps = append(r.result.Steps, s)
	if r.live != nil {
		r.a.progress.Done()
		_ = render.RunStepLines(r.live, r.liveStyle, r.f.path, s)
	}
}

// A taken step is how its request ended, and what it gave.
type taken struct {
	out wire.Outcome
	// method is what was asked last, answer what a command would print.
	method string
	answer answer
	took   time.Duration
}

var methodOf = map[saved.Verb]string{saved.Call: "tools/call", saved.Read: "resources/read", saved.Prompt: "prompts/get"}

// take asks the server for what a step wants.
func (r *fileRun) take(ctx context.Context, s saved.Step) (t taken) {
	t.method = cmp.Or(methodOf[s.Verb], s.Subject)
	if t.out = r.opening; !t.out.Good() {
		return t
	}
	subject, err := saved.FillText(s.Subject, r.lookup)
	args, untyped := json.RawMessage(nil), []saved.Untyped(nil)
	switch {
	case err != nil || s.Args == nil:
	case s.Verb == saved.Raw:
		args, err = r.filled(s.Args)
	default:
		args, untyped, err = saved.Fill(s.Args, r.lookup)
	}
	if err != nil {
		t.out = usage(err)
		return t
	}
	given := given{document: args, words: wordsOf(untyped)}
	begun := r.a.now()
	switch s.Verb {
	case saved.Call:
		given.document = orEmpty(args)
		t.out, _ = r.c.perform(ctx, &callRequest{name: subject, given: given, noValidate: s.Loose, yes: r.o.yes})
	case saved.Prompt:
		given.document = orEmpty(args)
		t.out = r.c.getPrompt(ctx, promptOptions{name: subject, arguments: given.texts(), noValidate: s.Loose})
	case saved.Read:
		t.out = r.read(ctx, subject, given)
	case saved.List:
		return r.list(ctx, subject)
	default:
		t.out = r.c.Do(ctx, client.Call{Method: subject, Params: args, Once: true})
	}
	t.answer, t.took = answerOf(t.out), t.out.Took
	if t.took == 0 && t.out.Reached == wire.Answered {
		t.took = r.a.now().Sub(begun)
	}
	return t
}

// wordsOf are arguments without a type as words of a command line.
func wordsOf(untyped []saved.Untyped) (words []word) {
	for _, u := range untyped {
		w := word{text: u.Text, path: mapped(u.Path, func(name string) part { return part{name: name} })}
		w.typed = written(w.path) + "=" + u.Text
		words = append(words, w)
	}
	return words
}

// read reads a resource, or what a template becomes with values.
func (r *fileRun) read(ctx context.Context, uri string, values given) wire.Outcome {
	if values.document == nil {
		return r.c.readResource(ctx, uri)
	}
	t, err := wire.ParseURITemplate(uri)
	var members wire.Members
	if err == nil {
		members, _ = wire.Object(values.texts())
		err = unknownVariable(t, members)
	}
	if err == nil {
		uri, err = t.Expand(members)
	}
	if err != nil {
		return usage(err)
	}
	return r.c.readResource(ctx, uri)
}

// list lists one kind, all pages of it.
func (r *fileRun) list(ctx context.Context, word string) (t taken) {
	k, _ := kindNamed(word)
	var l listing
	begun := r.a.now()
	t.method = k.method
	if t.out, _ = l.add(ctx, r.c, k, false, r.a.showsTables()); t.out.Good() {
		t.out.Result = l.result(false)
		if list := l.lists[0]; list.entries.count() == 0 {
			l.lists[0].entries = r.c.sortEntries(k, list.List)
		}
	}
	t.answer, t.took = r.a.answerOfLists(l, false, false), r.a.now().Sub(begun)
	return t
}

// replacement is the server that the user names instead of the files', or "".
func (r *runner) replacement() string {
	if r.o.argv != nil {
		return commandLine(r.o.argv)
	}
	return wire.RedactURL(cmp.Or(r.a.server, r.a.getenv(envName("server"))))
}

// shownServer is the server of a file of saved calls as it may be shown.
func shownServer(f saved.File) string {
	if f.Command != nil {
		return commandLine(f.Command)
	}
	return wire.RedactURL(f.Server)
}
