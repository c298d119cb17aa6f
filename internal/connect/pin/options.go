// Package pin remembers what the tools of a server are, and notices when one is no longer what
// was approved.
package pin

import (
	"mcpc/internal/diff"
	"mcpc/internal/lint/poison"
	"mcpc/internal/validate"
)

// Options are what comparisons of definitions use here: schemas are compiled by package
// validate, and texts are read by package lint/poison.
func Options() diff.Options {
	return diff.Options{Signs: poison.Signs, Compile: func(schema []byte) (func([]byte) (bool, error), error) {
		compiled, _, err := validate.Compile(schema)
		if err != nil {
			return nil, err
		}
		return func(value []byte) (bool, error) {
			found, err := compiled.Check(value)
			return len(found) == 0, err
		}, nil
	}}
}
