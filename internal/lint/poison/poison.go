// Package poison finds text in the definition of a tool or a prompt that addresses the model
// instead of its user: hidden characters, instructions, orders about the tools of other servers,
// requests for secrets. It is a heuristic: a person has to read what it finds, and a definition
// without marks is not proven to be safe.
package poison

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// A Kind is the kind of text that a Mark is about.
type Kind string

// The kinds.
const (
	Hidden      Kind = "hidden characters"
	Instruction Kind = "instruction-like text"
	OtherTool   Kind = "an order about another server's tool"
	Secret      Kind = "a request for a secret"
	Size        Kind = "very long text"
)

// A Mark is a suspicious place: a JSON pointer into the definition, and the words at this place.
type Mark struct {
	Kind    Kind
	Pointer string
	Words   string
}

// String returns the kind, the place and the words of a mark.
func (m Mark) String() string {
	if m.Pointer == "" {
		return string(m.Kind) + ": " + m.Words
	}
	return fmt.Sprintf("%s in %s: %q", m.Kind, m.Pointer, m.Words)
}

// MaxText is the maximum total of bytes in the texts of a definition.
const MaxText = 4 << 10

// Limits for one definition: bytes scanned, marks, levels of JSON.
const (
	maxScanned = 256 << 10
	maxMarks   = 50
	maxDepth   = 64
)

// A place is a text of a definition with its JSON pointer. isProse is set if hosts show the text to
// a model as a description of the tool.
type place struct {
	pointer, text string
	isProse       bool
}

// Scan returns the suspicious places in the definition of a tool or a prompt. own are the names of
// all tools of the server; nil if they are unknown, and then Scan finds no orders about tools of
// other servers.
func Scan(definition json.RawMessage, own Names) []Mark {
	if IsClean(definition) {
		return nil
	}
	return scanTexts(definition, own)
}

// scanTexts scans a definition as Scan does, without the quick check of IsClean.
func scanTexts(definition json.RawMessage, own Names) []Mark {
	total := 0
	scanned := 0
	var marks []Mark
	for _, p := range appendTexts(nil, definition, place{}, 0) {
		if p.isProse {
			total += len(p.text)
		}
		scanned += len(p.text)
		if len(marks) >= maxMarks || scanned > maxScanned {
			continue // total still counts all texts
		}
		if words := HiddenIn(p.text); words != "" {
			marks = append(marks, Mark{Hidden, p.pointer, words})
		}
		joined := joinWords(p.text)
		if words := instructions.findFirst(joined); words != "" {
			marks = append(marks, Mark{Instruction, p.pointer, words})
		} else if words := findToolCommand(p.text, own, definition); words != "" {
			marks = append(marks, Mark{OtherTool, p.pointer, words})
		}
		if found := findSecretRequests(p.pointer, joined); len(found) > 0 {
			marks = append(marks, Mark{Secret, p.pointer, found[0]})
		}
	}
	if total > MaxText {
		marks = append(marks, Mark{Size, "", strconv.Itoa(total) + " bytes of text"})
	}
	return marks
}

// joinWords returns text with one space between words, as the patterns expect it.
func joinWords(text string) string { return strings.Join(strings.Fields(text), " ") }

// prose are members whose texts describe a tool or its arguments.
var prose = map[string]bool{
	"name": true, "title": true, "description": true, "$comment": true, "default": true,
	"const": true, "enum": true, "examples": true,
}

// appendTexts appends all strings of a value and the names of its members: a model may read each of
// them.
func appendTexts(all []place, raw json.RawMessage, at place, depth int) []place {
	if depth > maxDepth {
		return all
	}
	if text, ok := jsonraw.Text(raw); ok && text != "" {
		return append(all, place{at.pointer, text, at.isProse})
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		below := place{pointer: jsonraw.Pointer(at.pointer, m.Name), isProse: prose[m.Name]}
		isArgument := strings.HasSuffix(at.pointer, "/properties") // m is named after an argument
		all = append(all, place{below.pointer, m.Name, isArgument})
		all = appendTexts(all, m.Value, below, depth+1)
	}
	items, _ := jsonraw.Array(raw)
	for i, item := range items {
		all = appendTexts(all, item, place{pointer: at.pointer + "/" + strconv.Itoa(i), isProse: at.isProse}, depth+1)
	}
	return all
}

// HiddenIn describes the first character of a text that a reader does not see, or returns "".
func HiddenIn(text string) string {
	var before rune
	for i, r := range text {
		if isHidden(r) && !isNeededJoiner(before, r, text[i+utf8.RuneLen(r):]) {
			return fmt.Sprintf("U+%04X after %q", r, lastRunes(text[:i]))
		}
		before = r
	}
	return ""
}

