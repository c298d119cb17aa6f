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
)

// faultSource returns the source of the rules that this view adds. It differs from the sources of
// other running views, so that each view removes only its own rules.
func faultSource() string { return fmt.Sprintf("mcpc inspect, process %d", os.Getpid()) }

// faultTime limits how long commands may take to add or remove rules.
const faultTime = 5 * time.Second

// SetFault adds a rule for one message to the command that made the exchange, or else to every running
// tap and proxy of the same server. The empty kind removes all rules of the view.
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
	if err := g.AddRules(ctx, peer.Pid, faultSource(), rule); err != nil {
		return "", fmt.Errorf("the fault was not set: %w", err)
	}
	request := strings.TrimSpace(f.Method + " " + f.Name)
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
	defer a.Changed()
	return g.RemoveRules(ctx, faultSource())
}
