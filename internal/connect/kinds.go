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

// A Kind is a kind of thing that servers list.
type Kind struct {
	// One and Many are its names for people.
	One, Many string
	// Method lists the kind. Key is the member of an entry that requests it.
	Method, Key string
	// Capability is the capability or the id of the extension that a server with this kind
	// declares.
	Capability string
}

// Kinds are all kinds. The first is listed if the user names no kind.
var Kinds = []Kind{
	{"tool", "tools", "tools/list", "name", "tools"},
	{"prompt", "prompts", "prompts/list", "name", "prompts"},
	{"resource", "resources", "resources/list", "uri", "resources"},
	{"template", "templates", "resources/templates/list", "uriTemplate", "resources"},
	{"skill", "skills", "skills/list", "uri", skill.Extension},
}

// The entries of Kinds.
var (
	ToolKind     = Kinds[0]
	PromptKind   = Kinds[1]
	ResourceKind = Kinds[2]
	TemplateKind = Kinds[3]
	SkillKind    = Kinds[4]
)

// KindNamed returns the kind with this name, singular or plural: users need not know which of them
// a command takes. It also accepts spellings of resource templates in the protocol.
func KindNamed(word string) (Kind, bool) {
	for _, k := range Kinds {
		if word == k.One || word == k.Many {
			return k, true
		}
	}
	switch strings.ToLower(word) {
	case "resource-templates", "resourcetemplates", "resource_templates", "resources/templates":
		return TemplateKind, true
	}
	return Kind{}, false
}

// KindWords returns the plural names of all kinds.
func KindWords() []string { return sliceutil.Map(Kinds, func(k Kind) string { return k.Many }) }

// MethodsOf returns the methods that list these kinds.
func MethodsOf(kinds []Kind) []string {
	return sliceutil.Map(kinds, func(k Kind) string { return k.Method })
}

// Declares reports whether the server declared a capability or an extension. known is false if its
// capabilities are unknown.
func (c *Conn) Declares(capability string) (declared, known bool) {
	capabilities := c.Info().Capabilities
	if capabilities == nil {
		capabilities = c.recalledCapabilities
	}
	extensions := jsonraw.First(capabilities, "extensions")
	if jsonraw.First(capabilities, capability) != nil || jsonraw.First(extensions, capability) != nil {
		return true, true
	}
	_, err := jsonraw.Object(capabilities)
	return false, err == nil
}

// Extension returns the settings of an extension that the server declared, or nil. known is false
// if its capabilities are unknown.
func (c *Conn) Extension(id string) (settings json.RawMessage, known bool) {
	capabilities := c.Info().Capabilities
	if capabilities == nil {
		capabilities = c.recalledCapabilities
	}
	return jsonraw.First(jsonraw.First(capabilities, "extensions"), id), capabilities != nil
}

// Declared returns the kinds that the server may have: it leaves out kinds whose capability the
// server does not declare. It returns all kinds if the server's capabilities are unknown.
func (c *Conn) Declared(all []Kind) []Kind {
	var declaredKinds []Kind
	for _, k := range all {
		if declared, known := c.Declares(k.Capability); known && !declared {
			if c.Env.Verbose > 0 {
				c.Env.UI.Note("the server does not declare " + k.Capability + ", so " + k.Method + " was not sent")
			}
			continue
		}
		declaredKinds = append(declaredKinds, k)
	}
	return declaredKinds
}

// ExplainUnsupported adds a hint to the outcome of a method that the server does not know. For any
// other outcome it warns if the capability is not declared.
func (c *Conn) ExplainUnsupported(out wire.Outcome, capability string) wire.Outcome {
	if !client.IsUnknownMethod(out) {
		c.WarnUndeclared(out, capability)
		return out
	}
	out.Hint = wire.RunOnServer("describe") + " shows the server's capabilities"
	if declared, known := c.Declares(capability); known && !declared {
		out.Hint = "the server does not declare " + wire.Hint(capability) + "; " + out.Hint
	}
	return out
}

// WarnUndeclared warns, once per capability, if the server supports a capability that it does not
// declare. Clients that respect the declaration never use it.
func (c *Conn) WarnUndeclared(out wire.Outcome, capability string) {
	declared, known := c.Declares(capability)
	if declared || !known {
		return
	}
	hasResponse := out.OK() || out.Message != nil
	if !hasResponse { // nothing shows that the server supports it
		return
	}
	c.Mu.Lock()
	warned := slices.Contains(c.undeclaredUsed, capability)
	c.undeclaredUsed = append(c.undeclaredUsed, capability)
	c.Mu.Unlock()
	if !warned {
		c.Env.UI.Warn("the server did not declare the capability " + capability + "; the request was sent anyway")
	}
}

