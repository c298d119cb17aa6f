package render

import (
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
)

// joinParams joins the parameters in the given form with commas.
func joinParams(params []parameter, form int) string {
	texts := make([]string, len(params))
	for i, p := range params {
		texts[i] = p[form]
	}
	return strings.Join(texts, ", ")
}

// paramLines returns params in lines of width columns. It breaks no parameter.
func paramLines(params []parameter, width int) []string {
	var lines []string
	for i, p := range params {
		text := p[wholeForm]
		if i < len(params)-1 {
			text += ","
		}
		last := len(lines) - 1
		if last >= 0 && term.Width(lines[last])+1+term.Width(text) <= width {
			lines[last] += " " + text
		} else {
			lines = append(lines, text)
		}
	}
	return lines
}

// signature returns params in width columns: whole, without defaults, or the names alone. If the
// names do not fit, it returns as many as fit and the number of the others.
func signature(st term.Style, params []parameter, width int) string {
	for _, form := range []int{wholeForm, typedForm, nameForm} {
		if text := joinParams(params, form); term.Width(text) <= width {
			return text
		}
	}
	for n := len(params) - 1; n > 0; n-- {
		text := joinParams(params[:n], nameForm) + ", " + st.Ellipsis() + " +" + english.Plural(len(params)-n, "arg")
		if term.Width(text) <= width {
			return text
		}
	}
	return st.Cut(joinParams(params, nameForm), width)
}
