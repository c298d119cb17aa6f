package auth

import (
	"cmp"
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

// logoutOptions are what `mcpc logout` was asked.
type logoutOptions struct{ all, local bool }

// revokeTime bounds what is said to authorization servers of tokens that are over.
const revokeTime = 10 * time.Second

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
		Example: `  mcpc logout https://mcp.example/mcp
  mcpc logout https://mcp.example/mcp --local
  mcpc logout --all`,
		ValidArgsFunction: f.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.all && len(args) > 0 {
				return usage.New("--all and a target exclude each other", "")
			}
			if err := oneTarget(f, args); err != nil {
				return err
			}
			return runLogout(cmd.Context(), f, o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "delete all tokens and clients")
	cmd.Flags().BoolVar(&o.local, "local", false, "delete locally, without revocation")
	return cmd
}

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
	book, err := store.Load()
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	meanRefused(f, book)
	c, out := namedServer(ctx, f)
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	where := c.Where
	endpoint := cmp.Or(c.Saved, c.OneOff).Endpoint
	if c.Target.Source == target.FromDefault && f.Auth.Account == "" && len(book.Tokens) == 1 {
		only := book.Tokens[0]
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
	switch {
	case err != nil:
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	case len(forgotten.Tokens) == 0 && c.Target.Source == target.FromSession && len(after.Tokens) == 1:
		f.Note("no token is stored for " + where + "; " + logoutOf(f, after.Tokens[0]) + " deletes the only stored token")
	case len(forgotten.Tokens) == 0 && c.Target.Source == target.FromDefault && len(after.Tokens) > 1:
		f.Note(
			"no server is given, no session is current, and there are several tokens (mcpc auth): mcpc logout TARGET deletes one, --all deletes all",
		)
	case len(forgotten.Tokens) == 0:
		f.Note("no token is stored for " + where + " (mcpc auth lists the tokens)")
	default:
		f.Note(
			fmt.Sprintf("the token for %s was deleted locally", where) + revoke(ctx, f, store, before, forgotten.Tokens, o),
		)
	}
	for _, gone := range slices.DeleteFunc(forgotten.Clients, func(c auth.Client) bool { return c.Proof() == "" }) { // the others register again unasked
		next := "has to name it again"
		if gone.Origin == auth.Registered {
			next = "registers again"
		}
		f.Note(
			f.ErrStyle.Line(
				fmt.Sprintf("the client %s was deleted as well, with its %s; the next login there %s", gone.ID, gone.Proof(), next),
			),
		)
	}
	for _, c := range forgotten.Needed {
		f.Note(f.ErrStyle.Line(fmt.Sprintf("the client %s keeps its %s: another token uses it (mcpc auth)", c.ID, c.Proof())))
	}
	return nil
}

// revoke revokes the tokens at their issuers, and returns the result as text. A failure
// changes nothing here: the tokens are forgotten already.
func revoke(
	ctx context.Context,
	f *cmdutil.Factory,
	store *auth.Store,
	book auth.Records,
	tokens []auth.Token,
	o logoutOptions,
) string {
	if len(tokens) == 0 {
		return "" // there was none
	}
	if o.local {
		return "; none was revoked"
	}
	ctx, stop := context.WithTimeoutCause(ctx, revokeTime, errors.New("timeout"))
	defer stop()
	var heard, deaf []string
	for _, t := range tokens {
		told, err := revokeOne(ctx, f, store, book, t)
		switch {
		case err != nil:
			f.Warn(
				f.ErrStyle.Line(fmt.Sprintf("the token was not revoked at %s: %v; it stays valid until it expires", t.Issuer, err)),
			)
		case told:
			heard = append(heard, t.Issuer)
		default:
			deaf = append(deaf, t.Issuer)
		}
	}
	said := ""
	if len(heard) > 0 {
		said = ", and revoked at " + strings.Join(slices.Compact(heard), ", ")
	}
	if len(deaf) > 0 {
		said += "; " + strings.Join(slices.Compact(deaf), ", ") + " has no revocation endpoint"
	}
	return f.ErrStyle.Line(said)
}

func revokeOne(
	ctx context.Context,
	f *cmdutil.Factory,
	store *auth.Store,
	book auth.Records,
	t auth.Token,
) (bool, error) {
	f.Route = nil // that of another server's token
	if err := f.Env.RememberNetwork(t.Endpoint); err != nil {
		return false, err
	}
	w := connect.NewAuthFlow(ctx, &f.Env, t.Endpoint)
	defer w.Net.Close()
	return w.Revoke(ctx, store, book, t)
}

// logoutOf is the command that forgets a token.
func logoutOf(f *cmdutil.Factory, t auth.Token) string {
	command := "mcpc logout " + shellwords.Quote(redact.RedactURL(t.Endpoint))
	if t.Account != "" {
		command += " --account " + shellwords.Quote(t.Account)
	}
	return f.ErrStyle.Line(command)
}
