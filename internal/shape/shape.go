// Package shape knows the schema of the results, notifications and requests of a server in each
// revision of the protocol, and returns where a message differs. The schemas are in shapes.txt,
// which contains no more than the schemas of the revisions.
//
// The package does not know the meaning of a value, whether the server may send the message at this
// time, or what should happen if it differs.
package shape

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Rule is the rule of all findings of this package.
const Rule = "shape"

// maxFindings limits the findings for one message. Findings that differ only in an index count as
// one.
const maxFindings = 10

// Check returns where a result, or the params of a notification or a request, differs from the
// revision. method is the method of m, or of the request that m responds to. The level of a finding
// is [wire.Error], or [wire.Info] for a missing member that servers often omit and clients do not
// need. Check returns nil if shapes.txt does not describe the revision or the method.
func Check(revision, method string, m *wire.Message) []wire.Finding {
	return CheckBut(nil, revision, method, m)
}

// CheckBut does what Check does, but reports nothing on entries of a result's list that skip
// accepts: the caller reports those entries itself.
func CheckBut(skip func(entry []byte) bool, revision, method string, m *wire.Message) []wire.Finding {
	t := table()
	number := slices.Index(t.revisions, revision) + 1
	if number == 0 { // not in shapes.txt
		return nil
	}
	c := &checker{revision: number, path: make([]step, 0, 8), skip: skip}
	switch m.Kind {
	case wire.Response:
		c.response = m
		c.checkWhole(t.resultShape(method, number, m), m.Result, m.ResultMembers)
	case wire.Notification:
		c.checkWhole(t.shapeOf("notification", method, number), m.Params, m.ParamMembers)
	case wire.Request:
		c.checkWhole(t.shapeOf("request", method, number), m.Params, m.ParamMembers)
	}
	return c.findings()
}

// checkWhole checks a result or params. known returns their members if the message has parsed them.
func (c *checker) checkWhole(k *kind, raw []byte, known func() (jsonraw.Members, *jsonraw.SyntaxError)) {
	if k != nil && k.members != nil && raw != nil {
		if members, err := known(); err == nil {
			c.checkMembers(k, members)
			return
		}
	}
	c.check(k, raw)
}

// revisionOfTasks is the number in shapes.txt of the only revision where a result has its task as a
// member.
const revisionOfTasks = 4

// resultShape returns the shape of a result, which depends on its content for some methods. revision is the
// number of the revision in shapes.txt, from 1.
func (t *shapes) resultShape(method string, revision int, m *wire.Message) *kind {
	members, _ := m.ResultMembers()
	if m.RequiresInput() {
		return t.kinds["InputRequiredResult"]
	}
	if members.Text("resultType") == "task" {
		return t.kinds["TaskResult"]
	}
	_, hasTask := members.Get("task")
	if hasTask && method == "tools/call" && revision == revisionOfTasks {
		return t.kinds["CreateTaskResult"]
	}
	return t.shapeOf("result", method, revision)
}

// A checker collects the problems of one message.
type checker struct {
	revision int
	path     []step
	problems []problem
	// skip is the argument of CheckBut; nil skips nothing.
	skip func(entry []byte) bool
	// response is the message with the result, which has parsed the lists in it; nil if params are
	// checked.
	response *wire.Message
}

// A step is a member name or, if that is "", a list index on the path into the message.
type step struct {
	name  string
	index int // if name is ""
}

// A problem is a difference at a path. similarCount counts further problems that differ from it only in
// an index.
type problem struct {
	// where is the JSON pointer. pattern is the same for similar problems: the pointer without indexes,
	// and the text without the received value.
	where, pattern, text string
	// want is the type or the values that the place must have, "" if they are not known.
	want         string
	similarCount int
	isMild       bool
}

// report adds a problem at the current path. got is appended to the text, and does not count for
// the comparison with other problems.
func (c *checker) report(text, want, got string) {
	var where, pattern strings.Builder
	for _, s := range c.path {
		step := jsonraw.Pointer("", s.name)
		pattern.WriteString(step)
		if s.name == "" {
			step += strconv.Itoa(s.index)
		}
		where.WriteString(step)
	}
	p := problem{where: where.String(), pattern: pattern.String() + " " + text, text: text + got, want: want}
	if i := slices.IndexFunc(c.problems, func(q problem) bool { return q.pattern == p.pattern }); i >= 0 {
		c.problems[i].similarCount++
		return
	}
	c.problems = append(c.problems, p)
}

// reportType reports a value of the wrong type.
func (c *checker) reportType(want string, raw []byte) {
	c.report("must be "+want, want, ", got "+jsonraw.Excerpt(raw, 40))
}

// findings returns the problems as findings. Their Pointer is a JSON pointer into the result or the
// params.
func (c *checker) findings() []wire.Finding {
	var findings []wire.Finding
	for i, p := range c.problems {
		if i == maxFindings {
			omitted := strconv.Itoa(len(c.problems) - i)
			return append(findings, wire.Finding{
				Rule: wire.RuleMore, Severity: wire.Error, Text: omitted + " more places are not shown", Got: omitted,
			})
		}
		text := p.text
		if p.similarCount > 0 {
			text += fmt.Sprintf(", and %d more like it", p.similarCount)
		}
		level := wire.Error
		if p.isMild {
			level = wire.Info
		}
		findings = append(findings, wire.Finding{Rule: Rule, Severity: level, Pointer: p.where, Text: text, Want: p.want})
	}
	return findings
}

