package cmdutil

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mcpc/internal/render"
	"mcpc/internal/render/jq"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// An Answer is what a command has to print, in the forms a user may ask for.
type Answer struct {
	Method string
	// Result is one JSON document; messages are the JSON-RPC messages it came in.
	Result   json.RawMessage
	Messages []*wire.Message
	// Write writes a result that is never made; nil where there is result.
	Write func(w io.Writer) error
	// Human writes what a person reads.
	Human func(w io.Writer, st term.Style) error
}

// Document is the answer that is one JSON document and the only message.
func Document(raw json.RawMessage, human func(w io.Writer, st term.Style) error) Answer {
	return Answer{Result: raw, Messages: []*wire.Message{{Raw: raw}}, Human: human}
}

// AnswerOf is the answer of a plain request.
func AnswerOf(o wire.Outcome) Answer {
	ans := Answer{Method: o.Method, Result: o.Result}
	if o.Message != nil {
		ans.Messages = []*wire.Message{o.Message}
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		// What a server asks is shown whole; a result of that method it is not.
		if o.Kind == wire.InputRequired {
			return render.JSON(w, st, o.Result)
		}
		return render.Result(w, st, o.Method, o.Result)
	}
	return ans
}

// Show prints an answer where there is one, explains the exchanges of these methods where
// that was asked for, and returns how the command ended. The answer comes first: its reader
// need not wait for a server's shutdown.
func Show(ctx context.Context, a *Factory, o wire.Outcome, ans Answer, methods ...string) (err error) {
	a.Record.About(o)
	if HasAnswer(a, o) {
		err = Print(ctx, a, ans)
	}
	if len(methods) > 0 {
		Explained(ctx, a, methods...)
	}
	return Join(err, Exit(o))
}

// HasAnswer follows the table of exit codes: these endings have a result, and
// --wire shows any message that came.
func HasAnswer(a *Factory, o wire.Outcome) bool {
	switch o.Kind {
	case wire.OK, wire.ToolError, wire.OutputInvalid, wire.InputRequired, wire.CheckFailed:
		return true
	case wire.RPCFailed:
		return a.Wire
	}
	return false
}

// Print writes an answer to where it was asked for. That it could not be
// written is an ending of its own.
func Print(ctx context.Context, a *Factory, ans Answer) error {
	if a.Shell != nil && ans.Result != nil {
		a.Shell.Answered(ans.Result)
	}
	a.Progress.Done()
	err := tryPrint(ctx, a, ans)
	payload, isPayload := errors.AsType[*render.PayloadError](err)
	_, isEnding := errors.AsType[*ExitError](err)
	switch {
	case err == nil || Lost(a) != nil:
		return Lost(a)
	case isEnding:
		return err
	case IsStopped(err):
		return Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted", Reached: wire.Answered})
	case IsUsage(err):
		o := usage.Outcome(err)
		if a.Talking.Load() {
			o.Reached, o.Phase = wire.Answered, "output"
		}
		return Exit(o)
	case isPayload:
		return Exit(unsaved(payload))
	}
	return Unwritten(a, "writing the result", err)
}

// unsaved is the ending of -o where the result holds nothing that can be saved.
func unsaved(failed *render.PayloadError) wire.Outcome {
	o := wire.Outcome{Kind: wire.Usage, Text: failed.Text, Hint: failed.Hint, Phase: "output", Reached: wire.Answered}
	if failed.Broken {
		o.Kind = wire.BadResponse
	}
	return o
}

func IsUsage(err error) bool {
	_, ok := errors.AsType[usage.Error](err)
	return ok
}

// IsStopped reports whether an expression of --jq was interrupted: not every one has
// an end.
func IsStopped(err error) bool { return errors.Is(err, context.Canceled) }

// unfiltered is the error of an expression of --jq that failed.
func unfiltered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Canceled
	}
	return usage.New("--jq: "+err.Error(), "the result was received: without --jq it is printed in full")
}

