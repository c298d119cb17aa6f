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

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/recent"
	"mcpc/internal/wire"
)

const (
	// MaxHold is how long a message is held; then it passes unchanged.
	MaxHold = 10 * time.Minute
	// What more would have to be held passes: mostMessages at a time, mostHeldBytes of them
	// together, and longestMessage of one.
	maxWaiting        = 256
	maxWaitingBytes   = 64 << 20
	maxWaitingMessage = 16 << 20
	minPending        = 5_000
	// mostNamed is how long the id and the names of a request are that is remembered for its response.
	maxRowNames = 4 << 10
)

// A Desk decides about the messages of one link on their way: fault rules change them, and filters of views hold them.
// Without rules and filters all messages pass. Its methods may be called by several goroutines.
type Desk struct {
	Now func() time.Time
	// Encode makes a text fit for a header field.
	Encode func(string) string
	// Link is how client and server are connected.
	Link Link
	// Seed is that of rules without one of their own. The random numbers of a rule depend on its seed and its place
	// among the rules only.
	Seed uint64
	// Longest is how long a message is held; 0 is MaxHold.
	Longest time.Duration
	// Live makes the rows that filters are asked about.
	Live rows.Live

	filters  atomic.Pointer[[]viewFilter]
	hasRules atomic.Bool // a rule is in force
	// mu guards what follows.
	mu           sync.Mutex
	waiting      []*heldMessage
	waitingBytes int
	lastNumber   int
	skipped      int
	listeners    map[chan struct{}]bool
	// asked are the rows of requests that wait for their response.
	pending recent.Map[string, *rows.Row]
	rules   []*Rule // with those that were removed
	// expired are the rules that have ended a session, by its id.
	expiredSessions recent.Map[string, *Rule]
}

// ErrNotHeld is the error for a message that is not held any more.
var ErrNotHeld = errors.New("the message is not held any more")

// A holder is the filter of a view, which is told from others by its owner.
type viewFilter struct {
	owner  any
	filter filter.Filter
}

// A Candidate is a message that may be held.
type Candidate struct {
	*wire.Message
	// Row is what filters are asked about. Its direction is that of the message.
	Row *rows.Row
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

type heldMessage struct {
	Held
	owner  any
	ruling chan Ruling
}

// Holds reports whether a filter is set, so that messages may be held.
func (d *Desk) Holds() bool { return d.filters.Load() != nil }

// judges reports whether messages may be held or changed.
func (d *Desk) mayIntervene() bool { return d.Holds() || d.hasRules.Load() }

// Intercept holds what a filter wants from now on, for an owner, which has one filter at a time. It
// may hold messages already.
func (d *Desk) Intercept(owner any, text string) error {
	f, err := filter.ParseLive(text, d.Now())
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setFilterLocked(owner, &viewFilter{owner, f})
	return nil
}

// End holds nothing more for an owner, and releases what was held for it.
func (d *Desk) End(owner any, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setFilterLocked(owner, nil)
	for _, w := range slices.Clone(d.waiting) {
		if w.owner == owner {
			d.decideLocked(w, Ruling{How: Released, Why: why})
		}
	}
}

func (d *Desk) setFilterLocked(owner any, added *viewFilter) {
	var filters []viewFilter
	if before := d.filters.Load(); before != nil {
		filters = slices.DeleteFunc(slices.Clone(*before), func(h viewFilter) bool { return h.owner == owner })
	}
	if added != nil {
		filters = append(filters, *added)
	}
	if len(filters) == 0 {
		d.filters.Store(nil)
		d.pending = recent.Map[string, *rows.Row]{}
		return
	}
	d.pending.Least = minPending
	d.filters.Store(&filters)
}

// Hold waits for the verdict about a message that a filter wants. When ctx is done the message is
// released.
func (d *Desk) Hold(ctx context.Context, m Candidate) Ruling {
	w := d.enqueue(m)
	if w == nil {
		return Ruling{}
	}
	facts := wire.HeldFacts{How: Waiting, Kind: w.Kind, ID: w.Request, Method: w.Method, Name: w.Name}
	m.Note(facts, nil)
	limited, cancel := context.WithTimeout(ctx, cmp.Or(d.Longest, MaxHold))
	defer cancel()
	var ruling Ruling
	select {
	case ruling = <-w.ruling:
	case <-limited.Done():
		why := "nothing was decided in " + cmp.Or(d.Longest, MaxHold).String()
		if ctx.Err() != nil {
			why = "the connection ended"
		}
		d.mu.Lock()
		d.decideLocked(w, Ruling{How: Released, Why: why})
		d.mu.Unlock()
		ruling = <-w.ruling
	}
	facts.How = ruling.How
	facts.Why = ruling.Why
	facts.Milliseconds = max(d.Now().Sub(w.Since).Milliseconds(), 1)
	raw := m.Raw
	if ruling.How == Edited && m.Row.Dir == wire.Sent {
		raw = ruling.Raw
	} else if ruling.How == Released || m.Row.Dir == wire.Sent {
		raw = nil
	}
	m.Note(facts, raw)
	return ruling
}

// Row is what filters are asked about a message of a conversation, of rows.Live: of a response it
// is that of the request, with the other direction. Requests that crossed while nothing was held
// are not known.
func (d *Desk) Row(target, key string, dir wire.Direction, head *wire.HTTPHead, m *wire.Message) *rows.Row {
	isResponse := m != nil && m.Method == "" && len(m.ID) > 0
	pendingKey := func(asked wire.Direction) string {
		return asked.String() + "\n" + target + "\n" + key + "\n" + string(m.ID)
	}
	if isResponse && d.Holds() {
		d.mu.Lock()
		row := d.pending.Get(pendingKey(1 - dir))
		d.pending.Delete(pendingKey(1 - dir))
		d.mu.Unlock()
		if row != nil {
			d.Live.Answered(row, key, m)
			answer := *row
			answer.Dir = dir
			return &answer
		}
	}
	row := d.Live.Row(target, key, dir, head, m)
	if m != nil && m.Kind == wire.Request && d.Holds() && len(row.ID)+len(row.Method)+len(row.Name) <= maxRowNames {
		d.mu.Lock()
		d.pending.Put(pendingKey(dir), row)
		d.mu.Unlock()
	}
	return row
}

// take puts a message on the desk where a filter wants it and there is room.
func (d *Desk) enqueue(m Candidate) *heldMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	filters := d.filters.Load()
	if filters == nil {
		return nil
	}
	i := slices.IndexFunc(*filters, func(h viewFilter) bool { return h.filter.MatchLive(m.Row, m.Raw) })
	if i < 0 {
		return nil
	}
	if len(d.waiting) >= maxWaiting || len(m.Raw) > maxWaitingMessage || d.waitingBytes+len(m.Raw) > maxWaitingBytes {
		d.skipped++
		d.notifyLocked()
		return nil
	}
	d.lastNumber++
	now := d.Now()
	kind := "response"
	switch m.Kind {
	case wire.Request:
		kind = "request"
	case wire.Notification:
		kind = "notification"
	}
	w := &heldMessage{
		owner:  (*filters)[i].owner,
		ruling: make(chan Ruling, 1),
		Held: Held{
			N:       d.lastNumber,
			Dir:     m.Row.Dir.String(),
			Kind:    kind,
			Method:  m.Row.Method,
			Name:    m.Row.Name,
			Request: string(m.ID),
			Target:  m.Row.Target,
			Client:  m.Row.Client(),
			Server:  m.Row.Server(),
			Message: bytes.Clone(m.Raw),
			Since:   now,
			Until:   now.Add(cmp.Or(d.Longest, MaxHold)),
		},
	}
	d.waiting = append(d.waiting, w)
	d.waitingBytes += len(m.Raw)
	d.notifyLocked()
	return w
}

