package main

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

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

func newInit(a *app) *cobra.Command {
	var name string
	var keep keeping
	cmd := &cobra.Command{
		Use:   "init [TARGET] [-- COMMAND...]",
		Short: "open a session with a server and remember it",
		Long: `Open a session: do the handshake (or server/discover, if the revision has no
handshake), print what was negotiated, and remember the session for later
commands. TARGET is a URL, "demo", or a name from mcpc servers; the command of a
stdio server follows --.

A stdio server is started by each command, in the directory of init, and exits
with it. --keep keeps it running, with its state, until mcpc close or until it
has been idle for --idle.`,
		Example: `  mcpc init demo
  mcpc init demo --as box --protocol ` + client.Revisions()[1] + `
  mcpc init demo --json
  mcpc init --keep --as toggles -- mcpc demo --stdio`,
		ValidArgsFunction: a.beforeDash(a.completeSessions()),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if len(own) > 1 {
				return hinted("init takes one target", a.behindDashes("init", own))
			}
			if len(own) == 1 {
				if err := a.goTo(own[0], argv); err != nil {
					return err
				}
			}
			if err := keep.check(); err != nil {
				return err
			}
			if name != "" {
				if err := target.ValidName(name); err != nil {
					return err
				}
			}
			a.init(cmd.Context(), argv, name, keep)
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "as", "", "session `name`")
	addKeepFlags(cmd.Flags(), &keep)
	a.addAnswering(cmd.Flags())
	return cmd
}

func (a *app) init(ctx context.Context, argv []string, name string, keep keeping) {
	how := opening{argv: argv, greet: true, anew: true, remembers: true}
	if keep.on {
		how.keep = &keep
	}
	c, out := a.open(ctx, how)
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	if err := c.keep(ctx, name); err != nil {
		a.end(a.afterwards(c.unkept(err)))
		return
	}
	if hasSecret(c.saved.Endpoint) || c.saved.Reach != nil && hasSecret(string(c.saved.Reach.Proxy)) {
		a.warn("the URL contains something that looks like a secret, which is now stored in " + c.store.Dir() + "; -H values are not stored")
	}
	ans := answerOf(out)
	ans.human = c.introduce
	a.show(ctx, out, ans)
	a.explained("server/discover", "initialize")
}

func hasSecret(address string) bool { return wire.RedactURL(address) != address }

// keep remembers the conversation as a session and makes it the current one. A
// session of that name is replaced; one that was opened anew under its own name
// keeps its request ids counting.
func (c *conversation) keep(ctx context.Context, name string) error {
	if c.store == nil {
		_, err := state.Open(c.a.state)
		return err
	}
	place := *cmp.Or(c.saved, c.oneOff)
	place.Reach, place.Account = c.a.way.kept(), c.a.auth.account
	if c.origin != nil { // what stands in its file stays there: it may hold secrets
		place.Endpoint, place.Command, place.Folder = "", nil, ""
		if err := c.a.trust(ctx, c.store, *c.origin); err != nil {
			return err
		}
	}
	if place.Command != nil && place.Folder == "" {
		place.Folder, _ = os.Getwd() // where nobody knows it, it is that of each run
	}
	place.Held = c.heldNow()
	var old *state.Held
	memory := c.Memory()
	memory.Info = c.a.kept(memory.Info)
	err := c.store.Update(ctx, func(st *state.State) error {
		place.Name = cmp.Or(name, cmp.Or(place.Name, c.freeName(st)))
		fillSession(&place, memory)
		place.Pinned = c.a.protocol != ""
		if place.Answering = nil; !isZero(c.answering) {
			place.Answering = &c.answering
		}
		place.OpenedAt, place.NextID = c.a.now(), c.LastID()+1
		before, _ := st.Session(place.Name)
		old = before.Held
		kept := st.Put(place)
		st.SetCurrent(kept.Name)
		c.saved, c.passing = &kept, false
		return nil
	})
	if err != nil {
		return err
	}
	c.a.letGo(ctx, old)
	err = c.Keep()
	if c.saved.Held != nil && c.replaced() {
		c.a.ui.warn("another mcpc init used the name " + c.saved.Name + " at the same time; this server was stopped")
		return nil
	}
	return err
}

