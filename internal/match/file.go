package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/yaml"
)

// FileEnding is the suffix of the names of matcher files.
const FileEnding = ".mcpc-match.yaml"

// maxRules bounds the rules of a file.
const maxRules = 1000

// Problems are the errors in a file, each with its place.
type Problems []yaml.Error

// Error returns the problems, one on each line.
func (p Problems) Error() string {
	var all []string
	for _, problem := range p {
		all = append(all, problem.Error())
	}
	return strings.Join(all, "\n")
}

// ParseRules reads a file of matchers. Its members are sections. The name of a section is "*", a
// method, or a method, a space and the name of a tool or a prompt or the URI of a resource. A
// section has paths with their matchers. Paths apply to the result; paths under params or error,
// which are members of the section, apply to that part of the message:
//
//	tools/call get-forecast:
//	  .structuredContent.at: time
//	  .structuredContent.rows: unordered by /id
//	  params:
//	    .arguments.when: ignore
//
// The error is Problems.
func ParseRules(text []byte) (*Rules, error) {
	doc, err := yaml.Parse(text)
	r := ruleReader{doc: doc, lines: strings.Split(string(text), "\n")}
	if syntax, ok := errors.AsType[*yaml.Error](err); ok && len(doc.Problems) == 0 {
		return nil, Problems{*syntax} // the document has no list of problems, only this error
	}
	for _, problem := range doc.Problems {
		r.problems = append(r.problems, problem.Error)
	}
	rules := &Rules{}
	if string(doc.JSON) != "null" { // an empty file has no rules
		for _, m := range r.parseObject(doc.JSON, "", "the file has sections, as in tools/call get-sum:") {
			if s, ok := r.parseSection(m); ok {
				rules.Sections = append(rules.Sections, s)
			}
		}
	}
	if r.count > maxRules {
		r.addProblem("", "the file has more than %d matchers", maxRules)
	}
	if len(r.problems) > 0 {
		sliceutil.Sort(r.problems, func(a, b yaml.Error) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Column - b.Column
		})
		return nil, r.problems
	}
	return rules, nil
}

// A ruleReader reads one file.
type ruleReader struct {
	doc      yaml.Document
	lines    []string
	problems Problems
	count    int
}

// addProblem reports an error at a value.
func (r *ruleReader) addProblem(pointer, format string, args ...any) {
	r.problems = append(r.problems, yaml.Error{Place: r.doc.Place(pointer), Text: fmt.Sprintf(format, args...)})
}

// addNameProblem reports an error at the name of a member.
func (r *ruleReader) addNameProblem(pointer, format string, args ...any) {
	r.problems = append(r.problems, yaml.Error{Place: r.doc.NamePlace(pointer), Text: fmt.Sprintf(format, args...)})
}

// addTextProblem reports an error within a text that begins at a place, after its quote if it has
// one.
func (r *ruleReader) addTextProblem(place yaml.Place, err error) {
	e, ok := errors.AsType[*jsonvalue.SyntaxError](err)
	if !ok {
		return
	}
	line := []rune(r.lines[place.Line-1])
	isQuoted := place.Column <= len(line) && strings.ContainsRune(`'"`, line[place.Column-1])
	if isQuoted {
		place.Column++
	}
	place.Column += e.Offset
	r.problems = append(r.problems, yaml.Error{Place: place, Text: e.Text})
}

// parseObject returns the members of an object. If raw is neither an object nor null, it reports an
// error that begins with what.
func (r *ruleReader) parseObject(raw json.RawMessage, pointer, what string) jsonraw.Members {
	members, err := jsonraw.Object(raw)
	if err != nil && string(raw) != "null" {
		r.addProblem(pointer, "%s; got %s", what, jsonraw.Excerpt(raw, 40))
	}
	return members
}

