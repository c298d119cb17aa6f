package cmdutil

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/jq"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// minChars is the smallest --max-chars: a shorter text says too little.
const minChars = 100

// printTruncated writes at most --max-chars characters of the answer to standard output. It notes
// on standard error what is missing and how to get it.
func printTruncated(ctx context.Context, f *Factory, ans Answer) error {
	var truncation render.Truncation
	var err error
	if f.Jq != "" {
		truncation, err = printFilteredTruncated(ctx, f, ans)
	} else if f.JSON {
		truncation, err = f.printTruncatedJSON(ans.Result, f.maxChars)
	} else {
		truncation, err = f.printTruncatedText(ans)
	}
	if errors.Is(err, render.ErrTooManyNames) {
		return usage.New(
			fmt.Sprintf("the result has %d characters and cannot be cut to %d: %s", truncation.Whole, f.maxChars, err),
			f.wholeAnswerHint(ans),
		)
	}
	if err == nil && truncation.Truncated() {
		hint, _ := f.ErrStyle.Hints.Text(f.wholeAnswerHint(ans))
		f.Note(truncation.String() + "; " + hint)
	}
	return err
}

// printTruncatedJSON writes at most limit characters of a JSON text.
func (f *Factory) printTruncatedJSON(raw []byte, limit int) (render.Truncation, error) {
	short, cut, err := render.TruncateJSON(raw, limit)
	if err != nil {
		return cut, err
	}
	return cut, render.JSON(f.Stdout(), f.OutStyle, short)
}

// printTruncatedText writes at most --max-chars characters of the text for people. A text that is
// cut has no colours and pictures. Bytes that are not UTF-8 are escaped as for a terminal.
func (f *Factory) printTruncatedText(ans Answer) (render.Truncation, error) {
	st := f.OutStyle
	var b bytes.Buffer
	if err := ans.Human(&b, st); err != nil {
		return render.Truncation{}, err
	}
	mustEscape := !st.Terminal && !utf8.Valid(b.Bytes())
	mustDropColors := st.Color && utf8.RuneCount(b.Bytes()) > f.maxChars
	if mustEscape || mustDropColors {
		st.Terminal = st.Terminal || mustEscape // for a terminal, such bytes are escaped
		st.Color = false
		b.Reset()
		if err := ans.Human(&b, st); err != nil {
			return render.Truncation{}, err
		}
	}
	text, truncation := render.TruncateText(b.String(), f.maxChars)
	_, err := io.WriteString(f.Stdout(), text)
	return truncation, err
}

// printFilteredTruncated runs the jq expression and prints its values, cut so that their total
// fits. It returns the sum of what was cut.
func printFilteredTruncated(ctx context.Context, f *Factory, ans Answer) (render.Truncation, error) {
	var total render.Truncation
	program, err := jq.Compile(f.Jq)
	if err != nil {
		return total, usage.New("--jq: "+err.Error(), "")
	}
	values, err := program.Values(ctx, ans.Result)
	if err != nil {
		return total, filterError(ctx, err)
	}
	if lines, ok := joinTexts(values); ok {
		text, truncation := render.TruncateText(lines, f.maxChars)
		_, err := io.WriteString(f.Stdout(), f.cleanText(text))
		return truncation, err
	}
	remaining := f.maxChars
	for i, value := range values {
		// Once nothing remains, the other values are counted only.
		truncation := render.Truncation{Whole: utf8.RuneCount(value)}
		if remaining > 0 {
			truncation, err = f.printTruncatedValue(value, remaining)
		}
		if errors.Is(err, render.ErrTooManyNames) && i > 0 {
			remaining = 0 // this value does not fit; what was printed stays, and the rest is counted
			err = nil
		} else if err != nil {
			total.Whole += truncation.Whole
			return total, err
		}
		remaining -= truncation.Shown
		total.Shown += truncation.Shown
		total.Whole += truncation.Whole
		total.Texts += truncation.Texts
		total.Lists = append(total.Lists, truncation.Lists...)
	}
	return total, nil
}

// printTruncatedValue prints at most limit characters of a value: a string without quotes, any
// other value as JSON.
func (f *Factory) printTruncatedValue(value json.RawMessage, limit int) (render.Truncation, error) {
	text, isText := jsonraw.Text(value)
	if !isText {
		return f.printTruncatedJSON(value, limit)
	}
	text, truncation := render.TruncateText(text, limit)
	_, err := fmt.Fprintln(f.Stdout(), strings.TrimSuffix(f.cleanText(text), "\n"))
	return truncation, err
}

// joinTexts joins the values, one on a line. It returns false if a value is not a string.
func joinTexts(values []json.RawMessage) (string, bool) {
	var b strings.Builder
	for _, v := range values {
		text, ok := jsonraw.Text(v)
		if !ok {
			return "", false
		}
		b.WriteString(text + "\n")
	}
	return b.String(), true
}

// cleanText returns text as standard output shows it: for a terminal without control characters.
func (f *Factory) cleanText(text string) string {
	if f.OutStyle.Terminal {
		return f.OutStyle.Block(text)
	}
	return text
}

// wholeAnswerHint says how to get the whole answer. The recording has it unless it was built from
// several messages or --jq changed it.
func (f *Factory) wholeAnswerHint(ans Answer) wire.Hint {
	record := &f.Record
	isRecorded := record.Ring != nil && record.HasTraffic.Load()
	if isRecorded && len(ans.Messages) == 1 && f.Jq == "" {
		if run := record.Run(); run > 0 {
			return wire.Run(fmt.Sprintf("show %d --json --jq .response.result", run)) + " has all of it"
		}
	}
	return "omit --max-chars, or use -o FILE"
}
