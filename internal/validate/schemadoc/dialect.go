package schemadoc

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A Dialect is one version of JSON Schema.
type Dialect struct {
	Name  string
	uri   string // without scheme and '#'
	Draft *jsonschema.Draft
}

// Dialects lists what is supported, the default first.
var Dialects = [...]Dialect{
	{"2020-12", "json-schema.org/draft/2020-12/schema", jsonschema.Draft2020},
	{"2019-09", "json-schema.org/draft/2019-09/schema", jsonschema.Draft2019},
	{"draft-07", "json-schema.org/draft-07/schema", jsonschema.Draft7},
	{"draft-06", "json-schema.org/draft-06/schema", jsonschema.Draft6},
	{"draft-04", "json-schema.org/draft-04/schema", jsonschema.Draft4},
}

// latestURI is how a schema asks for whatever is newest.
const latestURI = "json-schema.org/schema"

// DialectOf reads $schema. What is not a string is left to the meta-schema,
// which has something better to say about it.
func DialectOf(doc any) (Dialect, error) {
	uri, ok := Member(doc, "$schema").(string)
	if !ok {
		return Dialects[0], nil
	}
	if d, ok := DialectNamed(uri); ok {
		return d, nil
	}
	return Dialect{}, NewUnknownDialect("/$schema", uri)
}

// Older dialects want the items of enum to be unique.
func (d Dialect) Older() bool { return d.Name == "draft-06" || d.Name == "draft-04" }

func DialectNamed(uri string) (Dialect, bool) {
	bare, ok := strings.CutPrefix(uri, "https://")
	if !ok {
		bare, ok = strings.CutPrefix(uri, "http://")
	}
	if !ok {
		return Dialect{}, false
	}
	bare = strings.TrimSuffix(bare, "#")
	if bare == latestURI {
		return Dialects[0], true
	}
	for _, d := range Dialects {
		if d.uri == bare {
			return d, true
		}
	}
	return Dialect{}, false
}

// NewUnknownDialect refuses: checking by the rules of some other dialect would
// give an unreliable answer.
func NewUnknownDialect(where, uri string) error {
	names := make([]string, len(Dialects))
	for i, d := range Dialects {
		names[i] = d.Name
	}
	return &Error{
		Reason: UnknownDialect,
		Where:  where,
		Text: fmt.Sprintf("dialect %s not supported (supported: %s)",
			Brief(uri), strings.Join(names, ", ")),
	}
}
