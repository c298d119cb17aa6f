package console

import (
	"time"
)

// TickEvery is more often than the line of progress is drawn, so that it is
// drawn about as soon as it may be.
const TickEvery = 50 * time.Millisecond

// StartSpinner draws the line of progress while a command waits for a server, which may not have said anything yet.
// Nothing is drawn after stop has returned: what follows, such as a prompt, may be written around Progress. In a pipe
// there is no line.
func (c *Console) StartSpinner() (stop func()) {
	if !c.ErrStyle.Terminal {
		return func() {}
	}
	ticker := time.NewTicker(TickEvery)
	stopped := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
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
	return func() {
		close(stopped)
		<-ended
	}
}
