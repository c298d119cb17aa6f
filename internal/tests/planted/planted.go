// Package planted has a server with tools that each have one fault, to test what finds faults.
package planted

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/validate"
)

// A Tool is a tool with a fault. Rule is the id of the rule that it breaks.
type Tool struct {
	Name, Rule   string
	Input        string
	OutputSchema string
	// Writes is set if the tool is not marked as read-only.
	Writes bool
	// answer returns the answer to arguments; isValid says whether the schema allows them.
	answer func(args Args, isValid bool) Answer
	schema *validate.Schema
}

// Args are the arguments of a call.
type Args json.RawMessage

// An Answer is the answer of a tool: a result with a text, or one of the others.
type Answer struct {
	Text       string
	IsError    bool
	Structured string
	// Raw is a whole result, which may be no JSON.
	Raw string
	// Code and Text are a JSON-RPC error if Code is not 0; Status is an HTTP status if not 0.
	Code, Status int
	// IsSilent is set for a call that is never answered, Ends for one that ends the server.
	IsSilent, Ends bool
}

// Call calls the tool.
func (t *Tool) Call(args json.RawMessage) Answer {
	findings, err := t.schema.Check(args)
	return t.answer(Args(args), err == nil && len(findings) == 0)
}

var (
	fine    = Answer{Text: "done"}
	invalid = Answer{Text: "invalid arguments", IsError: true}
	broken  = Answer{Code: -32603, Text: "internal error"}
)

// correct returns the answer of a tool without a fault.
func correct(isValid bool) Answer {
	if isValid {
		return fine
	}
	return invalid
}

// faultyIf returns an answer function that gives faulty if is reports true for the arguments.
func faultyIf(faulty Answer, is func(a Args, isValid bool) bool) func(Args, bool) Answer {
	return func(a Args, isValid bool) Answer {
		if is(a, isValid) {
			return faulty
		}
		return correct(isValid)
	}
}

// raw returns a member of the arguments; nil if it is absent.
func (a Args) raw(name string) json.RawMessage { return jsonraw.First(a, name) }

// text returns a text of the arguments.
func (a Args) text(name string) string {
	text, _ := jsonraw.Text(a.raw(name))
	return text
}

// isText reports whether a member is a text.
func (a Args) isText(name string) bool {
	_, isText := jsonraw.Text(a.raw(name))
	return isText
}

// number returns a number of the arguments; NaN if the member has another type.
func (a Args) number(name string) float64 {
	if n, ok := jsonraw.Float(a.raw(name)); ok {
		return n
	}
	return math.NaN()
}

// items returns the items of a list; isList is false if the member is no list.
func (a Args) items(name string) (items []json.RawMessage, isList bool) {
	items, err := jsonraw.Array(a.raw(name))
	return items, err == nil && a.raw(name) != nil
}

