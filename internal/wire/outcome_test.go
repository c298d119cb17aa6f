package wire

import "testing"

// The requested operation is safe to repeat if nothing of it was sent, and not because another
// request is.
func TestRetryableDependsOnUnsentParts(t *testing.T) {
	for _, c := range []struct {
		name            string
		o               Outcome
		part            Part
		sent, retryable bool
	}{
		{"a handshake without an answer", Outcome{Kind: Timeout, Reached: Unknown}, BeforeOperation, false, true},
		{"a handshake that was lost", Outcome{Kind: Transport, Reached: Unknown}, BeforeOperation, false, true},
		{"a handshake that was refused", Outcome{Kind: RPCFailed, Reached: Answered}, BeforeOperation, false, false},
		{"a handshake that was answered with nonsense", Outcome{Kind: BadResponse, Reached: Answered}, BeforeOperation, false, false},
		{"nobody is there", Outcome{Kind: Transport, Retryable: true}, BeforeOperation, false, true},
		{"no such command", Outcome{Kind: Transport}, BeforeOperation, false, false},
		{"a question that was lost behind it", Outcome{Kind: Transport, Reached: Unknown, Retryable: true}, AfterOperation, true, false},
		{"a question that did not leave", Outcome{Kind: Transport, Retryable: true}, AfterOperation, true, false},
		{"the request itself", Outcome{Kind: Transport, Reached: Unknown}, Operation, true, false},
		{"the request itself, which only reads", Outcome{Kind: Transport, Reached: Unknown, Retryable: true}, Operation, true, true},
		{"the request itself, unsent", Outcome{Kind: Transport, Retryable: true}, Operation, false, true},
	} {
		if got := c.o.WithPart(c.part); got.OperationSent() != c.sent || got.Retryable != c.retryable {
			t.Errorf("%s: sent %t, retryable %t", c.name, got.OperationSent(), got.Retryable)
		}
	}
}
