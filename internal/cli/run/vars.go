package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/jq"
	"mcpc/internal/saved"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
)

// findUnresolved returns the problems of names in a file: variables without a value, invalid jq
// expressions, an unknown protocol revision, and unknown kinds of lists. given are the variables of
// the command line.
func findUnresolved(f *cmdutil.Factory, file *runFile, given map[string]saved.Value) []saved.Problem {
	c := &nameChecker{factory: f, file: file, known: slices.Collect(maps.Keys(given))}
	for _, v := range file.Vars {
		c.known = append(c.known, v.Name)
	}
	slices.Sort(c.known)
	c.known = slices.Compact(c.known)
	c.checkReferences("/server", jsonraw.Quote(file.Server))
	c.checkReferences("/command", jsonraw.Quote(strings.Join(file.Command, " ")))
	for _, h := range file.Headers {
		c.checkReferences(jsonraw.Pointer("/headers", h.Name), jsonraw.Quote(h.Value))
	}
	if file.Answer != nil {
		c.checkReferences("/answer", file.Answer)
	}
	if file.Protocol != "" && !slices.Contains(client.Revisions(), file.Protocol) {
		c.problems = append(c.problems, saved.Problem{
			At: "/protocol", Got: file.Protocol, Known: client.Revisions(),
			Text: fmt.Sprintf("unknown revision %q", file.Protocol),
		})
	}
	for _, s := range file.Steps {
		c.checkStep(s)
	}
	return c.problems
}

// A nameChecker collects the problems of names in a file, step by step.
type nameChecker struct {
	factory  *cmdutil.Factory
	file     *runFile
	problems []saved.Problem
	// known are the names of variables that have a value before the next step.
	known []string
}

// checkStep checks the names in a step. The variables that it captures have a value from then on,
// for its own expectations too.
func (c *nameChecker) checkStep(s saved.Step) {
	c.checkReferences(s.At+"/"+string(s.Verb), jsonraw.Quote(s.Subject))
	if s.Args != nil {
		c.checkReferences(s.ArgsAt, s.Args)
	}
	for _, capture := range s.Capture {
		c.checkQuery(capture.At, capture.Query)
		c.known = append(c.known, capture.Name)
	}
	for _, w := range s.Expect.Queries {
		c.checkQuery(w.At, w.Text)
	}
	if s.Expect.Result != nil {
		c.checkReferences(s.Expect.ResultAt, s.Expect.Result)
	}
	for _, w := range s.Expect.Texts {
		c.checkReferences(w.At, jsonraw.Quote(w.Text))
	}
	if _, ok := connect.KindNamed(s.Subject); !ok && s.Verb == saved.List && s.Subject != "" {
		c.problems = append(c.problems, saved.Problem{
			At: s.At + "/list", Got: s.Subject, Known: connect.KindWords(),
			Text: fmt.Sprintf("cannot list %q", s.Subject),
		})
	}
}

// checkReferences checks that each variable in raw, the value at pointer in the file, has a value.
func (c *nameChecker) checkReferences(pointer string, raw json.RawMessage) {
	saved.EachReference(raw, pointer, func(pointer, name string) {
		if variable, ok := strings.CutPrefix(name, saved.Environment); ok {
			if _, isSet := lookupEnvironment(c.factory, variable); !isSet {
				c.problems = append(c.problems, saved.Problem{
					At: pointer, Unset: true, Text: "the environment has no variable " + variable,
					Hint: c.file.hintToSet(variable),
				})
			}
		} else if saved.IsName(name) && !slices.Contains(c.known, name) {
			c.problems = append(c.problems, saved.Problem{
				At: pointer, Unset: true, Got: name, Known: c.known, Text: "no variable is named " + name + " here",
			})
		}
	})
}

// checkQuery checks that a jq expression, which is at pointer in the file, compiles. The values of
// its variables do not matter for that.
func (c *nameChecker) checkQuery(pointer, expr string) {
	names := slices.DeleteFunc(slices.Clone(c.known), func(name string) bool { return !saved.IsName(name) })
	variables := sliceutil.Map(names, func(name string) jq.Variable {
		return jq.Variable{Name: name, Value: json.RawMessage("null")}
	})
	if _, err := jq.Compile(expr, variables...); err != nil {
		// gojq exports no type for this error, so only its text distinguishes it.
		isUndefined := strings.Contains(err.Error(), "variable not defined")
		c.problems = append(c.problems, saved.Problem{At: pointer, Unset: isUndefined, Text: err.Error()})
	}
}

// hintToSet returns the hint for a variable of the environment that is not set. It points to the
// comment of export that describes the value, if the file has it. A saved file has no other place for
// the description.
func (f *runFile) hintToSet(variable string) string {
	for i, line := range strings.Split(f.text, "\n") {
		if strings.HasPrefix(line, "# Set "+variable+" to ") {
			return fmt.Sprintf("set %s; the comment in line %d describes its value", variable, i+1)
		}
	}
	return "set " + variable
}

// parseVarFlags parses the --var flags into values by name. A later flag replaces an earlier one. A
// value without := or @ has no type: a schema decides.
func parseVarFlags(f *cmdutil.Factory, typed []string) (map[string]saved.Value, error) {
	values := map[string]saved.Value{}
	const flat = true // a name, not a path
	for _, text := range typed {
		w, err := arguments.ParseWord(&f.Env, text, flat)
		if err != nil {
			return nil, err
		}
		if name := w.Path[0].Name; len(w.Path) > 1 || !saved.IsName(name) {
			return nil, usage.New(
				fmt.Sprintf("--var: %q is not a variable name", name),
				"use letters, digits and _, and no digit first",
			)
		}
		v := saved.Value{JSON: w.Raw}
		if w.Raw == nil {
			v = saved.Value{JSON: jsonraw.Quote(w.Text), Untyped: true}
		}
		values[w.Path[0].Name] = v
	}
	return values, nil
}

// lookupEnvironment returns a variable of the environment, and whether it is set.
func lookupEnvironment(f *cmdutil.Factory, name string) (string, bool) {
	for _, entry := range f.Environ() {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			return v, true
		}
	}
	return "", false
}

// warnUnused warns of each --var that no file uses: neither as a variable of its own, in a reference,
// nor after a $ in a jq expression.
func (r *runner) warnUnused() {
	var used []string
	for _, f := range r.files {
		for _, v := range f.Vars {
			used = append(used, v.Name)
		}
		for _, ref := range saved.References(f.doc.JSON) {
			used = append(used, strings.Trim(ref, "${}"))
		}
	}
	for name := range r.given {
		inQuery := func(f *runFile) bool { return bytes.Contains(f.doc.JSON, []byte("$"+name)) }
		if slices.Contains(used, name) || slices.ContainsFunc(r.files, inQuery) {
			continue
		}
		r.factory.Warn(suggest.OrMeant("no file uses the variable "+name, name, used))
	}
}

// variablesInQueries returns the names after a $ in the jq expressions of a step. Some may be
// variables of the expression itself.
func variablesInQueries(s saved.Step) []string {
	queries := sliceutil.Map(s.Expect.Queries, func(w saved.Wanted) string { return w.Text })
	for _, c := range s.Capture {
		queries = append(queries, c.Query)
	}
	isNoNameRune := func(r rune) bool {
		isDigit := r >= '0' && r <= '9'
		isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !isDigit && !isLetter && r != '_'
	}
	var names []string
	for _, query := range queries {
		for _, part := range strings.Split(query, "$")[1:] {
			end := strings.IndexFunc(part, isNoNameRune)
			if end < 0 {
				end = len(part)
			}
			names = append(names, part[:end])
		}
	}
	return names
}
