package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/english"
	"mcpc/internal/fuzz"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
	"mcpc/internal/saved"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// FuzzOptions say which tools are called with generated arguments.
type FuzzOptions struct {
	// On is set by --fuzz. Tools are the tools that the user named; none means all that only read.
	On    bool
	Tools []string
	// Unsafe are tools that may be called although they are not marked as read-only.
	Unsafe []string
	// Budget is the largest number of calls.
	Budget int
	// budget is the flag of Budget.
	budget *pflag.Flag
	// From is a recording with calls of which one after the other is varied; "" if there is none.
	From string
}

// declare adds the flags of the options to flags.
func (o *FuzzOptions) declare(flags *pflag.FlagSet) {
	flags.BoolVar(&o.On, "fuzz", false, "also call the tools that only read, or the named ones, with generated arguments")
	_ = flags.SetAnnotation("fuzz", cmdutil.ExampleAnnotation, []string{"--fuzz get-sum"})
	flags.StringArrayVar(&o.Unsafe, "fuzz-unsafe", nil, "fuzz this `tool` too, although it may change something")
	flags.StringVar(&o.From, "from", "",
		"fuzz each call of this `recording`: the other calls are made as recorded, with the ids of this server")
	flags.IntVar(&o.Budget, "budget", 500, "fuzz with at most this `number` of calls")
	o.budget = flags.Lookup("budget")
}

// validate refuses invalid values of the flags.
func (o *FuzzOptions) validate() error {
	o.On = o.On || len(o.Unsafe) > 0 || o.From != ""
	if !o.On && o.budget.Changed {
		return usage.New("--budget limits the calls of --fuzz, which is missing",
			wire.Run("check TARGET --fuzz --budget "+strconv.Itoa(o.Budget)))
	}
	if o.On && o.Budget < 1 {
		return usage.New("--budget must be 1 or more", "--budget 500 is the default")
	}
	return nil
}

// recordViolation records a violation that the linter found. The caller holds mu.
func (j *judge) recordViolation(f lint.Finding) {
	if len(f.Evidence) == 0 {
		return
	}
	spot := spotOf(f.Evidence[0])
	if _, isKnown := j.violations[f.Fingerprint]; !isKnown {
		j.violations[f.Fingerprint] = spot
	}
	j.recent[f.Fingerprint] = spot
}

// takeViolations returns the violations that the linter found since the last call, with their frames.
func (j *judge) takeViolations() map[string]conv.Spot {
	j.mu.Lock()
	defer j.mu.Unlock()
	recent := j.recent
	j.recent = map[string]conv.Spot{}
	return recent
}

// A fuzzTest is the fuzz test of one revision.
type fuzzTest struct {
	*bench
	schemas map[string]json.RawMessage
	reads   map[string]bool
	// earlier are the violations that were found before the test.
	earlier map[string]bool
	// sequence are the calls of --from; nil without it.
	sequence *sequence
	// hasPaused is set after a pause that the overloaded server asked for: there is only one.
	hasPaused bool
	// usual is the mean time of the answers so far.
	usual time.Duration
}

// fuzzTools calls tools with generated arguments, reports what failed to the linter, and adds the
// rules that it judged to judged.
func (b *bench) fuzzTools(ctx context.Context, judged map[string]bool) {
	t := &fuzzTest{
		bench: b, schemas: map[string]json.RawMessage{}, reads: map[string]bool{}, earlier: map[string]bool{},
	}
	budget := b.request.Send.Fuzz.Budget
	var tools []fuzz.Tool
	if from := b.request.Send.Fuzz.From; from == "" {
		tools = t.selectTools()
	} else if t.sequence, b.fuzzFailure = b.readSequence(from); b.fuzzFailure.OK() {
		tools = t.selectSequence(t.sequence)
		budget = max(1, budget/len(t.sequence.calls)) // each call needs the other calls
	}
	b.mu.Lock()
	for id := range b.violations {
		t.earlier[id] = true
	}
	b.mu.Unlock()
	b.isFuzzing = true
	defer func() { b.isFuzzing = false }()
	wantsToolError := b.rev >= conv.Rev20251125
	report := fuzz.Run(ctx, tools, fuzz.Options{
		Seed: b.request.Send.seed, Budget: budget, WantsToolError: wantsToolError,
		Call: t.call, Compile: compileInput, Lists: t.fetchLists,
	})
	isTested := slices.ContainsFunc(report.Summaries, func(s fuzz.Summary) bool { return s.Valid > 0 && s.Calls > 0 })
	b.fuzzNotes = append(b.fuzzNotes, t.notes(report)...)
	misses := t.misses(report)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range fuzz.Rules {
		r, _ := lint.Find(id)
		if slices.Contains(b.request.Off, id) || b.whyInapplicable(r) != "" {
			continue
		}
		isBroken := slices.ContainsFunc(misses, func(m miss) bool { return m.id == id })
		if isTested && r.Mode == lint.Fuzz || isBroken {
			judged[id] = true
			b.reportMisses(id, misses, "")
		} else if r.Mode == lint.Fuzz {
			judged[id] = true
			b.linter.Skip(id, "no tool could be called: --fuzz-unsafe TOOL names one that is not marked as read-only")
		}
	}
}