// replaced reports that the name belongs to another session than this command's by now.
func (c *conversation) replaced() bool {
	st, err := c.store.Load()
	if err != nil {
		return false
	}
	now, ok := st.Session(c.saved.Name)
	return ok && (now.Held == nil || now.Held.Socket != c.saved.Held.Socket)
}

// unkept is the ending where a session did not come to stay.
func (c *conversation) unkept(err error) wire.Outcome {
	if !errors.Is(err, client.ErrNotHeld) {
		return stateFailed(err)
	}
	return wire.Outcome{Kind: wire.Transport, Phase: "close", Text: "the server exited before it could be kept", Err: err, Where: c.where,
		Hint: wire.Run("init --keep "+c.saved.Name) + " starts it again"}
}

// freeName makes up a name from the target. One that already stands for the same
// place is taken again: whoever initializes twice wants one session.
func (c *conversation) freeName(st *state.State) string {
	return target.NameFor(c.target, func(name string) bool {
		old, ok := st.Session(name)
		return ok && !samePlace(old, *c.oneOff)
	})
}

func samePlace(a, b state.Session) bool {
	if a.From != nil && b.From != nil {
		return *a.From == *b.From && a.Account == b.Account
	}
	return a.Endpoint == b.Endpoint && a.Account == b.Account && slices.Equal(a.Command, b.Command)
}

// introduce tells a person what was negotiated.
func (c *conversation) introduce(w io.Writer, st render.Style) error {
	info := c.Info()
	rows := [][]string{
		{"session", c.saved.Name},
		{"server", serverName(info.ServerInfo)},
		{"protocol", c.Revision() + c.sessionWord()},
		{"transport", transportWords[c.Transport()]},
		{"kept", c.heldWord()},
		{"capabilities", strings.Join(capabilities(info.Capabilities), ", ")},
		{"client capabilities", strings.Join(capabilities(c.promised), ", ")},
	}
	if info.Instructions != "" {
		rows = append(rows, []string{"instructions", firstLines(info.Instructions, 4)})
	}
	return render.Facts(w, st, rows)
}

// firstLines is the start of a text for a model that a person needs not read
// whole.
func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) <= n {
		return text
	}
	return strings.Join(lines[:n], "\n") + fmt.Sprintf("\n+%d lines (--json shows them)", len(lines)-n)
}

var transportWords = map[client.TransportName]string{
	client.StreamableHTTP: "Streamable HTTP", client.HTTPSSE: "HTTP+SSE (deprecated)", client.Stdio: "stdio",
}

// sessionWord says whether the server keeps a session, and never which.
func (c *conversation) sessionWord() string {
	switch id := c.Memory().SessionID; {
	case id != "":
		return ", session " + wire.Redacted(id)
	case client.Stateless(c.Revision()):
		return ", stateless"
	case c.Transport() == client.Stdio:
		return ""
	}
	return ", no session id"
}

// serverName is the Implementation as a person would say it: title, name,
// version.
func serverName(raw json.RawMessage) string {
	info, err := wire.Object(raw)
	if err != nil {
		return "(not given)"
	}
	name, title, version := info.Text("name"), info.Text("title"), info.Text("version")
	if title != "" && title != name {
		name = fmt.Sprintf("%s (%s)", title, name)
	}
	return strings.TrimSpace(name + " " + version)
}

// capabilities names what a server declares, with the options that are set.
func capabilities(raw json.RawMessage) []string {
	members, err := wire.Object(raw)
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range members {
		var set []string
		options, _ := wire.Object(m.Value)
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
