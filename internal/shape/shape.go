// Package shape knows what the results, notifications and requests of a server look
// like in each revision of the protocol, and says where one looks otherwise. The table
// is shapes.txt, which says what the schemas of the revisions say and no more.
//
// It does not know what a value means, whether a server may send it here, nor what
// should happen where it is not as it should be.
package shape

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Rule is the rule of all findings of this package.
const Rule = "shape"

// The findings have the level [wire.Error]; that something is missing which servers leave
// out and clients do without has [wire.Info].

// maxFindings is how many findings are given of one message; others that differ in an
// index alone are counted with the first of them.
const maxFindings = 10

// Check says where a result, or the params of a notification or a request, is not as
// the revision has it. method is the message's own or that of the request which it
// answers. Of what the revision does not describe it says nothing.
func Check(revision, method string, m *wire.Message) []wire.Finding {
	return CheckBut(nil, revision, method, m)
}

// CheckBut is Check that reports nothing on the entries of a result's list for which skip
// returns true: the caller reports those itself.
func CheckBut(skip func(entry []byte) bool, revision, method string, m *wire.Message) []wire.Finding {
	t := table()
	at := slices.Index(t.revisions, revision) + 1
	if at == 0 {
		return nil
	}
	c := &checker{revision: at, path: make([]step, 0, 8), skip: skip}
	switch m.Kind {
	case wire.Response:
		c.response = m
		c.whole(t.result(method, at, m), m.Result, m.ResultMembers)
	case wire.Notification:
		c.whole(t.shapeOf("notification", method, at), m.Params, m.ParamMembers)
	case wire.Request:
		c.whole(t.shapeOf("request", method, at), m.Params, m.ParamMembers)
	}
	return c.told()
}

// whole is value for a result or params, of which the message may know the members.
func (c *checker) whole(k *kind, raw []byte, known func() (jsonraw.Members, *jsonraw.SyntaxError)) {
	if k != nil && k.members != nil && raw != nil {
		if members, err := known(); err == nil {
			c.members(k, members)
			return
		}
	}
	c.value(k, raw)
}

// result is the shape of a result, which may be another than that of its method.
func (t *shapes) result(method string, at int, m *wire.Message) *kind {
	members, _ := m.ResultMembers()
	_, task := members.Get("task")
	if wire.AsksForInput(m.Result) {
		return t.kinds["InputRequiredResult"]
	}
	if members.Text("resultType") == "task" {
		return t.kinds["TaskResult"]
	}
	if task && method == "tools/call" && at == 4 {
		return t.kinds["CreateTaskResult"]
	}
	return t.shapeOf("result", method, at)
}

// A checker gathers what is wrong with one value.
type checker struct {
	revision int
	path     []step
	found    []problem
	skip     func(entry []byte) bool
	// response knows the items of the lists in its result.
	response *wire.Message
}

type step struct {
	name  string
	index int // where name is ""
}

// A problem is what is wrong in a place. like counts those that differ from it in an
// index alone.
type problem struct {
	where, pattern, text string
	// want is the type or the values that the place must have, "" if they are not known.
	want string
	like int
	mild bool
}

// bad notes a problem where the checker stands.
func (c *checker) bad(text, want, got string) {
	var where, pattern strings.Builder
	for _, s := range c.path {
		step := jsonraw.Pointer("", s.name)
		pattern.WriteString(step)
		if s.name == "" {
			step += strconv.Itoa(s.index)
		}
		where.WriteString(step)
	}
	p := problem{where: where.String(), pattern: pattern.String() + " " + text, text: text + got, want: want}
	if i := slices.IndexFunc(c.found, func(q problem) bool { return q.pattern == p.pattern }); i >= 0 {
		c.found[i].like++
		return
	}
	c.found = append(c.found, p)
}

// mustBe notes a value that is not what the place must have.
func (c *checker) mustBe(want string, raw []byte) {
	c.bad("must be "+want, want, ", got "+jsonraw.Excerpt(raw, 40))
}

// told are the findings, of which Where is a pointer into the result or the params.
func (c *checker) told() (all []wire.Finding) {
	for i, p := range c.found {
		if i == maxFindings {
			left := strconv.Itoa(len(c.found) - i)
			return append(
				all,
				wire.Finding{Rule: wire.RuleMore, Level: wire.Error, Text: left + " more places are not shown", Got: left},
			)
		}
		text := p.text
		if p.like > 0 {
			text += fmt.Sprintf(", and %d more like it", p.like)
		}
		level := wire.Error
		if p.mild {
			level = wire.Info
		}
		all = append(all, wire.Finding{Rule: Rule, Level: level, Where: p.where, Text: text, Want: p.want})
	}
	return all
}

