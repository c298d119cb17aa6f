package client

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A supervisor keeps a stdio server running between commands. It is a process of its
// own with a unix socket, at which each command speaks with the server as if it
// had started it. Both ends of that socket are mcpc; what crosses is lines, each
// with a letter before it that says what it is.
const heldFormat = 1

// What a command says. One that does not say markUse has only come to look.
const (
	markUse  = 'u' // it will speak with the server
	markLine = 'i' // a line for the server's standard input
	markKeep = 'k' // live on when the one who opened it has gone
	markEnd  = 'c' // end the server
)

// What a supervisor says.
const (
	markHello = 'h' // Status, before anything else
	markOut   = 'o' // a line of the server's standard output
	markErr   = 'e' // a line of its standard error
	markLarge = 'l' // a line of standard output was longer than so many bytes
	markOver  = 'x' // a ending: nothing can come any more
)

// A Holding is what a supervisor is told.
type Holding struct {
	Command Command
	// Idle is how long the server lives without being used; 0 is for ever.
	Idle time.Duration
	// Message bounds a line of the server's output in bytes; 0 is no limit.
	Message int64
	// Socket is where the supervisor listens; it is removed when the server ends.
	Socket string
	// Opener is the connection of the command that opens the session. The server
	// ends with it unless it says that the session is to be kept.
	Opener net.Conn
	Now    func() time.Time
}

// Status is what a supervisor says of itself.
type HeldFacts struct {
	Format int `json:"format"`
	// PID is the supervisor, Server the process that it holds.
	PID    int       `json:"pid"`
	Server int       `json:"server"`
	Since  time.Time `json:"since"`
	// Idle is how long the server lives without being used, in nanoseconds, and Left
	// what is left of that; Idle is 0 where it is for ever.
	Idle time.Duration `json:"idle"`
	Left time.Duration `json:"left"`
	// Users counts the commands that speak with the server.
	Users int `json:"users"`
}

// A ending says why nothing can come from the server any more.
type heldEnd struct {
	// Kind, Text and Hint are those of a server that could not be started; of any other
	// Text is why the supervisor ended it.
	Kind wire.Kind `json:"kind,omitempty"`
	Text string    `json:"text,omitempty"`
	Hint wire.Hint `json:"hint,omitempty"`
	// Ended and Stderr are those of wire.ProcessFacts.
	Ended  string `json:"ended,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// A supervisor is the state of one.
type holder struct {
	Holding
	listener net.Listener
	child    *child
	since    time.Time
	// heard is closed when the server's output has ended, ending when the server is to end.
	heard, ending chan struct{}
	// writing guards writes to the server. It is not locked while mu is held.
	writing sync.Mutex
	writers sync.WaitGroup

	mu sync.Mutex
	// why is the reason why the server is to end, "" while it is not; parted is set when
	// all connections were told.
	why    string
	parted bool
	kept   bool
	lines  map[*user]bool
	// idle ends the server, which a user spoke with last at used.
	idle struct {
		timer *time.Timer
		used  time.Time
	}
	switchboard
}

// Hold starts a server and keeps it until a command ends it, the opener exits without
// keeping it, no command has used it for the idle time, ctx ends, or the server ends or
// no longer reads its stdin. Neither process nor socket is left then.
func Hold(ctx context.Context, opt Holding) {
	h := &holder{Holding: opt, since: opt.Now(), heard: make(chan struct{}), ending: make(chan struct{}),
		lines: map[*user]bool{}, switchboard: newSwitchboard()}
	h.turn = sync.NewCond(&h.mu)
	h.idle.used = opt.Now()
	h.idle.timer = time.AfterFunc(time.Hour, h.isIdle)
	h.idle.timer.Stop()
	if f := h.begin(); f != nil {
		_ = writeMarked(opt.Opener, markOver, jsonOf(heldEnd{Kind: f.kind, Text: f.text, Hint: wire.Hint(f.hint)}))
		opt.Opener.Close()
		return
	}
	go h.read()
	h.child.watch(h.complained, h.heard)
	h.join(opt.Opener, true)
	go h.accept()
	h.wait(ctx)
}

// begin opens the socket and starts the server.
func (h *holder) begin() *fault {
	var err error
	if h.listener, err = listenHeld(h.Socket); err != nil {
		return &fault{kind: wire.LocalIO, text: "opening a socket for the kept server: " + err.Error()}
	}
	if h.child, err = startChild(h.Command); err != nil {
		h.shut()
		return startFault(h.Command, err)
	}
	return nil
}

// wait waits for the end of the server, or for the reason to end it.
func (h *holder) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
		h.end("the keep process was stopped by a signal")
	case <-h.heard:
	case <-h.ending:
	}
	h.shut()
	h.mu.Lock()
	why := h.why
	h.mu.Unlock()
	if why == "" { // the server ended by itself: commands are told at once
		facts := h.child.howEnded()
		h.farewell(heldEnd{Ended: facts.Ended, Stderr: facts.Stderr})
		h.child.end()
	} else {
		h.child.end()
		h.farewell(heldEnd{Text: why, Stderr: h.child.stderr.text()})
	}
	h.writers.Wait()
	SweepHeld(filepath.Dir(h.Socket))
}

// end is the reason why the server ends; the first one stays.
func (h *holder) end(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLocked(why)
}

func (h *holder) endLocked(why string) {
	if h.why == "" {
		h.why = why
		close(h.ending)
		h.turn.Broadcast()
	}
}

// shut removes the socket and accepts no more connections.
func (h *holder) shut() {
	_ = os.Remove(h.Socket)
	h.listener.Close()
}

// isIdle ends the server when no command has used it for the idle time.
func (h *holder) isIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.users) == 0 && h.leftLocked() <= 0 {
		h.endLocked("it was idle for " + Short(h.Idle))
	}
}

// leftLocked is what is left of the idle time.
func (h *holder) leftLocked() time.Duration {
	if len(h.users) > 0 {
		return h.Idle
	}
	return max(0, h.Idle-h.Now().Sub(h.idle.used))
}

// Short is a length of time without parts that are 0: 10m and not 10m0s.
func Short(d time.Duration) string {
	text := d.Round(time.Second).String()
	if d < time.Second {
		text = d.String()
	}
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero); n > 0 && text[n:] == zero {
			text = text[:n+1]
		}
	}
	return text
}

// complained takes a line of the server's standard error.
func (h *holder) complained(line []byte) { h.tellAll(markErr, line) }

// tellAll tells all users; what comes on standard error is kept where there is none.
func (h *holder) tellAll(mark byte, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.users) == 0 && mark == markErr {
		h.unheard.add(append(text, '\n'))
	}
	for _, u := range h.users {
		u.putLocked(mark, text)
	}
}

// farewell sends end to all connections and closes them.
func (h *holder) farewell(end heldEnd) {
	raw := jsonOf(end)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLocked("it has ended")
	h.parted = true
	for u := range h.lines {
		u.putLocked(markOver, raw)
		u.doneLocked()
		time.AfterFunc(graceForEnd, func() { u.conn.Close() })
	}
}

func jsonOf(v any) []byte {
	raw, _ := json.Marshal(v) // structs of texts and numbers
	return raw
}

func writeMarked(w io.Writer, mark byte, text []byte) error {
	_, err := w.Write(marked(mark, text))
	return err
}

func marked(mark byte, text []byte) []byte {
	return slices.Concat([]byte{mark}, text, []byte{'\n'})
}
