package cmdutil

import (
	"slices"

	"mcpc/internal/wire"
)

// WorstFirst is every kind but the good one, in the order in which they decide the
// exit code of a command that did several things: the one that wire has for a
// single thing, and around it what is no server's doing and what was not sent.
func WorstFirst() []wire.Kind {
	return slices.Concat([]wire.Kind{wire.Signal, wire.Internal, wire.LocalIO}, wire.Precedence[1:],
		[]wire.Kind{wire.InvalidArguments, wire.Usage, wire.CheckFailed})
}

// MoreSevere returns the one of two kinds that decides the exit code.
func MoreSevere(a, b wire.Kind) wire.Kind {
	for _, kind := range WorstFirst() {
		if a == kind || b == kind {
			return kind
		}
	}
	return wire.OK
}
