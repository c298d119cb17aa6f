package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shape"
	"mcpc/internal/skill"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/suggest"
	"mcpc/internal/wire"
)

// A Kind is one of the things that a server lists.
type Kind struct {
	// One and many are what a person calls it.
	One, Many string
	// Method lists it, and key is the member of an entry that asks for it.
	Method, Key string
	// Capability is what a server declares that has it: a capability or the id of an extension.
	Capability string
}

// Kinds are all of them; the first is what is listed where none is named.
var Kinds = []Kind{
	{"tool", "tools", "tools/list", "name", "tools"},
	{"prompt", "prompts", "prompts/list", "name", "prompts"},
	{"resource", "resources", "resources/list", "uri", "resources"},
	{"template", "templates", "resources/templates/list", "uriTemplate", "resources"},
	{"skill", "skills", "skills/list", "uri", skill.Extension},
}

var ToolKind, PromptKind, ResourceKind, TemplateKind, SkillKind = Kinds[0], Kinds[1], Kinds[2], Kinds[3], Kinds[4]

// KindNamed takes the singular and the plural: users need not remember which
// command wants which.
func KindNamed(word string) (Kind, bool) {
	for _, k := range Kinds {
		if word == k.One || word == k.Many {
			return k, true
		}
	}
	switch strings.ToLower(word) {
	case "resource-templates",
		"resourcetemplates",
		"resource_templates",
		"resources/templates": // as the protocol names them
		return KindNamed("templates")
	}
	return Kind{}, false
}

func KindWords() []string { return sliceutil.Map(Kinds, func(k Kind) string { return k.Many }) }

func MethodsOf(kinds []Kind) []string {
	return sliceutil.Map(kinds, func(k Kind) string { return k.Method })
}

// Declares reports whether the server declared a capability, or an extension. known is false
// where its capabilities are unknown.
func (c *Conn) Declares(capability string) (declared, known bool) {
	said := c.Info().Capabilities
	if said == nil {
		said = c.recalled
	}
	if jsonraw.First(said, capability) != nil || jsonraw.First(jsonraw.First(said, "extensions"), capability) != nil {
		return true, true
	}
	_, err := jsonraw.Object(said)
	return false, err == nil
}

// Extension returns the settings with which the server declared an extension; nil where it did not.
// known is false where its capabilities are unknown.
func (c *Conn) Extension(id string) (settings json.RawMessage, known bool) {
	said := c.Info().Capabilities
	if said == nil {
		said = c.recalled
	}
	return jsonraw.First(jsonraw.First(said, "extensions"), id), said != nil
}

// Declared leaves out what the server declares no capability for.
func (c *Conn) Declared(all []Kind) []Kind {
	var there []Kind
	for _, k := range all {
		if declared, known := c.Declares(k.Capability); known && !declared {
			if c.Env.Verbose > 0 {
				c.Env.UI.Note("the server does not declare " + k.Capability + ", so " + k.Method + " was not sent")
			}
			continue
		}
		there = append(there, k)
	}
	return there
}

// ExplainUnsupported says what an answer has to do with the capabilities that the server declares,
// to one that says that the method is not known and to one that says something else.
func (c *Conn) ExplainUnsupported(out wire.Outcome, capability string) wire.Outcome {
	if !client.UnknownMethod(out) {
		c.WarnUndeclared(out, capability)
		return out
	}
	out.Hint = wire.RunOnServer("info") + " shows the server's capabilities"
	if declared, known := c.Declares(capability); known && !declared {
		out.Hint = "the server does not declare " + wire.Hint(capability) + "; " + out.Hint
	}
	return out
}

// WarnUndeclared warns, once for each, of a capability that the server supports and did not
// declare. Clients that respect the declaration never use it.
func (c *Conn) WarnUndeclared(out wire.Outcome, capability string) {
	declared, known := c.Declares(capability)
	if declared || !known || !out.Good() && out.Message == nil {
		return
	}
	c.Mu.Lock()
	told := slices.Contains(c.warned, capability)
	c.warned = append(c.warned, capability)
	c.Mu.Unlock()
	if !told {
		c.Env.UI.Warn("the server did not declare the capability " + capability + "; the request was sent anyway")
	}
}

