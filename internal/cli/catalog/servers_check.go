package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/gateway"
	"mcpc/internal/live/view"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/render/verdict"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// ServersCheck is the report `mcpc servers --check`: the state of known servers.
type ServersCheck struct {
	isAsked  bool
	junit    string
	interval time.Duration // of --watch; 0 asks once
}

// AddFlags declares the flags of the report.
func (o *ServersCheck) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.isAsked, "check", false, "ask the known servers, and print the state of each")
	flags.StringVar(&o.junit, "junit", "", "with --check: write a JUnit report to a `file`, - for stdout")
	flags.Var((*cmdutil.Seconds)(&o.interval), "watch", "with --check: ask again after each `time`, and show changes")
}

// IsAsked reports whether a flag of the report is given.
func (o *ServersCheck) IsAsked() bool { return o.isAsked || o.junit != "" || o.interval != 0 }

// The limits of --check; --max-time replaces checkTime. A server that ignores SIGTERM takes up to 4 s
// more than checkTime to end, and all servers together at most 12 s.
const (
	checkTime   = 7500 * time.Millisecond
	maxFastTime = 3 * time.Second // for the connection and the list of tools
	minInterval = time.Second     // of --watch
)

// Run lists the tools of the servers that can be started without a question, and prints the state of
// each server. The outcome is OK only if each server that is not disabled is ok.
func (o *ServersCheck) Run(ctx context.Context, f *cmdutil.Factory, names []string) error {
	if !o.isAsked {
		return usage.New("--junit and --watch need --check", wire.Run("servers --check")+" asks the known servers")
	}
	survey := surveyOptions{parallel: 1}
	if err := survey.check(f, "servers --check", nil); err != nil {
		return err
	}
	f.IsConnected.Store(true) // Ctrl-C closes the connections in order, and restores the screen of --watch
	defer f.IsConnected.Store(false)
	if o.interval != 0 {
		return o.watch(ctx, f, names)
	}
	var states []serverState
	reports := cmdutil.ReportFiles{{Flag: "--junit", Name: o.junit, Write: func(w io.Writer) error {
		return writeStatesJUnit(w, states)
	}}}
	if err := reports.CheckStdout(f.PrintsJSON()); err != nil {
		return err
	}
	if out := reports.CheckWritable(); !out.OK() {
		return cmdutil.Exit(out)
	}
	stop := f.StartSpinner()
	states, err := askServers(ctx, f, names)
	stop()
	f.Progress.Done()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
	}
	if len(states) == 0 {
		f.Note("no known servers: mcpc init TARGET opens a session, mcpc servers lists other programs' servers")
	}
	raw, err := json.Marshal(map[string]any{"servers": append([]serverState{}, states...)}) // not null
	if err != nil {
		return err
	}
	write := func() error {
		return cmdutil.Print(ctx, f, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
			return writeStates(w, st, states)
		}))
	}
	if report := reports.OnStdout(); report != nil {
		write = func() error { return report.Print(f) }
	}
	return cmdutil.Join(write(), reports.Write(), cmdutil.Exit(checkOutcome(states)))
}

// A serverState is what servers --check reports about one server.
type serverState struct {
	ID    string `json:"id"`
	From  string `json:"from,omitempty"`
	State string `json:"state"`
	// Revision is the negotiated revision. Tools, Tokens and DurationNs are nil if no list of tools was
	// received. Tokens is the estimated cost of the tools for a model.
	Revision   string         `json:"revision,omitempty"`
	Tools      *int           `json:"tools,omitempty"`
	Tokens     *int           `json:"tokens,omitempty"`
	DurationNs *time.Duration `json:"durationNs,omitempty"`
	Error      string         `json:"error,omitempty"`
	// Help is a command line that helps; "" if the state is ok.
	Help string `json:"help,omitempty"`
}

// The states of a server, besides the reasons why one is not asked.
const (
	stateOK            = "ok"
	stateSlow          = "slow"
	stateNeedsLogin    = "needs login"
	stateTokenRejected = "token rejected"
	stateDown          = "down"
	stateWrongURL      = "wrong URL"
	stateCrashed       = "crashed"
	stateNoResponse    = "no response"
	stateProtocolError = "protocol error"
)

