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

// dialects are the supported dialects, the default first.
var dialects = [...]dialect{
	{"2020-12", "json-schema.org/draft/2020-12/schema", jsonschema.Draft2020},
	{"2019-09", "json-schema.org/draft/2019-09/schema", jsonschema.Draft2019},
	{"draft-07", "json-schema.org/draft-07/schema", jsonschema.Draft7},
	{"draft-06", "json-schema.org/draft-06/schema", jsonschema.Draft6},
	{"draft-04", "json-schema.org/draft-04/schema", jsonschema.Draft4},
}

// latestURI is the URI of the latest dialect.
const latestURI = "json-schema.org/schema"

// dialectOf returns the dialect that $schema names, or the default. It ignores a $schema that is
// not a string, because the meta-schema describes this problem better.
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

// isOlder reports whether the items of enum must be unique.
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

// unknownDialect returns the error for an unsupported dialect. Checking with the rules of a
// different dialect would give an unreliable answer.
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
