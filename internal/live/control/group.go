package control

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/client/keepalive"
	"mcpc/internal/pause"
	"mcpc/internal/proxy"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
)

// A Group is all taps and proxies that run, for one view. Those that start later join it within a
// second. When it is closed, or its process ends, all that is held for it is released.
type Group struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	// changed has a value once Held or Peers have changed.
	changed chan struct{}
	// looking keeps two looks for sockets apart.
	looking sync.Mutex

	// mu guards what follows, and what is known of the peers.
	mu     sync.Mutex
	peers  map[string]*peer
	on     bool
	wanted string
}

// Options say where sockets are.
type Options struct {
	// Dirs are those of state.LiveSockets.
	Dirs []string
	Now  func() time.Time
}

// A Held is a message that waits in one of the commands. Its ID is "PID:N".
type Held struct {
	proxy.Held
	ID   string
	Peer Hello
}

// ErrGone is the error for a message that is not held any more.
var ErrGone = proxy.ErrNotHeld

// lookEvery is how often new sockets are looked for.
const lookEvery = 500 * time.Millisecond

// Dial connects to all that run. A caller must Close the Group.
func Dial(o Options) *Group {
	g := &Group{o: o, changed: make(chan struct{}, 1), peers: map[string]*peer{}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	for _, dir := range g.dirs() {
		keepalive.RemoveStaleSockets(dir)
	}
	g.look(g.ctx)
	go func() {
		for pause.For(g.ctx, lookEvery) == nil {
			g.look(g.ctx)
		}
	}()
	return g
}

// dirs are the directories in which no other user can have put a socket.
func (g *Group) dirs() []string {
	return slices.DeleteFunc(
		slices.Clone(g.o.Dirs),
		func(dir string) bool { return state.CheckHeld(filepath.Join(dir, "any")) != nil },
	)
}

// Close releases all that is held for the Group.
func (g *Group) Close() {
	g.stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.peers {
		if p.conn != nil {
			p.conn.Close()
		}
	}
}

// Changed has a value once something has changed since the last one was taken.
func (g *Group) Changed() <-chan struct{} { return g.changed }

func (g *Group) change() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// Held are the messages that wait, the oldest first. Their bytes must not be changed.
func (g *Group) Held() (all []Held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.peers {
		for _, h := range p.held {
			all = append(all, Held{h, fmt.Sprintf("%d:%d", p.hello.Pid, h.N), p.hello})
		}
	}
	sliceutil.Sort(all, func(a, b Held) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// Passed is how many messages have passed because there was no room to hold them.
func (g *Group) Passed() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.peers {
		n += p.passed
	}
	return n
}

// Peers are the commands that run.
func (g *Group) Peers() (all []Hello) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.peers {
		if p.conn != nil {
			all = append(all, p.hello)
		}
	}
	sliceutil.Sort(all, func(a, b Hello) int { return a.Pid - b.Pid })
	return all
}

// Intercepting reports whether messages are held, and the filter of those.
func (g *Group) Intercepting() (on bool, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.on, g.wanted
}

// Intercept holds what a filter wants from now on, in all commands; "" is every message. With on
// false nothing is held any more, and all is released. An error about the filter comes from
// filter.ParseLive, and nothing has changed then.
func (g *Group) Intercept(ctx context.Context, on bool, text string) error {
	if on {
		if _, err := filter.ParseLive(text, g.o.Now()); err != nil {
			return err
		}
	}
	g.mu.Lock()
	g.on = on
	g.wanted = text
	peers := g.livingLocked()
	g.mu.Unlock()
	var orders []func()
	for _, p := range peers {
		orders = append(
			orders,
			func() { _, _ = p.ask(g.ctx, Order{Do: "intercept", On: on, Filter: text}) },
		) // one that has just ended holds nothing
	}
	atOnce(ctx, orders)
	g.look(ctx) // one that has just begun
	return nil
}

func (g *Group) livingLocked() (living []*peer) {
	for _, p := range g.peers {
		if p.conn != nil {
			living = append(living, p)
		}
	}
	return living
}

// Decide has the command that holds a message carry out an order about it: "release", "edit", "drop" or "answer". The
// bytes of an edited message need not be valid. The side that a request is for does not get it if it is answered.
func (g *Group) Decide(ctx context.Context, id string, order Order) error {
	pid, number, _ := strings.Cut(id, ":")
	var to *peer
	g.mu.Lock()
	for _, p := range g.livingLocked() {
		if strconv.Itoa(p.hello.Pid) == pid {
			to = p
		}
	}
	g.mu.Unlock()
	var err error
	order.Number, err = strconv.Atoi(number)
	if err != nil || to == nil {
		return ErrGone
	}
	_, err = to.ask(ctx, order)
	return err
}
