// Package inspect implements the command mcpc inspect.
package inspect

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/liveview"
	"mcpc/internal/cli/meant"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/live/view"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// options has the arguments of mcpc inspect.
type options struct {
	file   string
	filter string
	words  []string
	argv   []string
	web    bool
	mcp    bool
	noOpen bool
	port   int
	allow  []string
	powers view.Powers // from allow
	watch  cmdutil.WatchOptions
	// watched is the command that argv runs in mcpc tap --watch, or nil.
	watched []string
	ask     liveview.AskServer
}

// Allowed are the values of --allow.
var Allowed = []string{"resend", "call", "intercept"}

// New returns the command inspect. ask asks a server of the Home view.
func New(f *cmdutil.Factory, ask liveview.AskServer) *cobra.Command {
	o := options{ask: ask}
	cmd := &cobra.Command{
		Use:   "inspect [FILE] [FILTER...] [-- COMMAND...]",
		Short: "watch traffic live, at a terminal or in a browser",
		Long: `Watch traffic live, and browse recorded exchanges: requests, responses,
durations and failures. FILE is a capture, a bundle or an HTTP archive (HAR);
without one, everything recorded is shown. mcpc help filters describes FILTER.

At a terminal the view fills the screen; ? shows the keys. --web serves it as a
page to this machine only, prints a URL that works once, and opens it in a
browser. The page is read-only until you allow it to act, by --allow or when it
asks at this terminal: resend sends recorded requests again, call calls tools,
intercept holds messages of taps and proxies and sets faults. No recorded
command is ever started.

Key H shows Home: the servers that mcpc servers --check asks, and their state.
Try (T) shows what one of them offers: tools, prompts, resources and tasks, each
with a form. The view begins with Home if nothing is recorded. Home starts no
command that is not trusted. A page needs the power call for it.

With -- COMMAND mcpc starts that server and records its traffic. The view begins
with Try, unless a FILTER is given, and can call the tools of the server. At the
terminal --allow call also starts servers that are configured or remembered. Try
shows all log messages of its requests; --log-level LEVEL shows fewer.
--mcp serves the recordings to an agent instead, as an MCP server over stdio
with read-only tools.`,
		Example: `  mcpc inspect
  mcpc inspect --web
  mcpc inspect bug.mcpcz.html
  mcpc inspect is:error -- node server.js
  mcpc list -- mcpc inspect --mcp`,
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.argv = cmdutil.SplitDash(cmd, args)
			if err := o.parse(f, cmd, args); err != nil {
				return err
			}
			return run(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.filter, "filter", "f", "",
		"show only exchanges that match the `filter`; the view can change it")
	flags.BoolVar(&o.web, "web", false, "show it in a browser")
	flags.BoolVar(&o.mcp, "mcp", false, "serve it to an agent over stdio, read only")
	flags.StringSliceVar(&o.allow, "allow", nil, "actions to allow in the view, as `what`: resend, call, intercept")
	flags.IntVar(&o.port, "port", 0, "--web: listen on this port (default: a free port)")
	flags.BoolVar(&o.noOpen, "no-open", false, "--web: print the URL, and start no browser")
	o.watch.AddFlags(flags)
	_ = cmd.RegisterFlagCompletionFunc("allow", cmdutil.CompleteFixed(Allowed...))
	return cmd
}

// completeFile completes the name of a recording as the first argument.
func completeFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return recorded.Extensions, cobra.ShellCompDirectiveFilterFileExt
}

