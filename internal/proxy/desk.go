package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/wire"
)

const (
	// MaxHold is how long a message is held; then it passes unchanged.
	MaxHold = 10 * time.Minute
	// What more would have to be held passes: mostMessages at a time, mostHeldBytes of them
	// together, and longestMessage of one.
	mostMessages   = 256
	mostHeldBytes  = 64 << 20
	longestMessage = 16 << 20
	mostAsked      = 10_000
	// mostNamed is how long the id and the names of a request are that is remembered for its response.
	mostNamed = 4 << 10
)

// A Desk holds messages on their way. A nil Desk, and one where no filter is set, holds none. Its
// methods may be called by several goroutines.
type Desk struct {
	Now func() time.Time
	// Live makes the rows that filters are asked about.
	Live *capture.Live
	// Encode makes a text fit for a header field.
	Encode func(string) string
	// Longest is how long a message is held; 0 is MaxHold.
	Longest time.Duration

	rules atomic.Pointer[[]rule]
	// mu guards what follows.
	mu     sync.Mutex
	held   []*waiting
	bytes  int
	last   int
	passed int
	wakes  map[chan struct{}]bool
	// asked are the rows of requests that wait for their response.
	asked map[string]*capture.Row
}

// ErrNotHeld is the error for a message that is not held any more.
var ErrNotHeld = errors.New("the message is not held any more")

// A rule is the filter of a view, which is told from others by its owner.
type rule struct {
	owner  any
	filter filter.Filter
}

// A Candidate is a message that may be held.
type Candidate struct {
	*wire.Message
	// Row is what filters are asked about. Its direction is that of the message.
	Row *capture.Row
	// Note is told when the message begins to be held, and what became of it, with the bytes
	// to keep of it beside those that are recorded anyway.
	Note func(facts wire.HeldFacts, raw []byte)
}

