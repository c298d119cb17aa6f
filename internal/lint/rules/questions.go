package rules

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/loopback"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

var (
	elicit              = []string{"elicitation/create"}
	sample              = []string{"sampling/createMessage"}
	inputRequestMethods = []string{"elicitation/create", "sampling/createMessage", "roots/list"}
)

var questionChecks = []Check{
	{ID: "L153", Kind: conv.OnResult, When: requiresInput, Do: func(e *conv.Event) {
		if !mcp.MayRequireInput(e.Method) {
			e.Find("/resultType", `"input_required" for `+e.Method,
				"input_required for "+strings.Join(mcp.InputMethods, ", ")+" only")
		}
	}},
	{ID: "L154", Kind: conv.OnResult, When: requiresInput, Do: func(e *conv.Event) {
		if e.Raw("requestState") != nil {
			return
		}
		requests := e.Raw("inputRequests")
		if requests == nil {
			e.Find("", "neither inputRequests nor requestState", "one of them")
		} else if string(jsonraw.Compact(requests)) == "{}" {
			e.FindAs(conv.Warn, "/inputRequests", "{} and no requestState", "a request, or requestState")
		}
	}},
	{ID: "L155", Kind: conv.OnResult, When: requiresInput, Do: forEachInputRequest(checkDeclared)},
	{ID: "L156", Kind: conv.OnResult, When: requiresInput, Do: forEachInputRequest(checkBareRequest)},
	{
		ID:   "L159",
		Kind: conv.OnResult,
		When: func(e *conv.Event) bool { return e.Raw("requestState") != nil },
		Do:   checkState,
	},
	{ID: "L160", Kind: conv.OnQuestion, Methods: elicit, When: isFormMode, Do: checkFlatForm},
	{ID: "L161", Kind: conv.OnQuestion, Methods: elicit, When: isFormMode, Do: checkSecretFields},
	{ID: "L162", Kind: conv.OnQuestion, Methods: elicit, When: isFormMode, Do: checkLinks},
	{ID: "L163", Kind: conv.OnQuestion, Methods: elicit, When: isURLMode, Do: checkPageURL},
	{ID: "L164", Kind: conv.OnQuestion, Methods: elicit, When: isURLMode, Do: checkPersonalURL},
	{ID: "L165", Kind: conv.OnQuestion, Methods: elicit, When: isURLMode, Do: func(e *conv.Event) {
		if e.Text("elicitationId") == "" {
			e.Find("/elicitationId", e.Got("elicitationId"), "a string")
		}
	}},
	{
		ID: "L165", Kind: conv.OnError, When: func(e *conv.Event) bool { return errorCode(e) == -32042 },
		Do: checkRequiredURLs,
	},
	{ID: "L166", Kind: conv.OnQuestion, Methods: elicit, Do: func(e *conv.Event) {
		if e.Raw("elicitationId") != nil {
			e.Find("/elicitationId", e.Got("elicitationId"), "no elicitationId")
		}
	}},
	{ID: "L166", Kind: conv.OnNotice, Methods: []string{"notifications/elicitation/complete"}, Do: func(e *conv.Event) {
		e.Hit(conv.Hit{Root: true, Pointer: "/method", Got: e.Method, Want: "no such notification"})
	}},
	{ID: "L167", Kind: conv.OnQuestion, Methods: sample, Do: checkSampling},
	{ID: "L168", Kind: conv.OnQuestion, Methods: sample, Do: func(e *conv.Event) {
		if v := e.Text("includeContext"); v == "thisServer" || v == "allServers" {
			e.Find("/includeContext", v, `none`)
		}
	}},
}

func requiresInput(e *conv.Event) bool { return wire.RequiresInput(e.Value) }

// forEachInputRequest returns a check that calls do for each input request of a result; at is its
// JSON pointer.
func forEachInputRequest(do func(e *conv.Event, at string, request json.RawMessage)) func(*conv.Event) {
	return func(e *conv.Event) {
		requests, _ := jsonraw.Object(e.Raw("inputRequests"))
		for _, m := range requests {
			do(e, jsonraw.Pointer("/inputRequests", m.Name), m.Value)
		}
	}
}

// checkDeclared reports an input request whose capability the client's request does not declare.
func checkDeclared(e *conv.Event, at string, request json.RawMessage) {
	method := conv.TextInside(request, "method")
	name := capabilityOf[method]
	if name == "" {
		return
	}
	caps, _ := jsonraw.Object(e.Call.Meta(conv.MetaPrefix + "clientCapabilities"))
	client := conv.Peer{Caps: caps}
	if want := missingCapability(&client, name, conv.TextInside(request, "params", "mode")); want != "" {
		e.Hit(conv.Hit{Subject: e.Method, Pointer: at + "/method", Got: method, Want: "a client that declares " + want})
	}
}