// Decide lets a message go as a verdict says.
func (d *Desk) Decide(n int, ruling Ruling) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.waiting, func(w *heldMessage) bool { return w.N == n })
	if i < 0 {
		return ErrNotHeld
	}
	if ruling.How == Answered && d.waiting[i].Kind != "request" {
		return fmt.Errorf("a %s cannot be answered", d.waiting[i].Kind)
	}
	d.decideLocked(d.waiting[i], ruling)
	return nil
}

func (d *Desk) decideLocked(w *heldMessage, ruling Ruling) {
	i := slices.Index(d.waiting, w)
	if i < 0 {
		return // it has its verdict
	}
	d.waiting = slices.Delete(d.waiting, i, i+1)
	d.waitingBytes -= len(w.Message)
	w.ruling <- ruling
	d.notifyLocked()
}

// List gives the messages that wait, the oldest first, and how many have passed because there was
// no room for them. Their bytes must not be changed.
func (d *Desk) List() (held []Held, passed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.waiting {
		held = append(held, w.Held)
	}
	return held, d.skipped
}

// Changes gives a channel that has a value once the List has changed since the last one was taken.
// The caller must end it.
func (d *Desk) Changes() (changed <-chan struct{}, end func()) {
	listener := make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listeners == nil {
		d.listeners = map[chan struct{}]bool{}
	}
	d.listeners[listener] = true
	return listener, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.listeners, listener)
	}
}

func (d *Desk) notifyLocked() {
	for listener := range d.listeners {
		select {
		case listener <- struct{}{}:
		default:
		}
	}
}

// An Introduction learns what the two sides of a conversation call themselves while nothing is
// held, so that filters know it when something is. What is known is not read again: in 2026-07-28
// each request names its client, and each result may name the server.
type Introduction struct {
	// named is set where a request named the client; asked is that request where it was read.
	clientNamed bool
	request     *rows.Row
}

// longestIntroduction is how long a message may be to be looked at.
const maxIntroduction = 64 << 10

// Learn looks at a frame. Target and session name the conversation.
func (i *Introduction) Learn(d *Desk, target, session string, f wire.Frame) {
	if f.Kind != wire.Body && f.Kind != wire.Event || len(f.Raw) > maxIntroduction {
		return
	}
	if f.Dir == wire.Sent && bytes.Contains(f.Raw, []byte("lientInfo")) {
		i.clientNamed = true
		if known, _ := d.Live.Knows(target, session); known && !bytes.Contains(f.Raw, []byte("initialize")) {
			return
		}
		if m := wire.ParseMessage(f.Raw); m.Method != "" {
			i.request = d.Live.Row(target, session, wire.Sent, nil, m)
		}
	} else if f.Dir == wire.Received && i.clientNamed && bytes.Contains(f.Raw, []byte("erverInfo")) {
		if i.request == nil {
			if _, known := d.Live.Knows(target, session); known {
				return
			}
			i.request = d.Live.Row(target, session, wire.Sent, nil, nil)
		}
		d.Live.Answered(i.request, session, wire.ParseMessage(f.Raw))
	}
}