// notes say how many calls were made, and which tools were not tested, or not with all arguments.
func (t *fuzzTest) notes(report fuzz.Report) []string {
	var notes, partial, failed []string
	for _, s := range report.Summaries {
		if s.Why != "" {
			notes = append(notes, "fuzz: "+s.Tool+": "+s.Why)
		} else if s.Unsent > 0 {
			partial = append(partial, fmt.Sprintf("%s (%d)", s.Tool, s.Unsent))
		}
		if s.FirstFailed {
			failed = append(failed, s.Tool)
		}
	}
	if len(failed) > 0 {
		notes = append(notes, "fuzz: the simplest call failed, so refusals of valid arguments do not count: "+
			commaJoin(failed...))
	}
	if len(partial) > 0 {
		notes = append(notes, "fuzz: --budget "+fmt.Sprint(t.request.Send.Fuzz.Budget)+
			" left out some of the arguments of "+commaJoin(partial...))
	}
	if t.sequence != nil {
		return append(notes, fmt.Sprintf("fuzz: the recorded calls were made %d times, --seed %d repeats them",
			report.Calls, t.request.Send.seed))
	}
	return append(notes, fmt.Sprintf("fuzz: %s of %s, --seed %d repeats them",
		english.Plural(report.Calls, "call"), english.Plural(len(report.Summaries), "tool"), t.request.Send.seed))
}

// selectTools returns the tools to test. It adds a note about those that are not marked as
// read-only, and sets fuzzFailure if the user named a tool that cannot be tested.
func (t *fuzzTest) selectTools() []fuzz.Tool {
	o := t.request.Send.Fuzz
	var tools []fuzz.Tool
	var unmarked, listed []string
	for _, entry := range t.lists["tools"] {
		name, _ := jsonraw.Text(jsonraw.First(entry, "name"))
		if slices.Contains(listed, name) {
			continue
		}
		listed = append(listed, name)
		onlyReads := mcp.ToolHints(entry).OnlyReads()
		isNamed := slices.Contains(o.Tools, name)
		if slices.Contains(o.Unsafe, name) || onlyReads && (isNamed || len(o.Tools) == 0 && len(o.Unsafe) == 0) {
			schema := jsonraw.First(entry, "inputSchema")
			t.schemas[name] = schema
			t.reads[name] = onlyReads
			tools = append(tools, fuzz.Tool{Name: name, InputSchema: schema, Reads: onlyReads})
			continue
		}
		if !onlyReads {
			unmarked = append(unmarked, name)
		}
		if isNamed {
			t.fuzzFailure = usage.Outcome(usage.New("--fuzz: "+name+" is not marked as read-only",
				wire.RunOnServer("check --fuzz-unsafe "+shellwords.Quote(name))+" calls it nevertheless"))
		}
	}
	for _, name := range slices.Concat(o.Tools, o.Unsafe) {
		if !slices.Contains(listed, name) {
			t.fuzzFailure = usage.Outcome(usage.New(suggest.OrMeant("--fuzz: the server lists no tool "+name, name, listed),
				wire.RunOnServer("list")+" shows them"))
		}
	}
	if len(unmarked) > 0 && len(o.Tools)+len(o.Unsafe) == 0 {
		t.fuzzNotes = append(t.fuzzNotes, "fuzz: not called, because not marked as read-only: "+commaJoin(unmarked...)+
			" (--fuzz-unsafe TOOL calls one)")
	}
	return tools
}

// compileInput returns the check of an inputSchema.
func compileInput(raw []byte) (check fuzz.Check, isPartial bool, err error) {
	s, warnings, err := validate.Compile(raw)
	if err != nil {
		return nil, false, err
	}
	return func(args []byte) ([]wire.Finding, error) { return s.Check(args) }, len(warnings) > 0, nil
}

// fetchLists returns the lists that the server declares, without what changes in each answer.
func (t *fuzzTest) fetchLists(ctx context.Context) []json.RawMessage {
	if t.whyNoMore() != "" {
		return nil
	}
	var all []json.RawMessage
	for _, method := range []string{"resources/list", "prompts/list"} {
		kind, _, _ := strings.Cut(method, "/")
		if !t.declares(kind) {
			continue
		}
		items, out := t.fetchList(ctx, t.cleanSession, method)
		if !out.OK() {
			return nil
		}
		all = append(all, jsonraw.List(items))
	}
	return all
}

