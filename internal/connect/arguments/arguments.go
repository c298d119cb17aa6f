// Package arguments makes JSON of NAME=VALUE words, with the types of a schema.
package arguments

import (
	"bytes"
	"cmp"
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

// Given are the arguments as they are typed: one JSON object, words, or words
// that are put into the object.
type Given struct {
	Document json.RawMessage // nil where there is none
	Words    []Word
}

// Parse reads them; flag is the --args of the command. A flat one has names in
// the place of paths. What is wrong that no schema is needed for is an error, all of
// it at once.
func Parse(e *host.Env, args []string, flag string, flat bool) (g Given, err error) {
	if flag == "" && len(args) > 0 && isDocument(args[0]) && !IsScalar(args[0]) {
		flag = args[0]
		args = args[1:]
	} else if flag == "" {
		flag = "{}"
	}
	if err := onceFromStandardInput(flag, args); err != nil {
		return g, err
	}
	var wrong []error
	g.Document, err = Arguments(e, flag)
	if err != nil {
		wrong = append(wrong, err)
	}
	var unnamed []string
	places := newPlaced(flat)
	for _, typed := range args {
		if IsUnnamed(typed) {
			unnamed = append(unnamed, Shortened(typed))
			continue
		}
		if isDocument(typed) {
			wrong = append(wrong, usage.New("not NAME=VALUE: "+Shortened(typed), `the JSON object goes first: '{"a":1}' b=2`))
			continue
		}
		w, err := ParseWord(e, typed, flat)
		if err == nil {
			err = places.put(w)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		g.Words = append(g.Words, w)
	}
	if len(unnamed) > 0 {
		wrong = append(
			wrong,
			usage.New("not NAME=VALUE: "+strings.Join(unnamed, ", "), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`),
		)
	}
	return g, allWrong(wrong)
}

// isDocument tells JSON, and what is read as JSON (-, @FILE), from a word.
func isDocument(text string) bool {
	return text == "-" || strings.HasPrefix(text, "@") || firstOf(text) == "" || strings.Contains("{[\"", firstOf(text)) ||
		jsonraw.Valid([]byte(text)) == nil
}

// IsScalar tells a number, true, false and null from other JSON.
func IsScalar(text string) bool {
	return !strings.Contains("{[\"", firstOf(text)) && jsonraw.Valid([]byte(text)) == nil
}

// IsUnnamed tells a value that has no name from a word and from JSON.
func IsUnnamed(text string) bool {
	at, _ := Operator(text)
	return at < 0 && (!isDocument(text) || IsScalar(text))
}

func firstOf(text string) string {
	text = strings.TrimSpace(text)
	return text[:min(1, len(text))]
}

// Operator finds where the path ends and where the value begins; at is -1 in
// what is no word.
func Operator(text string) (at, value int) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '=':
			return i, i + 1
		case text[i] == ':' && strings.HasPrefix(text[i:], ":="):
			return i, i + 2
		}
	}
	return -1, -1
}

// Arguments reads the JSON object that stands on the command line, in a file or
// on standard input. Its bytes are what will be sent.
func Arguments(e *host.Env, arg string) (json.RawMessage, error) {
	raw, from, err := e.UI.Input(arg)
	if err != nil {
		return nil, err
	}
	if limit := e.Limits.WithDefaults().Message; limit > 0 && int64(len(raw)) > limit {
		return nil, usage.New(fmt.Sprintf("%s has %d bytes, over the message limit of %d", from, len(raw), limit),
			"--max-message-size SIZE raises the limit, 0 removes it")
	}
	if bad := jsonraw.Valid(raw); bad != nil {
		err := NotJSON(raw, from, bad)
		if notJSON, ok := errors.AsType[*usage.JSONError](err); ok && from == FromArgv {
			notJSON.Hint = cmp.Or(meantByArgs(arg), notJSON.Hint)
		}
		return nil, err
	}
	members, bad := jsonraw.Object(raw)
	if bad != nil {
		return nil, usage.New(
			from+" must be a JSON object, got "+jsonraw.Excerpt(bytes.TrimSpace(raw), 40),
			`arguments are NAME=VALUE, or one JSON object: '{"a":1}'`,
		)
	}
	if err := EachOnce(members, from); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(raw), nil
}

// EachOnce refuses arguments of which each server would take another value.
func EachOnce(members jsonraw.Members, from string) error {
	if name, twice := members.Duplicate(); twice {
		return fmt.Errorf("%s has the member %q twice", from, name)
	}
	return nil
}

// allWrong is one error for several, with the first hint among them.
func allWrong(wrong []error) error {
	all := &usage.Errors{Text: fmt.Sprintf("%d problems with the arguments", len(wrong))}
	for _, err := range wrong {
		if len(wrong) == 1 || usage.IsLate(err) {
			return err
		}
		out := usage.Outcome(err)
		all.Findings = append(all.Findings, wire.Finding{Rule: "argument", Level: wire.Error, Text: out.Text})
		all.Hint = cmp.Or(all.Hint, out.Hint)
	}
	if len(wrong) == 0 {
		return nil
	}
	return all
}

// onceFromStandardInput refuses to read standard input twice: the second read would be empty.
func onceFromStandardInput(document string, words []string) error {
	uses := 0
	for _, text := range append([]string{document}, words...) {
		_, value := Operator(text)
		if text == "-" || text == "@-" || value > 0 && !isDocument(text) && text[value:] == "@-" {
			uses++
		}
	}
	if uses > 1 {
		return usage.New("stdin can be read only once", "pass one of them as a file: @FILE")
	}
	return nil
}

// A Reading is what has become of the words: the arguments, what is wrong with
// them, and what a person may have meant otherwise.
type Reading struct {
	Arguments json.RawMessage
	// Filled is set where defaults of the schema are among them.
	Filled   bool
	Findings []wire.Finding
	// Warnings and notes are for a person.
	Warnings, notes []string
	// Unlisted is set if a word names a part of an argument that the schema does not list although
	// it lists others.
	Unlisted bool
	// doubtful are the words that the notes are about.
	doubtful []Word
	// hasAlternatives is set if a word leads through a place with several alternatives.
	hasAlternatives bool
}

// Otherwise is the hint for a word that was taken for a text, which does not fit.
func (r Reading) Otherwise(findings []wire.Finding) string {
	for _, w := range r.doubtful {
		if slices.ContainsFunc(findings, func(f wire.Finding) bool { return f.Where == w.pointer() }) {
			return fmt.Sprintf("%s is sent as a string; %s:=%s sends the %s", jsonraw.Excerpt([]byte(w.Typed), 60),
				w.Key(), jsonraw.Excerpt([]byte(w.Text), 60), kindOfJSON(w.Text))
		}
	}
	return ""
}

// Split returns the hint for words that were perhaps meant for one item of a list and make several; "" if
// there are none.
func (g Given) Split() string {
	appended := map[string]string{}
	for _, w := range g.Words {
		list, member, found := strings.Cut(w.Key(), "[].")
		first := appended[list]
		switch {
		case !found:
		case first == "":
			appended[list] = member
		case first != member:
			return fmt.Sprintf("each [] makes an item: %s[0].%s= and %s[0].%s= are of one", list, first, list, member)
		}
	}
	return ""
}

// Joined returns the hint for a word that holds several arguments and does not fit; "" if there is none.
func (g Given) Joined(findings []wire.Finding) string {
	for _, w := range g.Words {
		if !slices.ContainsFunc(findings, func(f wire.Finding) bool { return f.Where == w.pointer() }) {
			continue
		}
		words := strings.FieldsFunc(
			w.Typed,
			func(r rune) bool { return strings.ContainsRune(",;&", r) || unicode.IsSpace(r) },
		)
		assigns := func(word string) bool { at, _ := Operator(word); return at > 0 }
		if len(words) == 0 || words[0] == w.Typed || slices.ContainsFunc(words, func(w string) bool { return !assigns(w) }) {
			continue
		}
		return "each argument is a word of its own: " + strings.Join(sliceutil.Map(words, shellwords.Quote), " ")
	}
	return ""
}

// Unsaid are the findings of a check that are not about the words that were found not to
// fit, which it saw as texts, and that do not come of them.
func Unsaid(findings, said []wire.Finding) []wire.Finding {
	comes := func(f wire.Finding) bool {
		name, _ := jsonraw.Text(json.RawMessage(f.Want))
		return slices.ContainsFunc(said, func(s wire.Finding) bool {
			at, _, _ := strings.Cut(s.Where, "/-")
			switch about := within(f.Where, at); f.Rule {
			case "required":
				return about || within(at, jsonraw.Pointer(f.Where, name))
			case "additionalProperties", "dependentRequired", wire.RuleMore:
				return about
			default:
				return about || within(at, f.Where)
			}
		})
	}
	return slices.DeleteFunc(findings, comes)
}

// within reports that one place in a value is another one, or inside of it.
func within(place, other string) bool {
	return place == other || strings.HasPrefix(place, other+"/")
}

// Tell says them.
func Tell(e *host.Env, r Reading) {
	for _, text := range r.Warnings {
		e.UI.Warn(text)
	}
	for _, text := range r.notes {
		e.UI.Note(text)
	}
}

// Read makes the arguments, with the types that the schema wants; nil is a schema
// that says nothing. A lenient reading sends what does not fit as a text.
func (g Given) Read(schema *validate.Schema, lenient bool) Reading {
	r := g.read(schema, lenient, nil)
	if !r.hasAlternatives {
		return r
	}
	// Which alternative is meant may be known from all words only.
	all := g.read(schema, true, nil)
	return g.read(schema, lenient, all.Arguments)
}

// read is Read; all are the arguments of a first reading, or nil. They tell which alternatives of the schema are meant.
func (g Given) read(schema *validate.Schema, lenient bool, all json.RawMessage) Reading {
	r := Reading{Arguments: g.Document}
	for _, w := range g.Words {
		given := all
		place := schema.Narrowed(schema.Expected(), given)
		for i, p := range w.Path {
			r.hasAlternatives = r.hasAlternatives || place.HasAlternatives()
			if p.at == behindLast && p.list {
				items, _ := jsonraw.Array(valueAt(r.Arguments, w.Path[:i]))
				p.at = len(items)
			}
			next, known := Below(schema, place, p)
			if !known && !p.list {
				r.unknown(w, i, place)
			}
			given = valueAt(given, []Part{p})
			place = schema.Narrowed(next, given)
		}
		r.hasAlternatives = r.hasAlternatives || place.HasAlternatives()
		value := w.Raw
		problem := ""
		note := ""
		if value == nil {
			value, problem, note = typedText(w, place)
		}
		if problem != "" && lenient {
			problem = ""
		}
		object := r.Arguments
		if problem == "" {
			object, problem = putAt(r.Arguments, w.Path, value)
		}
		if problem != "" {
			r.Findings = append(
				r.Findings,
				wire.Finding{
					Rule:  "argument",
					Level: wire.Error,
					Where: w.pointer(),
					Text:  problem + ", got " + jsonraw.Excerpt([]byte(w.Typed), 60),
				},
			)
			continue
		}
		r.Arguments = object
		if note != "" {
			r.notes, r.doubtful = append(r.notes, note), append(r.doubtful, w)
		}
	}
	if bad := jsonraw.Valid(r.Arguments); bad != nil {
		r.Findings = append(
			r.Findings,
			wire.Finding{Rule: "argument", Level: wire.Error, Text: "they do not form valid JSON: " + bad.Error()},
		)
	}
	return r
}

// Texts makes arguments that are all texts, as a prompt's are.
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

func Below(schema *validate.Schema, place validate.Expected, p Part) (validate.Expected, bool) {
	if p.list {
		return schema.Item(place, max(p.at, 0))
	}
	return schema.Member(place, p.Name)
}

// valueAt returns the value that a path leads to, or nil.
func valueAt(value json.RawMessage, path []Part) json.RawMessage {
	for _, p := range path {
		if !p.list {
			value = jsonraw.First(value, p.Name)
			continue
		}
		items, err := jsonraw.Array(value)
		if err != nil || p.at < 0 || p.at >= len(items) {
			return nil
		}
		value = items[p.at]
	}
	return value
}

// unknown tells of a name that the schema does not list and does not forbid. One
// that it forbids is a finding of the check that follows.
func (r *Reading) unknown(w Word, at int, place validate.Expected) {
	names := place.Names()
	r.Unlisted = r.Unlisted || len(names) > 0 && !slices.Contains(names, w.Path[at].Name)
	if len(names) == 0 || place.Closed() || slices.Contains(names, w.Path[at].Name) {
		return
	}
	text := "the inputSchema has no argument " + strconv.Quote(Written(w.Path[:at+1]))
	if near := meant(w.Path[at:], names); near != "" {
		text += "; did you mean " + near + "?"
	}
	r.Warnings = append(r.Warnings, text)
}

// meant is the name that the path perhaps should have been: one with dots in it,
// or one that is spelled nearly so.
func meant(path []Part, names []string) string {
	var whole []string
	for _, p := range path {
		whole = append(whole, p.Name)
		if dotted := strings.Join(whole, "."); len(whole) > 1 && slices.Contains(names, dotted) {
			return EscapedName(dotted)
		}
	}
	return suggest.Nearest(path[0].Name, names)
}

// Written is a path as it would be typed.
func Written(path []Part) string {
	var b strings.Builder
	for i, p := range path {
		switch {
		case p.list && p.at == behindLast:
			b.WriteString("[]")
		case p.list:
			fmt.Fprintf(&b, "[%d]", p.at)
		default:
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

// pointer is where the word's value stands (RFC 6901).
func (w Word) pointer() (where string) {
	for _, p := range w.Path {
		switch {
		case !p.list:
			where = jsonraw.Pointer(where, p.Name)
		case p.at == behindLast:
			where += "/-"
		default:
			where += fmt.Sprintf("/%d", p.at)
		}
	}
	return where
}

// putAt sets a value inside another one, whose other bytes stay. The problem is
// why it cannot stand there.
func putAt(into json.RawMessage, path []Part, value json.RawMessage) (out json.RawMessage, problem string) {
	if len(path) == 0 {
		return value, ""
	}
	if path[0].list {
		return putItem(into, path, value)
	}
	into = jsonraw.OrEmpty(into)
	members, bad := jsonraw.Object(into)
	if bad != nil {
		return nil, fmt.Sprintf(
			"%s is not an object, so it cannot have the member %q",
			jsonraw.Excerpt(into, 40),
			path[0].Name,
		)
	}
	inner, _ := members.Get(path[0].Name)
	inner, problem = putAt(inner, path[1:], value)
	if problem != "" {
		return nil, problem
	}
	return jsonraw.With(into, path[0].Name, inner), ""
}

func putItem(into json.RawMessage, path []Part, value json.RawMessage) (out json.RawMessage, problem string) {
	if into == nil {
		into = json.RawMessage("[]")
	}
	items, bad := jsonraw.Array(into)
	if bad != nil {
		return nil, jsonraw.Excerpt(into, 40) + " is not an array"
	}
	at := path[0].at
	if at == behindLast {
		at = len(items)
	} else if at > len(items) {
		return nil, fmt.Sprintf("item [%d] would leave a gap after %d items", at, len(items))
	}
	if at == len(items) {
		items = append(items, nil)
	}
	items[at], problem = putAt(items[at], path[1:], value)
	if problem != "" {
		return nil, problem
	}
	return AsList(items), ""
}

// AsList is an array of items, whose bytes stay.
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
