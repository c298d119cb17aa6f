// Package judge has the command judge.
package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/clients"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/connect/host"
	"mcpc/internal/judge"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// options are the flags of `mcpc judge`.
type options struct {
	// client is the command line of the client, or nil: then any client may connect.
	client         []string
	listen         string
	revision       string
	require        []string
	slow           time.Duration
	matrix         string
	script, prompt bool
	join           string
	fault          faulty.Options
	// maxTime is how long the client may run with one server, or how long judge waits for clients; 0
	// means until it is interrupted.
	maxTime time.Duration
}

// defaultMaxTime is how long a client may run with one server.
const defaultMaxTime = 2 * time.Minute

// defaultSlow is how long the slow tools take.
const defaultSlow = 5 * time.Second

// prompt is the sentence that has an agent drive all probes.
const prompt = "Call each tool of the MCP server mcpc judge exactly once, one after the other in the order of " +
	"the list and without asking me, also if a call fails, and then say that you are done."

// New returns the command `mcpc judge`.
func New(f *cmdutil.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "judge [-- CLIENT...] | --matrix DIR",
		Short: "probe a client, and report what it does",
		Long: `Run a server that probes a client, and report what the client does: whether it
follows nextCursor, lists again after list_changed, cancels, resumes a stream,
initializes again after a lost session, waits for Retry-After, keeps what its
capabilities promise, continues after odd results, and more. The facts are those
of mcpc log --clients, and each has the number of the exchange that proves it.

CLIENT is a command. In its words, {url} is replaced by the URL of the server,
{command} by the command of the same server over stdio, and {prompt} by a
sentence for an agent; MCPC_JUDGE_URL has the URL, too. CLIENT is run with a
server of all revisions, and then with one of each older revision. It should
call each tool once, in the order of the list: --script prints the calls.
Without CLIENT, mcpc waits for clients until Ctrl-C or --max-time.

"no" means that the client could have done it and did not, "stops" that it sent
no request afterwards, "reconnects" that it then began another connection, and
"not tried" that nothing asked for it. -o writes the report to a file: a page
(.html), Markdown (.md), or text; with --json, JSON for --matrix, which makes
one table of a folder of reports. The exit code is 0 once the report is written,
whatever the client did, except with --require.`,
		Example: `  mcpc judge --slow 1s -- sh -c 'mcpc judge --script | mcpc batch -s {url}'
  mcpc judge --require pages -- mcpc list -s {url}
  mcpc judge --json -o mcpc.json -- mcpc list -- {command}
  mcpc judge --listen 127.0.0.1:3001
  mcpc judge --matrix reports -o clients.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if len(own) > 0 {
				return usage.New("judge takes the client's command after --",
					wire.Hint("mcpc judge -- "+strings.Join(own, " ")))
			}
			o.client = argv
			if err := o.validate(f, cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.require, "require", nil, "exit with 1 if the client fails one of these `facts`")
	flags.StringVar(&o.revision, "revision", "",
		"offer only this `revision`, or any, and run the client once")
	flags.StringVar(&o.matrix, "matrix", "", "make one table of the JSON reports in this `folder`")
	flags.BoolVar(&o.script, "script", false, "print the calls that drive all probes, one per line, for mcpc batch")
	flags.BoolVar(&o.prompt, "prompt", false, "print the sentence that has an agent drive all probes")
	flags.DurationVar(&o.slow, "slow", defaultSlow, "how long the slow tools take; more than the client's time limit")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "listen `addr`ess, loopback only; port 0 selects a free port")
	o.fault.AddFlags(flags)
	flags.StringVar(&o.join, "join", "", "the server of {command}: pass stdio to the judge at this `addr`ess")
	_ = flags.MarkHidden("join")
	cmdutil.CompleteFlags(cmd, map[string][]string{"revision": judge.Revisions(), "require": factNames()})
	return cmd
}

// factNames returns the names of all facts.
func factNames() []string {
	return sliceutil.Map(clients.Facts, func(fact clients.Fact) string { return fact.Name })
}

// validate returns a usage error for flags that do not fit.
func (o *options) validate(f *cmdutil.Factory, cmd *cobra.Command) error {
	var modes []string
	for _, mode := range []string{"matrix", "script", "prompt", "join"} {
		if cmd.Flags().Changed(mode) {
			modes = append(modes, "--"+mode)
		}
	}
	if o.client != nil && len(o.client) == 0 {
		return usage.New("there is no command after --", "mcpc judge -- CLIENT..., or mcpc judge for any client")
	}
	if len(modes) > 0 && o.client != nil {
		return usage.New(modes[0]+" runs no client", "leave out the command after --")
	}
	if len(modes) > 0 && len(o.require) > 0 {
		return usage.New("--require cannot be combined with "+modes[0], "it is for a client that mcpc judges")
	}
	if len(modes) > 1 {
		return usage.New(modes[0]+" and "+modes[1]+" cannot be combined", "use only one of them")
	}
	if o.revision != "" && !slices.Contains(judge.Revisions(), o.revision) {
		all := strings.Join(judge.Revisions(), ", ")
		return usage.New(fmt.Sprintf("--revision must be one of %s, not %q", all, o.revision), "")
	}
	for _, name := range o.require {
		if !slices.Contains(factNames(), name) {
			return usage.New(fmt.Sprintf("there is no fact %q", name),
				wire.Hint("--require takes "+strings.Join(factNames(), ", ")))
		}
	}
	if len(modes) == 0 && (f.NoRecord || f.RecordTo == host.OffWord) {
		return usage.New("judge reads its report from the recording", "leave out --no-record and --record off")
	}
	if o.slow <= 0 {
		return usage.New("--slow must be more than 0", "--slow 5s")
	}
	if f.Output != "" {
		if out := cmdutil.CheckWritable("-o", f.Output); !out.OK() {
			return cmdutil.Exit(out)
		}
	}
	if o.client != nil {
		o.maxTime = defaultMaxTime
	}
	if cmd.Flags().Changed("max-time") {
		o.maxTime = f.Limits.Hard
	}
	return nil
}

// run does what the flags select.
func (o *options) run(ctx context.Context, f *cmdutil.Factory) error {
	switch {
	case o.join != "":
		return join(f, o.join)
	case o.script:
		return printScript(f)
	case o.prompt:
		_, err := fmt.Fprintln(f.Stdout(), prompt)
		return err
	case o.matrix != "":
		return showMatrix(ctx, f, o.matrix)
	}
	return judgeClients(ctx, f, o)
}

// printScript prints a call per line.
func printScript(f *cmdutil.Factory) error {
	var b bytes.Buffer
	for _, call := range judge.Script() {
		line, err := json.Marshal(call)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	_, err := f.Stdout().Write(b.Bytes())
	return err
}
