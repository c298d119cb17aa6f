package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/render/report"
	"mcpc/internal/saved"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A fileRun is the run of one file.
type fileRun struct {
	*runner
	factory *cmdutil.Factory // has the flags of the file
	file    *runFile
	vars    map[string]saved.Value
	conn    *connect.Conn // nil if it could not be opened
	// opening is the outcome of opening the connection. If it is not OK, it is the outcome of the
	// first step, and the other steps are skipped.
	opening wire.Outcome
	result  report.File
}

// runFile runs the selected steps of one file over one connection, and adds the result to the
// report. If the connection cannot be opened, the first step gets the outcome and the others are
// skipped.
func (r *runner) runFile(ctx context.Context, file *runFile) {
	f := r.factory.Invocation()
	run := &fileRun{runner: r, factory: f, file: file, vars: map[string]saved.Value{}}
	for _, v := range file.Vars {
		run.vars[v.Name] = saved.Value{JSON: v.Value}
	}
	maps.Copy(run.vars, r.given)
	server := recorded.ShownServer(file.File) // for the report; the command line replaces it
	if r.options.argv != nil {
		server = connect.CommandLine(r.options.argv)
	} else if named := cmp.Or(f.Server, f.Getenv(host.EnvName("server"))); named != "" {
		server = redact.RedactURL(named)
	}
	run.result = report.File{Path: file.path, Server: server, Started: f.Now()}
	if len(file.Steps) > 0 && !r.stopped {
		run.open(ctx)
	}
	if r.progress != nil {
		_ = report.WriteHead(r.progress, r.progressStyle, run.result)
	}
	for i, s := range file.Steps {
		if file.selected[i] {
			run.runStep(ctx, s)
		}
	}
	if run.conn != nil {
		r.unclosed = cmdutil.Join(r.unclosed, f.Close(ctx, run.conn))
	}
	run.result.Took = f.Now().Sub(run.result.Started)
	r.done = append(r.done, run.result)
}

// open opens the connection of the file. The server is taken from the command line, -s or
// MCPC_SERVER, else the server of the file, else the default server.
func (r *fileRun) open(ctx context.Context) {
	f := r.factory
	argv := r.options.argv
	isNamed := argv != nil || f.ServerGiven || f.Getenv(host.EnvName("server")) != ""
	fill := func(text string) string { // replaces variables; the first error becomes r.opening
		filled, err := saved.FillText(text, r.lookup)
		if err != nil && r.opening.OK() {
			r.opening = usage.Outcome(err)
		}
		return filled
	}
	if !isNamed && r.file.Command != nil {
		argv = sliceutil.Map(r.file.Command, fill)
		if !r.options.allowExec {
			r.opening = refusedCommand(r.file.path + " would start " + connect.CommandLine(argv))
			return
		}
	} else if !isNamed && r.file.Server != "" {
		f.Server = fill(r.file.Server)
		f.ServerGiven = true
	}
	f.Headers = slices.Clone(f.Headers) // the files share the flags
	for _, h := range r.file.Headers {
		f.Headers = append(f.Headers, h.Name+": "+fill(h.Value))
	}
	if answering := r.file.Answering; answering.Commands() && !r.options.allowExec {
		r.opening = refusedCommand(r.file.path + " would run " + fill(answering.OnElicit+answering.OnSampling))
		return
	}
	answers := r.fileAnswers(fill)
	f.Answers = f.Answers.Over(&answers)
	if f.Protocol == "" {
		f.Protocol = r.file.Protocol
	}
	if err := f.CheckFlags(); err != nil { // the file may have set invalid ones
		r.opening = usage.Outcome(err)
	}
	if !r.opening.OK() { // also a failure of fill
		return
	}
	c, out := f.Open(ctx, connect.Options{Argv: argv, MultiCall: true})
	r.result.Server = f.Secrets.Text(cmp.Or(c.Where, r.result.Server))
	r.opening = out
	if out.OK() {
		r.conn = c
	} else {
		r.unclosed = cmdutil.Join(r.unclosed, f.Close(ctx, c))
	}
}

// refusedCommand returns the outcome for a file with a command that only --allow-exec starts.
func refusedCommand(text string) wire.Outcome {
	return wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: text, Hint: "--allow-exec starts it"}
}

// fileAnswers returns how the file answers requests of the server.
func (r *fileRun) fileAnswers(fill func(string) string) host.Answers {
	a := r.file.Answering
	flags := host.Answers{
		Defaults: a.Defaults, Decline: a.Decline, OnElicit: fill(a.OnElicit), Sampling: fill(a.Sampling),
		OnSampling: fill(a.OnSampling), Roots: sliceutil.Map(a.Roots, fill), Extensions: sliceutil.Map(a.Extensions, fill),
	}
	if r.file.Answer == nil {
		return flags
	}
	answer, err := r.fill(r.file.Answer)
	if err != nil {
		r.opening = usage.Outcome(err)
	}
	items, _ := jsonraw.Array(answer)
	if items == nil { // one answer for all forms
		items = []json.RawMessage{answer}
	}
	flags.Answers = sliceutil.Map(items, arguments.PlainValue) // as the values of --answer
	return flags
}

