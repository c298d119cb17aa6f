package auth

import (
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
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// loginOptions are the flags of the command login.
type loginOptions struct {
	grant      string
	client     auth.Client
	idp        auth.IDP
	secret     string
	secretFile string
	idpSecret  string
	// idpSecretFile is the file with idpSecret.
	idpSecretFile string
	// registrationToken is the initial access token for a registration, registrationTokenFile the file
	// with it.
	registrationToken     string
	registrationTokenFile string
	settings              auth.Settings
	scope                 string
	issuer                string
	dpop                  bool
	// port, assumePKCE and noResource become settings if the user gives them.
	port       int
	assumePKCE bool
	noResource bool
	// parameters are the values of --authorize-param, as NAME=VALUE.
	parameters []string
	noBrowser  bool
	store      string
}

// NewLogin returns the command login.
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
and parameters again, until mcpc auth logout.`,
		Example: `  mcpc login https://mcp.example/mcp
  mcpc login https://mcp.example/mcp --no-browser
  mcpc login https://mcp.example/mcp --grant device
  mcpc login https://mcp.example/mcp --scope 'files:read files:write'`,
		ValidArgsFunction: f.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setTarget(f, args); err != nil {
				return err
			}
			o.noteSettings(cmd.Flags())
			if err := o.validate(f); err != nil {
				return err
			}
			return runLogin(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.scope, "scope", "", "`scopes` to request, instead of the scopes that the server names")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "print the URL, and paste the resulting redirect URL")
	flags.IntVar(&o.port, "callback-port", 0, "port of the redirect URI (default: a free port)")
	o.clientFlags(flags)
	flags.StringVar(&o.issuer, "issuer", "", "`URL` of the authorization server, if the server names several or none")
	flags.StringVar(&o.settings.Redirect, "redirect-uri", "",
		"redirect `URI` on this machine (default: http://127.0.0.1:PORT/callback)")
	flags.BoolVar(&o.assumePKCE, "assume-pkce", false, "trust the server to check PKCE although it does not declare it")
	flags.BoolVar(&o.noResource, "no-resource", false, "leave out the resource parameter (RFC 8707), as Entra ID requires")
	flags.StringArrayVar(&o.parameters, "authorize-param", nil,
		"`NAME=VALUE` to add to the URL that the browser opens (repeatable)")
	flags.BoolVar(&o.dpop, "dpop", false, "bind the token to a key (DPoP, RFC 9449)")
	_ = cmd.RegisterFlagCompletionFunc("grant", cmdutil.CompleteFixed(grantWords()...))
	tokenStoreFlag(cmd, &o.store)
	return cmd
}

// noteSettings sets the settings whose flags were given. Later logins use them again.
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

// setTarget makes the argument TARGET, if there is one, the server, as -s does.
func setTarget(f *cmdutil.Factory, args []string) error {
	if len(args) > 1 {
		return usage.New("login takes one target", "a token belongs to one server")
	}
	if len(args) == 1 {
		f.Server = args[0]
		f.ServerGiven = true
	}
	return nil
}

