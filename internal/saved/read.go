package saved

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// ReadFile parses a file and returns all problems. With problems that are not Mild the File must not
// be used.
func ReadFile(raw json.RawMessage) (File, []Problem) {
	r := &reader{}
	f := r.file(raw)
	return f, r.problems
}

// A reader parses a file and collects its problems.
type reader struct{ problems []Problem }

// bad adds a problem.
func (r *reader) bad(at, format string, args ...any) {
	r.problems = append(r.problems, Problem{At: at, Text: fmt.Sprintf(format, args...)})
}

// object returns the members of a mapping. It reports other values, and names that are not in known;
// without known all names are allowed.
func (r *reader) object(raw json.RawMessage, at, what string, known ...string) jsonraw.Members {
	members, err := jsonraw.Object(raw)
	if err != nil {
		r.bad(at, "%s must be a mapping, got %s", what, excerpt(raw))
		return nil
	}
	for _, m := range members {
		if len(known) > 0 && !slices.Contains(known, m.Name) {
			p := Problem{
				At: jsonraw.Pointer(at, m.Name), OnName: true, Got: m.Name, Known: known,
				Text: fmt.Sprintf("%s has no key %q", what, m.Name),
			}
			if hint := keysElsewhere[m.Name]; hint != "" {
				p.Hint = hint
				p.Known = nil
			}
			r.problems = append(r.problems, p)
		}
	}
	return members
}

// keysElsewhere has hints for keys that similar files of other programs use.
var keysElsewhere = map[string]string{
	"arguments":    `args: {...} has the arguments`,
	"assert":       `expect: {...} has the expectations`,
	"assertions":   `expect: {...} has the expectations`,
	"data":         rowsElsewhere,
	"delay":        repeatElsewhere,
	"env":          environmentElsewhere,
	"environment":  environmentElsewhere,
	"examples":     rowsElsewhere,
	"input":        `args: {...} has the arguments`,
	"iterations":   repeatElsewhere,
	"matrix":       rowsElsewhere,
	"max-duration": `expect: {within: 5s} bounds the time of one step`,
	"repeat":       repeatElsewhere,
	"retries":      repeatElsewhere,
	"retry":        repeatElsewhere,
	"timeout": `expect: {within: 5s} bounds the time of one step, ` +
		`mcpc run --timeout 5s the silence in every request`,
	"tool":      `call: TOOL names the tool`,
	"url":       `server: URL names the server`,
	"variables": `vars: {...} has the variables`,
	"within":    `expect: {within: 5s} bounds the time of one step`,
}

const (
	rowsElsewhere   = `a file has no rows: run it once for each with --var NAME=VALUE`
	repeatElsewhere = `a step is taken once: repeat the run in the shell, ` +
		`as in: until mcpc run FILE; do sleep 1; done`
	environmentElsewhere = `"${env.NAME}" is a variable of the environment; set -a; . ./.env sets the variables of a file`
)

// text parses a text and checks its references.
func (r *reader) text(raw json.RawMessage, at, what string) string {
	text, ok := jsonraw.Text(raw)
	if !ok {
		r.bad(at, "%s must be a text, got %s", what, excerpt(raw))
	}
	r.references(raw, at)
	return text
}

// texts parses one text or a list of texts.
func (r *reader) texts(raw json.RawMessage, at, what string) (all []Wanted) {
	items, err := jsonraw.Array(raw)
	if err != nil {
		return []Wanted{{at, r.text(raw, at, what)}}
	}
	for i, item := range items {
		at := at + "/" + strconv.Itoa(i)
		all = append(all, Wanted{at, r.text(item, at, what)})
	}
	return all
}

// words parses texts whose JSON pointers do not matter.
func (r *reader) words(raw json.RawMessage, at, what string) (all []string) {
	for _, w := range r.texts(raw, at, what) {
		all = append(all, w.Text)
	}
	return all
}

// file parses the whole file.
func (r *reader) file(raw json.RawMessage) (f File) {
	if string(raw) == "null" {
		r.bad("", "the file is empty: it needs steps, such as steps: [{call: TOOL}]")
		return f
	}
	texts := map[string]*string{
		"name":        &f.Name,
		"server":      &f.Server,
		"protocol":    &f.Protocol,
		"on-elicit":   &f.Answering.OnElicit,
		"sampling":    &f.Answering.Sampling,
		"on-sampling": &f.Answering.OnSampling,
	}
	members := r.object(raw, "", "a file of calls", "name", "server", "command", "protocol", "headers", "answer",
		"answer-defaults", "decline", "on-elicit", "sampling", "on-sampling", "roots", "extensions", "vars", "steps")
	for _, m := range members {
		at := jsonraw.Pointer("", m.Name)
		switch m.Name {
		case "command":
			f.Command = r.words(m.Value, at, "a word of the command")
		case "headers":
			for _, h := range r.object(m.Value, at, "headers") {
				value := r.text(h.Value, jsonraw.Pointer(at, h.Name), "a header field")
				f.Headers = append(f.Headers, wire.Field{Name: h.Name, Value: value})
			}
		case "answer":
			f.Answer = r.answer(m.Value, at)
		case "answer-defaults":
			f.Answering.Defaults = r.boolean(m.Value, at, m.Name)
		case "decline":
			f.Answering.Decline = r.boolean(m.Value, at, m.Name)
		case "roots":
			f.Answering.Roots = r.words(m.Value, at, "a root")
		case "extensions":
			f.Answering.Extensions = r.words(m.Value, at, "an extension")
		case "vars":
			f.Vars = r.vars(m.Value, at)
		case "steps":
			f.Steps = r.steps(m.Value, at)
		default:
			if text := texts[m.Name]; text != nil {
				*text = r.text(m.Value, at, m.Name)
			}
		}
	}
	if f.Server != "" && f.Command != nil {
		r.bad("/command", "server and command both name a server")
	}
	if _, hasSteps := members.Get("steps"); !hasSteps && members != nil {
		r.bad("", "there are no steps")
	}
	r.secrets(f)
	return f
}

