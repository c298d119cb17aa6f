package rules

import (
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
)

var versionChecks = []Check{
	{ID: "L045", Kind: conv.OnResult, Do: checkServerInfo},
	{ID: "L054", Kind: conv.OnResult, Do: checkResultType},
	{ID: "L055", Kind: conv.OnResult, When: func(e *conv.Event) bool {
		return e.Text("resultType") == "task" && !isOneOf(e.Method, taskMethods...)
	}, Do: checkTaskAllowed},
	{ID: "L056", Kind: conv.OnResult, Do: func(e *conv.Event) {
		for _, name := range []string{"resultType", "ttlMs", "cacheScope"} {
			if e.Raw(name) != nil {
				e.Hit(conv.Hit{Subject: "results", Pointer: "/" + name, Got: e.Got(name), Want: "a result without " + name})
			}
		}
	}},
}

func checkServerInfo(e *conv.Event) {
	if e.Raw("_meta", conv.MetaPrefix+"serverInfo") != nil {
		return
	}
	if e.Method == "server/discover" && e.Raw("serverInfo") != nil {
		e.FindAs(conv.Info, "/serverInfo", "serverInfo outside of _meta", "io.modelcontextprotocol/serverInfo in _meta")
		return
	}
	e.Hit(conv.Hit{
		Subject: "results", Pointer: "/_meta", Got: e.Show(e.Raw("_meta")),
		Want: "io.modelcontextprotocol/serverInfo",
	})
}

func checkResultType(e *conv.Event) {
	if e.Raw("resultType") == nil {
		e.Hit(conv.Hit{Subject: e.Method, Pointer: "/resultType", Got: "missing", Want: `"complete"`})
		return
	}
	isOfProtocol := isOneOf(e.Text("resultType"), "complete", "input_required", "task")
	if !isOfProtocol && !declaresExtensions(e) {
		e.Find("/resultType", e.Got("resultType"),
			`"complete", "input_required" or that of an extension which the client declared`)
	}
}

// declaresExtensions reports whether the client declared an extension, which may add types of
// results.
func declaresExtensions(e *conv.Event) bool {
	extensions := conv.Inside(e.Call.Meta(conv.MetaPrefix+"clientCapabilities"), "extensions")
	return conv.IsObject(extensions) && len(extensions) > 2
}

func checkTaskAllowed(e *conv.Event) {
	caps := e.Call.Meta(conv.MetaPrefix + "clientCapabilities")
	if e.Method != "tools/call" {
		e.Find("/resultType", `"task" for `+e.Method, `"task" for tools/call only`)
	} else if conv.Inside(caps, "extensions", mcp.TasksExtension) == nil {
		e.Find("/resultType", `"task"`, "a client that declares "+mcp.TasksExtension)
	}
}
