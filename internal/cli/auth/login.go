package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// loginOptions are what `mcpc login` was asked.
type loginOptions struct {
	grant      string
	client     auth.Client
	idp        auth.IDP
	secret     string
	secretFile string
	idpSecret  string
	// idpSecretFile is where idpSecret stands.
	idpSecretFile string
	// registrationToken is the initial access token for a registration; registrationTokenFile has it.
	registrationToken     string
	registrationTokenFile string
	settings              auth.Settings
	scope                 string
	issuer                string
	dpop                  bool
	// port, assumePKCE and noResource are those of settings, where they are given.
	port       int
	assumePKCE bool
	noResource bool
	// parameters are those of settings, as NAME=VALUE.
	parameters []string
	noBrowser  bool
	store      string
}

func NewLogin(f *cmdutil.Factory) *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use:   "login [TARGET]",
		Short: "get an access token for a server",
		Long: `Get an access token for a server: discover its authorization server, register if
necessary, log in in the browser ($BROWSER, or the system's), and store the
token for later commands. The default TARGET is the server that rejected the
last command. mcpc auth explain shows which step fails.

If the browser is on another machine, --no-browser accepts a pasted redirect
URL, and --grant device shows a code to enter there. Programs use --grant
client_credentials, jwt-bearer or id-jag, or pass a token in MCPC_TOKEN.

The next login at the server uses the same grant, issuer, client, redirect URI
and parameters again, until mcpc logout.`,
		Example: `  mcpc login https://mcp.example/mcp
  mcpc login https://mcp.example/mcp --no-browser
  mcpc login https://mcp.example/mcp --grant device
  mcpc login https://mcp.example/mcp --scope 'files:read files:write'`,
		ValidArgsFunction: f.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneTarget(f, args); err != nil {
				return err
			}
			o.noteSettings(cmd.Flags())
			if err := o.check(f); err != nil {
				return err
			}
			return runLogin(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.scope, "scope", "", "`scopes` to request, instead of those the server names")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "print the URL, and paste the resulting redirect URL")
	flags.IntVar(&o.port, "callback-port", 0, "port of the redirect URI (default: a free one)")
	o.clientFlags(flags)
	flags.StringVar(&o.issuer, "issuer", "", "`URL` of the authorization server, if the server names several or none")
	flags.StringVar(&o.settings.Redirect, "redirect-uri", "",
		"redirect `URI` on this machine (default: http://127.0.0.1:PORT/callback)")
	flags.BoolVar(&o.assumePKCE, "assume-pkce", false, "trust the server to check PKCE although it does not declare it")
	flags.BoolVar(&o.noResource, "no-resource", false, "leave out the resource parameter (RFC 8707), as Entra ID wants")
	flags.StringArrayVar(&o.parameters, "authorize-param", nil,
		"`NAME=VALUE` to add to the URL that the browser opens (repeatable)")
	flags.BoolVar(&o.dpop, "dpop", false, "bind the token to a key (DPoP, RFC 9449)")
	_ = cmd.RegisterFlagCompletionFunc("grant", cmdutil.CompleteFixed(grantWords()...))
	tokenStoreFlag(cmd, &o.store)
	return cmd
}

// noteSettings notes the flags that were given of those that the next logins use again.
func (o *loginOptions) noteSettings(given *pflag.FlagSet) {
	if given.Changed("callback-port") {
		o.settings.Port = &o.port
	}
	if given.Changed("assume-pkce") {
		o.settings.AssumePKCE = &o.assumePKCE
	}
	if given.Changed("no-resource") {
		o.settings.OmitResource = &o.noResource
	}
}

// oneTarget takes TARGET for -s.
func oneTarget(f *cmdutil.Factory, args []string) error {
	if len(args) > 1 {
		return usage.New("login takes one target", "a token belongs to one server")
	}
	if len(args) == 1 {
		f.Server = args[0]
		f.ServerGiven = true
	}
	return nil
}

