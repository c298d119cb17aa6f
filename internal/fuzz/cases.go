package fuzz

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// A testCase is a set of arguments for a tool.
type testCase struct {
	args json.RawMessage
	value
	// broken is the one constraint that the arguments violate; nil if they are valid.
	broken *wire.Finding
}

// isEmpty reports whether the varied part is empty.
func (c testCase) isEmpty() bool { return strings.HasPrefix(c.label, "empty") }

// combined is the priority of random combinations, and maxCombined their number for one tool.
const (
	combined    = varied + 1
	maxCombined = 60
)

// cases generates the arguments for a tool: first the simplest valid ones, then the others in the
// order in which they are sent. It returns none, with the reason in the summary, if it cannot
// generate valid arguments.
func (r *run) cases(tool Tool) ([]testCase, Summary) {
	check, isPartial, err := r.Compile(tool.InputSchema)
	if err != nil {
		return nil, Summary{Why: "arguments cannot be generated from its inputSchema: " + err.Error()}
	}
	base, ok := validBase(tool, check)
	if !ok {
		return nil, Summary{Why: "no valid arguments could be generated from its inputSchema"}
	}
	random := r.random(tool.Name)
	g := &generator{valuesLeft: maxValues, bytesLeft: maxValueBytes}
	values := g.values(schema.New(tool.InputSchema).Schema(), base, "", "", 0)
	seen := map[string]bool{string(base): true}
	var cases, valid []testCase
	for _, v := range values {
		_, err := jsonraw.Object(v.raw)
		if err != nil || seen[string(v.raw)] { // arguments that are no object break the protocol
			continue
		}
		seen[string(v.raw)] = true
		violations, checkErr := check(v.raw)
		if checkErr != nil || len(violations) > 1 {
			continue
		}
		c := testCase{args: v.raw, value: v}
		if len(violations) == 1 {
			c.broken = &violations[0]
			c.priority += invalidPriority(c)
		} else {
			c.extreme = c.extreme || isPartial
			valid = append(valid, c)
		}
		if !isPartial || c.broken == nil {
			cases = append(cases, c)
		}
	}
	cases = keepFew(cases)
	sortCases(cases, random)
	cases = append(cases, combine(base, valid, seen, check, random)...)
	s := Summary{Valid: 1}
	for _, c := range cases {
		if c.broken == nil {
			s.Valid++
		} else {
			s.Invalid++
		}
	}
	return append([]testCase{{args: base, value: value{label: "simplest"}}}, cases...), s
}

// invalidPriority returns the number to add to the priority of an invalid case.
func invalidPriority(c testCase) int {
	if c.extreme {
		return varied
	}
	return 0
}

// maxAlike is the number of cases of one priority that violate the same constraint at one place.
const maxAlike = 12

// keepFew moves cases that violate the same constraint at the same place as many others to the
// lowest priority.
func keepFew(cases []testCase) []testCase {
	count := map[string]int{}
	for i := range cases {
		c := &cases[i]
		if c.broken == nil {
			continue
		}
		key := c.broken.Rule + " " + c.broken.Pointer
		count[key]++
		if count[key] > maxAlike {
			c.priority = varied
		}
	}
	return cases
}

// validBase returns the simplest valid arguments for a tool that can be found.
func validBase(tool Tool, check Check) (json.RawMessage, bool) {
	s := schema.New(tool.InputSchema).Schema()
	example := s.Example("")
	whole := example
	for _, p := range s.Properties() {
		if jsonraw.First(whole, p.Name) == nil && !p.Schema.IsCircular() {
			whole = jsonraw.With(whole, p.Name, p.Schema.Example(p.Name))
		}
	}
	candidates := []json.RawMessage{tool.Base, example, whole, json.RawMessage("{}")}
	for _, alternative := range s.Alternatives() {
		candidates = append(candidates, mergedInto(example, alternative.Example("")))
	}
	for _, args := range candidates {
		if isValidObject(args, check) {
			return args, true
		}
	}
	g := &generator{valuesLeft: maxValues, bytesLeft: maxValueBytes}
	for _, v := range g.values(s, example, "", "", 0) {
		if isValidObject(v.raw, check) {
			return v.raw, true
		}
	}
	return nil, false
}

// isValidObject reports whether args are an object that the schema allows.
func isValidObject(args json.RawMessage, check Check) bool {
	if _, err := jsonraw.Object(args); err != nil || len(args) == 0 {
		return false
	}
	violations, err := check(args)
	return err == nil && len(violations) == 0
}

// combine returns random combinations of the members of valid arguments.
func combine(
	base json.RawMessage, valid []testCase, seen map[string]bool, check Check, random *rand.Rand,
) []testCase {
	byMember := map[string][]json.RawMessage{}
	var names []string
	for _, c := range valid {
		name, _, _ := strings.Cut(strings.TrimPrefix(c.place, "/"), "/")
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		member := jsonraw.First(c.args, name)
		if c.extreme || member == nil {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		byMember[name] = append(byMember[name], member)
	}
	if len(names) < 2 {
		return nil
	}
	var cases []testCase
	for range maxCombined {
		args := base
		for _, name := range names {
			if random.IntN(3) > 0 {
				args = jsonraw.With(args, name, byMember[name][random.IntN(len(byMember[name]))])
			}
		}
		if seen[string(args)] || !isValidObject(args, check) {
			continue
		}
		seen[string(args)] = true
		cases = append(cases, testCase{args: args, value: value{label: "combination", priority: combined}})
	}
	return cases
}
