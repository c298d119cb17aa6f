package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/render"
)

// newRoot builds the command tree. Nothing of it is kept in package variables,
// so that two apps, as in tests, share nothing.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpc",
		Short: "a client for the Model Context Protocol, and an inspector of its traffic",
		Long: `mcpc talks to MCP servers: over HTTP and stdio, in every revision of the
protocol. It prints the answer, or says which channel failed.`,
		Example: `  mcpc -s demo list
  mcpc -s demo call get-sum '{"a":1,"b":2}'
  mcpc -s demo describe get-sum`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: a.prepare,
	}
	root.SetOut(a.stdout())
	root.SetErr(a.stderr())
	a.addGlobals(root.PersistentFlags())
	root.SetHelpFunc(a.help)
	root.SetUsageFunc(func(cmd *cobra.Command) error { a.help(cmd, nil); return nil })
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newInit(a), newLogin(a), newLogout(a), newAuth(a), newInfo(a), newPing(a), newList(a), newDescribe(a), newCall(a), newRead(a),
		newPrompt(a), newComplete(a), newListen(a), newTasks(a), newRaw(a), newLog(a), newShow(a), newStats(a), newExport(a), newResend(a), newExplain(a),
		newTap(a), newProxy(a), newSessions(a), newClose(a), newDemo(a), newMock(a), newState(a), newCompletion(a), newVersion(a))
	root.AddCommand(newTopics(a)...)
	root.SetHelpCommand(newHelp())
	a.addCompletions(root)
	return root
}

// prepare settles what all commands share once the flags are known.
func (a *app) prepare(cmd *cobra.Command, args []string) error {
	if err := fromEnvironment(cmd, a.getenv); err != nil {
		return err
	}
	a.serverGiven = a.serverGiven || cmd.Flags().Changed("server")
	a.settleStyles()
	_, argv := splitDash(cmd, args)
	a.nameServer(argv)
	if err := a.check(); err != nil {
		return err
	}
	if a.jq != "" {
		if _, err := render.Query(a.jq); err != nil {
			return fmt.Errorf("--jq: %w", err)
		}
	}
	return nil
}

// unknownCommand is what stands where a command was expected.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help shows the commands"
	if near := render.Nearest(args[0], commandNames(cmd)); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	} else if other := otherWords[args[0]]; other != "" && !cmd.HasParent() {
		hint = "did you mean mcpc " + other + "?"
	}
	return hintedError{fmt.Sprintf("unknown command %q", args[0]), hint}
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// otherWords are what people type who come from other clients.
var otherWords = map[string]string{
	"ls": "list", "signin": "login", "whoami": "auth", "signout": "logout", "watch": "listen", "subscribe": "listen", "tools": "list", "tools/list": "list", "tools/call": "call", "connect": "init", "open": "init",
	"prompts": "list prompts", "prompts/list": "list prompts", "resources": "list resources",
	"resources/list": "list resources", "templates": "list templates", "discover": "info", "use": "sessions use", "switch": "sessions use", "get": "prompt", "resource": "read",
}

// flagError suggests the flag that was perhaps meant.
func flagError(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help shows the flags"
	if unknown, ok := errorAs[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := render.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return hintedError{err.Error(), hint}
}

// help writes a command's help. It is written here and not by cobra's templates,
// which would cost every start of the program.
func (a *app) help(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", text, useLine(cmd))
	helpCommands(&b, cmd)
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	helpFlags(&b, "Flags", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		fmt.Fprintf(&b, "\nmcpc --help shows the flags of all commands, mcpc help exit-codes the endings.\n")
	} else {
		helpFlags(&b, "Flags of all commands", cmd.PersistentFlags())
		fmt.Fprintf(&b, "\nEvery flag has a variable: --max-time is MCPC_MAX_TIME. A server is a URL, the\n"+
			"name of a session, \"demo\", or a command behind --; without one it is the current\n"+
			"session, or http://localhost:3001/mcp.\n")
	}
	_, _ = a.stdout().Write([]byte(b.String()))
}

func useLine(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	if _, args, ok := strings.Cut(cmd.Use, " "); ok {
		return line + " " + args
	}
	if cmd.HasAvailableSubCommands() {
		return line + " COMMAND"
	}
	return line
}

func helpCommands(b *strings.Builder, cmd *cobra.Command) {
	var commands, topics [][2]string
	for _, c := range cmd.Commands() {
		switch row := [2]string{c.Name(), c.Short}; {
		case c.Hidden || c.Name() == "help":
		case c.Runnable() || c.HasSubCommands():
			commands = append(commands, row)
		default:
			topics = append(topics, [2]string{"help " + row[0], row[1]})
		}
	}
	helpRows(b, "Commands", commands)
	helpRows(b, "Topics", topics)
}

func helpRows(b *strings.Builder, head string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	fmt.Fprintf(b, "\n%s:\n", head)
	for _, row := range rows {
		helpRow(b, fmt.Sprintf("  %-*s  ", width, row[0]), row[1])
	}
}

// helpColumns is how wide a line of help may be.
const helpColumns = 80

// helpRow writes what stands left and, beside it, a text in as many lines as it
// needs.
func helpRow(b *strings.Builder, left, text string) {
	line := left
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) <= helpColumns:
			line += " " + word
		default:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(left)) + word
		}
	}
	b.WriteString(line + "\n")
}

// helpFlags lists flags with what they do, in 80 columns.
func helpFlags(b *strings.Builder, head string, flags *pflag.FlagSet) {
	var rows [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if f.Value.Type() != "bool" && f.Value.Type() != "count" {
			name += valueOf(f)
		}
		rows = append(rows, [2]string{name, f.Usage})
	})
	helpRows(b, head, rows)
}

// valueOf is what stands behind a flag's name: nothing has to where it has a
// value of its own.
func valueOf(f *pflag.Flag) string {
	if f.NoOptDefVal != "" {
		return "[=" + placeholder(f) + "]"
	}
	return " " + placeholder(f)
}

func placeholder(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "time", "size":
		return strings.ToUpper(f.Value.Type())
	case "int":
		return "N"
	}
	return strings.ToUpper(strings.ReplaceAll(map[string]string{
		"server": "target", "protocol": "revision", "state": "dir", "jq": "expr", "args": "json", "output": "file",
		"color": "when", "log-level": "level", "as": "name", "bytes": "data", "id": "id", "listen": "addr", "script": "file",
		"header": "field", "answer": "answer", "on-elicit": "command", "sampling": "file", "on-sampling": "command", "root": "dir",
		"resource": "uri", "logs": "level", "record": "file", "file": "file", "to": "target",
		"cacert": "file", "cert": "file", "key": "file", "proxy": "url", "resolve": "host:port:addr", "unix-socket": "path",
		"account": "name", "issuer": "url", "token-file": "file", "token-store": "where", "grant": "grant", "scope": "scopes",
		"client-id": "id", "client-secret": "secret", "client-secret-file": "file", "client-metadata-url": "url",
		"private-key": "file", "assertion": "file", "id-token": "file",
		"idp-token-endpoint": "url", "idp-client-id": "id", "idp-client-secret-file": "file", "key-id": "name", "alg": "name", "audience": "who"}[f.Name], "-", " "))
}
