// Package validate answers one question about one value: is this right? It
// checks a JSON value against a JSON Schema and says, in words that a person
// can act on, every place where the two disagree.
//
// A schema comes from a server, and so may the value: both are hostile until
// shown otherwise. Nothing is fetched, no file is opened, and each check ends when
// its budget is spent (see budget.go), so that neither can hang or end the process.
//
// The dialects are 2020-12, which is also the default, 2019-09, draft-07,
// draft-06 and draft-04. "format" is an annotation in all of them.
//
// It is the one importer of santhosh-tekuri/jsonschema. It does not know
// what a tool is, whether a value is an argument or a result, what should
// happen when a check fails, or how a finding is shown. Whether the bytes
// themselves are well made (duplicate members, bad UTF-8) is wire's business.
package validate

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Schema checks values. It never changes once it is compiled, so that any
// number of goroutines may use it.
type Schema struct {
	doc      any
	compiled *jsonschema.Schema
	budget   *budget
}

// Compile makes a checker of a schema's bytes. The dialect is what $schema
// says, else 2020-12.
//
// The warnings tell what will not be checked, such as a pattern that Go's
// regular expressions cannot express; everything else is enforced. Their Where
// points into the schema. An error is always a *Error.
func Compile(schema []byte) (*Schema, []wire.Finding, error) {
	doc, err := readSchema(schema)
	if err != nil {
		return nil, nil, err
	}
	spoken, err := dialectOf(doc)
	if err != nil {
		return nil, nil, err
	}
	return compile(doc, spoken)
}

// compile compiles a decoded schema with the library.
func compile(doc any, spoken dialect) (*Schema, []wire.Finding, error) {
	sv, err := newSurvey(doc, spoken)
	if err != nil {
		return nil, nil, err
	}
	spoken, warnings := sv.dialect(spoken)
	lib := &library{compiler: jsonschema.NewCompiler(), doc: doc, names: sv.names}
	lib.compiler.DefaultDraft(spoken.draft)
	lib.compiler.UseLoader(noLoader{})
	lib.compiler.UseRegexpEngine(sv.patterns.engine)
	root, err := lib.compile(documentURL)
	if err != nil {
		return nil, nil, lib.explain(err, spoken)
	}
	limits, unchecked, err := newBudget(root, lib.compileAnchors(root, sv.anchors), sv)
	if err != nil {
		return nil, nil, err
	}
	return &Schema{doc: doc, compiled: root, budget: limits}, append(warnings, unchecked...), nil
}

// Check says where a value does not keep to the schema, in the order of the
// places; none means that it does. Where points into the value. There are never
// more than MaxFindings of them, and then one more with the rule RuleMore.
//
// An error is always a *Error, and means that nothing is known about the
// value: it is not JSON, or checking it would take too much work.
func (s *Schema) Check(value []byte) ([]wire.Finding, error) {
	v, err := readValue(value)
	if err != nil {
		return nil, err
	}
	var broken *jsonschema.ValidationError
	err = s.budget.run(s.compiled, v)
	if err == nil || !errors.As(err, &broken) {
		return nil, err
	}
	findings, _ := explainer{budget: s.budget, schema: s.doc, value: v}.findings(broken)
	return findings, nil
}

// readSchema decodes a schema that is small enough to look at.
func readSchema(b []byte) (any, error) {
	if len(b) > maxSchemaBytes {
		return nil, tooComplex("", "it is larger than %d bytes", maxSchemaBytes)
	}
	if isTooDeep(b) {
		return nil, tooComplex("", "its JSON is nested deeper than %d levels", jsonraw.MaxDepth)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, &Error{Reason: NotJSON, Text: fmt.Sprintf("the schema is not JSON: %v", err)}
	}
	switch doc.(type) {
	case map[string]any, bool:
		return doc, nil
	}
	return nil, &Error{
		Reason: NotASchema,
		Text:   "not a schema: it must be an object, true or false, got " + typeName(doc),
	}
}

// readValue decodes a value with its numbers as they are spelled.
func readValue(b []byte) (any, error) {
	if isTooDeep(b) {
		return nil, &Error{
			Reason: TooComplex,
			Text:   fmt.Sprintf("the value is nested deeper than %d levels", jsonraw.MaxDepth),
		}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, &Error{Reason: NotJSON, Text: fmt.Sprintf("the value is not JSON: %v", err)}
	}
	return v, nil
}

// tooDeep says whether JSON is nested deeper than wire.MaxDepth. It is asked before
// anything recursive touches the bytes.
func isTooDeep(b []byte) bool {
	bad := jsonraw.Valid(b)
	return bad != nil && bad.Rule == "depth"
}
