package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/auth"
	"mcpc/internal/cli/batch"
	"mcpc/internal/cli/bench"
	"mcpc/internal/cli/call"
	"mcpc/internal/cli/catalog"
	"mcpc/internal/cli/check"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/codegen"
	"mcpc/internal/cli/diff"
	"mcpc/internal/cli/fault"
	"mcpc/internal/cli/help"
	"mcpc/internal/cli/inspect"
	"mcpc/internal/cli/meant"
	"mcpc/internal/cli/mock"
	"mcpc/internal/cli/proxy"
	"mcpc/internal/cli/replay"
	"mcpc/internal/cli/request"
	"mcpc/internal/cli/run"
	"mcpc/internal/cli/serve"
	"mcpc/internal/cli/server"
	"mcpc/internal/cli/session"
	"mcpc/internal/cli/shell"
	"mcpc/internal/cli/skills"
	"mcpc/internal/cli/task"
	"mcpc/internal/cli/traffic"
	"mcpc/internal/cli/watch"
	"mcpc/internal/render/jq"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// commandGroups are the commands as a person looks for them.
func commandGroups() []cmdutil.Group {
	return []cmdutil.Group{
		{Head: "Talk to a server", Commands: []cmdutil.Maker{
			cmdutil.Command("init", session.NewInit, cmdutil.Asks|cmdutil.Alone), cmdutil.Command("info", catalog.NewInfo, cmdutil.Asks|cmdutil.InShell|cmdutil.Alone), cmdutil.Command("list", catalog.NewList, cmdutil.Asks|cmdutil.InShell|cmdutil.Alone),
			cmdutil.Command("describe", catalog.NewDescribe, cmdutil.Asks|cmdutil.InShell), cmdutil.Command("call", call.NewCall, cmdutil.Asks|cmdutil.InShell), cmdutil.Command("read", request.NewRead, cmdutil.Asks|cmdutil.InShell),
			cmdutil.Command("prompt", request.NewPrompt, cmdutil.Asks|cmdutil.InShell), cmdutil.Command("complete", request.NewComplete, cmdutil.Asks|cmdutil.InShell), cmdutil.Command("listen", watch.NewListen, cmdutil.Asks|cmdutil.Alone),
			cmdutil.Command("tasks", task.NewTasks, cmdutil.Asks|cmdutil.InShell), cmdutil.Command("skills", skills.New, cmdutil.Asks|cmdutil.InShell), cmdutil.Command("ping", request.NewPing, cmdutil.Asks|cmdutil.InShell|cmdutil.Alone), cmdutil.Command("raw", request.NewRaw, cmdutil.Asks|cmdutil.InShell),
		}},
		{Head: "Many servers and calls", Commands: []cmdutil.Maker{
			cmdutil.Command("servers", server.NewServers, cmdutil.Local), cmdutil.Command("trust", server.NewTrust, cmdutil.Local), cmdutil.Command("grep", catalog.NewGrep, cmdutil.Local), cmdutil.Command("batch", batch.NewBatch, cmdutil.Asks),
			cmdutil.Command("run", run.NewRun, cmdutil.Local), cmdutil.Command("serve", serve.New, cmdutil.Local), cmdutil.Command("shell", shell.NewShell, cmdutil.Asks|cmdutil.Alone), cmdutil.Command("codegen", codegen.NewCodegen, cmdutil.Alone),
		}},
		{Head: "Recorded traffic", Commands: []cmdutil.Maker{
			cmdutil.Command("log", traffic.NewLog, cmdutil.Local|cmdutil.InShell), cmdutil.Command("show", traffic.NewShow, cmdutil.Local|cmdutil.InShell), cmdutil.Command("stats", traffic.NewStats, cmdutil.Local|cmdutil.InShell),
			cmdutil.Command("export", traffic.NewExport, cmdutil.Local|cmdutil.InShell), cmdutil.Command("import", traffic.NewImport, cmdutil.Local|cmdutil.InShell), cmdutil.Command("resend", traffic.NewResend, cmdutil.Local), cmdutil.Command("replay", replay.NewReplay, cmdutil.Local), cmdutil.Command("tap", proxy.NewTap, cmdutil.Local|cmdutil.Starts), cmdutil.Command("proxy", proxy.NewProxy, cmdutil.Local), cmdutil.Command("fault", fault.NewFault, cmdutil.Local), cmdutil.Command("inspect", inspect.New, cmdutil.Local|cmdutil.Starts),
		}},
		{Head: "Authentication", Commands: []cmdutil.Maker{cmdutil.Command("login", auth.NewLogin, cmdutil.Asks), cmdutil.Command("logout", auth.NewLogout, cmdutil.Asks), cmdutil.Command("auth", auth.NewAuth, cmdutil.Asks)}},
		{Head: "Test servers", Commands: []cmdutil.Maker{cmdutil.Command("check", check.NewCheck, cmdutil.Asks), cmdutil.Command("diff", diff.NewDiff, cmdutil.Local), cmdutil.Command("bench", bench.New, cmdutil.Asks), cmdutil.Command("demo", server.NewDemo, 0), cmdutil.Command("mock", mock.NewMock, 0)}},
		{Head: "mcpc", Commands: []cmdutil.Maker{
			cmdutil.Command("explain", help.NewExplain, cmdutil.InShell), cmdutil.Command("sessions", session.NewSessions, cmdutil.Local), cmdutil.Command("close", session.NewClose, cmdutil.Local), cmdutil.Command("state", session.NewState, 0),
			cmdutil.Command("completion", help.NewCompletion, cmdutil.Whole), cmdutil.Command("man", help.NewMan, cmdutil.Whole), cmdutil.Command("version", help.NewVersion, cmdutil.InShell), cmdutil.Command("hold", session.NewSupervisor, 0),
		}},
	}
}

