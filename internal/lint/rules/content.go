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

var content = []Check{
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
		} else if len(values) > 100 {
			e.Find("/completion/values", strconv.Itoa(len(values))+" values", "at most 100")
		}
	}},
	{ID: "L144", Kind: conv.OnIcon, Do: checkIcon},
}

// isURI reports a URI with a scheme, of the characters of RFC 3986. net/url is not used:
// it knows what hosts of the internet look like, and resources have others.
func isURI(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || scheme == "" || !isAlnum(scheme[0]) || scheme[0] <= '9' {
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

const maxMirror = 1 << 20

// mirrored: the text that clients read which do not know structuredContent.
func checkMirror(e *conv.Event) {
	want := e.Raw("structuredContent")
	if len(want) > maxMirror {
		return
	}
	var same any
	if json.Unmarshal(want, &same) != nil {
		return
	}
	blocks, _ := e.Message.ResultItems("content")
	for _, block := range blocks {
		var value any
		text := conv.TextInside(block, "text")
		if text != "" && len(text) <= maxMirror && json.Unmarshal([]byte(text), &value) == nil &&
			reflect.DeepEqual(value, same) {
			return
		}
	}
	severity := conv.Warn
	if e.Rev >= conv.R26 && !conv.IsObject(want) {
		severity = conv.Error
	}
	e.FindAs(severity, "/content", e.Got("content"), "a text block with the JSON of structuredContent")
}

// sinceRev says since when a content block has been allowed; those of sampling are not.
var sinceRev = map[string]conv.Rev{
	"text":          conv.Unknown,
	"image":         conv.Unknown,
	"resource":      conv.Unknown,
	"audio":         conv.R25m,
	"resource_link": conv.R25a,
}

func checkContentType(e *conv.Event) {
	since, ok := sinceRev[e.Text("type")]
	if !ok {
		e.Find("/type", e.Got("type"), "text, image, audio, resource_link or resource")
	} else if e.Rev != conv.Unknown && e.Rev < since {
		e.Find("/type", e.Got("type"), "a type of "+e.Rev.String())
	}
}

// judgedMedia are the types by which declared types are judged: their signatures are long enough to be sure.
var judgedMedia = []string{"image/png", "image/jpeg", "image/gif", "audio/ogg", "audio/flac"}

func checkBase64(e *conv.Event, member string, typed bool) {
	text, ok := jsonraw.Text(e.Raw(member))
	if e.Frame.Hidden > 0 {
		return // a secret was taken out
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || strings.ContainsAny(text, "\r\n") {
		e.Find("/"+member, e.Got(member), "standard base64 with padding")
		return
	}
	mime := strings.ToLower(e.Text("mimeType"))
	if typed && !strings.Contains(mime, "/") {
		e.Find("/mimeType", e.Got("mimeType"), "a media type")
		return
	}
	is := mcp.SniffMedia(data)
	kind, _, _ := strings.Cut(is, "/")
	if slices.Contains(judgedMedia, is) && strings.HasPrefix(mime, kind+"/") && mime != is {
		e.FindAs(conv.Info, "/mimeType", mime+" for data of type "+is, is)
	}
}

func hasAnnotations(e *conv.Event) bool { return e.Raw("annotations") != nil }

func checkAnnotations(e *conv.Event) {
	if raw := e.Raw("annotations", "priority"); raw != nil {
		if p, err := strconv.ParseFloat(string(raw), 64); err != nil || p < 0 || p > 1 {
			e.Find("/annotations/priority", e.Show(raw), "a number from 0 to 1")
		}
	}
	if raw := e.Raw("annotations", "audience"); raw != nil {
		roles, err := jsonraw.Array(raw)
		if err != nil ||
			slices.ContainsFunc(roles,
				func(r json.RawMessage) bool { return string(r) != `"user"` && string(r) != `"assistant"` }) {
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

func checkUniqueURIs(e *conv.Event) {
	items, _ := e.Message.ResultItems("resources")
	page := map[string]bool{}
	for i, item := range items {
		uri := conv.TextInside(item, "uri")
		if page[uri] && uri != "" {
			e.Hit(conv.Hit{
				Subject: "resource " + uri, Item: "/resources/" + strconv.Itoa(i), Pointer: "/uri",
				Got: uri + " again", Want: "each URI once",
			})
		}
		page[uri] = true
	}
}

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

// icon: data of another origin is fetched from there by each client that shows it.
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
	case u.Scheme == "https" && e.Stream != nil && e.Stream.Request != nil && isOtherHost(u, e.Stream.Request.URL):
		e.FindAs(conv.Info, "/src", u.Scheme+"://"+u.Host, "an icon of the server's own origin")
	}
}

// otherHost reports a URL of another host than the server's. A server on this machine has no public host of its own.
func isOtherHost(u *url.URL, server string) bool {
	s, err := url.Parse(server)
	return err == nil && s.Host != "" && !loopback.IsHere(s.Hostname()) && !strings.EqualFold(s.Hostname(), u.Hostname())
}

func areIconSizes(raw json.RawMessage) bool {
	sizes, err := jsonraw.Array(raw)
	return err == nil && !slices.ContainsFunc(sizes, func(s json.RawMessage) bool {
		text, _ := jsonraw.Text(s)
		w, h, _ := strings.Cut(text, "x")
		_, bad := strconv.ParseUint(w, 10, 16)
		_, wrong := strconv.ParseUint(h, 10, 16)
		return text != "any" && (bad != nil || wrong != nil)
	})
}
