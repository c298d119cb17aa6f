package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/connect/pin"
	"mcpc/internal/diff/lockfile"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// trustOptions are the arguments and flags of the command trust.
type trustOptions struct {
	names              []string
	yes, revoke, tools bool
}

// NewTrust returns the command servers trust.
func NewTrust(f *cmdutil.Factory) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [NAME...]",
		Short: "approve a server found in another program's configuration",
		Long: `Show a server's whole entry in another program's configuration (the exact
command, the names of variables, the directory, the file), ask for approval, and
remember it by a hash. Commands from such files, and everything from a project's
file, run only when approved; a change needs a new approval.

mcpc.lock.json as NAME approves the lock file of that path, by its hash: if a
tool changed and the file has its current definition, mcpc then calls it without
asking.

--tools approves the current definitions of the tools of one server (a NAME, a
session, a URL) that changed since a call approved them. It shows the
differences and calls no tool.

With several NAMEs mcpc asks about each server; if one NAME is unknown, it
approves none. Without a NAME it lists what is trusted. --revoke withdraws
approvals, and forgets the approved tools of a server (a NAME, a session, a
URL): the next call approves their definitions again.`,
		Example: `  mcpc servers trust other --yes
  mcpc servers trust
  mcpc servers trust demo --tools
  mcpc servers trust other --revoke`,
		ValidArgsFunction: f.CompleteKnown,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if o.tools {
				return trustTools(cmd.Context(), f, o)
			}
			if len(args) > 0 {
				return trustAll(cmd.Context(), f, o)
			}
			if o.revoke || o.yes {
				return usage.New("trust needs a server's name", wire.Run("servers trust")+" lists trusted servers")
			}
			return listTrusted(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "approve without asking for confirmation")
	cmd.Flags().BoolVar(&o.revoke, "revoke", false, "withdraw the approval")
	cmd.Flags().BoolVar(&o.tools, "tools", false, "approve the tools of a server that changed since they were approved")
	cmd.MarkFlagsMutuallyExclusive("tools", "revoke")
	return cmd
}

// trustAll approves, or with --revoke revokes, each of the names. It first looks up all names and
// approves none if one is unknown or cannot be used. The user may refuse one server and approve the
// next; the error then is of the one refused.
func trustAll(ctx context.Context, f *cmdutil.Factory, o trustOptions) error {
	store, err := state.Open(f.State)
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	if o.revoke {
		for _, name := range o.names {
			err = cmdutil.Join(err, revokeTrust(ctx, f, store, name))
		}
		return err
	}
	var servers []target.Server
	var locks []*pin.Lock
	for _, name := range o.names {
		if filepath.Base(name) == lockfile.Name {
			l, bad := readLock(f, name)
			locks = append(locks, l)
			err = cmdutil.Join(err, bad)
			continue
		}
		s, out := usableServer(f, name)
		servers = append(servers, s)
		err = cmdutil.Join(err, cmdutil.Exit(out))
	}
	for _, s := range servers {
		if err == nil || cmdutil.KindOf(err) == wire.Refused { // not after an interrupt or a failure
			err = cmdutil.Join(err, trustOne(ctx, f, store, s, o))
		}
	}
	for _, l := range locks {
		if err == nil || cmdutil.KindOf(err) == wire.Refused {
			err = cmdutil.Join(err, trustLock(ctx, f, store, l, o.yes))
		}
	}
	return err
}

// readLock reads the lock file at path. It returns a usage error if the file cannot be read or is
// not a valid lock file.
func readLock(f *cmdutil.Factory, path string) (*pin.Lock, error) {
	l, err := pin.ReadLock(&f.Env, path)
	if failed, ok := errors.AsType[*lockfile.Error](err); ok {
		return nil, usage.New(path+" cannot be used: "+failed.Text, wire.Hint(failed.Hint))
	}
	if err != nil {
		return nil, usage.NotRead(path, err, "")
	}
	return l, nil
}

// maxNamed is how many tools of a lock file are named.
const maxNamed = 20

// trustLock shows the tools of a lock file, asks, and stores the approval of the file by its hash.
func trustLock(ctx context.Context, f *cmdutil.Factory, store *state.Store, l *pin.Lock, yes bool) error {
	names := sliceutil.Map(l.Tools, func(raw json.RawMessage) string {
		name, _ := jsonraw.Text(jsonraw.First(raw, "name"))
		return f.ErrStyle.Line(name)
	})
	path := f.Env.Tilde(l.Path)
	shown := names[:min(len(names), maxNamed)]
	if len(shown) < len(names) {
		shown = append(slices.Clone(shown), "…")
	}
	f.Note(path + " has " + english.Plural(len(names), "tool") + ": " + strings.Join(shown, ", "))
	if l.IsConfirmed(&f.Env, store) {
		f.Note(path + " is already trusted as it is now")
		return nil
	}
	question := "Trust exactly this file? Its tools may then replace those that you approved."
	if out := askApproval(ctx, f, path, question, yes); !out.OK() {
		return cmdutil.Exit(out)
	}
	if err := l.Confirm(ctx, &f.Env, store); err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	f.Note(path + " is trusted as it is now")
	return nil
}

// usableServer returns the configured server of that name. The outcome is a usage error if no
// configuration has the name, several servers share it, or its entry cannot be used.
func usableServer(f *cmdutil.Factory, name string) (target.Server, wire.Outcome) {
	if !slices.Contains(f.Env.ConfiguredNames(), name) {
		f.Env.ConfiguredServers() // reports files that cannot be read
		return target.Server{}, unknownServer(f, "trust", name)
	}
	s, out := f.Env.ServerNamed(name)
	if out.OK() && s.Problem != "" {
		out = usage.Outcome(usage.New(s.ID()+" cannot be used: "+s.Problem, wire.Run("servers")+" shows the others"))
	}
	return s, out
}

