package liveview

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/live/view"
)

// A consentTerminal is a consentDesk whose terminal is a list of lines.
type consentTerminal struct {
	*consentDesk
	mu    sync.Mutex
	said  []string
	clock time.Time
	given view.Powers
}

func newConsentTerminal() *consentTerminal {
	c := &consentTerminal{clock: time.Unix(1_800_000_000, 0)}
	c.consentDesk = &consentDesk{
		say:      func(text string) { c.note(text) },
		printURL: func() { c.note("address") },
		now:      func() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.clock },
		never: func(power string) error {
			if power == "resend" {
				return errors.New("never")
			}
			return nil
		},
		has: func(power string) bool {
			p := c.powers()
			consentPowers[power](&p)
			return p == c.powers()
		},
		grant:   func(power string) { c.mu.Lock(); defer c.mu.Unlock(); consentPowers[power](&c.given) },
		refused: map[string]time.Time{},
	}
	return c
}

func (c *consentTerminal) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, text)
}

func (c *consentTerminal) powers() view.Powers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.given
}

// pass lets time pass.
func (c *consentTerminal) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock = c.clock.Add(d)
}

// questions returns the number of questions that were shown.
func (c *consentTerminal) questions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, text := range c.said {
		if strings.Contains(text, "y or n") {
			n++
		}
	}
	return n
}

// ask asks for a power as a page does. It returns once the question is open, or answered.
func (c *consentTerminal) ask(t *testing.T, power string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Ask(t.Context(), power) }()
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(time.Millisecond) {
		c.consentDesk.mu.Lock()
		isOpen := slices.ContainsFunc(c.open, func(r *consentRequest) bool { return r.power == power })
		c.consentDesk.mu.Unlock()
		if isOpen || len(ended) > 0 {
			return ended
		}
	}
	t.Fatal("the question was not asked")
	return nil
}

// types types a line after the user has read the question.
func (c *consentTerminal) types(line string) {
	c.pass(time.Second)
	c.handleLine(line)
}

func TestConsentIsGivenForOnePower(t *testing.T) {
	c := newConsentTerminal()
	ended := c.ask(t, "call")
	for _, line := range []string{"call", "yes please", "all", "ny", "y y"} {
		c.types(line)
	}
	if c.powers() != (view.Powers{}) || len(ended) > 0 {
		t.Fatalf("a line that is no answer allowed %+v", c.powers())
	}
	c.types("y")
	if err := <-ended; err != nil || c.powers() != (view.Powers{Call: true}) {
		t.Errorf("got %v, and the powers %+v", err, c.powers())
	}
	before := c.questions()
	if err := c.Ask(t.Context(), "call"); err != nil || c.questions() != before {
		t.Errorf("a power that is allowed: %v, and %d questions more", err, c.questions()-before)
	}
}

func TestConsentAsksOneQuestionPerPower(t *testing.T) {
	c := newConsentTerminal()
	var waiting []<-chan error
	for range 50 {
		waiting = append(waiting, c.ask(t, "call"))
	}
	other := c.ask(t, "intercept")
	if c.questions() != 1 {
		t.Errorf("%d questions are shown: %q", c.questions(), c.said)
	}
	c.types("n")
	for _, ended := range waiting {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v", err)
		}
	}
	if c.questions() != 2 || len(other) > 0 {
		t.Errorf("the next question is not shown: %q", c.said)
	}
	c.types("n")
	<-other
	for range 50 {
		if err := c.Ask(t.Context(), "call"); err == nil || !strings.Contains(err.Error(), "can ask again in 60 s") {
			t.Errorf("after a refusal: %v", err)
		}
	}
	if c.questions() != 2 {
		t.Errorf("%d questions after a refusal", c.questions())
	}
	c.pass(time.Minute)
	ended := c.ask(t, "call")
	c.types("yes")
	if err := <-ended; err != nil {
		t.Errorf("a minute after the refusal: %v", err)
	}
}

// A line that was typed before its question does not answer it, so a page that knows when the user
// types gains nothing.
func TestConsentIgnoresLinesBeforeTheQuestion(t *testing.T) {
	c := newConsentTerminal()
	c.types("y")
	first := c.ask(t, "call")
	second := c.ask(t, "intercept")
	c.handleLine("y")
	if len(first) > 0 {
		t.Fatal("the line answered a question that was just shown")
	}
	c.types("y")
	c.handleLine("y")
	if err := <-first; err != nil || c.powers() != (view.Powers{Call: true}) || len(second) > 0 {
		t.Errorf("got %v, and the powers %+v", err, c.powers())
	}
}

// Enter never answers: it prints an address, also while a question is open.
func TestConsentEnterPrintsAnAddress(t *testing.T) {
	c := newConsentTerminal()
	c.types("")
	ended := c.ask(t, "call")
	c.types("")
	if want := []string{"address", "address"}; !slices.Equal(slices.DeleteFunc(slices.Clone(c.said), func(s string) bool {
		return s != "address"
	}), want) || len(ended) > 0 || c.questions() != 2 {
		t.Errorf("said %q", c.said)
	}
}

// A page that leaves does not change the question that the user is about to answer.
func TestConsentKeepsTheQuestionOfAPageThatLeft(t *testing.T) {
	c := newConsentTerminal()
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Ask(ctx, "call") }()
	c.ask(t, "call")
	other := c.ask(t, "intercept")
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.types("y")
	if c.powers() != (view.Powers{Call: true}) || len(other) > 0 {
		t.Errorf("the answer gave %+v", c.powers())
	}
}

func TestConsentRefusesUnknownPowers(t *testing.T) {
	c := newConsentTerminal()
	for _, power := range []string{"", "files", "Call", "call,resend", "call\ny\n", "\x1b[2J", "mark", "resend"} {
		if err := c.Ask(t.Context(), power); err == nil {
			t.Errorf("the power %q is allowed", power)
		}
	}
	if len(c.said) > 0 {
		t.Errorf("the terminal says %q", c.said)
	}
}

// After the end of the input no question can be answered.
func TestConsentEndsWithTheTerminal(t *testing.T) {
	c := newConsentTerminal()
	ended := c.ask(t, "call")
	c.ReadLines(func() (string, error) { return "", io.EOF })
	for _, err := range []error{<-ended, c.Ask(t.Context(), "call")} {
		if _, ok := errors.AsType[view.NotAllowed](err); !ok {
			t.Errorf("got %v", err)
		}
	}
}

// The powers of a view grow by what the user allowed only.
func TestGrantedPowersAllowActions(t *testing.T) {
	a := homeActor(t, view.Powers{}, nil)
	if a.hasPower("call") {
		t.Error("a power is there from the start")
	}
	a.grant("call")
	if want := (view.Powers{Call: true}); a.Powers() != want || !a.hasPower("call") || a.hasPower("resend") {
		t.Errorf("the powers are %+v", a.Powers())
	}
	if err := a.CheckServers(); err != nil {
		t.Errorf("the servers cannot be asked: %v", err)
	}
	if _, err := a.Resend(t.Context(), "1.1", nil, false); !errors.As(err, &view.NotAllowed{}) {
		t.Errorf("resend: %v", err)
	}
}
