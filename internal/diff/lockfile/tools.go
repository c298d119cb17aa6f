package lockfile

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
)

// ParseAny parses a lock file or a list of tools. Its errors are of type *Error.
func ParseAny(raw []byte) (diff.Snapshot, error) {
	if jsonraw.First(raw, versionMember) != nil {
		return Parse(raw)
	}
	return ParseTools(raw)
}

const toolsHint = `a list of tools is [TOOL, ...], {"tools": [TOOL, ...]} or the result of tools/list`

// ParseTools parses a list of tools: a bare array, the result of tools/list, or a JSON-RPC response
// with this result. The snapshot has the tools and their ttlMs only. Errors are of type *Error.
func ParseTools(raw []byte) (diff.Snapshot, error) {
	if err := jsonraw.Valid(raw); err != nil {
		return diff.Snapshot{}, newError(
			NotJSON, "", "fix the JSON", "the file is not JSON: %v at byte %d", err.Text, err.Offset,
		)
	}
	pointer := ""                // of list
	list := json.RawMessage(raw) // a bare array, unless raw is an object
	s := diff.Snapshot{}
	if members, err := jsonraw.Object(raw); err == nil {
		result, hasResult := members.Get("result")
		isResponse := hasResult && members.Value("tools") == nil
		if isResponse {
			pointer = "/result"
			members, _ = jsonraw.Object(result)
		}
		if message := members.Value("error"); message != nil {
			return s, newError(
				NotALock, pointer+"/error", toolsHint,
				"the file has an error in place of a list of tools: %s", jsonraw.Excerpt(message, 80),
			)
		}
		var hasList bool
		list, hasList = members.Get("tools")
		if !hasList {
			return s, newError(NotALock, pointer, toolsHint, "the file has no list of tools")
		}
		if next := members.Value("nextCursor"); next != nil && string(next) != "null" {
			return s, newError(
				Partial, pointer+"/nextCursor",
				"fetch all pages: mcpc list tools --json",
				"the list of tools continues: it has a nextCursor",
			)
		}
		if n, err := strconv.ParseInt(string(members.Value("ttlMs")), 10, 64); err == nil {
			s.TTL = map[string]int64{"tools": n}
		}
		pointer += "/tools"
	}
	items, err := jsonraw.Array(list)
	if err != nil {
		return diff.Snapshot{}, newError(
			NotALock, pointer, toolsHint, "the tools are not a list: %s", jsonraw.Excerpt(list, 60),
		)
	}
	s.Tools = []json.RawMessage{}
	for i, item := range items {
		if item[0] != '{' {
			return diff.Snapshot{}, newError(
				NotALock, pointer+"/"+strconv.Itoa(i), toolsHint,
				"entry %d of the tools is not an object: %s", i, jsonraw.Excerpt(item, 60),
			)
		}
		s.Tools = append(s.Tools, item)
	}
	return s, nil
}
