package proxy

import (
	"bytes"
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
	// MaxHold is how long a message is held before it passes unchanged.
	MaxHold = 10 * time.Minute
	// A message that would exceed one of these limits is not held: the number of held messages,
	// their total bytes, and the bytes of the message.
	maxWaiting        = 256
	maxWaitingBytes   = 64 << 20
	maxWaitingMessage = 16 << 20
	// minPending is how many requests are remembered until their responses, at least.
	minPending = 5_000
	// maxRowNames is the length of the id, method and name of a request that is remembered.
	maxRowNames = 4 << 10
)

// A Desk decides about the messages of one link: fault rules change them, and filters of views hold
// them until a user decides. Without rules and filters all messages pass, except the messages of a
// session that a rule has expired. Its methods may be called concurrently.
type Desk struct {
	Now func() time.Time
	// Encode encodes a text for a header field.
	Encode func(string) string
	// Link is how client and server are connected.
	Link Link
	// Seed is the seed of rules without a seed. The random numbers of a rule depend only on its
	// seed and its number.
	Seed uint64
	// HoldLimit is how long a message is held; 0 means MaxHold.
	HoldLimit time.Duration
	// Live makes the rows that filters are matched with.
	Live rows.Live

	filters atomic.Pointer[[]viewFilter]
	// mayFire is set if there is a rule, or a session that a removed rule has expired. Add and Remove
	// store it with mu locked.
	mayFire atomic.Bool
	// mu guards the fields below. Filters are stored with mu locked.
	mu           sync.Mutex
	waiting      []*heldMessage
	waitingBytes int
	lastNumber   int // of a held message
	skipped      int // messages that exceeded a limit
	listeners    map[chan struct{}]bool
	// pending holds the rows of requests that wait for their response.
	pending recent.Map[string, *rows.Row]
	rules   []*Rule // including removed ones
	// expiredSessions holds the rule that expired a session, by the session's id.
	expiredSessions recent.Map[string, *Rule]
}

// ErrNotHeld is the error for a message that is not held any more.
var ErrNotHeld = errors.New("the message is no longer held")

// A viewFilter is the filter of a view. The owner identifies the view.
type viewFilter struct {
	owner  any
	filter filter.Filter
}

// A Candidate is a message that may be held.
type Candidate struct {
	*wire.Message
	// Row is what filters are matched with. It has the direction of the message.
	Row *rows.Row
	// Record is called when the hold begins and when it ends. Raw is what the recording would miss
	// otherwise: the message that an edit or a drop replaced, or the edited request. It may be nil.
	Record func(facts wire.HeldFacts, raw []byte)
}

