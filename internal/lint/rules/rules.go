// Package rules has the checks of the passive rules: each looks at one kind of event of
// a conversation. Which revision, transport and capability a rule is for is said in the
// table of package lint, which calls a check only where its rule holds.
package rules

import (
	"cmp"
	"slices"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// All are the checks of all rules. Those whose tools are missing have Lacks set.
func All(t Tools) []Check {
	return slices.Concat(notes, framing, codes, pipe, lifecycle, capabilities, versions, httpChecks, sessions,
		tools, schemaChecks(t), content, poisoned, portable, cost, skills, apps, lists, questions, notices,
		tasks, auth, []Check{shapeCheck(t)})
}

// notes are checks without a rule: they remember what others compare.
var notes = []Check{
	{Kind: conv.OnHead, Do: noteRefusals},
	{Kind: conv.OnOther, Do: noteAuthServer},
	noteLevels, noteSubscriptions, noteEnds, noteTasks,
}

// shapeCheck is L010: what no other rule has reported.
func shapeCheck(t Tools) Check {
	if t.Shape == nil {
		return Check{ID: "L010", Kind: conv.OnDone, Lacks: "needs the shapes of the revisions"}
	}
	return Check{
		ID:     "L010",
		Kind:   conv.OnDone,
		Yields: true,
		When:   func(e *conv.Event) bool { return e.Rev != conv.Unknown },
		Do: func(e *conv.Event) {
			seen := func(entry []byte) bool { return !e.Fresh("shape "+e.Rev.Short(), entry) }
			for _, f := range t.Shape(seen, e.Rev.String(), e.Method, e.Message) {
				severity := conv.Severity("")
				if f.Level != wire.Error {
					severity = conv.Warn
				}
				want := cmp.Or(f.Want, "what the schema of "+e.Rev.String()+" describes")
				e.Hit(conv.Hit{Severity: severity, Pointer: f.Where, Got: f.Text, Want: want})
			}
		},
	}
}