func tryPrint(ctx context.Context, a *Factory, ans Answer) error {
	if a.Output == "" {
		return printOut(ctx, a, ans)
	}
	var b bytes.Buffer
	what, err := fileContent(ctx, a, &b, ans)
	if err != nil {
		return err
	}
	if err := ReplaceFile(a.Output, b.Bytes()); err != nil {
		// The answer must not be lost with the file.
		_ = printTo(ctx, a, a.Stdout(), a.OutStyle, ans)
		return fmt.Errorf("%s: %w", a.Output, usage.Bare(err))
	}
	a.Note(fmt.Sprintf("%s saved to %s", what, a.Output))
	if a.JSON || a.Wire || a.Jq != "" || ans.Result == nil {
		return nil
	}
	if left := render.Unsaved(ans.Method, ans.Result); left != "" {
		a.Note("not saved: " + left + "; --json -o FILE saves all of it")
	}
	return nil
}

// printOut writes an answer to standard output. A terminal gets its pictures, or a
// pager where it is long; the pixels of a picture are nothing for a pager.
func printOut(ctx context.Context, a *Factory, ans Answer) error {
	if a.maxChars > 0 {
		return printCut(ctx, a, ans)
	}
	st := a.OutStyle
	plain := !a.JSON && !a.Wire && a.Jq == ""
	if plain && st.Terminal && st.Color && render.HasPictures(ans.Method, ans.Result) {
		st.Canvas = canvas(ctx, a)
	}
	if ctx.Err() != nil && st.Canvas != (term.Canvas{}) {
		return Exit(Afterwards(a, wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
	}
	if pager(a) == nil || st.Canvas.By != term.NoPictures {
		return printTo(ctx, a, a.Stdout(), st, ans)
	}
	var b bytes.Buffer
	err := printTo(ctx, a, &b, st, ans)
	return cmp.Or(err, WritePaged(a, b.Bytes()))
}

// fileContent is what -o saves: JSON where JSON was asked for, else what the
// answer is made of, an image as its bytes.
func fileContent(ctx context.Context, a *Factory, b *bytes.Buffer, ans Answer) (what string, err error) {
	if a.JSON || a.Wire || a.Jq != "" || ans.Result == nil {
		err := printTo(ctx, a, b, term.Style{Width: 80}, ans)
		return fmt.Sprintf("%d bytes", b.Len()), err
	}
	data, what, err := render.Payload(ans.Method, ans.Result)
	b.Write(data)
	return what, err
}

func printTo(ctx context.Context, a *Factory, w io.Writer, st term.Style, ans Answer) error {
	switch {
	case a.Jq != "":
		return applyJQ(ctx, a, w, st, ans)
	case a.Wire:
		for _, m := range ans.Messages {
			if err := render.JSON(w, st, m.Raw); err != nil {
				return err
			}
		}
		return nil
	case ans.Write != nil:
		return ans.Write(w)
	case a.JSON:
		return render.JSON(w, st, ans.Result)
	default:
		return ans.Human(w, st)
	}
}

// OnlyWritesJSON reports that an answer's JSON is written as it came, and nothing else
// is asked of it.
func OnlyWritesJSON(a *Factory) bool {
	return a.JSON && !a.Wire && a.Jq == "" && a.Output == "" && a.maxChars == 0 && a.Shell == nil && !a.OutStyle.Terminal
}

// applyJQ runs the jq expression over the result, or with --wire over each
// message.
func applyJQ(ctx context.Context, a *Factory, w io.Writer, st term.Style, ans Answer) error {
	program, err := jq.Compile(a.Jq)
	if err != nil {
		return usage.New("--jq: "+err.Error(), "")
	}
	inputs := [][]byte{ans.Result}
	if a.Wire {
		inputs = inputs[:0]
		for _, m := range ans.Messages {
			inputs = append(inputs, m.Raw)
		}
	}
	for _, raw := range inputs {
		if err := program.Print(ctx, w, st, raw); err != nil {
			return unfiltered(ctx, err)
		}
	}
	return nil
}

// OneDocument reports whether JSON was asked for, whole or filtered.
func OneDocument(a *Factory) bool { return a.JSON || a.Wire || a.Jq != "" }
