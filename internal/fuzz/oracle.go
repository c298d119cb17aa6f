package fuzz

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/match"
)

// The answers that rules want.
const (
	wantAnswer   = "a result, with isError true if the tool failed"
	wantError    = "an error: the arguments violate the inputSchema"
	wantIsError  = "a result with isError true"
	wantSuccess  = "a success: the inputSchema allows these arguments"
	wantSame     = "the same answer to the same call of a tool that only reads"
	wantNoTrace  = "a text that says what is wrong, without the inside of the server"
	wantNoChange = "no change by a tool that is marked as read-only"
)

// judge judges one answer, and keeps it for judgeTogether.
func (t *toolTest) judge(ctx context.Context, c testCase, answer Answer) {
	t.judged = append(t.judged, judgedCase{c, answer})
	hasClass := func(class Class) attempt {
		return t.tryAgain(ctx, func(a Answer) bool { return a.Class == class })
	}
	for _, violation := range answer.Violations {
		f := Failure{Violation: violation, Answer: answer}
		t.reportFailure(ctx, f, c, t.tryAgain(ctx, func(a Answer) bool { return slices.Contains(a.Violations, violation) }))
	}
	switch answer.Class {
	case Silent, Ended, Malformed:
		if answer.Class != Malformed || len(answer.Violations) == 0 {
			f := Failure{Rule: RuleAnswers, Cause: string(answer.Class), Answer: answer, Want: wantAnswer}
			t.reportFailure(ctx, f, c, hasClass(answer.Class))
		}
	case Internal:
		f := Failure{Rule: RuleInternal, Cause: causeOf(answer.Text), Answer: answer, Want: wantAnswer}
		t.reportFailure(ctx, f, c, hasClass(Internal))
	case Rejected, RPCError:
		if t.WantsToolError && c.broken != nil {
			f := Failure{Rule: RuleChannel, Answer: answer, Want: wantIsError}
			t.reportFailure(ctx, f, c, hasClass(answer.Class))
		}
	case Success:
		if c.broken == nil {
			isDue := t.successes%repeatEvery == 0 || c.isEmpty()
			t.successes++
			if t.tool.Reads && isDue && !t.isStopped(ctx) {
				t.judgeRepeated(ctx, c, answer)
			}
		}
	}
	if what := leakIn(answer.Text, string(c.args)); what != "" && answer.Class != Success {
		f := Failure{Rule: RuleLeak, Cause: what, Answer: answer, Want: wantNoTrace}
		t.reportFailure(ctx, f, c, t.tryAgain(ctx, func(a Answer) bool {
			return a.Class != Success && leakIn(a.Text, string(c.args)) == what
		}))
	}
}

// judgeRepeated makes a call again and compares the answers.
func (t *toolTest) judgeRepeated(ctx context.Context, c testCase, answer Answer) {
	if t.known[[3]string{RuleRepeat, t.tool.Name, ""}] {
		return
	}
	again := t.call(ctx, t.tool.Name, c.args)
	if again.Class == Unclear || areEquivalent(answer, again) {
		return
	}
	f := Failure{Rule: RuleRepeat, Answer: again, Want: wantSame}
	f.Answer.Summary = describeDifference(answer, again)
	t.reportFailure(ctx, f, c, func(args json.RawMessage) (Answer, bool) {
		first := t.call(ctx, t.tool.Name, args)
		second := t.call(ctx, t.tool.Name, args)
		second.Summary = describeDifference(first, second)
		return second, first.Class == Success && second.Class != Unclear && !areEquivalent(first, second)
	})
}

// describeDifference returns the parts of two answers to the same call that differ first.
func describeDifference(a, b Answer) string {
	if a.Class != b.Class || a.Result == nil || b.Result == nil {
		return "first " + a.Summary + ", then " + b.Summary
	}
	same := 0
	for same < len(a.Result) && same < len(b.Result) && a.Result[same] == b.Result[same] {
		same++
	}
	const before, after = 30, 40
	part := func(raw []byte) string {
		return "…" + strings.ToValidUTF8(string(raw[max(0, same-before):min(len(raw), same+after)]), "") + "…"
	}
	return "first " + part(a.Result) + ", then " + part(b.Result)
}