// fill returns a value with all variables replaced; variables without a type become strings. It
// returns an error for a variable without a value.
func (r *fileRun) fill(raw json.RawMessage) (json.RawMessage, error) {
	// In a list, saved.Fill does not omit the members with untyped values.
	filled, _, err := saved.Fill(json.RawMessage("["+string(raw)+"]"), r.lookup)
	if err != nil {
		return nil, err
	}
	return filled[1 : len(filled)-1], nil
}

// lookup returns the value of a variable. Values from the environment become secrets.
func (r *fileRun) lookup(name string) (saved.Value, error) {
	if variable, ok := strings.CutPrefix(name, saved.Environment); ok {
		value, isSet := lookupEnvironment(r.factory, variable)
		if !isSet {
			return saved.Value{}, fmt.Errorf("the environment has no variable %s", variable)
		}
		r.factory.Secrets.Learn(value)
		return saved.Value{JSON: jsonraw.Quote(value), Untyped: true}, nil
	}
	v, ok := r.vars[name]
	if !ok {
		return v, fmt.Errorf("nothing was captured as %s", name)
	}
	return v, nil
}

// lookupText returns the value of a variable as a string, for a prompt's arguments, which are
// always strings.
func (r *fileRun) lookupText(name string) (saved.Value, error) {
	v, err := r.lookup(name)
	if err != nil {
		return v, err
	}
	v.JSON = jsonraw.Quote(v.Text())
	v.Untyped = true
	return v, nil
}

// runStep runs one step, judges the response and adds the result to the report. It stops the run
// after an interruption, and after a failure with --fail-fast.
func (r *fileRun) runStep(ctx context.Context, s saved.Step) {
	result := report.Step{Name: s.Name, Line: r.file.doc.Place(s.At).Line, State: report.Passed}
	if why := r.skipReason(ctx, s); why != "" {
		if ctx.Err() != nil {
			r.interrupt()
		}
		result.State = report.Skipped
		result.Why = why
		r.addResult(result)
		return
	}
	response := r.sendStep(ctx, s)
	response.out = cmdutil.WithSignal(ctx, response.out)
	r.factory.Env.GaveUp(response.out, response.out.ExitCode())
	if response.out.Kind == wire.Signal {
		r.interrupt()
	}
	result.Kind = response.out.Kind
	result.Took = response.took
	j := &judgement{run: r, ctx: ctx, step: s, response: response, result: &result}
	j.judge()
	// The command is printed for a miss and in a document. Finding it reads the recording.
	isPrinted := len(result.Misses) > 0 || r.progress == nil
	if isPrinted {
		result.See = r.showCommand(response)
	}
	if result.State != report.Passed && ctx.Err() != nil { // an interrupted expression may fail a step
		result.State = report.Broken
		r.interrupt()
	}
	if result.State != report.Passed {
		result.Ended = r.factory.WithoutSecrets(response.out)
	}
	if result.State != report.Passed && r.options.failFast {
		r.stopped = true
	}
	r.addResult(result)
}

// interrupt sets the outcome of the run, and stops it.
func (r *runner) interrupt() {
	r.firstBroken = wire.Outcome{Kind: wire.Signal, Text: "interrupted", IsSummary: true, Reached: wire.Unknown}
	r.stopped = true
}

// skipReason returns why a step is not run, "" if it is run.
func (r *fileRun) skipReason(ctx context.Context, s saved.Step) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	if r.stopped && r.options.failFast {
		return "--fail-fast"
	}
	if r.stopped {
		return "interrupted"
	}
	if r.conn == nil && len(r.result.Steps) > 0 { // the first step reports why
		return "no connection"
	}
	capturedElsewhere := map[string]bool{} // the variables that only other steps capture
	for _, step := range r.file.Steps {
		for _, c := range step.Capture {
			capturedElsewhere[c.Name] = true
		}
	}
	for _, c := range s.Capture {
		delete(capturedElsewhere, c.Name)
	}
	for _, name := range append(s.Uses(), variablesInQueries(s)...) {
		if _, isSet := r.vars[name]; capturedElsewhere[name] && !isSet {
			return "needs " + name + ", which was not captured"
		}
	}
	return ""
}

// addResult adds the result of a step to the report, without secrets, and prints it.
func (r *fileRun) addResult(s report.Step) {
	hide := r.factory.Secrets.Text
	s.Name = hide(s.Name)
	s.Why = hide(s.Why)
	s.See = wire.Hint(hide(string(s.See)))
	s.Hint = wire.Hint(hide(string(s.Hint)))
	for i, m := range s.Misses {
		s.Misses[i].Want = hide(m.Want)
		s.Misses[i].Got = hide(m.Got)
	}
	r.result.Steps = append(r.result.Steps, s)
	if r.progress != nil {
		r.factory.Progress.Done()
		_ = report.WriteStep(r.progress, r.progressStyle, r.file.path, s)
	}
}

