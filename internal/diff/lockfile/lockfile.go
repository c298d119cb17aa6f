// Package lockfile reads and writes mcpc.lock.json, a file for git with the declarations of a
// server. It also reads lists of tools that other programs write. It does no file I/O.
//
// A lock file is one JSON object. Its first member is mcpcLock, the version of the format. The
// other members are the known fields of diff.Snapshot. Each definition is an object
// {"definition": …, "sha256": "…"} with the hash of its canonical form. Lists and members are
// sorted by name, so that the same server always gives the same bytes.
package lockfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
	"mcpc/internal/sliceutil"
)

// Version is the version of the format that Write writes. Parse reads it and all older ones.
const Version = 1

// Name is the default name of a lock file.
const Name = "mcpc.lock.json"

const versionMember = "mcpcLock"

// A Reason is the kind of an Error.
type Reason string

const (
	// NotJSON means that the bytes are not one JSON value, as after a merge with conflicts.
	NotJSON Reason = "not_json"
	// NotALock means that the file is neither a lock file nor a list of tools.
	NotALock Reason = "not_a_lock"
	// Newer means that the file has a version above Version.
	Newer Reason = "newer"
	// Damaged means that a definition does not match its hash, or that a member has the wrong form.
	Damaged Reason = "damaged"
	// Partial means that the file has only some pages of a list.
	Partial Reason = "partial"
)

// An Error is the reason why a file cannot be used, with a hint for the user. Text is one sentence.
type Error struct {
	Reason Reason
	// Pointer is the JSON pointer of the error. "" is the whole file.
	Pointer string
	Text    string
	Hint    string
}

func (e *Error) Error() string { return e.Text }

// newError returns an Error. format and args make its text.
func newError(reason Reason, pointer, hint, format string, args ...any) *Error {
	return &Error{reason, pointer, fmt.Sprintf(format, args...), hint}
}

const rewriteHint = "delete the file, and write it again with mcpc diff --lock"

// lists are the members that hold definitions. key is the member that identifies a definition.
var lists = []struct {
	name, key string
	// field returns the list's field of a snapshot.
	field func(s *diff.Snapshot) *[]json.RawMessage
}{
	{"tools", "name", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Tools }},
	{"prompts", "name", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Prompts }},
	{"resources", "uri", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Resources }},
	{"resourceTemplates", "uriTemplate", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Templates }},
}

// Hash returns the SHA-256 of the canonical form of a definition in hexadecimal digits. It does
// not depend on the order of members or on the notation of numbers and strings.
func Hash(definition json.RawMessage) string {
	sum := sha256.Sum256(jsonraw.Canonical(definition))
	return hex.EncodeToString(sum[:])
}

// Write returns a snapshot as the content of a lock file.
func Write(s diff.Snapshot) []byte {
	var members jsonraw.Members
	add := func(name string, value json.RawMessage) {
		if value != nil {
			members = append(members, jsonraw.Member{Name: name, Value: value})
		}
	}
	add("serverInfo", s.Implementation)
	add("capabilities", s.Capabilities)
	add("instructions", s.Instructions)
	if s.Revisions != nil {
		add("revisions", jsonraw.ListOf(slices.Sorted(slices.Values(s.Revisions)), jsonraw.Quote))
	}
	if s.Authorization != nil {
		add("authorization", json.RawMessage(strconv.FormatBool(*s.Authorization)))
	}
	if s.TTL != nil {
		ttl, _ := jsonraw.Marshal(s.TTL)
		add("ttlMs", ttl)
	}
	for _, l := range lists {
		if items := *l.field(&s); items != nil {
			add(l.name, jsonraw.ListOf(sortByName(items, l.key), withHash))
		}
	}
	text := jsonraw.Indent(sanitize.Bytes(jsonraw.Append(json.RawMessage("{}"), members...), sanitize.JSON))
	head := "{\n  \"" + versionMember + "\": " + strconv.Itoa(Version)
	if len(members) == 0 {
		return []byte(head + "\n}\n")
	}
	return slices.Concat([]byte(head+","), text[1:], []byte("\n")) // head has the brace that text begins with
}

// withHash returns a definition with its hash. It writes invisible characters as \u escapes, so
// that a reviewer of the file sees them.
func withHash(definition json.RawMessage) json.RawMessage {
	definition = sanitize.Bytes(definition, sanitize.JSON)
	return jsonraw.Append(json.RawMessage("{}"), jsonraw.Member{Name: "definition", Value: definition},
		jsonraw.Member{Name: "sha256", Value: jsonraw.Quote(Hash(definition))})
}

// sortByName returns definitions sorted by name. Definitions with the same name keep their order,
// since clients use the first one.
func sortByName(items []json.RawMessage, key string) []json.RawMessage {
	items = slices.Clone(items)
	name := func(raw json.RawMessage) string {
		text, _ := jsonraw.Text(jsonraw.First(raw, key))
		return text
	}
	sliceutil.Sort(items, func(x, y json.RawMessage) int {
		if name(x) == "" && name(y) == "" { // no client uses them, so their order has no meaning
			return bytes.Compare(x, y)
		}
		return cmp.Compare(name(x), name(y))
	})
	return items
}

