package mock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect/gateway"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/mock"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// untilOptions are the flags that continue a recording with a real server.
type untilOptions struct {
	until, then string
	yes         bool
	bind        []string
	// argv is the command after --, or nil.
	argv []string
	// capture is the recording, as the user named it.
	capture string
	// asRecorded is set to serve the era of the recording only: without --era.
	asRecorded bool
}

// isSet reports whether a flag or a command is given.
func (o *untilOptions) isSet() bool {
	return o.until != "" || o.then != "" || o.yes || o.argv != nil || len(o.bind) > 0
}

// validate returns a usage error unless an exchange and one server are given.
func (o *untilOptions) validate(f *cmdutil.Factory, play playOptions) error {
	example := wire.Run("mock CAPTURE --until N --then TARGET") + ", or -- COMMAND in place of --then TARGET"
	switch {
	case !o.isSet():
		return nil
	case o.until == "":
		return usage.New("--then and a command after -- need --until: the first exchange that the server answers", example)
	case o.then == "--" || strings.Contains(o.then, " "): // a command as the value of --then
		return usage.New("--then takes a URL or a name; a server's command goes after --, without --then",
			wire.Run("mock CAPTURE --until N -- COMMAND"))
	case o.then == "" && len(o.argv) == 0:
		return usage.New("--until needs the server that answers from there on", example)
	case o.then != "" && o.argv != nil:
		return usage.New("the server is given twice: --then and a command after --", "use only one of them")
	case f.ServerGiven:
		return usage.New("-s is not used here", "--then names the server that answers after --until")
	case play.passTo() != "":
		return usage.New("--until cannot be combined with --on-miss pass:TARGET", "the server answers from --until on")
	}
	return nil
}

// A live is the real server that answers after a part of the recording, and the gateway to it.
type live struct {
	f       *cmdutil.Factory
	options untilOptions
	plan    *plan
	server  *realServer
	gateway *gateway.Gateway
	binder  *match.Binder
}