// parse sets the options from the arguments, and returns an error for flags that cannot be
// combined.
func (o *options) parse(f *cmdutil.Factory, cmd *cobra.Command, args []string) error {
	// Users who want to watch a server may forget the --, or give its URL.
	if o.argv == nil && o.filter == "" {
		if err := misplacedServer(f, args); err != nil {
			return err
		}
	}
	if o.web && len(args) > 0 {
		if port, ok := portOfAddress(args[0]); ok {
			return usage.New("--web takes no address: it serves the page to this machine only",
				wire.Run("inspect --web --port "+port)+" chooses the port")
		}
	}
	if len(args) > 0 && recorded.NamesFile(args[0]) {
		o.file = args[0]
		args = args[1:]
	}
	o.words = args
	if o.filter != "" {
		o.words = append([]string{o.filter}, args...)
	}
	// Only checked here: the view parses it again.
	if _, err := recorded.Filter(o.words, f.Now(), &recorded.RowFindings{}); err != nil {
		return err
	}
	o.filter = strings.Join(o.words, " ")
	isSet := cmd.Flags().Changed
	if o.file == recorded.Stdin {
		return usage.New("inspect takes no recording on stdin",
			"cat > FILE saves it, and "+wire.Run("inspect FILE")+" shows it; "+wire.Run("log -")+" lists it")
	}
	if o.web && o.mcp {
		return usage.New("--web and --mcp cannot be combined", "use only one of them")
	}
	if !o.web && (isSet("port") || o.noOpen) {
		return usage.New("--port and --no-open are for --web", wire.Run("inspect --web"))
	}
	if o.mcp && (isSet("allow") || o.argv != nil) {
		return usage.New("--mcp only reads, so it takes no --allow and no command", wire.Run("inspect --mcp"))
	}
	if o.port < 0 || o.port > 65535 {
		return usage.New("--port must be from 1 to 65535; 0 selects a free port", "")
	}
	if o.argv != nil && o.file != "" {
		return usage.New("a file and a command are given", "use only one of them")
	}
	if f.ServerGiven {
		return usage.New("-s does not select recorded exchanges", "use the filter target:, or -- COMMAND")
	}
	if f.JSON || f.Wire || f.Jq != "" || f.Output != "" {
		return usage.New("inspect does not accept --json, --wire, --jq and -o",
			wire.Run("log --jsonl")+" prints the exchanges")
	}
	if err := o.watch.Check(); err != nil {
		return err
	}
	if o.watch.IsSet() && o.argv == nil {
		return usage.New("--watch is for a server that inspect starts",
			wire.Run("inspect --watch 'src/**/*.ts' -- COMMAND..."))
	}
	if o.watch.IsSet() {
		o.watched = o.argv
	}
	var err error
	o.argv, err = o.watch.TapCommand(f, o.argv, "--fail-fast")
	if err != nil {
		return err
	}
	return o.parseAllow()
}

// misplacedServer returns an error if words name a server, as a command or a URL, instead of a
// recording or a filter; else nil.
func misplacedServer(f *cmdutil.Factory, words []string) error {
	if argv := meant.ServerCommand(words); argv != nil {
		return usage.New(
			"inspect takes a recording and a filter, and a server's command after --",
			"did you mean "+meant.StartHint(f, "inspect", argv)+"?",
		)
	}
	if len(words) == 0 || !cmdutil.IsURL(words[0]) {
		return nil
	}
	url := shellwords.Quote(words[0])
	proxy := wire.Run("proxy --to " + url + " --tui")
	inspect := wire.Run("inspect 'target:\"" + words[0] + "\"'")
	return usage.New(
		"inspect takes a recording and a filter, not a URL",
		proxy+" shows what other clients send there, "+inspect+" what is recorded of it",
	)
}