// judgeTogether judges the valid arguments that were refused, and the invalid ones that were not.
func (t *toolTest) judgeTogether(ctx context.Context) {
	var lenient, strict []judgedCase
	accepted := map[string]int{} // valid arguments, by their place
	refused := map[string]int{}
	for _, j := range t.judged {
		isRefused := j.answer.Class == ToolError || j.answer.Class == Rejected || j.answer.Class == RPCError
		isAccepted := j.answer.Class == Success
		switch {
		case j.broken != nil && isAccepted:
			lenient = append(lenient, j)
		case j.broken != nil && isRefused:
			strict = append(strict, j)
		case isAccepted:
			accepted[j.place]++
		case isRefused && !j.extreme && !j.declared:
			refused[j.place]++
		}
	}
	validatesNothing := len(strict) == 0 && len(lenient) > 2
	for _, j := range shortestFirst(lenient) {
		f := Failure{Rule: RuleLenient, Cause: j.broken.Rule, Answer: j.answer, Want: wantError}
		if j.broken.Rule != "type" && j.broken.Rule != "additionalProperties" { // these are one way to read all members
			f.Cause += " " + j.broken.Pointer
		}
		if validatesNothing {
			f.Cause = "anything"
		}
		t.reportFailure(ctx, f, j.testCase, t.tryAgain(ctx, func(a Answer) bool { return a.Class == Success }))
	}
	t.judgeExceptions(ctx, t.judgeRefusals(ctx, accepted, refused))
}

// judgeRefusals judges the valid arguments that were refused, and returns the causes that it
// reported. accepted and refused count the valid arguments by their place.
func (t *toolTest) judgeRefusals(ctx context.Context, accepted, refused map[string]int) map[string]bool {
	reported := map[string]bool{}
	if len(t.judged) == 0 || t.judged[0].answer.Class != Success {
		return reported // nothing shows that the tool works at all
	}
	var single, several []judgedCase // with one varied value, with several
	for _, j := range shortestFirst(t.judged) {
		if j.place == "" {
			several = append(several, j)
		} else {
			single = append(single, j)
		}
	}
	for _, j := range append(single, several...) {
		class := j.answer.Class
		isRefused := class == ToolError || class == Rejected || class == RPCError
		isReported := leakIn(j.answer.Text, string(j.args)) != ""
		isExcused := j.broken != nil || j.extreme || isReported || isAboutData(j.answer.Text)
		isOutlier := accepted[j.place] > 0 && accepted[j.place] >= refused[j.place]
		if !isRefused || isExcused || !j.declared && !isOutlier {
			continue
		}
		cause := causeOf(j.answer.Text)
		if reported[cause] && j.place == "" { // a combination with a value that is refused by itself
			continue
		}
		reported[cause] = true
		f := Failure{Rule: RuleValid, Cause: j.place + " " + cause, Answer: j.answer, Want: wantSuccess}
		t.reportFailure(ctx, f, j.testCase, t.tryAgain(ctx, func(a Answer) bool {
			return a.Class == class && causeOf(a.Text) == cause
		}))
	}
	return reported
}

// judgeExceptions judges the texts of errors after valid arguments that are those of an exception.
// reported are the causes that have a finding.
func (t *toolTest) judgeExceptions(ctx context.Context, reported map[string]bool) {
	isException := func(a Answer) bool { return a.Class == ToolError && exception().MatchString(a.Text) }
	for _, j := range shortestFirst(t.judged) {
		if j.broken != nil || j.extreme || !isException(j.answer) || reported[causeOf(j.answer.Text)] {
			continue
		}
		f := Failure{Rule: RuleLeak, Cause: "exception", Answer: j.answer, Want: wantNoTrace}
		t.reportFailure(ctx, f, j.testCase, t.tryAgain(ctx, isException))
		return
	}
}

// shortestFirst returns the cases ordered by the size of their arguments.
func shortestFirst(cases []judgedCase) []judgedCase {
	cases = slices.Clone(cases)
	slices.SortStableFunc(cases, func(a, b judgedCase) int { return compareSize(a.args, b.args) })
	return cases
}