func lastRunes(text string) string {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-20):])
}

// isHidden reports whether a reader does not see r: control, format and filler characters.
func isHidden(r rune) bool {
	if r == '\n' || r == '\t' || r == '\r' {
		return false
	}
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return true
	}
	if r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2069 || r == 0xfeff {
		return true
	}
	if r >= 0xe0000 && r <= 0xe01ef || r == 0x3164 || r == 0x115f || r == 0x1160 {
		return true
	}
	return false
}

// isNeededJoiner reports whether the writing needs the character r: joiners inside of emoji and of
// scripts whose letters join, direction marks next to letters of right-to-left scripts.
func isNeededJoiner(before, r rune, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	switch r {
	case 0x200d, 0x200c:
		return isJoining(before) && isJoining(next)
	case 0x200e, 0x200f:
		return isRightToLeft(before) || isRightToLeft(next)
	}
	return false
}

func isJoining(r rune) bool {
	return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || r == 0xfe0f ||
		unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu,
			unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Mn)
}

func isRightToLeft(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac) }

// phrases are a pattern with stems: each match contains a stem, in lower case. A search for the
// stems is much cheaper than the pattern, and most texts contain no stem.
type phrases struct {
	stems   []string
	index   func() *stemIndex
	pattern func() *regexp.Regexp
}

func newPhrases(stems []string, pattern func() *regexp.Regexp) phrases {
	return phrases{stems, sync.OnceValue(func() *stemIndex { return newStemIndex(stems) }), sync.OnceValue(pattern)}
}

// A stemIndex has stems of three letters or more by their first byte, and the marks of their first
// three bytes.
type stemIndex struct {
	byFirstByte [utf8.RuneSelf][]string
	trigrams    [1 << 15]bool
}

func newStemIndex(lists ...[]string) *stemIndex {
	index := &stemIndex{}
	for _, stem := range slices.Concat(lists...) {
		index.byFirstByte[stem[0]] = append(index.byFirstByte[stem[0]], stem)
		index.trigrams[nextTrigram(nextTrigram(nextTrigram(0, stem[0]), stem[1]), stem[2])] = true
	}
	return index
}

// nextTrigram returns the mark of the last three bytes, with five bits of each: it adds a byte to the
// mark before it.
func nextTrigram(before uint16, last byte) uint16 { return before<<5&(1<<15-1) | uint16(last&31) }

// mayContain reports whether a text in lower case may contain a stem. It is true for a text with
// other than ASCII letters: a pattern that ignores the case may match them.
func mayContain[T []byte | string](s *stemIndex, lower T) bool {
	mark := uint16(0)
	for i := range len(lower) {
		c := lower[i]
		if c >= utf8.RuneSelf {
			return true
		}
		mark = nextTrigram(mark, c)
		if i < 2 || !s.trigrams[mark] {
			continue
		}
		for _, stem := range s.byFirstByte[lower[i-2]] {
			if rest := lower[i-2:]; len(rest) >= len(stem) && string(rest[:len(stem)]) == stem {
				return true
			}
		}
	}
	return false
}

// allStems are the stems of all phrases that Scan looks for.
var allStems = sync.OnceValue(func() *stemIndex {
	return newStemIndex(instructions.stems, secretRequests.stems,
		commandWords.stems)
})

// IsClean reports whether Scan finds nothing in a definition, whatever the names of the server's
// tools are. It is true for most definitions and does not parse them: they are short, and have no
// hidden character and no stem.
func IsClean(definition []byte) bool {
	if len(definition) > MaxText {
		return false
	}
	var room [MaxText]byte
	n := 0
	for i := 0; i < len(definition); i++ {
		c := foldedBytes[definition[i]]
		if c == '\\' && i+1 < len(definition) {
			i++
			switch definition[i] {
			case 'n', 't', 'r':
				c = ' '
			case '"', '\\':
				c = definition[i]
			default: // \u may be any character
				return false
			}
		} else if c == 0 || c == '\\' {
			return false
		}
		if c != ' ' || n == 0 || room[n-1] != ' ' { // as joinWords does
			room[n] = c
			n++
		}
	}
	return !mayContain(allStems(), room[:n])
}

// foldedBytes maps ASCII to lower case and control characters to spaces; other bytes are 0.
var foldedBytes = func() (small [256]byte) {
	for c := range byte(0x7f) {
		small[c] = max(c, ' ')
		if c >= 'A' && c <= 'Z' {
			small[c] += 'a' - 'A'
		}
	}
	return small
}()

