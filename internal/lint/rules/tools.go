package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
	"mcpc/internal/recent"
	"mcpc/internal/schema"
)

var toolChecks = []Check{
	{ID: "L106", Kind: conv.OnTool, Do: func(e *conv.Event) {
		s := e.Raw("inputSchema")
		if !conv.IsObject(s) {
			e.Find("/inputSchema", e.Show(s), "an object")
		} else if conv.TextInside(s, "type") != "object" {
			e.Find("/inputSchema/type", e.Show(conv.Inside(s, "type")), `"object"`)
		}
	}},
	{ID: "L108", Kind: conv.OnTool, Do: forEachSchema(checkDialect)},
	{ID: "L109", Kind: conv.OnTool, When: hasOutputSchema, Do: func(e *conv.Event) {
		s := e.Raw("outputSchema")
		if !conv.IsObject(s) {
			e.Find("/outputSchema", e.Show(s), "an object, or no outputSchema")
		} else if conv.TextInside(s, "type") != "object" {
			e.Find("/outputSchema/type", e.Show(conv.Inside(s, "type")), `"object"`)
		}
	}},
	{ID: "L110", Kind: conv.OnTool, Do: forEachSchema(checkRefs(externalRefs, "a definition in the same schema"))},
	{ID: "L111", Kind: conv.OnTool, Do: forEachSchema(checkRefs(localRefs, "a definition that exists"))},
	{ID: "L112", Kind: conv.OnTool, Do: forEachSchema(checkSize)},
	{ID: "L113", Kind: conv.OnTool, Do: func(e *conv.Event) {
		if !mcp.IsToolName(e.Text("name")) {
			e.Find("/name", e.Got("name"), "1 to 128 characters of A-Z a-z 0-9 _ . -")
		}
	}},
	{ID: "L114", Kind: conv.OnResult, Methods: []string{"tools/list"}, Do: checkUniqueNames},
	{ID: "L116", Kind: conv.OnTool, When: whenMentions("x-mcp-header"), Do: checkHeaderParams},
	{ID: "L117", Kind: conv.OnTool, When: whenMentions("x-mcp-header"), Do: func(e *conv.Event) {
		for _, n := range headerSchemas(e) {
			if word := findSecret(n.Property); word != "" {
				e.Find("/inputSchema"+n.Pointer, "a header for "+n.Property, "a parameter that is not a secret")
			}
		}
	}},
	{ID: "L118", Kind: conv.OnTool, When: whenMentions("x-mcp-header"), Do: func(e *conv.Event) {
		for _, n := range headerSchemas(e) {
			name := n.Members.Text("x-mcp-header")
			if len(name) > maxHeaderName || slices.Contains(knownHeaders, strings.ToLower(name)) {
				e.Find("/inputSchema"+n.Pointer+"/x-mcp-header", "Mcp-Param-"+name, "a short name that no other header has")
			}
		}
	}},
	{ID: "L127", Kind: conv.OnTool, Do: checkReadOnlyHint},
	{ID: "L127", Kind: conv.OnResult, Methods: []string{"tools/list"}, Do: checkAnyAnnotated},
	{ID: "L128", Kind: conv.OnTool, Do: checkDescriptions},
	{
		ID:   "L130",
		Kind: conv.OnTool,
		When: func(e *conv.Event) bool { return e.Raw("execution", "taskSupport") != nil },
		Do:   checkTaskSupport,
	},
}

func hasOutputSchema(e *conv.Event) bool { return e.Raw("outputSchema") != nil }

func whenMentions(text string) func(*conv.Event) bool {
	return func(e *conv.Event) bool { return strings.Contains(string(e.Value), text) }
}

// A walkedSchema is the schema of a tool's input or output; pointer is its JSON pointer.
type walkedSchema struct {
	pointer string
	tree    *schema.Tree
}

// schemasOf returns the schemas of a tool. It walks them once for all checks.
func schemasOf(e *conv.Event) []walkedSchema {
	type cache struct {
		spot conv.Spot
		at   string
		all  []walkedSchema
	}
	c := conv.State[cache](e.Conversation, "schemas")
	if c.all != nil && c.spot == e.Spot() && c.at == e.Pointer {
		return c.all
	}
	var all []walkedSchema
	for _, name := range []string{"inputSchema", "outputSchema"} {
		if s := e.Raw(name); conv.IsObject(s) {
			all = append(all, walkedSchema{"/" + name, schema.Walk(s)})
		}
	}
	*c = cache{e.Spot(), e.Pointer, all}
	return all
}