// value holds one value against a kind; nil says nothing of it. A value that is not
// there is nil.
func (c *checker) value(k *kind, raw []byte) {
	if k == nil || k.word == "any" && raw != nil {
		return
	}
	if raw == nil {
		switch {
		case k.optional():
		case len(c.path) == 0:
			c.bad("there are none", "", "")
		default:
			c.bad("is missing", k.wanted(), "")
		}
		return
	}
	switch {
	case k.several != nil:
		c.oneOf(k, raw)
	case k.items != nil:
		c.list(k, raw)
	case k.values != nil:
		var room [8]jsonraw.Member
		if members, ok := c.object(room[:0], raw); ok {
			for _, m := range members {
				c.below(step{name: m.Name}, k.values, m.Value)
			}
		}
	case k.members != nil:
		var room [8]jsonraw.Member
		if members, ok := c.object(room[:0], raw); ok {
			c.members(k, members)
		}
	case !k.holds(raw):
		c.mustBe(k.said(), raw)
	}
}

// object returns the members of an object, in room as far as they fit.
func (c *checker) object(room jsonraw.Members, raw []byte) (jsonraw.Members, bool) {
	members, err := jsonraw.AppendMembers(room, raw)
	if err != nil {
		c.mustBe("an object", raw)
	}
	return members, err == nil
}

func (c *checker) list(k *kind, raw []byte) {
	var items []json.RawMessage
	var err *jsonraw.SyntaxError
	if c.response != nil && len(c.path) == 1 {
		items, err = c.response.ResultItems(c.path[0].name)
	} else {
		items, err = jsonraw.Array(raw)
	}
	if err != nil {
		c.mustBe("an array", raw)
	} else if k.most > 0 && len(items) > k.most {
		c.bad(fmt.Sprintf("must have at most %d items", k.most), fmt.Sprintf("at most %d items", k.most), fmt.Sprintf(", got %d", len(items)))
	}
	try := &checker{revision: c.revision, path: c.path}
	for i, item := range items {
		if c.skip != nil && len(c.path) == 1 {
			try.found = nil
			try.value(k.items, item)
			if len(try.found) == 0 || c.skip(item) {
				continue
			}
		}
		c.below(step{index: i}, k.items, item)
	}
}

func (c *checker) members(k *kind, members jsonraw.Members) {
	for _, m := range k.members {
		if !m.in(c.revision) {
			continue
		}
		raw, there := members.Get(m.name)
		if !there && m.may || there && m.kind.plainlyHolds(raw, c.revision) {
			continue
		}
		before := len(c.found)
		c.below(step{name: m.name}, m.kind, raw)
		if !there && len(c.found) > before {
			c.found[before].mild = m.mild
		}
	}
}

// below goes one step into the value and back.
func (c *checker) below(s step, k *kind, raw []byte) {
	c.path = append(c.path, s)
	c.value(k, raw)
	c.path = c.path[:len(c.path)-1]
}

// oneOf holds a value against several kinds. Of objects that name their own kind the
// one that is named counts, of others the nearest.
func (c *checker) oneOf(k *kind, raw []byte) {
	if k.plainlyHolds(raw, c.revision) {
		return
	}
	there := k.inRevision(c.revision)
	if words := there.words(); words != nil {
		c.mustBe(alternatives(words), raw)
		return
	}
	var room [8]jsonraw.Member
	members, err := jsonraw.AppendMembers(room[:0], raw)
	if name := there.discriminator(c.revision); err == nil && name != "" {
		mark, _ := members.Get(name)
		there = slices.DeleteFunc(there, func(o *kind) bool { return !o.namedBy(name, mark, c.revision) })
		if len(there) == 0 {
			c.below(step{name: name}, k.inRevision(c.revision).marks(name, c.revision), mark)
			return
		}
	}
	if isList := raw[0] == '['; slices.ContainsFunc(there, func(o *kind) bool { return (o.items != nil) == isList }) {
		there = slices.DeleteFunc(there, func(o *kind) bool { return (o.items != nil) != isList })
	}
	var nearest []problem
	for i, o := range there {
		try := &checker{revision: c.revision, path: c.path}
		try.value(o, raw)
		if len(try.found) == 0 {
			return
		}
		if i == 0 || len(try.found) < len(nearest) {
			nearest = try.found
		}
	}
	c.found = append(c.found, nearest...)
}

// Has reports whether the revision has requests of a method whose results the table
// describes.
func Has(revision, method string) bool {
	t := table()
	return t.shapeOf("result", method, slices.Index(t.revisions, revision)+1) != nil
}