// RootFor is the tree that a command line needs: of the commands only those that it
// names somewhere, which is a third of a millisecond less at every start.
func RootFor(f *cmdutil.Factory, args []string) *cobra.Command {
	root := rootOf(f, args)
	if found, _, err := root.Find(args); err != nil || found == root || f.CommandIs(found.Name(), cmdutil.Whole) {
		return NewRoot(f)
	}
	return root
}

// NewRoot builds the whole command tree. Nothing of it is kept in package variables,
// so that two apps, as in tests, share nothing.
func NewRoot(f *cmdutil.Factory) *cobra.Command { return rootOf(f, nil) }

// rootOf has the commands with these names; nil is all of them, and the topics.
func rootOf(f *cmdutil.Factory, among []string) *cobra.Command {
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
			switch {
			case f.ServerGiven && len(f.Args) > 0:
				return usage.New("a server is named, and no command", "did you mean "+wire.RunOnServer("list")+"?")
			case f.Verbose > 0 && len(f.Args) == 1:
				return usage.New("-v shows more of a command, and there is none", "did you mean "+wire.Run("version")+"?")
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error { return prepare(f, cmd, args) },
	}
	root.SetOut(f.Stdout())
	root.SetErr(f.Stderr())
	f.AddGlobals(root.PersistentFlags())
	root.Flags().Bool("version", false, "the same as mcpc version")
	_ = root.Flags().MarkHidden("version")
	root.SetHelpFunc(func(cmd *cobra.Command, p1 []string) { help.Help(f, cmd, p1) })
	root.SetUsageFunc(func(cmd *cobra.Command) error { help.Help(f, cmd, nil); return nil })
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return meant.UnknownFlag(f, cmd, err) })
	for _, c := range cmdutil.Commands(f) {
		if among == nil || slices.Contains(among, c.Name) {
			root.AddCommand(c.Make(f))
		}
	}
	if among == nil {
		root.AddCommand(help.NewTopics()...)
	}
	root.SetHelpCommand(help.NewHelp(f))
	help.AddCompletions(f, root)
	for _, c := range help.AllOf(root) {
		c.Flags().SortFlags = false // they are declared in the order in which help has them
		c.DisableFlagsInUseLine = true
	}
	return root
}

// prepare settles what all commands share once the flags are known.
func prepare(f *cmdutil.Factory, cmd *cobra.Command, args []string) error {
	if cmd.Name() == cobra.ShellCompRequestCmd {
		help.OwnFirst(cmd)
	}
	if f.Shell != nil {
		if err := f.Shell.MayRun(f, cmd); err != nil {
			return err
		}
		if err := cmdutil.FromEnvironment(cmd, f.Shell.Getenv); err != nil {
			return err
		}
	} else {
		f.NoteTyped(cmd.Flags())
		f.Prepared = true
		f.LearnEnvironment()
		if err := cmdutil.FromEnvironment(cmd, f.Getenv); err != nil {
			return err
		}
		f.ServerGiven = f.ServerGiven || cmd.Flags().Changed("server")
		f.SettleStyles()
	}
	if err := f.ReadRedactFile(); err != nil {
		return err
	}
	if f.Shell == nil {
		_, argv := cmdutil.SplitDash(cmd, args)
		f.NameServer(argv)
		meant.NoteFlagsAfterDashes(f, cmd, argv)
		f.NoteTimes()
	}
	if err := cmdutil.Check(f); err != nil {
		return err
	}
	f.Limits = f.AsLimits()
	if flag := cmd.Flags().Lookup("output"); flag != nil && flag.Changed && f.Output == "" {
		return usage.New("-o needs a file name", "without -o the result goes to stdout")
	}
	if f.Output == "-" {
		return usage.New("-o - names no file", "without -o the result goes to stdout; -o /dev/stdout writes there what -o writes to a file")
	}
	if formats := []string{"json", "jsonl", "yaml", "table", "text", "raw", "wide", "name"}; slices.Contains(formats, f.Output) {
		return usage.New("-o names a file, and "+f.Output+" is a format",
			wire.Hint("--json prints the result as JSON; -o ./"+f.Output+" writes to a file of that name"))
	}
	if err := f.CheckCut(); err != nil {
		return err
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