// findFirst returns the first match in a text, or "".
func (p phrases) findFirst(text string) string {
	if !mayContain(p.index(), strings.ToLower(text)) {
		return ""
	}
	return p.pattern().FindString(text)
}

// findAll returns the matches in a text, at most maxMatches.
func (p phrases) findAll(text string) []string {
	if !mayContain(p.index(), strings.ToLower(text)) {
		return nil
	}
	return p.pattern().FindAllString(text, maxMatches)
}

// instructions match text that instructs a model.
var instructions = newPhrases(
	[]string{
		"ignore ", "disregard ", "forget ", "override ", "user", "keep ", "hide ", "prompt", "instruction",
		"you are now ", "silently ", "secretly ", "covertly ", "exfiltrate", "before ", "after ", "this tool ",
		"<important>", "<system>", "<secret>", "<hidden>",
	},
	func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)\b(` + strings.Join([]string{
			`(ignore|disregard|forget|override) (all |any |the |your |of )*` +
				`(previous|prior|above|earlier|other|system|safety) (\w+ )?` +
				`(instructions?|prompts?|rules|messages|guidelines)`,
			`(do not|don't|never|must not) (ever )?(tell|inform|mention|reveal|show|notify|disclose|explain)\b` +
				`.{0,40}\b(the )?users?`,
			`without (telling|informing|notifying|asking|mentioning)\b.{0,30}\busers?`,
			`(keep|hide) (this|it|that)( \w+)? (secret|hidden|from the user|confidential)`,
			`(reveal|print|output|repeat|leak|include) (me )?(your|the) (full |entire |whole )?` +
				`(system prompt|hidden instructions)`,
			`you are now (a|an|in|the)\b`, `(new|updated|real) (system )?instructions?:`,
			`(silently|secretly|covertly) (\w+ )?(send|forward|copy|call|read|append|include|upload|exfiltrate)`,
			`exfiltrate`,
			`(before|after) (using|calling|running|executing) (this|any|any other|every|all) (other )?tools?\b` +
				`.{0,60}\b(must|always|have to|first)`,
			`(always|must) (call|use|run|invoke) this tool ` +
				`(first|instead|before (\w+ )?(any|anything|every|everything|all|each|other)\b)`,
		}, "|") + `)|<(important|system|instructions?|secret|hidden)>`)
	},
)

// secretRequests match requests for the user's secrets, and files where users have them.
var secretRequests = newPhrases(
	[]string{
		"pass", "key", "token", "cookie", "credential", "seed phrase", "credit card", "/.ssh", "/.aws", "/.env",
		"/.netrc", "/.npmrc", "/.kube", "/.gnupg", "/.config/gcloud", "/.cursor", "id_rsa", "id_ed25519",
		"/etc/",
	},
	func() *regexp.Regexp {
		secret := `(pass ?words?|passphrase|api[ _-]?keys?|private keys?|secret keys?|access tokens?|auth tokens?|` +
			`bearer tokens?|session cookies?|credentials|seed phrase|ssh keys?|credit card( number)?)`
		return regexp.MustCompile(
			`(?is)(\b(provide|enter|include|pass|send|supply|paste|give|attach|copy|collect|submit)\b ` +
				`(\w+ ){0,4}(your|my|their|(the )?(user|customer)s?'s?) (\w+ ){0,3}` + secret +
				`\b)|(~|\$HOME|/home/\w+|/root)/\.(ssh|aws|env|netrc|npmrc|kube|gnupg|config/gcloud|cursor)\b[\w/.-]*|` +
				`\bid_(rsa|ed25519)\b|/etc/(passwd|shadow)\b`,
		)
	},
)

// findSecretRequests returns the matches of secretRequests in a text, without warnings, refusals
// and defaults. at is the JSON pointer of the text.
func findSecretRequests(at, text string) []string {
	if !mayContain(secretRequests.index(), strings.ToLower(text)) {
		return nil
	}
	text = withoutDefaults(at, text)
	var found []string
	for _, span := range secretRequests.pattern().FindAllStringIndex(text, maxMatches) {
		before := text[:span[0]]
		after := text[span[1]:]
		if !isNegated(before) && !isRefused(before, after) {
			found = append(found, text[span[0]:span[1]])
		}
	}
	return found
}

// defaultPath matches a path that a text names as an argument's default: the server reads it
// without the model's help.
var defaultPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		"(?i)\\bdefault(s? (is|to|path|location|value)| path is|s| =|:|)[:=]? *[\"'`(]*(~|\\$HOME)/\\.[\\w/.-]+",
	)
})