// parseSection reads one section. It reports false if the section's name is invalid.
func (r *ruleReader) parseSection(m jsonraw.Member) (s Section, ok bool) {
	sectionPointer := jsonraw.Pointer("", m.Name)
	s.Method, s.Name, _ = strings.Cut(m.Name, " ") // a name may contain blanks, a method does not
	if problem := methodProblem(s.Method, s.Name); problem != "" {
		r.addNameProblem(sectionPointer, "%s", problem)
		return s, false
	}
	const what = "a section has paths and matchers, as in .structuredContent.id: uuid"
	for _, entry := range r.parseObject(m.Value, sectionPointer, what) {
		pointer := jsonraw.Pointer(sectionPointer, entry.Name)
		switch {
		case strings.HasPrefix(entry.Name, "."): // a path outside of a part is for the result
			s.Rules = r.appendRule(s.Rules, Result, entry, pointer)
		case slices.Contains(parts, entry.Name):
			for _, inner := range r.parseObject(entry.Value, pointer, entry.Name+" has paths and matchers") {
				s.Rules = r.appendRule(s.Rules, Part(entry.Name), inner, jsonraw.Pointer(pointer, inner.Name))
			}
		default:
			text := fmt.Sprintf(
				`unknown part %q; a section has paths, which begin with ".", and the parts params, result and error`,
				entry.Name,
			)
			r.addNameProblem(pointer, "%s", suggest.OrMeant(text, entry.Name, parts))
		}
	}
	return s, true
}

// methodProblem returns the error in the name of a section, or "". An unknown method may belong to
// an extension, unless its name is similar to a known method.
func methodProblem(method, name string) string {
	methods := table().methods
	isKnown := method == "*" || slices.Contains(methods, method)
	if method == "*" && name != "" {
		return "* is all methods, and no name follows it"
	}
	if !isKnown && suggest.Nearest(method, methods) != "" {
		return suggest.OrMeant(fmt.Sprintf("unknown method %q", method), method, methods)
	}
	// volatile.txt has a row "name" for each method whose requests have a name.
	hasNames := slices.ContainsFunc(table().rows, func(v volatile) bool {
		return v.action == "name" && v.appliesTo(Params, method)
	})
	if name != "" && !hasNames {
		return fmt.Sprintf("requests of the method %s have no name; %q follows it", method, name)
	}
	if !isKnown && !strings.Contains(method, "/") {
		return fmt.Sprintf("unknown method %q; a section is called after a method, as in tools/call get-sum, or *", method)
	}
	return ""
}

// appendRule appends the rule of one path to rules, unless the path or the matcher is invalid.
func (r *ruleReader) appendRule(rules []Rule, part Part, m jsonraw.Member, pointer string) []Rule {
	r.count++
	place := r.doc.NamePlace(pointer)
	path, err := jsonvalue.ParsePath(m.Name)
	if err != nil {
		r.addTextProblem(place, err)
		return rules
	}
	text, ok := jsonraw.Text(m.Value)
	if !ok {
		r.addProblem(pointer, "a matcher must be a text, such as ignore or number +-0.5; got %s",
			jsonraw.Excerpt(m.Value, 40))
		return rules
	}
	matcher, err := ParseMatcher(text)
	if err != nil {
		r.addTextProblem(r.doc.Place(pointer), err)
		return rules
	}
	return append(rules, Rule{Part: part, Path: path, Matcher: matcher, Place: place})
}

// Format returns rules as the content of a file. ParseRules reads the same rules from it, except
// for places and order. Sections with the same method and name are merged; the last rule for a path
// wins.
func Format(rules *Rules) ([]byte, error) {
	var file json.RawMessage
	for _, s := range rules.Sections {
		name := strings.TrimSuffix(s.Method+" "+s.Name, " ")
		section := jsonraw.OrEmpty(jsonraw.First(file, name))
		for _, rule := range s.Rules {
			text := json.RawMessage(jsonraw.Quote(rule.Matcher.String()))
			if rule.Part == Result {
				section = jsonraw.With(section, rule.Path.String(), text)
				continue
			}
			part := jsonraw.OrEmpty(jsonraw.First(section, string(rule.Part)))
			section = jsonraw.With(section, string(rule.Part), jsonraw.With(part, rule.Path.String(), text))
		}
		file = jsonraw.With(file, name, section)
	}
	return yaml.Write(jsonraw.OrEmpty(file))
}
