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

// NewInfo returns the command `mcpc info`.
func NewInfo(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info [URL] [-- COMMAND...]",
		Short: "show a server's name, capabilities and negotiated revision",
		Long: `Connect to a server as init does, without storing anything, and print its name,
version and website, the negotiated revision and why, its capabilities and
extensions with their settings, and its instructions. A session is queried in
its own revision, unless --protocol is given. --json prints the result of
server/discover or initialize unchanged.`,
		Example: `  mcpc -s demo info
  mcpc -s demo info --protocol ` + client.Revisions()[1] + `
  mcpc -s demo info --jq .capabilities`,
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

// runInfo prints the info of the server. It does not open a new connection if one is already open.
func runInfo(ctx context.Context, f *cmdutil.Factory, argv []string) error {
	c, out := f.Open(ctx, connect.Options{Argv: argv, RequireServerInfo: true, NoResume: true, UseKept: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if c.IsKept() && !c.Passing || f.Shell != nil {
		out = requestInfo(ctx, c)
	}
	ans := cmdutil.AnswerOf(out)
	ans.Human = func(w io.Writer, st term.Style) error { return writeInfo(c, w, st, out.Result) }
	return cmdutil.Show(ctx, f, out, ans, "server/discover", "initialize")
}

// requestInfo returns the info of a server whose connection is already open. If only initialize
// returns the info, it sends a ping, and returns the result that the server gave to initialize.
func requestInfo(ctx context.Context, c *connect.Conn) wire.Outcome {
	method := client.PingMethod(c.Revision())
	out := c.Do(ctx, client.Call{Method: method})
	if method == "ping" && client.IsUnknownMethod(out) {
		out = wire.Outcome{Took: out.Took, Reached: out.Reached} // a server without ping answers, too
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

// writeInfo writes all facts that a server declares about itself, for people.
func writeInfo(c *connect.Conn, w io.Writer, st term.Style, result json.RawMessage) error {
	info := c.Info()
	server, _ := jsonraw.Object(info.ServerInfo)
	members, _ := jsonraw.Object(result)
	why := c.Why()
	if c.Saved != nil && c.Saved.Pinned && c.Env.Protocol == "" && c.Revision() == c.Saved.Revision {
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
	if err := write(&b); err != nil || b.Len() == 0 {
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

// writeDeclarations writes the rows of declarations, without shortening them. At a terminal it
// writes each kind once.
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

// declarations returns the rows of the table of capabilities. Each member of extensions
// and experimental is a row of its own, known or not, with its capabilityText.
func declarations(capabilities json.RawMessage) (rows [][]string) {
	members, _ := jsonraw.Object(capabilities)
	for _, m := range members {
		inner, err := jsonraw.Object(m.Value)
		what := map[string]string{"extensions": "extension", "experimental": "experimental"}[m.Name]
		if what == "" || err != nil {
			rows = append(rows, []string{"capability", m.Name, capabilityText(m.Value)})
			continue
		}
		for _, one := range inner {
			rows = append(rows, []string{what, one.Name, capabilityText(one.Value)})
		}
	}
	return rows
}

// capabilityText returns the names of the options that a capability sets. It returns the JSON if an
// option is not a boolean or an empty object.
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
		case "false":
		default:
			return string(jsonraw.Compact(raw))
		}
	}
	return strings.Join(set, ", ")
}