func runLogin(ctx context.Context, f *cmdutil.Factory, o loginOptions) error {
	f.Secrets.Learn(o.secret, o.idpSecret, o.registrationToken)
	f.Record.Many = true // what is refused on the way is not the ending
	out := connect.TryState(ctx, &f.Env)
	var req auth.Request
	if out.Good() {
		req, out = whatToLogInTo(ctx, f, "login https://…")
	}
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	if err := f.Env.RememberNetwork(req.Endpoint); err != nil {
		return err
	}
	store, err := loginStore(f, o.store)
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	req.Grant = auth.Grant(o.grant)
	req.Client = o.client
	req.ClientSecret = o.secret
	req.Settings = o.settings
	req.RegistrationToken = o.registrationToken
	req.IDPSecret, req.Scopes, req.Bind = o.idpSecret, strings.Fields(o.scope), o.dpop
	unopened := make(chan error, 1)
	req.Visit, req.ShowCode, req.Issuer = console.Visitor(&f.Console, unopened), console.ShowCode(&f.Console), o.issuer
	if !f.ErrStyle.Terminal {
		req.NoBrowser = unopened
	}
	if f.CanAsk() && !f.Auth.NoPrompt {
		req.Choose = console.ChooseIssuer(&f.Console)
	}
	if o.noBrowser {
		req.Visit, req.Paste = showLogin(f), paste(f)
	}
	w := connect.NewAuthFlow(ctx, &f.Env, req.Endpoint)
	defer w.Net.Close()
	warnOfTolerated(f, w)
	f.Talking.Store(true)
	inTime, stop := bounded(ctx, f)
	defer stop()
	t, err := w.Login(inTime, store, req)
	f.Talking.Store(false)
	if ctx.Err() != nil {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	}
	if err != nil {
		return cmdutil.Exit(loginFailed(err, redact.RedactURL(req.Endpoint)))
	}
	if !t.Renewable() && !t.Expires.IsZero() {
		f.Note("the server issued no refresh token, so a new login is needed when this token expires" + waysToRefresh(t, o))
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, tokenAnswer(f, t, store))
}

// waysToRefresh returns how a refresh token may be had, as an addition to a text; "" if that was tried.
func waysToRefresh(t auth.Token, o loginOptions) string {
	if len(o.parameters) > 0 || slices.Contains(t.Requested, "offline_access") {
		return ""
	}
	return "; Google issues one with --authorize-param access_type=offline, other servers with the scope offline_access"
}

// warnOfTolerated makes a flow warn of broken rules with which a login goes on.
func warnOfTolerated(f *cmdutil.Factory, w *auth.Flow) {
	report := w.OnStep
	w.OnStep = func(s auth.Step) {
		if s.Tolerated {
			f.Warn(f.ErrStyle.Line(s.Text))
		}
		if report != nil {
			report(s)
		}
	}
}

// loginFailed is the ending of a login at a server, which is given as it may be shown.
func loginFailed(err error, server string) wire.Outcome {
	o := wire.Outcome{Where: server, Hint: wire.Run("auth explain "+shellwords.Quote(server)) + " shows each step"}
	switch {
	case auth.Is(err, auth.StoreFailed):
		o.Reached = wire.Answered // with the token or the client that could not be kept
	case auth.Is(err, auth.ResourceMissing):
		o.Hint = wire.Run("login "+shellwords.Quote(server)+" --issuer URL") + " names the authorization server; " + o.Hint
	case auth.IsTransient(err):
		o.Hint = "try again later; " + o.Hint
	case auth.Is(err, auth.NoResponse):
		o.Reached = wire.Answered // with the metadata; the rest is up to the browser
		o.Hint = "without a browser use --grant device; " +
			wire.Run("login "+shellwords.Quote(server)) + " registers again, if the page reports an unknown client"
	}
	return connect.AuthFailed(err, o)
}

// bounded is the time for a login as a whole, where the user gives one.
func bounded(ctx context.Context, f *cmdutil.Factory) (context.Context, context.CancelFunc) {
	if limit := f.Limits.Hard; limit > 0 {
		return context.WithTimeoutCause(ctx, limit, usage.Late("--max-time is over"))
	}
	return ctx, func() {}
}

