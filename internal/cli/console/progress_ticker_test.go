package console

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpc/internal/render/term"
)

// screen holds what was written since the last take. The clock of a synctest bubble
// orders nothing that the race detector knows of.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

// The display while a server does not respond.
func TestSpinnerAtTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen screen
		c := Console{ErrStyle: term.Style{Terminal: true, Width: 80}}
		c.Progress = term.NewProgress(&screen, c.ErrStyle, time.Now)
		stop := c.StartSpinner()
		after := func(d time.Duration) string {
			screen.take()
			time.Sleep(d)
			synctest.Wait()
			return screen.take()
		}
		if early := after(299 * time.Millisecond); early != "" {
			t.Errorf("what is quick flashes: %q", early)
		}
		if n := strings.Count(after(time.Second), "waiting for the response"); n < 5 || n > 10 {
			t.Errorf("%d drawings in a second", n)
		}
		if got := after(9 * time.Second); !strings.Contains(got, "(10 s, Ctrl-C cancels)") {
			t.Errorf("after ten seconds it does not say how to get out: %q", got[max(0, len(got)-80):])
		}
		stop()
		if late := after(time.Second); late != "" {
			t.Errorf("it goes on behind the end: %q", late)
		}
	})
}

// A slowScreen lets a write wait until its test takes it.
type slowScreen chan string

func (s slowScreen) Write(b []byte) (int, error) {
	s <- string(b)
	return len(b), nil
}

// TestStopWaitsForTheLine stops the spinner while a slow terminal takes the line.
func TestStopWaitsForTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := make(slowScreen)
		c := Console{ErrStyle: term.Style{Terminal: true, Width: 80}}
		c.Progress = term.NewProgress(screen, c.ErrStyle, time.Now)
		stop := c.StartSpinner()
		time.Sleep(time.Second) // the first line is being written
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		synctest.Wait()
		select {
		case <-stopped:
			t.Error("the spinner is stopped, and its line is still to come")
		default:
		}
		if line := <-screen; !strings.Contains(line, "waiting for the response") {
			t.Errorf("drew %q", line)
		}
		for ended := false; !ended; {
			select {
			case <-screen: // a tick that was due with the stop
			case <-stopped:
				ended = true
			}
		}
	})
}

func TestSpinnerInAPipeShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Console // whose progress would be a nil pointer
		stop := c.StartSpinner()
		time.Sleep(time.Minute)
		stop()
	})
}
