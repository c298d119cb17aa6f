package liveview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/english"
	"mcpc/internal/live"
	"mcpc/internal/live/control"
	"mcpc/internal/live/view"
	"mcpc/internal/pause"
)

// faultSource returns the source of the rules that this view adds. It differs from the sources of
// other running views, so that each view removes only its own rules.
func faultSource() string { return fmt.Sprintf("mcpc inspect, process %d", os.Getpid()) }

const (
	// faultTime limits how long commands may take to add or remove rules.
	faultTime = 5 * time.Second
	// faultInterval is the time between two looks at whether a fault has fired.
	faultInterval = time.Second
)

// An armedFault is a fault that the view has set, and its rule.
type armedFault struct {
	view.ArmedFault
	rule control.RuleID
}

// SetFault adds a rule for one message to the command that made the exchange, or else to every running
// tap and proxy of the same server. The empty kind removes the fault with an ID, or all of the view.
func (a *Actor) SetFault(ctx context.Context, f view.Fault) (string, error) {
	if !a.allowed().Intercept {
		return "", view.NotAllowed{Power: "intercept"}
	}
	g, err := a.openGroup()
	if err != nil {
		return "", err
	}
	if g == nil {
		return "", errors.New("the view has ended")
	}
	if f.Kind == "" && f.ID != "" {
		return a.removeFault(ctx, g, f.ID)
	}
	if f.Kind == "" {
		return english.Plural(a.removeFaults(ctx, g), "fault") + " of this view removed", nil
	}
	kinds := view.FaultKinds()
	i := slices.IndexFunc(kinds, func(k view.FaultKind) bool { return k.Kind == f.Kind })
	if i < 0 || f.Method == "" {
		return "", fmt.Errorf("there is no fault %q for this exchange", f.Kind)
	}
	peer, err := faultPeer(g.Peers(), f)
	if err != nil {
		return "", err
	}
	action := kinds[i].HTTP
	if peer.By == "tap" {
		action = kinds[i].Stdio
	}
	if action == "" {
		return "", errors.New("a stdio server sends no HTTP status: choose a JSON-RPC error")
	}
	ctx, cancel := context.WithTimeout(ctx, faultTime)
	defer cancel()
	rule := faultFilter(peer, f) + " #1 do " + action
	added, err := g.AddRules(ctx, peer.Pid, faultSource(), rule)
	if err != nil {
		return "", fmt.Errorf("the fault was not set: %w", err)
	}
	request := strings.TrimSpace(f.Method + " " + f.Name)
	a.arm(g, armedFault{
		rule: added,
		ArmedFault: view.ArmedFault{
			ID: fmt.Sprintf("%d:%d", added.Pid, added.Number), Kind: f.Kind, Name: kinds[i].Name, Request: request,
		},
	})
	return "the next " + request + " through this " + peer.By + ": " + kinds[i].Name, nil
}

// faultPeer returns the running command that gets the fault: the command that recorded the exchange, or
// else the newest command with the same server.
func faultPeer(peers []control.Hello, f view.Fault) (control.Hello, error) {
	key, _ := live.ParseKey(f.Key)
	for _, p := range peers {
		if p.Run != 0 && p.Run == key.Run {
			return p, nil
		}
	}
	for _, p := range slices.Backward(peers) { // sorted by process id
		if f.Target != "" && p.Target == f.Target {
			return p, nil
		}
	}
	const text = "no tap or proxy of this server is running: faults need one between client and server"
	return control.Hello{}, errors.New(text)
}

// faultFilter returns the beginning of the rule, which matches the requests like an exchange. A proxy of
// several servers gets the fault for one of them.
func faultFilter(peer control.Hello, f view.Fault) string {
	text := "when method:" + filter.Quote(f.Method)
	if f.Name != "" {
		text += " name:" + filter.Quote(f.Name)
	}
	if f.Target != "" && f.Target != peer.Target {
		text += " target:" + filter.Quote(f.Target)
	}
	return text
}

// removeFaults removes the rules of this view from all running commands, and returns their number.
func (a *Actor) removeFaults(ctx context.Context, g *control.Group) int {
	ctx, cancel := context.WithTimeout(ctx, faultTime)
	defer cancel()
	a.mu.Lock()
	faults := slices.Clone(a.armed)
	a.mu.Unlock()
	removed := g.RemoveRules(ctx, faultSource())
	a.forget(faults)
	return removed
}

// removeFault removes the fault with an ID.
func (a *Actor) removeFault(ctx context.Context, g *control.Group, id string) (string, error) {
	a.mu.Lock()
	faults := slices.Clone(a.armed)
	a.mu.Unlock()
	i := slices.IndexFunc(faults, func(f armedFault) bool { return f.ID == id })
	if i < 0 {
		return "", errors.New("this fault has fired or was removed")
	}
	fault := faults[i]
	ctx, cancel := context.WithTimeout(ctx, faultTime)
	defer cancel()
	if err := g.RemoveRule(ctx, fault.rule); err != nil {
		return "", fmt.Errorf("the fault was not removed: %w", err) // if it has fired, followFaults forgets it
	}
	a.forget([]armedFault{fault})
	return "removed: " + fault.Name + " for " + fault.Request, nil
}

// Faults returns the faults of the view that no request has got yet, in the order in which they were set.
func (a *Actor) Faults() []view.ArmedFault {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []view.ArmedFault
	for _, f := range a.armed {
		all = append(all, f.ArmedFault)
	}
	return all
}

// arm adds a fault to those of the view, and makes a goroutine look which of them have fired.
func (a *Actor) arm(g *control.Group, f armedFault) {
	a.mu.Lock()
	a.armed = append(a.armed, f)
	isFollowed := a.followsFaults
	a.followsFaults = true
	a.mu.Unlock()
	a.Changed()
	if !isFollowed {
		go a.followFaults(g)
	}
}

// followFaults removes faults from the list when they have fired, until none is left or the view ends.
func (a *Actor) followFaults(g *control.Group) {
	for pause.For(a.ctx, faultInterval) == nil {
		a.mu.Lock()
		known := slices.Clone(a.armed)
		a.followsFaults = len(known) > 0
		a.mu.Unlock()
		if len(known) == 0 {
			return
		}
		unfired := g.UnfiredRules(a.ctx, faultSource())
		a.forget(slices.DeleteFunc(known, func(f armedFault) bool { return slices.Contains(unfired, f.rule) }))
	}
}

// forget removes faults from the list.
func (a *Actor) forget(faults []armedFault) {
	if len(faults) == 0 {
		return
	}
	a.mu.Lock()
	a.armed = slices.DeleteFunc(a.armed, func(f armedFault) bool { return slices.Contains(faults, f) })
	a.mu.Unlock()
	a.Changed()
}
