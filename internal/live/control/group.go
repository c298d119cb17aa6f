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

// A Group is the set of running taps and proxies, as one view uses them. Commands that start later
// join within a second. When the Group is closed or its process ends, the commands release
// everything that they hold for it.
type Group struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	// changed has a value after Held or Peers changed.
	changed chan struct{}
	// scanning is locked while a goroutine looks for sockets.
	scanning sync.Mutex

	// mu guards the fields below and the marked fields of the peers.
	mu sync.Mutex
	// peers maps the path of a socket to its connection.
	peers map[string]*peer
	// intercepts and filter are the arguments of the last Intercept.
	intercepts bool
	filter     string
}

// Options configures a Group.
type Options struct {
	// Dirs are the directories of state.LiveSockets.
	Dirs []string
	Now  func() time.Time
}

// A Held is a message that a command holds. Its ID is "PID:N".
type Held struct {
	proxy.Held
	ID   string
	Peer Hello
}

// ErrGone is returned for a message that is no longer held.
var ErrGone = proxy.ErrNotHeld

// scanInterval is the time between two scans for new sockets.
const scanInterval = 500 * time.Millisecond

// Dial connects to all running commands. The caller must Close the Group.
func Dial(o Options) *Group {
	g := &Group{o: o, changed: make(chan struct{}, 1), peers: map[string]*peer{}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	for _, dir := range g.dirs() {
		keepalive.RemoveStaleSockets(dir)
	}
	g.scan(g.ctx)
	go func() {
		for pause.For(g.ctx, scanInterval) == nil {
			g.scan(g.ctx)
		}
	}()
	return g
}

// dirs returns the directories where no other user can create a socket.
func (g *Group) dirs() []string {
	return slices.DeleteFunc(slices.Clone(g.o.Dirs), func(dir string) bool {
		return state.CheckHeld(filepath.Join(dir, "any")) != nil
	})
}

// Close closes all connections, which releases everything held for the Group.
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

// Changed returns a channel that has a value after something changed since the last receive.
func (g *Group) Changed() <-chan struct{} { return g.changed }

// signalChange puts a value into the channel changed.
func (g *Group) signalChange() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// Held returns the held messages, the oldest first. The caller must not change their bytes.
func (g *Group) Held() []Held {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []Held
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

// Passed returns how many messages passed because too many were held.
func (g *Group) Passed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, p := range g.peers {
		n += p.passed
	}
	return n
}

// Peers returns the running commands.
func (g *Group) Peers() []Hello {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []Hello
	for _, p := range g.peers {
		if p.conn != nil {
			all = append(all, p.hello)
		}
	}
	sliceutil.Sort(all, func(a, b Hello) int { return a.Pid - b.Pid })
	return all
}

// Intercepting reports whether messages are held, and returns the filter.
func (g *Group) Intercepting() (bool, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.intercepts, g.filter
}

// Intercept makes all commands hold messages that match a filter; the empty filter matches every
// message. If on is false, they stop and release all messages. An invalid filter is an error of
// filter.ParseLive and changes nothing. Intercept waits for the commands for at most a second.
func (g *Group) Intercept(ctx context.Context, on bool, text string) error {
	if on {
		if _, err := filter.ParseLive(text, g.o.Now()); err != nil {
			return err
		}
	}
	g.mu.Lock()
	g.intercepts = on
	g.filter = text
	peers := g.livingLocked()
	g.mu.Unlock()
	var orders []func()
	for _, p := range peers {
		orders = append(orders, func() {
			// An error means that the command has ended and holds nothing.
			_, _ = p.send(g.ctx, Order{Do: "intercept", On: on, Filter: text})
		})
	}
	runAll(ctx, orders)
	g.scan(ctx) // finds commands that started just now
	return nil
}

// A RuleID identifies a fault rule: the process id of its command, and its number there.
type RuleID struct{ Pid, Number int }

// AddRules adds fault rules to the command with a process id, and returns the last of them. It returns
// ErrGone if the command has ended. source names the origin of the rules.
func (g *Group) AddRules(ctx context.Context, pid int, source, rules string) (RuleID, error) {
	reply, err := g.sendTo(ctx, pid, Order{Do: "add", Source: source, Rules: rules})
	id := RuleID{Pid: pid}
	for _, r := range reply.Rules {
		if r.Source == source {
			id.Number = r.Number
		}
	}
	return id, err
}

// RemoveRule removes a fault rule. It returns an error if the rule or its command no longer exists.
func (g *Group) RemoveRule(ctx context.Context, id RuleID) error {
	_, err := g.sendTo(ctx, id.Pid, Order{Do: "remove", Number: id.Number})
	return err
}

// sendTo sends an order to the command with a process id. It returns ErrGone if the command has ended.
func (g *Group) sendTo(ctx context.Context, pid int, order Order) (Reply, error) {
	for _, p := range g.living() {
		if p.hello.Pid == pid {
			return p.send(ctx, order)
		}
	}
	return Reply{}, ErrGone
}

// UnfiredRules returns the fault rules that have the source and have not fired. It ignores errors: a
// command that has ended has no rules.
func (g *Group) UnfiredRules(ctx context.Context, source string) []RuleID {
	var unfired []RuleID
	for _, p := range g.living() {
		listed, _ := p.send(ctx, Order{Do: "list"})
		for _, r := range listed.Rules {
			if r.Source == source && r.Fired == 0 {
				unfired = append(unfired, RuleID{p.hello.Pid, r.Number})
			}
		}
	}
	return unfired
}

// RemoveRules removes the fault rules that have the source from all commands, and returns how many of
// them had not fired. It ignores errors: a command that has ended has no rules.
func (g *Group) RemoveRules(ctx context.Context, source string) int {
	removed := 0
	for _, p := range g.living() {
		listed, _ := p.send(ctx, Order{Do: "list"})
		for _, r := range listed.Rules {
			if r.Source != source {
				continue
			}
			reply, _ := p.send(ctx, Order{Do: "remove", Number: r.Number})
			if r.Fired == 0 {
				removed += reply.Removed
			}
		}
	}
	return removed
}

// living returns the connected peers.
func (g *Group) living() []*peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.livingLocked()
}

// livingLocked returns the connected peers. The caller holds g.mu.
func (g *Group) livingLocked() []*peer {
	var living []*peer
	for _, p := range g.peers {
		if p.conn != nil {
			living = append(living, p)
		}
	}
	return living
}

// Decide sends an order about a held message to the command that holds it: "release", "edit",
// "drop" or "answer". id is the id of a Held; the order needs no Number. The bytes of an edited
// message need not be valid. An answered request is not passed on. It returns ErrGone if the
// message is not held any more or its command has ended.
func (g *Group) Decide(ctx context.Context, id string, order Order) error {
	pid, number, _ := strings.Cut(id, ":")
	var target *peer
	for _, p := range g.living() {
		if strconv.Itoa(p.hello.Pid) == pid {
			target = p
		}
	}
	var err error
	order.Number, err = strconv.Atoi(number)
	if err != nil || target == nil {
		return ErrGone
	}
	_, err = target.send(ctx, order)
	return err
}
