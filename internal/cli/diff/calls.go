package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/diff"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// parts are the parts of a side, with the value of --only that selects them.
var parts = []struct {
	section, name string
	isKnown       func(s *side) bool
	// count counts the entries of a list; nil for other parts.
	count func(s *side) int
}{
	{
		"tools", "tools", func(s *side) bool { return s.Tools != nil },
		func(s *side) int { return len(s.Tools) },
	},
	{
		"prompts", "prompts", func(s *side) bool { return s.Prompts != nil },
		func(s *side) int { return len(s.Prompts) },
	},
	{
		"resources", "resources", func(s *side) bool { return s.Resources != nil },
		func(s *side) int { return len(s.Resources) },
	},
	{
		"resources", "resource templates", func(s *side) bool { return s.Templates != nil },
		func(s *side) int { return len(s.Templates) },
	},
	{"caps", "capabilities", func(s *side) bool { return s.Capabilities != nil }, nil},
	{"caps", "server info", func(s *side) bool { return s.Implementation != nil }, nil},
	{"instructions", "instructions", func(s *side) bool { return s.Instructions != nil }, nil},
	{"calls", "calls", func(s *side) bool { return len(s.calls) > 0 }, nil},
}

// compareShared compares the calls of two recordings and returns their changes. It notes the parts
// that are not compared because only one side has them. compared has the names of the parts that
// are compared, or nil if all are compared. only selects sections; if it is empty, all are
// compared. It is an error if no part can be compared: a report without changes would mislead.
func compareShared(f *cmdutil.Factory, a, b side, only []string) (calls []diff.Change, compared []string, err error) {
	calls, pairs, err := compareCalls(a.calls, b.calls)
	if err != nil {
		return nil, nil, cmdutil.Exit(usage.LocalIO("reading the recordings", err))
	}
	var onlyInA, onlyInB []string
	isPartial := false
	for _, p := range parts {
		inA := p.isKnown(&a)
		inB := p.isKnown(&b)
		isSelected := len(only) == 0 || slices.Contains(only, p.section)
		isInNeither := !inA && !inB
		if !isSelected || isInNeither {
			continue
		}
		if inA && inB && p.section == "calls" && pairs == 0 {
			f.Note("the recordings have no call in common")
			isPartial = true
			continue
		}
		if inA && inB {
			compared = append(compared, p.name)
			continue
		}
		isPartial = true
		if a.partial[p.name] || b.partial[p.name] {
			continue // loadRecording has warned about it
		}
		if p.count != nil && p.count(&a)+p.count(&b) == 0 {
			continue // the list is empty on the side that has it
		}
		if inA {
			onlyInA = append(onlyInA, p.name)
		} else {
			onlyInB = append(onlyInB, p.name)
		}
	}
	if compared == nil {
		return nil, nil, nothingSharedError(a, b, only)
	}
	noteUnshared(f, a.name, onlyInA)
	noteUnshared(f, b.name, onlyInB)
	// Without pairs, a note has already reported that no call is compared.
	if unpaired := len(a.calls) + len(b.calls) - 2*pairs; pairs > 0 && unpaired > 0 {
		isPartial = true
		f.Note(english.Plural(unpaired, "call") + " not compared: the other recording has no such request")
	}
	if !isPartial {
		compared = nil
	}
	return calls, compared, nil
}

// noteUnshared notes the parts that only the side with a name has.
func noteUnshared(f *cmdutil.Factory, name string, parts []string) {
	if len(parts) > 0 {
		f.Note("not compared, because only " + name + " has them: " + strings.Join(parts, ", "))
	}
}

// nothingSharedError returns the error for two sides without a part in common.
func nothingSharedError(a, b side, only []string) error {
	text := fmt.Sprintf("nothing to compare: %s has %s, and %s has %s",
		a.name, joinNames(a.knownParts()), b.name, joinNames(b.knownParts()))
	if len(only) > 0 {
		text += "; --only selects " + strings.Join(only, ", ")
	}
	return usage.New(text, wire.Run("diff --lock TARGET")+" writes all that a server declares")
}

// knownParts returns the names of the parts that a side has.
func (s *side) knownParts() []string {
	var names []string
	for _, p := range parts {
		if p.isKnown(s) {
			names = append(names, p.name)
		}
	}
	return names
}

// joinNames joins the names of the parts of a side.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "nothing that describes a server"
	}
	return strings.Join(names, ", ")
}

// maxPerCall bounds the listed differences of one result.
const maxPerCall = 20

// compareCalls compares the responses to requests that both recordings have. It pairs equal
// requests in order, each call at most once, and returns the changes and the number of pairs. The
// error is of reading a recording.
func compareCalls(a, b []recordedCall) (changes []diff.Change, pairs int, err error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, 0, nil
	}
	// read returns a call, the zero value if it cannot be read. It adds its error to err.
	read := func(call recordedCall) answeredCall {
		c, readErr := call()
		err = errors.Join(err, readErr)
		return c
	}
	// The index keeps hashes and reads a request again with Load, since not all fit into memory.
	index := match.NewIndex(match.Options{Load: func(candidate int) match.Request { return read(a[candidate]).Request }})
	for _, call := range a {
		index.Add(read(call).Request)
	}
	used := make([]bool, len(a))
	for _, call := range b {
		if err != nil {
			return nil, 0, err
		}
		after := read(call)
		hits := index.Find(after.Request).Hits // indexes of a
		i := slices.IndexFunc(hits, func(hit int) bool { return !used[hit] })
		if i < 0 {
			continue
		}
		used[hits[i]] = true
		pairs++
		changes = append(changes, compareAnswers(read(a[hits[i]]), after)...)
	}
	return changes, pairs, err
}

// compareAnswers returns the changes between two responses to the same request, or nil. If only one
// failed, or they failed differently, that is the only change. After maxPerCall changes, one more
// change counts the rest.
func compareAnswers(before, after answeredCall) []diff.Change {
	name := describeCall(after.Method, after.Params)
	if before.failure != after.failure {
		return []diff.Change{compareFailures(name, before.failure, after.failure)}
	}
	if before.result == nil { // both have the same JSON-RPC error
		return nil
	}
	var changes []diff.Change
	found := match.Compare(before.result, after.result, match.Comparison{
		Part: match.Result, Method: after.Method,
		Name: match.NameOf(after.Method, after.Params), RecordedRevision: before.Revision, CurrentRevision: after.Revision,
		HiddenUnknown: true,
	})
	for i, d := range found.Differences {
		if i == maxPerCall {
			omitted := len(found.Differences) - i + found.More
			note := english.Plural(omitted, "place")
			changes = append(changes, diff.CallChange("call-result-differs", name, diff.CallDifference{Note: note}))
			break
		}
		changes = append(changes, diff.CallChange("call-result-changed", name,
			diff.CallDifference{Pointer: d.Pointer, Place: d.Path, Was: d.Was, Is: d.Is}))
	}
	return changes
}

// compareFailures returns the change of a call whose failures differ; "" is a call that did not fail.
func compareFailures(name, before, after string) diff.Change {
	if before == "" {
		return diff.CallChange("call-fails", name, diff.CallDifference{Is: jsonraw.Quote(after)})
	}
	if after == "" {
		return diff.CallChange("call-works", name, diff.CallDifference{Was: jsonraw.Quote(before)})
	}
	return diff.CallChange("call-fails-otherwise", name,
		diff.CallDifference{Was: jsonraw.Quote(before), Is: jsonraw.Quote(after)})
}