// Parse parses a lock file. Its errors are of type *Error.
func Parse(raw []byte) (diff.Snapshot, error) {
	members, err := parseObject(raw)
	if err != nil {
		return diff.Snapshot{}, err
	}
	if err := checkVersion(members); err != nil {
		return diff.Snapshot{}, err
	}
	s := diff.Snapshot{
		Sorted:         true,
		Implementation: members.Value("serverInfo"),
		Capabilities:   members.Value("capabilities"),
		Instructions:   members.Value("instructions"),
	}
	if value, ok := members.Get("authorization"); ok {
		s.Authorization = new(string(value) == "true")
	}
	s.Revisions, err = parseRevisions(members.Value("revisions"))
	if err != nil {
		return diff.Snapshot{}, err
	}
	s.TTL, err = parseTTL(members.Value("ttlMs"))
	if err != nil {
		return diff.Snapshot{}, err
	}
	for _, l := range lists {
		*l.field(&s), err = parseDefinitions(members.Value(l.name), l.name, l.key)
		if err != nil {
			return diff.Snapshot{}, err
		}
	}
	return s, nil
}

// parseObject parses the JSON object of a lock file.
func parseObject(raw []byte) (jsonraw.Members, error) {
	if err := jsonraw.Valid(raw); err != nil {
		hint := "fix the JSON, or " + rewriteHint
		if bytes.Contains(raw, []byte("<<<<<<<")) {
			hint = "resolve the merge conflict: take either side, then " + rewriteHint
		}
		return nil, newError(NotJSON, "", hint, "the file is not JSON: %v at byte %d", err.Text, err.Offset)
	}
	members, err := jsonraw.Object(raw)
	if err != nil {
		return nil, newError(NotALock, "", rewriteHint, "the file is not a lock file: it has no JSON object")
	}
	return members, nil
}

// checkVersion returns an error unless the file has a version that Parse reads.
func checkVersion(members jsonraw.Members) error {
	value, hasVersion := members.Get(versionMember)
	n, err := strconv.Atoi(string(value))
	if !hasVersion {
		return newError(NotALock, "", rewriteHint, "the file is not a lock file: it has no %s", versionMember)
	}
	if err != nil || n < 1 {
		return newError(
			Damaged, "/"+versionMember, rewriteHint, "%s is not a version: %s", versionMember,
			jsonraw.Excerpt(value, 40),
		)
	}
	if n > Version {
		return newError(
			Newer, "/"+versionMember, "use a newer mcpc, or "+rewriteHint,
			"the lock file has version %d, and this mcpc reads versions up to %d",
			n, Version,
		)
	}
	return nil
}

// parseRevisions parses the list of revisions. It returns nil if raw is nil.
func parseRevisions(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	items, err := jsonraw.Array(raw)
	if err != nil {
		return nil, newError(Damaged, "/revisions", rewriteHint, "revisions is not a list: %s", jsonraw.Excerpt(raw, 40))
	}
	revisions := []string{}
	for _, item := range items {
		text, ok := jsonraw.Text(item)
		if !ok {
			return nil, newError(Damaged, "/revisions", rewriteHint, "a revision is not a text: %s", jsonraw.Excerpt(item, 40))
		}
		revisions = append(revisions, text)
	}
	return revisions, nil
}

// parseTTL parses the object ttlMs. It returns nil if raw is nil.
func parseTTL(raw json.RawMessage) (map[string]int64, error) {
	if raw == nil {
		return nil, nil
	}
	members, err := jsonraw.Object(raw)
	if err != nil {
		return nil, newError(Damaged, "/ttlMs", rewriteHint, "ttlMs is not an object: %s", jsonraw.Excerpt(raw, 40))
	}
	ttls := map[string]int64{}
	for _, m := range members {
		n, err := strconv.ParseInt(string(m.Value), 10, 64)
		if err != nil {
			return nil, newError(
				Damaged, jsonraw.Pointer("/ttlMs", m.Name), rewriteHint,
				"the ttlMs of %s is not a whole number: %s", m.Name, jsonraw.Excerpt(m.Value, 40),
			)
		}
		ttls[m.Name] = n
	}
	return ttls, nil
}

// parseDefinitions parses one list and checks each definition against its hash. It returns nil if
// raw is nil.
func parseDefinitions(raw json.RawMessage, list, key string) ([]json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	items, err := jsonraw.Array(raw)
	if err != nil {
		return nil, newError(Damaged, "/"+list, rewriteHint, "%s is not a list: %s", list, jsonraw.Excerpt(raw, 40))
	}
	definitions := make([]json.RawMessage, 0, len(items))
	for i, item := range items {
		pointer := "/" + list + "/" + strconv.Itoa(i)
		definition := jsonraw.First(item, "definition")
		hash := jsonraw.First(item, "sha256")
		if definition == nil || hash == nil {
			return nil, newError(Damaged, pointer, rewriteHint, "entry %d of %s has no definition with its sha256", i, list)
		}
		if text, _ := jsonraw.Text(hash); !strings.EqualFold(text, Hash(definition)) {
			name, _ := jsonraw.Text(jsonraw.First(definition, key))
			return nil, newError(
				Damaged, pointer+"/sha256", rewriteHint,
				"entry %d of %s (%s) does not have its sha256: it was edited",
				i, list, jsonraw.Excerpt([]byte(name), 60),
			)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}