// askServers returns the states of the servers with these names, all if there are none. It asks all
// servers at the same time.
func askServers(ctx context.Context, f *cmdutil.Factory, names []string) ([]serverState, error) {
	all, skipped, err := f.KnownServersNamed("servers --check", names)
	if err != nil {
		return nil, err
	}
	asked := sliceutil.Map(all, func(s *cmdutil.KnownServer) *Surveyed { return &Surveyed{KnownServer: s} })
	surveyAll(ctx, f, checkOptions(f, len(asked)), asked)
	states := sliceutil.Map(asked, stateOf)
	for _, s := range skipped {
		states = append(states, serverState{ID: s.ID, From: s.Title, State: s.Why, Help: s.Help()})
	}
	return states, nil
}

// checkOptions returns the options for asking a number of servers for their tools.
func checkOptions(f *cmdutil.Factory, servers int) surveyOptions {
	survey := surveyOptions{kinds: []connect.Kind{connect.ToolKind}, parallel: max(1, servers), limit: checkTime}
	if f.Limits.Hard > 0 { // --max-time
		survey.limit = f.Limits.Hard
	}
	return survey
}

// AskServer asks one server as servers --check does, and returns its state for a view. f prints
// nothing.
func AskServer(ctx context.Context, f *cmdutil.Factory, s *cmdutil.KnownServer) view.Health {
	asked := &Surveyed{KnownServer: s}
	surveyOne(ctx, f, checkOptions(f, 1), asked)
	state := stateOf(asked)
	health := view.Health{
		State: state.State, Failed: state.isFailure(), Text: state.text(), Revision: state.Revision,
		Tools: state.Tools, Help: state.Help,
	}
	if state.DurationNs != nil {
		seconds := state.DurationNs.Seconds()
		health.Seconds = &seconds
	}
	return health
}

// stateOf returns the state of a server that was asked.
func stateOf(s *Surveyed) serverState {
	state := serverState{ID: s.ID, From: s.Title, State: stateOK, Revision: s.revision}
	out := s.Out
	id := s.ID
	failure, isBehind := servedFailure(s)
	if isBehind {
		out = wire.Outcome{Kind: failure.Kind, Text: failure.Message}
		id = failure.Server
	}
	id = shellwords.Quote(id)
	if out.OK() {
		tools := 0
		tokens := 0
		for _, l := range s.lists {
			tools += len(l.Items)
			tokens += billOf(l.List).Tokens
		}
		state.Tools = &tools
		state.Tokens = &tokens
		state.DurationNs = &s.took
		if s.took > maxFastTime {
			state.State = stateSlow
			state.Error = "the list of tools took " + term.Duration(s.took)
			state.Help = wire.Run("list -v -s " + id).String()
		}
		return state
	}
	state.State = failedState(out)
	state.Error = out.Text
	if reason := out.Process.Reason(); reason != "" {
		state.Error += ": " + reason
	}
	if state.State == stateNeedsLogin && failure.SendsToken { // a login does not replace the entry's token
		state.State = stateTokenRejected
		state.Error = "the server rejected the Authorization field of the entry"
		if s.File != "" {
			state.Error += " in " + s.File
		}
		id = shellwords.Quote(s.ID)
	}
	command := "list -v -s " + id
	switch state.State {
	case stateTokenRejected:
		command = "servers " + id
	case stateNeedsLogin:
		command = "login -s " + id
	case stateDown, stateProtocolError:
		command = "check -s " + id
	case cmdutil.Unusable:
		command = "servers " + id
	case stateWrongURL:
		state.Error = wrongURLText(out.HTTP)
		command = "servers " + id
		if s.File == "" { // a session
			command = "init URL --as " + id
		}
	}
	state.Help = wire.Run(command).String()
	return state
}

// servedFailure returns the first failure of a server behind mcpc serve, whose tools are not listed.
func servedFailure(s *Surveyed) (gateway.Failure, bool) {
	for _, l := range s.lists {
		for _, tool := range l.Items {
			if failure, isFailure := gateway.FailureOf(tool); isFailure {
				return failure, true
			}
		}
	}
	return gateway.Failure{}, false
}

