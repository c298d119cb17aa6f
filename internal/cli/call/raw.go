package call

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/glossary"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// rawOptions are the flags and arguments of mcpc raw.
type rawOptions struct {
	method string
	params json.RawMessage // nil without params
	bytes  []byte          // of --bytes, in place of method and params; nil without the flag
	id     string          // as typed, or ""
	notify bool
	bare   bool // of --no-stamp
	argv   []string
}

// NewRaw returns the command mcpc raw.
func NewRaw(f *cmdutil.Factory) *cobra.Command {
	var o rawOptions
	var file string
	cmd := &cobra.Command{
		Use:   "raw METHOD [PARAMS] [-- COMMAND...]",
		Short: "send any method, any params, or exact bytes",
		Long: `Send any request or notification. The request is not validated; the response is
printed unchanged even if it is invalid (exit 8). The protocol version, session
id and _meta are added unless --no-stamp is given; -H adds, replaces or removes
header fields.`,
		Example: `  mcpc -s demo raw tools/list
  mcpc -s demo raw prompts/get '{"name":"simple-prompt"}'
  mcpc -s demo raw --bytes @message.json`,
		ValidArgsFunction: completeMethod,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			o.argv = argv
			if err := parseRawArgs(f, &o, own, file); err != nil {
				return err
			}
			return runRaw(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.notify, "notify", false, "send a notification (no id, no response)")
	flags.StringVar(&o.id, "id", "", "the request's `id`: a number, or any JSON; other text is a string")
	flags.BoolVar(&o.bare, "no-stamp", false, "send no protocol version, session id or _meta")
	flags.StringVar(&file, "bytes", "", "send exactly this `data`: @FILE, - or the text itself")
	f.AddMaxChars(flags)
	f.AddAnswering(flags)
	return cmd
}

// parseRawArgs reads the method and params, or the bytes of --bytes, which are not validated.
func parseRawArgs(f *cmdutil.Factory, o *rawOptions, args []string, file string) error {
	if file != "" {
		if len(args) > 0 {
			return usage.New("--bytes is the whole message, so there is no method", "")
		}
		var err error
		o.bytes, _, err = f.InputBytes(file)
		return err
	}
	if len(args) == 0 || len(args) > 2 {
		return usage.New("raw takes a method and its params", wire.RunOnServer("raw tools/list"))
	}
	if first := strings.TrimSpace(args[0]); strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
		return usage.New("raw takes a method and its params, and this is a message: nothing was sent",
			"a whole message goes after --bytes: "+wire.RunOnServer("raw --bytes "+messageWord(args[0])))
	}
	o.method = args[0]
	if len(args) == 2 {
		raw, from, err := f.Input(args[1])
		if err != nil {
			return err
		}
		if bad := jsonraw.Valid(raw); bad != nil {
			return arguments.NotJSON(raw, from, bad)
		}
		if isMessage(raw) {
			return usage.New("raw takes a method and its params, and these params are a message: nothing was sent",
				"a whole message goes after --bytes: "+wire.RunOnServer("raw --bytes "+messageWord(args[1])))
		}
		o.params = raw
	}
	return nil
}

// isMessage reports whether params are a whole request.
func isMessage(params []byte) bool {
	members, _ := jsonraw.Object(params)
	_, hasVersion := members.Get("jsonrpc")
	_, hasMethod := members.Get("method")
	return hasVersion && hasMethod
}

// messageWord returns a message as a word of a command line; "@message.json" if it is long or may
// contain a secret.
func messageWord(message string) string {
	const longest = 200
	words := []string{message}
	if len(message) > longest || !slices.Equal(redact.RedactCommand(words), words) {
		return "@message.json"
	}
	return shellwords.Quote(message)
}

// runRaw sends the request, notification or bytes, and prints the response. It suggests a method
// for an unknown one.
func runRaw(ctx context.Context, f *cmdutil.Factory, o rawOptions) error {
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, OneAnswer: true, SkipNegotiation: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	call := client.Call{Method: o.method, Params: o.params, ID: RawID(o.id), Bare: o.bare, Once: true}
	if o.bytes != nil {
		out = c.Raw(ctx, o.bytes, o.bare)
	} else if o.notify {
		out = c.Notify(ctx, call)
	} else {
		out = c.Do(ctx, call)
	}
	if known := methodNames(); client.IsUnknownMethod(out) && !slices.Contains(known, o.method) {
		out.Hint = suggest.DidYouMean("%s", o.method, known, out.Hint)
	}
	if out.Kind == wire.BadResponse && out.Hint == "" {
		out.Hint = wire.Verbose(3, "the exact bytes and header fields")
	}
	err := showRaw(ctx, f, out)
	cmdutil.PrintExplanation(ctx, f, o.method)
	return err
}

// RawID returns the value of --id: valid JSON is used unchanged, other text becomes a JSON string,
// and "" is nil.
func RawID(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if jsonraw.Valid([]byte(text)) == nil {
		return json.RawMessage(text)
	}
	return jsonraw.Quote(text)
}

// showRaw prints the received bytes, even if they are invalid. With --json or --jq it prints the
// result, as other commands do.
func showRaw(ctx context.Context, f *cmdutil.Factory, out wire.Outcome) error {
	wantsResult := f.JSON || f.Jq != "" && !f.Wire // with --wire, --jq reads the whole message
	if wantsResult && out.Result != nil {
		return cmdutil.Show(ctx, f, out, cmdutil.AnswerOf(out))
	}
	f.Record.SetOutcome(out)
	var err error
	if raw := responseBytes(out); raw != nil {
		err = cmdutil.Print(
			ctx,
			f,
			cmdutil.Document(raw, func(w io.Writer, st term.Style) error { return render.JSON(w, st, raw) }),
		)
	}
	return cmdutil.Join(err, cmdutil.Exit(out))
}

// responseBytes returns the received message or HTTP body; nil if it is empty.
func responseBytes(out wire.Outcome) []byte {
	if out.Message != nil && len(out.Message.Raw) > 0 {
		return out.Message.Raw
	}
	if out.HTTP != nil && len(out.HTTP.Body) > 0 {
		return out.HTTP.Body
	}
	return nil
}

// completeMethod completes the method of mcpc raw.
func completeMethod(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmdutil.CompletedWords(methodNames(), typed), cmdutil.NoFiles
}

// methodNames returns the methods of the protocol.
func methodNames() []string {
	entries, _ := glossary.Read()
	var names []string
	for _, e := range entries {
		if e.Group == "methods" {
			names = append(names, e.Words...)
		}
	}
	return names
}
