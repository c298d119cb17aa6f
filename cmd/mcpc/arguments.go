package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// given are the arguments as they are typed: one JSON object, words, or words
// that are put into the object.
type given struct {
	document json.RawMessage // nil where there is none
	words    []word
}

// given reads them; flag is the --args of the command. A flat one has names in
// the place of paths. What is wrong that no schema is needed for is an error, all of
// it at once.
func (a *env) given(args []string, flag string, flat bool) (g given, err error) {
	if flag == "" && len(args) > 0 && isDocument(args[0]) && !isScalar(args[0]) {
		flag, args = args[0], args[1:]
	} else if flag == "" {
		flag = "{}"
	}
	if err := onceFromStandardInput(flag, args); err != nil {
		return g, err
	}
	var wrong []error
	if g.document, err = a.arguments(flag); err != nil {
		wrong = append(wrong, err)
	}
	var unnamed []string
	places := newPlaced(flat)
	for _, typed := range args {
		if isUnnamed(typed) {
			unnamed = append(unnamed, shortened(typed))
			continue
		}
		if isDocument(typed) {
			wrong = append(wrong, hinted("not NAME=VALUE: "+shortened(typed), `the JSON object goes first: '{"a":1}' b=2`))
			continue
		}
		w, err := a.word(typed, flat)
		if err == nil {
			err = places.put(w)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		g.words = append(g.words, w)
	}
	if len(unnamed) > 0 {
		wrong = append(wrong, hinted("not NAME=VALUE: "+strings.Join(unnamed, ", "), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`))
	}
	return g, allWrong(wrong)
}

// allWrong is one error for several, with the first hint among them.
func allWrong(wrong []error) error {
	all := &severalError{text: fmt.Sprintf("%d problems with the arguments", len(wrong))}
	for _, err := range wrong {
		if len(wrong) == 1 || isLate(err) {
			return err
		}
		out := usage(err)
		all.findings = append(all.findings, wire.Finding{Rule: "argument", Level: wire.Error, Text: out.Text})
		all.hint = cmp.Or(all.hint, out.Hint)
	}
	if len(wrong) == 0 {
		return nil
	}
	return all
}

// onceFromStandardInput: who reads it second would find it empty.
func onceFromStandardInput(document string, words []string) error {
	uses := 0
	for _, text := range append([]string{document}, words...) {
		_, value := operator(text)
		if text == "-" || text == "@-" || value > 0 && !isDocument(text) && text[value:] == "@-" {
			uses++
		}
	}
	if uses > 1 {
		return hinted("stdin can be read only once", "pass one of them as a file: @FILE")
	}
	return nil
}

// A reading is what has become of the words: the arguments, what is wrong with
// them, and what a person may have meant otherwise.
type reading struct {
	arguments json.RawMessage
	// filled is set where defaults of the schema are among them.
	filled   bool
	findings []wire.Finding
	// warnings and notes are for a person.
	warnings, notes []string
	// doubtful are the words that the notes are about.
	doubtful []word
}

// otherwise is the hint for a word that was taken for a text, which does not fit.
func (r reading) otherwise(findings []wire.Finding) string {
	for _, w := range r.doubtful {
		if slices.ContainsFunc(findings, func(f wire.Finding) bool { return f.Where == w.pointer() }) {
			return fmt.Sprintf("%s is sent as a string; %s:=%s sends the %s", wire.Excerpt([]byte(w.typed), 60),
				w.key(), wire.Excerpt([]byte(w.text), 60), kindOfJSON(w.text))
		}
	}
	return ""
}

// unsaid are the findings of a check that are not about the words that were found not to
// fit, which it saw as texts, and that do not come of them.
func unsaid(findings, said []wire.Finding) []wire.Finding {
	comes := func(f wire.Finding) bool {
		name, _ := wire.Text(json.RawMessage(f.Want))
		return slices.ContainsFunc(said, func(s wire.Finding) bool {
			at, _, _ := strings.Cut(s.Where, "/-")
			switch about := within(f.Where, at); f.Rule {
			case "required":
				return about || within(at, f.Where+pointer(name))
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

// tell says them.
func (a *env) tell(r reading) {
	for _, text := range r.warnings {
		a.ui.warn(text)
	}
	for _, text := range r.notes {
		a.ui.note(text)
	}
}

// read makes the arguments, with the types that the schema wants; nil is a schema
// that says nothing. A lenient reading sends what does not fit as a text.
func (g given) read(schema *validate.Schema, lenient bool) reading {
	r := reading{arguments: g.document}
	for _, w := range g.words {
		place := schema.Expected()
		for i, p := range w.path {
			next, known := below(schema, place, p)
			if !known && !p.list {
				r.unknown(w, i, place)
			}
			place = next
		}
		value, problem, note := w.raw, "", ""
		if value == nil {
			value, problem, note = typedText(w, place)
		}
		if problem != "" && lenient {
			problem = ""
		}
		object := r.arguments
		if problem == "" {
			object, problem = putAt(r.arguments, w.path, value)
		}
		if problem != "" {
			r.findings = append(r.findings, wire.Finding{Rule: "argument", Level: wire.Error, Where: w.pointer(), Text: problem + ", got " + wire.Excerpt([]byte(w.typed), 60)})
			continue
		}
		r.arguments = object
		if note != "" {
			r.notes, r.doubtful = append(r.notes, note), append(r.doubtful, w)
		}
	}
	if bad := wire.Valid(r.arguments); bad != nil {
		r.findings = append(r.findings, wire.Finding{Rule: "argument", Level: wire.Error, Text: "they do not form valid JSON: " + bad.Error()})
	}
	return r
}

// texts makes arguments that are all texts, as a prompt's are.
func (g given) texts() json.RawMessage {
	object := g.document
	for _, w := range g.words {
		value := w.raw
		if value == nil {
			value = wire.Quote(w.text)
		}
		object = wire.With(object, w.path[0].name, value)
	}
	return object
}

func below(schema *validate.Schema, place validate.Expected, p part) (validate.Expected, bool) {
	if p.list {
		return schema.Item(place, max(p.at, 0))
	}
	return schema.Member(place, p.name)
}

// unknown tells of a name that the schema does not list and does not forbid. One
// that it forbids is a finding of the check that follows.
func (r *reading) unknown(w word, at int, place validate.Expected) {
	names := place.Names()
	if len(names) == 0 || place.Closed() || slices.Contains(names, w.path[at].name) {
		return
	}
	text := "the inputSchema has no argument " + strconv.Quote(written(w.path[:at+1]))
	if near := meant(w.path[at:], names); near != "" {
		text += "; did you mean " + near + "?"
	}
	r.warnings = append(r.warnings, text)
}

// meant is the name that the path perhaps should have been: one with dots in it,
// or one that is spelled nearly so.
func meant(path []part, names []string) string {
	var whole []string
	for _, p := range path {
		whole = append(whole, p.name)
		if dotted := strings.Join(whole, "."); len(whole) > 1 && slices.Contains(names, dotted) {
			return escapedName(dotted)
		}
	}
	return wire.Nearest(path[0].name, names)
}

// written is a path as it would be typed.
func written(path []part) string {
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
			b.WriteString(escapedName(p.name))
		}
	}
	return b.String()
}

// escapedName is a name as it stands in a path.
func escapedName(name string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "[", `\[`, "=", `\=`, ":=", `\:=`).Replace(name)
}

// pointer is where the word's value stands (RFC 6901).
func (w word) pointer() (where string) {
	for _, p := range w.path {
		switch {
		case !p.list:
			where += pointer(p.name)
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
func putAt(into json.RawMessage, path []part, value json.RawMessage) (out json.RawMessage, problem string) {
	if len(path) == 0 {
		return value, ""
	}
	if path[0].list {
		return putItem(into, path, value)
	}
	into = orEmpty(into)
	members, bad := wire.Object(into)
	if bad != nil {
		return nil, fmt.Sprintf("%s is not an object, so it cannot have the member %q", wire.Excerpt(into, 40), path[0].name)
	}
	inner, _ := members.Get(path[0].name)
	if inner, problem = putAt(inner, path[1:], value); problem != "" {
		return nil, problem
	}
	return wire.With(into, path[0].name, inner), ""
}

func putItem(into json.RawMessage, path []part, value json.RawMessage) (out json.RawMessage, problem string) {
	if into == nil {
		into = json.RawMessage("[]")
	}
	items, bad := wire.Array(into)
	if bad != nil {
		return nil, wire.Excerpt(into, 40) + " is not an array"
	}
	at := path[0].at
	switch {
	case at == behindLast:
		at = len(items)
	case at > len(items):
		return nil, fmt.Sprintf("item [%d] would leave a gap after %d items", at, len(items))
	}
	if at == len(items) {
		items = append(items, nil)
	}
	if items[at], problem = putAt(items[at], path[1:], value); problem != "" {
		return nil, problem
	}
	return asList(items), ""
}

// asList is an array of items, whose bytes stay.
func asList(items []json.RawMessage) json.RawMessage {
	list := json.RawMessage("[")
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']')
}
