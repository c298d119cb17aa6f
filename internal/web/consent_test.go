package web

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/live/view"
)

// A consenting is an Actor whose powers change, and the terminal that changes them.
type consenting struct {
	*fakeActor
	mu    sync.Mutex
	now   view.Powers
	asked []string
	// answer gives the answers of the terminal: an error refuses.
	answer chan error
}

func newConsenting() *consenting {
	return &consenting{fakeActor: &fakeActor{}, answer: make(chan error)}
}

func (c *consenting) Powers() view.Powers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// ask is Options.Ask.
func (c *consenting) ask(ctx context.Context, power string) error {
	c.mu.Lock()
	c.asked = append(c.asked, power)
	c.mu.Unlock()
	select {
	case err := <-c.answer:
		if err == nil {
			c.mu.Lock()
			c.now.Call = true
			c.mu.Unlock()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *consenting) asks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// A refused action names the power to ask for, and the page can act as soon as the terminal allowed it.
func TestPageActsAfterTheTerminalAllowedIt(t *testing.T) {
	c := newConsenting()
	s := start(t, Options{Actor: c, Ask: c.ask}).enter()
	const call = `{"target":"t","tool":"x","arguments":{}}`
	if a := s.ask("POST", "/api/do/request", call, nil); a.status != 403 || !strings.Contains(string(a.body), `"allow":"call"`) {
		t.Errorf("before: %d %s", a.status, a.body)
	}
	events, err := http.DefaultClient.Do(s.request("GET", "/api/events", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	lines := bufio.NewScanner(events.Body)
	await := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("no event has %s", text)
	}
	await(`"call":false`)
	go func() { c.answer <- nil }()
	if a := s.ask("POST", "/api/do/allow", `{"power":"call"}`, nil); a.status != 200 {
		t.Errorf("allow: %d %s", a.status, a.body)
	}
	s.reader.change()
	await(`"call":true`)
	if a := s.ask("POST", "/api/do/request", call, nil); a.status != 200 {
		t.Errorf("after: %d %s", a.status, a.body)
	}
	if a := s.ask("POST", "/api/do/resend", `{"key":"1.1"}`, nil); a.status != 403 {
		t.Errorf("another power: %d %s", a.status, a.body)
	}
}

// Nothing that a page or another program sends is an answer.
func TestOnlyTheTerminalAllows(t *testing.T) {
	c := newConsenting()
	s := start(t, Options{Actor: c, Ask: c.ask}).enter()
	for name, change := range map[string]map[string]string{
		"no key": {"X-Mcpc": "-"}, "no cookie": {"Cookie": "-"}, "another origin": {"Origin": "http://evil.example"},
		"another site": {"Sec-Fetch-Site": "cross-site"}, "a form": {"Content-Type": "text/plain"},
	} {
		if a := s.ask("POST", "/api/do/allow", `{"power":"call"}`, change); a.status < 400 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for _, method := range []string{"GET", "PUT"} {
		if a := s.ask(method, "/api/do/allow", `{"power":"call"}`, nil); a.status < 400 {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
	if c.asks() != 0 {
		t.Fatalf("the terminal was asked for %q", c.asked)
	}
	// The page says that it was allowed, in all members that an action has.
	go func() { c.answer <- errors.New("refused at the terminal") }()
	said := `{"power":"call","powers":{"call":true},"allow":true,"answer":"y","action":"accept","confirmed":true,"on":true}`
	if a := s.ask("POST", "/api/do/allow", said, nil); a.status != 403 || !strings.Contains(string(a.body), "refused at the terminal") {
		t.Errorf("a page that answers: %d %s", a.status, a.body)
	}
	call := `{"target":"t","tool":"x","arguments":{},"powers":{"call":true},"confirmed":true}`
	if a := s.ask("POST", "/api/do/request", call, nil); a.status != 403 || len(c.done) > 0 {
		t.Errorf("after a refusal: %d %s, did %q", a.status, a.body, c.done)
	}
}

// Requests that wait for the terminal are limited, and leave reads and answers their room.
func TestAsksAreLimited(t *testing.T) {
	c := newConsenting()
	s := start(t, Options{Actor: c, Ask: c.ask}).enter()
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range maxCalls {
		waiting.Go(func() {
			resp, err := http.DefaultClient.Do(s.request("POST", "/api/do/allow", `{"power":"call"}`, nil).WithContext(ctx))
			if err == nil {
				resp.Body.Close()
			}
		})
	}
	eventually(t, "the asks do not wait", func() bool { return c.asks() == maxCalls })
	if a := s.ask("POST", "/api/do/allow", `{"power":"call"}`, nil); a.status != 429 {
		t.Errorf("one more: %d %s", a.status, a.body)
	}
	if a := s.ask("GET", "/api/status", "", nil); a.status != 200 {
		t.Errorf("a read meanwhile: %d", a.status)
	}
	leave()
	waiting.Wait()
	eventually(t, "the slots stay taken", func() bool { return len(s.calls) == 0 })
}

// Without a terminal, the page says which line to type.
func TestWithoutATerminalTheLineIsNamed(t *testing.T) {
	s := start(t, Options{Actor: &fakeActor{}}).enter()
	for act, body := range map[string]string{"allow": `{"power":"call"}`, "request": `{"target":"t"}`} {
		a := s.ask("POST", "/api/do/"+act, body, nil)
		if a.status != 403 || !strings.Contains(string(a.body), "--allow=call") || strings.Contains(string(a.body), `"allow":`) {
			t.Errorf("%s: %d %s", act, a.status, a.body)
		}
	}
}
