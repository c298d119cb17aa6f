// Package session has the commands about servers that mcpc knows by name: init, sessions and servers.
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/client/keepalive"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/state"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewSessions returns the command sessions with its subcommands.
func NewSessions(f *cmdutil.Factory) *cobra.Command {
	showsIDs := false
	cmd := &cobra.Command{
		Use:   "sessions [COMMAND]",
		Short: "list and close sessions, or choose the current one",
		Long: `List the sessions; if init --keep left a server running, with its remaining
time. A star marks the current session, which commands use if no server is
given. A session id is a credential, so it is shown only with --ids; revisions
without sessions have none.`,
		Args: func(cmd *cobra.Command, args []string) error { return meant.UnknownCommand(f, cmd, args) },
		Example: `  mcpc sessions
  mcpc sessions --json
  mcpc sessions use box`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSessions(cmd.Context(), f, showsIDs)
		},
	}
	cmd.Flags().BoolVar(&showsIDs, "ids", false, "show the session ids, which are credentials")
	cmd.AddCommand(newSessionUse(f), NewClose(f), newRepair(f))
	cmdutil.AddListName(cmd)
	return cmd
}

// runSessions lists the sessions, with their ids if showsIDs is set.
func runSessions(ctx context.Context, f *cmdutil.Factory, showsIDs bool) error {
	store, st, err := f.Env.LoadState()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	removeStaleSockets(store)
	var all []state.Session
	for _, name := range st.Names() {
		s, _ := st.Session(name)
		all = append(all, s)
	}
	held := queryKept(ctx, all)
	if len(all) == 0 {
		f.Note("no sessions: mcpc init TARGET opens one")
	}
	write := func(w io.Writer, style term.Style) error {
		head := []string{"", "NAME", "SERVER", "PROTOCOL", "USED"}
		rows := sessionRows(f, all, st.Current(), store)
		if slices.ContainsFunc(all, func(s state.Session) bool { return s.Held != nil }) {
			head = append(head, "HELD")
			for i, s := range all {
				rows[i] = append(rows[i], keptCell(s, held[s.Name]))
			}
		}
		if showsIDs {
			head = append(head, "MCP-SESSION-ID")
			for i, s := range all {
				rows[i] = append(rows[i], cmp.Or(string(s.SessionID), "-"))
			}
		}
		return term.Table(w, style, head, rows)
	}
	raw := sessionsJSON(f, all, st.Current(), held, showsIDs)
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, write))
}

// sessionRows returns the rows of the table of sessions.
func sessionRows(f *cmdutil.Factory, all []state.Session, current string, store *state.Store) [][]string {
	var rows [][]string
	for _, s := range all {
		mark := ""
		if s.Name == current {
			mark = "*"
		}
		used := store.LastUsed(s)
		if used.IsZero() { // only mcpc init has used it
			used = s.OpenedAt
		}
		server := f.Secrets.Text(serverText(s))
		rows = append(rows, []string{mark, s.Name, server, s.Revision, english.Ago(f.Now(), used)})
	}
	return rows
}

// serverText returns a session's server for people. It names the directory of a command if that is
// not the current one.
func serverText(s state.Session) string {
	if s.From != nil {
		return s.From.Client + ":" + s.From.Name
	}
	if len(s.Command) > 0 {
		if current, _ := os.Getwd(); s.Folder != "" && s.Folder != current {
			return connect.CommandLine(s.Command) + " (in " + s.Folder + ")"
		}
		return connect.CommandLine(s.Command)
	}
	return redact.RedactURL(s.Endpoint)
}

// sessionsJSON returns the sessions for JSON output. It contains no secret, except the session ids if showsIDs
// is set.
func sessionsJSON(
	f *cmdutil.Factory, all []state.Session, current string, held map[string]*keepalive.Status, showsIDs bool,
) json.RawMessage {
	type row struct {
		Name      string          `json:"name"`
		Current   bool            `json:"current"`
		Endpoint  string          `json:"endpoint,omitempty"`
		Command   []string        `json:"command,omitempty"`
		Cwd       string          `json:"cwd,omitempty"`
		From      *state.Origin   `json:"from,omitempty"`
		Transport string          `json:"transport"`
		Protocol  string          `json:"protocol"`
		Server    json.RawMessage `json:"serverInfo,omitempty"`
		OpenedAt  time.Time       `json:"openedAt"`
		SessionID string          `json:"sessionId,omitempty"`
		Held      *keptRow        `json:"held,omitempty"`
	}
	rows := []row{}
	for _, s := range all {
		from := s.From
		if from != nil && from.Entry != "" { // the entry of a server card is not shown
			copied := *from
			copied.Entry = ""
			from = &copied
		}
		id := ""
		if showsIDs {
			id = string(s.SessionID)
		}
		rows = append(rows, row{
			Name:      s.Name,
			SessionID: id,
			Current:   s.Name == current,
			Endpoint:  f.Secrets.Text(redact.RedactURL(s.Endpoint)),
			Command:   f.Secrets.Command(s.Command),
			Cwd:       s.Folder,
			From:      from,
			Transport: s.Transport,
			Protocol:  s.Revision,
			Server:    s.ServerInfo,
			OpenedAt:  s.OpenedAt,
			Held:      keptRowOf(s, held[s.Name]),
		})
	}
	raw, _ := json.Marshal(map[string]any{"sessions": rows})
	return raw
}

