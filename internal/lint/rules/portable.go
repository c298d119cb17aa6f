package rules

import (
	"regexp"
	"strconv"
	"sync"

	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/hosts"
)

// The portable core is what all hosts of package hosts accept without a change.
var (
	coreName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`) })
	coreProperty = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`) })
)

// maxPortableName leaves room for the prefix that hosts put before a name to distinguish servers.
const maxPortableName = 40

var portabilityChecks = []Check{{ID: "hosts-core", Kind: conv.OnTool, Do: func(e *conv.Event) {
	name := e.Text("name")
	if !coreName().MatchString(name) {
		e.Find("/name", e.Got("name"),
			"a letter or _, then at most 63 letters, digits, _ and -: others are refused by OpenAI or Anthropic")
	} else if len(name) > maxPortableName {
		e.FindAs(conv.Info, "/name", strconv.Itoa(len(name))+" characters",
			"at most "+strconv.Itoa(maxPortableName)+": hosts put a prefix before the name, and have 64")
	}
	for _, w := range schemasOf(e) {
		if w.pointer == "/inputSchema" {
			checkPortableSchema(e, w)
		}
	}
}}}

func checkPortableSchema(e *conv.Event, w walkedSchema) {
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if w.tree.Nodes[0].Members.Value(k) != nil {
			e.Find(w.pointer+"/"+k, k+" at the root", "properties only: OpenAI refuses the tool")
		}
	}
	for _, n := range hosts.Booleans(w.tree) {
		e.Find(w.pointer+n.Pointer, "a schema that is "+string(n.Raw), "an object: OpenAI and Claude Code refuse the tool")
	}
	for i := range w.tree.Nodes {
		n := &w.tree.Nodes[i]
		if hosts.IsOwnProperty(n) && !coreProperty().MatchString(n.Property) {
			e.Find(w.pointer+n.Pointer, "property "+strconv.Quote(n.Property),
				"a letter or _, then at most 63 letters, digits, _ . and -: others are refused by Anthropic or Gemini")
		}
	}
}