// boolean parses true or false.
func (r *reader) boolean(raw json.RawMessage, at, what string) bool {
	if string(raw) != "true" && string(raw) != "false" {
		r.bad(at, "%s is true or false", what)
	}
	return string(raw) == "true"
}

// answer checks the answers to the server's requests.
func (r *reader) answer(raw json.RawMessage, at string) json.RawMessage {
	check := func(raw json.RawMessage, at, what string) {
		if _, isText := jsonraw.Text(raw); !isText {
			r.object(raw, at, what)
		}
	}
	if items, err := jsonraw.Array(raw); err == nil {
		for i, item := range items {
			check(item, at+"/"+strconv.Itoa(i), "an answer")
		}
	} else {
		check(raw, at, "answer")
	}
	r.references(raw, at)
	return raw
}

// vars parses the file's variables.
func (r *reader) vars(raw json.RawMessage, at string) (vars []Var) {
	for _, m := range r.object(raw, at, "vars") {
		r.name(m.Name, jsonraw.Pointer(at, m.Name))
		if inner := References(m.Value); len(inner) > 0 {
			r.bad(jsonraw.Pointer(at, m.Name), "a variable cannot refer to others: write %s where it is used", inner[0])
		}
		vars = append(vars, Var{m.Name, m.Value})
	}
	return vars
}

// name checks the name of a variable.
func (r *reader) name(name, at string) {
	if !IsName(name) {
		r.problems = append(r.problems, Problem{
			At: at, OnName: true,
			Text: fmt.Sprintf("%q is not a variable name: letters, digits and _, and no digit first", name),
		})
	}
}

// steps parses the list of steps and makes their names unique.
func (r *reader) steps(raw json.RawMessage, at string) (steps []Step) {
	items, err := jsonraw.Array(raw)
	if err != nil {
		r.bad(at, "steps must be a list, got %s", excerpt(raw))
	} else if len(items) == 0 {
		r.bad(at, "there are no steps")
	}
	names := map[string]int{}
	for i, item := range items {
		s := r.step(item, at+"/"+strconv.Itoa(i))
		names[s.Name]++
		if names[s.Name] > 1 {
			s.Name += " #" + strconv.Itoa(names[s.Name])
		}
		steps = append(steps, s)
	}
	return steps
}

// stepKeys are the keys of a step, in addition to its verb.
var stepKeys = []string{"name", "args", "params", "validate", "capture", "expect"}

// step parses one step.
func (r *reader) step(raw json.RawMessage, at string) Step {
	known := slices.Clone(stepKeys)
	for _, v := range verbs {
		known = append(known, string(v))
	}
	s := Step{At: at, Expect: Expect{At: at, Exit: -1}}
	members := r.object(raw, at, "a step", known...)
	var found []string
	for _, m := range members {
		at := jsonraw.Pointer(at, m.Name)
		switch m.Name {
		case "name":
			s.Name = r.text(m.Value, at, "name")
		case "args", "params":
			s.Args = m.Value
			s.ArgsAt = at
			r.references(m.Value, at)
		case "validate":
			r.boolean(m.Value, at, "validate")
			s.Loose = string(m.Value) == "false"
		case "capture":
			s.Capture = r.capture(m.Value, at)
		case "expect":
			s.Expect = r.expect(m.Value, at)
		default:
			if slices.Contains(verbs, Verb(m.Name)) {
				s.Verb = Verb(m.Name)
				s.Subject = r.text(m.Value, at, m.Name)
				found = append(found, m.Name)
			}
		}
	}
	r.oneVerb(found, at, members)
	r.arguments(s, members)
	if s.Name == "" {
		s.Name = string(s.Verb) + " " + s.Subject
	}
	return s
}

// oneVerb checks that a step has one verb. It does not report a missing verb if the last problem is
// in the step, because the verb may be misspelled.
func (r *reader) oneVerb(found []string, at string, members jsonraw.Members) {
	n := len(r.problems)
	isReported := n > 0 && strings.HasPrefix(r.problems[n-1].At, at+"/")
	if len(found) > 1 {
		r.bad(at, "a step has one action, not %s", strings.Join(found, " and "))
	} else if len(found) == 0 && members != nil && !isReported {
		r.bad(at, "the step has no action: call, read, prompt, list or raw")
	}
}