// NoteListLength notes that an earlier list was longer with elicitation, which mcpc declares
// at a terminal, or shorter without. A number is remembered as a list with one entry.
func (c *Conn) NoteListLength(ctx context.Context, list Sorted, tells bool) {
	if c.Store == nil || list.Kind != ToolKind || !list.Whole || c.Answering.Elicits() {
		return
	}
	key := func(person bool) string {
		declared := offer(c.Answering, person)
		return c.toolsKey(declared) + "\n" + c.Revision() + "\nnumber\n" + string(declared)
	}
	here := list.Count
	person := c.Env.UI.CanAsk()
	now := c.Env.Now()
	remembered := func(person bool, maxAge time.Duration) (number int, at time.Time) {
		list, err := c.Store.Tools(key(person))
		if err != nil || list == nil || len(list.Tools) != 1 || now.Sub(list.FetchedAt) > maxAge {
			return -1, now
		}
		number, _ = strconv.Atoi(list.Tools[0].Name)
		return number, list.FetchedAt
	}
	if n, _ := remembered(person, rememberFor/2); n != here {
		_ = c.Store.SaveTools(
			ctx,
			key(person),
			state.ToolList{FetchedAt: now, Tools: []state.Tool{{Name: strconv.Itoa(here)}}},
		) // only for a note
	}
	there, at := remembered(!person, rememberFor)
	if there < 0 || !tells {
		return
	}
	before := map[bool]string{true: "without", false: "with"}[person]
	if person && there < here || !person && there > here {
		c.Env.UI.Note(fmt.Sprintf("%s elicitation, which mcpc declares at a terminal, the server listed %s (%s)",
			before, english.Plural(there, "tool"), english.Ago(now, at)))
	}
}

// checkListShape compares a message with its shape. It reports nothing about the entries of a list that cannot be used:
// each of them is reported as left out.
func checkListShape(revision, method string, m *wire.Message) []wire.Finding {
	return shape.CheckBut(func(raw []byte) bool {
		var bad *wire.Finding
		switch method {
		case ToolKind.Method:
			_, bad = mcp.ParseTool(raw)
		case PromptKind.Method:
			_, bad = mcp.ParsePrompt(raw)
		case ResourceKind.Method:
			_, bad = mcp.ParseResource(raw)
		case TemplateKind.Method:
			_, bad = mcp.ParseTemplate(raw)
		case SkillKind.Method:
			_, bad = mcp.ParseSkill(raw)
		}
		return bad != nil
	}, revision, method, m)
}

// fewNames are so few that a hint can name all of them.
const fewNames = 8

// meantName returns the listed name that is most like another one; "" if none is like it. kubectl writes TYPE/NAME.
func meantName(k Kind, name string, names []string) string {
	plain := strings.TrimPrefix(strings.TrimPrefix(name, k.One+"/"), k.Many+"/")
	if slices.Contains(names, plain) {
		return plain
	}
	return suggest.NearestName(name, names)
}

// nearestIn names what was perhaps meant, or what there is.
func nearestIn(k Kind, name string, names []string) wire.Hint {
	switch near := meantName(k, name, names); {
	case near != "":
		return wire.Hint("did you mean " + near + "?")
	case len(names) == 0:
		return wire.Hint("the server lists no " + k.Many)
	case len(names) <= fewNames && len(strings.Join(names, ", ")) <= 200:
		slices.Sort(names)
		return wire.Hint("there are: " + strings.Join(names, ", "))
	}
	return wire.RunOnServer("list "+k.Many) + " shows the server's " + wire.Hint(k.Many)
}

// Offers reports that a capability is declared, with that member set. Of a server
// that said nothing of itself everything is believed.
func (c *Conn) Offers(capability, member string) bool {
	declared, known := c.Declares(capability)
	if !known || member == "" {
		return !known || declared
	}
	members, _ := jsonraw.Object(c.Info().Capabilities)
	raw, _ := members.Get(capability)
	settings, _ := jsonraw.Object(raw)
	flag, _ := settings.Get(member)
	return string(flag) == "true"
}
