package cmdutil

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mcpc/internal/cli/console"
	"mcpc/internal/render"
	"mcpc/internal/render/jq"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// An Answer is what a command has to print, in the forms a user may ask for.
type Answer struct {
	Method string
	// Result is one JSON document. Messages are the JSON-RPC messages that it was received in.
	Result   json.RawMessage
	Messages []*wire.Message
	// Write writes a result that is too large to build in memory. It is nil if Result is set.
	Write func(w io.Writer) error
	// Human writes the result for people.
	Human func(w io.Writer, st term.Style) error
}

// Document returns the answer for a JSON document that is both the result and the only message.
func Document(raw json.RawMessage, human func(w io.Writer, st term.Style) error) Answer {
	return Answer{Result: raw, Messages: []*wire.Message{{Raw: raw}}, Human: human}
}

// AnswerOf returns the answer for the outcome of one request.
func AnswerOf(o wire.Outcome) Answer {
	ans := Answer{Method: o.Method, Result: o.Result}
	if o.Message != nil {
		ans.Messages = []*wire.Message{o.Message}
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		// A request for input is not a result of the method, so it is printed as JSON.
		if o.Kind == wire.InputRequired {
			return render.JSON(w, st, o.Result)
		}
		return render.Result(w, st, o.Method, o.Result)
	}
	return ans
}

// Show prints the answer if the outcome has one, explains the exchanges of these methods if
// --explain is set, and returns the outcome as an error. It prints before the connection is closed:
// the reader need not wait until the server has exited.
func Show(ctx context.Context, f *Factory, o wire.Outcome, ans Answer, methods ...string) error {
	f.Record.SetOutcome(o)
	var err error
	if f.HasAnswer(o) {
		err = Print(ctx, f, ans)
	}
	if len(methods) > 0 {
		PrintExplanation(ctx, f, methods...)
	}
	return Join(err, Exit(o))
}

// HasAnswer reports whether a command that ended with o prints a result. --wire also prints the
// message of a JSON-RPC error.
func (f *Factory) HasAnswer(o wire.Outcome) bool {
	switch o.Kind {
	case wire.OK, wire.ToolError, wire.OutputInvalid, wire.InputRequired, wire.CheckFailed:
		return true
	case wire.RPCFailed:
		return f.Wire
	}
	return false
}

// Print writes the answer to standard output or to the file of -o. It returns an ExitError for a
// failure to write it, and for an answer that cannot be printed as the flags want.
func Print(ctx context.Context, f *Factory, ans Answer) error {
	if f.Shell != nil && ans.Result != nil {
		f.Shell.StoreResult(ans.Result)
	}
	f.Progress.Done()
	err := printOrSave(ctx, f, ans)
	payload, isPayload := errors.AsType[*render.PayloadError](err)
	_, isExit := errors.AsType[*ExitError](err)
	if err == nil || f.StdoutError() != nil { // an answerWriter may have stored a failure
		return f.StdoutError()
	}
	if isExit { // it has an outcome already
		return err
	}
	if IsInterrupted(err) {
		return Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted", Reached: wire.Answered})
	}
	if IsUsage(err) {
		o := usage.Outcome(err)
		if f.IsConnected.Load() { // a script must not send the answered request again
			o.Reached = wire.Answered
			o.Phase = "output"
		}
		return Exit(o)
	}
	if isPayload { // -o has nothing to save
		o := wire.Outcome{Kind: wire.Usage, Text: payload.Text, Hint: payload.Hint, Phase: "output", Reached: wire.Answered}
		if payload.Broken {
			o.Kind = wire.BadResponse
		}
		return Exit(o)
	}
	return f.WriteError("writing the result", err)
}

// IsUsage reports whether err is an error of the command line.
func IsUsage(err error) bool {
	_, ok := errors.AsType[usage.Error](err)
	return ok
}

// IsInterrupted reports whether a --jq expression was interrupted. Some expressions never end.
func IsInterrupted(err error) bool { return errors.Is(err, context.Canceled) }

// filterError returns the error for a --jq expression that failed with err.
func filterError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Canceled
	}
	return usage.New("--jq: "+err.Error(), "the result was received: without --jq it is printed in full")
}

