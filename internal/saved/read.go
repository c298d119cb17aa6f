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
	f := r.parseFile(raw)
	return f, r.problems
}

// A reader parses a file and collects its problems.
type reader struct{ problems []Problem }

// addProblem adds a problem.
func (r *reader) addProblem(pointer, format string, args ...any) {
	r.problems = append(r.problems, Problem{At: pointer, Text: fmt.Sprintf(format, args...)})
}

// parseObject returns the members of a mapping. It reports other values, and names that are not in
// known; without known all names are allowed.
func (r *reader) parseObject(raw json.RawMessage, pointer, what string, known ...string) jsonraw.Members {
	members, err := jsonraw.Object(raw)
	if err != nil {
		r.addProblem(pointer, "%s must be a mapping, got %s", what, excerpt(raw))
		return nil
	}
	for _, m := range members {
		if len(known) > 0 && !slices.Contains(known, m.Name) {
			p := Problem{
				At: jsonraw.Pointer(pointer, m.Name), OnName: true, Got: m.Name, Known: known,
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
	"isError":      `a failed tool is expect: {kind: tool_error}`,
	"error":        `an expected failure is expect: {kind: KIND}, as tool_error or rpc_error (mcpc help exit-codes)`,
	"arguments":    `put the arguments into args: {...}`,
	"assert":       `put the expectations into expect: {...}`,
	"assertions":   `put the expectations into expect: {...}`,
	"data":         rowsElsewhere,
	"delay":        repeatElsewhere,
	"env":          environmentElsewhere,
	"environment":  environmentElsewhere,
	"examples":     rowsElsewhere,
	"input":        `put the arguments into args: {...}`,
	"iterations":   repeatElsewhere,
	"matrix":       rowsElsewhere,
	"max-duration": `expect: {within: 5s} limits the time of one step`,
	"repeat":       repeatElsewhere,
	"retries":      repeatElsewhere,
	"retry":        repeatElsewhere,
	"timeout": `expect: {within: 5s} limits the time of one step, ` +
		`mcpc run --timeout 5s the time without a response`,
	"tool":      `call: TOOL names the tool`,
	"url":       `server: URL names the server`,
	"variables": `put the variables into vars: {...}`,
	"within":    `expect: {within: 5s} limits the time of one step`,
}

const (
	rowsElsewhere   = `a file has no rows of data: run it once for each with --var NAME=VALUE`
	repeatElsewhere = `a step runs once: repeat the run in the shell, ` +
		`as in: until mcpc run FILE; do sleep 1; done`
	environmentElsewhere = `"${env.NAME}" is a variable of the environment; set -a; . ./.env sets the variables of a file`
)

// parseText parses a text and checks its references.
func (r *reader) parseText(raw json.RawMessage, pointer, what string) string {
	text, ok := jsonraw.Text(raw)
	if !ok {
		r.addProblem(pointer, "%s must be a text, got %s", what, excerpt(raw))
	}
	r.checkReferences(raw, pointer)
	return text
}

// parseTexts parses one text or a list of texts.
func (r *reader) parseTexts(raw json.RawMessage, pointer, what string) []Wanted {
	items, err := jsonraw.Array(raw)
	if err != nil {
		return []Wanted{{pointer, r.parseText(raw, pointer, what)}}
	}
	var all []Wanted
	for i, item := range items {
		pointer := pointer + "/" + strconv.Itoa(i)
		all = append(all, Wanted{pointer, r.parseText(item, pointer, what)})
	}
	return all
}

// parseWords parses texts whose JSON pointers do not matter.
func (r *reader) parseWords(raw json.RawMessage, pointer, what string) []string {
	var all []string
	for _, w := range r.parseTexts(raw, pointer, what) {
		all = append(all, w.Text)
	}
	return all
}

// parseFile parses the whole file.
func (r *reader) parseFile(raw json.RawMessage) File {
	var f File
	if string(raw) == "null" {
		r.addProblem("", "the file is empty: it needs steps, such as steps: [{call: TOOL}]")
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
	members := r.parseObject(raw, "", "a file of calls", "name", "server", "command", "protocol", "headers", "answer",
		"answer-defaults", "decline", "on-elicit", "sampling", "on-sampling", "roots", "extensions", "vars", "steps")
	for _, m := range members {
		pointer := jsonraw.Pointer("", m.Name)
		switch m.Name {
		case "command":
			f.Command = r.parseWords(m.Value, pointer, "a word of the command")
		case "headers":
			for _, h := range r.parseObject(m.Value, pointer, "headers") {
				value := r.parseText(h.Value, jsonraw.Pointer(pointer, h.Name), "a header field")
				f.Headers = append(f.Headers, wire.Field{Name: h.Name, Value: value})
			}
		case "answer":
			f.Answer = r.checkAnswers(m.Value, pointer)
		case "answer-defaults":
			f.Answering.Defaults = r.parseBoolean(m.Value, pointer, m.Name)
		case "decline":
			f.Answering.Decline = r.parseBoolean(m.Value, pointer, m.Name)
		case "roots":
			f.Answering.Roots = r.parseWords(m.Value, pointer, "a root")
		case "extensions":
			f.Answering.Extensions = r.parseWords(m.Value, pointer, "an extension")
		case "vars":
			f.Vars = r.parseVars(m.Value, pointer)
		case "steps":
			f.Steps = r.parseSteps(m.Value, pointer)
		default:
			if text := texts[m.Name]; text != nil {
				*text = r.parseText(m.Value, pointer, m.Name)
			}
		}
	}
	if words := strings.Fields(f.Server); len(words) > 1 {
		r.problems = append(r.problems, Problem{
			At: "/server", Text: "server is a URL or a name, and the command of a stdio server is in command",
			Hint: "command: [" + strings.Join(words, ", ") + "]",
		})
	}
	if f.Server != "" && f.Command != nil {
		r.addProblem("/command", "server and command both name a server")
	}
	if _, hasSteps := members.Get("steps"); !hasSteps && members != nil {
		r.addProblem("", "there are no steps")
	}
	r.checkSecrets(f)
	return f
}

// parseBoolean parses true or false.
func (r *reader) parseBoolean(raw json.RawMessage, pointer, what string) bool {
	if string(raw) != "true" && string(raw) != "false" {
		r.addProblem(pointer, "%s is true or false", what)
	}
	return string(raw) == "true"
}

// checkAnswers checks the answers to the server's requests.
func (r *reader) checkAnswers(raw json.RawMessage, pointer string) json.RawMessage {
	check := func(raw json.RawMessage, pointer, what string) {
		if _, isText := jsonraw.Text(raw); !isText {
			r.parseObject(raw, pointer, what)
		}
	}
	if items, err := jsonraw.Array(raw); err == nil {
		for i, item := range items {
			check(item, pointer+"/"+strconv.Itoa(i), "an answer")
		}
	} else {
		check(raw, pointer, "answer")
	}
	r.checkReferences(raw, pointer)
	return raw
}

// parseVars parses the file's variables.
func (r *reader) parseVars(raw json.RawMessage, pointer string) []Var {
	var vars []Var
	for _, m := range r.parseObject(raw, pointer, "vars") {
		r.checkName(m.Name, jsonraw.Pointer(pointer, m.Name))
		if inner := References(m.Value); len(inner) > 0 {
			const text = "a variable cannot refer to others: write %s where it is used"
			r.addProblem(jsonraw.Pointer(pointer, m.Name), text, inner[0])
		}
		vars = append(vars, Var{m.Name, m.Value})
	}
	return vars
}

// checkName checks the name of a variable.
func (r *reader) checkName(name, pointer string) {
	if !IsName(name) {
		r.problems = append(r.problems, Problem{
			At: pointer, OnName: true,
			Text: fmt.Sprintf("%q is not a variable name: use letters, digits and _, and no digit first", name),
		})
	}
}

// parseSteps parses the list of steps and makes their names unique.
func (r *reader) parseSteps(raw json.RawMessage, pointer string) []Step {
	items, err := jsonraw.Array(raw)
	if err != nil {
		r.addProblem(pointer, "steps must be a list, got %s", excerpt(raw))
	} else if len(items) == 0 {
		r.addProblem(pointer, "there are no steps")
	}
	names := map[string]int{}
	var steps []Step
	for i, item := range items {
		s := r.parseStep(item, pointer+"/"+strconv.Itoa(i))
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

// parseStep parses one step.
func (r *reader) parseStep(raw json.RawMessage, pointer string) Step {
	known := slices.Clone(stepKeys)
	for _, v := range verbs {
		known = append(known, string(v))
	}
	s := Step{At: pointer, Expect: Expect{At: pointer, Exit: exitOfKind}}
	members := r.parseObject(raw, pointer, "a step", known...)
	var usedVerbs []string
	for _, m := range members {
		pointer := jsonraw.Pointer(pointer, m.Name)
		switch m.Name {
		case "name":
			s.Name = r.parseText(m.Value, pointer, "name")
		case "args", "params":
			s.Args = m.Value
			s.ArgsAt = pointer
			r.checkReferences(m.Value, pointer)
		case "validate":
			r.parseBoolean(m.Value, pointer, "validate")
			s.Loose = string(m.Value) == "false" // an invalid value does not disable the validation
		case "capture":
			s.Capture = r.parseCaptures(m.Value, pointer)
		case "expect":
			s.Expect = r.parseExpect(m.Value, pointer)
		default:
			if slices.Contains(verbs, Verb(m.Name)) {
				s.Verb = Verb(m.Name)
				s.Subject = r.parseText(m.Value, pointer, m.Name)
				usedVerbs = append(usedVerbs, m.Name)
			}
		}
	}
	r.checkOneVerb(usedVerbs, pointer, members)
	r.checkArguments(s, members)
	if s.Name == "" {
		s.Name = string(s.Verb) + " " + s.Subject
	}
	return s
}

// checkOneVerb checks that a step has one verb. It does not report a missing verb if the last
// problem is in the step, because the verb may be misspelled.
func (r *reader) checkOneVerb(usedVerbs []string, pointer string, members jsonraw.Members) {
	last := len(r.problems) - 1
	hasProblem := last >= 0 && strings.HasPrefix(r.problems[last].At, pointer+"/")
	if len(usedVerbs) > 1 {
		r.addProblem(pointer, "a step has one action, not %s", strings.Join(usedVerbs, " and "))
	} else if len(usedVerbs) == 0 && members != nil && !hasProblem {
		r.addProblem(pointer, "the step has no action: call, read, prompt, list or raw")
	}
}

// checkArguments checks that the arguments fit the verb.
func (r *reader) checkArguments(s Step, members jsonraw.Members) {
	_, hasArgs := members.Get("args")
	_, hasParams := members.Get("params")
	switch {
	case hasArgs && s.Verb == Raw:
		r.addProblem(s.At+"/args", "raw takes params")
	case hasParams && s.Verb != Raw:
		r.addProblem(s.At+"/params", "%s takes args", s.Verb)
	case hasArgs && s.Verb == List:
		r.addProblem(s.At+"/args", "list takes no args")
	case hasArgs:
		r.parseObject(s.Args, s.At+"/args", "args")
	}
	if s.Loose && s.Verb != Call && s.Verb != Prompt {
		r.addProblem(s.At+"/validate", "only call and prompt are validated")
	}
}

// anyQuery replaces an invalid query, so that it causes no further problem.
const anyQuery = "."

// parseCaptures parses the variables that a step sets.
func (r *reader) parseCaptures(raw json.RawMessage, pointer string) []Capture {
	var all []Capture
	for _, m := range r.parseObject(raw, pointer, "capture") {
		pointer := jsonraw.Pointer(pointer, m.Name)
		r.checkName(m.Name, pointer)
		query, ok := jsonraw.Text(m.Value)
		if !ok {
			query = anyQuery
			r.addProblem(pointer, "a capture must be a jq expression, got %s", excerpt(m.Value))
		}
		all = append(all, Capture{pointer, m.Name, query})
	}
	return all
}

// exitOfKind as an expected exit code stands for the code of the expected kind.
const exitOfKind = -1

// parseExpect parses the expected outcome of a step: jq expressions, or a mapping.
func (r *reader) parseExpect(raw json.RawMessage, pointer string) Expect {
	e := Expect{At: pointer, Exit: exitOfKind}
	if _, err := jsonraw.Object(raw); err != nil {
		e.Queries = r.parseQueries(raw, pointer)
		return e
	}
	problemsBefore := len(r.problems)
	members := r.parseObject(raw, pointer, "expect", "kind", "exit", "text", "jq", "result", "within")
	for _, m := range members {
		pointer := jsonraw.Pointer(pointer, m.Name)
		switch m.Name {
		case "kind":
			e.Kind = r.parseKind(m.Value, pointer)
		case "exit":
			e.Exit = r.parseExitCode(m.Value, pointer)
		case "text":
			e.Texts = r.parseTexts(m.Value, pointer, "text")
		case "jq":
			e.Queries = r.parseQueries(m.Value, pointer)
		case "result":
			e.Result = m.Value
			e.ResultAt = pointer
			r.checkReferences(m.Value, pointer)
		case "within":
			e.Within = r.parseDuration(m.Value, pointer)
			e.WithinAt = pointer
		}
	}
	_, hasKind := members.Get("kind")
	isValid := len(r.problems) == problemsBefore
	if isValid && hasKind && e.Exit >= 0 && e.Kind.ExitCode() != e.Exit {
		r.addProblem(pointer+"/exit", "kind and exit contradict each other: that kind ends with %d", e.Kind.ExitCode())
	}
	return e
}

// parseQueries parses jq expressions. ${…} in them is no reference: jq has its own variables, $name.
func (r *reader) parseQueries(raw json.RawMessage, pointer string) []Wanted {
	items, err := jsonraw.Array(raw)
	isList := err == nil
	if !isList {
		items = []json.RawMessage{raw}
	}
	var all []Wanted
	for i, item := range items {
		pointer := pointer
		if isList {
			pointer += "/" + strconv.Itoa(i)
		}
		text, ok := jsonraw.Text(item)
		if string(item) == "true" || string(item) == "false" {
			text = string(item)
		} else if !ok {
			text = anyQuery
			r.addProblem(pointer, "an expectation must be a jq expression, got %s", excerpt(item))
		}
		all = append(all, Wanted{pointer, text})
	}
	return all
}

// Good is the name of wire.OK in a file.
const Good = "ok"

// parseKind parses the expected kind of outcome.
func (r *reader) parseKind(raw json.RawMessage, pointer string) wire.Kind {
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
		r.problems = append(r.problems, Problem{At: pointer, Got: word, Known: known, Text: text})
	}
	return wire.Kind(word)
}

// parseExitCode parses an exit code.
func (r *reader) parseExitCode(raw json.RawMessage, pointer string) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 || n > 255 {
		r.addProblem(pointer, "exit must be an exit code (mcpc help exit-codes), got %s", excerpt(raw))
	}
	return n
}

// parseDuration parses a time; a number is in seconds.
func (r *reader) parseDuration(raw json.RawMessage, pointer string) time.Duration {
	word, ok := jsonraw.Text(raw)
	if !ok {
		word = string(raw) + "s"
	}
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 {
		r.addProblem(pointer, "within must be a time, such as 500ms or 2s, got %s", excerpt(raw))
	}
	return d
}

// excerpt returns the beginning of a value for an error.
func excerpt(raw json.RawMessage) string { return jsonraw.Excerpt(raw, 40) }