// openLive finds the exchange of --until, connects to the server, reports what cannot be continued, and
// sends the requests that the rest of the conversation needs. The caller closes the result. It returns nil
// without --until.
func openLive(
	ctx context.Context, f *cmdutil.Factory, o untilOptions, rec mock.Recording, all []*rows.Row,
) (*live, error) {
	if !o.isSet() {
		return nil, nil
	}
	var bindings recorded.Bindings
	for _, text := range o.bind {
		if _, _, err := bindings.Add(text); err != nil {
			return nil, err
		}
	}
	p, err := newPlan(f, rec, all, o)
	if err != nil {
		return nil, err
	}
	p.bindings = bindings
	l := &live{f: f, options: o, plan: p, server: newRealServer(f, o, p), binder: match.NewBinder(bindings...)}
	if out := l.server.connect(ctx); !out.OK() {
		out.Hint = out.Hint.WithServerFlag("--then")
		return nil, cmdutil.Exit(out.WithPart(wire.BeforeOperation))
	}
	if err := l.prepare(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// prepare reports what cannot be continued, and refuses it without --yes. Otherwise it sends the
// requests whose handles the rest of the conversation needs.
func (l *live) prepare(ctx context.Context) error {
	conn := l.server.conn
	text := fmt.Sprintf("continues at #%s with %s, %s", l.plan.number(l.plan.until), l.f.Secrets.Text(conn.Label()),
		conn.Revision())
	until := l.plan.rows[l.plan.until]
	if until.Revision != "" && until.Revision != conn.Revision() {
		text += " (recorded in " + until.Revision + ")"
	}
	if name := until.Server(); name != "" {
		text += "; " + name + " was recorded"
	}
	l.f.Note(l.f.ErrStyle.Line(text))
	if err := l.plan.analyze(ctx, conn); err != nil {
		return err
	}
	for _, note := range l.plan.notes {
		l.f.Note(l.f.ErrStyle.Line(l.f.Secrets.Text(note)))
	}
	if len(l.plan.problems) > 0 && !l.options.yes {
		for _, problem := range l.plan.problems {
			l.f.Warn(l.f.ErrStyle.Line(l.f.Secrets.Text(problem)))
		}
		return cmdutil.Exit(wire.Outcome{
			Kind: wire.Refused,
			Text: "the recording cannot be continued at #" + l.plan.number(l.plan.until) + " without loss: " +
				english.Plural(len(l.plan.problems), "reason") + " above",
			Hint: l.plan.yesHint(),
		})
	}
	for _, problem := range l.plan.problems {
		l.f.Note(l.f.ErrStyle.Line(l.f.Secrets.Text(problem)))
	}
	l.server.hasRepeated = len(l.plan.handles) > 0
	return l.plan.repeat(ctx, conn, l.binder, func(text string) { l.f.Note(l.f.ErrStyle.Line(l.f.Secrets.Text(text))) })
}

// targetName names the real server in texts for the client.
const targetName = "target"

// eras returns the eras to serve: the recorded one, so that a client negotiates as it did then, or given if
// the user gave --era. l may be nil.
func (l *live) eras(given bridge.Eras) bridge.Eras {
	if l == nil || !l.options.asRecorded {
		return given
	}
	if bridge.IsStateless(l.plan.rows[l.plan.until].Revision) {
		return bridge.ModernOnly
	}
	return bridge.LegacyOnly
}

// continuation returns the Continuation for a Player. isStdio is set if the client is connected over stdio.
// l may be nil.
func (l *live) continuation(isStdio bool, token func() string) *mock.Continuation {
	if l == nil {
		return nil
	}
	hub := &mcpserver.Hub{}
	l.gateway = gateway.New(gateway.Options{
		Members: []gateway.Member{{
			Name: targetName, Given: targetName, ID: l.options.then, Command: l.options.argv,
			Env: func() (*host.Env, func()) { return l.server.env, func() {} }, Share: l.server.share,
		}},
		Plain: true, IsTransparent: true, Version: l.f.Version, Token: token, Now: l.f.Now, IsStdio: isStdio, Hub: hub,
		Tell: func(text string, stderr ...string) {
			l.f.Note(l.f.ErrStyle.Line(text))
			for _, line := range stderr {
				l.f.Note(l.f.ErrStyle.Line("| " + line))
			}
		},
	})
	return &mock.Continuation{
		Until: l.plan.until, Before: l.plan.before, Server: l.gateway, Adopt: l.gateway.Adopt, Hub: hub, Binder: l.binder,
	}
}

// report prints what the real server answered.
func (l *live) report(c *mock.Continued) {
	if c.Requests == 0 {
		l.f.Note("the client did not reach #" + l.plan.number(l.plan.until) + ": the real server answered nothing")
		return
	}
	text := fmt.Sprintf("the real server answered %s: %d as recorded, %d different",
		english.Plural(c.Requests, "request"), c.Same, c.Different)
	if c.Bound > 0 {
		text += "; " + english.Plural(c.Bound, "recorded handle") + " replaced"
	}
	l.f.Note(text)
	for _, text := range c.Differences {
		l.f.Note(l.f.ErrStyle.Line(text))
	}
}

// close closes the connections to the real server. l may be nil.
func (l *live) close() {
	if l == nil {
		return
	}
	if l.gateway != nil {
		l.gateway.Close()
	}
	l.server.close()
}

// findUntil returns the index of the exchange that --until names: a number as mcpc log shows it, last, or
// a filter, which selects the first exchange that matches.
func findUntil(f *cmdutil.Factory, rec mock.Recording, all []*rows.Row, o untilOptions) (int, error) {
	word := o.until
	if len(rec.Exchanges) == 0 {
		return 0, usage.New("the recording has no request of a client", "")
	}
	last := len(rec.Exchanges) - 1
	found := -1
	switch {
	case word == "last":
		found = last
	case recorded.IsNumber(word):
		isNamed := func(x mock.Recorded) bool {
			_, index, _ := strings.Cut(x.Number, ".")
			return x.Number == word || index == word && !strings.Contains(word, ".")
		}
		found = slices.IndexFunc(rec.Exchanges, isNamed)
		if found >= 0 && slices.ContainsFunc(rec.Exchanges[found+1:], isNamed) {
			return 0, usage.New("--until "+word+" names exchanges of several runs", wire.Hint("--until RUN."+word+" names one"))
		}
	default:
		filter, err := recorded.Filter([]string{word}, f.Now(), &recorded.RowFindings{})
		if err != nil {
			return 0, err
		}
		matches := recorded.Matching(f, filter)
		byNumber := rowsByNumber(all)
		found = slices.IndexFunc(rec.Exchanges, func(x mock.Recorded) bool { return matches(byNumber[x.Number]) })
	}
	if found < 0 {
		return 0, usage.New(
			fmt.Sprintf("--until %s is no request of the client in the recording, which has #%s to #%s",
				word, rec.Exchanges[0].Number, rec.Exchanges[last].Number),
			wire.Run("log "+shellwords.Quote(o.capture))+" lists them")
	}
	if mcp.IsOpening(rec.Exchanges[found].Method) {
		return 0, usage.New("--until "+word+" is the handshake, so nothing would be played before it",
			"name a later exchange, or connect the client to the server itself")
	}
	return found, nil
}

// rowsByNumber returns the rows by their numbers.
func rowsByNumber(all []*rows.Row) map[string]*rows.Row {
	byNumber := map[string]*rows.Row{}
	for _, row := range all {
		byNumber[row.Number()] = row
	}
	return byNumber
}

// describeRow returns the number, the method and the name of a row for reports.
func describeRow(row *rows.Row) string {
	return term.Line(strings.TrimSpace("#" + row.Number() + " " + row.Method + " " + row.Name))
}

// connectionEnv returns the environment of one connection to the real server, which asks the user
// nothing, and the function that ends its recording. id names the server; it is "" for a command.
func connectionEnv(f *cmdutil.Factory, id string) (*host.Env, func()) {
	unprompted := f.WithoutPrompts(f.Stderr(), id)
	unprompted.ServerGiven = id != ""
	unprompted.Auth = f.Auth // there is one server
	unprompted.Auth.NoPrompt = true
	unprompted.Getenv = func(name string) string {
		if name == host.EnvName("server") {
			return ""
		}
		return f.Getenv(name)
	}
	unprompted.Record.Lasts = true
	return &unprompted.Env, func() { unprompted.Env.EndRecording(wire.Outcome{}, 0) }
}
