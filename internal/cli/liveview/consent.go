package liveview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcpc/internal/live/view"
)

// consentPowers give the powers that a page can ask for, by their values of --allow.
var consentPowers = map[string]func(p *view.Powers){
	"call":      func(p *view.Powers) { p.Call = true },
	"resend":    func(p *view.Powers) { p.Resend = true },
	"intercept": func(p *view.Powers) { p.Intercept = true },
}

const (
	// refusalTime is how long a refused power is refused again without a question.
	refusalTime = time.Minute
	// reactionTime is the shortest time in which a person reads a question and answers it. A line that comes
	// earlier was typed before the question.
	reactionTime = 500 * time.Millisecond
)

// A consentDesk asks the user at the terminal for the powers that pages ask for, one question at a time.
// Only a line that the user types answers a question. Several goroutines may use it.
type consentDesk struct {
	// say prints a line at the terminal, and printURL a new address of the page.
	say      func(text string)
	printURL func()
	now      func() time.Time
	// never returns why the view cannot have a power, or nil.
	never func(power string) error
	has   func(power string) bool
	grant func(power string)

	// mu guards the fields below.
	mu sync.Mutex
	// open are the questions without an answer. The terminal shows the first one.
	open []*consentRequest
	// refused has the times of the last refusals by power.
	refused map[string]time.Time
	// hasEnded is true if no more lines can be read.
	hasEnded bool
}

// A consentRequest is a question without an answer. All pages that ask for its power wait for it.
type consentRequest struct {
	power    string
	shownAt  time.Time     // when it was shown first; zero before
	answered chan struct{} // closed after err is set
	err      error         // nil if the user allowed it
}

// Ask asks the user for a power, and waits for the answer. It returns nil if the view has the power now.
// A question stays open if ctx ends: no other question may take its place while the user types.
func (d *consentDesk) Ask(ctx context.Context, power string) error {
	r, err := d.request(power)
	if r == nil {
		return err
	}
	select {
	case <-r.answered:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request returns the open question about a power, which it asks if there is none. It returns nil and the
// answer if the answer is known already.
func (d *consentDesk) request(power string) (*consentRequest, error) {
	if consentPowers[power] == nil {
		return nil, fmt.Errorf("a page cannot ask for the power %q", power)
	}
	if err := d.never(power); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.has(power) {
		return nil, nil
	}
	if d.hasEnded {
		return nil, view.NotAllowed{Power: power}
	}
	if left := refusalTime - d.now().Sub(d.refused[power]); left > 0 {
		return nil, fmt.Errorf("refused at the terminal; the page can ask again in %d s", int(left.Seconds())+1)
	}
	for _, r := range d.open {
		if r.power == power {
			return r, nil
		}
	}
	r := &consentRequest{power: power, answered: make(chan struct{})}
	d.open = append(d.open, r)
	if len(d.open) == 1 {
		d.showLocked()
	}
	return r, nil
}

// showLocked prints the first open question, if any. The caller holds d.mu.
func (d *consentDesk) showLocked() {
	if len(d.open) == 0 {
		return
	}
	r := d.open[0]
	d.say("the page asks to " + view.PowerWords()[r.power] +
		". Allow it until this view ends? Type y or n, then Enter:")
	if r.shownAt.IsZero() {
		r.shownAt = d.now()
	}
}

// ReadLines handles the lines that the user types, until next returns an error.
func (d *consentDesk) ReadLines(next func() (string, error)) {
	for {
		line, err := next()
		if err != nil {
			d.end()
			return
		}
		d.handleLine(strings.ToLower(strings.TrimSpace(line)))
	}
}

// handleLine answers the shown question. Without a question, and for an empty line, it prints a new
// address.
func (d *consentDesk) handleLine(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if line == "" || len(d.open) == 0 {
		d.printURL()
		d.showLocked()
		return
	}
	r := d.open[0]
	words := view.PowerWords()[r.power]
	isAnswer := d.now().Sub(r.shownAt) >= reactionTime
	switch {
	case isAnswer && (line == "y" || line == "yes"):
		d.grant(r.power)
		d.say("allowed until this view ends: " + words)
	case isAnswer && (line == "n" || line == "no"):
		r.err = errors.New("refused at the terminal")
		d.refused[r.power] = d.now()
		d.say("refused: " + words)
	default:
		d.showLocked()
		return
	}
	close(r.answered)
	d.open = d.open[1:]
	d.showLocked()
}

// end refuses all open questions, and those that follow.
func (d *consentDesk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hasEnded = true
	for _, r := range d.open {
		r.err = view.NotAllowed{Power: r.power}
		close(r.answered)
	}
	d.open = nil
}