// failedState returns the state of a server whose list failed with this outcome.
func failedState(out wire.Outcome) string {
	if isWrongURL(out) {
		return stateWrongURL
	}
	switch out.Kind {
	case wire.Auth:
		return stateNeedsLogin
	case wire.Transport:
		if out.Process != nil && out.Process.HowEnded != "" {
			return stateCrashed
		}
		return stateDown
	case wire.Timeout:
		return stateNoResponse
	case wire.BadResponse, wire.RPCFailed:
		return stateProtocolError
	case wire.Usage: // such as a variable of the entry without a value
		return cmdutil.Unusable
	default:
		return string(out.Kind)
	}
}

// isWrongURL reports whether the response is from a web server without MCP at this URL: there is
// nothing, or a page for people.
func isWrongURL(out wire.Outcome) bool {
	if out.HTTP == nil || out.Kind == wire.Auth {
		return false
	}
	isMissing := slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone}, out.HTTP.Status)
	return isMissing || out.HTTP.Status < http.StatusMultipleChoices && isPage(out.HTTP)
}

// isPage reports whether a response is a page for people.
func isPage(facts *wire.HTTPFacts) bool {
	mediaType, _, _ := mime.ParseMediaType(facts.ContentType)
	return mediaType == "text/html"
}

// wrongURLText says what is at the URL in place of an MCP server.
func wrongURLText(facts *wire.HTTPFacts) string {
	where := redact.RedactURL(facts.URL)
	if isPage(facts) && facts.Status < http.StatusMultipleChoices {
		return where + " is a web page, not an MCP server"
	}
	return fmt.Sprintf("no MCP server at %s (HTTP %d %s)", where, facts.Status, http.StatusText(facts.Status))
}

// isFailure reports whether the state makes the check fail.
func (s serverState) isFailure() bool { return s.State != stateOK && s.State != cmdutil.Disabled }

// text returns the state with the error, if there is one, on one line.
func (s serverState) text() string {
	if s.Error == "" {
		return s.State
	}
	if strings.HasPrefix(s.Error, s.State) { // such as no response within 7.5s
		return s.Error
	}
	return s.State + ": " + s.Error
}

// checkOutcome returns the outcome of servers --check: CheckFailed if a server is not ok and not disabled.
func checkOutcome(states []serverState) wire.Outcome {
	notOK := 0
	for _, s := range states {
		if s.isFailure() {
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

// writeStates writes a line for each server. In a table for people, the failures follow with the
// commands that help: they are too long for a column.
func writeStates(w io.Writer, st term.Style, states []serverState) error {
	var rows [][]string
	var failures strings.Builder
	for _, s := range states {
		revision := s.Revision
		if revision == "" {
			revision = "-"
		}
		row := []string{s.ID, s.State, revision, "-", "-", "-"}
		if s.Tools != nil {
			row[3] = strconv.Itoa(*s.Tools)
			row[4] = strconv.Itoa(*s.Tokens)
			row[5] = term.Duration(*s.DurationNs)
		}
		if !st.Pretty() {
			row = append(row, s.Help, s.Error)
		} else if s.isFailure() {
			failures.WriteString("\n" + st.WrapIndented(st.Line(s.ID+": "+s.text()), 0, 2) + "\n")
			failures.WriteString("  " + st.Line(s.Help) + "\n")
		}
		rows = append(rows, row)
	}
	head := []string{"SERVER", "STATE", "PROTOCOL", "TOOLS", "TOKENS", "TIME"}
	if err := term.Table(w, st, head, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, failures.String())
	return err
}

// writeStatesJUnit writes a JUnit report with a test case for each server.
func writeStatesJUnit(w io.Writer, states []serverState) error {
	suite := verdict.JUnitSuite{Name: "mcpc servers --check"}
	for _, s := range states {
		c := verdict.JUnitCase{Name: term.Line(s.ID), Class: term.Line(s.From)}
		if s.DurationNs != nil {
			c.Time = fmt.Sprintf("%.6f", s.DurationNs.Seconds())
		}
		text := &verdict.JUnitText{Message: term.Line(s.text()), Type: s.State}
		if s.Help != "" {
			text.Text = term.Line("help: " + s.Help)
		}
		if s.isFailure() {
			c.Failure = text
		} else if s.State == cmdutil.Disabled {
			c.Skipped = text
		}
		suite.Add(c)
	}
	report := verdict.JUnit{Name: "mcpc servers --check", Suites: []verdict.JUnitSuite{suite}}
	return report.Write(w)
}
