package rules

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/loopback"
	"mcpc/internal/mcp"
)

var contentChecks = []Check{
	{
		ID:      "L119",
		Kind:    conv.OnResult,
		Methods: []string{"tools/call", "tasks/result"},
		When:    isFinal,
		Do: func(e *conv.Event) {
			if !conv.IsArray(e.Raw("content")) {
				e.Find("/content", e.Got("content"), "an array")
			}
		},
	},
	{ID: "L121", Kind: conv.OnResult, Methods: []string{"tools/call"}, When: hasStructured, Do: func(e *conv.Event) {
		if !conv.IsObject(e.Raw("structuredContent")) {
			e.Find("/structuredContent", e.Got("structuredContent"), "an object")
		}
	}},
	{ID: "L122", Kind: conv.OnResult, Methods: []string{"tools/call"}, When: hasStructured, Do: checkMirror},
	{ID: "L131", Kind: conv.OnContent, Do: checkContentType},
	{
		ID:   "L132",
		Kind: conv.OnContent,
		When: func(e *conv.Event) bool { return isOneOf(e.Text("type"), "image", "audio") },
		Do: func(e *conv.Event) {
			checkBase64(e, "data", true)
		},
	},
	{
		ID:   "L132",
		Kind: conv.OnContents,
		When: func(e *conv.Event) bool { return e.Raw("blob") != nil },
		Do: func(e *conv.Event) {
			checkBase64(e, "blob", false)
		},
	},
	{ID: "L133", Kind: conv.OnContents, Do: func(e *conv.Event) {
		if e.Text("uri") == "" {
			e.Find("/uri", e.Got("uri"), "a URI")
		}
		if (e.Raw("text") == nil) == (e.Raw("blob") == nil) {
			e.Find("", e.Show(e.Value), "either text or blob")
		}
	}},
	{ID: "L134", Kind: conv.OnContent, When: hasAnnotations, Do: checkAnnotations},
	{ID: "L134", Kind: conv.OnResource, When: hasAnnotations, Do: checkAnnotations},
	{ID: "L134", Kind: conv.OnTemplate, When: hasAnnotations, Do: checkAnnotations},
	{ID: "L138", Kind: conv.OnResource, Do: func(e *conv.Event) {
		if !isURI(e.Text("uri")) {
			e.Find("/uri", e.Got("uri"), "an absolute URI (RFC 3986)")
		}
	}},
	{ID: "L138", Kind: conv.OnTemplate, Do: func(e *conv.Event) {
		if _, err := mcp.ParseURITemplate(e.Text("uriTemplate")); err != nil || e.Text("uriTemplate") == "" {
			e.Find("/uriTemplate", e.Got("uriTemplate"), "a URI template (RFC 6570)")
		}
	}},
	{ID: "L139", Kind: conv.OnResult, Methods: []string{"resources/list"}, Do: checkUniqueURIs},
	{ID: "L139", Kind: conv.OnResource, Do: func(e *conv.Event) {
		if e.Text("name") == "" {
			e.Find("/name", e.Got("name"), "a name")
		}
	}},
	{ID: "L142", Kind: conv.OnResult, Methods: []string{"prompts/get"}, When: isFinal, Do: checkPromptMessages},
	{ID: "L143", Kind: conv.OnResult, Methods: []string{"completion/complete"}, Do: func(e *conv.Event) {
		values, err := jsonraw.Array(e.Raw("completion", "values"))
		if err != nil || slices.ContainsFunc(values, func(v json.RawMessage) bool { return conv.TypeOf(v) != "string" }) {
			e.Find("/completion/values", e.Got("completion", "values"), "an array of strings")
		} else if len(values) > maxCompletions {
			e.Find("/completion/values", strconv.Itoa(len(values))+" values", "at most 100")
		}
	}},
	{ID: "L144", Kind: conv.OnIcon, Do: checkIcon},
}

// maxCompletions is the number of values that a completion may have.
const maxCompletions = 100

