package wire

import "testing"

func TestReasonNamesTheException(t *testing.T) {
	for stderr, want := range map[string]string{
		"listening\nfile:///src/server.js:16\n    throw new TypeError('late failure');\n    ^\n\n" +
			"TypeError: late failure\n    at f (file:///src/server.js:16:9)\n\nNode.js v24\n": "TypeError: late failure (server.js:16)",
		"/src/server.js:14\n  const =\n        ^\n\nSyntaxError: Unexpected token '='\n": "SyntaxError: Unexpected token '=' (server.js:14)",
		"node:internal/modules/esm/resolve:275\n    throw new ERR();\n\n" +
			"Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'x'\n": "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'x'",
		"Traceback (most recent call last):\n  File \"/src/s.py\", line 3, in <module>\n    f()\n" +
			"ValueError: no\n": "ValueError: no (s.py:3)",
		"a\nsrc/x.ts(3,1): error TS1005\nb": "src/x.ts(3,1): error TS1005",
		"listening\nlast":                   "last",
	} {
		if got := (&ProcessFacts{Stderr: stderr}).Reason(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

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
