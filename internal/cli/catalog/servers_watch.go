package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// watch asks the servers again and again until an interrupt. At a terminal it redraws the screen, else
// it prints a line for each change.
func (o *ServersCheck) watch(ctx context.Context, f *cmdutil.Factory, names []string) error {
	if o.junit != "" || f.Output != "" {
		return usage.New("--watch runs until it is stopped, so it has no --junit and no -o", "use > FILE")
	}
	if o.interval < minInterval {
		return usage.New("--watch must be 1s or more", "--watch 30s asks every 30 seconds")
	}
	f.NoRecord = true // the recordings of all rounds would replace all others
	show := printChanges
	if f.OutStyle.Terminal && !f.PrintsJSON() {
		show = drawStates
		f.Progress = term.NewProgress(io.Discard, term.Style{}, f.Now) // it would be in the screen
		fmt.Fprint(f.Stdout(), enterScreen)
		defer fmt.Fprint(f.Stdout(), leaveScreen)
	}
	known := map[string]string{} // the state of each server in the last round, by id
	for {
		f.Known = nil // read the configurations again
		states, err := askServers(ctx, f, names)
		if err != nil {
			return err
		}
		if ctx.Err() == nil {
			err = show(ctx, f, known, states)
		}
		if err == nil {
			err = waitForNextRound(ctx, f, o.interval)
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
		}
	}
}

// waitForNextRound waits for the interval. It returns early if ctx is done, or with an error if
// standard output has no reader.
func waitForNextRound(ctx context.Context, f *cmdutil.Factory, interval time.Duration) error {
	next := time.NewTimer(interval)
	defer next.Stop()
	stdoutPoll := time.NewTicker(cmdutil.StdoutPollInterval)
	defer stdoutPoll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
			return nil
		case <-stdoutPoll.C:
			if err := f.StdoutClosed(); err != nil {
				return err
			}
		}
	}
}

// The control sequences of a terminal for the alternate screen without a cursor.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	clearScreen = "\x1b[H\x1b[2J"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

// drawStates draws the table of the states on the terminal's screen.
func drawStates(_ context.Context, f *cmdutil.Factory, _ map[string]string, states []serverState) error {
	var b bytes.Buffer
	b.WriteString(clearScreen)
	fmt.Fprintf(&b, "mcpc servers --check, %s; Ctrl-C stops\n\n", f.Now().Format("15:04:05"))
	if err := writeStates(&b, f.OutStyle, states); err != nil {
		return err
	}
	_, err := f.Stdout().Write(b.Bytes())
	return err
}

// stateRemoved is the state of a server that is no longer known.
const stateRemoved = "removed"

// printChanges prints a line for each server whose state is not the one in known, and updates known.
func printChanges(ctx context.Context, f *cmdutil.Factory, known map[string]string, states []serverState) error {
	present := map[string]bool{}
	for _, s := range states {
		present[s.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if !present[id] {
			states = append(states, serverState{ID: id, State: stateRemoved})
		}
	}
	for _, s := range states {
		was := known[s.ID]
		if was == s.State {
			continue
		}
		known[s.ID] = s.State
		if s.State == stateRemoved {
			delete(known, s.ID)
		}
		if err := printChange(ctx, f, was, s); err != nil {
			return err
		}
	}
	return nil
}

// printChange prints a line about the state of a server. was is its state before, or "".
func printChange(ctx context.Context, f *cmdutil.Factory, was string, s serverState) error {
	if f.PrintsJSON() {
		raw, err := json.Marshal(struct {
			Time time.Time `json:"time"`
			Was  string    `json:"was,omitempty"`
			serverState
		}{f.Now(), was, s})
		if err != nil {
			return err
		}
		return cmdutil.PrintLine(ctx, f, raw)
	}
	line := s.ID + ": "
	if was != "" {
		line += was + " → "
	}
	line += s.text()
	_, err := fmt.Fprintf(f.Stdout(), "%s %s\n", f.Now().Format(time.RFC3339), f.OutStyle.Line(line))
	return err
}
