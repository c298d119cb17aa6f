package recorded

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/match"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Bindings are the bindings of several --bind.
type Bindings []match.Binding

// Add adds the bindings of one --bind, SOURCE or SOURCE=TARGET: the values at source in results are handles.
// They are replaced at target in the params of later requests, or, without a target, in each member with
// the name of the source. It reports whether source is new. It returns a usage error for an invalid path.
func (b *Bindings) Add(text string) (source jsonvalue.Path, isNew bool, err error) {
	source, target, err := parseBind(text)
	if err != nil {
		return nil, false, InvalidPath("--bind", text, err)
	}
	kind := source.String()
	existing := slices.IndexFunc(*b, func(b match.Binding) bool {
		return b.Kind == kind && b.Part == match.Result
	})
	isNew = existing < 0
	if isNew {
		*b = append(*b, match.Binding{
			Kind: kind, Part: match.Result, Select: source.Select, Named: target == nil,
		})
	} else if target == nil {
		(*b)[existing].Named = true
	}
	if target != nil {
		*b = append(*b, match.Binding{Kind: kind, Part: match.Params, Select: target.Select})
	}
	return source, isNew, nil
}

// parseBind parses the value of --bind, SOURCE or SOURCE=TARGET: the path in results, and the path in
// the params of later requests. target is nil if it is missing.
func parseBind(text string) (source, target jsonvalue.Path, err error) {
	source, err = jsonvalue.ParsePath(text)
	if err == nil {
		return source, nil, nil
	}
	for i := range len(text) { // a quoted name may have a "=", so the first one need not be the separator
		if text[i] != '=' {
			continue
		}
		left, leftErr := jsonvalue.ParsePath(text[:i])
		if leftErr != nil {
			continue
		}
		target, err = jsonvalue.ParsePath(text[i+1:])
		return left, target, err
	}
	return nil, nil, err
}

// InvalidPath returns the error for an invalid path, with a hint.
func InvalidPath(flag, text string, err error) error {
	return usage.New(fmt.Sprintf("%s %s: %v", flag, text, err), wire.Hint(flag+" '"+suggestPath(flag, text)+"'"))
}

// suggestPath returns the path that a JSON pointer or a path without its first "." probably means;
// of --bind it corrects both sides of "=". For other texts it returns an example.
func suggestPath(flag, text string) string {
	const example = ".structuredContent.id"
	sides := []string{text}
	if flag == "--bind" {
		sides = strings.Split(text, "=")
	}
	for i, side := range sides {
		sides[i] = "." + strings.TrimPrefix(pathOfPointer(side), ".")
	}
	suggestion := strings.Join(sides, "=")
	_, _, err := parseBind(suggestion)
	isUseless := err != nil || suggestion == text || suggestion == "."
	if isUseless || strings.Contains(suggestion, "'") { // the hint quotes it with '
		return example
	}
	return suggestion
}

// pathOfPointer returns a JSON pointer as a path: .items[0].id for /items/0/id. It returns other
// texts as they are.
func pathOfPointer(text string) string {
	pointer, isPointer := strings.CutPrefix(text, "/")
	if !isPointer {
		return text
	}
	var path strings.Builder
	for token := range strings.SplitSeq(pointer, "/") {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			path.WriteString("[" + token + "]")
		} else {
			path.WriteString("." + token)
		}
	}
	return path.String()
}
