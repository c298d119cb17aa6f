// Package arguments builds JSON from NAME=VALUE words, with the types of a schema.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// Given are the arguments as typed: one JSON object, words, or words that are added to the object.
type Given struct {
	Document json.RawMessage // nil without a document
	Words    []Word
}

// Parse parses the words of a command line and the value of --args in flag, or "". Without flag, the
// first word may be the JSON object. With flat, a word has a name instead of a path. Problems that need
// no schema are returned as one error.
func Parse(e *host.Env, args []string, flag string, flat bool) (g Given, err error) {
	if flag == "" {
		beginsWithObject := len(args) > 0 && isJSONInput(args[0]) && !IsScalar(args[0])
		if beginsWithObject {
			flag = args[0]
			args = args[1:]
		} else {
			flag = "{}"
		}
	}
	if err := checkStdinOnce(flag, args); err != nil {
		return g, err
	}
	var problems []error
	g.Document, err = Arguments(e, flag)
	if err != nil {
		problems = append(problems, err)
	}
	var unnamed []string
	assigned := newAssignments(flat)
	for _, typed := range args {
		if IsUnnamed(typed) { // one problem for all of them
			unnamed = append(unnamed, Shortened(typed))
			continue
		}
		if isJSONInput(typed) {
			const hint = `the JSON object goes first: '{"a":1}' b=2`
			problems = append(problems, usage.New("not NAME=VALUE: "+Shortened(typed), hint))
			continue
		}
		word, err := ParseWord(e, typed, flat)
		if err == nil {
			err = assigned.add(word)
		}
		if err != nil {
			problems = append(problems, err)
		}
		g.Words = append(g.Words, word)
	}
	if len(unnamed) > 0 {
		problems = append(
			problems,
			usage.New("not NAME=VALUE: "+strings.Join(unnamed, ", "), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`),
		)
	}
	return g, joinProblems(problems)
}

// isJSONInput reports whether text is JSON or names JSON input (-, @FILE), rather than a word
// NAME=VALUE.
func isJSONInput(text string) bool {
	isSource := text == "-" || strings.HasPrefix(text, "@")
	first := firstByte(text)
	// Invalid JSON counts, so that its error is reported; so does empty text, for the same reason.
	looksLikeJSON := first == "" || strings.Contains("{[\"", first)
	return isSource || looksLikeJSON || jsonraw.Valid([]byte(text)) == nil
}

// IsScalar reports whether text is a JSON number, true, false or null.
func IsScalar(text string) bool {
	return !strings.Contains("{[\"", firstByte(text)) && jsonraw.Valid([]byte(text)) == nil
}

// IsUnnamed reports whether text is a value without a name.
func IsUnnamed(text string) bool {
	pathEnd, _ := Operator(text)
	return pathEnd < 0 && (!isJSONInput(text) || IsScalar(text))
}

// firstByte returns the first byte of text that is not a space, or "".
func firstByte(text string) string {
	text = strings.TrimSpace(text)
	return text[:min(1, len(text))]
}

// Operator returns where the path of a word ends and where its value begins. Both are -1 if text has
// no = or :=.
func Operator(text string) (pathEnd, valueStart int) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++ // the next byte belongs to the name
		case text[i] == '=':
			return i, i + 1
		case text[i] == ':' && strings.HasPrefix(text[i:], ":="):
			return i, i + 2
		}
	}
	return -1, -1
}

// Arguments reads the JSON object that arg is or names (@FILE, or - for standard input). Its bytes are
// sent unchanged. It returns an error for any other JSON, and for an object with a duplicate member.
func Arguments(e *host.Env, arg string) (json.RawMessage, error) {
	raw, source, err := e.UI.Input(arg)
	if err != nil {
		return nil, err
	}
	if limit := e.Limits.WithDefaults().Message; limit > 0 && int64(len(raw)) > limit {
		return nil, usage.New(fmt.Sprintf("%s has %d bytes, over the message limit of %d", source, len(raw), limit),
			"--max-message-size SIZE raises the limit, 0 removes it")
	}
	if bad := jsonraw.Valid(raw); bad != nil {
		err := NotJSON(raw, source, bad)
		if notJSON, ok := errors.AsType[*usage.JSONError](err); ok && source == FromArgv {
			if hint := hintForArgs(arg); hint != "" {
				notJSON.Hint = hint
			}
		}
		return nil, err
	}
	members, bad := jsonraw.Object(raw)
	if bad != nil {
		return nil, usage.New(
			source+" must be a JSON object, got "+jsonraw.Excerpt(bytes.TrimSpace(raw), 40),
			`arguments are NAME=VALUE, or one JSON object: '{"a":1}'`,
		)
	}
	if err := EachOnce(members, source); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(raw), nil
}

// EachOnce returns an error for a duplicate member: servers would disagree about its value.
func EachOnce(members jsonraw.Members, source string) error {
	if name, twice := members.Duplicate(); twice {
		return fmt.Errorf("%s has the member %q twice", source, name)
	}
	return nil
}

// joinProblems returns one error for several, with the first hint. Returns nil if there are no
// problems. An input that came too late is returned alone, because it has its own exit code.
func joinProblems(problems []error) error {
	all := &usage.Errors{Text: fmt.Sprintf("%d problems with the arguments", len(problems))}
	for _, err := range problems {
		if len(problems) == 1 || usage.IsLate(err) {
			return err
		}
		out := usage.Outcome(err)
		all.Findings = append(all.Findings, wire.Finding{Rule: "argument", Severity: wire.Error, Text: out.Text})
		if all.Hint == "" {
			all.Hint = out.Hint
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return all
}

// checkStdinOnce returns an error if standard input would be read twice: the second read would be
// empty.
func checkStdinOnce(document string, words []string) error {
	uses := 0
	for _, text := range append([]string{document}, words...) {
		_, valueStart := Operator(text)
		isWord := valueStart > 0 && !isJSONInput(text)
		isWordOfStdin := isWord && text[valueStart:] == "@-"
		if text == "-" || text == "@-" || isWordOfStdin {
			uses++
		}
	}
	if uses > 1 {
		return usage.New("stdin can be read only once", "pass one of them as a file: @FILE")
	}
	return nil
}

// A Reading is the result of reading words: the arguments, and what is wrong with the words.
type Reading struct {
	Arguments json.RawMessage
	// Filled is set if Arguments contain defaults of the schema.
	Filled   bool
	Findings []wire.Finding
	// Warnings and notes are messages for the user.
	Warnings, notes []string
	// Unlisted is set if a word names a property that the schema does not list although it lists
	// others.
	Unlisted bool
	// doubtful are the words that the notes are about.
	doubtful []Word
	// hasAlternatives is set if the path of a word leads through a schema with several
	// alternatives.
	hasAlternatives bool
}

// Otherwise returns the hint for a word that was sent as a string although it looks like another
// type, if a finding is about it. Returns "" if there is no such word.
func (r Reading) Otherwise(findings []wire.Finding) string {
	for _, w := range r.doubtful {
		if slices.ContainsFunc(findings, func(f wire.Finding) bool { return f.Pointer == w.pointer() }) {
			return fmt.Sprintf("%s is sent as a string; %s:=%s sends the %s", jsonraw.Excerpt([]byte(w.Typed), 60),
				w.Key(), jsonraw.Excerpt([]byte(w.Text), 60), kindOfJSON(w.Text))
		}
	}
	return ""
}

// Split returns the hint for words that were probably meant for one item of a list but make several,
// as a[].x=1 a[].y=2 does. Returns "" if there are no such words.
func (g Given) Split() string {
	firstMembers := map[string]string{} // by the path of the list
	for _, w := range g.Words {
		list, member, isOfItem := strings.Cut(w.Key(), "[].")
		if !isOfItem {
			continue
		}
		first := firstMembers[list]
		if first == "" {
			firstMembers[list] = member
		} else if first != member {
			return fmt.Sprintf("each [] adds an item: use %s[0].%s= and %s[0].%s= for members of one item",
				list, first, list, member)
		}
	}
	return ""
}

// Joined returns the hint for a word that contains several arguments and does not fit the schema,
// or "".
func (g Given) Joined(findings []wire.Finding) string {
	for _, w := range g.Words {
		if !slices.ContainsFunc(findings, func(f wire.Finding) bool { return f.Pointer == w.pointer() }) {
			continue
		}
		words := strings.FieldsFunc(w.Typed, func(r rune) bool {
			return strings.ContainsRune(",;&", r) || unicode.IsSpace(r)
		})
		hasNoName := func(word string) bool {
			pathEnd, _ := Operator(word)
			return pathEnd <= 0
		}
		isOneWord := len(words) == 0 || words[0] == w.Typed
		isPlainText := slices.ContainsFunc(words, hasNoName) // a text with commas or spaces
		if isOneWord || isPlainText {
			continue
		}
		return "each argument is a separate word: " + strings.Join(sliceutil.Map(words, shellwords.Quote), " ")
	}
	return ""
}

// Unreported returns the findings of a schema check that are not consequences of reported ones: in
// the value that was checked, a typed word that does not fit its schema is a string, which causes more
// findings. It edits findings.
func Unreported(findings, reported []wire.Finding) []wire.Finding {
	isConsequence := func(f wire.Finding) bool {
		name, _ := jsonraw.Text(json.RawMessage(f.Want))
		return slices.ContainsFunc(reported, func(cause wire.Finding) bool {
			pointer, _, _ := strings.Cut(cause.Pointer, "/-") // - is an item to append: its array counts
			if isWithin(f.Pointer, pointer) {
				return true
			}
			switch f.Rule {
			case "required": // the missing member is the one with the wrong word, or contains it
				return isWithin(pointer, jsonraw.Pointer(f.Pointer, name))
			case "additionalProperties", "dependentRequired", wire.RuleMore:
				return false // these depend on the names of members, not on the word
			default: // an object or array can be wrong because of a word inside it
				return isWithin(pointer, f.Pointer)
			}
		})
	}
	return slices.DeleteFunc(findings, isConsequence)
}

// isWithin reports whether a JSON pointer is other or points inside of it.
func isWithin(pointer, parent string) bool {
	return pointer == parent || strings.HasPrefix(pointer, parent+"/")
}

// Tell shows the warnings and notes.
func Tell(e *host.Env, r Reading) {
	for _, text := range r.Warnings {
		e.UI.Warn(text)
	}
	for _, text := range r.notes {
		e.UI.Note(text)
	}
}

// Read builds the arguments with the types of the schema. A nil schema has no types. With lenient,
// a value that does not fit is sent as a string.
func (g Given) Read(schema *validate.Schema, lenient bool) Reading {
	var noArguments json.RawMessage // of a first reading
	r := g.read(schema, lenient, noArguments)
	if !r.hasAlternatives {
		return r
	}
	// Perhaps only the combination of all words shows which alternative is meant. A lenient reading
	// has all of them.
	const isLenient = true
	all := g.read(schema, isLenient, noArguments)
	return g.read(schema, lenient, all.Arguments)
}

// read builds the arguments. all are the arguments of a first reading, or nil: they select the
// alternatives of the schema. A word with a problem is a finding and not in the arguments.
func (g Given) read(schema *validate.Schema, lenient bool, all json.RawMessage) Reading {
	r := Reading{Arguments: g.Document}
	for _, w := range g.Words {
		place := r.placeOf(schema, w, all)
		value := w.Raw
		problem := ""
		note := ""
		if value == nil {
			value, problem, note = typedValue(w, place)
		}
		if lenient { // a value that does not fit is the word's text as a string
			problem = ""
		}
		object := r.Arguments
		if problem == "" {
			object, problem = putAt(r.Arguments, w.Path, value)
		}
		if problem != "" {
			r.Findings = append(r.Findings, wire.Finding{
				Rule:     "argument",
				Severity: wire.Error,
				Pointer:  w.pointer(),
				Text:     problem + ", got " + jsonraw.Excerpt([]byte(w.Typed), 60),
			})
			continue
		}
		r.Arguments = object
		if note != "" {
			r.notes = append(r.notes, note)
			r.doubtful = append(r.doubtful, w)
		}
	}
	if bad := jsonraw.Valid(r.Arguments); bad != nil {
		r.Findings = append(r.Findings, wire.Finding{
			Rule:     "argument",
			Severity: wire.Error,
			Text:     "they do not form valid JSON: " + bad.Error(),
		})
	}
	return r
}

// placeOf returns what the schema expects at the path of a word. all selects alternatives as in read.
// It records in r whether the path leads through alternatives, and names that the schema lacks.
func (r *Reading) placeOf(schema *validate.Schema, w Word, all json.RawMessage) validate.Expected {
	given := all // the value at the part of the path so far
	place := schema.Narrowed(schema.Expected(), given)
	for i, p := range w.Path {
		r.hasAlternatives = r.hasAlternatives || place.HasAlternatives()
		if p.isItem && p.index == appendIndex { // the schema may describe items by their number
			items, _ := jsonraw.Array(valueAt(r.Arguments, w.Path[:i]))
			p.index = len(items)
		}
		next, known := Below(schema, place, p)
		if !known && !p.isItem {
			r.noteUnknown(w, i, place)
		}
		given = valueAt(given, []Part{p})
		place = schema.Narrowed(next, given)
	}
	r.hasAlternatives = r.hasAlternatives || place.HasAlternatives()
	return place
}

// Texts builds arguments that are all strings, as a prompt takes them. The words must have been parsed
// with flat. Values given as JSON stay as they are.
func (g Given) Texts() json.RawMessage {
	object := g.Document
	for _, w := range g.Words {
		value := w.Raw
		if value == nil {
			value = jsonraw.Quote(w.Text)
		}
		object = jsonraw.With(object, w.Path[0].Name, value)
	}
	return object
}

// Below returns the schema of a part of a path inside of place, and whether the schema describes it.
func Below(schema *validate.Schema, place validate.Expected, p Part) (validate.Expected, bool) {
	if p.isItem {
		return schema.Item(place, max(p.index, 0)) // an appended item may be the first
	}
	return schema.Member(place, p.Name)
}

// valueAt returns the value at a path inside value, or nil if there is no such value.
func valueAt(value json.RawMessage, path []Part) json.RawMessage {
	for _, p := range path {
		if !p.isItem {
			value = jsonraw.First(value, p.Name)
			continue
		}
		items, err := jsonraw.Array(value)
		if err != nil || p.index < 0 || p.index >= len(items) {
			return nil
		}
		value = items[p.index]
	}
	return value
}

// noteUnknown sets Unlisted if the schema at place lists names, but not the name at depth in the path
// of w. It adds a warning if the schema does not forbid the name; a forbidden one is a finding of the
// later check.
func (r *Reading) noteUnknown(w Word, depth int, place validate.Expected) {
	names := place.Names()
	if len(names) == 0 || slices.Contains(names, w.Path[depth].Name) {
		return
	}
	r.Unlisted = true
	if place.Closed() {
		return
	}
	text := "the inputSchema has no argument " + strconv.Quote(Written(w.Path[:depth+1]))
	if near := similarName(w.Path[depth:], names); near != "" {
		text += "; did you mean " + near + "?"
	}
	r.Warnings = append(r.Warnings, text)
}

// similarName returns the name that was probably meant: a listed name that contains dots, or a name
// with a similar spelling. Returns "" without such a name.
func similarName(path []Part, names []string) string {
	var parts []string
	for _, p := range path {
		parts = append(parts, p.Name)
		if dotted := strings.Join(parts, "."); len(parts) > 1 && slices.Contains(names, dotted) {
			return EscapedName(dotted)
		}
	}
	return suggest.Nearest(path[0].Name, names)
}

// Written returns a path as it would be typed.
func Written(path []Part) string {
	var b strings.Builder
	for i, p := range path {
		if p.isItem && p.index == appendIndex {
			b.WriteString("[]")
		} else if p.isItem {
			fmt.Fprintf(&b, "[%d]", p.index)
		} else {
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(EscapedName(p.Name))
		}
	}
	return b.String()
}

// EscapedName escapes a name for use in a path.
func EscapedName(name string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "[", `\[`, "=", `\=`, ":=", `\:=`).Replace(name)
}

// pointer returns the JSON pointer (RFC 6901) of the word's value.
func (w Word) pointer() string {
	where := ""
	for _, p := range w.Path {
		if !p.isItem {
			where = jsonraw.Pointer(where, p.Name)
		} else if p.index == appendIndex {
			where += "/-"
		} else {
			where += fmt.Sprintf("/%d", p.index)
		}
	}
	return where
}

// putAt sets the value at path inside container, and keeps the other bytes of container. A nil
// container becomes an object or a list. problem says why the value cannot be set, or is "".
func putAt(container json.RawMessage, path []Part, value json.RawMessage) (out json.RawMessage, problem string) {
	if len(path) == 0 {
		return value, ""
	}
	if path[0].isItem {
		return putItem(container, path, value)
	}
	container = jsonraw.OrEmpty(container)
	members, bad := jsonraw.Object(container)
	if bad != nil {
		return nil, fmt.Sprintf(
			"%s is not an object, so it cannot have the member %q",
			jsonraw.Excerpt(container, 40),
			path[0].Name,
		)
	}
	inner, _ := members.Get(path[0].Name)
	inner, problem = putAt(inner, path[1:], value)
	if problem != "" {
		return nil, problem
	}
	return jsonraw.With(container, path[0].Name, inner), ""
}

// putItem sets the value at a path that begins with an item of a list: it replaces the item, or
// appends it if it is the next one. problem says why the value cannot be set, or is "".
func putItem(container json.RawMessage, path []Part, value json.RawMessage) (out json.RawMessage, problem string) {
	if container == nil {
		container = json.RawMessage("[]")
	}
	items, bad := jsonraw.Array(container)
	if bad != nil {
		return nil, jsonraw.Excerpt(container, 40) + " is not an array"
	}
	index := path[0].index
	if index == appendIndex {
		index = len(items)
	} else if index > len(items) {
		return nil, fmt.Sprintf("item [%d] would leave a gap after %d items", index, len(items))
	}
	if index == len(items) {
		items = append(items, nil) // putAt fills it
	}
	items[index], problem = putAt(items[index], path[1:], value)
	if problem != "" {
		return nil, problem
	}
	return AsList(items), ""
}

// AsList returns an array of the items, with their bytes unchanged.
func AsList(items []json.RawMessage) json.RawMessage {
	list := json.RawMessage("[")
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']')
}