// showLogin shows the URL of a login for a browser on another machine.
func showLogin(f *cmdutil.Factory) func(context.Context, string) {
	return func(_ context.Context, address string) {
		f.Note("log in here, in any browser: " + f.ErrStyle.Line(address))
		console.WarnOfAddress(&f.Console, address)
		f.Note("then paste the URL that the browser was redirected to, even if the page does not load:")
	}
}

// paste reads the redirect URL; wrong is what was pasted before.
func paste(f *cmdutil.Factory) func(context.Context, *auth.Error) (string, error) {
	return func(ctx context.Context, wrong *auth.Error) (string, error) {
		if wrong != nil {
			f.Warn(wrong.Text + ": " + wrong.Hint.String())
			f.Note("paste it again; Ctrl-C cancels:")
		}
		return f.Typist.Line(ctx)
	}
}

// whatToLogInTo is the target, or without one the server whose challenge is kept.
// Where none is kept the server is asked for one. command is the one that names a server.
func whatToLogInTo(ctx context.Context, f *cmdutil.Factory, command string) (auth.Request, wire.Outcome) {
	tokens, err := f.Env.Tokens()
	if err != nil {
		return auth.Request{}, connect.StateFailed(err)
	}
	book, err := tokens.Load()
	if err != nil {
		return auth.Request{}, connect.AuthFailed(err, wire.Outcome{})
	}
	kept := book.Pending
	if meanRefused(f, book) {
		return answering(f, *kept), wire.Outcome{}
	}
	c, out := namedServer(ctx, f)
	if !out.Good() {
		return auth.Request{}, out
	}
	if c.Target.Source == target.FromDefault {
		return auth.Request{}, usage.Outcome(
			usage.New("no server is given, and none has rejected a command since the last login", wire.Run(command)),
		)
	}
	endpoint := cmp.Or(c.Saved, c.OneOff).Endpoint
	if endpoint == "" || endpoint == connect.DemoEndpoint {
		return auth.Request{}, usage.Outcome(usage.New("only HTTP servers use OAuth", wire.Run(command)))
	}
	if kept != nil && kept.Endpoint == endpoint {
		return answering(f, *kept), wire.Outcome{}
	}
	return askForChallenge(ctx, f, c, endpoint)
}

// meanRefused takes the server whose challenge is kept for -s, where none is named.
func meanRefused(f *cmdutil.Factory, book auth.Records) bool {
	kept := book.Pending
	if kept == nil || f.ServerGiven || f.Getenv(host.EnvName("server")) != "" {
		return false
	}
	f.Server = kept.Endpoint
	f.ServerGiven = true
	f.Auth.Account = cmp.Or(f.Auth.Account, kept.Account)
	f.Note("for " + redact.RedactURL(kept.Endpoint) + ", which rejected the last command")
	return true
}

// namedServer finds the server that a command means, and opens nothing.
func namedServer(ctx context.Context, f *cmdutil.Factory) (*connect.Conn, wire.Outcome) {
	c := &connect.Conn{Env: &f.Env}
	out := c.Find(nil)
	if out.Good() {
		out = c.SettleOrigin(ctx, false)
	}
	return c, out
}

func answering(f *cmdutil.Factory, p auth.Pending) auth.Request {
	c, _ := auth.Wanted(auth.ParseChallenges(p.Fields))
	return auth.Request{Endpoint: p.Endpoint, Challenge: c, Challenged: true, Account: f.Auth.Account}
}

