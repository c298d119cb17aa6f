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
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/client/keepalive"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// initOptions are the flags of the command init.
type initOptions struct {
	name string
	keep connect.Keeping
	card cardOptions
}

// NewInit returns the command init.
func NewInit(f *cmdutil.Factory) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [TARGET] [-- COMMAND...]",
		Short: "open a session with a server and remember it",
		Long: `Open a session: do the handshake (or server/discover, if the revision has no
handshake), print what was negotiated, and remember the session for later
commands. TARGET is a URL, "demo", or a name from mcpc servers; the command of a
stdio server follows --.

Each command starts its own process of a stdio server, in the directory where
init was run, and ends it. --keep keeps it running, with its state, until mcpc
close or until it has been idle for --idle.

At a terminal, --explain also shows the session id of a server on this machine,
this one time. It is hidden everywhere else, because it works like a password.

--card takes the server from a server card, a registry entry (server.json) or an
AI catalog, shows what mcpc would connect to or run, and asks for confirmation.
These formats are drafts, so --card needs --experimental (mcpc help targets).`,
		Example: `  mcpc init demo
  mcpc init demo --as box --protocol ` + client.Revisions()[1] + `
  mcpc init demo --json
  mcpc init --keep --as toggles -- mcpc demo --stdio
  mcpc init --experimental --card server.json --dry-run`,
		ValidArgsFunction: f.CompleteSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if err := o.check(f, own, argv); err != nil {
				return err
			}
			if o.card.source != "" {
				return initCard(cmd.Context(), f, o)
			}
			return runInit(cmd.Context(), f, o, connect.Options{Argv: argv}, nil)
		},
	}
	cmd.Flags().StringVar(&o.name, "as", "", "session `name`")
	cmd.Flags().BoolVar(&o.keep.On, "keep", false, "keep the server after -- running for later commands")
	cmd.Flags().Var((*cmdutil.Seconds)(&o.keep.Idle), "idle",
		"with --keep: stop it after this idle time (default 10m, 0 never)")
	o.card.flags(cmd.Flags())
	f.AddAnswering(cmd.Flags())
	return cmd
}

// check returns an error for arguments and flags that exclude each other or are invalid. It sets the
// server of f if own names one.
func (o *initOptions) check(f *cmdutil.Factory, own, argv []string) error {
	if len(own) > 1 {
		return usage.New("init takes one target", meant.ServerCommandHint(f, "init", own))
	}
	if err := o.card.check(f, len(own) > 0 || argv != nil); err != nil {
		return err
	}
	if len(own) == 1 {
		if err := f.SetServer(own[0], argv); err != nil {
			return err
		}
	}
	if err := o.keep.Check(); err != nil || o.name == "" {
		return err
	}
	return target.ValidName(o.name)
}

// runInit opens the session, stores it, and prints what was negotiated. fromCard is the server of a
// card, which it compares with the running server, or nil.
func runInit(
	ctx context.Context,
	f *cmdutil.Factory,
	o initOptions,
	options connect.Options,
	fromCard *described,
) error {
	options.RequireServerInfo = true
	options.NoResume = true
	options.Remembers = true
	if o.keep.On {
		options.Keep = &o.keep
	}
	c, out := f.Open(ctx, options)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if err := keepSession(ctx, c, o.name); err != nil {
		failed := connect.StateFailed(err)
		if errors.Is(err, keepalive.ErrGone) {
			failed = wire.Outcome{
				Kind:       wire.Transport,
				Phase:      "close",
				Text:       "the server exited before it could be kept",
				Err:        err,
				ServerName: c.Where,
				Hint:       wire.Run("init --keep "+c.Saved.Name) + " starts it again",
			}
		}
		return cmdutil.Exit(f.MarkAnswered(failed))
	}
	isProxySecret := c.Saved.Reach != nil && connect.HasSecret(string(c.Saved.Reach.Proxy))
	if isProxySecret || connect.HasSecret(c.Saved.Endpoint) {
		f.Warn("the URL contains something that looks like a secret, which is now stored in " + c.Store.Dir() +
			"; -H values are not stored")
	}
	ans := cmdutil.AnswerOf(out)
	ans.Human = func(w io.Writer, st term.Style) error { return writeSummary(c, w, st) }
	err := cmdutil.Show(ctx, f, out, ans, "server/discover", "initialize")
	if fromCard == nil {
		return err
	}
	server, _ := jsonraw.Object(c.Info().ServerInfo)
	return cmdutil.Join(err, fromCard.compare(f, server.Text("name"), server.Text("version"), c.Revision()))
}

