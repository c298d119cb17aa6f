package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/suggest"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A ServersReport is a report about known servers that flags of the command servers ask for.
type ServersReport interface {
	AddFlags(flags *pflag.FlagSet)
	// IsAsked reports whether one of the flags is given.
	IsAsked() bool
	// Run prints the report about the servers with these names, or about all without a name.
	Run(ctx context.Context, f *cmdutil.Factory, names []string) error
}

// NewServers returns the command servers, with the reports of other packages of commands.
func NewServers(f *cmdutil.Factory, reports ...ServersReport) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "servers [NAME...]",
		Short: "list, check and approve the servers of other programs",
		Long: `List the servers in the configurations of other programs: Claude Desktop, Claude
Code, Cursor, Visual Studio Code, Windsurf, Cline, Codex, Gemini CLI, Zed,
Goose, MCP Inspector, and the current project. -s NAME uses one with any
command; if a name is in several files, use PROGRAM:NAME. With a NAME the whole
entry is shown. The values of variables and header fields are hidden. Without
--check no server is started or contacted.

--check asks the known servers, sessions too, for their tools, all at the same
time and each for at most 7.5 seconds (--max-time). It prints what it found and
a command that helps. It starts no command that is not trusted. A server is slow
if its list of tools took more than 3 seconds. TOKENS is what its tools cost a
model. The exit code is 0 if all are ok, else 1.

--seen prints what mcpc has recorded of each server. FAILED counts the failed
calls of tools. If several entries run the same mcpc serve, their traffic is in
one line with their names. Both take NAMEs and patterns (*).`,
		Example: `  mcpc servers
  mcpc servers other
  mcpc servers --check
  mcpc servers --check 'claude-code:*' --junit servers.xml
  mcpc servers --seen`,
		ValidArgsFunction: f.CompleteKnown,
		RunE: func(cmd *cobra.Command, args []string) error {
			var asked []ServersReport
			for _, r := range reports {
				if r.IsAsked() {
					asked = append(asked, r)
				}
			}
			if len(asked) > 1 {
				return usage.New("--check and --seen are two reports", "use only one of them")
			}
			if len(asked) == 1 {
				return asked[0].Run(cmd.Context(), f, args)
			}
			if len(args) > 1 {
				return usage.New("servers takes one name at most", wire.Run("servers")+" shows all of them")
			}
			return runServers(cmd.Context(), f, strings.Join(args, ""))
		},
	}
	for _, r := range reports {
		r.AddFlags(cmd.Flags())
	}
	cmd.AddCommand(NewTrust(f))
	cmdutil.AddListName(cmd)
	return cmd
}

// A serverRow is a configured server in the list of servers.
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
	standing host.Standing    `json:"-"`
	server   *target.Server   `json:"-"`
	// place is the URL or command line without secrets, or "" if the server has neither.
	place string `json:"-"`
}

// listServers returns the servers of all configuration files sorted by name, so that servers of the
// same name are adjacent. The rows contain no secrets. If the state cannot be opened, no server
// counts as trusted.
func listServers(f *cmdutil.Factory) []serverRow {
	var trusts []state.Trust
	if store, err := state.Open(f.State); err == nil {
		trusts = f.Env.Trusts(store)
	}
	rows := []serverRow{}
	for _, s := range f.Env.ConfiguredServers() {
		r := serverRow{
			ID: s.ID(), Name: s.Name, From: s.Client.Name, Title: s.Client.Title, File: s.File, Kind: s.Kind,
			Command: sliceutil.Map(redact.ShownCommand(s.Command), f.Secrets.Text),
			Cwd:     s.Cwd, Env: append(target.Names(s.Env), s.Passed...),
			URL: f.Secrets.Text(redact.RedactURL(s.URL)), Headers: target.Names(s.Headers), Uses: s.Variables(),
			Disabled: s.Disabled, Problem: s.Problem, standing: host.StandingOf(trusts, s), server: &s,
		}
		r.Trusted = r.standing == host.Confirmed
		r.place = r.URL
		if len(r.Command) > 0 {
			r.place = f.Secrets.Text(connect.CommandLine(s.Command))
		}
		rows = append(rows, r)
	}
	sliceutil.Sort(rows, func(x, y serverRow) int {
		byFold := cmp.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name))
		return cmp.Or(byFold, cmp.Compare(x.Name, y.Name))
	})
	return rows
}

