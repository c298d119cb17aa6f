package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/render"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A maker makes one command and what is below it, and says what has to be known of it
// where it is not made.
type maker struct {
	name string
	make func(*app) *cobra.Command
	is   trait
}

func command(name string, make func(*app) *cobra.Command, is trait) maker {
	return maker{name, make, is}
}

type trait uint8

const (
	asks    trait = 1 << iota // asks a server
	local                     // needs the state, and asks no server
	inShell                   // is a word of the shell too
	alone                     // takes no other word than what names a server
	whole                     // writes of all commands
)

// A group is some commands under a heading.
type group struct {
	head     string
	commands []maker
}

// commandGroups are the commands as a person looks for them.
func commandGroups() []group {
	return []group{
		{head: "Talk to a server", commands: []maker{
			command("init", newInit, asks|alone), command("info", newInfo, asks|inShell|alone), command("list", newList, asks|inShell|alone),
			command("describe", newDescribe, asks|inShell), command("call", newCall, asks|inShell), command("read", newRead, asks|inShell),
			command("prompt", newPrompt, asks|inShell), command("complete", newComplete, asks|inShell), command("listen", newListen, asks|alone),
			command("tasks", newTasks, asks|inShell), command("ping", newPing, asks|inShell|alone), command("raw", newRaw, asks|inShell),
		}},
		{head: "Many servers and calls", commands: []maker{
			command("servers", newServers, local), command("trust", newTrust, local), command("grep", newGrep, local), command("batch", newBatch, asks),
			command("run", newRun, local), command("shell", newLines, asks|alone), command("codegen", newCodegen, alone),
		}},
		{head: "Recorded traffic", commands: []maker{
			command("log", newLog, local|inShell), command("show", newShow, local|inShell), command("stats", newStats, local|inShell),
			command("export", newExport, local|inShell), command("resend", newResend, local), command("tap", newTap, local), command("proxy", newProxy, local),
		}},
		{head: "Authentication", commands: []maker{command("login", newLogin, asks), command("logout", newLogout, asks), command("auth", newAuth, asks)}},
		{head: "Test servers", commands: []maker{command("demo", newDemo, 0), command("mock", newMock, 0)}},
		{head: "mcpc", commands: []maker{
			command("explain", newExplain, inShell), command("sessions", newSessions, local), command("close", newClose, local), command("state", newState, 0),
			command("completion", newCompletion, whole), command("man", newMan, whole), command("version", newVersion, inShell), command("hold", newHold, 0),
		}},
	}
}

// commands are the makers of all commands.
func (a *app) commands() (all []maker) {
	if a.groups == nil {
		return nil
	}
	for _, g := range a.groups() {
		all = append(all, g.commands...)
	}
	return all
}

// commandIs reports that a command has a trait.
func (a *app) commandIs(name string, t trait) bool {
	return slices.ContainsFunc(a.commands(), func(c maker) bool { return c.name == name && c.is&t != 0 })
}

// rootFor is the tree that a command line needs: of the commands only those that it
// names somewhere, which is a third of a millisecond less at every start.
func rootFor(a *app, args []string) *cobra.Command {
	root := rootOf(a, args)
	if found, _, err := root.Find(args); err != nil || found == root || a.commandIs(found.Name(), whole) {
		return newRoot(a)
	}
	return root
}

// newRoot builds the whole command tree. Nothing of it is kept in package variables,
// so that two apps, as in tests, share nothing.
func newRoot(a *app) *cobra.Command { return rootOf(a, nil) }

// rootOf has the commands with these names; nil is all of them, and the topics.
func rootOf(a *app, among []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpc",
		Short: "a client for the Model Context Protocol, and an inspector of its traffic",
		Long: `mcpc is a client for MCP servers, over HTTP and stdio, in every protocol
revision. It prints the result or reports which layer failed, and records the
traffic. "demo" is a built-in server to try it with.`,
		Example: `  mcpc -s demo list
  mcpc -s demo describe get-sum
  mcpc -s demo call get-sum a=1 b=2`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              a.unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked {
				a.printVersion(cmd.Context())
				return nil
			}
			return cmd.Help()
		},
		PersistentPreRunE: a.prepare,
	}
	root.SetOut(a.stdout())
	root.SetErr(a.stderr())
	a.addGlobals(root.PersistentFlags())
	root.Flags().Bool("version", false, "the same as mcpc version")
	_ = root.Flags().MarkHidden("version")
	root.SetHelpFunc(a.help)
	root.SetUsageFunc(func(cmd *cobra.Command) error { a.help(cmd, nil); return nil })
	root.SetFlagErrorFunc(a.flagError)
	for _, c := range a.commands() {
		if among == nil || slices.Contains(among, c.name) {
			root.AddCommand(c.make(a))
		}
	}
	if among == nil {
		root.AddCommand(newTopics()...)
	}
	root.SetHelpCommand(newHelp())
	a.addCompletions(root)
	for _, c := range allOf(root) {
		c.Flags().SortFlags = false // they are declared in the order in which help has them
		c.DisableFlagsInUseLine = true
	}
	return root
}

