package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/wire"
)

// A question that names no request is of a call that may be asked, though a completion began later, perhaps of another client.
func TestServerRequestBelongsToCallNotToCompletion(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := &link{peer: &peer{ctx: ctx}}
	tool := &call{link: l, number: 1, mayAsk: true, questions: make(chan *pendingQuestion)}
	completion := &call{link: l, number: 2, questions: make(chan *pendingQuestion)}
	l.calls = map[*call]bool{tool: true, completion: true}
	answered := make(chan client.Answer)
	go func() {
		answered <- l.ask(ctx, client.InputRequest{Method: "elicitation/create", Params: json.RawMessage(`{"message":"m"}`)})
	}()
	select {
	case q := <-tool.questions:
		q.answer <- json.RawMessage(`{"action":"decline"}`)
	case <-completion.questions:
		t.Fatal("the completion was asked")
	}
	if got := <-answered; string(got.Result) != `{"action":"decline"}` {
		t.Errorf("%s", got.Result)
	}
}

// A log message is not forwarded if it may be about the call of another client.
func TestLogMessageOfOtherClientIsNotForwarded(t *testing.T) {
	for _, c := range []struct{ pipe, other, want bool }{{false, false, true}, {false, true, false}, {true, true, true}} {
		l := &link{Member: &Member{Name: "one"}, peer: &peer{gateway: &Gateway{Options: Options{IsStdio: c.pipe}}}}
		got := false
		asks := &call{level: "info"}
		asks.attach(nil, func([]byte) { got = true })
		l.calls = map[*call]bool{asks: true}
		if c.other {
			l.calls[&call{}] = true
		}
		l.forwardLog(&wire.Message{Method: "notifications/message", Params: json.RawMessage(`{"level":"error","data":"d"}`)})
		if got != c.want {
			t.Errorf("%+v: passed on: %t", c, got)
		}
	}
}

// A client that does not read does not hold up what sends to it, and gets what was kept, in order.
func TestAClientThatDoesNotRead(t *testing.T) {
	said := 0
	g := New(Options{Token: rand.Text, Tell: func(string, ...string) { said++ }})
	reads, got := make(chan bool), []string{}
	queued, end := g.queue(func(raw []byte) {
		<-reads
		got = append(got, string(raw))
	})
	for i := range 2 * maxQueued {
		queued([]byte(strconv.Itoa(i)))
	}
	close(reads)
	end()
	if len(got) < maxQueued || len(got) > maxQueued+1 || !slices.IsSortedFunc(got, byNumber) {
		t.Errorf("%d messages", len(got))
	}
	if said != 1 {
		t.Errorf("told %d times", said)
	}
}

func byNumber(a, b string) int {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return x - y
}

// A message that is shown once is shown before each call has returned, even a call that did not
// show it itself.
func TestReportOnceBeforeEachCallReturns(t *testing.T) {
	var told atomic.Int32
	g := &Gateway{shown: map[string]bool{}, Options: Options{Tell: func(string, ...string) {
		for range 1000 {
			runtime.Gosched()
		}
		told.Add(1)
	}}}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if g.showOnce("", "left out"); told.Load() != 1 {
				t.Errorf("told %d times", told.Load())
			}
		})
	}
	all.Wait()
}
