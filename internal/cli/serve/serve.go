// Package serve has the commands that are MCP servers: serve, which offers several servers as one,
// and demo.
package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/gateway"
	"mcpc/internal/connect/host"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// options are the flags of `mcpc serve`.
type options struct {
	all, noPrefix   bool
	allow, deny     []string
	http, tokenFile string
	login           loginOptions
	// ignored are the patterns of --ignore-tool, which mcp-remote has.
	ignored []string
	debug   bool
	// command is the server's command after --, or nil.
	command []string
	watch   cmdutil.WatchOptions
}

// New returns the command `mcpc serve`.
func New(f *cmdutil.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "serve [NAME=]SERVER... | --all | -- COMMAND...",
		Short: "bridge a host to one or more servers, over stdio or HTTP",
		Long: `Serve the tools, prompts and resources of one server, or of several as one MCP
server, over stdio or HTTP, in every revision on both sides. A SERVER is named
as with -s; --all takes the sessions and all trusted configured servers.

A server that requires a login gets one: the client opens the page, if it can,
else a browser does. Until then the list has the tool NAME__login, which returns
the address. The token is stored for all commands.

The tools and prompts of a single SERVER keep their names. Those of several
servers, and of NAME=SERVER, are called NAME__TOOL: only letters, digits, _ and
-, at most 64 characters; other names are shortened, with a hash. Everything
else that a server sends is unchanged. A request of a server is sent to the
client whose request it belongs to.

--allow and --deny compare patterns (* and ?) with NAME/TOOL. Tools that changed
since a call approved them are left out. A server that cannot be reached does
not stop the others: mcpc tries again, and notifies the client when the server
is available. mcpc does not ask for approval, so approve configured servers
(mcpc servers trust) before.

For a single server, -H, --token-file and MCPC_TOKEN apply; in -H, ${NAME} is an
environment variable. The arguments of mcp-remote are understood.

Over stdio the command ends with exit code 0 when the client closes the input.`,
		Example: `  mcpc serve https://mcp.example/mcp
  mcpc list -- mcpc serve demo
  mcpc call one__get-sum a=1 b=2 -- mcpc serve one=demo two=demo
  mcpc list -- mcpc serve demo --deny 'demo/get-*'
  mcpc serve --http 127.0.0.1:3001 -- mcpc demo --stdio`,
		ValidArgsFunction: f.CompleteServer,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				o.command = args[dash:]
				args = args[:dash]
			}
			args = o.takePort(args)
			if err := o.validate(f, args); err != nil {
				return err
			}
			if !cmd.Flags().Changed("timeout") {
				f.Limits.Idle = defaultIdle
			}
			if !cmd.Flags().Changed("max-time") {
				f.Limits.Hard = -1 // no limit
			}
			return run(cmd.Context(), f, o, args)
		},
	}
	addInstall(f, cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "serve all sessions and trusted servers")
	flags.StringArrayVar(&o.allow, "allow", nil, "serve only tools whose NAME/TOOL matches this `pattern`")
	flags.StringArrayVar(&o.deny, "deny", nil, "do not serve tools whose NAME/TOOL matches this `pattern`")
	flags.BoolVar(&o.noPrefix, "no-prefix", false, "leave the names of tools and prompts of several servers as they are")
	flags.StringVar(
		&o.http,
		"http",
		"",
		"serve over HTTP at this `addr`ess, loopback only: [HOST:]PORT; port 0 selects a free port",
	)
	flags.StringVar(
		&o.tokenFile,
		"client-token-file",
		"",
		"--http: `file` with the bearer token that clients have to send",
	)
	o.addFlags(flags)
	o.watch.AddFlags(flags)
	return cmd
}

// defaultIdle is the default of --timeout: how long a server may be silent during a request. It is
// long, because agents have their own limits.
const defaultIdle = 10 * time.Minute

// isSingle reports whether a single server is served. Header fields and tokens are for it.
func (o *options) isSingle(args []string) bool {
	return o.command != nil || len(args) == 1 && !o.all
}