// askForChallenge connects without any token and returns the server's challenge, if any.
// A server that accepts this may still challenge a later tool call.
func askForChallenge(
	ctx context.Context,
	f *cmdutil.Factory,
	c *connect.Conn,
	endpoint string,
) (auth.Request, wire.Outcome) {
	req := auth.Request{Endpoint: endpoint, Account: f.Auth.Account}
	g, out := openAsNobody(ctx, c)
	if r := g.Unsolved(); r != nil {
		req.Challenge = r.Challenge
		req.Challenged = true
		return req, wire.Outcome{}
	}
	switch {
	case out.Kind == wire.RPCFailed: // some servers refuse a request without a token by an error of JSON-RPC
		req.Refused = cmp.Or(out.Text, "an error")
		f.Note("the server required no authentication, but answered " + f.ErrStyle.Line(strconv.Quote(req.Refused)) +
			"; trying its metadata")
	case out.Good() || out.Kind == wire.Auth:
		f.Note("the server did not require authentication; trying its metadata")
	default:
		return req, out
	}
	return req, wire.Outcome{}
}

// loginStore settles where the token is kept.
func loginStore(f *cmdutil.Factory, where string) (*auth.Store, error) {
	store, err := f.Env.Tokens()
	if err != nil {
		return nil, err
	}
	if where == "file" {
		return store, nil
	}
	store.Seals = store.Keyring.Answers()
	if where == "keyring" && !store.Seals {
		return nil, &auth.Error{
			Rule: auth.StoreFailed,
			Text: "no keyring is available",
			Hint: "--token-store file stores the token in a file with mode 0600",
		}
	}
	return store, nil
}

// tokenJSON is a token as a script reads it; no member of it is a secret.
type tokenJSON struct {
	Server      string   `json:"server"`
	Resource    string   `json:"resource"`
	Account     string   `json:"account,omitempty"`
	Issuer      string   `json:"issuer"`
	Client      string   `json:"clientId"`
	Grant       string   `json:"grant"`
	Scopes      []string `json:"scopes"`
	Expires     string   `json:"expires,omitempty"`
	Refreshable bool     `json:"refreshable"`
	Bound       bool     `json:"keyBound"`
	Kept        string   `json:"kept"`
}

func tokenFacts(t auth.Token) tokenJSON {
	expires := ""
	if !t.Expires.IsZero() {
		expires = t.Expires.UTC().Format(time.RFC3339)
	}
	return tokenJSON{
		redact.RedactURL(t.Endpoint),
		redact.RedactURL(t.Resource),
		t.Account,
		t.Issuer,
		t.Client,
		string(t.Grant),
		append([]string{}, t.Scopes...),
		expires,
		t.Renewable(),
		t.Key != "",
		keptIn(t),
	}
}

// keptIn says where the secret lies, and never what it is.
func keptIn(t auth.Token) string {
	if t.Access.Sealed() {
		return "keyring"
	}
	return "file"
}

func tokenAnswer(f *cmdutil.Factory, t auth.Token, store *auth.Store) cmdutil.Answer {
	facts := tokenFacts(t)
	raw, _ := json.Marshal(facts)
	where := map[string]string{"keyring": "encrypted, the key in the keyring", "file": "a file with mode 0600"}[facts.Kept]
	if file, ok := store.File.(interface{ Path() string }); ok {
		where += " (" + file.Path() + ")"
	}
	bound := map[bool]string{true: "bound to a key (DPoP)"}[facts.Bound]
	return cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Facts(w, st, [][]string{{"server", facts.Server}, {"account", facts.Account}, {"issuer", facts.Issuer},
			{
				"client",
				facts.Client,
			}, {"scopes", strings.Join(facts.Scopes, " ")}, {"expires", whenExpires(f, t)}, {"bound", bound}, {"token", where}})
	})
}

// whenExpires is an end as a person plans with it.
func whenExpires(f *cmdutil.Factory, t auth.Token) string {
	renewed := ""
	if tokenFacts(t).Refreshable {
		renewed = ", refreshed automatically"
	}
	switch left := t.Expires.Sub(f.Now()); {
	case t.Expires.IsZero() && t.OddExpiry != "":
		return "unknown (expires_in is " + t.OddExpiry + ")" + renewed
	case t.Expires.IsZero():
		return "not given" + renewed
	case left <= 0:
		return "is over" + renewed
	case left < 48*time.Hour:
		return "in " + left.Round(time.Minute).String() + renewed
	default:
		return t.Expires.Format(time.DateOnly) + renewed
	}
}
