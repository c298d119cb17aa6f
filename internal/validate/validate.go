// Package validate validates a JSON value with a JSON Schema and describes each violation in
// words for people.
//
// Schemas, and often values, come from servers and may be hostile. The package fetches nothing
// and opens no file, and each check ends when its budget is spent (see budget.go): neither can
// hang or crash the process.
//
// The dialects are 2020-12 (the default), 2019-09, draft-07, draft-06 and draft-04. "format" is
// an annotation in all of them.
//
// No other package imports santhosh-tekuri/jsonschema. This package knows nothing about tools,
// arguments or results, and does not decide what follows from a violation or how it is displayed.
// Package wire checks the JSON text itself (duplicate members, invalid UTF-8).
package validate

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	doc      any
	compiled *jsonschema.Schema
	budget   *budget
}

// Compile compiles a schema in the dialect that $schema names, or 2020-12.
//
// The warnings list the parts that are not checked, such as a pattern that Go's regular expressions
// cannot express. Their Pointer points into the schema. An error is always a *Error.
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
	spoken, warnings := sv.chooseDialect(spoken)
	lib := &library{compiler: jsonschema.NewCompiler(), doc: doc, names: sv.names}
	lib.compiler.DefaultDraft(spoken.draft)
	lib.compiler.UseLoader(noLoader{})
	lib.compiler.UseRegexpEngine(sv.patterns.compileForLibrary)
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

// Check returns the violations of a value, in the order of their places, or nil if the value is
// valid. Their Pointer points into the value. After MaxFindings violations, a last finding has the
// rule RuleMore.
//
// An error is always a *Error and means that the value could not be checked: it is not JSON, or
// checking it would take too much work.
func (s *Schema) Check(value []byte) ([]wire.Finding, error) {
	v, err := readValue(value)
	if err != nil {
		return nil, err
	}
	var broken *jsonschema.ValidationError
	err = s.budget.validate(s.compiled, v)
	if err == nil || !errors.As(err, &broken) {
		return nil, err
	}
	findings, _ := explainer{budget: s.budget, schema: s.doc, value: v}.findings(broken)
	return findings, nil
}

// readSchema decodes a schema within the size limits.
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

// readValue decodes a value and keeps its numbers as they are spelled.
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

// isTooDeep reports whether JSON is nested deeper than jsonraw.MaxDepth. Recursive functions may
// process the JSON only after this check.
func isTooDeep(b []byte) bool {
	bad := jsonraw.Valid(b)
	return bad != nil && bad.Rule == "depth"
}