// keepSession stores the connection as a session and makes it the current one. The session is called
// name, or, if that is "", as before or by its target. It replaces a session of the same name and
// stops the server that mcpc kept for that. It also lets the keep process of this connection outlive
// the command. An error is of the state, or keepalive.ErrGone if the kept server exited.
func keepSession(ctx context.Context, c *connect.Conn, name string) error {
	if c.Store == nil { // the state could not be opened: a second attempt returns why
		_, err := state.Open(c.Env.State)
		return err
	}
	place := *cmp.Or(c.Saved, c.OneOff) // a copy
	place.Reach = c.Env.Route.Kept()
	place.Account = c.Env.Auth.Account
	if c.Origin != nil { // the configuration is not copied, because it may contain secrets
		place.Endpoint = ""
		place.Command = nil
		place.Folder = ""
		if err := c.Env.Trust(ctx, c.Store, *c.Origin); err != nil {
			return err
		}
	}
	if place.Command != nil && place.Folder == "" {
		place.Folder, _ = os.Getwd() // "" after an error: each run uses its own directory
	}
	place.Held = c.Kept()
	var replaced *state.KeptServer // the kept server of the previous session of that name
	memory := c.Memory()
	memory.Info = connect.SafeInfo(c.Env, memory.Info)
	err := c.Store.Update(ctx, func(st *state.State) error {
		isTaken := func(name string) bool { // a second mcpc init replaces the session of the same server
			other, ok := st.Session(name)
			return ok && !samePlace(other, *c.OneOff)
		}
		if name != "" {
			place.Name = name
		}
		if place.Name == "" {
			place.Name = target.NameFor(c.Target, isTaken)
		}
		connect.FillSession(&place, memory)
		place.Pinned = c.Env.Protocol != ""
		place.Answering = nil
		if !host.IsZero(c.Answering) {
			place.Answering = &c.Answering
		}
		place.OpenedAt = c.Env.Now()
		place.NextID = c.LastID() + 1 // later commands of this session continue its request ids
		previous, _ := st.Session(place.Name)
		replaced = previous.Held
		stored := st.Put(place)
		st.SetCurrent(stored.Name)
		c.SaveAs(&stored)
		return nil
	})
	if err != nil {
		return err
	}
	c.ForgetLists() // the name may belong to another server now
	connect.StopKept(ctx, c.Env, replaced)
	err = c.Keep()
	// The other mcpc init has stopped this connection's server, so Keep may have failed because of it.
	if c.Saved.Held != nil && wasReplaced(c) {
		c.Env.UI.Warn("another mcpc init used the name " + c.Saved.Name + " at the same time; this server was stopped")
		return nil
	}
	return err
}

// wasReplaced reports whether another process has stored a session under the name meanwhile: the
// stored session then has another kept server, or none. c.Saved.Held must not be nil. It returns
// false if the state cannot be read.
func wasReplaced(c *connect.Conn) bool {
	st, err := c.Store.Load()
	if err != nil {
		return false
	}
	now, ok := st.Session(c.Saved.Name)
	return ok && (now.Held == nil || now.Held.Socket != c.Saved.Held.Socket)
}

// samePlace reports whether two sessions have the same server and account. Servers of a
// configuration file are compared by their entry in it, others by URL and command.
func samePlace(a, b state.Session) bool {
	if a.From != nil && b.From != nil {
		isSameFile := a.From.File == b.From.File && a.From.Folder == b.From.Folder
		isSameEntry := a.From.Client == b.From.Client && a.From.Name == b.From.Name
		return isSameFile && isSameEntry && a.Account == b.Account
	}
	return a.Endpoint == b.Endpoint && a.Account == b.Account && slices.Equal(a.Command, b.Command)
}

// maxInstructionLines is how many lines of the instructions mcpc init shows.
const maxInstructionLines = 4

// writeSummary writes what was negotiated, for people.
func writeSummary(c *connect.Conn, w io.Writer, st term.Style) error {
	info := c.Info()
	protocol := c.Revision() + cmdutil.SessionText(c)
	switch {
	case c.Memory().SessionID != "":
		protocol += "; mcpc sessions --ids shows the id"
	case client.Stateless(c.Revision()) && c.Transport() == transport.StreamableHTTP:
		protocol += "; --protocol " + client.Revisions()[1] + " opens a session with an id"
	}
	rows := [][]string{
		{"session", c.Saved.Name},
		{"server", connect.ServerName(info.ServerInfo)},
		{"protocol", protocol},
		{"transport", cmdutil.TransportNames[c.Transport()]},
		{"kept", cmdutil.KeepaliveText(c)},
		{"capabilities", strings.Join(capabilities(info.Capabilities), ", ")},
		{"client capabilities", strings.Join(capabilities(c.Promised), ", ")},
	}
	if info.Instructions != "" {
		rows = append(rows, []string{"instructions", firstLines(info.Instructions, maxInstructionLines)})
	}
	return term.Facts(w, st, rows)
}

// firstLines returns the first n lines of a text, with a last line that says how many lines follow.
// A text of at most n lines is returned as it is.
func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) <= n {
		return text
	}
	return strings.Join(lines[:n], "\n") + fmt.Sprintf("\n+%d lines (--json shows them)", len(lines)-n)
}

// capabilities returns the names of declared capabilities, each with its options in brackets unless
// they are false. It returns nil if raw is not an object.
func capabilities(raw json.RawMessage) []string {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range members {
		var set []string
		options, _ := jsonraw.Object(m.Value)
		for _, o := range options {
			if string(o.Value) != "false" {
				set = append(set, o.Name)
			}
		}
		name := m.Name
		if len(set) > 0 {
			name += " (" + strings.Join(set, ", ") + ")"
		}
		names = append(names, name)
	}
	return names
}