// isURI reports whether text is a URI with a scheme, of the characters of RFC 3986. net/url is too
// strict: it expects hosts of the internet, and URIs of resources have others.
func isURI(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || scheme == "" || !isAlnum(scheme[0]) || scheme[0] <= '9' { // it begins with a letter
		return false
	}
	for i := range len(scheme) {
		if !isAlnum(scheme[i]) && !strings.ContainsRune("+-.", rune(scheme[i])) {
			return false
		}
	}
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if c == '%' {
			if i+2 >= len(rest) {
				return false
			}
			if _, hex := jsonraw.HexByte([]byte(rest[i+1 : i+3])); !hex {
				return false
			}
		} else if !isAlnum(c) && !strings.ContainsRune("-._~:/?#[]@!$&'()*+,;=", rune(c)) {
			return false
		}
	}
	return true
}

func hasStructured(e *conv.Event) bool { return isFinal(e) && e.Raw("structuredContent") != nil }

// maxMirror is the maximum number of bytes in texts that are compared with structuredContent.
const maxMirror = 1 << 20

// checkMirror reports a result without a text block that has the JSON of structuredContent, for clients
// that do not know structuredContent.
func checkMirror(e *conv.Event) {
	want := e.Raw("structuredContent")
	if len(want) > maxMirror {
		return
	}
	var structured any
	if json.Unmarshal(want, &structured) != nil {
		return
	}
	blocks, _ := e.Message.ResultItems("content")
	for _, block := range blocks {
		text := conv.TextInside(block, "text")
		if text == "" || len(text) > maxMirror {
			continue
		}
		var value any
		if json.Unmarshal([]byte(text), &value) == nil && reflect.DeepEqual(value, structured) {
			return
		}
	}
	severity := conv.Warn
	if e.Rev >= conv.Rev20260728 && !conv.IsObject(want) {
		severity = conv.Error
	}
	e.FindAs(severity, "/content", e.Got("content"), "a text block with the JSON of structuredContent")
}

// sinceRev maps the types of content blocks to the revision that added them. It lacks the types of
// sampling.
var sinceRev = map[string]conv.Rev{
	"text":          conv.Unknown,
	"image":         conv.Unknown,
	"resource":      conv.Unknown,
	"audio":         conv.Rev20250326,
	"resource_link": conv.Rev20250618,
}

// checkContentType reports a content block of an unknown type, or of a type that the revision lacks.
func checkContentType(e *conv.Event) {
	since, ok := sinceRev[e.Text("type")]
	if !ok {
		e.Find("/type", e.Got("type"), "text, image, audio, resource_link or resource")
	} else if e.Rev != conv.Unknown && e.Rev < since {
		e.Find("/type", e.Got("type"), "a type of "+e.Rev.String())
	}
}

// judgedMedia are the media types that signatures of bytes prove: theirs are long enough.
var judgedMedia = []string{"image/png", "image/jpeg", "image/gif", "audio/ogg", "audio/flac"}

// checkBase64 checks that a member is base64, and that its mimeType fits the data. needsType is
// set if the mimeType is required.
func checkBase64(e *conv.Event, member string, needsType bool) {
	if e.Frame.Hidden > 0 {
		return // the recording lacks a secret
	}
	text, ok := jsonraw.Text(e.Raw(member))
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || strings.ContainsAny(text, "\r\n") {
		e.Find("/"+member, e.Got(member), "standard base64 with padding")
		return
	}
	mime := strings.ToLower(e.Text("mimeType"))
	if needsType && !strings.Contains(mime, "/") {
		e.Find("/mimeType", e.Got("mimeType"), "a media type")
		return
	}
	actual := mcp.SniffMedia(data)
	kind, _, _ := strings.Cut(actual, "/")
	if slices.Contains(judgedMedia, actual) && strings.HasPrefix(mime, kind+"/") && mime != actual {
		e.FindAs(conv.Info, "/mimeType", mime+" for data of type "+actual, actual)
	}
}

func hasAnnotations(e *conv.Event) bool { return e.Raw("annotations") != nil }

