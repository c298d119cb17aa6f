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
	known         func(s *side) bool
}{
	{"tools", "tools", func(s *side) bool { return s.Tools != nil }},
	{"prompts", "prompts", func(s *side) bool { return s.Prompts != nil }},
	{"resources", "resources", func(s *side) bool { return s.Resources != nil }},
	{"resources", "resource templates", func(s *side) bool { return s.Templates != nil }},
	{"caps", "capabilities", func(s *side) bool { return s.Capabilities != nil }},
	{"caps", "server info", func(s *side) bool { return s.Implementation != nil }},
	{"instructions", "instructions", func(s *side) bool { return s.Instructions != nil }},
	{"calls", "calls", func(s *side) bool { return len(s.calls) > 0 }},
}

// compareShared compares the calls of two recordings, and says what is not compared because one side
// alone has it; then compared are the parts that were. Where there is nothing that both have, a
// comparison would be no judgement.
func compareShared(f *cmdutil.Factory, a, b side, only []string) (calls []diff.Change, compared []string, err error) {
	calls, pairs, err := compareCalls(a.calls, b.calls)
	if err != nil {
		return nil, nil, cmdutil.Exit(usage.LocalIO("reading the recordings", err))
	}
	var has, alone [2][]string
	left := false
	for _, p := range parts {
		inA := p.known(&a)
		inB := p.known(&b)
		for i, there := range []bool{inA, inB} {
			if there {
				has[i] = append(has[i], p.name)
			}
		}
		switch {
		case len(only) > 0 && !slices.Contains(only, p.section):
		case inA && inB && (p.section != "calls" || pairs > 0):
			compared = append(compared, p.name)
		case inA && inB: // calls, none of which is the same
			f.Note("the recordings have no call in common")
			left = true
		case inA || inB:
			left = true
			if i := slices.Index([]bool{inA, inB}, true); !a.partial[p.name] && !b.partial[p.name] { // else it was told
				alone[i] = append(alone[i], p.name)
			}
		}
	}
	if compared == nil {
		text := fmt.Sprintf(
			"nothing to compare: %s has %s, and %s has %s", a.name, joinNames(has[0]), b.name,
			joinNames(has[1]),
		)
		if len(only) > 0 {
			text += "; --only selects " + strings.Join(only, ", ")
		}
		return nil, nil, usage.New(text, wire.Run("diff --lock TARGET")+" writes all that a server declares")
	}
	for i, name := range []string{a.name, b.name} {
		if len(alone[i]) > 0 {
			f.Note("not compared, because only " + name + " has them: " + strings.Join(alone[i], ", "))
		}
	}
	if more := len(a.calls) + len(b.calls) - 2*pairs; pairs > 0 && more > 0 {
		left = true
		f.Note(english.Plural(more, "call") + " not compared: the other recording has no such request")
	}
	if !left {
		compared = nil
	}
	return calls, compared, nil
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "nothing that describes a server"
	}
	return strings.Join(names, ", ")
}

// maxPerCall bounds the listed differences of one result.
const maxPerCall = 20

// compareCalls compares the responses to requests that both recordings have. It pairs equal
// requests in order, and returns the number of pairs.
func compareCalls(a, b []recordedCall) (changes []diff.Change, pairs int, err error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, 0, nil
	}
	read := func(call recordedCall) answeredCall {
		c, failed := call()
		err = errors.Join(err, failed)
		return c
	}
	index := match.NewIndex(match.Options{Load: func(candidate int) match.Request { return read(a[candidate]).Request }})
	for _, call := range a {
		index.Add(read(call).Request)
	}
	used := make([]bool, len(a))
	for _, call := range b {
		if err != nil {
			return nil, 0, err
		}
		is := read(call)
		hits := index.Find(is.Request).Hits
		at := slices.IndexFunc(hits, func(hit int) bool { return !used[hit] })
		if at < 0 {
			continue
		}
		used[hits[at]] = true
		pairs++
		changes = append(changes, compareAnswers(read(a[hits[at]]), is)...)
	}
	return changes, pairs, err
}

// compareAnswers compares two responses to the same request.
func compareAnswers(was, is answeredCall) (changes []diff.Change) {
	name := describeCall(is.Method, is.Params)
	if was.failure == "" && is.failure != "" {
		return []diff.Change{diff.CallChange("call-fails", name, "", "", "", nil, jsonraw.Quote(is.failure))}
	}
	if was.failure != "" && is.failure == "" {
		return []diff.Change{diff.CallChange("call-works", name, "", "", "", jsonraw.Quote(was.failure), nil)}
	}
	if was.failure != is.failure {
		return []diff.Change{
			diff.CallChange("call-fails-otherwise", name, "", "", "", jsonraw.Quote(was.failure), jsonraw.Quote(is.failure)),
		}
	}
	if was.result == nil {
		return nil
	}
	found := match.Compare(was.result, is.result, match.Comparison{
		Part: match.Result, Method: is.Method,
		Name: match.NameOf(is.Method, is.Params), WasRevision: was.Revision, IsRevision: is.Revision, HiddenUnknown: true,
	})
	for i, d := range found.Differences {
		if i == maxPerCall {
			more := len(found.Differences) - i + found.More
			note := english.Plural(more, "place")
			changes = append(changes, diff.CallChange("call-result-differs", name, "", "", note, nil, nil))
			break
		}
		changes = append(changes, diff.CallChange("call-result-changed", name, d.Pointer, d.Path, "", d.Was, d.Is))
	}
	return changes
}
