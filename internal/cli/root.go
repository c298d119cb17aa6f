package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/app"
	"mcpc/internal/cli/auth"
	"mcpc/internal/cli/batch"
	"mcpc/internal/cli/bench"
	"mcpc/internal/cli/call"
	"mcpc/internal/cli/catalog"
	"mcpc/internal/cli/check"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/codegen"
	"mcpc/internal/cli/diff"
	"mcpc/internal/cli/help"
	"mcpc/internal/cli/inspect"
	"mcpc/internal/cli/judge"
	"mcpc/internal/cli/meant"
	"mcpc/internal/cli/mock"
	"mcpc/internal/cli/proxy"
	"mcpc/internal/cli/replay"
	"mcpc/internal/cli/run"
	"mcpc/internal/cli/serve"
	"mcpc/internal/cli/session"
	"mcpc/internal/cli/shell"
	"mcpc/internal/cli/skills"
	"mcpc/internal/cli/traffic"
	"mcpc/internal/render/jq"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Short names of the traits for the table of commands.
const (
	asks    = cmdutil.AsksServer
	local   = cmdutil.NeedsState
	inShell = cmdutil.InShell
	alone   = cmdutil.OnlyTakesServer
	whole   = cmdutil.NeedsAllCommands
	starts  = cmdutil.OnlyStartsServer
)

// commandGroups returns the commands by topic.
func commandGroups() []cmdutil.Group {
	group := func(head string, commands ...cmdutil.CommandMaker) cmdutil.Group {
		return cmdutil.Group{Head: head, Commands: commands}
	}
	command := cmdutil.Command
	old := cmdutil.OldName
	return []cmdutil.Group{
		group("Talk to a server",
			command("init", session.NewInit, asks|alone),
			command("list", catalog.NewList, asks|inShell|alone),
			command("describe", catalog.NewDescribe, asks|inShell),
			command("call", call.NewCall, asks|inShell),
			command("read", call.NewRead, asks|inShell),
			command("prompt", call.NewPrompt, asks|inShell),
			command("complete", call.NewComplete, asks|inShell),
			command("listen", catalog.NewListen, asks|alone),
			command("tasks", call.NewTasks, asks|inShell),
			command("skills", skills.New, asks|inShell),
			command("app", app.New, asks),
			command("ping", call.NewPing, asks|inShell|alone),
			command("raw", call.NewRaw, asks|inShell),
		),
		group("Many servers and calls",
			command("servers", newServers, local),
			command("grep", catalog.NewGrep, local),
			command("batch", batch.NewBatch, asks),
			command("run", run.NewRun, local),
			command("serve", serve.New, local),
			command("shell", shell.NewShell, asks|alone),
			command("codegen", codegen.NewCodegen, alone),
		),
		group("Recorded traffic",
			command("log", traffic.NewLog, local|inShell),
			command("show", traffic.NewShow, local|inShell),
			command("export", traffic.NewExport, local|inShell),
			command("replay", replay.NewReplay, local),
			command("tap", proxy.NewTap, local|starts),
			command("proxy", newProxy, local),
			command("fault", proxy.NewFault, local),
			command("inspect", newInspect, local|starts),
		),
		group("Authentication",
			command("login", auth.NewLogin, asks),
			command("auth", auth.NewAuth, asks),
		),
		group("Test servers",
			command("check", check.NewCheck, asks),
			command("diff", diff.NewDiff, local),
			command("bench", bench.New, asks),
			command("demo", serve.NewDemo, 0),
			command("mock", mock.NewMock, 0),
			command("judge", judge.New, 0),
		),
		group("mcpc",
			command("explain", help.NewExplain, inShell),
			command("sessions", session.NewSessions, local),
			command("completion", help.NewCompletion, whole),
			command("man", help.NewMan, whole),
			command("hold", session.NewSupervisor, 0),
		),
		group("", // help lists none of these
			old("info", "describe", catalog.NewInfo, asks|inShell|alone),
			old("stats", "log --stats", traffic.NewStats, local|inShell),
			old("import", "export FILE.har --as jsonl", traffic.NewImport, local|inShell),
			old("resend", "replay NUMBER --print", replay.NewResend, local),
			old("trust", "servers trust", session.NewTrust, local),
			old("logout", "auth logout", auth.NewLogout, asks),
			old("close", "sessions close", session.NewClose, local),
			old("state", "sessions repair", session.NewState, 0),
			old("version", "--version", help.NewVersion, inShell),
		),
	}
}

// newServers returns the command servers, which gets its reports from other packages of commands.
func newServers(f *cmdutil.Factory) *cobra.Command {
	return session.NewServers(f, new(catalog.ServersCheck), new(traffic.SeenServers))
}

// newInspect returns the command inspect, which checks servers as servers --check does.
func newInspect(f *cmdutil.Factory) *cobra.Command { return inspect.New(f, catalog.AskServer) }

// newProxy returns the command proxy, whose view checks servers like that of inspect.
func newProxy(f *cmdutil.Factory) *cobra.Command { return proxy.NewProxy(f, catalog.AskServer) }

// RootFor returns the tree for a command line. It builds only the commands whose names appear in
// args, which saves a third of a millisecond at each start.
func RootFor(f *cmdutil.Factory, args []string) *cobra.Command {
	root := buildRoot(f, args)
	found, _, err := root.Find(args)
	isOneCommand := err == nil && found != root
	if isOneCommand && !f.CommandHasTrait(found.Name(), cmdutil.NeedsAllCommands) {
		return root
	}
	return NewRoot(f)
}