// note returns what a person should know before using the server, or "".
func (r serverRow) note() string {
	switch {
	case r.Problem != "":
		return "unusable"
	case r.Disabled:
		return "disabled"
	case r.Trusted:
		return "trusted"
	case r.standing == host.Changed:
		return "changed, not trusted"
	case host.AsksFirst(*r.server, r.standing):
		return "not trusted"
	}
	return ""
}

// runServers lists the configured servers, or shows the servers with that name or id in full. name
// is "" for the list.
func runServers(ctx context.Context, f *cmdutil.Factory, name string) error {
	f.Secrets.Variables = true // entries may have references to variables
	rows := listServers(f)
	if name != "" {
		rows = slices.DeleteFunc(rows, func(r serverRow) bool { return r.Name != name && r.ID != name })
		if len(rows) == 0 {
			return cmdutil.Exit(unknownServer(f, "servers", name))
		}
	}
	if len(rows) == 0 {
		f.Note("no server found in any configuration; mcpc init TARGET opens a session")
	}
	write := func(w io.Writer, st term.Style) error {
		if name != "" {
			return writeEntries(f, w, st, rows)
		}
		return writeServers(f, w, st, rows)
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(serversJSON(f, rows), write))
}

// unknownServer returns the outcome for a name that no configuration has. command is the mcpc command
// that got the name. The hint is a command that the user may have meant, or a server with a similar
// name.
func unknownServer(f *cmdutil.Factory, command, name string) wire.Outcome {
	hint := meant.Synonym(f, command, name)
	if hint == "" {
		listed := wire.Run("servers") + " lists them"
		hint = suggest.DidYouMean(wire.Run(command+" %s"), name, f.Env.ConfiguredNames(), listed)
	}
	return usage.Outcome(usage.New(fmt.Sprintf("no configuration has a server %q", name), hint))
}

// writeServers writes a table of servers, and at a terminal a table of the files.
func writeServers(f *cmdutil.Factory, w io.Writer, st term.Style, rows []serverRow) error {
	var cells [][]string
	for _, r := range rows {
		server := r.place
		if server == "" {
			server = "(" + r.Problem + ")"
		}
		row := []string{r.Name, string(r.Kind), r.From, r.note(), server}
		if !st.Terminal {
			row = append(row, r.File)
		}
		cells = append(cells, row)
	}
	err := term.Table(w, st, []string{"NAME", "KIND", "FROM", "NOTE", "SERVER"}, cells)
	if err != nil || !st.Terminal {
		return err
	}
	var files [][]string
	for _, file := range f.Env.ConfigFiles() {
		if file.Err == nil && len(file.Servers) > 0 {
			files = append(files, []string{file.Client.Name, f.Env.Tilde(file.Path)})
		}
	}
	if len(files) > 0 {
		fmt.Fprintln(w)
	}
	return term.Table(w, st, []string{"FROM", "FILE"}, files)
}

// writeEntries writes each server with all its settings, separated by empty lines.
func writeEntries(f *cmdutil.Factory, w io.Writer, st term.Style, rows []serverRow) error {
	for i, r := range rows {
		if i > 0 {
			fmt.Fprintln(w)
		}
		head := [][]string{{"server", r.ID}, {"program", r.Title}, {"kind", string(r.Kind)}, {"now", r.note()}}
		if err := term.Facts(w, st, append(head, host.ServerFacts(&f.Env, *r.server)...)); err != nil {
			return err
		}
	}
	return nil
}

// serversJSON returns the servers and files for JSON output. It contains no secret.
func serversJSON(f *cmdutil.Factory, rows []serverRow) json.RawMessage {
	type file struct {
		From    string `json:"from"`
		File    string `json:"file"`
		Servers int    `json:"servers"`
		Error   string `json:"error,omitempty"`
	}
	files := []file{}
	for _, f := range f.Env.ConfigFiles() {
		row := file{From: f.Client.Name, File: f.Path, Servers: len(f.Servers)}
		if f.Err != nil {
			row.Error = f.Err.Error()
		}
		files = append(files, row)
	}
	raw, _ := json.Marshal(map[string]any{"servers": rows, "files": files})
	return raw
}
