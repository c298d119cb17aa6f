package proxy

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// words reads the words of a rule. Blanks within quotes, and within the slashes of a regular
// expression, end no word.
type ruleScanner struct {
	source string
	line   int
	text   string
	offset int
	// wordAt is where the last word began.
	wordOffset int
	// column is that of the text's first character.
	column int
}

// next is the next word, "" at the end.
func (w *ruleScanner) next() string {
	w.skipBlanks()
	w.wordOffset = w.offset
	w.offset += len(firstWord(w.text[w.offset:]))
	return w.text[w.wordOffset:w.offset]
}

// wordIn is the word with which a text begins.
func firstWord(text string) string {
	var closing byte // of the quotes or slashes that are open
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case closing != 0 && c == '\\':
			i++
		case closing != 0:
			if c == closing {
				closing = 0
			}
		case c == '"':
			closing = c
		case c == '/' && i > 0 && text[i-1] == '~':
			closing = c
		case c == ' ' || c == '\t':
			return text[:i]
		}
	}
	return text
}

func (w *ruleScanner) skipBlanks() {
	w.offset = len(w.text) - len(strings.TrimLeft(w.text[w.offset:], " \t"))
}

// peek is the next word, which stays.
func (w *ruleScanner) peek() string {
	ahead := *w
	return ahead.next()
}

// rest is what follows the last word.
func (w *ruleScanner) rest() string {
	w.skipBlanks()
	w.wordOffset = w.offset
	w.offset = len(w.text)
	return strings.TrimRight(w.text[w.wordOffset:], " \t")
}

// wrong is an error about the last word.
func (w *ruleScanner) errorHere(text string) error { return w.errorAt(w.wordOffset, text) }

func (w *ruleScanner) errorAt(at int, text string) error {
	return &RuleError{Source: w.source, Line: w.line, Column: w.column + utf8.RuneCountInString(w.text[:at]), Text: text}
}

func (w *ruleScanner) number(what string) (int64, error) {
	word := w.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return 0, w.errorHere(what + " must be a number, not " + quoteWord(word))
	}
	return n, nil
}

func (w *ruleScanner) duration(what string) (time.Duration, error) {
	word := w.next()
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		return 0, w.errorHere(what + " must be a time such as 500ms or 2s, not " + quoteWord(word))
	}
	return d, nil
}

// textToEnd is a word without its quotes, or all that follows where it has none.
func (w *ruleScanner) textToEnd() (string, error) {
	text := w.rest()
	if text == "" {
		return "", w.errorHere("the text is missing")
	}
	if quoted, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		return quoted, nil
	}
	return text, nil
}

func quoteWord(word string) string {
	if word == "" {
		return "nothing"
	}
	return strconv.Quote(word)
}
