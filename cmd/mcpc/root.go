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
	"mcpc/internal/wire"
)

// A maker makes one command and what is below it.
type maker struct {
	name string
	make func(*app) *cobra.Command
}

// commands are the makers of all commands, in no order that matters.
func commands() []maker {
	return []maker{
		{"init", newInit}, {"login", newLogin}, {"logout", newLogout}, {"auth", newAuth}, {"info", newInfo}, {"ping", newPing},
		{"list", newList}, {"describe", newDescribe}, {"call", newCall}, {"read", newRead}, {"prompt", newPrompt},
		{"complete", newComplete}, {"listen", newListen}, {"tasks", newTasks}, {"raw", newRaw}, {"log", newLog}, {"show", newShow},
		{"stats", newStats}, {"export", newExport}, {"resend", newResend}, {"explain", newExplain}, {"tap", newTap}, {"proxy", newProxy},
		{"sessions", newSessions}, {"close", newClose}, {"demo", newDemo}, {"mock", newMock}, {"hold", newHold}, {"state", newState},
		{"completion", newCompletion}, {"man", newMan}, {"version", newVersion}, {"servers", newServers}, {"trust", newTrust},
		{"grep", newGrep}, {"run", newRun}, {"batch", newBatch}, {"shell", newLines}, {"codegen", newCodegen},
	}
}

// wantsAll are the commands that write of all others.
var wantsAll = []string{"completion", "man"}

// rootFor is the tree that a command line needs: of the commands only those that it
// names somewhere, which is a third of a millisecond less at every start.
func rootFor(a *app, args []string) *cobra.Command {
	root := rootOf(a, args)
	if found, _, err := root.Find(args); err != nil || found == root || slices.Contains(wantsAll, found.Name()) {
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
		Args:              unknownCommand,
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
	for _, c := range commands() {
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
	if f := cmd.Flags().Lookup("output"); f != nil && f.Changed && a.output == "" {
		return hintedError{"-o needs a file name", "without -o the result goes to stdout"}
	}
	if err := a.checkCut(); err != nil {
		return err
	}
	if a.jq != "" {
		if _, err := render.Query(a.jq); err != nil {
			hint := ""
			if inert(a.jq) && !strings.ContainsAny(a.jq, " .|") {
				hint = "a member starts with a dot: --jq ." + a.jq
			}
			return hintedError{"--jq: " + err.Error(), hint}
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
	argv := startedBy(args)
	if !cmd.HasParent() && isURL(args[0]) {
		url := render.ShellQuote(args[0])
		hint = "mcpc init " + url + " opens a session, mcpc list " + url + " shows its tools"
		if len(args) > 1 && slices.Contains(commandNames(cmd), args[1]) {
			hint = "did you mean mcpc " + strings.Join(quotedWords(args[1:]), " ") + " -s " + url + "?"
		}
		return hintedError{"a URL is not a command", hint}
	}
	if meant := meantByFile(args[0]); !cmd.HasParent() && meant != "" {
		hint = meant
	} else if !cmd.HasParent() && argv != nil && (slices.Contains(runners, args[0]) || isFile(args[0])) {
		hint = "did you mean " + commandStarting("list", argv) + "?"
	} else if near := render.Nearest(args[0], commandNames(cmd)); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	} else if other := otherWords[args[0]]; other != "" && !cmd.HasParent() {
		hint = "did you mean mcpc " + other + "?"
	} else if len(args) > 1 && !cmd.HasParent() {
		if at, _ := operator(args[1]); at > 0 || strings.HasPrefix(args[1], "{") {
			hint = "did you mean mcpc call " + render.ShellQuote(args[0]) + "?"
		} else if argv != nil {
			hint = "did you mean " + commandStarting("list", argv) + "?"
		}
	}
	return hintedError{fmt.Sprintf("unknown command %q", args[0]), hint}
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// otherWords are what people type who come from other clients.
var otherWords = map[string]string{
	"ls": "list", "signin": "login", "whoami": "auth", "signout": "logout", "watch": "listen", "subscribe": "listen", "tools": "list", "tools/list": "list", "tools/call": "call", "connect": "init", "open": "init",
	"prompts": "list prompts", "prompts/list": "list prompts", "resources": "list resources",
	"resources/list": "list resources", "templates": "list templates", "discover": "info", "use": "sessions use", "switch": "sessions use", "get": "prompt", "resource": "read",
	"find": "grep", "search": "grep", "invoke": "call", "exec": "call", "inspect": "describe", "schema": "describe", "serve": "demo",
	"prompts/get": "prompt", "resources/read": "read",
	"test": "run", "status": "sessions", "history": "log", "logs": "log", "config": "servers", "install": "tap install",
}

// otherFlags are what other clients call these flags.
var otherFlags = map[string]string{
	"url": "server", "target": "server", "endpoint": "server", "host": "server", "protocol-version": "protocol", "revision": "protocol",
	"param": "args", "params": "args", "arguments": "args", "arg": "args", "input": "args", "data": "args",
	"format": "json", "raw-output": "jq", "filter": "jq", "token": "token-file", "bearer": "token-file", "debug": "verbose",
	"trace": "verbose", "insecure-skip-verify": "insecure", "log": "log-level", "file": "output", "name": "as",
}

// isURL tells a server's address from a word.
func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// flagError suggests the flag that was perhaps meant.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help shows the flags"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		argv := a.startedAmong(cmd)
		if near := render.Nearest(name, names); near != "" {
			hint = "did you mean --" + near + "?"
		} else if other := otherFlags[name]; cmd.Flags().Lookup(other) != nil {
			hint = "did you mean --" + other + "?"
		} else if cmd.Name() == "call" || cmd.Name() == "prompt" {
			hint = fmt.Sprintf("arguments have no dashes: %s=VALUE; %s", name, hint)
		} else if argv != nil {
			hint = "a server's command goes after --: " + commandStarting(cmd.Name(), argv)
		}
	}
	return hintedError{flagText(err), hint}
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

func placeholder(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "time", "size":
		return strings.ToUpper(f.Value.Type())
	case "int":
		return "N"
	}
	return strings.ToUpper(strings.ReplaceAll(map[string]string{
		"server": "target", "protocol": "revision", "state": "dir", "jq": "expr", "args": "json", "output": "file",
		"color": "when", "confirm": "when", "images": "how", "log-level": "level", "as": "name", "bytes": "data", "id": "id", "listen": "addr", "script": "file",
		"header": "field", "header-file": "file", "redact-file": "file", "check": "file", "answer": "answer", "on-elicit": "command", "sampling": "file", "on-sampling": "command", "root": "dir",
		"resource": "uri", "logs": "level", "record": "file", "file": "file", "to": "target", "var": "name=value", "package": "name", "only": "name", "junit": "file", "save": "file",
		"cacert": "file", "cert": "file", "key": "file", "proxy": "url", "resolve": "host:port:addr", "unix-socket": "path",
		"account": "name", "issuer": "url", "token-file": "file", "token-store": "where", "grant": "grant", "scope": "scopes",
		"client-id": "id", "client-secret": "secret", "client-secret-file": "file", "client-metadata-url": "url",
		"private-key": "file", "assertion": "file", "id-token": "file",
		"idp-token-endpoint": "url", "idp-client-id": "id", "idp-client-secret-file": "file", "key-id": "name", "alg": "name", "audience": "who", "sort": "key"}[f.Name], "-", " "))
}

// splitDash parts the arguments at "--": what follows is a server's command.
func splitDash(cmd *cobra.Command, args []string) (own, argv []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], args[at:]
}

// onlyURL takes a URL for the server's, and refuses other words.
func (a *app) onlyURL(cmd *cobra.Command, words, argv []string) error {
	words, err := a.withoutURL(words, argv)
	if err != nil {
		return err
	}
	return noArguments(cmd, words)
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
		return nil, hintedError{"every line of the shell goes to the same server", "use another terminal for another server"}
	case slices.ContainsFunc(others, isURL):
		return nil, hintedError{"two servers are given", "use only one of them"}
	}
	return others, a.goTo(words[at], argv)
}

