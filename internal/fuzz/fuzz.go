// Package fuzz tests tools with generated arguments. It generates arguments from an inputSchema,
// valid ones and ones that violate exactly one constraint, judges each answer, and reduces a call
// that failed to the smallest one that fails in the same way. The same seed gives the same calls.
//
// The package sends nothing and validates nothing itself: Options has the functions for that. Its
// input is untrusted; the number of calls and the size of the arguments are bounded.
package fuzz

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"mcpc/internal/wire"
)

// A Tool is a tool to test.
type Tool struct {
	Name        string
	InputSchema json.RawMessage
	// Reads is set if the tool only reads. Its answers to equal calls must then be equal, and it must
	// not change the answers of other tools.
	Reads bool
	// Base are valid arguments to vary; nil lets the package generate them.
	Base json.RawMessage
}

// A Class is the kind of an answer.
type Class string

// The classes. Rejected is the JSON-RPC error -32602, RPCError any other one except Internal:
// -32603, or HTTP 500 and above. Silent means no answer in time, Ended that the server's process
// exited or its connection broke. Unclear says nothing about the tool: the call was not sent, or the
// server asked for something.
const (
	Success   Class = "success"
	ToolError Class = "tool error"
	Rejected  Class = "error -32602"
	RPCError  Class = "error"
	Internal  Class = "internal error"
	Malformed Class = "malformed answer"
	Silent    Class = "no answer"
	Ended     Class = "end of the server"
	Unclear   Class = "unclear"
)

// An Answer is the answer to a call.
type Answer struct {
	Class Class
	// Text is the text of an error for people; Summary describes the whole answer.
	Text, Summary string
	// Result is the result, nil without one.
	Result json.RawMessage
	// Violations are the violations that other rules found in the answer, by their fingerprints.
	Violations []string
	// Evidence identifies the answer for the caller.
	Evidence any
	// IsLast is set if no more calls can be made.
	IsLast bool
}

// The rules that a Failure breaks, by their ids in package lint.
const (
	RuleAnswers  = "tool-answers"
	RuleInternal = "fuzz-internal"
	RuleLeak     = "fuzz-leak"
	RuleValid    = "fuzz-valid"
	RuleRepeat   = "fuzz-repeat"
	RuleChanges  = "fuzz-changes"
	RuleChannel  = "L124"
	RuleLenient  = "L126"
)

// Rules are the rules that a run judges.
var Rules = []string{
	RuleAnswers, RuleInternal, RuleLeak, RuleValid, RuleRepeat, RuleChanges, RuleChannel, RuleLenient,
}

// A Failure is a way in which a tool fails.
type Failure struct {
	// Rule is the id of the rule; "" if it is the one of Violation.
	Rule string
	Tool string
	// Cause identifies the way among the failures of the same rule and tool.
	Cause string
	// Violation is the fingerprint of a violation that another rule found.
	Violation string
	// Args are the smallest arguments that were found, and Answer the answer to them.
	Args   json.RawMessage
	Answer Answer
	// IsValid is set if the arguments are valid.
	IsValid bool
	// Want describes the expected answer.
	Want string
	// IsUnstable is set if the same call did not fail again.
	IsUnstable bool
}

// A Summary says what was done with one tool.
type Summary struct {
	Tool string
	// Calls is the number of calls, Valid and Invalid the numbers of generated arguments. Unsent is the
	// number of those that the budget left out.
	Calls, Valid, Invalid, Unsent int
	// FirstFailed is set if the simplest call failed: then refusals of valid arguments do not count.
	FirstFailed bool
	// Why says why the tool was not tested, or why its test ended early; "" if only the budget limited it.
	Why string
}

// A Report is the result of a run.
type Report struct {
	Failures  []Failure
	Summaries []Summary
	Calls     int
}

// A Check returns the violations of arguments, nil if they are valid.
type Check func(args []byte) ([]wire.Finding, error)

// Options configure a run.
type Options struct {
	Seed int64
	// Budget is the largest number of calls.
	Budget int
	// Call calls a tool.
	Call func(ctx context.Context, tool string, args json.RawMessage) Answer
	// Compile returns the check of an inputSchema. isPartial is set if a part of the schema is not
	// checked.
	Compile func(schema []byte) (check Check, isPartial bool, err error)
	// Lists returns the lists of the server, to see whether a tool changes them. It may be nil.
	Lists func(ctx context.Context) []json.RawMessage
	// WantsToolError is set if the revision wants invalid arguments answered with isError.
	WantsToolError bool
}

// A run is the state of Run.
type run struct {
	Options
	report Report
	// known are the failures that were reported, by rule, tool and cause.
	known map[[3]string]bool
	// isOver is set after an answer that ends the run.
	isOver bool
	// excluded says why a tool is not tested, by its name.
	excluded map[string]string
	// limit is the number of calls after which the present tool is finished.
	limit int
}

// Run tests the tools one after the other. Each gets an equal share of the budget.
func Run(ctx context.Context, tools []Tool, o Options) Report {
	r := &run{Options: o, known: map[[3]string]bool{}, excluded: map[string]string{}}
	r.findChanging(ctx, tools)
	remaining := len(tools) - len(r.excluded)
	for _, tool := range r.smallestFirst(tools) { // what one tool does not use is for the ones after it
		before := r.report.Calls
		s := Summary{Why: r.excluded[tool.Name]}
		if s.Why == "" {
			r.limit = before + (o.Budget-before)/remaining
			remaining--
			s = r.testTool(ctx, tool)
		}
		s.Tool = tool.Name
		s.Calls = r.report.Calls - before
		r.report.Summaries = append(r.report.Summaries, s)
	}
	return r.report
}