func forEachSchema(do func(*conv.Event, walkedSchema)) func(*conv.Event) {
	return func(e *conv.Event) {
		for _, w := range schemasOf(e) {
			do(e, w)
		}
	}
}

// dialects are the dialects of JSON Schema that clients commonly support.
var dialects = []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema"}

func checkDialect(e *conv.Event, w walkedSchema) {
	raw := w.tree.Nodes[0].Members.Value("$schema")
	if text, _ := jsonraw.Text(raw); raw != nil && !slices.Contains(dialects, strings.TrimSuffix(text, "#")) {
		e.Find(w.pointer+"/$schema", e.Show(raw), dialects[0])
	}
}

// The references that checkRefs judges.
const (
	externalRefs = true
	localRefs    = false
)

// checkRefs returns a check of the references that do not resolve, either only the external or only
// the others.
func checkRefs(external bool, want string) func(*conv.Event, walkedSchema) {
	return func(e *conv.Event, w walkedSchema) {
		for _, r := range w.tree.BadRefs() {
			if r.External == external {
				e.Find(w.pointer+r.Pointer, r.Target, want)
			}
		}
	}
}

const (
	maxDepth      = 32
	maxSubschemas = 2000
)

func checkSize(e *conv.Event, w walkedSchema) {
	if depth := w.tree.Depth(); depth > maxDepth {
		e.Find(w.pointer, strconv.Itoa(depth)+" levels", "at most "+strconv.Itoa(maxDepth))
		return
	}
	if n := len(w.tree.Nodes); n > maxSubschemas || w.tree.IsTruncated {
		e.Find(w.pointer, strconv.Itoa(n)+" subschemas or more", "at most "+strconv.Itoa(maxSubschemas))
	}
}

// checkUniqueNames compares the names of tools on all pages of a list. A tool that is repeated
// without a change is a fault of the pages (L146).
func checkUniqueNames(e *conv.Event) {
	items, _ := e.Message.ResultItems("tools")
	page := pageOf(e)
	isOnPage := map[string]bool{}
	byLowerCase := map[string]string{}
	for i, item := range items[:min(len(items), maxNames)] {
		name := conv.TextInside(item, "name")
		at := "/tools/" + strconv.Itoa(i)
		lower := strings.ToLower(name)
		other, isSimilar := byLowerCase[lower]
		isEarlier, isSame := page.findEarlier(name, item)
		if isOnPage[name] || isEarlier && !isSame {
			e.Hit(conv.Hit{
				Subject: "tool " + name, Item: at, Pointer: "/name", Got: "a second tool named " + name,
				Want: "a name of its own",
			})
		} else if isSimilar {
			e.Hit(conv.Hit{
				Severity: conv.Warn, Subject: "tool " + name, Item: at, Pointer: "/name",
				Got: name + " beside " + other, Want: "names that differ in more than case",
			})
		}
		isOnPage[name] = true
		byLowerCase[lower] = name
	}
}

const maxHeaderName = 64

// knownHeaders are header names that have a meaning for proxies and servers.
var knownHeaders = []string{
	"authorization", "cookie", "set-cookie", "host", "content-type", "content-length", "accept", "origin",
	"referer", "user-agent", "connection", "transfer-encoding", "upgrade", "forwarded", "x-forwarded-for",
	"proxy-authorization", "cache-control",
}

