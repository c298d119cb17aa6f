package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// logoutOptions are the flags of the command logout.
type logoutOptions struct{ all, local bool }

// revokeTime limits the time to revoke all tokens.
const revokeTime = 10 * time.Second

// NewLogout returns the command auth logout.
func NewLogout(f *cmdutil.Factory) *cobra.Command {
	var o logoutOptions
	cmd := &cobra.Command{
		Use:   "logout [TARGET]",
		Short: "delete the token for a server",
		Long: `Delete the token for a server (of the account in --account), and revoke it if
the authorization server supports that (RFC 7009). --local only deletes. The
client's credentials (--client-secret, --private-key, --assertion, --id-token)
are deleted as well, unless another token uses them. --all deletes every token
and every client, registered or given.

The default TARGET is the server that rejected the last command, as for mcpc
login, else that of the session, else the only one with a token.`,
		Example: `  mcpc auth logout https://mcp.example/mcp
  mcpc auth logout https://mcp.example/mcp --local
  mcpc auth logout --all`,
		ValidArgsFunction: f.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.all && len(args) > 0 {
				return usage.New("--all and a target cannot be combined", "")
			}
			if err := setTarget(f, args); err != nil {
				return err
			}
			return runLogout(cmd.Context(), f, o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "delete all tokens and clients")
	cmd.Flags().BoolVar(&o.local, "local", false, "delete locally, without revocation")
	return cmd
}

// runLogout deletes tokens and their clients, and revokes the tokens.
func runLogout(ctx context.Context, f *cmdutil.Factory, o logoutOptions) error {
	store, err := f.Env.Tokens()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	if o.all {
		before, _ := store.Load()
		if err := store.Reset(ctx); err != nil {
			return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
		}
		f.Note("all tokens were deleted locally" + revoke(ctx, f, store, before, before.Tokens, o))
		return nil
	}
	records, err := store.Load()
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	selectRejecting(f, records)
	c, out := connect.FindLoginServer(ctx, &f.Env)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	where := c.Where
	endpoint := c.ServerSession().Endpoint
	if c.Target.Source == target.FromDefault && f.Auth.Account == "" && len(records.Tokens) == 1 {
		only := records.Tokens[0]
		endpoint = only.Endpoint
		f.Auth.Account = only.Account
		where = f.ErrStyle.Line(redact.RedactURL(endpoint))
	}
	var before, after auth.Records
	var forgotten auth.Forgotten
	err = store.Change(ctx, func(b *auth.Records) {
		before = *b
		forgotten = b.Forget(endpoint, f.Auth.Account)
		after = *b
	})
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	isUnknown := len(forgotten.Tokens) == 0
	switch {
	case isUnknown && c.Target.Source == target.FromSession && len(after.Tokens) == 1:
		command := logoutCommand(f, after.Tokens[0])
		f.Note("no token is stored for " + where + "; " + command + " deletes the only stored token")
	case isUnknown && c.Target.Source == target.FromDefault && len(after.Tokens) > 1:
		f.Note("no server is given, no session is current, and there are several tokens (mcpc auth): " +
			"mcpc auth logout TARGET deletes one, --all deletes all")
	case isUnknown:
		f.Note("no token is stored for " + where + " (mcpc auth lists the tokens)")
	default:
		result := revoke(ctx, f, store, before, forgotten.Tokens, o)
		f.Note("the token for " + where + " was deleted locally" + result)
	}
	noteClients(f, forgotten)
	return nil
}

// noteClients reports the deleted clients, and the clients that were kept for other tokens. It omits
// clients without a secret, which register again by themselves.
func noteClients(f *cmdutil.Factory, forgotten auth.Forgotten) {
	for _, c := range forgotten.Clients {
		if c.Proof() == "" {
			continue
		}
		next := "has to name it again"
		if c.Origin == auth.Registered {
			next = "registers again"
		}
		text := fmt.Sprintf("the client %s was deleted as well, with its %s; the next login there %s", c.ID, c.Proof(), next)
		f.Note(f.ErrStyle.Line(text))
	}
	for _, c := range forgotten.Needed {
		text := fmt.Sprintf("the client %s keeps its %s: another token uses it (mcpc auth)", c.ID, c.Proof())
		f.Note(f.ErrStyle.Line(text))
	}
}

// revoke revokes the tokens at their issuers and returns the result as text. It only warns about a
// failure, because the tokens are already deleted locally.
func revoke(
	ctx context.Context, f *cmdutil.Factory, store *auth.Store, records auth.Records, tokens []auth.Token, o logoutOptions,
) string {
	if len(tokens) == 0 {
		return ""
	}
	if o.local {
		return "; none was revoked"
	}
	ctx, stop := context.WithTimeoutCause(ctx, revokeTime, errors.New("timeout"))
	defer stop()
	var revoked, unsupported []string
	for _, t := range tokens {
		isRevoked, err := revokeOne(ctx, f, store, records, t)
		switch {
		case err != nil:
			text := fmt.Sprintf("the token was not revoked at %s: %v; it stays valid until it expires", t.Issuer, err)
			f.Warn(f.ErrStyle.Line(text))
		case isRevoked:
			revoked = append(revoked, t.Issuer)
		default:
			unsupported = append(unsupported, t.Issuer)
		}
	}
	result := ""
	if len(revoked) > 0 {
		result = ", and revoked at " + strings.Join(slices.Compact(revoked), ", ")
	}
	if len(unsupported) > 0 {
		result += "; " + strings.Join(slices.Compact(unsupported), ", ") + " has no revocation endpoint"
	}
	return f.ErrStyle.Line(result)
}

// revokeOne revokes a token. It reports false if the issuer has no revocation endpoint.
func revokeOne(
	ctx context.Context, f *cmdutil.Factory, store *auth.Store, records auth.Records, t auth.Token,
) (bool, error) {
	f.Route = nil // it belongs to the server of another token
	if err := f.Env.RememberNetwork(t.Endpoint); err != nil {
		return false, err
	}
	flow := connect.NewAuthFlow(ctx, &f.Env, t.Endpoint)
	defer flow.Net.Close()
	return flow.Revoke(ctx, store, records, t)
}

// logoutCommand returns the command that deletes a token.
func logoutCommand(f *cmdutil.Factory, t auth.Token) string {
	command := "mcpc auth logout " + shellwords.Quote(redact.RedactURL(t.Endpoint))
	if t.Account != "" {
		command += " --account " + shellwords.Quote(t.Account)
	}
	return f.ErrStyle.Line(command)
}