// isPath matches a value that is a path in the user's home directory.
var isPath = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^(~|\$HOME|/home/\w+|/root)/\.[\w/.-]+$`) },
)

// isValue matches the pointer to a value that a schema gives for an argument.
var isValue = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`/(default|const|(enum|examples)/\d+)$`) },
)

// withoutDefaults removes the paths that are defaults or possible values of an argument from a
// text.
func withoutDefaults(at, text string) string {
	if isValue().MatchString(at) && isPath().MatchString(text) {
		return ""
	}
	return defaultPath().ReplaceAllString(text, "")
}

// isNegated reports whether the text before a match makes it a warning: "do not include your
// password".
func isNegated(before string) bool {
	const maxNegation = 30 // bytes between the negation and the match
	before = strings.ToLower(before[max(0, len(before)-maxNegation):])
	return strings.Contains(before, "not ") || strings.Contains(before, "never ") || strings.Contains(before, "n't ")
}

// refusalWords match the rest of a sentence that says that the tool refuses the match before it:
// the end of a list in quotes or parentheses, and the verb.
var refusalWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^["'` + "`" + `)\]]*(,? (and|or|etc\.?)( [\w~/.*"'` + "`" + `()-]+){0,4})? ` +
		`(is|are|will be|gets?) (always |also )?` +
		`(rejected|refused|denied|blocked|forbidden|disallowed|excluded|skipped|protected|` +
		`off[ -]limits|not (allowed|permitted|accepted|accessible|readable))\b`)
})

// givingVerbs match a verb that asks to read or give a file.
var givingVerbs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)\b(read|open|cat|load|provide|enter|include|pass|send|supply|paste|give|attach|copy|collect|` +
			`submit|upload|contents?)\b`,
	)
})

// maxBefore is the number of bytes before a match that are searched for a verb.
const maxBefore = 100

// isRefused reports whether a match is an example of what the tool refuses: "paths such as ~/.ssh
// are rejected". It is false if the text also asks to read or give something.
func isRefused(before, after string) bool {
	return refusalWords().MatchString(after) && !givingVerbs().MatchString(before[max(0, len(before)-maxBefore):])
}

// Names are the names of a server's tools; nil if they are unknown.
type Names map[string]bool

// NamesOf returns the set of names.
func NamesOf(names []string) Names {
	set := make(Names, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// commandWords match words that order or discourage something.
var commandWords = newPhrases(
	[]string{
		"must", "always", "never", "do not", "don't", "stop using", "has been replaced", "is unsafe",
		"is deprecated", "is broken",
	},
	func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?i)\b(must|always|never|do not|don't|stop using|has been replaced|is (unsafe|deprecated|broken))\b`,
		)
	},
)

// toolStatements match a statement about a tool: its name is one of the groups.
var toolStatements = sync.OnceValue(func() *regexp.Regexp {
	name := "([`'\"]?[a-z][\\w.-]*\\w[`'\"]?)"
	return regexp.MustCompile(`(?i)` + name + `(?: tool)? ` +
		`(?:(?:is|gets|was) (?:called|used|invoked|run|executed|unsafe|deprecated|broken)|has been replaced)\b|` +
		`\bstop using (?:the )?(?:tool )?` + name)
})

// findToolCommand returns the first sentence that tells a model what to do with a tool of another
// server, or "" if there is none or own is nil. A name that looks like the name of a tool is such a
// tool if it is not in own and does not occur as a JSON string in the definition, as an argument's name does.
func findToolCommand(text string, own Names, definition json.RawMessage) string {
	if own == nil || commandWords.findFirst(text) == "" {
		return ""
	}
	endsLine := func(r rune) bool { return r == '\n' || r == '!' || r == ';' }
	for _, line := range strings.FieldsFunc(text, endsLine) {
		for _, sentence := range strings.Split(line, ". ") {
			if commandWords.findFirst(sentence) == "" {
				continue
			}
			for _, found := range toolStatements().FindAllStringSubmatch(sentence, maxMatches) {
				name := strings.Trim(found[1]+found[2], "`'\"") // one of the two groups is empty
				if !isToolName(name) || own[name] {
					continue
				}
				if isInDefinition := bytes.Contains(definition, jsonraw.Quote(name)); !isInDefinition {
					return strings.TrimSpace(sentence)
				}
			}
		}
	}
	return ""
}

// isToolName reports whether word looks like the name of a tool: it has an underscore, or a capital
// after a small letter.
func isToolName(word string) bool {
	wasSmall := false // the previous letter
	for _, r := range word {
		if r == '_' || wasSmall && r >= 'A' && r <= 'Z' {
			return true
		}
		wasSmall = r >= 'a' && r <= 'z'
	}
	return false
}