// call calls a tool, alone or in the sequence of --from, and returns its answer.
func (t *fuzzTest) call(ctx context.Context, tool string, args json.RawMessage) fuzz.Answer {
	if t.sequence != nil {
		return t.callInSequence(ctx, tool, args)
	}
	return t.callTool(ctx, tool, args)
}

// callTool calls a tool and returns its answer.
func (t *fuzzTest) callTool(ctx context.Context, tool string, args json.RawMessage) fuzz.Answer {
	t.pauseIfAsked(ctx) // a list may have been refused before
	if why := cmp.Or(t.whyNoMore(), t.whyStopped(ctx)); why != "" {
		return fuzz.Answer{Class: fuzz.Unclear, Summary: why, IsLast: true}
	}
	t.takeViolations()
	var progressed atomic.Bool
	call := client.Call{
		Method: "tools/call", Params: Call{Name: tool, Args: args}.Params(), Schema: t.schemas[tool],
		Once: true, OneRound: true, Progress: true, Progressed: func() { progressed.Store(true) },
	}
	do := func(ctx context.Context) wire.Outcome { return t.cleanSession.Do(ctx, call) }
	a, hung := t.doPatiently(ctx, t.cleanSession, call.Method, do)
	if t.pauseIfAsked(ctx) {
		a, hung = t.doPatiently(ctx, t.cleanSession, call.Method, do)
	}
	answer := fuzz.Answer{Class: classOf(a), Text: errorText(a), Summary: a.String(), Result: a.Result, Evidence: a}
	for violation, spot := range t.takeViolations() {
		if !t.earlier[violation] && spot == a.spot { // it is about this answer
			answer.Violations = append(answer.Violations, violation)
		}
	}
	slices.Sort(answer.Violations)
	if answer.Class == fuzz.Silent && progressed.Load() {
		answer.Class = fuzz.Unclear
		answer.Summary = "it reported progress, and had not finished after " + a.Took.Round(time.Second).String()
	}
	if a.isBroken() || hung {
		answer.IsLast = !t.revive(ctx, "tools/call "+tool)
	}
	if a.Message != nil {
		t.noteAnswerTime(call.Method, a.Took)
		t.slowDown(ctx, a.Took)
	}
	if why := t.whyNoMore(); why != "" || ctx.Err() != nil {
		answer.IsLast = true
		if answer.Class != fuzz.Ended && answer.Class != fuzz.Silent || ctx.Err() != nil || t.pacer.whyStopped() != "" {
			answer.Class = fuzz.Unclear // the answer may be that of an overloaded server
		}
	}
	return answer
}

// longestPause is the longest pause of a fuzz test that an overloaded server can ask for.
const longestPause = time.Minute

// pauseIfAsked waits as long as the Retry-After of an overloaded server says, once in a test, and reports
// whether requests may be sent again. It does not wait past the end of ctx.
func (t *fuzzTest) pauseIfAsked(ctx context.Context) bool {
	why, pause := t.pacer.overload()
	if t.hasPaused || pause <= 0 || pause > longestPause {
		return false
	}
	if end, isLimited := ctx.Deadline(); isLimited && t.f.Now().Add(pause).After(end) {
		return false
	}
	t.hasPaused = true
	if !transport.Sleep(ctx, pause) {
		return false
	}
	t.fuzzNotes = append(t.fuzzNotes, "fuzz: paused, and went on: "+strings.TrimPrefix(why, "stopped: "))
	t.pacer.resume()
	return true
}

// slowDown waits if the server took much longer than usual for an answer.
func (t *fuzzTest) slowDown(ctx context.Context, took time.Duration) {
	const (
		factor   = 4
		shortest = 100 * time.Millisecond
		longest  = 2 * time.Second
	)
	if t.usual > 0 && took > factor*t.usual && took > shortest {
		transport.Sleep(ctx, min(took, longest))
	}
	t.usual = (7*t.usual + took) / 8
}

// classOf returns the class of an answer.
func classOf(a answer) fuzz.Class {
	switch a.Kind {
	case wire.OK:
		return fuzz.Success
	case wire.ToolError:
		return fuzz.ToolError
	case wire.Timeout:
		return fuzz.Silent
	case wire.BadResponse:
		return fuzz.Malformed
	case wire.RPCFailed, wire.Transport:
		isError := a.Message != nil && a.Message.Error != nil
		if a.code() == -32603 || !isError && a.status() >= 500 {
			return fuzz.Internal
		}
		if a.code() == -32602 {
			return fuzz.Rejected
		}
		if a.code() == -32021 { // the tool needs a capability of the client
			return fuzz.Unclear
		}
		if isError || a.status() != 0 {
			return fuzz.RPCError
		}
		return fuzz.Ended
	}
	return fuzz.Unclear
}