// checkBareRequest reports an input request of an unknown method, or with members of JSON-RPC.
func checkBareRequest(e *conv.Event, at string, request json.RawMessage) {
	method := conv.TextInside(request, "method")
	if !slices.Contains(inputRequestMethods, method) {
		e.Find(at+"/method", e.Show(conv.Inside(request, "method")), strings.Join(inputRequestMethods, ", "))
	} else if conv.Inside(request, "jsonrpc") != nil || conv.Inside(request, "id") != nil {
		e.FindAs(conv.Warn, at, e.Show(request), "method and params only")
	}
}

const maxState = 4096

// checkState reports a requestState that is too long, or that the client could change unnoticed:
// plain JSON without a member for a signature.
func checkState(e *conv.Event) {
	text := e.Text("requestState")
	if len(text) > maxState {
		e.Find("/requestState", strconv.Itoa(len(text))+" characters", "at most "+strconv.Itoa(maxState))
		return
	}
	plain := []byte(text)
	for _, coding := range []*base64.Encoding{
		base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
	} {
		if data, err := coding.DecodeString(text); err == nil {
			plain = data // all encodings that accept a text agree on its bytes
		}
	}
	if !conv.IsObject(plain) || jsonraw.Valid(plain) != nil {
		return
	}
	members, _ := jsonraw.Object(plain)
	for _, m := range members {
		if isOneOf(strings.ToLower(m.Name), "sig", "signature", "mac", "hmac", "tag", "hash", "digest") {
			return
		}
	}
	e.Find("/requestState", e.Show(plain), "a signed or encrypted text")
}

func isURLMode(e *conv.Event) bool { return e.Text("mode") == "url" }

func isFormMode(e *conv.Event) bool { return !isURLMode(e) }

// formTypes are the members that a field of each type may have.
var formTypes = map[string][]string{
	"string":  {"minLength", "maxLength", "format", "default", "enum", "enumNames", "oneOf"},
	"number":  {"minimum", "maximum", "default"},
	"integer": {"minimum", "maximum", "default"},
	"boolean": {"default"},
	"array":   {"items", "minItems", "maxItems", "default"},
}

// checkFlatForm reports fields of a form that are not simple values.
func checkFlatForm(e *conv.Event) {
	form := e.Raw("requestedSchema")
	if conv.TextInside(form, "type") != "object" {
		e.Find("/requestedSchema", e.Show(form), `"type":"object"`)
		return
	}
	fields, _ := jsonraw.Object(conv.Inside(form, "properties"))
	for _, f := range fields {
		checkField(e, jsonraw.Pointer("/requestedSchema/properties", f.Name), f.Value)
	}
}

// checkField checks the schema of a form's field; at is its JSON pointer.
func checkField(e *conv.Event, at string, field json.RawMessage) {
	kind := conv.TextInside(field, "type")
	allowed, isKnown := formTypes[kind]
	items := conv.Inside(field, "items")
	isChoice := conv.Inside(items, "enum") != nil || conv.Inside(items, "anyOf") != nil
	if kind == "array" && (!isChoice || e.Rev < conv.Rev20251125) { // choices of several exist since 2025-11-25
		isKnown = false
	}
	if !isKnown {
		e.Find(at, e.Show(field), "a string, number, boolean or enum")
		return
	}
	members, _ := jsonraw.Object(field)
	for _, m := range members {
		isAllowed := slices.Contains(allowed, m.Name) || isOneOf(m.Name, "type", "title", "description", "$schema")
		if !isAllowed {
			e.Find(jsonraw.Pointer(at, m.Name), m.Name, "the keywords of a form")
		}
	}
}

// checkSecretFields reports each field of a form that asks for a secret by its name, title or description.
func checkSecretFields(e *conv.Event) {
	fields, _ := jsonraw.Object(e.Raw("requestedSchema", "properties"))
	for _, f := range fields {
		for _, text := range []string{f.Name, conv.TextInside(f.Value, "title"), conv.TextInside(f.Value, "description")} {
			if words := findSecret(text); words != "" {
				e.Find(jsonraw.Pointer("/requestedSchema/properties", f.Name), "asks for "+strconv.Quote(words),
					"no secret in a form")
				break
			}
		}
	}
}

var linkPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bhttps?://[^\s"<>]+`) })

// checkLinks reports URLs in the texts of a form, one for each text.
func checkLinks(e *conv.Event) {
	if link := linkPattern().FindString(e.Text("message")); link != "" {
		e.Find("/message", link, "a text without URLs")
	}
	fields, _ := jsonraw.Object(e.Raw("requestedSchema", "properties"))
	for _, f := range fields {
		texts := conv.TextInside(f.Value, "title") + " " + conv.TextInside(f.Value, "description")
		if link := linkPattern().FindString(texts); link != "" {
			e.Find(jsonraw.Pointer("/requestedSchema/properties", f.Name), link, "a text without URLs")
		}
	}
}