// A Held is a message that waits.
type Held struct {
	N int `json:"n"`
	// Dir is "sent" by the client or "received", Kind "request", "response" or "notification".
	Dir  string `json:"dir"`
	Kind string `json:"kind"`
	// Method and Name are those of the request, also of a response; Request is its id as JSON.
	Method  string `json:"method,omitempty"`
	Name    string `json:"name,omitempty"`
	Request string `json:"request,omitempty"`
	Target  string `json:"target"`
	Client  string `json:"client,omitempty"`
	Server  string `json:"server,omitempty"`
	// Message is as it crossed, with its secrets.
	Message []byte    `json:"message"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
}

// What becomes of a message that was held.
const (
	Waiting  = "waiting"
	Released = "released"
	Edited   = "edited"
	Dropped  = "dropped"
	Answered = "answered"
)

// A Ruling is what becomes of a message: Raw is what passes instead of an Edited one, and the
// result with which a request is Answered. How is "" where it was not held.
type Ruling struct {
	How string
	Raw []byte
	// Why is why it was released where that was not the user's wish.
	Why string
}

type waiting struct {
	Held
	owner   any
	decided chan Ruling
}

// Active reports that messages are held.
func (d *Desk) Active() bool { return d != nil && d.rules.Load() != nil }

// Intercept holds what a filter wants from now on, for an owner, which has one filter at a time. It
// may hold messages already.
func (d *Desk) Intercept(owner any, text string) error {
	f, err := filter.ParseLive(text, d.Now())
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setLocked(owner, &rule{owner, f})
	return nil
}

// End holds nothing more for an owner, and releases what was held for it.
func (d *Desk) End(owner any, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setLocked(owner, nil)
	for _, w := range slices.Clone(d.held) {
		if w.owner == owner {
			d.decideLocked(w, Ruling{How: Released, Why: why})
		}
	}
}

func (d *Desk) setLocked(owner any, new *rule) {
	var rules []rule
	if before := d.rules.Load(); before != nil {
		rules = slices.DeleteFunc(slices.Clone(*before), func(r rule) bool { return r.owner == owner })
	}
	if new != nil {
		rules = append(rules, *new)
	}
	if len(rules) == 0 {
		d.rules.Store(nil)
		d.asked = nil
		return
	}
	d.rules.Store(&rules)
}

// Hold waits for the verdict about a message that a filter wants. When ctx is done the message is
// released.
func (d *Desk) Hold(ctx context.Context, m Candidate) Ruling {
	w := d.take(m)
	if w == nil {
		return Ruling{}
	}
	facts := wire.HeldFacts{How: Waiting, Kind: w.Kind, ID: w.Request, Method: w.Method, Name: w.Name}
	m.Note(facts, nil)
	limited, cancel := context.WithTimeout(ctx, cmp.Or(d.Longest, MaxHold))
	defer cancel()
	var v Ruling
	select {
	case v = <-w.decided:
	case <-limited.Done():
		why := "nothing was decided in " + cmp.Or(d.Longest, MaxHold).String()
		if ctx.Err() != nil {
			why = "the connection ended"
		}
		d.mu.Lock()
		d.decideLocked(w, Ruling{How: Released, Why: why})
		d.mu.Unlock()
		v = <-w.decided
	}
	facts.How, facts.Why = v.How, v.Why
	facts.Milliseconds = max(d.Now().Sub(w.Since).Milliseconds(), 1)
	raw := m.Raw
	switch {
	case v.How == Edited && m.Row.Dir == wire.Sent:
		raw = v.Raw
	case v.How == Released, m.Row.Dir == wire.Sent:
		raw = nil
	}
	m.Note(facts, raw)
	return v
}

// Row is what filters are asked about a message of a conversation, of capture.Live: of a response it
// is that of the request, with the other direction. Requests that crossed while nothing was held
// are not known.
func (d *Desk) Row(target, key string, dir wire.Direction, head *wire.HTTPHead, m *wire.Message) *capture.Row {
	answers := m != nil && m.Method == "" && len(m.ID) > 0
	of := func(asked wire.Direction) string {
		return asked.String() + "\n" + target + "\n" + key + "\n" + string(m.ID)
	}
	if answers {
		d.mu.Lock()
		row := d.asked[of(1-dir)]
		delete(d.asked, of(1-dir))
		d.mu.Unlock()
		if row != nil {
			d.Live.Answered(row, key, m)
			answer := *row
			answer.Dir = dir
			return &answer
		}
	}
	row := d.Live.Row(target, key, dir, head, m)
	if m != nil && m.Kind == wire.Request && d.Active() && len(row.ID)+len(row.Method)+len(row.Name) <= mostNamed {
		d.mu.Lock()
		if d.asked == nil || len(d.asked) > mostAsked {
			d.asked = map[string]*capture.Row{}
		}
		d.asked[of(dir)] = row
		d.mu.Unlock()
	}
	return row
}

// take puts a message on the desk where a filter wants it and there is room.
func (d *Desk) take(m Candidate) *waiting {
	if !d.Active() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	rules := d.rules.Load()
	if rules == nil {
		return nil
	}
	i := slices.IndexFunc(*rules, func(r rule) bool { return r.filter.MatchLive(m.Row, m.Raw) })
	if i < 0 {
		return nil
	}
	if len(d.held) >= mostMessages || len(m.Raw) > longestMessage || d.bytes+len(m.Raw) > mostHeldBytes {
		d.passed++
		d.wakeLocked()
		return nil
	}
	d.last++
	now := d.Now()
	w := &waiting{owner: (*rules)[i].owner, decided: make(chan Ruling, 1), Held: Held{N: d.last, Dir: m.Row.Dir.String(), Kind: kindOf(m.Message),
		Method: m.Row.Method, Name: m.Row.Name, Request: string(m.ID), Target: m.Row.Target, Client: m.Row.Client(), Server: m.Row.Server(),
		Message: bytes.Clone(m.Raw), Since: now, Until: now.Add(cmp.Or(d.Longest, MaxHold))}}
	d.held = append(d.held, w)
	d.bytes += len(m.Raw)
	d.wakeLocked()
	return w
}

func kindOf(m *wire.Message) string {
	switch m.Kind {
	case wire.Request:
		return "request"
	case wire.Notification:
		return "notification"
	}
	return "response"
}

// Decide lets a message go as a verdict says.
func (d *Desk) Decide(n int, v Ruling) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.held, func(w *waiting) bool { return w.N == n })
	switch {
	case i < 0:
		return ErrNotHeld
	case v.How == Answered && d.held[i].Kind != "request":
		return fmt.Errorf("a %s cannot be answered", d.held[i].Kind)
	}
	d.decideLocked(d.held[i], v)
	return nil
}

func (d *Desk) decideLocked(w *waiting, v Ruling) {
	i := slices.Index(d.held, w)
	if i < 0 {
		return // it has its verdict
	}
	d.held = slices.Delete(d.held, i, i+1)
	d.bytes -= len(w.Message)
	w.decided <- v
	d.wakeLocked()
}

// List gives the messages that wait, the oldest first, and how many have passed because there was
// no room for them. Their bytes must not be changed.
func (d *Desk) List() (held []Held, passed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.held {
		held = append(held, w.Held)
	}
	return held, d.passed
}

// Changes gives a channel that has a value once the List has changed since the last one was taken.
// The caller must end it.
func (d *Desk) Changes() (changed <-chan struct{}, end func()) {
	wake := make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wakes == nil {
		d.wakes = map[chan struct{}]bool{}
	}
	d.wakes[wake] = true
	return wake, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.wakes, wake)
	}
}

func (d *Desk) wakeLocked() {
	for wake := range d.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}
