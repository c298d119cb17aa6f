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

// fewestChars is the least that an answer can be cut to and still say something.
const fewestChars = 100

// printCut writes an answer to standard output with no more than --max-chars
// characters, and says on standard error what is missing and where it is.
func printCut(ctx context.Context, f *Factory, ans Answer) error {
	var cut render.Truncation
	var err error
	switch {
	case f.Jq != "":
		cut, err = filterCut(ctx, f, ans)
	case f.JSON:
		cut, err = f.printJSONCut(ans.Result, f.maxChars)
	default:
		cut, err = f.printTextCut(ans)
	}
	if errors.Is(err, render.ErrTooManyNames) {
		return usage.New(
			fmt.Sprintf("the result has %d characters and cannot be cut to %d: %s", cut.Whole, f.maxChars, err),
			f.rest(ans),
		)
	}
	if err == nil && cut.Truncated() {
		rest, _ := f.ErrStyle.Hints.Text(f.rest(ans))
		f.Note(cut.String() + "; " + rest)
	}
	return err
}

func (f *Factory) printJSONCut(raw []byte, most int) (render.Truncation, error) {
	short, cut, err := render.TruncateJSON(raw, most)
	if err != nil {
		return cut, err
	}
	return cut, render.JSON(f.Stdout(), f.OutStyle, short)
}

// printTextCut cuts what a person reads. Colours and pictures are left out of what
// is cut, and bytes that are no text are named as for a terminal.
func (f *Factory) printTextCut(ans Answer) (render.Truncation, error) {
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

// filterCut runs the jq expression, and cuts each value so that all of them fit.
func filterCut(ctx context.Context, f *Factory, ans Answer) (all render.Truncation, err error) {
	program, err := jq.Compile(f.Jq)
	if err != nil {
		return all, usage.New("--jq: "+err.Error(), "")
	}
	values, err := program.Values(ctx, ans.Result)
	if err != nil {
		return all, unfiltered(ctx, err)
	}
	if lines, ok := allTexts(values); ok {
		text, cut := render.TruncateText(lines, f.maxChars)
		_, err := io.WriteString(f.Stdout(), f.shownText(text))
		return cut, err
	}
	left := f.maxChars
	for i, v := range values {
		cut := render.Truncation{Whole: utf8.RuneCount(v)}
		if text, ok := jsonraw.Text(v); ok && left > 0 {
			text, cut = render.TruncateText(text, left)
			_, err = fmt.Fprintln(f.Stdout(), strings.TrimSuffix(f.shownText(text), "\n"))
		} else if left > 0 {
			cut, err = f.printJSONCut(v, left)
		}
		if errors.Is(err, render.ErrTooManyNames) && i > 0 {
			left = 0
			err = nil
		} else if err != nil {
			all.Whole += cut.Whole
			return all, err
		}
		left -= cut.Shown
		all.Shown, all.Whole, all.Texts, all.Lists = all.Shown+cut.Shown, all.Whole+cut.Whole, all.Texts+cut.Texts, append(
			all.Lists,
			cut.Lists...)
	}
	return all, nil
}

// allTexts joins values that are all texts, one on a line.
func allTexts(values []json.RawMessage) (lines string, ok bool) {
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

// shownText is a text for standard output: on a terminal nothing in it hides.
func (f *Factory) shownText(text string) string {
	if f.OutStyle.Terminal {
		return f.OutStyle.Block(text)
	}
	return text
}

// rest says how to get all of an answer. What was recorded needs no second call.
func (f *Factory) rest(ans Answer) wire.Hint {
	if r := &f.Record; r.Ring != nil && r.Crossed.Load() && len(ans.Messages) == 1 && f.Jq == "" {
		if run := r.Run(); run > 0 {
			return wire.Run(fmt.Sprintf("show %d --json --jq .response.result", run)) + " has all of it"
		}
	}
	return "omit --max-chars, or use -o FILE"
}