func checkPageURL(e *conv.Event) {
	u, err := url.Parse(e.Text("url"))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		e.Find("/url", e.Got("url"), "an https URL")
	} else if u.Scheme == "http" && !loopback.IsHere(u.Hostname()) {
		e.FindAs(conv.Warn, "/url", e.Got("url"), "an https URL")
	}
}

// maxPlainValue is the maximum length of a parameter that cannot be a token.
const maxPlainValue = 40

// loginParams are query parameters that log a user in, or name the user.
var loginParams = []string{
	"token", "access_token", "auth", "session", "sessionid", "jwt", "key", "api_key", "password", "email",
	"user", "username",
}

// harmlessParams are query parameters of an authorization request, which may be as long as tokens.
var harmlessParams = []string{
	"state", "code_challenge", "redirect_uri", "client_id", "scope", "resource", "nonce", "request_uri",
	"request", "login_hint_token",
}

// checkPersonalURL reports a URL with a parameter that may identify the user or log the user in.
func checkPersonalURL(e *conv.Event) {
	u, err := url.Parse(e.Text("url"))
	if err != nil {
		return
	}
	query := u.Query()
	for _, key := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[key] {
			name := strings.ToLower(key)
			isEmail := strings.Contains(value, "@") && strings.Contains(value, ".")
			isLogin := slices.Contains(loginParams, name) && value != ""
			isToken := len(value) > maxPlainValue && !strings.ContainsAny(value, " /")
			isHarmless := slices.Contains(harmlessParams, name)
			identifies := isLogin || isToken
			if isEmail || identifies && !isHarmless {
				e.Find("/url", "parameter "+name+"="+e.Show([]byte(value)), "a URL without user data")
				return
			}
		}
	}
}

func checkRequiredURLs(e *conv.Event) {
	elicitations, err := jsonraw.Array(e.Raw("data", "elicitations"))
	if err != nil || len(elicitations) == 0 {
		e.Find("/data/elicitations", e.Got("data", "elicitations"), "at least one elicitation")
	}
	for i, elicitation := range elicitations {
		if conv.TextInside(elicitation, "mode") != "url" || conv.TextInside(elicitation, "elicitationId") == "" {
			e.Find("/data/elicitations/"+strconv.Itoa(i), e.Show(elicitation), "mode url, with an elicitationId")
		}
	}
}

// checkSampling checks maxTokens, the capability for tools, and the tool results.
func checkSampling(e *conv.Event) {
	if conv.TypeOf(e.Raw("maxTokens")) != "integer" {
		e.Find("/maxTokens", e.Got("maxTokens"), "an integer")
	}
	client := e.Client
	if caps := e.Call.Meta(conv.MetaPrefix + "clientCapabilities"); e.Rev >= conv.Rev20260728 && caps != nil {
		members, _ := jsonraw.Object(caps)
		client = conv.Peer{Declared: true, Caps: members}
	}
	for _, name := range []string{"tools", "toolChoice"} {
		if e.Raw(name) != nil && client.Declared && !client.Has("sampling", "tools") {
			e.Find("/"+name, e.Got(name), "a client that declares sampling.tools")
			return
		}
	}
	checkToolResults(e)
}

// checkToolResults checks that each tool_use is answered in the next message, which has nothing
// else in it (2025-11-25 client/sampling, "Tool Result Messages").
func checkToolResults(e *conv.Event) {
	messages, _ := jsonraw.Array(e.Raw("messages"))
	var open []string // ids of the tool uses in the message before
	for i, m := range messages {
		at := "/messages/" + strconv.Itoa(i) + "/content"
		var uses, answers []string
		others := 0
		for _, block := range contentBlocks(conv.Inside(m, "content")) {
			switch conv.TextInside(block, "type") {
			case "tool_use":
				uses = append(uses, conv.TextInside(block, "id"))
			case "tool_result":
				answers = append(answers, conv.TextInside(block, "toolUseId"))
			default:
				others++
			}
		}
		slices.Sort(open)
		slices.Sort(answers)
		if len(answers) > 0 && others > 0 {
			e.Find(at, "tool_result beside other content", "tool_result only")
		} else if !slices.Equal(open, answers) {
			e.Find(at, "results for "+e.Show([]byte(strings.Join(answers, ", "))), "results for "+strings.Join(open, ", "))
		}
		open = uses
	}
	if len(open) > 0 {
		e.Find("/messages", "no result for "+strings.Join(open, ", "), "a tool_result for each tool_use")
	}
}

// contentBlocks returns the blocks of content, which is one block or an array.
func contentBlocks(content json.RawMessage) []json.RawMessage {
	if conv.IsArray(content) {
		items, _ := jsonraw.Array(content)
		return items
	}
	return []json.RawMessage{content}
}
