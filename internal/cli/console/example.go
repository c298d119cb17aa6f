package console

import (
	"encoding/json"
	"errors"

	"mcpc/internal/schema"
	"mcpc/internal/validate"
)

// ValidExample returns a small value that satisfies the schema raw, or nil if it finds no such
// value. If raw is not a schema at all, it returns {}: calls are then not checked either.
func ValidExample(raw json.RawMessage) json.RawMessage {
	example := schema.Example(raw)
	schema, warnings, err := validate.Compile(raw)
	failed, ok := errors.AsType[*validate.Error](err)
	isNoSchema := ok && failed.Reason == validate.NotASchema
	if isNoSchema && string(example) == "{}" {
		return example
	}
	if err != nil || len(warnings) > 0 { // with a warning, a part of the schema is not checked
		return nil
	}
	if findings, err := schema.Check(example); err != nil || len(findings) > 0 {
		return nil
	}
	return example
}