// headerSchemas returns the subschemas of a tool's input that have x-mcp-header.
func headerSchemas(e *conv.Event) []schema.Node {
	var nodes []schema.Node
	for _, w := range schemasOf(e) {
		if w.pointer != "/inputSchema" {
			continue
		}
		for _, n := range w.tree.Nodes {
			if n.Members.Value("x-mcp-header") != nil {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// checkHeaderParams checks the header names of parameters (2026-07-28
// basic/transports/streamable-http, "Custom Headers"). Over stdio they have no effect.
func checkHeaderParams(e *conv.Event) {
	severity := conv.Error
	if !e.HTTP {
		severity = conv.Warn
	}
	used := map[string]bool{}
	for _, n := range headerSchemas(e) {
		raw := n.Members.Value("x-mcp-header")
		fault := mcp.JudgeHeaderName(raw, n.Members.Text("type"), n.OnlyProperties && n.Pointer != "", used)
		if fault != mcp.HeaderValid {
			e.FindAs(severity, "/inputSchema"+n.Pointer+"/x-mcp-header", e.Show(raw)+" at "+n.Pointer, wantedHeader[fault])
		}
	}
}

// wantedHeader describes a correct annotation in place of one with the fault.
var wantedHeader = map[mcp.HeaderFault]string{
	mcp.HeaderNoToken:     "a token: letters, digits and some signs",
	mcp.HeaderRepeated:    "a name that no other parameter has",
	mcp.HeaderUnreachable: "a place that is reached through properties only",
	mcp.HeaderWrongType:   "a parameter of type string, integer or boolean",
}

// changingVerbs begin the names of tools that change something.
var changingVerbs = []string{
	"delete", "remove", "write", "send", "create", "update", "drop", "destroy", "purge", "insert", "publish",
	"upload",
}

// checkReadOnlyHint reports a readOnlyHint that other hints or the name of the tool contradict.
func checkReadOnlyHint(e *conv.Event) {
	if string(e.Raw("annotations", "readOnlyHint")) != "true" {
		return
	}
	if string(e.Raw("annotations", "destructiveHint")) == "true" {
		e.Find("/annotations/destructiveHint", "readOnlyHint and destructiveHint", "one of them")
		return
	}
	name := strings.ToLower(e.Text("name"))
	verb, _, _ := strings.Cut(strings.NewReplacer("-", "_", ".", "_").Replace(name), "_")
	if slices.Contains(changingVerbs, verb) {
		e.Find("/annotations/readOnlyHint", "readOnlyHint for "+e.Text("name"), "readOnlyHint false")
	}
}

func checkAnyAnnotated(e *conv.Event) {
	items, _ := e.Message.ResultItems("tools")
	for _, item := range items {
		if conv.Inside(item, "annotations") != nil {
			return
		}
	}
	if len(items) > 0 {
		e.Hit(conv.Hit{
			Subject: "tools", Pointer: "/tools", Got: "no tool with annotations",
			Want: "readOnlyHint and destructiveHint",
		})
	}
}

// checkDescriptions reports a tool without description or title, and parameters without description.
func checkDescriptions(e *conv.Event) {
	var missing []string
	if strings.TrimSpace(e.Text("description")) == "" {
		missing = append(missing, "description")
	}
	hasTitle := e.Text("title") != "" || e.Text("annotations", "title") != ""
	if e.Rev >= conv.Rev20250618 && !hasTitle {
		missing = append(missing, "title")
	}
	parameters, _ := jsonraw.Object(e.Raw("inputSchema", "properties"))
	undescribed := 0
	for _, p := range parameters {
		isDescribed := conv.TextInside(p.Value, "description") != "" || conv.Inside(p.Value, "$ref") != nil
		if conv.IsObject(p.Value) && !isDescribed {
			undescribed++
		}
	}
	if undescribed > 0 {
		missing = append(missing,
			"description of "+strconv.Itoa(undescribed)+" of "+strconv.Itoa(len(parameters))+" parameters")
	}
	if len(missing) > 0 {
		e.Find("", "no "+strings.Join(missing, ", no "), "texts by which a person or a model can choose the tool")
	}
}

func checkTaskSupport(e *conv.Event) {
	raw := e.Raw("execution", "taskSupport")
	text, _ := jsonraw.Text(raw)
	if !isOneOf(text, "forbidden", "optional", "required") {
		e.Find("/execution/taskSupport", e.Show(raw), "forbidden, optional or required")
		return
	}
	lacksTasks := e.Server.Declared && !e.Server.Has("tasks", "requests", "tools", "call")
	if text != "forbidden" && lacksTasks {
		e.Find("/execution/taskSupport", e.Show(raw), "the capability tasks.requests.tools.call")
	}
}

// findBadTypes reports the types below the root that no dialect of JSON Schema has, and returns
// their JSON pointers. L106 and L109 judge the type of the root.
func findBadTypes(e *conv.Event, w walkedSchema) []string {
	raw := w.tree.Nodes[0].Raw
	var pointers []string
	for _, n := range w.tree.Nodes[1:] {
		value := n.Members.Value("type")
		if word, ok := jsonraw.Text(value); ok && schema.TypeNamed(word) == 0 {
			at := n.Pointer + "/type"
			pointers = append(pointers, at)
			fix := suggestFix(raw, at)
			if fix == "" {
				fix = "a type of JSON Schema"
			}
			e.Find(w.pointer+at, e.Show(value), fix)
		}
	}
	return pointers
}

// schemaChecks returns the checks that need a validator.
func schemaChecks(t Tools) []Check {
	lacks := ""
	if t.Compile == nil {
		lacks = "needs a JSON Schema validator"
	}
	return []Check{
		{ID: "L107", Kind: conv.OnTool, MissingTool: lacks, Do: forEachSchema(func(e *conv.Event, w walkedSchema) {
			reported := findBadTypes(e, w)
			raw := w.tree.Nodes[0].Raw
			_, _, fault := t.Compile(raw)
			isInvalid := fault != nil && isOneOf(fault.Reason, "not_a_schema", "not_json")
			hasDialect := e.Rev >= conv.Rev20251125 // older revisions name no dialect
			// findBadTypes may have reported this place already.
			if isInvalid && hasDialect && !slices.Contains(reported, fault.Where) {
				fix := suggestFix(raw, fault.Where)
				if fix == "" {
					fix = "a valid JSON Schema"
				}
				e.Find(w.pointer+fault.Where, fault.Text, fix)
			}
		})},
		{ID: "L112", Kind: conv.OnTool, Do: forEachSchema(func(e *conv.Event, w walkedSchema) {
			if t.Compile == nil { // checkSize still judges the rule
				return
			}
			_, warnings, fault := t.Compile(w.tree.Nodes[0].Raw)
			for _, f := range warnings {
				if f.Rule == "pattern_broken" {
					e.Find(w.pointer+f.Pointer, f.Text, "a regular expression of ECMA-262")
				}
			}
			if fault != nil && fault.Reason == "too_complex" {
				e.Find(w.pointer+fault.Where, fault.Text, "a schema that takes little work to check")
			}
		})},
		{ID: "L120", Kind: conv.OnTool, MissingTool: lacks, When: hasOutputSchema, Do: func(e *conv.Event) {
			outputs := conv.State[recent.Map[string, outputSchema]](e.Conversation, "output schemas")
			outputs.Put(e.Text("name"), outputSchema{raw: slices.Clone(e.Raw("outputSchema"))})
		}},
		{
			ID:          "L120",
			Kind:        conv.OnResult,
			MissingTool: lacks,
			Methods:     []string{"tools/call"},
			When:        isFinal,
			Do: func(e *conv.Event) {
				checkOutput(t, e)
			},
		},
	}
}

// An outputSchema is the outputSchema of a tool, compiled at its first use. isInvalid is set if it
// cannot be compiled.
type outputSchema struct {
	raw       json.RawMessage
	schema    Schema
	isInvalid bool
}

// checkOutput validates structuredContent against the outputSchema of its tool.
func checkOutput(t Tools, e *conv.Event) {
	outputs := conv.State[recent.Map[string, outputSchema]](e.Conversation, "output schemas")
	o, ok := outputs.Lookup(e.Call.Name)
	if !ok || o.isInvalid || string(e.Raw("isError")) == "true" {
		return
	}
	if o.schema == nil {
		s, _, fault := t.Compile(o.raw)
		o.schema = s
		o.isInvalid = fault != nil
		outputs.Put(e.Call.Name, o)
		if o.isInvalid {
			return
		}
	}
	value := e.Raw("structuredContent")
	if value == nil {
		e.Find("/structuredContent", "missing", "a value that matches the outputSchema")
		return
	}
	found, err := o.schema.Check(value)
	if err != nil { // the validator cannot decide
		return
	}
	for _, f := range found[:min(len(found), 5)] {
		e.Find("/structuredContent"+f.Pointer, f.Text, "what the outputSchema of "+e.Call.Name+" describes")
	}
}
