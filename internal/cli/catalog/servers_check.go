package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A serverState is what servers --check reports about one server.
type serverState struct {
	ID    string `json:"id"`
	From  string `json:"from,omitempty"`
	State string `json:"state"`
	// Revision is the negotiated revision. Tools and DurationNs are nil if no list of tools was received.
	Revision   string         `json:"revision,omitempty"`
	Tools      *int           `json:"tools,omitempty"`
	DurationNs *time.Duration `json:"durationNs,omitempty"`
	Error      string         `json:"error,omitempty"`
	// Help is a command line that helps; "" if the state is ok.
	Help string `json:"help,omitempty"`
}

// checkTime limits the time for one server.
const checkTime = 10 * time.Second

// CheckServers lists the tools of all known servers that can be started without a question, and prints the
// state of each known server. The outcome is OK only if each server that is not disabled is ok.
func CheckServers(ctx context.Context, f *cmdutil.Factory) error {
	if f.ServerGiven {
		return usage.New("servers --check asks all known servers, and one is named",
			"did you mean "+wire.RunOnServer("ping")+"?")
	}
	all, skipped := f.KnownServers()
	asked := sliceutil.Map(all, func(s *cmdutil.KnownServer) *Surveyed { return &Surveyed{KnownServer: s} })
	f.IsConnected.Store(true) // Ctrl-C closes the connections in order
	defer f.IsConnected.Store(false)
	stop := f.StartSpinner()
	o := surveyOptions{kinds: []connect.Kind{connect.ToolKind}, parallel: 8, limit: checkTime}
	surveyAll(ctx, f, o, asked)
	stop()
	f.Progress.Done()
	if ctx.Err() != nil {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
	}
	states := sliceutil.Map(asked, stateOf)
	for _, s := range skipped {
		state := serverState{ID: s.ID, State: s.Why}
		if s.Why == cmdutil.NotTrusted {
			state.Help = wire.Run("servers trust " + shellwords.Quote(s.ID)).String()
		}
		states = append(states, state)
	}
	if len(states) == 0 {
		f.Note("no known servers: mcpc init TARGET opens a session, mcpc servers lists other programs' servers")
	}
	raw, err := json.Marshal(map[string]any{"servers": append([]serverState{}, states...)}) // not null
	if err != nil {
		return err
	}
	answer := cmdutil.Document(raw, func(w io.Writer, st term.Style) error { return writeStates(w, st, states) })
	return cmdutil.Join(cmdutil.Print(ctx, f, answer), cmdutil.Exit(checkOutcome(states)))
}

// stateOf returns the state of a server that was asked.
func stateOf(s *Surveyed) serverState {
	state := serverState{ID: s.ID, From: s.Title, State: "ok", Revision: s.revision}
	if s.Out.OK() {
		tools := 0
		for _, l := range s.lists {
			tools += len(l.Items)
		}
		state.Tools = &tools
		state.DurationNs = &s.took
		return state
	}
	state.Error = s.Out.Text
	if reason := reasonOf(s.Out.Process); reason != "" {
		state.Error += ": " + reason
	}
	state.Help = wire.Run("list -v -s " + shellwords.Quote(s.ID)).String()
	switch s.Out.Kind {
	case wire.Auth:
		state.State = "needs login"
		state.Help = wire.Run("login -s " + shellwords.Quote(s.ID)).String()
	case wire.Transport:
		state.State = "down"
	case wire.Timeout:
		state.State = "no response"
	default:
		state.State = string(s.Out.Kind)
	}
	return state
}

// reasonOf returns the first line of a failed process's stderr that names an error, or else its first line;
// "" without a process or a line.
func reasonOf(p *wire.ProcessFacts) string {
	if p == nil {
		return ""
	}
	lines, _ := p.MainLines()
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "error") {
			return strings.TrimSpace(line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[0])
}

// checkOutcome returns the outcome of servers --check: CheckFailed if a server is not ok and not disabled.
func checkOutcome(states []serverState) wire.Outcome {
	notOK := 0
	for _, s := range states {
		if s.State != "ok" && s.State != cmdutil.Disabled {
			notOK++
		}
	}
	if notOK == 0 {
		return wire.Outcome{}
	}
	return wire.Outcome{
		Kind: wire.CheckFailed,
		Text: fmt.Sprintf("%d of %d servers not ok", notOK, len(states)),
	}
}

// writeStates writes a line for each server.
func writeStates(w io.Writer, st term.Style, states []serverState) error {
	var rows [][]string
	for _, s := range states {
		tools, took := "-", "-"
		if s.Tools != nil {
			tools = strconv.Itoa(*s.Tools)
			took = term.Duration(*s.DurationNs)
		}
		revision := s.Revision
		if revision == "" {
			revision = "-"
		}
		rows = append(rows, []string{s.ID, s.State, revision, tools, took, s.Help, s.Error})
	}
	return term.Table(w, st, []string{"SERVER", "STATE", "PROTOCOL", "TOOLS", "TIME", "WHAT HELPS", "ERROR"}, rows)
}
