// Package rules has the checks of the passive rules. Each check reads one kind of event of a
// conversation. The table of package lint has the revisions, transports and capabilities that a
// rule applies to; lint calls a check only if its rule applies.
package rules

import (
	"slices"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// All returns the checks of all rules. A check whose tools are missing has MissingTool set.
func All(t Tools) []Check {
	return slices.Concat(
		recorders, framingChecks, codeChecks, stdioChecks, lifecycleChecks, capabilityChecks, versionChecks, httpChecks,
		sessionChecks, toolChecks, schemaChecks(t), contentChecks, poisonChecks, portabilityChecks, costChecks, skillChecks,
		appChecks, listChecks, questionChecks, notificationChecks, taskChecks, authChecks, []Check{shapeCheck(t)},
	)
}

// recorders are checks without a rule: they record state for other checks.
var recorders = []Check{
	{Kind: conv.OnHead, Do: recordRefusals},
	{Kind: conv.OnOther, Do: recordAuthServer},
	recordLogLevels, recordSubscriptions, recordCancelledIDs, recordTaskTokens,
}

// shapeCheck returns the check L010: a message differs from the schema of its revision, and no
// other rule has reported it.
func shapeCheck(t Tools) Check {
	if t.Shape == nil {
		return Check{ID: "L010", Kind: conv.OnDone, MissingTool: "needs the shapes of the revisions"}
	}
	return Check{
		ID:            "L010",
		Kind:          conv.OnDone,
		SkipsReported: true,
		When:          func(e *conv.Event) bool { return e.Rev != conv.Unknown },
		Do: func(e *conv.Event) {
			// An entry of a list that was judged before is skipped.
			isKnown := func(entry []byte) bool { return !e.IsFirstSighting("shape "+e.Rev.Short(), entry) }
			for _, f := range t.Shape(isKnown, e.Rev.String(), e.Method, e.Message) {
				severity := conv.Severity("")
				if f.Severity != wire.Error {
					severity = conv.Warn
				}
				want := f.Want
				if want == "" {
					want = "what the schema of " + e.Rev.String() + " describes"
				}
				e.Hit(conv.Hit{Severity: severity, Pointer: f.Pointer, Got: f.Text, Want: want})
			}
		},
	}
}