// A stepResponse is the outcome of a step's request, and what a command would print of it.
type stepResponse struct {
	out wire.Outcome
	// method is the method of the last request.
	method string
	// answer is what a command would print.
	answer cmdutil.Answer
	took   time.Duration
}

// methodOf maps the verbs of steps to methods.
var methodOf = map[saved.Verb]string{
	saved.Call:   "tools/call",
	saved.Read:   "resources/read",
	saved.Prompt: "prompts/get",
}

// sendStep makes the request of a step and returns the response. It sends nothing if the connection
// is not open or a variable has no value: the outcome says why.
func (r *fileRun) sendStep(ctx context.Context, s saved.Step) stepResponse {
	t := stepResponse{method: cmp.Or(methodOf[s.Verb], s.Subject), out: r.opening}
	if !t.out.OK() {
		return t
	}
	subject, err := saved.FillText(s.Subject, r.lookup)
	var args json.RawMessage
	var untyped []saved.Untyped
	if err == nil && s.Args != nil {
		switch s.Verb {
		case saved.Raw:
			args, err = r.fill(s.Args)
		case saved.Prompt:
			args, untyped, err = saved.Fill(s.Args, r.lookupText)
		default:
			args, untyped, err = saved.Fill(s.Args, r.lookup)
		}
	}
	if err != nil {
		t.out = usage.Outcome(err)
		return t
	}
	given := arguments.Given{Document: args, Words: untypedWords(untyped)}
	begun := r.factory.Now()
	switch s.Verb {
	case saved.Call:
		given.Document = jsonraw.OrEmpty(args)
		t.out, _ = toolcall.CallTool(ctx, r.conn,
			&toolcall.Request{Name: subject, Given: given, NoValidate: s.Loose, Yes: r.options.yes})
	case saved.Prompt:
		given.Document = jsonraw.OrEmpty(args)
		t.out = toolcall.GetPrompt(ctx, r.conn,
			toolcall.PromptOptions{Name: subject, Arguments: given.Texts(), NoValidate: s.Loose})
	case saved.Read:
		t.out = r.readResource(ctx, subject, given)
	case saved.List:
		return r.listKind(ctx, subject)
	default:
		t.out = r.conn.Do(ctx, client.Call{Method: subject, Params: args, Once: true})
	}
	t.answer = cmdutil.AnswerOf(t.out)
	t.took = t.out.Took
	if t.took == 0 && t.out.Reached == wire.Answered {
		t.took = r.factory.Now().Sub(begun)
	}
	return t
}

// untypedWords returns arguments without a type as words of a command line.
func untypedWords(untyped []saved.Untyped) []arguments.Word {
	var words []arguments.Word
	for _, u := range untyped {
		w := arguments.Word{
			Text: u.Text,
			Path: sliceutil.Map(u.Path, func(name string) arguments.Part { return arguments.Part{Name: name} }),
		}
		w.Typed = arguments.Written(w.Path) + "=" + u.Text
		words = append(words, w)
	}
	return words
}

// readResource reads a resource. With values the URI is a template, which is expanded first.
func (r *fileRun) readResource(ctx context.Context, uri string, values arguments.Given) wire.Outcome {
	if values.Document == nil { // the step has no values
		return toolcall.ReadResource(ctx, r.conn, uri)
	}
	t, err := mcp.ParseURITemplate(uri)
	var members jsonraw.Members
	if err == nil {
		members, _ = jsonraw.Object(values.Texts())
		err = toolcall.UnknownVariable(t, members)
	}
	if err == nil {
		uri, err = t.Expand(members)
	}
	if err != nil {
		return usage.Outcome(err)
	}
	return toolcall.ReadResource(ctx, r.conn, uri)
}

// listKind lists all pages of one kind, and returns them as one result.
func (r *fileRun) listKind(ctx context.Context, word string) stepResponse {
	k, _ := connect.KindNamed(word)
	var l connect.Listing
	begun := r.factory.Now()
	t := stepResponse{method: k.Method}
	const (
		severalKinds = false
		longEntries  = false
	)
	t.out, _ = l.Add(ctx, r.conn, k, severalKinds, r.factory.ShowsTables())
	if t.out.OK() {
		t.out.Result = l.Result(severalKinds)
		if list := l.Lists[0]; list.Entries.Count() == 0 { // Add parses entries for tables only
			l.Lists[0].Entries = r.conn.SortEntries(k, list.List)
		}
	}
	t.answer = r.factory.ListAnswer(l, severalKinds, longEntries)
	t.took = r.factory.Now().Sub(begun)
	return t
}