// NoteListLength prints a note if the server lists fewer tools without elicitation than with it. mcpc
// declares elicitation at a terminal only, so it compares the list with an earlier command's. Each
// length is cached as a list with one entry. If reports is false, it only stores the length.
func (c *Conn) NoteListLength(ctx context.Context, list Sorted, reports bool) {
	isToolList := list.Kind == ToolKind && list.IsComplete
	declaresAlways := c.Answering.Elicits() // by the flags, with or without a terminal
	if c.Store == nil || !isToolList || declaresAlways {
		return
	}
	length := list.Count
	canAskUser := c.Env.UI.CanAsk()
	now := c.Env.Now()
	// An equal length is stored again only when half of its time is over, to save writes.
	if storedLength, _ := c.rememberedLength(canAskUser, rememberFor/2); storedLength != length {
		list := state.ToolList{FetchedAt: now, Tools: []state.Tool{{Name: strconv.Itoa(length)}}}
		_ = c.Store.SaveTools(ctx, c.lengthKey(canAskUser), list) // losing it costs a note only
	}
	otherLength, fetchedAt := c.rememberedLength(!canAskUser, rememberFor)
	if otherLength == unknownLength || !reports {
		return
	}
	// Some servers list more tools for clients that support elicitation. If they listed fewer, that
	// has another reason.
	otherList := "with"
	isShorterWithout := otherLength > length
	if canAskUser {
		otherList = "without"
		isShorterWithout = otherLength < length
	}
	if isShorterWithout {
		c.Env.UI.Note(fmt.Sprintf("%s elicitation, which mcpc declares at a terminal, the server listed %s (%s)",
			otherList, english.Plural(otherLength, "tool"), english.Ago(now, fetchedAt)))
	}
}

// lengthKey returns the cache key of the number of tools that the server lists if mcpc declares the
// capabilities of the flags and, with canAskUser, elicitation for the user.
func (c *Conn) lengthKey(canAskUser bool) string {
	declared := capabilitiesFor(c.Answering, canAskUser)
	return c.toolsKey(declared) + "\n" + c.Revision() + "\nnumber\n" + string(declared)
}

// unknownLength is the length of a list that was not requested, or too long ago.
const unknownLength = -1

// rememberedLength returns the number of tools that is cached under lengthKey, and when they were
// listed. It returns unknownLength if the number is older than maxAge or not cached.
func (c *Conn) rememberedLength(canAskUser bool, maxAge time.Duration) (int, time.Time) {
	list, err := c.Store.Tools(c.lengthKey(canAskUser))
	if err != nil || list == nil || len(list.Tools) != 1 {
		return unknownLength, time.Time{}
	}
	if c.Env.Now().Sub(list.FetchedAt) > maxAge {
		return unknownLength, time.Time{}
	}
	length, _ := strconv.Atoi(list.Tools[0].Name)
	return length, list.FetchedAt
}

// checkListShape checks a response to a list request against its schema, and returns what is wrong.
// It skips entries that cannot be used: each of them is reported as omitted.
func checkListShape(revision, method string, m *wire.Message) []wire.Finding {
	isUnusable := func(entry []byte) bool {
		var bad *wire.Finding
		switch method {
		case ToolKind.Method:
			_, bad = mcp.ParseTool(entry)
		case PromptKind.Method:
			_, bad = mcp.ParsePrompt(entry)
		case ResourceKind.Method:
			_, bad = mcp.ParseResource(entry)
		case TemplateKind.Method:
			_, bad = mcp.ParseTemplate(entry)
		case SkillKind.Method:
			_, bad = mcp.ParseSkill(entry)
		}
		return bad != nil
	}
	return shape.CheckBut(isUnusable, revision, method, m)
}

// maxNamesInHint is the maximum number of names for a hint to list all of them.
const maxNamesInHint = 8

// similarName returns the listed name that is most similar to name, or "" without a similar name.
// name may be TYPE/NAME, as kubectl writes it.
func similarName(k Kind, name string, names []string) string {
	plain := strings.TrimPrefix(strings.TrimPrefix(name, k.One+"/"), k.Many+"/")
	if slices.Contains(names, plain) {
		return plain
	}
	return suggest.NearestName(name, names)
}

// hintForName returns a hint at the name that was probably meant, or at the names that exist. It
// sorts names.
func hintForName(k Kind, name string, names []string) wire.Hint {
	similar := similarName(k, name, names)
	if similar != "" {
		return wire.Hint("did you mean " + similar + "?")
	}
	if len(names) == 0 {
		return wire.Hint("the server lists no " + k.Many)
	}
	const maxHint = 200 // bytes of all names
	if len(names) <= maxNamesInHint && len(strings.Join(names, ", ")) <= maxHint {
		slices.Sort(names)
		return wire.Hint("there are: " + strings.Join(names, ", "))
	}
	return wire.RunOnServer("list "+k.Many) + " shows the server's " + wire.Hint(k.Many)
}

// Offers reports whether a capability is declared and its member is true. With member "" the
// declaration is enough. It returns true if the server's capabilities are unknown.
func (c *Conn) Offers(capability, member string) bool {
	declared, known := c.Declares(capability)
	if !known {
		return true
	}
	if member == "" {
		return declared
	}
	members, _ := jsonraw.Object(c.Info().Capabilities)
	raw, _ := members.Get(capability)
	settings, _ := jsonraw.Object(raw)
	flag, _ := settings.Get(member)
	return string(flag) == "true"
}
