package traffic

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/render/term"
	"mcpc/internal/render/traffic"
	"mcpc/internal/render/verdict"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// showOptions are the arguments of `mcpc show`.
type showOptions struct {
	word    string
	raw     bool
	headers bool
}

func NewShow(f *cmdutil.Factory) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show [NUMBER | last | FILE[#NUMBER]]",
		Short: "show one recorded exchange",
		Long: `Show a recorded exchange: its outcome, header fields and messages, events and
timing. The default is the last one.

A NUMBER is from mcpc log: 42.3 is the third exchange of run 42, and 42 its
requested operation, or for a tap or a proxy its last exchange. FILE is another
recording, as in mcpc log; - is stdin.

--explain adds a note to each part, and lists which rules of mcpc check were
broken in the exchange, as far as its recording shows; with --json as "check".`,
		Example: `  mcpc show
  mcpc show last --explain
  mcpc show --json --jq .response.result`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.New("show takes one number", recorded.OneWordHint("show", args))
			}
			if err := rejectServer(f); err != nil {
				return err
			}
			o.word = strings.Join(args, "")
			return showRow(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	f.AddMaxChars(flags)
	flags.BoolVar(&o.raw, "raw", false, "print the messages' raw bytes only")
	flags.BoolVar(&o.headers, "headers", false, "show header fields without bodies")
	return cmd
}

// showRow shows the exchange that o.word names as a view, as JSON, as raw bytes, or, with --explain,
// with notes. With --json, --explain adds the broken rules to the document.
func showRow(ctx context.Context, f *cmdutil.Factory, o showOptions) error {
	c, row, out := recorded.Pick(f, o.word)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer c.Close()
	recorded.WarnDamage(f, c)
	f.HideSecretsIn(c)
	if o.raw && !f.Explain {
		return showBytes(f, row)
	}
	exchange, err := row.Exchange()
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("reading "+row.Path(), err))
	}
	var findings []verdict.Finding
	if f.Explain {
		findings, err = findingsOf(row)
		if err != nil {
			return cmdutil.Exit(usage.LocalIO("reading "+row.Path(), err))
		}
	}
	switch {
	case f.Explain && exchange != nil && !f.PrintsJSON():
		explainRow(f, cmp.Or(o.word, "last"), exchange, findings)
	case o.raw:
		return showBytes(f, row)
	case f.OnlyWritesJSON(): // streamed: the document contains each message three times
		return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Answer{Write: func(w io.Writer) error {
			x := exchange
			exchange = nil // lets its memory be freed: frames are read again, one at a time
			return recorded.WriteExchange(w, row, x, findings)
		}})
	default:
		var ans cmdutil.Answer
		if f.JSON || f.Wire || f.Jq != "" || f.Output != "" || f.Shell != nil {
			var b bytes.Buffer
			_ = recorded.WriteExchange(&b, row, exchange, findings)
			ans = cmdutil.Document(bytes.TrimRight(b.Bytes(), "\n"), nil)
		}
		ans.Human = func(w io.Writer, st term.Style) error {
			return traffic.Show(w, st, traffic.View{
				Title:     recorded.Title(row),
				Facts:     recorded.Facts(row, f.Now()),
				Exchange:  exchange,
				Findings:  row.Findings,
				HeadsOnly: o.headers,
			})
		}
		return cmdutil.Show(ctx, f, wire.Outcome{}, ans)
	}
	return nil
}

// showBytes writes the recorded bytes, one message per line. At a terminal it escapes control
// characters.
func showBytes(f *cmdutil.Factory, row *rows.Row) error {
	err := row.EachFrame(func(frame wire.Frame) error {
		if frame.Raw == nil {
			return nil
		}
		line := frame.Raw
		if f.OutStyle.Terminal {
			line = []byte(f.OutStyle.Block(string(line)))
		}
		_, err := f.Stdout().Write(append(line, '\n'))
		return err
	})
	if err != nil {
		if printErr := f.StdoutError(); printErr != nil {
			return printErr
		}
		return cmdutil.Exit(usage.LocalIO("reading "+row.Path(), err))
	}
	return nil
}