// aboutData matches errors that are about the server's data, not about the arguments.
var aboutData = pattern(`(?i)not found|no such|n.t exist|not exist|unknown|ENOENT|cannot find|` +
	`could not find|no \w+ (found|match)|denied|forbidden|permission|not allowed|unauthor|outside`)

// pattern returns a function that compiles a regular expression at its first call.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// isAboutData reports whether the text of an error is about the server's data: a schema cannot say
// which names exist.
func isAboutData(text string) bool { return aboutData().MatchString(text) }

// variable matches the parts of an error's text that differ from call to call.
var variable = pattern(`"[^"]*"|'[^']*'|` + "`[^`]*`" + `|[-+]?\d[\d.eE+]*`)

// The signs of a stack trace, and of a path of the server's source or of a home directory.
var (
	trace = pattern(`Traceback \(most recent|\n\s+at .+:\d+|\bat \S+ \(\S+:\d+:\d+\)|goroutine \d+ \[|` +
		`File "[^"]+", line \d+|\n\s+at \w[\w.$]+\(|^panic: |stack backtrace:`)
	sourcePath = pattern(`(?:file://)?(?:[A-Za-z]:\\|/)[^\s"'<>|:]*` +
		`(?:\.(?:go|js|mjs|cjs|ts|py|rb|java|cs|rs|php)\b|node_modules|site-packages|dist-packages)`)
	// The path in an error of the operating system that the tool passed on.
	systemPath = pattern(`(?:\bE[A-Z]{3,}: [^'"\n]*|\[Errno \d+\] [^'"\n]*)['"]((?:/|[A-Za-z]:\\)[^'"\n]*)`)
	homePath   = pattern(`/(?:home|Users)/[^/\s"']+/|[A-Za-z]:\\Users\\[^\\\s"']+\\|/root/`)
)

// leakIn returns what an error's text shows of the inside of the server: "stack trace", "path", or
// "". A path that is in the arguments is no leak.
func leakIn(text, args string) string {
	if trace().MatchString(text) {
		return "stack trace"
	}
	for _, leak := range []*regexp.Regexp{sourcePath(), homePath(), systemPath()} {
		match := leak.FindStringSubmatch(text)
		if match != nil && !strings.Contains(args, match[len(match)-1]) {
			return "path"
		}
	}
	return ""
}

// exception matches the texts of exceptions that runtimes make: the tool did not foresee the case.
var exception = pattern(`Cannot read propert(?:y|ies) of (?:undefined|null)|\b(?:undefined|null) is not an object|` +
	`Reduce of empty array|'NoneType' object|object is not subscriptable|(?:list|string|tuple) index out of range|` +
	`\b(?:Type|Key|Index|Attribute|Reference|ZeroDivision)Error\b|Null(?:Pointer|Reference)Exception|` +
	`nil pointer dereference|index out of range \[|undefined method .+ for nil`)

// passing matches the parts of a text that may differ between two equal calls: times, durations,
// UUIDs, and long hexadecimal or decimal numbers.
var passing = pattern(`\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[-+]\d\d:?\d\d)?)?|` +
	`\d\d:\d\d:\d\d(?:\.\d+)?|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|` +
	`\b[0-9a-f]{12,}\b|\b\d{10,}\b|\b\d+(?:\.\d+)?\s?(?:ns|µs|ms|s)\b`)

// areEquivalent reports whether two answers to the same call are the same apart from times and ids.
func areEquivalent(a, b Answer) bool {
	if a.Class != b.Class {
		return false
	}
	first := json.RawMessage(passing().ReplaceAll(a.Result, []byte("0")))
	second := json.RawMessage(passing().ReplaceAll(b.Result, []byte("0")))
	c := match.Comparison{Part: match.Result, Method: "tools/call"}
	if match.Compare(first, second, c).Same() {
		return true
	}
	rules, err := match.Propose([]json.RawMessage{a.Result, b.Result}, c)
	isOther := func(rule match.Rule) bool { return rule.Matcher.Kind != match.Time && rule.Matcher.Kind != match.UUID }
	return err == nil && !slices.ContainsFunc(rules, isOther)
}
