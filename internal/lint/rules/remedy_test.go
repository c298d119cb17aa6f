package rules

import "testing"

// TestRemedy checks the text about what to write instead of an invalid value.
func TestRemedy(t *testing.T) {
	for _, c := range []struct{ schema, at, want string }{
		{`{"type":"bool"}`, "/type", `"type":"boolean"`},
		{`{"type":"Int"}`, "/type", `"type":"integer"`},
		{`{"type":"strng"}`, "/type", `"type":"string"`},
		{`{"type":"any"}`, "/type", "no type: then any value is allowed"},
		{`{"type":"geometry"}`, "/type", ""},
		{`{"properties":{"a":{"type":"float"}}}`, "/properties/a/type", `"type":"number"`},
		{`{"properties":{"type":"bool"}}`, "/properties/type", ""},
		{`{"properties":{"a":null}}`, "/properties/a", "{} for any value, or no member a"},
		{`{"required":"a"}`, "/required", `"required":["a"]`},
		{
			`{"properties":{"a":{"required":true}}}`, "/properties/a/required",
			`"required", an array of names, next to the "properties" with this one`,
		},
		{`{"minimum":3,"exclusiveMinimum":true}`, "/exclusiveMinimum", `"exclusiveMinimum":3 instead of minimum`},
		{`{"maximum":3,"exclusiveMaximum":false}`, "/exclusiveMaximum", "no exclusiveMaximum"},
		{`{"exclusiveMinimum":true}`, "/exclusiveMinimum", ""},
		{`{"minimum":"1"}`, "/minimum", `"minimum":1`},
		{`{"minimum":"one"}`, "/minimum", ""},
		{`{"enum":"a"}`, "/enum", `"enum":["a"]`},
		{`{"items":[{}]}`, "/items", `"prefixItems" instead of items`},
		{`{"description":null}`, "/description", "no description"},
		{`{}`, "/type", ""},
		{`null`, "", ""},
	} {
		if got := suggestFix([]byte(c.schema), c.at); got != c.want {
			t.Errorf("%s at %s: got %q, want %q", c.schema, c.at, got, c.want)
		}
	}
}
