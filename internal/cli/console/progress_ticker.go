package console

import (
	"time"
)

// TickEvery is the interval of ticks. It is shorter than the interval of drawing the progress line,
// so that the line is drawn about as soon as it may be.
const TickEvery = 50 * time.Millisecond

// StartSpinner draws the progress line while a command waits for a server. Nothing is drawn after
// stop has returned, so that prompts may be written next to Progress. Without a terminal it does
// nothing.
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
