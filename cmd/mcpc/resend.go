package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// resendOptions are what `mcpc resend` was asked.
type resendOptions struct {
	word      string
	to        string
	argv      []string
	edit      bool
	allowExec bool
	yes       bool
}

func newResend(a *app) *cobra.Command {
	var o resendOptions
	cmd := &cobra.Command{
		Use:   "resend NUMBER|last|FILE#NUMBER [--to TARGET|--allow-exec|-- COMMAND...]",
		Short: "send a recorded request again",
		Long: `Send a recorded request again, to the server in --to: a recording may come from
someone else, so its server is not contacted by default. A recorded command is
started only with --allow-exec. The request is sent over a new connection, with
new header fields; only its params are reused.

The new exchange is recorded with the number of the old one.`,
		Example: `  mcpc resend last --to demo
  mcpc resend 2 --to demo --json
  EDITOR=true mcpc resend last --edit --to demo`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.argv = splitDash(cmd, args)
			if len(args) != 1 {
				return hinted("resend takes the number of one exchange", wire.Run("log")+" lists them")
			}
			o.word = args[0]
			if o.to != "" && (a.serverGiven || o.allowExec || o.argv != nil) {
				return hinted("the server is given twice: --to and another argument", "use only one of them")
			}
			a.resend(cmd.Context(), o)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "`target` to send it to, as with -s")
	f.BoolVar(&o.edit, "edit", false, "edit the params in $VISUAL or $EDITOR first")
	f.BoolVar(&o.allowExec, "allow-exec", false, "allow starting the recorded stdio command")
	f.BoolVarP(&o.yes, "yes", "y", false, "call without a confirmation")
	a.addCut(f)
	a.addAnswering(f)
	return cmd
}

// resend is the walk of a request that was recorded: what is meant, to whom, what
// it becomes, and then as every request.
func (a *app) resend(ctx context.Context, o resendOptions) {
	g, out := a.recorded(o.word)
	if out.Good() {
		out = a.aimResend(&o, g)
	}
	var params json.RawMessage
	if out.Good() {
		params, out = a.paramsOf(ctx, o, g)
	}
	if !out.Good() {
		a.end(out)
		return
	}
	a.record.resent = nameOf(g.row)
	c, out := a.open(ctx, opening{argv: o.argv})
	defer a.close(ctx, c)
	if out.Good() {
		out = c.issue(ctx, o, client.Call{Method: g.row.Method, Params: params, Progress: true})
	}
	a.show(ctx, out, answerOf(out))
	a.explained(g.row.Method)
}

// recorded finds the request that a word means.
func (a *app) recorded(word string) (again, wire.Outcome) {
	c, row, out := a.pickRow(word)
	if !out.Good() {
		return again{}, out
	}
	defer c.Close()
	a.warnOf(c)
	exchange, err := row.Exchange()
	switch {
	case err != nil:
		return again{}, localIO("reading "+row.Path(), err)
	case byServer(row):
		return again{}, usage(hinted(nameOf(row)+" is a server request, not a client request", wire.Run("show "+shellwords.Quote(word))+" shows it"))
	case exchange != nil && exchange.Request.Raw == nil:
		return again{}, usage(hinted(nameOf(row)+" contains no JSON-RPC request", wire.Run("export "+shellwords.Quote(word)+" --as curl")+" sends it again"))
	case exchange == nil:
		return again{}, usage(hinted("nothing was sent in "+nameOf(row), wire.Run("show "+shellwords.Quote(word))+" shows how it ended"))
	}
	return again{row: row, exchange: exchange, capture: c, version: a.version}, wire.Outcome{}
}

// nameOf names an exchange for another recording: its number, and the file where it
// is none of the ring.
func nameOf(row *trace.Row) string {
	if row.Run > 0 {
		return row.Number()
	}
	return filepath.Base(row.Path()) + "#" + row.Number()
}

// aimResend settles the server. Nothing in a recording is contacted or started
// because it stands there.
func (a *app) aimResend(o *resendOptions, g again) wire.Outcome {
	switch {
	case o.to != "":
		a.server, a.serverGiven = o.to, true
		return wire.Outcome{}
	case a.serverGiven || o.argv != nil:
		return wire.Outcome{}
	case o.allowExec:
		o.argv = g.serverArgv()
		if o.argv == nil {
			return usage(hinted("no server command is recorded there", wire.Run("resend "+shellwords.Quote(o.word)+" --to TARGET")))
		}
		if g.row.Target == demoEndpoint {
			a.server, a.serverGiven, o.argv = demoEndpoint, true, nil
		}
		return hiddenIn("give the whole command: -- COMMAND...", o.argv...)
	}
	again := "resend " + shellwords.Quote(o.word)
	hint := wire.Run(again + " --to TARGET")
	switch address := g.address(); {
	case slices.Contains(a.sessionNames(""), g.row.Target):
		hint = wire.Run(again + " --to " + shellwords.Quote(g.row.Target))
	case isAddress(address) || address == demoEndpoint || a.finds(address):
		hint = wire.Run(again + " --to " + shellwords.Quote(address))
	case g.serverArgv() != nil:
		hint = wire.Run(again+" --allow-exec") + " runs: " + wire.Hint(commandLine(g.serverArgv()))
	case address != "": // a session that was closed
		hint = wire.Run(again + " -- COMMAND")
	}
	return wire.Outcome{Kind: wire.Refused, Phase: "arguments", Hint: hint,
		Text: "resend needs --to, --allow-exec or a command after --"}
}

// finds reports whether -s takes a name.
func (a *app) finds(name string) bool {
	_, err := target.Parse(target.Input{Flag: name, FlagGiven: true, Sessions: a.sessionNames(""), Known: a.knownNames})
	return name != "" && err == nil
}

// hiddenIn refuses to send what stands in the place of a secret.
func hiddenIn(hint wire.Hint, texts ...string) wire.Outcome {
	for _, text := range texts {
		if len(wire.HiddenIn(text)) > 0 {
			return wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: "it contains a secret that was not recorded, so it cannot be sent",
				Hint: hint}
		}
	}
	return wire.Outcome{}
}

// paramsOf gives what is to be sent.
func (a *app) paramsOf(ctx context.Context, o resendOptions, g again) (json.RawMessage, wire.Outcome) {
	params := g.params()
	if o.edit {
		edited, err := a.edited(ctx, g.row.Method, params)
		if err != nil {
			return nil, notEdited(err)
		}
		params = edited
	}
	return params, hiddenIn("use --edit to enter it again", string(params))
}

// issue sends the request. A tool that is marked as destructive is asked about,
// as everywhere; arguments go as they were recorded, whatever the schema says.
func (c *conversation) issue(ctx context.Context, o resendOptions, call client.Call) wire.Outcome {
	if call.Method != "tools/call" {
		return c.Do(ctx, call)
	}
	params, _ := wire.Object(call.Params)
	given, _ := params.Get("arguments")
	name := params.Text("name")
	tool := c.remembered(name)
	if tool == nil {
		var out wire.Outcome
		if tool, out = c.define(ctx, name); !out.Good() && out.Kind != wire.InvalidArguments {
			return out.As(wire.Before)
		}
	}
	if out := c.confirmed(ctx, tool, callRequest{name: name, reading: reading{arguments: given}, yes: o.yes}); !out.Good() {
		return out
	}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	out := c.Do(ctx, call)
	if out.Good() && tool != nil {
		return c.checkResult(tool, out)
	}
	return out
}
