package liveview

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/wire"
)

// A subscribed is a resource of a server that the view subscribes to. The server is in the form of -s, and ""
// is the view's own server.
type subscribed struct{ server, uri string }

// Subscribe starts or ends the subscription to a resource. A subscription ends with the view.
func (a *Actor) Subscribe(ctx context.Context, target, uri string, on bool) error {
	server, err := a.agreedServer(target)
	if err != nil {
		return err
	}
	a.subscribing.Lock()
	defer a.subscribing.Unlock()
	g, c, out := a.connection(ctx, server)
	if !out.OK() {
		return userError(g, out)
	}
	key := subscribed{server, uri}
	a.endSubscription(key)
	if !on {
		return nil
	}
	return a.subscribe(ctx, g, c, key)
}

// endSubscription ends a subscription, if there is one.
func (a *Actor) endSubscription(key subscribed) {
	a.mu.Lock()
	stop := a.subscriptions[key]
	delete(a.subscriptions, key)
	a.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// subscribe starts a subscription, and waits until the server has agreed to it. If the subscription is lost
// later, a notice says so. The caller locks a.subscribing.
func (a *Actor) subscribe(ctx context.Context, g *cmdutil.Factory, c *connect.Conn, key subscribed) error {
	notice := func(text string) { a.showNotice(g.Secrets.Text("the subscription to " + key.uri + " " + text)) }
	listening, stop := context.WithCancel(a.ctx)
	began := make(chan bool, 1) // receives whether the server agreed
	ended := make(chan wire.Outcome, 1)
	var hasBegun atomic.Bool
	request := client.ListenRequest{SubscriptionFilter: client.SubscriptionFilter{URIs: []string{key.uri}}}
	request.Began = func(agreed client.SubscriptionFilter) {
		isAgreed := slices.Contains(agreed.URIs, key.uri)
		if !hasBegun.Swap(true) {
			began <- isAgreed
		} else if !isAgreed {
			notice("has ended: the server refused it after the reconnect")
		}
	}
	request.Lost = func(why string) { notice("was lost, and is requested again: " + why) }
	go func() { ended <- c.Listen(listening, request) }()
	select {
	case isAgreed := <-began:
		if !isAgreed {
			stop()
			return errors.New("the server refused the subscription")
		}
	case out := <-ended:
		stop()
		return endError(g, out)
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
	a.mu.Lock()
	a.subscriptions[key] = stop
	a.mu.Unlock()
	go func() {
		out := <-ended
		if listening.Err() == nil { // else the user or the view has ended it
			notice("has ended: " + endError(g, out).Error())
		}
	}()
	return nil
}

// endError returns the error for a subscription that has ended.
func endError(g *cmdutil.Factory, out wire.Outcome) error {
	if out.OK() {
		return errors.New("the server ended the subscription")
	}
	return userError(g, connect.Explain(&g.Env, out))
}

// renewSubscriptions subscribes to the resources of the view's own server at a new connection to it. A notice
// says which subscription the server refuses.
func (a *Actor) renewSubscriptions(c *connect.Conn) {
	a.subscribing.Lock()
	defer a.subscribing.Unlock()
	a.mu.Lock()
	keys := slices.Collect(maps.Keys(a.subscriptions))
	a.mu.Unlock()
	for _, key := range keys {
		if key.server != "" {
			continue
		}
		a.endSubscription(key)
		err := a.subscribe(a.ctx, a.Factory, c, key)
		if err != nil && a.ctx.Err() == nil {
			a.showNotice(a.Factory.Secrets.Text("the subscription to " + key.uri + " has ended: " + err.Error()))
		}
	}
}
