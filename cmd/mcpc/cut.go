package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// fewestChars is the least that an answer can be cut to and still say something.
const fewestChars = 100

// addCut declares --max-chars on a command that prints what a server sent.
func (a *app) addCut(f *pflag.FlagSet) {
	f.IntVar(&a.maxChars, "max-chars", 0, "print at most N characters of the result")
}

// checkCut refuses what cannot be done together.
func (a *app) checkCut() error {
	switch {
	case a.maxChars == 0:
		return nil
	case a.maxChars < fewestChars:
		return hinted(fmt.Sprintf("--max-chars must be %d or more, not %d", fewestChars, a.maxChars), "--max-chars 4000 is about 1000 tokens")
	case a.wire:
		return hinted("--wire prints messages unchanged, so it has no --max-chars", "use --json --max-chars")
	}
	return nil
}

// printCut writes an answer to standard output with no more than --max-chars
// characters, and says on standard error what is missing and where it is.
func (a *app) printCut(ctx context.Context, ans answer) error {
	var cut render.Cut
	var err error
	switch {
	case a.jq != "":
		cut, err = a.filterCut(ctx, ans)
	case a.json:
		cut, err = a.printJSONCut(ans.result, a.maxChars)
	default:
		cut, err = a.printTextCut(ans)
	}
	if errors.Is(err, render.ErrUncuttable) {
		return hinted(fmt.Sprintf("the result has %d characters and cannot be cut to %d: %s", cut.Whole, a.maxChars, err), a.rest(ans))
	}
	if err == nil && cut.Made() {
		rest, _ := a.errStyle.Aim.Hint(a.rest(ans))
		a.note(cut.String() + "; " + rest)
	}
	return err
}

func (a *app) printJSONCut(raw []byte, most int) (render.Cut, error) {
	short, cut, err := render.CutJSON(raw, most)
	if err != nil {
		return cut, err
	}
	return cut, render.JSON(a.stdout(), a.outStyle, short)
}

// printTextCut cuts what a person reads. Colours and pictures are left out of what
// is cut, and bytes that are no text are named as for a terminal.
func (a *app) printTextCut(ans answer) (render.Cut, error) {
	st := a.outStyle
	var b bytes.Buffer
	if err := ans.human(&b, st); err != nil {
		return render.Cut{}, err
	}
	if !utf8.Valid(b.Bytes()) {
		st.Terminal = true
	}
	if st.Terminal != a.outStyle.Terminal || st.Color && utf8.RuneCount(b.Bytes()) > a.maxChars {
		st.Color = false
		b.Reset()
		if err := ans.human(&b, st); err != nil {
			return render.Cut{}, err
		}
	}
	text, cut := render.CutText(b.String(), a.maxChars)
	_, err := io.WriteString(a.stdout(), text)
	return cut, err
}

// filterCut runs the jq expression, and cuts each value so that all of them fit.
func (a *app) filterCut(ctx context.Context, ans answer) (all render.Cut, err error) {
	program, err := render.Query(a.jq)
	if err != nil {
		return all, hinted("--jq: "+err.Error(), "")
	}
	values, err := program.Values(ctx, ans.result)
	if err != nil {
		return all, unfiltered(ctx, err)
	}
	if lines, ok := allTexts(values); ok {
		text, cut := render.CutText(lines, a.maxChars)
		_, err := io.WriteString(a.stdout(), a.shownText(text))
		return cut, err
	}
	left := a.maxChars
	for i, v := range values {
		cut := render.Cut{Whole: utf8.RuneCount(v)}
		if text, ok := wire.Text(v); ok && left > 0 {
			text, cut = render.CutText(text, left)
			_, err = fmt.Fprintln(a.stdout(), strings.TrimSuffix(a.shownText(text), "\n"))
		} else if left > 0 {
			cut, err = a.printJSONCut(v, left)
		}
		switch {
		case errors.Is(err, render.ErrUncuttable) && i > 0:
			left, err = 0, nil
		case err != nil:
			all.Whole += cut.Whole
			return all, err
		}
		left -= cut.Shown
		all.Shown, all.Whole, all.Texts, all.Lists = all.Shown+cut.Shown, all.Whole+cut.Whole, all.Texts+cut.Texts, append(all.Lists, cut.Lists...)
	}
	return all, nil
}

// allTexts joins values that are all texts, one on a line.
func allTexts(values []json.RawMessage) (lines string, ok bool) {
	var b strings.Builder
	for _, v := range values {
		text, ok := wire.Text(v)
		if !ok {
			return "", false
		}
		b.WriteString(text + "\n")
	}
	return b.String(), true
}

// shownText is a text for standard output: on a terminal nothing in it hides.
func (a *app) shownText(text string) string {
	if a.outStyle.Terminal {
		return a.outStyle.Block(text)
	}
	return text
}

// rest says how to get all of an answer. What was recorded needs no second call.
func (a *app) rest(ans answer) wire.Hint {
	if r := &a.record; r.ring != nil && r.crossed.Load() && len(ans.messages) == 1 && a.jq == "" {
		if run := r.Run(); run > 0 {
			return wire.Run(fmt.Sprintf("show %d --json --jq .response.result", run)) + " has all of it"
		}
	}
	return "omit --max-chars, or use -o FILE"
}