// NewRoot builds the whole command tree. It uses no package variables, so that two trees share
// nothing.
func NewRoot(f *cmdutil.Factory) *cobra.Command { return buildRoot(f, nil) }

// buildRoot builds the tree with the commands of these names. If among is nil, it builds all
// commands and the help topics.
func buildRoot(f *cmdutil.Factory, among []string) *cobra.Command {
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
		Args:              func(cmd *cobra.Command, args []string) error { return meant.UnknownCommand(f, cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked {
				return help.PrintVersion(cmd.Context(), f)
			}
			if f.ServerGiven && len(f.Args) > 0 {
				return usage.New("a server is named, and no command", "did you mean "+wire.RunOnServer("list")+"?")
			}
			if f.Verbose > 0 && len(f.Args) == 1 {
				return usage.New("-v shows more of a command, and there is none", "did you mean "+wire.Run("--version")+"?")
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error { return prepare(f, cmd, args) },
	}
	root.SetOut(f.Stdout())
	root.SetErr(f.Stderr())
	f.AddGlobals(root.PersistentFlags())
	f.AddHelpAll(root.PersistentFlags())
	root.Flags().Bool("version", false, "print the version and the supported protocol revisions")
	_ = root.Flags().MarkHidden("version")
	root.SetHelpFunc(func(cmd *cobra.Command, p1 []string) { help.Help(f, cmd, p1) })
	root.SetUsageFunc(func(cmd *cobra.Command) error { help.Help(f, cmd, nil); return nil })
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return meant.UnknownFlag(f, cmd, err) })
	for _, c := range f.Commands() {
		if among == nil || slices.Contains(among, c.Name) {
			made := c.Make(f)
			if c.NewName != "" {
				made.Hidden = true
				made.Long = "The same as mcpc " + c.NewName + "."
			}
			root.AddCommand(made)
		}
	}
	if among == nil {
		root.AddCommand(help.NewTopics()...)
	}
	root.SetHelpCommand(help.NewHelp(f))
	if among == nil && len(f.Args) > 0 && strings.HasPrefix(f.Args[0], cobra.ShellCompRequestCmd) {
		help.AddCompletions(f, root)
	}
	showFlagsAsDeclared(root)
	return root
}

// showFlagsAsDeclared makes help show the flags of cmd and its subcommands in the order of their
// declaration, and no [flags] in the usage.
func showFlagsAsDeclared(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.DisableFlagsInUseLine = true
	for _, c := range cmd.Commands() {
		showFlagsAsDeclared(c)
	}
}

// prepare reads and checks the flags that all commands share, before the command runs.
func prepare(f *cmdutil.Factory, cmd *cobra.Command, args []string) error {
	if f.AsksCompleteHelp {
		return pflag.ErrHelp // cobra then shows the help instead of an error
	}
	if cmd.Name() == cobra.ShellCompRequestCmd {
		help.OwnFirst(cmd)
	}
	if f.Shell != nil {
		if err := f.Shell.CheckAllowed(f, cmd); err != nil {
			return err
		}
		if err := cmdutil.SetFlagsFromEnvironment(cmd, f.Shell.Getenv); err != nil {
			return err
		}
	} else {
		f.RecordTypedFlags(cmd.Flags())
		f.Prepared = true
		f.LearnEnvironment()
		if err := cmdutil.SetFlagsFromEnvironment(cmd, f.Getenv); err != nil {
			return err
		}
		f.ServerGiven = f.ServerGiven || cmd.Flags().Changed("server")
		f.SettleStyles()
	}
	if f.RedactFile != "" {
		if err := f.ReadRedactFile(); err != nil {
			return err
		}
	}
	if f.Shell == nil {
		_, argv := cmdutil.SplitDash(cmd, args)
		f.NameServer(argv)
		meant.NoteFlagsAfterDashes(f, cmd, argv)
		f.NoteUnitlessTimes()
	}
	if err := f.CheckFlags(); err != nil {
		return err
	}
	f.Limits = f.ClientLimits()
	if flag := cmd.Flags().Lookup("output"); flag != nil && flag.Changed && f.Output == "" {
		return usage.New("-o needs a file name", "without -o the result goes to stdout")
	}
	if f.Output == "-" {
		return usage.New(
			"-o - names no file",
			"without -o the result goes to stdout; -o /dev/stdout writes there what -o writes to a file",
		)
	}
	formats := []string{"json", "jsonl", "yaml", "table", "text", "raw", "wide", "name"}
	if slices.Contains(formats, f.Output) {
		return usage.New("-o names a file, and "+f.Output+" is a format",
			wire.Hint("--json prints the result as JSON; -o ./"+f.Output+" writes to a file of that name"))
	}
	if f.Jq != "" {
		if _, err := jq.Compile(f.Jq); err != nil {
			var hint wire.Hint
			if shellwords.Inert(f.Jq) && !strings.ContainsAny(f.Jq, " .|") {
				hint = wire.Hint("a member starts with a dot: --jq ." + f.Jq)
			}
			return usage.New("--jq: "+err.Error(), hint)
		}
	}
	return nil
}
