package console

import (
	"encoding/json"
	"errors"

	"mcpc/internal/schema"
	"mcpc/internal/validate"
)

// ValidExample is a small value that satisfies a schema, nil where none is known. What
// is no schema is not checked in a call either: no arguments are as good as any.
func ValidExample(raw json.RawMessage) json.RawMessage {
	example := schema.Example(raw)
	schema, warnings, err := validate.Compile(raw)
	if failed, ok := errors.AsType[*validate.Error](err); ok && failed.Reason == validate.NotASchema &&
		string(example) == "{}" {
		return example
	}
	if err != nil || len(warnings) > 0 {
		return nil
	}
	if findings, err := schema.Check(example); err != nil || len(findings) > 0 {
		return nil
	}
	return example
}
