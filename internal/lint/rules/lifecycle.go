package rules

import (
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
	"mcpc/internal/recent"
)

var lifecycleChecks = []Check{
	{ID: "L026", Kind: conv.OnResult, Methods: []string{"initialize"}, Do: checkInitializeResult},
	{ID: "L029", Kind: conv.OnResult, Methods: []string{"initialize"}, Do: func(e *conv.Event) {
		// The server supports each version that it answered. Its answer to an unsupported offer should be
		// the latest version that it supports.
		offered := e.Client.Version
		answered := e.Text("protocolVersion")
		latest := conv.State[string](e.Conversation, "latest version")
		if answered != offered && answered < *latest {
			e.Find("/protocolVersion", answered+" for the offer "+offered, *latest+", which the server speaks as well")
		}
		*latest = max(*latest, answered)
	}},
	{ID: "L030", Kind: conv.OnAsk, Do: func(e *conv.Event) {
		if e.Method != "ping" && !e.Initialized {
			e.FindMessage(e.Method, e.Method+" before notifications/initialized", "only ping")
		}
	}},
	{ID: "L032", Kind: conv.OnAsk, When: func(e *conv.Event) bool { return e.Client.Declared }, Do: func(e *conv.Event) {
		if name, ok := capabilityOf[e.Method]; ok {
			if want := missingCapability(&e.Client, name, e.Text("mode")); want != "" {
				e.Hit(conv.Hit{
					Root: true, Subject: e.Method, Pointer: "/method", Got: e.Method,
					Want: "a client that declares " + want,
				})
			}
		}
	}},
	{
		ID:   "L033",
		Kind: conv.OnAsk,
		When: func(e *conv.Event) bool { return e.Stream == nil || e.SSE || e.Stream.Session() != "" },
		Do: func(e *conv.Event) {
			used := conv.State[recent.Map[string, uint64]](e.Conversation, "server ids")
			key := conv.Key(e.Message.ID)
			if _, again := used.Lookup(key); again {
				e.Hit(conv.Hit{
					Root: true, Subject: "request", Pointer: "/id",
					Got:  "id " + e.Show(e.Message.ID) + " again",
					Want: "an id that was not used in the session",
				})
			}
			used.Put(key, e.Frame.Seq)
		},
	},
}

// checkInitializeResult reports the required members of a result of initialize that are missing or have
// another type.
func checkInitializeResult(e *conv.Event) {
	for path, want := range map[string]string{
		"protocolVersion": "a string", "capabilities": "an object", "serverInfo": "an object",
	} {
		if !strings.HasSuffix(want, conv.TypeOf(e.Raw(path))) { // want ends in the type
			e.Find("/"+path, e.Got(path), want)
		}
	}
	if conv.IsObject(e.Raw("serverInfo")) {
		for _, name := range []string{"name", "version"} {
			if conv.TypeOf(e.Raw("serverInfo", name)) != "string" {
				e.Find("/serverInfo/"+name, e.Got("serverInfo", name), "a string")
			}
		}
	}
}

// capabilityOf maps requests of servers to the client capability that they need.
var capabilityOf = map[string]string{
	"sampling/createMessage": "sampling",
	"elicitation/create":     "elicitation",
	"roots/list":             "roots",
}

// missingCapability returns the capability that a request needs and the client does not declare, or
// "". mode is the mode of an elicitation; a client that declares elicitation without members
// supports forms.
func missingCapability(client *conv.Peer, name, mode string) string {
	if !client.Has(name) {
		return name
	}
	if name != "elicitation" {
		return ""
	}
	hasURL := client.Has(name, "url")
	hasForm := client.Has(name, "form") || !hasURL
	if mode == "url" && !hasURL {
		return "elicitation.url"
	}
	if mode != "url" && !hasForm {
		return "elicitation.form"
	}
	return ""
}

var capabilityChecks = []Check{
	{
		ID:   "L037",
		Kind: conv.OnNotice,
		Methods: []string{
			"notifications/tools/list_changed", "notifications/prompts/list_changed",
			"notifications/resources/list_changed", "notifications/resources/updated",
		},
		When: hasServerCapabilities,
		Do:   checkDeclaredChanges,
	},
	{
		ID:      "L038",
		Kind:    conv.OnNotice,
		Methods: []string{"notifications/message"},
		When:    hasServerCapabilities,
		Do: func(e *conv.Event) {
			if !e.Server.Has("logging") {
				e.Hit(conv.Hit{Root: true, Pointer: "/method", Got: e.Method, Want: "the capability logging"})
			}
		},
	},
	{ID: "L040", Kind: conv.OnResult, Methods: mcp.OpeningMethods, Do: func(e *conv.Event) {
		for _, m := range capabilitiesIn(e) {
			if !conv.IsObject(m.Value) {
				e.Find(jsonraw.Pointer("/capabilities", m.Name), e.Show(m.Value), "an object")
			}
		}
	}},
	{ID: "L041", Kind: conv.OnResult, Methods: mcp.OpeningMethods, Do: func(e *conv.Event) {
		for _, m := range capabilitiesIn(e) {
			if !slices.Contains(capabilityNames, m.Name) {
				e.Find(jsonraw.Pointer("/capabilities", m.Name), m.Name,
					"a capability of 2026, or one below extensions or experimental")
			}
		}
	}},
	{ID: "L042", Kind: conv.OnResult, Methods: mcp.OpeningMethods, When: func(e *conv.Event) bool {
		return e.Raw("capabilities", "extensions") != nil
	}, Do: checkExtensionIDs},
}

var capabilityNames = []string{"experimental", "logging", "completions", "prompts", "resources", "tools", "extensions"}

func hasServerCapabilities(e *conv.Event) bool { return e.Server.Declared }

func checkDeclaredChanges(e *conv.Event) {
	need := map[string][]string{
		"notifications/tools/list_changed":     {"tools", "listChanged"},
		"notifications/prompts/list_changed":   {"prompts", "listChanged"},
		"notifications/resources/list_changed": {"resources", "listChanged"},
		"notifications/resources/updated":      {"resources", "subscribe"},
	}[e.Method]
	if !e.Server.Has(need...) {
		e.Hit(conv.Hit{Root: true, Pointer: "/method", Got: e.Method, Want: "the capability " + need[0] + "." + need[1]})
	}
}

func capabilitiesIn(e *conv.Event) jsonraw.Members {
	members, _ := jsonraw.Object(e.Raw("capabilities"))
	return members
}

func checkExtensionIDs(e *conv.Event) {
	members, _ := jsonraw.Object(e.Raw("capabilities", "extensions"))
	for _, m := range members {
		prefix, name, ok := strings.Cut(m.Name, "/")
		pointer := jsonraw.Pointer("/capabilities/extensions", m.Name)
		isID := ok && isKeyPrefix(prefix) && isKeyName(name, false)
		if !isID {
			e.Find(pointer, e.Show([]byte(m.Name)), "prefix/name")
		} else if !conv.IsObject(m.Value) {
			e.Find(pointer, e.Show(m.Value), "an object")
		}
	}
}
