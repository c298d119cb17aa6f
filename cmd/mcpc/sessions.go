package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

func newSessions(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions [COMMAND]",
		Short: "list sessions, or choose the current one",
		Long: `List the sessions, and for kept servers the remaining time. A star marks the
current session, which is used when no server is given. Session ids are never
shown.`,
		Args: a.unknownCommand,
		Example: `  mcpc sessions
  mcpc sessions --json
  mcpc sessions use box`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.sessions(cmd.Context())
			return nil
		},
	}
	cmd.AddCommand(newSessionUse(a))
	return cmd
}

func (a *app) sessions(ctx context.Context) {
	store, st, err := a.loadState()
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	a.sweep(store)
	var all []state.Session
	for _, name := range st.Names() {
		s, _ := st.Session(name)
		all = append(all, s)
	}
	held := lookAtHeld(ctx, all)
	if len(all) == 0 {
		a.note("no sessions: mcpc init TARGET opens one")
	}
	a.show(ctx, wire.Outcome{}, document(sessionsJSON(all, st.Current(), held), func(w io.Writer, style render.Style) error {
		head, rows := []string{"", "NAME", "SERVER", "PROTOCOL", "USED"}, sessionRows(all, st.Current(), store, a.now())
		if slices.ContainsFunc(all, func(s state.Session) bool { return s.Held != nil }) {
			head = append(head, "HELD")
			for i, s := range all {
				rows[i] = append(rows[i], heldCell(s, held[s.Name]))
			}
		}
		return render.Table(w, style, head, rows)
	}))
}

func (a *env) loadState() (*state.Store, state.State, error) {
	store, err := state.Open(a.state)
	if err != nil {
		return nil, state.State{}, err
	}
	st, err := store.Load()
	return store, st, err
}

func sessionRows(all []state.Session, current string, store *state.Store, now time.Time) [][]string {
	var rows [][]string
	for _, s := range all {
		mark := ""
		if s.Name == current {
			mark = "*"
		}
		rows = append(rows, []string{mark, s.Name, placeOf(s), s.Revision, ago(now, cmp.Or(store.LastUsed(s), s.OpenedAt))})
	}
	return rows
}

// placeOf is where a session's server is; a folder is told where it is another than
// that of this run.
func placeOf(s state.Session) string {
	if s.From != nil {
		return s.From.Client + ":" + s.From.Name
	}
	if len(s.Command) > 0 {
		if here, _ := os.Getwd(); s.Folder != "" && s.Folder != here {
			return commandLine(s.Command) + " (in " + s.Folder + ")"
		}
		return commandLine(s.Command)
	}
	return wire.RedactURL(s.Endpoint)
}

// ago is a time as a person remembers it.
func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return "-"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return then.Format("2006-01-02")
	}
}

// sessionsJSON is what a script reads; no member of it is a secret.
func sessionsJSON(all []state.Session, current string, held map[string]*client.HeldFacts) json.RawMessage {
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
		Held      *heldRow        `json:"held,omitempty"`
	}
	rows := []row{}
	for _, s := range all {
		rows = append(rows, row{s.Name, s.Name == current, wire.RedactURL(s.Endpoint), wire.RedactCommand(s.Command), s.Folder, s.From,
			s.Transport, s.Revision, s.ServerInfo, s.OpenedAt, heldRowOf(s, held[s.Name])})
	}
	raw, _ := json.Marshal(map[string]any{"sessions": rows})
	return raw
}

func newClose(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "close [NAME]",
		Short: "close a session",
		Long: `Close a session: delete it on the server and forget it; a kept server is
stopped. The default is the current session.`,
		Example: `  mcpc close
  mcpc close box
  mcpc close --all`,
		ValidArgsFunction: a.beforeDash(a.completeSessions()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || all && len(args) > 0 {
				return hinted("close takes one session name", wire.Run("sessions")+" lists them")
			}
			// Who is meant is settled as everywhere: -s, the variable, the current one.
			a.closeSessions(cmd.Context(), append(args, cmp.Or(a.server, a.getenv(envName("server"))))[0], all)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "end all sessions")
	return cmd
}

func (a *app) closeSessions(ctx context.Context, name string, all bool) {
	store, st, err := a.loadState()
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	names := []string{cmp.Or(name, st.Current())}
	if all {
		names = st.Names()
	}
	for _, name := range names {
		s, ok := st.Session(name)
		if !ok {
			a.end(a.noSession(name, st.Names()))
			return
		}
		if err := a.closeOne(ctx, store, s); err != nil {
			a.end(stateFailed(err))
			return
		}
	}
	if len(names) == 0 {
		a.note("no sessions")
	}
}

// guardEnd sends the session's token along, and has nobody log in for an end.
func (c *conversation) guardEnd(opt *client.Options) error {
	account := c.a.auth.account
	defer func() { c.a.auth.account = account }()
	c.a.auth.account = cmp.Or(account, c.saved.Account)
	err := c.guard(opt)
	if c.a.guard != nil {
		c.a.guard.Login = nil
	}
	return err
}

func (a *app) noSession(name string, known []string) wire.Outcome {
	if name == "" {
		return usage(hinted("no current session", wire.Run("sessions")+" lists them"))
	}
	return usage(hinted(fmt.Sprintf("no session is named %q", name), didYouMean("%s", name, known, wire.Run("sessions")+" lists them")))
}

// closeOne forgets a session first: the server may be gone, and then there is
// nobody to tell.
func (a *app) closeOne(ctx context.Context, store *state.Store, s state.Session) error {
	err := store.Update(ctx, func(st *state.State) error {
		st.Remove(s.Name)
		return nil
	})
	if err != nil {
		return err
	}
	if s.Held != nil {
		return a.closeHeld(ctx, store, s)
	}
	a.note("closed " + s.Name)
	if s.SessionID == "" || client.TransportName(s.Transport) != client.StreamableHTTP {
		return nil
	}
	c := &conversation{a: &a.env, where: s.Name, saved: &s, store: store}
	fields, err := a.fields()
	if err != nil {
		return err
	}
	if s.From != nil {
		// Whoever changed the file meanwhile is not told that the session is over.
		if out := c.findOrigin(s.From); !out.Good() || standingOf(a.trusts(store), *c.origin) != confirmed || !c.settleOrigin(ctx, false).Good() {
			return nil
		}
		fields = c.withFields(fields)
	}
	c.learnSecrets(fields)
	a.showTraffic(a.verbose, a.explain)
	opt := client.Options{Version: a.version, Fields: fields, Limits: a.limits, Now: a.now, Tap: c.tap(), Secrets: &a.secrets,
		Found: func(f wire.Finding) { a.note(f.Text) }}
	c.serverOf(&opt)
	if err := c.reachServer(&opt); err != nil {
		return err
	}
	if err := c.guardEnd(&opt); err != nil {
		return err
	}
	opt.Resume = &client.Memory{Revision: s.Revision, Transport: client.StreamableHTTP, SessionID: string(s.SessionID)}
	session, out := client.Open(ctx, opt)
	if out.Good() {
		session.Close(ctx, true)
	}
	return nil
}