// errorText returns the text of an error for people: the message, or the texts of a failed tool.
func errorText(a answer) string {
	if a.Message != nil && a.Message.Error != nil {
		return strings.TrimSpace(a.Message.Error.Message + " " + string(a.Message.Error.Data))
	}
	if a.Kind != wire.ToolError {
		return ""
	}
	var texts []string
	content, _ := jsonraw.Array(jsonraw.First(a.Result, "content"))
	for _, block := range content {
		if text, ok := jsonraw.Text(jsonraw.First(block, "text")); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// misses returns the broken rules of a report, and records how each call is repeated.
func (t *fuzzTest) misses(report fuzz.Report) []miss {
	var misses []miss
	for _, f := range report.Failures {
		a, isAnswer := f.Answer.Evidence.(answer)
		if !isAnswer {
			continue
		}
		spot := a.spot
		t.mu.Lock()
		if f.Violation != "" { // the linter reports it, with its first evidence
			spot = t.violations[f.Violation]
		}
		t.probed[spot] = probedRequest{
			revision: t.cleanSession.Revision(), words: t.repeatWords(f, a), step: t.stepOf(f),
		}
		t.mu.Unlock()
		if f.Violation != "" {
			continue
		}
		m := newMiss(f.Rule, "tool "+f.Tool, a, f.Want)
		m.got = f.Answer.Summary
		m.skip = false
		if cause := strings.TrimSpace(f.Cause); cause != "" {
			m.subject += ", " + cause
		}
		if f.Rule == fuzz.RuleChannel && t.rev >= conv.Rev20260728 && a.code() == -32602 {
			m.severity = conv.Info
		}
		if f.IsUnstable {
			m.severity = conv.Warn
			m.got = "unstable, another answer to the same call afterwards: " + m.got
		}
		misses = append(misses, m)
	}
	return misses
}

// repeatWords returns the words of the mcpc command that repeats the call of a failure.
func (t *fuzzTest) repeatWords(f fuzz.Failure, a answer) string {
	if t.sequence != nil {
		return "" // no single command makes several calls
	}
	if f.Rule == fuzz.RuleRepeat || f.Rule == fuzz.RuleChanges { // only a comparison of calls shows it
		return t.checkWords(f)
	}
	words := []string{"call", shellwords.Quote(f.Tool), shellwords.Quote(string(f.Args))}
	words = append(words, "--protocol", t.cleanSession.Revision())
	if !f.IsValid {
		words = append(words, "--no-validate")
	}
	if !t.reads[f.Tool] {
		words = append(words, "--yes")
	}
	if a.Kind == wire.Timeout {
		words = append(words, "--timeout", max(a.Took.Round(time.Second), time.Second).String())
	}
	return strings.Join(words, " ")
}

// checkWords returns the words of the mcpc command that tests again what a failure is about.
func (t *fuzzTest) checkWords(f fuzz.Failure) string {
	tools := []string{f.Tool}
	if f.Rule == fuzz.RuleChanges { // the answers of the other tools show it
		tools = t.request.Send.Fuzz.Tools
	}
	words := slices.Concat([]string{"check", "--fuzz"}, sliceutil.Map(tools, shellwords.Quote),
		[]string{"--only", f.Rule, "--era", t.cleanSession.Revision()})
	return strings.Join(words, " ")
}

// stepOf returns the step of a *.mcpc.yaml that repeats the call of a failure, or a list of two
// steps. It expects the right kind of answer, so that it fails until the tool is corrected.
func (t *fuzzTest) stepOf(f fuzz.Failure) string {
	unchanged := func(hidden string) string { return hidden }
	step := saved.Step{
		Verb: saved.Call, Subject: saved.LiteralText(f.Tool, unchanged), Args: saved.Literal(f.Args, unchanged),
		Loose: !f.IsValid,
	}
	if !f.IsValid {
		step.Expect.Kind = wire.ToolError
		if t.rev < conv.Rev20251125 {
			step.Expect.Kind = wire.RPCFailed
		}
	}
	const maxText = 300
	text := f.Answer.Text
	isShort := len(text) < maxText && !strings.Contains(text, "$") // $ is a variable in jq
	if f.Rule == fuzz.RuleLeak && f.Answer.Class == fuzz.ToolError && isShort {
		step.Expect.Kind = wire.ToolError
		another := "[.content[].text] != [" + string(jsonraw.Quote(text)) + "]"
		step.Expect.Queries = []saved.Wanted{{Text: another}}
	}
	if t.sequence != nil {
		return t.sequence.steps(f.Tool, step)
	}
	if f.Rule == fuzz.RuleRepeat { // the second call shows it
		return string(jsonraw.List([]json.RawMessage{step.JSON(), step.JSON()}))
	}
	return string(step.JSON())
}