// prepare settles what all commands share once the flags are known.
func (a *app) prepare(cmd *cobra.Command, args []string) error {
	if cmd.Name() == cobra.ShellCompRequestCmd {
		ownFirst(cmd)
	}
	if a.shell != nil {
		if err := a.shell.mayRun(cmd); err != nil {
			return err
		}
		if err := fromEnvironment(cmd, a.shell.getenv); err != nil {
			return err
		}
	} else {
		a.noteTyped(cmd.Flags())
		a.prepared = true
		if err := fromEnvironment(cmd, a.getenv); err != nil {
			return err
		}
		a.serverGiven = a.serverGiven || cmd.Flags().Changed("server")
		a.settleStyles()
		_, argv := splitDash(cmd, args)
		a.nameServer(argv)
	}
	if err := a.readRedactFile(); err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return err
	}
	a.limits = a.asLimits()
	if f := cmd.Flags().Lookup("output"); f != nil && f.Changed && a.output == "" {
		return hinted("-o needs a file name", "without -o the result goes to stdout")
	}
	if err := a.checkCut(); err != nil {
		return err
	}
	if a.jq != "" {
		if _, err := render.Query(a.jq); err != nil {
			var hint wire.Hint
			if inert(a.jq) && !strings.ContainsAny(a.jq, " .|") {
				hint = wire.Hint("a member starts with a dot: --jq ." + a.jq)
			}
			return hinted("--jq: "+err.Error(), hint)
		}
	}
	return nil
}

// commandsHint is the hint where the first word is no command.
var commandsHint = wire.Run("--help") + " shows the commands"

// unknownCommand is what stands where a command was expected.
func (a *app) unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := runOf(cmd, " --help") + " shows the commands"
	argv := startedBy(args)
	if !cmd.HasParent() && isURL(args[0]) {
		url := shellwords.Quote(args[0])
		hint = wire.Run("init "+url) + " opens a session, " + wire.Run("list "+url) + " shows its tools"
		if len(args) > 1 && slices.Contains(commandNames(cmd), args[1]) {
			hint = "did you mean " + wire.Run(strings.Join(quotedWords(args[1:]), " ")+" -s "+url) + "?"
		}
		return hinted("a URL is not a command", hint)
	}
	if meant := meantByFile(args[0]); !cmd.HasParent() && meant != "" {
		hint = meant
	} else if !cmd.HasParent() && argv != nil && (slices.Contains(runners, args[0]) || isFile(args[0])) {
		hint = "did you mean " + a.commandStarting("list", argv) + "?"
	} else if near := wire.Nearest(args[0], commandNames(cmd)); near != "" {
		hint = "did you mean " + runOf(cmd, " "+near) + "?"
	} else if other := otherWords[args[0]]; other != "" && !cmd.HasParent() {
		hint = "did you mean " + wire.Run(other) + "?"
	} else if len(args) > 1 && !cmd.HasParent() {
		if at, _ := operator(args[1]); at > 0 || strings.HasPrefix(args[1], "{") {
			hint = "did you mean " + wire.Run("call "+shellwords.Quote(args[0])) + "?"
		} else if argv != nil {
			hint = "did you mean " + a.commandStarting("list", argv) + "?"
		}
	}
	return hinted(fmt.Sprintf("unknown command %q", args[0]), hint)
}

// runOf is the command line of a command, and what stands behind its name.
func runOf(cmd *cobra.Command, behind string) wire.Hint {
	return wire.Run(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "mcpc")+behind, " "))
}

func commandNames(cmd *cobra.Command) []string {
	return mapped(slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Hidden }), (*cobra.Command).Name)
}

// otherWords are what people type who come from other clients.
var otherWords = map[string]string{
	"ls": "list", "tools": "list", "tools/list": "list", "prompts": "list prompts", "prompts/list": "list prompts",
	"resources": "list resources", "resources/list": "list resources", "get": "prompt", "connect": "init", "open": "init",
	"tools/call": "call", "exec": "call", "search": "grep", "find": "grep", "inspect": "describe", "test": "run", "logs": "log",
	"history": "log", "whoami": "auth", "use": "sessions use", "watch": "listen", "config": "servers", "install": "tap install",
}

// otherFlags are what other clients call these flags.
var otherFlags = map[string]string{
	"url": "server", "endpoint": "server", "host": "server", "params": "args", "arguments": "args", "input": "args", "data": "args",
	"format": "json", "filter": "jq", "token": "token-file", "debug": "verbose", "file": "output", "name": "as",
}

