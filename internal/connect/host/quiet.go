package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// Quiet is a UI without a user: it shows nothing, answers every question with no, and reads no
// input. A program that needs some of a UI embeds a Quiet and overrides methods.
type Quiet struct{}

var _ UI = Quiet{}

var errQuiet = errors.New("no input: there is no user to ask")

func (Quiet) Note(string) {}

func (Quiet) Warn(string) {}

func (Quiet) NameServer([]string) {}

func (Quiet) HintText(hint wire.Hint) string { return hint.String() }

func (Quiet) ShowsProgress() bool { return false }

func (Quiet) ShowProgress(jsonraw.Members) {}

func (Quiet) ShowLog(_, _ string, _ json.RawMessage) {}

func (Quiet) Waiting(_, _ string) {}

func (Quiet) Stderr() io.Writer { return io.Discard }

func (Quiet) Interactive() bool { return false }

func (Quiet) CanAsk() bool { return false }

func (Quiet) AskAlways(context.Context, string, string) string { return "no" }

func (Quiet) MeantByPath(string) (string, wire.Hint) { return "", "" }

func (Quiet) ShowServer(string, target.Server) {}

func (Quiet) ShowChanges(wire.Severity, string, []diff.Change) {}

func (Quiet) TypedLine(context.Context, string, bool) (string, error) { return "", errQuiet }

func (Quiet) Input(string) ([]byte, string, error) { return nil, "", errQuiet }

func (Quiet) OfferLogin(context.Context, auth.Refusal) (bool, error) { return false, nil }

func (Quiet) FillArguments(context.Context, string, question.Form, FormCheck) map[string]json.RawMessage {
	return nil
}

func (Quiet) FillForm(_ context.Context, q client.InputRequest, _ string, _ FormCheck) client.Answer {
	return client.Answer{Outcome: client.UnansweredOutcome(q.Method)}
}

func (Quiet) VisitPage(_ context.Context, q client.InputRequest, _ string) client.Answer {
	return client.Answer{Outcome: client.UnansweredOutcome(q.Method)}
}

func (Quiet) WriteMessage(_ context.Context, q client.InputRequest, _ string) client.Answer {
	return client.Answer{Outcome: client.UnansweredOutcome(q.Method)}
}
