package validate

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A dialect is one version of JSON Schema.
type dialect struct {
	name  string
	uri   string // without scheme and '#'
	draft *jsonschema.Draft
}

// dialects lists what is supported, the default first.
var dialects = [...]dialect{
	{"2020-12", "json-schema.org/draft/2020-12/schema", jsonschema.Draft2020},
	{"2019-09", "json-schema.org/draft/2019-09/schema", jsonschema.Draft2019},
	{"draft-07", "json-schema.org/draft-07/schema", jsonschema.Draft7},
	{"draft-06", "json-schema.org/draft-06/schema", jsonschema.Draft6},
	{"draft-04", "json-schema.org/draft-04/schema", jsonschema.Draft4},
}

// latestURI is how a schema asks for whatever is newest.
const latestURI = "json-schema.org/schema"

// dialectOf returns the dialect that $schema names. A value that is not a string is left to the meta-schema, which has
// something better to say about it.
func dialectOf(doc any) (dialect, error) {
	uri, ok := memberOf(doc, "$schema").(string)
	if !ok {
		return dialects[0], nil
	}
	if d, ok := dialectNamed(uri); ok {
		return d, nil
	}
	return dialect{}, unknownDialect("/$schema", uri)
}

// isOlder reports whether the dialect wants the items of enum to be unique.
func (d dialect) isOlder() bool { return d.name == "draft-06" || d.name == "draft-04" }

// dialectNamed returns the dialect with a URI.
func dialectNamed(uri string) (dialect, bool) {
	bare, ok := strings.CutPrefix(uri, "https://")
	if !ok {
		bare, ok = strings.CutPrefix(uri, "http://")
	}
	if !ok {
		return dialect{}, false
	}
	bare = strings.TrimSuffix(bare, "#")
	if bare == latestURI {
		return dialects[0], true
	}
	for _, d := range dialects {
		if d.uri == bare {
			return d, true
		}
	}
	return dialect{}, false
}

// unknownDialect returns the error for a dialect that is not supported. Checking by the rules of another one would give
// an unreliable answer.
func unknownDialect(where, uri string) error {
	names := make([]string, len(dialects))
	for i, d := range dialects {
		names[i] = d.name
	}
	return &Error{
		Reason: UnknownDialect,
		Where:  where,
		Text: fmt.Sprintf("dialect %s not supported (supported: %s)",
			brief(uri), strings.Join(names, ", ")),
	}
}
