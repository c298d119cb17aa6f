// Package pin stores the definitions of tools that the user has approved, and notices when one has
// changed.
package pin

import (
	"mcpc/internal/diff"
	"mcpc/internal/lint/poison"
	"mcpc/internal/validate"
)

// Options returns the options for comparing definitions: package validate compiles schemas, and
// package lint/poison looks for text that is addressed to a model.
func Options() diff.Options {
	return diff.Options{Signs: poison.Signs, Compile: func(schema []byte) (func([]byte) (bool, error), error) {
		compiled, _, err := validate.Compile(schema)
		if err != nil {
			return nil, err
		}
		return func(value []byte) (bool, error) {
			findings, err := compiled.Check(value)
			return len(findings) == 0, err
		}, nil
	}}
}
