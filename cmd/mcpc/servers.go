package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

func newServers(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "servers [NAME]",
		Short: "list the servers in other programs' configurations",
		Long: `List the servers in the configurations of other programs: Claude Desktop, Claude
Code, Cursor, Visual Studio Code, Windsurf, Cline, Codex, Gemini CLI, Zed,
Goose, MCP Inspector, and the current project. -s NAME uses one with any
command; if a name is in several files, use PROGRAM:NAME. With a NAME the whole
entry is shown.

No server is started or contacted. Of variables and header fields only the names
are shown (mcpc help targets).`,
		Example: `  mcpc servers
  mcpc servers other
  mcpc servers --jq '.servers[] | select(.kind == "stdio") | .id'`,
		ValidArgsFunction: a.completeKnown(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return hinted("servers takes one name at most", wire.Run("servers")+" shows all of them")
			}
			a.servers(cmd.Context(), strings.Join(args, ""))
			return nil
		},
	}
}

// A serverRow is a server as a list shows it.
type serverRow struct {
	ID       string           `json:"id"`
	Name     string           `json:"name"`
	From     string           `json:"from"`
	Title    string           `json:"title,omitempty"`
	File     string           `json:"file,omitempty"`
	Kind     target.Transport `json:"kind"`
	Command  []string         `json:"command,omitempty"`
	Cwd      string           `json:"cwd,omitempty"`
	Env      []string         `json:"env,omitempty"`
	URL      string           `json:"url,omitempty"`
	Headers  []string         `json:"headers,omitempty"`
	Uses     []string         `json:"variables,omitempty"`
	Disabled bool             `json:"disabled"`
	Trusted  bool             `json:"trusted"`
	Problem  string           `json:"problem,omitempty"`
	standing standing         `json:"-"`
	server   *target.Server   `json:"-"`
	place    string           `json:"-"`
}

// serverRows are those of all files in the order of their names, so that duplicates
// stand side by side.
func (a *app) serverRows() []serverRow {
	var trusts []state.Trust
	if store, err := state.Open(a.state); err == nil {
		trusts = a.trusts(store)
	}
	rows := []serverRow{}
	for _, s := range a.knownServers() {
		r := serverRow{ID: s.ID(), Name: s.Name, From: s.Client.Name, Title: s.Client.Title, File: s.File, Kind: s.Kind,
			Command: a.secrets.Command(s.Command), Cwd: s.Cwd, Env: append(target.Names(s.Env), s.Passed...),
			URL: a.secrets.Text(wire.RedactURL(s.URL)), Headers: target.Names(s.Headers), Uses: s.Variables(),
			Disabled: s.Disabled, Problem: s.Problem, standing: standingOf(trusts, s), server: &s}
		r.Trusted = r.standing == confirmed
		r.place = r.URL
		if len(r.Command) > 0 {
			r.place = a.secrets.Text(commandLine(s.Command))
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(x, y serverRow) int {
		return cmp.Or(cmp.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name)), cmp.Compare(x.Name, y.Name))
	})
	return rows
}

// remark is what a person should know of a server before using it.
func (r serverRow) remark() string {
	switch {
	case r.Problem != "":
		return "unusable"
	case r.Disabled:
		return "disabled"
	case r.Trusted:
		return "trusted"
	case r.standing == changed:
		return "changed, not trusted"
	case asksFirst(*r.server, r.standing):
		return "not trusted"
	}
	return ""
}

func (a *app) servers(ctx context.Context, name string) {
	rows := a.serverRows()
	if name != "" {
		all := rows
		rows = slices.DeleteFunc(slices.Clone(all), func(r serverRow) bool { return r.Name != name && r.ID != name })
		if len(rows) == 0 {
			a.end(a.unknownServer("servers", name))
			return
		}
	}
	if len(rows) == 0 {
		a.note("no server found in any configuration; mcpc init TARGET opens a session")
	}
	a.show(ctx, wire.Outcome{}, document(a.serversJSON(rows), func(w io.Writer, st render.Style) error {
		if name != "" {
			return a.writeEntries(w, st, rows)
		}
		return a.writeServers(w, st, rows)
	}))
}

func (a *app) unknownServer(command, name string) wire.Outcome {
	return usage(hinted(fmt.Sprintf("no configuration has a server %q", name),
		didYouMean(wire.Run(command+" %s"), name, a.knownNames(), wire.Run("servers")+" lists them")))
}

func (a *app) writeServers(w io.Writer, st render.Style, rows []serverRow) error {
	var cells [][]string
	for _, r := range rows {
		row := []string{r.Name, string(r.Kind), r.From, r.remark(), cmp.Or(r.place, "("+r.Problem+")")}
		if !st.Terminal {
			row = append(row, r.File)
		}
		cells = append(cells, row)
	}
	err := render.Table(w, st, []string{"NAME", "KIND", "FROM", "NOTE", "SERVER"}, cells)
	if err != nil || !st.Terminal {
		return err
	}
	var files [][]string
	for _, f := range a.knownFiles() {
		if f.err == nil && len(f.servers) > 0 {
			files = append(files, []string{f.client.Name, a.tilde(f.path)})
		}
	}
	if len(files) > 0 {
		fmt.Fprintln(w)
	}
	return render.Table(w, st, []string{"FROM", "FILE"}, files)
}

// writeEntries shows servers whole, one below the other.
func (a *app) writeEntries(w io.Writer, st render.Style, rows []serverRow) error {
	for i, r := range rows {
		if i > 0 {
			fmt.Fprintln(w)
		}
		head := [][]string{{"server", r.ID}, {"program", r.Title}, {"kind", string(r.Kind)}, {"", ""}}
		if remark := r.remark(); remark != "" {
			head[3] = []string{"now", remark}
		}
		if err := render.Facts(w, st, append(head, a.serverFacts(*r.server)...)); err != nil {
			return err
		}
	}
	return nil
}

// serversJSON is what a script reads; no member of it is a secret.
func (a *app) serversJSON(rows []serverRow) json.RawMessage {
	type file struct {
		From    string `json:"from"`
		File    string `json:"file"`
		Servers int    `json:"servers"`
		Error   string `json:"error,omitempty"`
	}
	files := []file{}
	for _, f := range a.knownFiles() {
		one := file{From: f.client.Name, File: f.path, Servers: len(f.servers)}
		if f.err != nil {
			one.Error = f.err.Error()
		}
		files = append(files, one)
	}
	raw, _ := json.Marshal(map[string]any{"servers": rows, "files": files})
	return raw
}

// completeKnown completes the names of known servers; no file's server is started for
// that.
func (a *app) completeKnown() completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && cmd.Name() != "trust" {
			return nil, noFiles
		}
		return slices.DeleteFunc(a.completedKnown(typed), func(name string) bool { return slices.Contains(args, name) }), noFiles
	}
}

// completedKnown are the plain names, and once a program's is typed those with it.
func (a *app) completedKnown(typed string) []string {
	return slices.DeleteFunc(begin(a.knownNames(), typed), func(name string) bool {
		client, _, qualified := strings.Cut(name, ":")
		_, known := target.ClientNamed(client)
		return qualified && known && !strings.Contains(typed, ":")
	})
}