// printOrSave writes the answer. If the file of -o cannot be written, it prints the answer to
// standard output, so that it is not lost.
func printOrSave(ctx context.Context, f *Factory, ans Answer) error {
	if f.Output == "" {
		return printToStdout(ctx, f, ans)
	}
	save, err := fileContent(ctx, f, ans)
	if err != nil {
		return err
	}
	description := ""
	// If the process is killed after the file is written, the recording must have the response.
	f.Record.WriteWaiting()
	n, err := ReplaceBy(f.Output, func(w io.Writer) error {
		var err error
		description, err = save(w)
		return err
	})
	if err != nil {
		_ = writeAnswer(ctx, f, f.Stdout(), f.OutStyle, ans)
		return fmt.Errorf("%s: %w", f.Output, usage.Bare(err))
	}
	if description == "" {
		description = fmt.Sprintf("%d bytes", n)
	}
	f.Note(fmt.Sprintf("%s saved to %s", description, f.Output))
	if f.PrintsJSON() || ans.Result == nil { // JSON has all of the result
		return nil
	}
	if unsaved := render.Unsaved(ans.Method, ans.Result); unsaved != "" {
		f.Note("not saved: " + unsaved + "; --json -o FILE saves all of it")
	}
	return nil
}

// printToStdout writes the answer to standard output: cut, through a pager, or with pictures on a
// terminal. An answer with pictures is not paged.
func printToStdout(ctx context.Context, f *Factory, ans Answer) error {
	if f.maxChars > 0 {
		return printTruncated(ctx, f, ans)
	}
	st := f.OutStyle
	canShowPictures := f.ShowsTables() && st.Terminal && st.Color
	if canShowPictures && render.HasPictures(ans.Method, ans.Result) {
		st.Canvas = f.Canvas(ctx) // asks the terminal
	}
	wasAsked := st.Canvas != (term.Canvas{})
	if ctx.Err() != nil && wasAsked { // the user interrupted the wait for the terminal
		return Exit(f.MarkAnswered(wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
	}
	if f.Pager() == nil || st.Canvas.Method != term.NoPictures {
		return writeAnswer(ctx, f, f.Stdout(), st, ans)
	}
	var b bytes.Buffer
	if err := writeAnswer(ctx, f, &b, st, ans); err != nil {
		_ = f.WritePaged(b.Bytes()) // what --jq printed before it failed
		return err
	}
	return f.WritePaged(b.Bytes())
}

// fileContent returns a function that writes what -o saves: JSON if JSON was requested, otherwise
// the content of the result, such as the bytes of an image. The function returns a description of
// what it saved, or "" if its size says enough.
func fileContent(
	ctx context.Context,
	f *Factory,
	ans Answer,
) (save func(io.Writer) (what string, err error), err error) {
	st := term.Style{Width: 80}
	if f.Jq == "" && f.JSON && ans.Result != nil {
		return func(w io.Writer) (string, error) { return "", writeAnswer(ctx, f, w, st, ans) }, nil
	}
	if f.PrintsJSON() || ans.Result == nil {
		var b bytes.Buffer // a --jq expression that fails must not create the file
		err := writeAnswer(ctx, f, &b, st, ans)
		return func(w io.Writer) (string, error) {
			_, err := b.WriteTo(w)
			return "", err
		}, err
	}
	return render.Payload(ans.Method, ans.Result)
}

// writeAnswer writes the answer to w in the form that the flags select.
func writeAnswer(ctx context.Context, f *Factory, w io.Writer, st term.Style, ans Answer) error {
	switch {
	case f.Jq != "":
		return applyJQ(ctx, f, w, st, ans)
	case f.Wire:
		for _, m := range ans.Messages {
			if err := render.JSON(w, st, m.Raw); err != nil {
				return err
			}
		}
		return nil
	case ans.Write != nil:
		return ans.Write(w)
	case f.JSON:
		return render.JSON(w, st, ans.Result)
	default:
		return ans.Human(w, st)
	}
}

// OnlyWritesJSON reports whether the result is written as received, and is neither saved, cut,
// filtered nor shown on a terminal.
func (f *Factory) OnlyWritesJSON() bool {
	isWhole := !f.Wire && f.Jq == "" && f.maxChars == 0
	isKept := f.Output != "" || f.Shell != nil
	return f.JSON && isWhole && !isKept && !f.OutStyle.Terminal
}

// applyJQ prints what the --jq expression yields for the result, or with --wire for each message.
func applyJQ(ctx context.Context, f *Factory, w io.Writer, st term.Style, ans Answer) error {
	program, err := jq.Compile(f.Jq)
	if err != nil {
		return usage.New("--jq: "+err.Error(), "")
	}
	inputs := [][]byte{ans.Result}
	if f.Wire {
		inputs = inputs[:0]
		for _, m := range ans.Messages {
			inputs = append(inputs, m.Raw)
		}
	}
	for _, raw := range inputs {
		if err := program.Print(ctx, w, st, raw); err != nil {
			return filterError(ctx, err)
		}
	}
	return nil
}

// PrintsJSON reports whether the output is JSON, whole or filtered. Otherwise it is for people:
// ShowsTables returns the opposite.
func (f *Factory) PrintsJSON() bool { return f.JSON || f.Wire || f.Jq != "" }

// WriteOut calls write once, with the file of -o or with standard output. If standard output is a
// terminal, it removes control sequences.
func (f *Factory) WriteOut(write func(io.Writer) error) error {
	f.Progress.Done()
	if f.Output != "" {
		f.Record.WriteWaiting()
		n, err := ReplaceBy(f.Output, write)
		if err == nil {
			f.Note(fmt.Sprintf("%d bytes saved to %s", n, f.Output))
		}
		return err
	}
	if !f.OutStyle.Terminal {
		return write(f.Stdout())
	}
	clean := f.OutStyle.Sanitizer(f.Stdout())
	if err := write(clean); err != nil {
		return err
	}
	return clean.Close()
}

// PrintLine writes one JSON document of a stream on a line, or what --jq yields for it.
func PrintLine(ctx context.Context, f *Factory, raw json.RawMessage) error {
	return f.LineError(TryLine(ctx, f, raw))
}

// TryLine writes one JSON document of a stream on a line, or what --jq yields for it. It returns
// the plain error: a caller that continues after a failed --jq expression passes the last one to
// LineError.
func TryLine(ctx context.Context, f *Factory, raw json.RawMessage) error {
	if f.Jq != "" {
		return applyJQ(ctx, f, f.Stdout(), f.OutStyle, Document(raw, nil))
	}
	return render.JSONLine(f.Stdout(), f.OutStyle, raw)
}

// LineError turns an error of TryLine into the ExitError of a command. It returns nil if nothing
// failed.
func (f *Factory) LineError(err error) error {
	if err == nil || f.StdoutError() != nil {
		return f.StdoutError()
	}
	if IsInterrupted(err) {
		return Exit(f.MarkAnswered(wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
	}
	if IsUsage(err) {
		return Exit(usage.Outcome(err))
	}
	return f.WriteError("writing the result", err)
}

// Stdout returns the writer for a command's answer. All other output goes to Stderr.
func (f *Factory) Stdout() io.Writer { return &answerWriter{f, f.Progress.Wrap(f.Out)} }

// answerWriter writes the answer after the recording has written the frames that the answer was
// made from. It stores the first failure to write: a full disk must not look like success, and a
// reader that is gone ends the command quietly.
type answerWriter struct {
	f *Factory
	w io.Writer
}

func (w *answerWriter) Write(b []byte) (int, error) {
	w.f.Record.WriteWaiting()
	n, err := w.w.Write(b)
	if console.IsBrokenPipe(err) {
		_ = w.f.storeWriteFailure(stdoutClosed)
	} else if err != nil {
		_ = w.f.storeWriteFailure(w.f.MarkAnswered(usage.LocalIO("writing the result", err)))
	}
	return n, err
}

// WritePaged writes text to standard output, through a pager if it is longer than the screen.
func (f *Factory) WritePaged(text []byte) error {
	if f.ShowPaged(text) {
		return nil
	}
	_, err := f.Stdout().Write(text)
	return err
}
