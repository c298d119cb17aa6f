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
// expressions, an unknown protocol revision, and unknown kinds of lists.
func findUnresolved(f *cmdutil.Factory, file *runFile, given map[string]saved.Value) (all []saved.Problem) {
	known := slices.Collect(maps.Keys(given)) // the names that have a value at this step
	for _, v := range file.Vars {
		known = append(known, v.Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	checkReferences := func(pointer string, raw json.RawMessage) {
		saved.EachReference(raw, pointer, func(pointer, name string) {
			if variable, ok := strings.CutPrefix(name, saved.Environment); ok {
				if _, isSet := lookupEnvironment(f, variable); !isSet {
					all = append(all, saved.Problem{
						At: pointer, Unset: true, Text: "the environment has no variable " + variable,
						Hint: file.hintToSet(variable),
					})
				}
			} else if saved.IsName(name) && !slices.Contains(known, name) {
				all = append(all, saved.Problem{
					At: pointer, Unset: true, Got: name, Known: known, Text: "no variable is named " + name + " here",
				})
			}
		})
	}
	checkQuery := func(pointer, expr string) {
		names := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !saved.IsName(name) })
		asNull := func(name string) jq.Variable { return jq.Variable{Name: name, Value: json.RawMessage("null")} }
		if _, err := jq.Compile(expr, sliceutil.Map(names, asNull)...); err != nil { // values do not matter yet
			// gojq exports no type for this error, so only its text distinguishes it.
			isUndefined := strings.Contains(err.Error(), "variable not defined")
			all = append(all, saved.Problem{At: pointer, Unset: isUndefined, Text: err.Error()})
		}
	}
	checkReferences("/server", jsonraw.Quote(file.Server))
	checkReferences("/command", jsonraw.Quote(strings.Join(file.Command, " ")))
	for _, h := range file.Headers {
		checkReferences(jsonraw.Pointer("/headers", h.Name), jsonraw.Quote(h.Value))
	}
	if file.Answer != nil {
		checkReferences("/answer", file.Answer)
	}
	if file.Protocol != "" && !slices.Contains(client.Revisions(), file.Protocol) {
		all = append(all, saved.Problem{
			At: "/protocol", Got: file.Protocol, Known: client.Revisions(),
			Text: fmt.Sprintf("unknown revision %q", file.Protocol),
		})
	}
	for _, s := range file.Steps {
		checkReferences(s.At+"/"+string(s.Verb), jsonraw.Quote(s.Subject))
		if s.Args != nil {
			checkReferences(s.ArgsAt, s.Args)
		}
		for _, c := range s.Capture {
			checkQuery(c.At, c.Query)
			known = append(known, c.Name)
		}
		for _, w := range s.Expect.Queries {
			checkQuery(w.At, w.Text)
		}
		if s.Expect.Result != nil {
			checkReferences(s.Expect.ResultAt, s.Expect.Result)
		}
		for _, w := range s.Expect.Texts {
			checkReferences(w.At, jsonraw.Quote(w.Text))
		}
		if _, ok := connect.KindNamed(s.Subject); !ok && s.Verb == saved.List && s.Subject != "" {
			all = append(all, saved.Problem{
				At: s.At + "/list", Got: s.Subject, Known: connect.KindWords(),
				Text: fmt.Sprintf("cannot list %q", s.Subject),
			})
		}
	}
	return all
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

// parseVarFlags parses the --var flags.
func parseVarFlags(f *cmdutil.Factory, typed []string) (map[string]saved.Value, error) {
	values := map[string]saved.Value{}
	for _, text := range typed {
		w, err := arguments.ParseWord(&f.Env, text, true)
		if err != nil {
			return nil, err
		}
		if name := w.Path[0].Name; len(w.Path) > 1 || !saved.IsName(name) {
			return nil, usage.New(
				fmt.Sprintf("--var: %q is not a variable name", name),
				"letters, digits and _, and no digit first",
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

// lookupEnvironment returns a variable of the environment.
func lookupEnvironment(f *cmdutil.Factory, name string) (value string, set bool) {
	for _, entry := range f.Environ() {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			return v, true
		}
	}
	return "", false
}

// warnUnused warns of a --var that no file uses.
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

// variablesInQueries returns the names after a $ in the jq expressions of a step.
func variablesInQueries(s saved.Step) (names []string) {
	queries := sliceutil.Map(s.Expect.Queries, func(w saved.Wanted) string { return w.Text })
	for _, c := range s.Capture {
		queries = append(queries, c.Query)
	}
	isNoNameRune := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
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
