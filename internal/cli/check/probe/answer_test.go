package probe

import (
	"testing"
	"time"

	"mcpc/internal/wire"
)

// TestAnswersOfEndedServers distinguishes a server that a request ended from a broken connection.
func TestAnswersOfEndedServers(t *testing.T) {
	exited := &wire.ProcessFacts{HowEnded: "exit status 1", Stderr: "TypeError: boom\n"}
	for _, c := range []struct {
		name                string
		answer              answer
		broke, exited, skip bool
		stderr              string
	}{
		{"exited", answer{Outcome: wire.Outcome{Kind: wire.Transport, Process: exited, Text: "the server exited"}}, true, true, false, "TypeError: boom\n"},
		{"gone over HTTP", answer{Outcome: wire.Outcome{Kind: wire.Transport, Text: "reset"}, unreachable: true}, true, true, false, ""},
		{"a broken connection", answer{Outcome: wire.Outcome{Kind: wire.Transport, Text: "reset"}}, true, false, true, ""},
		{"no answer in time", answer{Outcome: wire.Outcome{Kind: wire.Timeout, Process: &wire.ProcessFacts{Stderr: "still working"}}}, false, false, false, ""},
		{"HTTP", answer{Outcome: wire.Outcome{Kind: wire.Transport, HTTP: &wire.HTTPFacts{Status: 502}}}, false, false, false, ""},
		{"a result", answer{Outcome: wire.Outcome{Message: &wire.Message{Kind: wire.Response}}}, false, false, false, ""},
	} {
		m := newMiss("L123", "x", c.answer, "an error")
		if c.answer.isBroken() != c.broke || c.answer.hasEndedServer() != c.exited || m.skip != c.skip || m.stderr != c.stderr {
			t.Errorf("%s: broke %v, exited %v, %+v", c.name, c.answer.isBroken(), c.answer.hasEndedServer(), m)
		}
	}
}

// TestToolAnswers finds the tools that were not answered, or that ended the server after that.
func TestToolAnswers(t *testing.T) {
	good := answer{Outcome: wire.Outcome{Message: &wire.Message{Kind: wire.Response}}}
	lost := answer{Outcome: wire.Outcome{Kind: wire.Transport, Process: &wire.ProcessFacts{HowEnded: "exit status 0"}, Text: "the server exited"}}
	for _, c := range []struct {
		name          string
		answer, after answer
		misses        int
	}{
		{"answered", good, good, 0},
		{"a tool error", answer{Outcome: wire.Outcome{Kind: wire.ToolError, Message: &wire.Message{Kind: wire.Response}}}, good, 0},
		{"a protocol error", answer{Outcome: wire.Outcome{Kind: wire.RPCFailed, Message: &wire.Message{Kind: wire.Response}}}, good, 0},
		{"exited", lost, answer{}, 1},
		{"exited after it answered", good, lost, 1},
		{"hung", answer{Outcome: wire.Outcome{Kind: wire.Timeout, Text: "no response"}}, answer{}, 1},
		{"HTTP 502", answer{Outcome: wire.Outcome{Kind: wire.Transport, HTTP: &wire.HTTPFacts{Status: 502}, Message: &wire.Message{}}}, good, 1},
		{"refused", answer{Outcome: wire.Outcome{Kind: wire.Auth, HTTP: &wire.HTTPFacts{Status: 401}}}, good, 0},
	} {
		b := &bench{judge: &judge{pacer: (&Options{}).newPacer("", func() int { return 0 }, time.Now)}, called: []calledTool{{answer: c.answer, after: c.after}}}
		if misses := toolAnswersProbe().run(t.Context(), b); len(misses) != c.misses || c.misses > 0 && misses[0].skip {
			t.Errorf("%s: %+v", c.name, misses)
		}
	}
}
