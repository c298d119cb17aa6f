package console

import (
	"time"
)

// TickEvery is more often than the line of progress is drawn, so that it is
// drawn about as soon as it may be.
const TickEvery = 50 * time.Millisecond

// StartSpinner lets the line of progress live while a command waits for a server, which
// may not have said anything yet, until stop is called. In a pipe there is none.
func (c *Console) StartSpinner() (stop func()) {
	if !c.ErrStyle.Terminal {
		return func() {}
	}
	ticker, stopped := time.NewTicker(TickEvery), make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.Progress.Tick()
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}
