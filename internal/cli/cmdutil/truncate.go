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

// printTruncated writes at most --max-chars characters of the answer to standard output. It notes on
// standard error what is missing and how to get it.
func printTruncated(ctx context.Context, f *Factory, ans Answer) error {
	var cut render.Truncation
	var err error
	switch {
	case f.Jq != "":
		cut, err = printFilteredTruncated(ctx, f, ans)
	case f.JSON:
		cut, err = f.printTruncatedJSON(ans.Result, f.maxChars)
	default:
		cut, err = f.printTruncatedText(ans)
	}
	if errors.Is(err, render.ErrTooManyNames) {
		return usage.New(
			fmt.Sprintf("the result has %d characters and cannot be cut to %d: %s", cut.Whole, f.maxChars, err),
			f.restHint(ans),
		)
	}
	if err == nil && cut.Truncated() {
		rest, _ := f.ErrStyle.Hints.Text(f.restHint(ans))
		f.Note(cut.String() + "; " + rest)
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

// printTruncatedText writes at most --max-chars characters of the text for people. A text that is cut has
// no colours and pictures. Bytes that are not UTF-8 are escaped as for a terminal.
func (f *Factory) printTruncatedText(ans Answer) (render.Truncation, error) {
	st := f.OutStyle
	var b bytes.Buffer
	if err := ans.Human(&b, st); err != nil {
		return render.Truncation{}, err
	}
	if !utf8.Valid(b.Bytes()) {
		st.Terminal = true
	}
	if st.Terminal != f.OutStyle.Terminal || st.Color && utf8.RuneCount(b.Bytes()) > f.maxChars {
		st.Color = false
		b.Reset()
		if err := ans.Human(&b, st); err != nil {
			return render.Truncation{}, err
		}
	}
	text, cut := render.TruncateText(b.String(), f.maxChars)
	_, err := io.WriteString(f.Stdout(), text)
	return cut, err
}

// printFilteredTruncated runs the jq expression, and cuts its values so that together they fit.
func printFilteredTruncated(ctx context.Context, f *Factory, ans Answer) (all render.Truncation, err error) {
	program, err := jq.Compile(f.Jq)
	if err != nil {
		return all, usage.New("--jq: "+err.Error(), "")
	}
	values, err := program.Values(ctx, ans.Result)
	if err != nil {
		return all, filterError(ctx, err)
	}
	if lines, ok := joinTexts(values); ok {
		text, cut := render.TruncateText(lines, f.maxChars)
		_, err := io.WriteString(f.Stdout(), f.cleanText(text))
		return cut, err
	}
	left := f.maxChars
	for i, v := range values {
		cut := render.Truncation{Whole: utf8.RuneCount(v)}
		if text, ok := jsonraw.Text(v); ok && left > 0 {
			text, cut = render.TruncateText(text, left)
			_, err = fmt.Fprintln(f.Stdout(), strings.TrimSuffix(f.cleanText(text), "\n"))
		} else if left > 0 {
			cut, err = f.printTruncatedJSON(v, left)
		}
		if errors.Is(err, render.ErrTooManyNames) && i > 0 {
			left = 0 // the values before fit; the others are counted only
			err = nil
		} else if err != nil {
			all.Whole += cut.Whole
			return all, err
		}
		left -= cut.Shown
		all.Shown += cut.Shown
		all.Whole += cut.Whole
		all.Texts += cut.Texts
		all.Lists = append(all.Lists, cut.Lists...)
	}
	return all, nil
}

// joinTexts joins the values, one on a line. It returns false if one of them is not a string.
func joinTexts(values []json.RawMessage) (lines string, ok bool) {
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

// restHint says how to get the whole answer. The recording has it unless --jq changed it.
func (f *Factory) restHint(ans Answer) wire.Hint {
	if r := &f.Record; r.Ring != nil && r.Crossed.Load() && len(ans.Messages) == 1 && f.Jq == "" {
		if run := r.Run(); run > 0 {
			return wire.Run(fmt.Sprintf("show %d --json --jq .response.result", run)) + " has all of it"
		}
	}
	return "omit --max-chars, or use -o FILE"
}
