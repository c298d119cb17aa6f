package catalog

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// NewInfo returns the command info, the old name of describe without a name.
func NewInfo(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info [URL] [-- COMMAND...]",
		Short: "show a server's name, capabilities and negotiated revision",
		RunE: func(cmd *cobra.Command, args []string) error {
			argv, err := meant.OnlyURL(f, cmd, args)
			if err != nil {
				return err
			}
			return runInfo(cmd.Context(), f, argv)
		},
	}
	f.AddExtension(cmd.Flags())
	return cmd
}

// runInfo prints the info of the server: the result of the handshake that the command does, or, if
// the connection of a shell or a kept server is already open, of a new request on it.
func runInfo(ctx context.Context, f *cmdutil.Factory, argv []string) error {
	c, out := f.Open(ctx, connect.Options{Argv: argv, RequireServerInfo: true, NoResume: true, UseKept: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	usesKept := c.IsKept() && !c.Passing
	if usesKept || f.Shell != nil { // Open did no handshake
		out = requestInfo(ctx, c)
	}
	ans := cmdutil.AnswerOf(out)
	ans.Human = func(w io.Writer, st term.Style) error { return writeInfo(c, w, st, out.Result) }
	return cmdutil.Show(ctx, f, out, ans, "server/discover", "initialize")
}

// requestInfo returns the info of a server whose connection is already open. It sends
// server/discover. In revisions without that method it sends a ping, to see that the server still
// responds, and the result is rebuilt from what the client keeps of initialize.
func requestInfo(ctx context.Context, c *connect.Conn) wire.Outcome {
	method := client.PingMethod(c.Revision())
	out := c.Do(ctx, client.Call{Method: method})
	if method == "ping" && client.IsUnknownMethod(out) {
		out = wire.Outcome{Took: out.Took, Reached: out.Reached} // the error is a response, too
	}
	if !out.OK() || method != "ping" {
		return out
	}
	result := jsonraw.With(nil, "protocolVersion", jsonraw.Quote(c.Revision()))
	info := c.Info()
	for _, m := range []jsonraw.Member{
		{Name: "capabilities", Value: info.Capabilities},
		{Name: "serverInfo", Value: info.ServerInfo},
	} {
		if m.Value != nil {
			result = jsonraw.With(result, m.Name, m.Value)
		}
	}
	if info.Instructions != "" {
		result = jsonraw.With(result, "instructions", jsonraw.Quote(info.Instructions))
	}
	out.Result = json.RawMessage(result)
	return out
}

// writeInfo writes what a server declares about itself, and how mcpc is connected to it, for people.
// result is the result of server/discover or initialize.
func writeInfo(c *connect.Conn, w io.Writer, st term.Style, result json.RawMessage) error {
	info := c.Info()
	server, _ := jsonraw.Object(info.ServerInfo)
	members, _ := jsonraw.Object(result)
	why := c.Why()
	isPinned := c.Saved != nil && c.Saved.Pinned && c.Env.Protocol == "" // unless a flag overrides it
	if isPinned && c.Revision() == c.Saved.Revision {
		why = "set by --protocol at mcpc init"
	}
	rows := [][]string{
		{"server", connect.ServerName(info.ServerInfo)},
		{"about", server.Text("description")},
		{"website", server.Text("websiteUrl")},
		{"protocol", c.Revision() + cmdutil.SessionText(c)},
		{"why this revision", why},
		{"also supports", strings.Join(otherRevisions(members, c.Revision()), ", ")},
		{"transport", cmdutil.TransportNames[c.Transport()]},
		{"kept", cmdutil.KeepaliveText(c)},
	}
	if err := term.Facts(w, st, rows); err != nil {
		return err
	}
	if err := writeSeparated(w, st, func(w io.Writer) error {
		return writeDeclarations(w, st, declarations(info.Capabilities))
	}); err != nil {
		return err
	}
	return writeSeparated(w, st, func(w io.Writer) error {
		return term.Facts(w, st, [][]string{{"instructions", strings.TrimSpace(info.Instructions)}})
	})
}

// writeSeparated writes the output of write, with an empty line before it at a terminal. It writes
// nothing if the output is empty.
func writeSeparated(w io.Writer, st term.Style, write func(io.Writer) error) error {
	var b strings.Builder
	if err := write(&b); err != nil || b.Len() == 0 { // err is nil if the output is empty
		return err
	}
	text := b.String()
	if st.Terminal {
		text = "\n" + text
	}
	_, err := io.WriteString(w, text)
	return err
}

// otherRevisions returns the revisions in supportedVersions of the result, without the negotiated
// revision.
func otherRevisions(result jsonraw.Members, negotiated string) []string {
	raw, _ := result.Get("supportedVersions")
	items, _ := jsonraw.Array(raw)
	return slices.DeleteFunc(
		sliceutil.Map(items, toolcall.TextOf),
		func(revision string) bool { return revision == "" || revision == negotiated },
	)
}

// writeDeclarations writes rows of a kind, a name and options, without shortening them. At a terminal
// it writes a kind only once for adjacent rows.
func writeDeclarations(w io.Writer, st term.Style, rows [][]string) error {
	if !st.Terminal {
		return term.Table(w, st, nil, rows)
	}
	var kinds [][]string
	for _, row := range rows {
		line := strings.TrimRight(term.Line(row[1])+"  "+term.Line(row[2]), " ")
		if last := len(kinds) - 1; last >= 0 && kinds[last][0] == row[0] {
			kinds[last][1] += "\n" + line
		} else {
			kinds = append(kinds, []string{row[0], line})
		}
	}
	return term.Facts(w, st, kinds)
}

// declarations returns the declared capabilities as rows of a kind, a name and options. The kind is
// "capability", or "extension" or "experimental" for each member of these two objects.
func declarations(capabilities json.RawMessage) [][]string {
	members, _ := jsonraw.Object(capabilities)
	var rows [][]string
	for _, m := range members {
		inner, err := jsonraw.Object(m.Value)
		what := map[string]string{"extensions": "extension", "experimental": "experimental"}[m.Name]
		if what == "" || err != nil { // a member that is not an object is shown as it is
			rows = append(rows, []string{"capability", m.Name, capabilityText(m.Value)})
			continue
		}
		for _, one := range inner {
			rows = append(rows, []string{what, one.Name, capabilityText(one.Value)})
		}
	}
	return rows
}

// capabilityText returns the names of the options that a capability sets, "" if none. It returns the
// JSON of the capability if it is not an object, or if an option is not a boolean or an empty object.
func capabilityText(raw json.RawMessage) string {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return string(jsonraw.Compact(raw))
	}
	var set []string
	for _, m := range members {
		switch string(m.Value) {
		case "true", "{}":
			set = append(set, m.Name)
		case "false": // the same as a missing option
		default:
			return string(jsonraw.Compact(raw))
		}
	}
	return strings.Join(set, ", ")
}