const (
	textSchema  = `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`
	countSchema = `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":100}},"required":["n"]}`
	listSchema  = `{"type":"object","properties":{"ids":{"type":"array","items":{"type":"string"}}},"required":["ids"]}`
	wordSchema  = `{"type":"object","properties":{"w":{"type":"string","minLength":2,"maxLength":10}},"required":["w"]}`
	enumSchema  = `{"type":"object","properties":{"unit":{"enum":["celsius","fahrenheit","kelvin"]}},"required":["unit"]}`
	bothSchema  = `{"type":"object","properties":{"flag":{"type":"boolean"},"n":{"type":"integer","minimum":1,` +
		`"maximum":9}},"required":["flag","n"],"additionalProperties":false}`
	treeSchema = `{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"}},"required":["tree"],"$defs":{"node":` +
		`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
)

// Tools returns new tools with a fault each.
func Tools() []*Tool {
	var visits, writes atomic.Int64
	tools := []*Tool{
		{Name: "max-off-by-one", Rule: "fuzz-valid", Input: countSchema, answer: faultyIf(
			Answer{Text: "n must be less than 100", IsError: true},
			func(a Args, isValid bool) bool { return isValid && a.number("n") == 100 })},
		{
			Name: "min-off-by-one", Rule: "L126", Input: countSchema,
			answer: faultyIf(fine, func(a Args, _ bool) bool { return a.number("n") == 0 }),
		},
		{Name: "length-in-bytes", Rule: "fuzz-valid", Input: wordSchema, answer: faultyIf(
			Answer{Text: "w is too long", IsError: true},
			func(a Args, isValid bool) bool { return isValid && len(a.text("w")) > 10 })},
		{Name: "length-in-utf16", Rule: "L126", Input: wordSchema, answer: faultyIf(fine,
			func(a Args, _ bool) bool { return len(utf16.Encode([]rune(a.text("w")))) == 2 })},
		{Name: "fraction-refused", Rule: "fuzz-valid", Input: countSchema, answer: faultyIf(
			Answer{Text: "n must be an integer", IsError: true},
			func(a Args, isValid bool) bool { return isValid && strings.Contains(string(a.raw("n")), ".") })},
		{Name: "exponent-refused", Rule: "fuzz-valid", Input: countSchema, answer: faultyIf(
			Answer{Text: "n must be an integer", IsError: true},
			func(a Args, isValid bool) bool { return isValid && strings.ContainsAny(string(a.raw("n")), "eE") })},
		{
			Name: "null-not-handled", Rule: "fuzz-internal",
			Input:  `{"type":"object","properties":{"q":{"type":["string","null"]}},"required":["q"]}`,
			answer: faultyIf(broken, func(a Args, isValid bool) bool { return string(a.raw("q")) == "null" }),
		},
		{Name: "wrong-channel", Rule: "L124", Input: countSchema, answer: faultyIf(
			Answer{Code: -32602, Text: "invalid arguments"}, func(_ Args, isValid bool) bool { return !isValid })},
		{Name: "trace", Rule: "fuzz-leak", Input: textSchema, answer: faultyIf(
			Answer{Text: "Traceback (most recent call last):\n  File \"tool.py\", line 3", IsError: true},
			func(a Args, isValid bool) bool { return isValid && strings.Contains(a.text("q"), "\n") })},
		{Name: "path", Rule: "fuzz-leak", Input: textSchema, answer: faultyIf(
			Answer{Text: "cannot open /srv/app/node_modules/lib/db.js", IsError: true},
			func(a Args, _ bool) bool { return !a.isText("q") })},
		{Name: "system-path", Rule: "fuzz-leak", Input: textSchema, answer: faultyIf(
			Answer{Text: "ENOENT: no such file or directory, open '/srv/shop/pages/x.md'", IsError: true},
			func(_ Args, isValid bool) bool { return isValid })},
		{Name: "exception", Rule: "fuzz-leak", Input: textSchema, answer: faultyIf(
			Answer{Text: "Cannot read properties of undefined (reading 'title')", IsError: true},
			func(_ Args, isValid bool) bool { return isValid })},
		{Name: "hang", Rule: "tool-answers", Input: textSchema, answer: faultyIf(
			Answer{IsSilent: true}, func(a Args, isValid bool) bool { return isValid && a.text("q") == "" })},
		{Name: "end", Rule: "tool-answers", Input: listSchema, answer: faultyIf(
			Answer{Ends: true}, func(a Args, isValid bool) bool {
				items, isList := a.items("ids")
				return isValid && isList && len(items) == 0
			})},
		{Name: "counter", Rule: "fuzz-repeat", Input: textSchema, answer: func(_ Args, isValid bool) Answer {
			answer := correct(isValid)
			if isValid {
				answer.Text = fmt.Sprintf("visit number %d", visits.Add(1))
			}
			return answer
		}},
		{
			Name: "output-of-nothing", Rule: "L120", Input: textSchema,
			OutputSchema: `{"type":"object","properties":{"length":{"type":"integer","minimum":1}},"required":["length"]}`,
			answer: func(a Args, isValid bool) Answer {
				answer := correct(isValid)
				if isValid {
					answer.Structured = fmt.Sprintf(`{"length":%d}`, utf8.RuneCountInString(a.text("q")))
				}
				return answer
			},
		},
		{Name: "enum-in-other-case", Rule: "L126", Input: enumSchema, answer: faultyIf(fine,
			func(a Args, _ bool) bool { return strings.EqualFold(a.text("unit"), "celsius") })},
		{Name: "enum-element-forgotten", Rule: "fuzz-valid", Input: enumSchema, answer: faultyIf(
			Answer{Text: "unsupported unit", IsError: true},
			func(a Args, _ bool) bool { return a.text("unit") == "kelvin" })},
		{
			Name: "required-not-enforced", Rule: "L126", Input: textSchema,
			answer: faultyIf(fine, func(a Args, _ bool) bool { return a.raw("q") == nil }),
		},
		{Name: "other-members-accepted", Rule: "L126", Input: bothSchema, answer: faultyIf(fine,
			func(a Args, _ bool) bool {
				members, _ := jsonraw.Object(a)
				return len(members) > 2 && string(a.raw("flag")) == "true" && string(a.raw("n")) == "1"
			})},
		{
			Name: "pattern-not-anchored", Rule: "L126",
			Input: `{"type":"object","properties":{"code":{"type":"string","pattern":"^[a-z]+$"}},"required":["code"]}`,
			answer: faultyIf(fine, func(a Args, _ bool) bool {
				code := a.text("code")
				return code != "" && code[0] >= 'a' && code[0] <= 'z'
			}),
		},
		{
			Name: "large-text", Rule: "fuzz-internal", Input: textSchema,
			answer: faultyIf(broken, func(a Args, _ bool) bool { return len(a.text("q")) > 4096 }),
		},
		{Name: "deep", Rule: "fuzz-internal", Input: treeSchema, answer: faultyIf(Answer{Status: 500},
			func(a Args, isValid bool) bool { return isValid && strings.Count(string(a), "children") > 20 })},
		{Name: "equal-ids", Rule: "fuzz-internal", Input: listSchema, answer: faultyIf(broken,
			func(a Args, isValid bool) bool {
				items, _ := a.items("ids")
				texts := []string{}
				for _, item := range items {
					texts = append(texts, string(item))
				}
				slices.Sort(texts)
				return isValid && len(slices.Compact(texts)) < len(items)
			})},
		{
			Name: "internal-for-invalid", Rule: "fuzz-internal", Input: countSchema,
			answer: faultyIf(broken, func(_ Args, isValid bool) bool { return !isValid }),
		},
		{
			Name: "success-for-invalid", Rule: "L126", Input: countSchema,
			answer: func(Args, bool) Answer { return fine },
		},
		{Name: "silent-at-size", Rule: "tool-answers", Input: listSchema, answer: faultyIf(Answer{IsSilent: true},
			func(a Args, isValid bool) bool {
				items, _ := a.items("ids")
				return isValid && len(items) > 100
			})},
		{
			Name: "text-as-number", Rule: "L126", Input: countSchema,
			answer: faultyIf(fine, func(a Args, _ bool) bool { return a.text("n") == "7" || a.text("n") == "1" }),
		},
		{
			Name: "not-a-number", Rule: "tool-answers",
			Input: `{"type":"object","properties":{"total":{"type":"number"},"count":{"type":"number"}},` +
				`"required":["total","count"]}`,
			answer: faultyIf(Answer{Raw: `{"content":[],"structuredContent":{"mean":NaN}}`},
				func(a Args, isValid bool) bool { return isValid && a.number("count") == 0 }),
		},
		{
			Name: "negative-zero", Rule: "fuzz-internal",
			Input: `{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}`,
			answer: faultyIf(broken, func(a Args, isValid bool) bool {
				return isValid && a.number("x") == 0 && math.Signbit(a.number("x"))
			}),
		},
		{Name: "empty-list", Rule: "fuzz-internal", Input: listSchema, answer: faultyIf(broken,
			func(a Args, isValid bool) bool {
				items, _ := a.items("ids")
				return isValid && len(items) == 0
			})},
		{Name: "letters", Rule: "fuzz-internal", Input: textSchema, answer: faultyIf(broken,
			func(a Args, _ bool) bool { return len(strings.ToLower(a.text("q"))) != len(a.text("q")) })},
		{Name: "changing", Rule: "fuzz-changes", Input: textSchema, answer: func(_ Args, isValid bool) Answer {
			writes.Add(1)
			return correct(isValid)
		}},
		{Name: "observing", Input: `{"type":"object"}`, answer: func(_ Args, isValid bool) Answer {
			answer := correct(isValid)
			answer.Text = fmt.Sprintf("%d entries", writes.Load())
			return answer
		}},
		{
			Name: "optional-absent", Rule: "fuzz-internal",
			Input:  `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`,
			answer: faultyIf(broken, func(a Args, isValid bool) bool { return isValid && a.raw("b") == nil }),
		},
		{Name: "outside-of-the-bmp", Rule: "fuzz-internal", Input: textSchema, answer: faultyIf(Answer{Status: 500},
			func(a Args, _ bool) bool {
				return strings.ContainsFunc(a.text("q"), func(r rune) bool { return r > 0xffff })
			})},
		{
			Name: "multiple-ignored", Rule: "L126",
			Input:  `{"type":"object","properties":{"size":{"type":"integer","multipleOf":16}},"required":["size"]}`,
			answer: faultyIf(fine, func(a Args, _ bool) bool { return a.number("size") == math.Trunc(a.number("size")) }),
		},
		{
			Name: "exclusive-as-inclusive", Rule: "L126",
			Input:  `{"type":"object","properties":{"p":{"type":"number","exclusiveMinimum":0,"maximum":1}},"required":["p"]}`,
			answer: faultyIf(fine, func(a Args, _ bool) bool { return a.number("p") == 0 }),
		},
		{
			Name: "also-in-combinations", Rule: "fuzz-valid", Input: bothSchema,
			answer: faultyIf(Answer{Text: "n is bad", IsError: true},
				func(a Args, isValid bool) bool { return isValid && a.number("n") == 3 }),
		},
		{Name: "combination", Rule: "fuzz-internal", Input: bothSchema, answer: faultyIf(broken,
			func(a Args, isValid bool) bool {
				return isValid && string(a.raw("flag")) == "false" && a.number("n") == 9
			})},
	}
	return compiled(tools)
}

// compiled returns tools with their schemas compiled.
func compiled(tools []*Tool) []*Tool {
	for _, t := range tools {
		schema, _, err := validate.Compile([]byte(t.Input))
		if err != nil {
			panic(err)
		}
		t.schema = schema
	}
	return tools
}

// Notes returns tools that create, read and delete notes. The ids are random. Reading the ninth line
// of a note is an internal error. count returns the number of notes.
func Notes(isStructured bool) (tools []*Tool, count func() int) {
	var mu sync.Mutex
	notes := map[string]bool{}
	with := func(act func(id string) Answer) func(Args, bool) Answer {
		return func(a Args, isValid bool) Answer {
			mu.Lock()
			defer mu.Unlock()
			id := a.text("id")
			if !isValid {
				return invalid
			}
			if id != "" && !notes[id] {
				return Answer{Text: "not found: " + id, IsError: true}
			}
			return act(id)
		}
	}
	read := with(func(string) Answer { return fine })
	tools = compiled([]*Tool{
		{
			Name: "create", Writes: true, Input: `{"type":"object"}`,
			answer: with(func(string) Answer {
				id := rand.Text()
				notes[id] = true
				result := `{"id":"` + id + `"}`
				if isStructured {
					return Answer{Text: id, Structured: result}
				}
				return Answer{Text: result}
			}),
		},
		{
			Name: "read", Rule: "fuzz-internal",
			Input: `{"type":"object","properties":{"id":{"type":"string","minLength":1},"line":{"type":"integer","minimum":1,` +
				`"maximum":9}},"required":["id"]}`,
			answer: func(a Args, isValid bool) Answer {
				answer := read(a, isValid)
				if !answer.IsError && a.number("line") == 9 {
					return broken
				}
				return answer
			},
		},
		{
			Name: "delete", Writes: true,
			Input: `{"type":"object","properties":{"id":{"type":"string","minLength":1}},"required":["id"]}`,
			answer: with(func(id string) Answer {
				delete(notes, id)
				return fine
			}),
		},
	})
	return tools, func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(notes)
	}
}