// isURL tells a server's address from a word.
func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// flagError suggests the flag that was perhaps meant.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	hint := runOf(cmd, " --help") + " shows the flags"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		argv := a.startedAmong(cmd)
		if near := wire.Nearest(name, names); near != "" {
			hint = wire.Hint("did you mean --" + near + "?")
		} else if other := otherFlags[name]; cmd.Flags().Lookup(other) != nil {
			hint = wire.Hint("did you mean --" + other + "?")
		} else if cmd.Name() == "call" || cmd.Name() == "prompt" {
			hint = "arguments have no dashes: " + wire.Hint(name) + "=VALUE; " + hint
		} else if argv != nil {
			hint = "a server's command goes after --: " + a.commandStarting(cmd.Name(), argv)
		}
	}
	return hinted(flagText(err), hint)
}

// flagText says which flag it is, what it wants, and what it got.
func flagText(err error) string {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		return "--" + f.Name + " needs a value: --" + f.Name + valueOf(f)
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return "--" + bad.GetFlag().Name + flagCause(bad)
	}
	return err.Error()
}

// flagCause says what a flag wants and what it got. Types of mcpc's own say it
// themselves.
func flagCause(bad *pflag.InvalidValueError) string {
	number, isNumber := errors.AsType[*strconv.NumError](bad)
	wants, ok := map[string]string{"int": "an integer", "int64": "an integer", "count": "an integer",
		"bool": "true or false"}[bad.GetFlag().Value.Type()]
	switch {
	case isNumber && ok && errors.Is(number.Err, strconv.ErrRange):
		wants += " that is not that large"
	case !isNumber || !ok:
		return ": " + bad.Unwrap().Error()
	}
	return fmt.Sprintf(" wants %s, got %q", wants, bad.GetValue())
}

// valueOf is what stands behind a flag's name: nothing has to where it has a
// value of its own.
func valueOf(f *pflag.Flag) string {
	if f.NoOptDefVal != "" {
		return "[=" + placeholder(f) + "]"
	}
	return " " + placeholder(f)
}

// placeholder is what the usage of a flag has in back quotes, or a type of mcpc's own.
func placeholder(f *pflag.Flag) string {
	switch name, _ := pflag.UnquoteUsage(f); name {
	case "int":
		return "N"
	case "string", "strings", "stringArray":
		return ""
	default:
		return strings.ToUpper(name)
	}
}

// splitDash parts the arguments at "--": what follows is a server's command.
func splitDash(cmd *cobra.Command, args []string) (own, argv []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], args[at:]
}

// beforeDashes are the words before "--": what follows is another program's.
func beforeDashes(args []string) []string {
	if at := slices.Index(args, "--"); at >= 0 {
		return args[:at]
	}
	return args
}

// onlyURL takes a URL for the server's, and refuses other words.
func (a *app) onlyURL(cmd *cobra.Command, words, argv []string) error {
	words, err := a.withoutURL(words, argv)
	if err != nil {
		return err
	}
	return a.noArguments(cmd, words)
}

// withoutURL takes the first URL among the words of a command for the server's, as
// behind -s: nothing else that they could be is written so.
func (a *app) withoutURL(words, argv []string) (others []string, err error) {
	at := slices.IndexFunc(words, isURL)
	if at < 0 {
		return words, nil
	}
	others = slices.Delete(slices.Clone(words), at, at+1)
	switch {
	case a.shell != nil:
		return nil, hinted("every line of the shell goes to the same server", "use another terminal for another server")
	case slices.ContainsFunc(others, isURL):
		return nil, hinted("two servers are given", "use only one of them")
	}
	return others, a.goTo(words[at], argv)
}

// goTo settles that a word of the command names the server.
func (a *app) goTo(server string, argv []string) error {
	switch {
	case a.serverGiven:
		return hinted("two servers are given: "+wire.RedactURL(server)+" and one with -s", "use only one of them")
	case argv != nil:
		return hinted("two servers are given: "+wire.RedactURL(server)+" and one after --", "use only one of them")
	}
	a.server, a.serverGiven = server, true
	a.nameServer(nil)
	return nil
}

// noArguments refuses words that a command has no use for.
func (a *app) noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := runOf(cmd, " --help") + " shows what it takes"
	switch {
	case a.commandIs(cmd.Name(), alone) && args[0] != "demo":
		hint = a.behindDashes(cmd.Name(), args)
	case cmd.Name() == "demo" && slices.Contains(commandNames(cmd.Root()), args[0]):
		hint = "did you mean " + wire.Run("-s demo "+strings.Join(quotedWords(args), " ")) + "?"
	case cmd.Flag("to") != nil && isURL(args[0]):
		hint = runOf(cmd, " --to "+shellwords.Quote(args[0]))
	case cmd.Flag("script") != nil:
		hint = runOf(cmd, " --script "+shellwords.Quote(args[0]))
	case cmd.Flag("listen") != nil:
		hint = runOf(cmd, " --help") + " shows the flags; use --listen ADDRESS"
	case len(args) == 1 && (isURL(args[0]) || args[0] == "demo"):
		hint = runOf(cmd, " -s "+shellwords.Quote(args[0]))
	}
	return hinted(fmt.Sprintf("%s takes no argument %q", cmd.Name(), strings.Join(args, " ")), hint)
}