// validate returns a usage error for flags and arguments that do not fit each other.
func (o *options) validate(f *cmdutil.Factory, args []string) error {
	if f.Shell != nil {
		return usage.New("the shell uses one server", wire.Run("serve")+", in another terminal")
	}
	if f.ServerGiven && isCommand(f, parseServer(f.Server).id) {
		return usage.New("serve takes servers as arguments, not with -s", commandHint)
	}
	if f.ServerGiven {
		return usage.New("serve takes servers as arguments, not with -s", wire.Run("serve "+shellwords.Quote(f.Server)))
	}
	// A configuration may contain mcpc serve itself: with names it could start itself again and again.
	needsNoName := o.command != nil || !o.all && !slices.ContainsFunc(args, func(word string) bool {
		return !cmdutil.IsURL(parseServer(word).id)
	})
	if f.Getenv(servingVariable) != "" && !needsNoName {
		return usage.New("mcpc serve was started by another mcpc serve", "add the servers of this one to the other one")
	}
	if o.command != nil && (o.all || len(args) > 0) {
		return usage.New(
			"a command after -- is served alone",
			"for several servers: "+wire.Run("init --as NAME -- COMMAND...")+", then "+wire.Run("serve NAME OTHER..."),
		)
	}
	if o.all && len(args) > 0 {
		return usage.New("--all cannot be combined with names of servers", "")
	}
	if o.watch.IsSet() && o.command == nil {
		return usage.New("--watch restarts a server's command", wire.Run("serve --watch PATTERN -- COMMAND..."))
	}
	if err := o.watch.Check(); err != nil {
		return err
	}
	if o.command != nil && len(o.command) == 0 {
		return usage.New("no command after --", wire.Run("serve -- COMMAND..."))
	}
	if !o.all && len(args) == 0 && o.command == nil {
		return usage.New(
			"serve needs a server",
			wire.Run("serve --all")+" serves all known servers; "+wire.Run("servers")+" lists them",
		)
	}
	hasCredentials := len(f.Headers) > 0 || len(f.HeaderFiles) > 0 || f.Auth.TokenFile != "" || f.Auth.Account != ""
	if hasCredentials && !o.isSingle(args) {
		return usage.New(
			"header fields and tokens would be sent to every server",
			"use them with "+wire.Run("init")+", and serve the session",
		)
	}
	if o.tokenFile != "" && o.http == "" {
		return usage.New("--client-token-file needs --http", "over stdio the client is the program that started mcpc")
	}
	if err := expandHeaders(f); err != nil {
		return err
	}
	return o.checkLogin()
}

// run serves until the client closes the input or the user interrupts it. Over stdio it returns nil
// when the client closes the input.
func run(ctx context.Context, f *cmdutil.Factory, o options, args []string) error {
	for _, pattern := range o.ignored {
		o.deny = append(o.deny, "*/"+pattern)
	}
	members, err := membersOf(f, o, args)
	if err != nil {
		return err
	}
	if err := o.checkPatterns(members); err != nil {
		return err
	}
	admit, err := o.readAdmission(f)
	if err != nil {
		return err
	}
	g := gateway.New(
		gateway.Options{
			Members: members,
			Plain:   o.keepsNames(args),
			Allow:   o.allow,
			Deny:    o.deny,
			Version: f.Version,
			Token:   rand.Text,
			Now:     f.Now,
			Tell:    func(text string, stderr ...string) { printNote(f, text, stderr) },
			Login:   o.gatewayLogin(f),
			Admit:   admit,
		},
	)
	f.IsConnected.Store(true)
	defer g.Close()
	if o.http != "" {
		return serveHTTP(ctx, f, g, o.http)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Stdio(ctx, f.In, f.Out) }()
	select {
	case err := <-ended:
		if err != nil {
			return cmdutil.Exit(usage.LocalIO("the client", err))
		}
		return nil
	case <-ctx.Done(): // a signal does not interrupt the read of standard input
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	}
}

// printNote writes a note for the user, followed by the last lines of a server's standard error.
func printNote(f *cmdutil.Factory, text string, stderr []string) {
	f.Note(f.ErrStyle.Line(text))
	var b strings.Builder
	for _, line := range stderr {
		b.WriteString("  | " + f.ErrStyle.Line(line) + "\n")
	}
	_, _ = io.WriteString(f.Stderr(), b.String())
}

// readAdmission returns a function that returns the HTTP status and text that refuse a request
// without the token, or 0. Returns nil without --client-token-file. It fails if the file has no
// token.
func (o *options) readAdmission(f *cmdutil.Factory) (func(*http.Request) (int, string), error) {
	if o.tokenFile == "" {
		return nil, nil
	}
	raw, err := f.ReadFile(o.tokenFile, host.MostSecret)
	if err != nil {
		return nil, usage.NotRead("--client-token-file "+o.tokenFile, err, "")
	}
	token := strings.TrimSpace(string(raw))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usage.New(
			"--client-token-file "+o.tokenFile+": not a token",
			"the file must contain the token on one line, and nothing else",
		)
	}
	f.Secrets.Learn(token)
	return func(r *http.Request) (int, string) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			return http.StatusUnauthorized, "the bearer token is missing or wrong"
		}
		return 0, ""
	}, nil
}

// serveHTTP serves g over HTTP at a loopback address, [HOST:]PORT, until ctx ends.
func serveHTTP(ctx context.Context, f *cmdutil.Factory, g *gateway.Gateway, address string) error {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil { // a port alone
		address = "127.0.0.1:" + address
	}
	listener, out := cmdutil.ListenLoopback("--http", address)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	f.Note(fmt.Sprintf("listening on http://%s/mcp; Ctrl-C stops", listener.Addr()))
	return cmdutil.ServeHTTP(ctx, listener, g.Handler(ctx))
}
