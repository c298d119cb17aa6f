package toolcall

import (
	"encoding/json"

	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
)

// CompletionParams returns the params of completion/complete for an argument of a prompt or, for any other
// kind, a variable of a URI template. value is what is typed of it.
func CompletionParams(kind connect.Kind, name, argument, value string) json.RawMessage {
	ref := jsonraw.With(json.RawMessage(`{"type":"ref/resource"}`), "uri", jsonraw.Quote(name))
	if kind == connect.PromptKind {
		ref = jsonraw.With(json.RawMessage(`{"type":"ref/prompt"}`), "name", jsonraw.Quote(name))
	}
	typed := jsonraw.With(jsonraw.With(nil, "name", jsonraw.Quote(argument)), "value", jsonraw.Quote(value))
	return jsonraw.With(jsonraw.With(nil, "ref", ref), "argument", typed)
}