// runLogin logs in at a server and stores the token.
func runLogin(ctx context.Context, f *cmdutil.Factory, o loginOptions) error {
	f.Secrets.Learn(o.secret, o.idpSecret, o.registrationToken)
	f.Record.Many = true // a refused request is not the outcome
	out := connect.TryState(ctx, &f.Env)
	var req auth.Request
	if out.OK() {
		req, out = loginRequest(ctx, f, "login https://…")
	}
	if !out.OK() {
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
	req.IDPSecret = o.idpSecret
	req.Scopes = strings.Fields(o.scope)
	req.Bind = o.dpop
	req.Issuer = o.issuer
	browserErr := make(chan error, 1)
	req.Visit = console.Visitor(&f.Console, browserErr)
	req.ShowCode = console.ShowCode(&f.Console)
	if !f.ErrStyle.Terminal {
		req.NoBrowser = browserErr
	}
	if f.CanAsk() && !f.Auth.NoPrompt {
		req.Choose = console.ChooseIssuer(&f.Console)
	}
	if o.noBrowser {
		req.Visit = showLogin(f)
		req.Paste = pasteRedirect(f)
	}
	flow := connect.NewAuthFlow(ctx, &f.Env, req.Endpoint)
	defer flow.Net.Close()
	warnOnTolerated(f, flow)
	f.IsConnected.Store(true)
	timedCtx, stop := withMaxTime(ctx, f)
	defer stop()
	t, err := flow.Login(timedCtx, store, req)
	f.IsConnected.Store(false)
	if ctx.Err() != nil {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	}
	if err != nil {
		return cmdutil.Exit(connect.LoginFailed(err, redact.RedactURL(req.Endpoint)))
	}
	if !t.IsRenewable() && !t.Expires.IsZero() {
		f.Note("the server issued no refresh token, so a new login is needed when this token expires" + refreshHint(t, o))
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, tokenAnswer(f, t, store))
}

// refreshHint returns how to get a refresh token, as the end of a text, or "" if that was tried.
func refreshHint(t auth.Token, o loginOptions) string {
	if len(o.parameters) > 0 || slices.Contains(t.Requested, "offline_access") {
		return ""
	}
	return "; Google issues one with --authorize-param access_type=offline, other servers with the scope offline_access"
}

// warnOnTolerated makes a flow warn of broken rules that do not stop a login.
func warnOnTolerated(f *cmdutil.Factory, flow *auth.Flow) {
	report := flow.OnStep
	flow.OnStep = func(s auth.Step) {
		if s.Tolerated {
			f.Warn(f.ErrStyle.Line(s.Text))
		}
		if report != nil {
			report(s)
		}
	}
}

// withMaxTime returns ctx limited by --max-time, if it is given.
func withMaxTime(ctx context.Context, f *cmdutil.Factory) (context.Context, context.CancelFunc) {
	if limit := f.Limits.Hard; limit > 0 {
		return context.WithTimeoutCause(ctx, limit, usage.Late("--max-time is over"))
	}
	return ctx, func() {}
}

// showLogin returns a function that shows the URL of a login for a browser on another machine.
func showLogin(f *cmdutil.Factory) func(context.Context, string) {
	return func(_ context.Context, address string) {
		f.Note("log in here, in any browser: " + f.ErrStyle.Line(address))
		console.WarnOfAddress(&f.Console, address)
		f.Note("then paste the URL that the browser was redirected to, even if the page does not load:")
	}
}

// pasteRedirect returns a function that reads the redirect URL from the user. Its argument says
// what was wrong with the previous URL, or is nil.
func pasteRedirect(f *cmdutil.Factory) func(context.Context, *auth.Error) (string, error) {
	return func(ctx context.Context, previousError *auth.Error) (string, error) {
		if previousError != nil {
			f.Warn(previousError.Text + ": " + previousError.Hint.String())
			f.Note("paste it again; Ctrl-C cancels:")
		}
		return f.Typist.Line(ctx)
	}
}

// loginRequest returns the request for the server that the user names, else for the server that
// rejected the last command. If no challenge of the server is stored, it connects to get one.
// command is the command of the hint.
func loginRequest(ctx context.Context, f *cmdutil.Factory, command string) (auth.Request, wire.Outcome) {
	tokens, err := f.Env.Tokens()
	if err != nil {
		return auth.Request{}, connect.StateFailed(err)
	}
	records, err := tokens.Load()
	if err != nil {
		return auth.Request{}, connect.AuthFailed(err, wire.Outcome{})
	}
	pending := records.Pending
	selectRejecting(f, records)
	c, out := connect.FindLoginServer(ctx, &f.Env)
	if !out.OK() {
		return auth.Request{}, out
	}
	if c.Target.Source == target.FromDefault {
		err := usage.New("no server is given, and none has rejected a command since the last login", wire.Run(command))
		return auth.Request{}, usage.Outcome(err)
	}
	if c.LoginEndpoint() == "" {
		return auth.Request{}, usage.Outcome(usage.New("only HTTP servers use OAuth", wire.Run(command)))
	}
	req, _, out := c.RequestLogin(ctx, pending)
	if req.Refused != "" {
		f.Note("the server required no authentication, but answered " + f.ErrStyle.Line(strconv.Quote(req.Refused)) +
			"; trying its metadata")
	} else if out.OK() && !req.Challenged {
		f.Note("the server did not require authentication; trying its metadata")
	}
	return req, out
}

// selectRejecting makes the server that rejected the last command the target, if no server is named.
// It reports whether it did.
func selectRejecting(f *cmdutil.Factory, records auth.Records) bool {
	pending := records.Pending
	if pending == nil || f.ServerGiven || f.Getenv(host.EnvName("server")) != "" {
		return false
	}
	f.Server = pending.Endpoint
	f.ServerGiven = true
	if f.Auth.Account == "" {
		f.Auth.Account = pending.Account
	}
	f.Note("for " + redact.RedactURL(pending.Endpoint) + ", which rejected the last command")
	return true
}

// loginStore returns the token store. It encrypts new tokens if the keyring is wanted or available.
func loginStore(f *cmdutil.Factory, location string) (*auth.Store, error) {
	store, err := f.Env.Tokens()
	if err != nil {
		return nil, err
	}
	if location == "file" {
		return store, nil
	}
	store.Seals = store.Keyring.IsAvailable()
	if location == "keyring" && !store.Seals {
		return nil, &auth.Error{
			Rule: auth.StoreFailed, Text: "no keyring is available",
			Hint: "--token-store file stores the token in a file with mode 0600",
		}
	}
	return store, nil
}

// A tokenJSON is a token in JSON output. It contains no secret.
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

// tokenFacts returns a token for output.
func tokenFacts(t auth.Token) tokenJSON {
	expires := ""
	if !t.Expires.IsZero() {
		expires = t.Expires.UTC().Format(time.RFC3339)
	}
	return tokenJSON{
		Server:      redact.RedactURL(t.Endpoint),
		Resource:    redact.RedactURL(t.Resource),
		Account:     t.Account,
		Issuer:      t.Issuer,
		Client:      t.Client,
		Grant:       string(t.Grant),
		Scopes:      append([]string{}, t.Scopes...),
		Expires:     expires,
		Refreshable: t.IsRenewable(),
		Bound:       t.Key != "",
		Kept:        storageOf(t),
	}
}

// storageOf returns where the token's secret is stored.
func storageOf(t auth.Token) string {
	if t.Access.IsSealed() {
		return "keyring"
	}
	return "file"
}

// tokenAnswer returns the output for a new token.
func tokenAnswer(f *cmdutil.Factory, t auth.Token, store *auth.Store) cmdutil.Answer {
	facts := tokenFacts(t)
	raw, _ := json.Marshal(facts)
	where := map[string]string{"keyring": "encrypted, the key in the keyring", "file": "a file with mode 0600"}[facts.Kept]
	if file, ok := store.File.(interface{ Path() string }); ok {
		where += " (" + file.Path() + ")"
	}
	bound := ""
	if facts.Bound {
		bound = "bound to a key (DPoP)"
	}
	rows := [][]string{
		{"server", facts.Server},
		{"account", facts.Account},
		{"issuer", facts.Issuer},
		{"client", facts.Client},
		{"scopes", strings.Join(facts.Scopes, " ")},
		{"expires", expiryText(f, t)},
		{"bound", bound},
		{"token", where},
	}
	return cmdutil.Document(raw, func(w io.Writer, st term.Style) error { return term.Facts(w, st, rows) })
}

// expiryText returns when a token expires, for people.
func expiryText(f *cmdutil.Factory, t auth.Token) string {
	renewed := ""
	if t.IsRenewable() {
		renewed = ", refreshed automatically"
	}
	left := t.Expires.Sub(f.Now())
	switch {
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
