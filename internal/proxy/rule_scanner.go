package proxy

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A ruleScanner splits a rule into words. Blanks inside quotes, or inside the slashes of a regular
// expression, do not separate words.
type ruleScanner struct {
	source string
	line   int
	text   string
	offset int // of the next byte to read, in text
	// wordOffset is where the last word begins in text.
	wordOffset int
	// column is the column of the first character of text in its line.
	column int
}

// next returns the next word, or "" at the end.
func (w *ruleScanner) next() string {
	w.skipBlanks()
	w.wordOffset = w.offset
	w.offset += len(firstWord(w.text[w.offset:]))
	return w.text[w.wordOffset:w.offset]
}

// firstWord returns the word at the beginning of text.
func firstWord(text string) string {
	var closing byte // the character that ends the open quotes or slashes; 0 outside of them
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
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

// peek returns the next word without moving past it.
func (w *ruleScanner) peek() string {
	ahead := *w
	return ahead.next()
}

// rest returns the text after the last word.
func (w *ruleScanner) rest() string {
	w.skipBlanks()
	w.wordOffset = w.offset
	w.offset = len(w.text)
	return strings.TrimRight(w.text[w.wordOffset:], " \t")
}

// errorHere returns an error that points at the last word.
func (w *ruleScanner) errorHere(text string) error { return w.errorAt(w.wordOffset, text) }

// errorAt returns an error that points at a byte of the text.
func (w *ruleScanner) errorAt(offset int, text string) error {
	column := w.column + utf8.RuneCountInString(w.text[:offset])
	return &RuleError{Source: w.source, Line: w.line, Column: column, Text: text}
}

// number reads a number that is not negative. The error calls it name.
func (w *ruleScanner) number(name string) (int64, error) {
	word := w.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return 0, w.errorHere(name + " must be a number, not " + quoteWord(word))
	}
	return n, nil
}

// duration reads a duration that is not negative. The error calls it name.
func (w *ruleScanner) duration(name string) (time.Duration, error) {
	word := w.next()
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		return 0, w.errorHere(name + " must be a time such as 500ms or 2s, not " + quoteWord(word))
	}
	return d, nil
}

// textToEnd returns the text after the last word, without quotes if it is one quoted string.
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

// quoteWord quotes a word for an error message. It returns "nothing" for the end of the rule.
func quoteWord(word string) string {
	if word == "" {
		return "nothing"
	}
	return strconv.Quote(word)
}
