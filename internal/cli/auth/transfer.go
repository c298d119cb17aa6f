package auth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/redact"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// newImport returns the command auth import.
func newImport(f *cmdutil.Factory) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "store a token that was got elsewhere",
		Long: `Store the token in a file, or on standard input (-), in place of the token for
its server. The file is a JSON object with the members of a token response,
access_token, refresh_token, token_type and scope, and with client_id,
client_secret, expires_at (RFC 3339), server and issuer; client_id and one token
are required. mcpc auth export writes such a file.

-s names the server; without -s the file does. The authorization server of that
server is discovered as for mcpc login, and must be the issuer in the file.`,
		Example: `  mcpc auth import token.json
  mcpc auth import token.json -s https://mcp.example/mcp --account work
  mcpc auth import - <token.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.New("auth import takes one file", wire.Run("auth import token.json"))
			}
			return runImport(cmd.Context(), f, args[0], store)
		},
	}
	tokenStoreFlag(cmd, &store)
	return cmd
}

// newExport returns the command auth export.
func newExport(f *cmdutil.Factory) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "export [TARGET]",
		Short: "write a stored token to a file, for another machine",
		Long: `Write the stored token for a server (of the account in --account), with its
refresh token and its client, to the file in -o. The file holds them in plain
text; its mode is 0600. -o /dev/stdout writes into a pipe. Keys and assertions
of the client stay here.

Where the authorization server rotates refresh tokens only one machine can renew
the token: mcpc auth logout --local deletes it here.`,
		Example: `  mcpc auth export https://mcp.example/mcp -o token.json
  mcpc auth export https://mcp.example/mcp --account work -o work.json --yes
  mcpc auth export -o token.json`,
		ValidArgsFunction: f.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setTarget(f, args); err != nil {
				return err
			}
			return runExport(cmd.Context(), f, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "write it without asking for confirmation")
	return cmd
}

// runImport stores the token of a file.
func runImport(ctx context.Context, f *cmdutil.Factory, name, location string) error {
	if err := checkTokenStore(location); err != nil {
		return err
	}
	transfer, err := readTransfer(f, name)
	if err != nil {
		return err
	}
	f.Secrets.Learn(transfer.Secrets()...)
	f.Record.Many = true // a refused request is not the outcome
	if transfer.Server != "" && !f.ServerGiven {
		f.Server = transfer.Server
		f.ServerGiven = true
	}
	if f.Auth.Account == "" {
		f.Auth.Account = transfer.Account
	}
	out := connect.TryState(ctx, &f.Env)
	var req auth.Request
	if out.OK() {
		req, out = loginRequest(ctx, f, "auth import FILE -s https://…")
	}
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if err := f.Env.RememberNetwork(req.Endpoint); err != nil {
		return err
	}
	store, err := loginStore(f, location)
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	flow := connect.NewAuthFlow(ctx, &f.Env, req.Endpoint)
	defer flow.Net.Close()
	timedCtx, stop := withMaxTime(ctx, f)
	defer stop()
	t, err := auth.Import(timedCtx, flow, store, req, transfer)
	if ctx.Err() != nil {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	}
	if err != nil {
		out := connect.LoginFailed(err, redact.RedactURL(req.Endpoint))
		if failed, ok := errors.AsType[*auth.Error](err); ok && failed.Rule == auth.NotOffered {
			out.Hint = "the token is of another authorization server: " + wire.Run("login") + " gets one of this server's"
		}
		return cmdutil.Exit(out)
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, tokenAnswer(f, t, store))
}

// readTransfer reads a token file, or standard input for "-". It warns if other users can read the
// file.
func readTransfer(f *cmdutil.Factory, name string) (auth.Transfer, error) {
	raw, err := f.Env.InTime(func() ([]byte, error) {
		if name == "-" {
			return host.ReadUpTo(f.In, host.MostSecret)
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() && state.OfAnotherUser(info) {
			return nil, errors.New("it belongs to another user")
		}
		if info.Mode().IsRegular() && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			f.Warn(f.ErrStyle.Line(name) + " can be read by other users: chmod 600")
		}
		return host.ReadUpTo(file, host.MostSecret)
	})
	if err != nil {
		return auth.Transfer{}, usage.NotRead(name, err, "")
	}
	transfer, err := auth.ReadTransfer(raw)
	if err != nil {
		return transfer, cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	return transfer, nil
}

// runExport writes the token for a server to the file in -o.
func runExport(ctx context.Context, f *cmdutil.Factory, yes bool) error {
	if f.Output == "" {
		return usage.New("a token is written to a file: auth export needs -o FILE", wire.Run("auth export -o token.json"))
	}
	if out := cmdutil.CheckOutput(f.Output); !out.OK() {
		return cmdutil.Exit(out)
	}
	store, err := f.Env.Tokens()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	c, out := connect.FindLoginServer(ctx, &f.Env)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	t, final, err := store.Export(ctx, c.ServerSession().Endpoint, f.Auth.Account)
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{ServerName: c.Where}))
	}
	f.Secrets.Learn(t.Secrets()...)
	if !yes {
		refused := wire.Outcome{
			Kind:  wire.Refused,
			Phase: "arguments",
			Text:  "not written: a token that others could use, and it was not confirmed",
			Hint:  "--yes writes it without asking",
		}
		if !f.Interactive() ||
			!f.Ask(ctx, "Write the token for "+c.Where+" in plain text to "+f.ErrStyle.Line(f.Output)+"?") {
			return cmdutil.Exit(refused)
		}
	}
	raw, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	if err := f.WriteOut(func(w io.Writer) error {
		_, err := w.Write(append(raw, '\n'))
		return err
	}); err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+f.Output, usage.Bare(err)))
	}
	if final {
		f.Note("the token cannot be renewed on another machine")
	}
	return nil
}