// goTo settles that a word of the command names the server.
func (a *app) goTo(server string, argv []string) error {
	switch {
	case a.serverGiven:
		return hintedError{"two servers are given: " + wire.RedactURL(server) + " and one with -s", "use only one of them"}
	case argv != nil:
		return hintedError{"two servers are given: " + wire.RedactURL(server) + " and one after --", "use only one of them"}
	}
	a.server, a.serverGiven = server, true
	a.nameServer(nil)
	return nil
}

// noArguments refuses words that a command has no use for.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help shows what it takes"
	switch {
	case slices.Contains(serverCommands, cmd.Name()) && args[0] != "demo":
		hint = behindDashes(cmd.Name(), args)
	case cmd.Name() == "demo" && slices.Contains(commandNames(cmd.Root()), args[0]):
		hint = "did you mean mcpc -s demo " + strings.Join(quotedWords(args), " ") + "?"
	case cmd.Flag("to") != nil && isURL(args[0]):
		hint = cmd.CommandPath() + " --to " + render.ShellQuote(args[0])
	case cmd.Flag("script") != nil:
		hint = cmd.CommandPath() + " --script " + render.ShellQuote(args[0])
	case cmd.Flag("listen") != nil:
		hint = cmd.CommandPath() + " --help shows the flags; use --listen ADDRESS"
	case len(args) == 1 && (isURL(args[0]) || args[0] == "demo"):
		hint = cmd.CommandPath() + " -s " + render.ShellQuote(args[0])
	}
	return hintedError{fmt.Sprintf("%s takes no argument %q", cmd.Name(), strings.Join(args, " ")), hint}
}