// A Held is a message that waits.
type Held struct {
	N int `json:"n"`
	// Dir is "sent" by the client or "received", Kind "request", "response" or "notification".
	Dir  string `json:"dir"`
	Kind string `json:"kind"`
	// Method and Name are the request's, also for a response. Request is its id as JSON.
	Method  string `json:"method,omitempty"`
	Name    string `json:"name,omitempty"`
	Request string `json:"request,omitempty"`
	Target  string `json:"target"`
	Client  string `json:"client,omitempty"`
	Server  string `json:"server,omitempty"`
	// Message is the message as it was received, with its secrets.
	Message []byte    `json:"message"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
}

// The states of a held message.
const (
	Waiting  = "waiting"
	Released = "released"
	Edited   = "edited"
	Dropped  = "dropped"
	Answered = "answered"
)

// A Ruling is the decision about a message. How is "" if it was not held. Raw is the message that
// replaces an Edited one, or the result for a request that is Answered.
type Ruling struct {
	How string
	Raw []byte
	// Why is the reason for a release that the user did not order.
	Why string
}

// A heldMessage waits for a ruling.
type heldMessage struct {
	Held
	owner  any
	ruling chan Ruling
}

// MayHold reports whether a filter is set: messages may be held.
func (d *Desk) MayHold() bool { return d.filters.Load() != nil }

// mayIntervene reports whether messages may be held or changed.
func (d *Desk) mayIntervene() bool { return d.MayHold() || d.mayFire.Load() }

// Intercept sets the filter of an owner; matching messages are held from now on. It replaces the
// owner's previous filter. A message may be held before Intercept returns.
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

// StopIntercept removes the filter of an owner and releases the messages held for it.
func (d *Desk) StopIntercept(owner any, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setFilterLocked(owner, nil)
	for _, held := range slices.Clone(d.waiting) {
		if held.owner == owner {
			d.decideLocked(held, Ruling{How: Released, Why: why})
		}
	}
}

// setFilterLocked replaces the filter of an owner; added is the new filter, or nil to only remove
// the old one. After the last filter was removed, it forgets the pending requests, which only
// filters need. d.mu is locked.
func (d *Desk) setFilterLocked(owner any, added *viewFilter) {
	var filters []viewFilter
	if previous := d.filters.Load(); previous != nil {
		filters = slices.DeleteFunc(slices.Clone(*previous), func(view viewFilter) bool { return view.owner == owner })
	}
	if added != nil {
		filters = append(filters, *added)
	}
	if len(filters) == 0 {
		d.filters.Store(nil)
		d.pending = recent.Map[string, *rows.Row]{}
		return
	}
	d.pending.MinEntries = minPending
	d.filters.Store(&filters)
}

// Hold holds a message that matches a filter until it is decided about, and returns the decision.
// It releases the message when ctx is done or the time is over. The Ruling is empty if the message
// was not held.
func (d *Desk) Hold(ctx context.Context, m Candidate) Ruling {
	held := d.enqueue(m)
	if held == nil {
		return Ruling{}
	}
	facts := wire.HeldFacts{How: Waiting, Kind: held.Kind, ID: held.Request, Method: held.Method, Name: held.Name}
	m.Record(facts, nil)
	limit := d.holdTime()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var ruling Ruling
	select {
	case ruling = <-held.ruling:
	case <-limited.Done():
		why := "nothing was decided in " + limit.String()
		if ctx.Err() != nil {
			why = "the connection ended"
		}
		d.mu.Lock()
		d.decideLocked(held, Ruling{How: Released, Why: why})
		d.mu.Unlock()
		ruling = <-held.ruling // Decide's ruling, if Decide was first
	}
	facts.How = ruling.How
	facts.Why = ruling.Why
	facts.Milliseconds = max(d.Now().Sub(held.Since).Milliseconds(), 1) // 0 is left out of the JSON
	m.Record(facts, missedMessage(m, ruling))
	return ruling
}

// missedMessage returns the message that the recording would miss after a ruling, or nil. The
// recording sees what the client sends and receives. It misses an edited message of the client, as
// the server receives it, and a message of the server that does not pass as it is.
func missedMessage(m Candidate, ruling Ruling) []byte {
	if m.Row.Dir == wire.Sent {
		if ruling.How == Edited {
			return ruling.Raw
		}
		return nil
	}
	if ruling.How == Released {
		return nil
	}
	return m.Raw
}

// holdTime returns how long a message is held.
func (d *Desk) holdTime() time.Duration {
	if d.HoldLimit > 0 {
		return d.HoldLimit
	}
	return MaxHold
}

// Row returns the row that filters are matched with for a message. Key names the conversation, as
// in rows.Live. A response has the row of its request, with the response's direction; requests that
// were forwarded while no filter was set are unknown.
func (d *Desk) Row(target, key string, dir wire.Direction, head *wire.HTTPHead, m *wire.Message) *rows.Row {
	isResponse := m != nil && m.Method == "" && len(m.ID) > 0
	pendingKey := func(requestDir wire.Direction) string {
		return requestDir.String() + "\n" + target + "\n" + key + "\n" + string(m.ID)
	}
	if isResponse && d.MayHold() {
		d.mu.Lock()
		requestKey := pendingKey(1 - dir) // the request has the other direction
		row := d.pending.Get(requestKey)
		// A request has one response.
		d.pending.Delete(requestKey)
		d.mu.Unlock()
		if row != nil {
			d.Live.LearnServer(row, key, m)
			response := *row
			response.Dir = dir
			return &response
		}
	}
	row := d.Live.Row(target, key, dir, head, m)
	if m != nil && m.Kind == wire.Request && d.MayHold() && len(row.ID)+len(row.Method)+len(row.Name) <= maxRowNames {
		d.mu.Lock()
		d.pending.Put(pendingKey(dir), row)
		d.mu.Unlock()
	}
	return row
}

// enqueue adds a message to the held ones if a filter matches and no limit is exceeded. It returns
// nil if the message passes.
func (d *Desk) enqueue(m Candidate) *heldMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	filters := d.filters.Load()
	if filters == nil {
		return nil
	}
	i := slices.IndexFunc(*filters, func(view viewFilter) bool { return view.filter.MatchLive(m.Row, m.Message) })
	if i < 0 {
		return nil
	}
	if len(d.waiting) >= maxWaiting || len(m.Raw) > maxWaitingMessage || d.waitingBytes+len(m.Raw) > maxWaitingBytes {
		d.skipped++ // it passes
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
	held := &heldMessage{
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
			Until:   now.Add(d.holdTime()),
		},
	}
	d.waiting = append(d.waiting, held)
	d.waitingBytes += len(m.Raw)
	d.notifyLocked()
	return held
}

// Decide ends the hold of the message with number n. It returns ErrNotHeld if the message is not
// held, and another error for an answer to a message that is no request.
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

// decideLocked ends the hold of a message, unless it has ended. d.mu is locked.
func (d *Desk) decideLocked(held *heldMessage, ruling Ruling) {
	i := slices.Index(d.waiting, held)
	if i < 0 {
		return // already decided
	}
	d.waiting = slices.Delete(d.waiting, i, i+1)
	d.waitingBytes -= len(held.Message)
	held.ruling <- ruling // does not wait: a message gets one ruling, and the channel has room for it
	d.notifyLocked()
}

// List returns the held messages, oldest first, and how many messages passed because a limit was
// exceeded. The caller must not change the bytes of the messages.
func (d *Desk) List() (held []Held, passed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.waiting {
		held = append(held, w.Held)
	}
	return held, d.skipped
}

// Changes returns a channel that receives a value after each change of List; several changes may
// share a value. The caller must call end.
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

// notifyLocked wakes the receivers of Changes. d.mu is locked.
func (d *Desk) notifyLocked() {
	for listener := range d.listeners {
		select {
		case listener <- struct{}{}:
		default:
		}
	}
}

// An Introduction learns the names of client and server while nothing is held, so that filters know
// the names once something is. It does not read known names again: in 2026-07-28 each request names
// the client, and each result may name the server.
type Introduction struct {
	clientNamed bool      // a request named the client
	request     *rows.Row // the row of that request; nil if it was not read
}

// maxIntroduction is the length of the longest message that is searched for names.
const maxIntroduction = 64 << 10

// Learn reads the names in a frame. Target and session identify the conversation. It searches the
// bytes before it parses a message; a missing first letter makes the search independent of what
// precedes it.
func (i *Introduction) Learn(d *Desk, target, session string, f wire.Frame) {
	if f.Kind != wire.Body && f.Kind != wire.Event || len(f.Raw) > maxIntroduction {
		return
	}
	if f.Dir == wire.Sent && bytes.Contains(f.Raw, []byte("lientInfo")) {
		i.clientNamed = true
		if known, _ := d.Live.KnowsNames(target, session); known && !bytes.Contains(f.Raw, []byte("initialize")) {
			return
		}
		if m := wire.ParseMessage(f.Raw); m.Method != "" {
			i.request = d.Live.Row(target, session, wire.Sent, nil, m)
		}
	} else if f.Dir == wire.Received && i.clientNamed && bytes.Contains(f.Raw, []byte("erverInfo")) {
		if i.request == nil {
			if _, known := d.Live.KnowsNames(target, session); known {
				return
			}
			i.request = d.Live.Row(target, session, wire.Sent, nil, nil)
		}
		d.Live.LearnServer(i.request, session, wire.ParseMessage(f.Raw))
	}
}