// NewClose returns the command close.
func NewClose(f *cmdutil.Factory) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "close [NAME]",
		Short: "close a session",
		Long: `Close a session: delete it on the server and forget it. A server that init
--keep left running is stopped. The default is the current session.`,
		Example: `  mcpc sessions close
  mcpc sessions close box
  mcpc sessions close --all`,
		ValidArgsFunction: f.CompleteSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || all && len(args) > 0 {
				return usage.New("close takes one session name", wire.Run("sessions")+" lists them")
			}
			// Without an argument -s selects the session, then the variable, then the current session.
			name := f.Server
			if name == "" {
				name = f.Getenv(host.EnvName("server"))
			}
			if len(args) > 0 {
				name = args[0]
			}
			return closeSessions(cmd.Context(), f, name, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "close all sessions")
	return cmd
}

// closeSessions closes the named session, the current one if name is "", or all of them. If a kept
// server cannot be stopped, it continues with the other sessions and returns that error at the end.
func closeSessions(ctx context.Context, f *cmdutil.Factory, name string, all bool) error {
	store, st, err := f.Env.LoadState()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	if name == "" {
		name = st.Current()
	}
	names := []string{name}
	if all {
		names = st.Names()
	}
	var unstopped error
	for _, name := range names {
		s, ok := st.Session(name)
		if !ok {
			return cmdutil.Join(unstopped, cmdutil.Exit(noSession(name, st.Names())))
		}
		err := closeOne(ctx, f, store, s)
		// An ExitError is of the server. Another error is of the state, which fails for the other sessions, too.
		if _, isExit := errors.AsType[*cmdutil.ExitError](err); err != nil && !isExit {
			return cmdutil.Join(unstopped, cmdutil.Exit(connect.StateFailed(err)))
		}
		unstopped = cmdutil.Join(unstopped, err)
	}
	if len(names) == 0 {
		f.Note("no sessions")
	}
	return unstopped
}

// setCloseAuth makes the client send the token of the session's account, or of --account if that is
// set. It disables the login prompt, because the request only ends a session.
func setCloseAuth(c *connect.Conn, opt *client.Options) error {
	account := c.Env.Auth.Account
	defer func() { c.Env.Auth.Account = account }() // close --all has other sessions with other accounts
	if account == "" {
		c.Env.Auth.Account = c.Saved.Account
	}
	err := c.SetAuthTransport(opt)
	if c.Env.Guard != nil {
		c.Env.Guard.Login = nil
	}
	return err
}

// noSession returns the outcome for an unknown session; name is "" if there is no current one.
func noSession(name string, known []string) wire.Outcome {
	if name == "" {
		return usage.Outcome(usage.New("no current session", wire.Run("sessions")+" lists them"))
	}
	hint := suggest.DidYouMean("%s", name, known, wire.Run("sessions")+" lists them")
	return usage.Outcome(usage.New(fmt.Sprintf("no session is named %q", name), hint))
}

// closeOne deletes a session from the state, and then on the server, which may not be reachable. A
// kept server is stopped instead. The error is of the state or of the user's settings, or an
// ExitError if a kept server cannot be stopped.
func closeOne(ctx context.Context, f *cmdutil.Factory, store *state.Store, s state.Session) error {
	err := store.Update(ctx, func(st *state.State) error {
		st.Remove(s.Name)
		return nil
	})
	if err != nil {
		return err
	}
	if s.Held != nil {
		return closeKept(ctx, f, store, s)
	}
	f.Note("closed " + s.Name)
	if s.SessionID == "" || transport.Name(s.Transport) != transport.StreamableHTTP {
		return nil
	}
	return deleteOnServer(ctx, f, store, s)
}

// deleteOnServer deletes a Streamable HTTP session on its server. It reports no failure of the
// request: the session may have expired, or the server may not be reachable.
func deleteOnServer(ctx context.Context, f *cmdutil.Factory, store *state.Store, s state.Session) error {
	c := &connect.Conn{Env: &f.Env, Where: s.Name, Saved: &s, Store: store}
	fields, err := f.Env.Fields()
	if err != nil {
		return err
	}
	if s.From != nil {
		// A server whose configuration changed meanwhile is not told that the session is over.
		if out := c.FindOrigin(s.From); !out.OK() {
			return nil
		}
		isConfirmed := host.StandingOf(f.Env.Trusts(store), *c.Origin) == host.Confirmed
		if !isConfirmed {
			return nil // the user did not confirm the server, and is not asked here
		}
		const isDraft = false
		if out := c.SettleOrigin(ctx, isDraft); !out.OK() {
			return nil
		}
		fields = c.WithFields(fields)
	}
	c.LearnSecrets(fields)
	f.ShowTraffic(f.Verbose, f.Explain)
	opt := client.Options{
		Version: f.Version,
		Fields:  fields,
		Limits:  f.Limits,
		Now:     f.Now,
		Tap:     c.Tap(),
		Secrets: &f.Secrets,
		Found:   func(finding wire.Finding) { f.Note(finding.Text) },
	}
	c.SetServer(&opt)
	if err := c.SetNetwork(&opt); err != nil {
		return err
	}
	if err := setCloseAuth(c, &opt); err != nil {
		return err
	}
	opt.Resume = &client.Memory{ // no handshake: Open only sets up the client
		Revision:  s.Revision,
		Transport: transport.StreamableHTTP,
		SessionID: string(s.SessionID),
		Cookies:   string(s.Cookies),
	}
	session, out := client.Open(ctx, opt)
	if out.OK() {
		session.Close(ctx, true) // true: deletes the session
	}
	return nil
}