// portOfAddress returns the port of an address such as 127.0.0.1:8080. It reports false for other words: a term of a
// filter has a field before its colon, without dots.
func portOfAddress(word string) (port string, ok bool) {
	host, port, err := net.SplitHostPort(word)
	if err != nil {
		return "", false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	isHost := host == "" || host == "localhost" || strings.ContainsAny(host, ".:")
	return port, err == nil && isHost
}

// parseAllow sets the powers of the view from --allow. It returns an error for an unknown value.
func (o *options) parseAllow() error {
	for _, word := range o.allow {
		if !slices.Contains(Allowed, word) {
			return usage.New(
				fmt.Sprintf("unknown value %q for --allow", word),
				suggest.DidYouMean("--allow %s", word, Allowed, wire.Hint("it is one or more of "+strings.Join(Allowed, ", "))),
			)
		}
	}
	// At the terminal the user acts, so everything is allowed; a page could be driven by another program.
	allows := func(word string) bool { return !o.web || slices.Contains(o.allow, word) }
	o.powers = view.Powers{
		Resend:    allows("resend"),
		Call:      allows("call"),
		Intercept: allows("intercept"),
		Mark:      true,
		Export:    true,
		Files:     !o.web, // a page offers exports as downloads
	}
	return nil
}

// noTerminal returns the error of inspect without a terminal. instead names a command that prints
// lines.
func noTerminal(instead wire.Hint) error {
	return usage.New("inspect needs a terminal, and there is none", instead+"; --web shows it in a browser")
}

// run opens the view and shows it until the user quits, at the terminal, as a page, or to an agent.
func run(ctx context.Context, f *cmdutil.Factory, o options) (err error) {
	isAtTerminal := f.OutStyle.Terminal && f.IsTyped()
	lacksTerminal := !o.web && !o.mcp && !isAtTerminal
	if lacksTerminal && o.file == "" {
		return noTerminal(wire.Run("log --follow") + " prints lines")
	}
	if o.file != "" {
		o.ask = nil // what Home sends would not be in the file
	}
	if o.web {
		f.DeclareApps()
	}
	v, out := liveview.Open(f, liveview.Options{
		Path:   o.file,
		Powers: o.powers,
		// A page starts the command of a configured or remembered server only if the user tries it in
		// Home. The command in o.argv is different: the user gave it, and it is started below.
		Exec:      !o.web && slices.Contains(o.allow, "call"),
		AskServer: o.ask,
	})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	f.IsConnected.Store(true) // so that a signal waits for Close
	// Close works also after a signal, which ends ctx.
	defer func() { err = cmdutil.Join(err, cmdutil.Exit(v.Close(context.WithoutCancel(ctx)))) }()
	if lacksTerminal { // reported only after the file was found to be readable
		return noTerminal(wire.Run("log "+shellwords.Quote(o.file)) + " prints lines")
	}
	allowsSending := slices.Contains(o.allow, "resend") || slices.Contains(o.allow, "intercept")
	if v.Status().File && allowsSending {
		return usage.New(
			"--allow resend and intercept do not apply to a bundle or an HTTP archive: its requests are never sent",
			wire.Run("replay --print "+shellwords.Quote(o.file+"#1")+" --to TARGET")+" sends one request of it",
		)
	}
	startsAtTry := o.argv != nil && o.filter == ""
	if startsAtTry { // show only the traffic of this server
		o.filter = liveview.FromNow(f)
	}
	if o.mcp {
		return serveAgent(ctx, f, v, o.filter)
	}
	if o.web {
		page := func(ctx context.Context) error {
			return liveview.Web(ctx, f, v, liveview.Page{
				Port:   o.port,
				NoOpen: o.noOpen,
				Filter: o.filter,
				Try:    startsAtTry,
			})
		}
		if o.watched != nil { // the page shows why a server cannot be started, until it is mended
			return showWhileStarting(ctx, v, o, page)
		}
		if o.argv != nil {
			if out := v.Actor.Start(ctx, o.command()); !out.OK() {
				return cmdutil.Exit(out)
			}
		}
		return page(ctx)
	}
	defer liveview.Quieten(f)()
	atTerminal := func(ctx context.Context) error { return liveview.Terminal(ctx, f, v, o.filter, startsAtTry) }
	if o.argv == nil {
		return atTerminal(ctx)
	}
	return showWhileStarting(ctx, v, o, atTerminal)
}

// command returns the command of the server to start.
func (o *options) command() liveview.Command {
	c := liveview.Command{Argv: o.argv, Watched: o.watched, Patterns: o.watch.Patterns}
	if o.watch.Build != "" {
		c.BuildTime = o.watch.Hold()
	}
	return c
}

// showWhileStarting shows the view with show while it starts the server of the command, which may take long.
// If the server cannot be started, the view ends.
func showWhileStarting(
	ctx context.Context, v *liveview.View, o options, show func(context.Context) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	started := make(chan wire.Outcome, 1)
	go func() {
		out := v.Actor.Start(ctx, o.command())
		if !out.OK() {
			stop()
		}
		started <- out
	}()
	err := show(ctx)
	hasEnded := ctx.Err() != nil // by a failed start or a signal; false if the user quit
	stop()                       // the user may leave before the server has answered
	out := <-started
	if hasEnded && !out.OK() && out.Kind != wire.Signal {
		return cmdutil.Exit(out) // the reason why the view ended
	}
	return err
}