// arguments checks that the arguments fit the verb.
func (r *reader) arguments(s Step, members jsonraw.Members) {
	_, hasArgs := members.Get("args")
	_, hasParams := members.Get("params")
	switch {
	case hasArgs && s.Verb == Raw:
		r.bad(s.At+"/args", "raw takes params")
	case hasParams && s.Verb != Raw:
		r.bad(s.At+"/params", "%s takes args", s.Verb)
	case hasArgs && s.Verb == List:
		r.bad(s.At+"/args", "list takes no args")
	case hasArgs:
		r.object(s.Args, s.At+"/args", "args")
	}
	if s.Loose && s.Verb != Call && s.Verb != Prompt {
		r.bad(s.At+"/validate", "only call and prompt are validated")
	}
}

// anyQuery replaces an invalid query, so that it causes no further problem.
const anyQuery = "."

// capture parses the variables that a step sets.
func (r *reader) capture(raw json.RawMessage, at string) (all []Capture) {
	for _, m := range r.object(raw, at, "capture") {
		at := jsonraw.Pointer(at, m.Name)
		r.name(m.Name, at)
		query, ok := jsonraw.Text(m.Value)
		if !ok {
			query = anyQuery
			r.bad(at, "what is captured is a jq expression, got %s", excerpt(m.Value))
		}
		all = append(all, Capture{at, m.Name, query})
	}
	return all
}

// expect parses the expected outcome of a step: jq expressions, or a mapping.
func (r *reader) expect(raw json.RawMessage, at string) Expect {
	e := Expect{At: at, Exit: -1}
	if _, err := jsonraw.Object(raw); err != nil {
		e.Queries = r.queries(raw, at)
		return e
	}
	before := len(r.problems)
	members := r.object(raw, at, "expect", "kind", "exit", "text", "jq", "result", "within")
	for _, m := range members {
		at := jsonraw.Pointer(at, m.Name)
		switch m.Name {
		case "kind":
			e.Kind = r.kind(m.Value, at)
		case "exit":
			e.Exit = r.exit(m.Value, at)
		case "text":
			e.Texts = r.texts(m.Value, at, "text")
		case "jq":
			e.Queries = r.queries(m.Value, at)
		case "result":
			e.Result = m.Value
			e.ResultAt = at
			r.references(m.Value, at)
		case "within":
			e.Within = r.duration(m.Value, at)
			e.WithinAt = at
		}
	}
	_, hasKind := members.Get("kind")
	isValid := len(r.problems) == before
	if isValid && hasKind && e.Exit >= 0 && e.Kind.ExitCode() != e.Exit {
		r.bad(at+"/exit", "kind and exit contradict each other: that kind ends with %d", e.Kind.ExitCode())
	}
	return e
}

// queries parses jq expressions. ${…} in them is no reference: jq has its own variables, $name.
func (r *reader) queries(raw json.RawMessage, at string) (all []Wanted) {
	items, err := jsonraw.Array(raw)
	if err != nil {
		items = []json.RawMessage{raw}
	}
	for i, item := range items {
		at := at
		if err == nil {
			at += "/" + strconv.Itoa(i)
		}
		text, ok := jsonraw.Text(item)
		if string(item) == "true" || string(item) == "false" {
			text = string(item)
		} else if !ok {
			text = anyQuery
			r.bad(at, "what is expected is a jq expression, got %s", excerpt(item))
		}
		all = append(all, Wanted{at, text})
	}
	return all
}

// Good is the name of wire.OK in a file.
const Good = "ok"

// kind parses the expected kind of outcome.
func (r *reader) kind(raw json.RawMessage, at string) wire.Kind {
	word, _ := jsonraw.Text(raw)
	known := []string{Good}
	for _, e := range wire.ExitCodes {
		if e.Kind != wire.OK && e.Kind != wire.Signal {
			known = append(known, string(e.Kind))
		}
	}
	if word == Good {
		return wire.OK
	}
	if !slices.Contains(known, word) {
		text := fmt.Sprintf("unknown kind %s", excerpt(raw))
		r.problems = append(r.problems, Problem{At: at, Got: word, Known: known, Text: text})
	}
	return wire.Kind(word)
}

// exit parses an exit code.
func (r *reader) exit(raw json.RawMessage, at string) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 || n > 255 {
		r.bad(at, "exit is an exit code (mcpc help exit-codes), got %s", excerpt(raw))
	}
	return n
}

// duration parses a time; a number is in seconds.
func (r *reader) duration(raw json.RawMessage, at string) time.Duration {
	word, ok := jsonraw.Text(raw)
	if !ok {
		word = string(raw) + "s"
	}
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 {
		r.bad(at, "within is a time, such as 500ms or 2s, got %s", excerpt(raw))
	}
	return d
}

// excerpt returns the beginning of a value for an error.
func excerpt(raw json.RawMessage) string { return jsonraw.Excerpt(raw, 40) }
