package main

import "time"

// tickEvery is more often than the line of progress is drawn, so that it is
// drawn about as soon as it may be.
const tickEvery = 50 * time.Millisecond

// ticking lets the line of progress live while a command waits for a server, who
// may not have said anything yet, until stop is called. In a pipe there is none.
func (a *app) ticking() (stop func()) {
	if !a.errStyle.Terminal {
		return func() {}
	}
	ticker, stopped := time.NewTicker(tickEvery), make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				a.progress.Tick()
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}