// smallestFirst returns the tools ordered by the number of their arguments.
func (r *run) smallestFirst(tools []Tool) []Tool {
	count := map[string]int{}
	for _, tool := range tools {
		cases, _ := r.cases(tool)
		count[tool.Name] = len(cases)
	}
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b Tool) int { return count[a.Name] - count[b.Name] })
	return tools
}

// isStopped reports whether no more calls can be made for the present tool.
func (r *run) isStopped(ctx context.Context) bool {
	return r.isOver || ctx.Err() != nil || r.report.Calls >= r.limit
}

// call makes one call and counts it.
func (r *run) call(ctx context.Context, tool string, args json.RawMessage) Answer {
	r.report.Calls++
	answer := r.Call(ctx, tool, args)
	r.isOver = r.isOver || answer.IsLast
	return answer
}

// random returns the source of random numbers for a tool. It does not depend on the other tools.
func (r *run) random(tool string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(tool))
	return rand.New(rand.NewPCG(uint64(r.Seed), hash.Sum64()))
}

// testTool tests one tool.
func (r *run) testTool(ctx context.Context, tool Tool) Summary {
	cases, s := r.cases(tool)
	if len(cases) == 0 {
		return s
	}
	t := &toolTest{run: r, tool: tool}
	t.check, _, _ = r.Compile(tool.InputSchema)
	share := r.limit
	r.limit -= min((share-r.report.Calls)/reservedShare, maxReserved) // judgeTogether needs calls, too
	silent := 0
	for i, c := range cases {
		if r.isOver || ctx.Err() != nil {
			s.Why = fmt.Sprintf("the test ended after %d of %d arguments", i, len(cases))
			break
		}
		if r.isStopped(ctx) {
			s.Unsent = len(cases) - i
			break
		}
		if silent == maxSilent {
			s.Why = fmt.Sprintf("the test ended after %d arguments without an answer", silent)
			break
		}
		answer := r.call(ctx, tool.Name, c.args)
		if answer.Class == Silent {
			silent++
		}
		if i == 0 && answer.Class == Unclear {
			s.Why = "the first call has no clear answer: " + answer.Summary
			return s
		}
		t.judge(ctx, c, answer)
	}
	r.limit = share
	s.FirstFailed = len(t.judged) > 0 && t.judged[0].answer.Class != Success
	t.judgeTogether(ctx)
	return s
}

const (
	// repeatEvery is how many successful calls are made for each one that is repeated.
	repeatEvery = 5
	// maxSilent is the number of arguments without an answer after which the test of a tool ends.
	maxSilent = 3
	// reservedShare is the share of a tool's calls for judgeTogether: one in so many, at most maxReserved.
	reservedShare = 4
	maxReserved   = 60
)

// A toolTest is the test of one tool.
type toolTest struct {
	*run
	tool  Tool
	check Check
	// judged are the arguments so far with their answers; the first are the simplest.
	judged []judgedCase
	// successes counts the valid arguments that were answered with a success.
	successes int
}

// A judgedCase is a testCase with its answer.
type judgedCase struct {
	testCase
	answer Answer
}

// An attempt calls the tool with arguments, and reports whether it fails as before.
type attempt func(args json.RawMessage) (Answer, bool)

// tryAgain returns an attempt of one call, which fails if fails reports so for its answer.
func (t *toolTest) tryAgain(ctx context.Context, fails func(Answer) bool) attempt {
	return func(args json.RawMessage) (Answer, bool) {
		answer := t.call(ctx, t.tool.Name, args)
		return answer, fails(answer)
	}
}

// reportFailure reports a failure once: it repeats the call and reduces its arguments.
func (t *toolTest) reportFailure(ctx context.Context, f Failure, c testCase, try attempt) {
	key := [3]string{f.Rule + f.Violation, t.tool.Name, f.Cause}
	if t.known[key] {
		return
	}
	t.known[key] = true
	f.Tool = t.tool.Name
	f.Args = c.args
	f.IsValid = c.broken == nil
	isCostly := f.Answer.Class == Silent || f.Answer.Class == Ended // it takes its time, or a new process
	isConfirmed := false
	if !t.isOver && ctx.Err() == nil {
		var again Answer
		again, isConfirmed = try(c.args)
		f.IsUnstable = !isConfirmed && again.Class != Unclear
		if isConfirmed {
			f.Answer = again
		}
	}
	if isConfirmed {
		attempts := maxAttempts
		if isCostly {
			attempts = maxCostlyAttempts
		}
		f.Args = t.shrink(ctx, c, attempts, func(args json.RawMessage) bool {
			answer, fails := try(args)
			if fails {
				f.Answer = answer
			}
			return fails
		})
	}
	t.run.report.Failures = append(t.run.report.Failures, f)
}

// causeOf returns a text for people without what differs from call to call: numbers and quoted
// words.
func causeOf(text string) string {
	text = variable().ReplaceAllString(text, "…")
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(text)
	return string(runes[:min(len(runes), 60)])
}

// sortCases orders cases by priority, and randomly within a priority.
func sortCases(cases []testCase, random *rand.Rand) {
	random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	slices.SortStableFunc(cases, func(a, b testCase) int { return a.priority - b.priority })
}