// check checks a value against k; a nil k accepts any value. raw is nil if the value is missing.
func (c *checker) check(k *kind, raw []byte) {
	if k == nil {
		return
	}
	if raw == nil {
		c.checkMissing(k)
		return
	}
	if k.plain == "any" {
		return
	}
	switch {
	case k.alternatives != nil:
		c.checkAlternatives(k, raw)
	case k.items != nil:
		c.checkList(k, raw)
	case k.values != nil:
		var room [8]jsonraw.Member
		if members, ok := c.parseObject(room[:0], raw); ok {
			for _, m := range members {
				c.checkBelow(step{name: m.Name}, k.values, m.Value)
			}
		}
	case k.members != nil:
		var room [8]jsonraw.Member
		if members, ok := c.parseObject(room[:0], raw); ok {
			c.checkMembers(k, members)
		}
	case !k.matches(raw):
		c.reportType(k.describe(), raw)
	}
}

// parseObject returns the members of an object, in room as far as it suffices. It reports a value that
// is not an object.
func (c *checker) parseObject(room jsonraw.Members, raw []byte) (jsonraw.Members, bool) {
	members, err := jsonraw.AppendMembers(room, raw)
	if err != nil {
		c.reportType("an object", raw)
	}
	return members, err == nil
}

// checkMissing reports a missing value, unless k allows that.
func (c *checker) checkMissing(k *kind) {
	if k.isOptional() {
		return
	}
	if len(c.path) == 0 { // the params or the result as a whole
		c.report("there are none", "", "")
		return
	}
	c.report("is missing", k.wantedType(), "")
}

// checkList checks a list and its items. It does not report on entries that c.skip excludes; it asks skip
// only about entries with a problem.
func (c *checker) checkList(k *kind, raw []byte) {
	var items []json.RawMessage
	var err *jsonraw.SyntaxError
	if c.response != nil && len(c.path) == 1 {
		items, err = c.response.ResultItems(c.path[0].name)
	} else {
		items, err = jsonraw.Array(raw)
	}
	if err != nil {
		c.reportType("an array", raw)
	} else if k.maxItems > 0 && len(items) > k.maxItems {
		want := fmt.Sprintf("at most %d items", k.maxItems)
		c.report("must have "+want, want, fmt.Sprintf(", got %d", len(items)))
	}
	trial := &checker{revision: c.revision, path: c.path}
	for i, item := range items {
		if c.skip != nil && len(c.path) == 1 {
			trial.problems = nil
			trial.check(k.items, item)
			if len(trial.problems) == 0 || c.skip(item) {
				continue
			}
		}
		c.checkBelow(step{index: i}, k.items, item)
	}
}

// checkMembers checks the members of an object.
func (c *checker) checkMembers(k *kind, members jsonraw.Members) {
	for _, m := range k.members {
		if !m.contains(c.revision) {
			continue
		}
		raw, isPresent := members.Get(m.name)
		if !isPresent && m.isOptional {
			continue
		}
		if isPresent && m.kind.matchesPlainly(raw, c.revision) { // the common case, without a path
			continue
		}
		before := len(c.problems)
		c.checkBelow(step{name: m.name}, m.kind, raw)
		if !isPresent && len(c.problems) > before {
			c.problems[before].isMild = m.isMild
		}
	}
}

// checkBelow checks a value one step below the current path.
func (c *checker) checkBelow(s step, k *kind, raw []byte) {
	c.path = append(c.path, s)
	c.check(k, raw)
	c.path = c.path[:len(c.path)-1]
}

// checkAlternatives checks a value against the alternatives of k. For an object whose members name its
// kind it reports the problems of that alternative, otherwise the problems of the alternative with
// the fewest.
func (c *checker) checkAlternatives(k *kind, raw []byte) {
	if k.matchesPlainly(raw, c.revision) {
		return
	}
	candidates := k.alternativesIn(c.revision)
	if words := candidates.descriptions(); words != nil {
		c.reportType(joinWithOr(words), raw)
		return
	}
	var room [8]jsonraw.Member
	members, err := jsonraw.AppendMembers(room[:0], raw)
	if name := candidates.discriminator(c.revision); err == nil && name != "" {
		value, _ := members.Get(name)
		isOtherKind := func(k *kind) bool { return !k.matchesDiscriminator(name, value, c.revision) }
		candidates = slices.DeleteFunc(candidates, isOtherKind)
		if len(candidates) == 0 {
			known := k.alternativesIn(c.revision).discriminatorKind(name, c.revision)
			c.checkBelow(step{name: name}, known, value)
			return
		}
	}
	isList := raw[0] == '['
	canMatch := func(k *kind) bool { return (k.items != nil) == isList }
	if slices.ContainsFunc(candidates, canMatch) {
		candidates = slices.DeleteFunc(candidates, func(k *kind) bool { return !canMatch(k) })
	}
	var nearest []problem
	for i, candidate := range candidates {
		trial := &checker{revision: c.revision, path: c.path}
		trial.check(candidate, raw)
		if len(trial.problems) == 0 {
			return
		}
		if i == 0 || len(trial.problems) < len(nearest) {
			nearest = trial.problems
		}
	}
	c.problems = append(c.problems, nearest...)
}

// Has reports whether the revision has requests of a method whose results shapes.txt describes.
func Has(revision, method string) bool {
	t := table()
	return t.shapeOf("result", method, slices.Index(t.revisions, revision)+1) != nil
}