// trustOne shows a server, asks, and stores the approval. It does not ask about a server that is
// already trusted as it is.
func trustOne(ctx context.Context, f *cmdutil.Factory, store *state.Store, s target.Server, o trustOptions) error {
	w := f.Stdout()
	st := f.OutStyle
	if f.JSON || f.Wire || f.Jq != "" { // stdout has only JSON
		w = f.Stderr()
		st = f.ErrStyle
	}
	facts := host.ServerFacts(&f.Env, s)
	if len(o.names) > 1 {
		facts = append([][]string{{"server", s.ID()}}, facts...)
	}
	if err := term.Facts(w, st, facts); err != nil {
		return f.StdoutError() // nil if the failure was on standard error
	}
	if host.StandingOf(f.Env.Trusts(store), s) == host.Confirmed {
		f.Note(s.ID() + " is already trusted as configured in " + f.Env.Tilde(s.File))
		return nil
	}
	if out := askApproval(ctx, f, s.ID(), "Trust exactly this?", o.yes); !out.OK() {
		return cmdutil.Exit(out)
	}
	if err := f.Env.Trust(ctx, store, s); err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	f.Note(s.ID() + " is trusted as configured in " + f.Env.Tilde(s.File))
	return nil
}

// askApproval asks the user to approve what was shown. It does not ask if yes is set. The outcome is
// OK if the user approves.
func askApproval(ctx context.Context, f *cmdutil.Factory, what, question string, yes bool) wire.Outcome {
	refused := wire.Outcome{Kind: wire.Refused, Phase: "arguments"}
	switch {
	case yes:
		return wire.Outcome{}
	case !f.Interactive():
		refused.Text = "not approved: " + what
		refused.Hint = "--yes remembers it without asking"
	case f.Ask(ctx, question):
		return wire.Outcome{}
	case ctx.Err() != nil:
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	default:
		refused.Text = what + " was not approved"
	}
	return refused
}

// trustTools shows how the approved tools of a server changed, asks, and approves them.
func trustTools(ctx context.Context, f *cmdutil.Factory, o trustOptions) error {
	if len(o.names) != 1 {
		return usage.New("trust --tools takes one server", wire.Run("servers trust TARGET --tools"))
	}
	if err := f.SetServer(o.names[0], nil); err != nil {
		return err
	}
	f.Fresh = true // a cached list has old definitions
	c, out := f.Open(ctx, connect.Options{})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	all, out := c.Tools(ctx, nil)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	changed := pin.ChangedTools(ctx, c, all.Tools)
	if len(changed) == 0 {
		f.Note("no tool of " + c.Where + " that was approved has to be approved again")
		return nil
	}
	nameOf := func(t *connect.Definition) string { return f.ErrStyle.Line(t.Name) }
	names := strings.Join(sliceutil.Map(changed, nameOf), ", ")
	what := english.Plural(len(changed), "changed tool") + " of " + c.Where
	if out := askApproval(ctx, f, what, "Approve "+names+" as shown?", o.yes); !out.OK() {
		return cmdutil.Exit(out)
	}
	for _, tool := range changed {
		pin.Approve(ctx, c, tool)
	}
	f.Note(names + " of " + c.Where + ": approved as shown")
	return nil
}

// revokeTrust deletes the approvals of a server by its name or id, and of its tools. The server need
// not be configured any more. A path of a lock file revokes the approvals of that file.
func revokeTrust(ctx context.Context, f *cmdutil.Factory, store *state.Store, name string) error {
	var ids []string
	for _, file := range f.Env.ConfigFiles() {
		for _, s := range file.Servers {
			if s.Name == name {
				ids = append(ids, s.ID())
			}
		}
	}
	ids = append(ids, name)
	var n int
	var err error
	if filepath.Base(name) == lockfile.Name {
		n, err = pin.RevokeLock(ctx, &f.Env, store, name)
	} else {
		n, err = store.Trusts().Drop(ctx, func(t state.Trust) bool { return slices.Contains(ids, t.Server) })
	}
	tools := 0
	if err == nil {
		tools, err = state.DropPins(ctx, store, ids)
	}
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	shown := redact.RedactURL(name)
	if n > 0 {
		f.Note(shown + " is no longer trusted")
	} else if tools == 0 {
		f.Note(shown + " was not trusted")
	}
	if tools > 0 {
		f.Note("forgot " + english.Plural(tools, "approved definition") + " of " + shown)
	}
	return nil
}

// listTrusted lists the approvals.
func listTrusted(ctx context.Context, f *cmdutil.Factory) error {
	store, err := state.Open(f.State)
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	all, err := store.Trusts().All()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	if all == nil {
		all = []state.Trust{}
		f.Note("no trusted servers yet; mcpc servers lists configured servers")
	}
	rows := sliceutil.Map(all, func(t state.Trust) []string {
		return []string{t.Server, cmp.Or(t.Tool, "-"), english.Ago(f.Now(), t.At), f.Env.Tilde(t.File)}
	})
	raw, _ := json.Marshal(map[string]any{"trusted": all})
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Table(w, st, []string{"SERVER", "TOOL", "CONFIRMED", "FILE"}, rows)
	}))
}
