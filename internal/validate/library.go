package validate

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A library is one use of the library's compiler.
type library struct {
	compiler *jsonschema.Compiler
	doc      any
	names    []reference
}

// noLoader refuses to load anything. The library contains the meta-schemas and calls the loader for
// all other URLs, including files.
type noLoader struct{}

type refusedError struct{ url string }

func (e *refusedError) Error() string { return "not loading " + e.url }

func (noLoader) Load(url string) (any, error) { return nil, &refusedError{url} }

// compile compiles the subschema at a URL. For documentURL, the whole schema, it must be called first.
func (l *library) compile(url string) (sch *jsonschema.Schema, err error) {
	err = guard(func() error {
		if url == documentURL {
			if err := l.compiler.AddResource(documentURL, l.doc); err != nil {
				return err
			}
		}
		sch, err = l.compiler.Compile(url)
		return err
	})
	return sch, err
}

// compileAnchors returns the root and the subschemas that a $dynamicRef may lead to. The library
// has compiled them already but does not list them.
func (l *library) compileAnchors(root *jsonschema.Schema, ptrs []string) []*jsonschema.Schema {
	all := []*jsonschema.Schema{root}
	for _, ptr := range ptrs {
		// A subschema that does not compile is in a part that is never reached.
		if sch, err := l.compile(locationOf(ptr)); err == nil {
			all = append(all, sch)
		}
	}
	return all
}

// explain converts an error of the compiler to an *Error. It decides by type; the library's texts
// contain internal URLs.
func (l *library) explain(err error, spoken dialect) error {
	var (
		ours       *Error
		broken     *jsonschema.SchemaValidationError
		load       *jsonschema.LoadURLError
		noPointer  *jsonschema.JSONPointerNotFoundError
		badPointer *jsonschema.InvalidJsonPointerError
		noAnchor   *jsonschema.AnchorNotFoundError
	)
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &broken):
		return l.invalidSchemaError(broken, spoken)
	case errors.As(err, &load):
		return l.externalRefError(load.URL)
	case errors.As(err, &noPointer):
		return l.unresolvedRefError(noPointer.URL)
	case errors.As(err, &badPointer):
		return l.unresolvedRefError(badPointer.URL)
	case errors.As(err, &noAnchor):
		return l.unresolvedRefError(noAnchor.Reference)
	}
	return l.nameError(err)
}

// invalidSchemaError returns the error for a schema that violates its meta-schema.
func (l *library) invalidSchemaError(broken *jsonschema.SchemaValidationError, spoken dialect) error {
	var verr *jsonschema.ValidationError
	if !errors.As(broken.Err, &verr) {
		return &Error{Reason: NotASchema, Text: "not a valid schema"}
	}
	base, _ := pointerOf(broken.URL)
	part, _ := lookup(l.doc, pointerTokens(base))
	found, total := explainer{value: part}.findings(verr)
	if len(found) == 0 {
		return &Error{Reason: NotASchema, Where: base, Text: "not a valid schema"}
	}
	where := base + found[0].Pointer
	text := strings.TrimSpace(brief(where) + " " + found[0].Text)
	if len(found) > 1 {
		text += fmt.Sprintf(" (the first of %d problems)", total)
	}
	return &Error{
		Reason: NotASchema,
		Where:  where,
		Text:   fmt.Sprintf("not a valid JSON Schema %s: %s", spoken.name, text),
	}
}

// externalRefError returns the error for a URL that the loader refused: the target of a reference,
// or an inner $schema.
func (l *library) externalRefError(target string) error {
	ptr, kw, spelled := l.referenceTo(target)
	if kw == "$schema" {
		return unknownDialect(ptr, spelled)
	}
	return &Error{
		Reason: ExternalRef,
		Where:  ptr,
		Text: fmt.Sprintf("%s %s points outside the schema; mcpc does not fetch schemas",
			cmp.Or(kw, "$ref"), brief(spelled)),
	}
}

func (l *library) unresolvedRefError(target string) error {
	ptr, kw, spelled := l.referenceTo(target)
	return &Error{
		Reason: UnresolvedRef,
		Where:  ptr,
		Text:   fmt.Sprintf("%s %s points to nothing in the schema", cmp.Or(kw, "$ref"), brief(spelled)),
	}
}

// nameError returns the error for a problem with ids, anchors or URLs.
func (l *library) nameError(err error) error {
	var (
		dupID     *jsonschema.DuplicateIDError
		dupAnchor *jsonschema.DuplicateAnchorError
		badURL    *jsonschema.ParseURLError
		badMeta   *jsonschema.InvalidMetaSchemaURLError
		noDraft   *jsonschema.UnsupportedDraftError
	)
	invalidSchema := func(where, text string) error {
		return &Error{Reason: NotASchema, Where: where, Text: "not a valid schema: " + text}
	}
	switch {
	case errors.As(err, &dupID):
		return invalidSchema(max(dupID.Ptr1, dupID.Ptr2), "two subschemas have the id "+brief(dupID.ID))
	case errors.As(err, &dupAnchor):
		where := max(dupAnchor.Ptr1, dupAnchor.Ptr2)
		return invalidSchema(where, "two subschemas have the anchor "+brief(dupAnchor.Anchor))
	case errors.As(err, &badURL):
		ptr, kw, spelled := l.referenceTo(badURL.URL)
		if spelled == "" {
			spelled = badURL.URL
		}
		return invalidSchema(ptr, strings.TrimSpace(kw+" "+brief(spelled)+" is not a URL"))
	case errors.As(err, &badMeta):
		return invalidSchema("", "a $schema is not a URL")
	case errors.As(err, &noDraft):
		return unknownDialect("", noDraft.URL)
	}
	return invalidSchema("", "an id or an anchor in it is not well formed")
}

// referenceTo returns the first reference or $schema that can resolve to a URL. The library reports
// only the resolved URL.
func (l *library) referenceTo(target string) (ptr, kw, spelled string) {
	for _, r := range l.names {
		if resolvesTo(r.text, target) {
			return r.pointer + "/" + r.keyword, r.keyword, r.text
		}
	}
	return "", "", strings.TrimPrefix(target, documentURL)
}

// resolvesTo reports whether a reference can resolve to a URL. It compares their ends, because the
// base is unknown.
func resolvesTo(ref, target string) bool {
	targetURL, targetFrag, _ := strings.Cut(target, "#")
	refURL, refFrag, _ := strings.Cut(ref, "#")
	hasSameEnd := refFrag != "" && strings.HasSuffix(unescapePath(targetFrag), unescapePath(refFrag))
	if targetFrag != "" && !hasSameEnd {
		return false
	}
	if targetFrag == "" && refURL == "" {
		return false
	}
	for strings.HasPrefix(refURL, "../") || strings.HasPrefix(refURL, "./") {
		_, refURL, _ = strings.Cut(refURL, "/")
	}
	return strings.HasSuffix(unescapePath(targetURL), unescapePath(refURL))
}
