package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// An answer is what a command has to print, in the forms a user may ask for.
type answer struct {
	method string
	// result is one JSON document; messages are the JSON-RPC messages it came in.
	result   json.RawMessage
	messages []*wire.Message
	// write writes a result that is never made; nil where there is result.
	write func(w io.Writer) error
	// human writes what a person reads.
	human func(w io.Writer, st render.Style) error
}

// document is the answer that is one JSON document and the only message.
func document(raw json.RawMessage, human func(w io.Writer, st render.Style) error) answer {
	return answer{result: raw, messages: []*wire.Message{{Raw: raw}}, human: human}
}

// answerOf is the answer of a plain request.
func answerOf(o wire.Outcome) answer {
	ans := answer{method: o.Method, result: o.Result}
	if o.Message != nil {
		ans.messages = []*wire.Message{o.Message}
	}
	ans.human = func(w io.Writer, st render.Style) error {
		// What a server asks is shown whole; a result of that method it is not.
		if o.Kind == wire.InputRequired {
			return render.JSON(w, st, o.Result)
		}
		return render.Result(w, st, o.Method, o.Result)
	}
	return ans
}

// show prints an answer where there is one, then says how the command ended.
// The answer comes first: whoever reads it need not wait for a server's
// shutdown.
func (a *app) show(ctx context.Context, o wire.Outcome, ans answer) {
	if a.hasAnswer(o) {
		a.print(ctx, ans)
	}
	a.endAlso(o)
}

// hasAnswer follows the table of exit codes: these endings have a result, and
// --wire shows any message that came.
func (a *app) hasAnswer(o wire.Outcome) bool {
	switch o.Kind {
	case wire.OK, wire.ToolError, wire.OutputInvalid, wire.InputRequired, wire.CheckFailed:
		return true
	case wire.RPCFailed:
		return a.wire
	}
	return false
}

// print writes an answer to where it was asked for. That it could not be
// written is an ending of its own.
func (a *app) print(ctx context.Context, ans answer) {
	if a.shell != nil && ans.result != nil {
		a.shell.answered(ans.result)
	}
	a.progress.Done()
	err := a.tryPrint(ctx, ans)
	payload, isPayload := errors.AsType[*render.PayloadError](err)
	switch {
	case err == nil || a.ending.Kind != wire.OK:
	case isStopped(err):
		a.end(wire.Outcome{Kind: wire.Signal, Text: "interrupted", Reached: wire.Answered})
	case isUsage(err):
		o := usage(err)
		if a.talking.Load() {
			o.Reached, o.Phase = wire.Answered, "output"
		}
		a.end(o)
	case isPayload:
		a.end(unsaved(payload))
	default:
		a.end(a.unwritten(err))
	}
}

// unsaved is the ending of -o where the result holds nothing that can be saved.
func unsaved(failed *render.PayloadError) wire.Outcome {
	o := wire.Outcome{Kind: wire.Usage, Text: failed.Text, Hint: failed.Hint, Phase: "output", Reached: wire.Answered}
	if failed.Broken {
		o.Kind = wire.BadResponse
	}
	return o
}

func isUsage(err error) bool {
	_, ok := errors.AsType[hintedError](err)
	return ok
}

// isStopped reports whether an expression of --jq was interrupted: not every one has
// an end.
func isStopped(err error) bool { return errors.Is(err, context.Canceled) }

// unfiltered is the error of an expression of --jq that failed.
func unfiltered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Canceled
	}
	return hinted("--jq: "+err.Error(), "the result was received: without --jq it is printed in full")
}

func (a *app) tryPrint(ctx context.Context, ans answer) error {
	if a.output == "" {
		return a.printOut(ctx, ans)
	}
	var b bytes.Buffer
	what, err := a.fileContent(ctx, &b, ans)
	if err != nil {
		return err
	}
	if err := replaceFile(a.output, b.Bytes()); err != nil {
		// The answer must not be lost with the file.
		_ = a.printTo(ctx, a.stdout(), a.outStyle, ans)
		return fmt.Errorf("%s: %w", a.output, bare(err))
	}
	a.note(fmt.Sprintf("%s saved to %s", what, a.output))
	if a.json || a.wire || a.jq != "" || ans.result == nil {
		return nil
	}
	if left := render.Unsaved(ans.method, ans.result); left != "" {
		a.note("not saved: " + left + "; --json -o FILE saves all of it")
	}
	return nil
}

// printOut writes an answer to standard output. A terminal gets its pictures, or a
// pager where it is long; the pixels of a picture are nothing for a pager.
func (a *app) printOut(ctx context.Context, ans answer) error {
	if a.maxChars > 0 {
		return a.printCut(ctx, ans)
	}
	st := a.outStyle
	plain := !a.json && !a.wire && a.jq == ""
	if plain && st.Terminal && st.Color && render.HasPictures(ans.method, ans.result) {
		st.Canvas = a.canvas(ctx)
	}
	if ctx.Err() != nil && st.Canvas != (render.Canvas{}) {
		a.end(a.afterwards(wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
		return nil
	}
	if a.pager() == nil || st.Canvas.By != render.NoPictures {
		return a.printTo(ctx, a.stdout(), st, ans)
	}
	var b bytes.Buffer
	err := a.printTo(ctx, &b, st, ans)
	return cmp.Or(err, a.writePaged(b.Bytes()))
}

// fileContent is what -o saves: JSON where JSON was asked for, else what the
// answer is made of, an image as its bytes.
func (a *app) fileContent(ctx context.Context, b *bytes.Buffer, ans answer) (what string, err error) {
	if a.json || a.wire || a.jq != "" || ans.result == nil {
		err := a.printTo(ctx, b, render.Style{Width: 80}, ans)
		return fmt.Sprintf("%d bytes", b.Len()), err
	}
	data, what, err := render.Payload(ans.method, ans.result)
	b.Write(data)
	return what, err
}

func (a *app) printTo(ctx context.Context, w io.Writer, st render.Style, ans answer) error {
	switch {
	case a.jq != "":
		return a.filter(ctx, w, st, ans)
	case a.wire:
		for _, m := range ans.messages {
			if err := render.JSON(w, st, m.Raw); err != nil {
				return err
			}
		}
		return nil
	case ans.write != nil:
		return ans.write(w)
	case a.json:
		return render.JSON(w, st, ans.result)
	default:
		return ans.human(w, st)
	}
}

// onlyWritesJSON reports that an answer's JSON is written as it came, and nothing else
// is asked of it.
func (a *app) onlyWritesJSON() bool {
	return a.json && !a.wire && a.jq == "" && a.output == "" && a.maxChars == 0 && a.shell == nil && !a.outStyle.Terminal
}

// filter runs the jq expression over the result, or with --wire over each
// message.
func (a *app) filter(ctx context.Context, w io.Writer, st render.Style, ans answer) error {
	program, err := render.Query(a.jq)
	if err != nil {
		return hinted("--jq: "+err.Error(), "")
	}
	inputs := [][]byte{ans.result}
	if a.wire {
		inputs = inputs[:0]
		for _, m := range ans.messages {
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
