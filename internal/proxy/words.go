package proxy

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// words reads the words of a rule. Blanks within quotes, and within the slashes of a regular
// expression, end no word.
type words struct {
	source string
	line   int
	text   string
	at     int
	// wordAt is where the last word began.
	wordAt int
	// column is that of the text's first character.
	column int
}

// next is the next word, "" at the end.
func (w *words) next() string {
	w.blanks()
	w.wordAt = w.at
	w.at += len(wordIn(w.text[w.at:]))
	return w.text[w.wordAt:w.at]
}

// wordIn is the word with which a text begins.
func wordIn(text string) string {
	var end byte // of the quotes or slashes that are open
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case end != 0 && c == '\\':
			i++
		case end != 0:
			if c == end {
				end = 0
			}
		case c == '"':
			end = c
		case c == '/' && i > 0 && text[i-1] == '~':
			end = c
		case c == ' ' || c == '\t':
			return text[:i]
		}
	}
	return text
}

func (w *words) blanks() { w.at = len(w.text) - len(strings.TrimLeft(w.text[w.at:], " \t")) }

// peek is the next word, which stays.
func (w *words) peek() string {
	ahead := *w
	return ahead.next()
}

// rest is what follows the last word.
func (w *words) rest() string {
	w.blanks()
	w.wordAt = w.at
	w.at = len(w.text)
	return strings.TrimRight(w.text[w.wordAt:], " \t")
}

// wrong is an error about the last word.
func (w *words) wrong(text string) error { return w.wrongAt(w.wordAt, text) }

func (w *words) wrongAt(at int, text string) error {
	return &RuleError{Source: w.source, Line: w.line, Column: w.column + utf8.RuneCountInString(w.text[:at]), Text: text}
}

func (w *words) number(what string) (int64, error) {
	word := w.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return 0, w.wrong(what + " must be a number, not " + shown(word))
	}
	return n, nil
}

func (w *words) duration(what string) (time.Duration, error) {
	word := w.next()
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		return 0, w.wrong(what + " must be a time such as 500ms or 2s, not " + shown(word))
	}
	return d, nil
}

// textToEnd is a word without its quotes, or all that follows where it has none.
func (w *words) textToEnd() (string, error) {
	text := w.rest()
	if text == "" {
		return "", w.wrong("the text is missing")
	}
	if quoted, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		return quoted, nil
	}
	return text, nil
}

func shown(word string) string {
	if word == "" {
		return "nothing"
	}
	return strconv.Quote(word)
}