// checkAnnotations checks the annotations of a content block or a resource.
func checkAnnotations(e *conv.Event) {
	if raw := e.Raw("annotations", "priority"); raw != nil {
		if p, err := strconv.ParseFloat(string(raw), 64); err != nil || p < 0 || p > 1 {
			e.Find("/annotations/priority", e.Show(raw), "a number from 0 to 1")
		}
	}
	if raw := e.Raw("annotations", "audience"); raw != nil {
		roles, err := jsonraw.Array(raw)
		isOther := func(role json.RawMessage) bool { return string(role) != `"user"` && string(role) != `"assistant"` }
		if err != nil || slices.ContainsFunc(roles, isOther) {
			e.Find("/annotations/audience", e.Show(raw), `an array of "user" and "assistant"`)
		}
	}
	if raw := e.Raw("annotations", "lastModified"); raw != nil {
		if text, _ := jsonraw.Text(raw); !isISO8601(text) {
			e.Find("/annotations/lastModified", e.Show(raw), "an ISO 8601 time")
		}
	}
}

func isISO8601(text string) bool {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02"} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// checkUniqueURIs reports a URI that several resources of a page have.
func checkUniqueURIs(e *conv.Event) {
	items, _ := e.Message.ResultItems("resources")
	seen := map[string]bool{}
	for i, item := range items {
		uri := conv.TextInside(item, "uri")
		if seen[uri] && uri != "" {
			e.Hit(conv.Hit{
				Subject: "resource " + uri, Item: "/resources/" + strconv.Itoa(i), Pointer: "/uri",
				Got: uri + " again", Want: "each URI once",
			})
		}
		seen[uri] = true
	}
}

// checkPromptMessages checks the roles and the content of a prompt's messages.
func checkPromptMessages(e *conv.Event) {
	messages, _ := e.Message.ResultItems("messages")
	for i, m := range messages {
		at := "/messages/" + strconv.Itoa(i)
		if role := conv.TextInside(m, "role"); role != "user" && role != "assistant" {
			e.Find(at+"/role", e.Show(conv.Inside(m, "role")), `"user" or "assistant"`)
		}
		if block := conv.Inside(m, "content"); !conv.IsObject(block) {
			e.Find(at+"/content", e.Show(block), "one content block")
		}
	}
}

// checkIcon checks an icon. Each client that shows an icon of another origin fetches it from there.
func checkIcon(e *conv.Event) {
	src := e.Text("src")
	mime := e.Text("mimeType")
	u, err := url.Parse(src)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "data":
		e.Find("/src", e.Got("src"), "an https or data URL")
	case mime != "" && !strings.HasPrefix(mime, "image/"):
		e.Find("/mimeType", e.Got("mimeType"), "an image type")
	case e.Raw("sizes") != nil && !areIconSizes(e.Raw("sizes")):
		e.Find("/sizes", e.Got("sizes"), `"48x48" or "any"`)
	case u.Scheme == "https" && onOtherHost(e, u):
		e.FindAs(conv.Info, "/src", u.Scheme+"://"+u.Host, "an icon of the server's own origin")
	}
}

// onOtherHost reports whether u is on another host than the server of an HTTP exchange.
func onOtherHost(e *conv.Event, u *url.URL) bool {
	return e.Stream != nil && e.Stream.Request != nil && isOtherHost(u, e.Stream.Request.URL)
}

// isOtherHost reports whether u has a different host than the server. It reports false if the
// server is on this machine: it has no public host.
func isOtherHost(u *url.URL, server string) bool {
	s, err := url.Parse(server)
	if err != nil || s.Host == "" || loopback.IsHere(s.Hostname()) {
		return false
	}
	return !strings.EqualFold(s.Hostname(), u.Hostname())
}

// areIconSizes reports whether a value is an array of sizes such as "48x48" or "any".
func areIconSizes(raw json.RawMessage) bool {
	sizes, err := jsonraw.Array(raw)
	if err != nil {
		return false
	}
	for _, size := range sizes {
		text, _ := jsonraw.Text(size)
		width, height, _ := strings.Cut(text, "x")
		_, widthErr := strconv.ParseUint(width, 10, 16)
		_, heightErr := strconv.ParseUint(height, 10, 16)
		if text != "any" && (widthErr != nil || heightErr != nil) {
			return false
		}
	}
	return true
}
