package demo

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// roundTools returns tools that need a page visit of the user or several forms in sequence.
func roundTools() []tool {
	visited := &visits{asked: map[string]bool{}}
	return []tool{{
		name:        "trigger-url-elicitation",
		title:       "Trigger URL Elicitation Tool",
		description: "Trigger a URL elicitation so that the client can direct the user to a page",
		input: `{"type":"object","properties":{
			"url":{"type":"string","description":"The page to visit","default":"https://example.com/mcpc-demo"},
			"message":{"type":"string","description":"What to say","default":"Please open the link to complete this action."},
			"errorPath":{"type":"boolean","description":"Ask with the error -32042, in the revisions that have it",` +
			`"default":false}
		},"additionalProperties":false}`,
		hints: asks(),
		run:   visited.trigger,
	}, {
		name:        "order-tea",
		title:       "Order Tea Tool",
		description: "Requests input twice: a name, then two forms at once, and returns when it has all answers",
		input:       noInput,
		hints:       asks(),
		run:         orderTea,
	}}
}

// visits records the sessions and URLs for which the error -32042 was sent. A second call means
// that the user has visited the page.
type visits struct {
	mu    sync.Mutex
	asked map[string]bool
}

// first reports whether this is the first of two calls for a key.
func (v *visits) first(key string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked[key] {
		delete(v.asked, key)
		return false
	}
	v.asked[key] = true
	return true
}

func (v *visits) trigger(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil || caps.Elicitation.URL == nil {
		return c.cannotAsk("elicitation.url", `{"elicitation":{"url":{}}}`)
	}
	page := &mcp.ElicitParams{Mode: "url", Message: c.args.text("message"), URL: c.args.text("url")}
	if c.ProtocolVersion() < stateless {
		page.ElicitationID = "demo-page"
		if c.args.flag("errorPath") && v.first(c.Session.ID()+" "+page.URL) {
			return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{page})
		}
	}
	answer, pending, err := ask[*mcp.ElicitResult](ctx, c, page)
	if answer == nil {
		return pending, err
	}
	if answer.Action == "accept" && page.ElicitationID != "" {
		done := &mcp.ElicitationCompleteParams{ElicitationID: page.ElicitationID}
		if err := c.Session.NotifyElicitationComplete(ctx, done); err != nil {
			return nil, err
		}
	}
	return result(text("The user's answer to visiting " + page.URL + ": " + answer.Action)), nil
}

// The forms of orderTea, and the states that record which answers are known.
const (
	nameForm = `{"type":"object","properties":{"name":{"type":"string","minLength":1,` +
		`"description":"Whose tea is it?"}},"required":["name"]}`
	teaForm = `{"type":"object","properties":{"tea":{"type":"string","enum":["green","black","mint"],` +
		`"default":"mint"}},"required":["tea"]}`
	sugarForm = `{"type":"object","properties":{"sugar":{"type":"integer","minimum":0,"maximum":9,"default":1}}}`
	named     = "named:"
)

// orderTea requests a name, and then the tea and the sugar. In revisions without server requests,
// the client returns the name in the state, and the server stores nothing.
func orderTea(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return c.cannotAsk("elicitation", `{"elicitation":{"form":{}}}`)
	}
	if c.ProtocolVersion() < stateless {
		return askOneByOne(ctx, c)
	}
	name, known := strings.CutPrefix(c.Params.RequestState, named)
	responses := c.Params.InputResponses
	if c.Params.RequestState == "" || c.Params.RequestState == askedState && responses["who"] == nil {
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"who": formOf("Who?", nameForm)},
			RequestState:  askedState,
		}, nil
	}
	if c.Params.RequestState == askedState {
		who, ok := accepted(responses["who"])
		if !ok {
			return result(text("No tea was made.")), nil
		}
		return &mcp.CallToolResult{RequestState: named + asText(who["name"]), InputRequests: mcp.InputRequestMap{
			"tea": formOf("Which tea?", teaForm), "sugar": formOf("How much sugar?", sugarForm),
		}}, nil
	}
	if !known {
		return nil, invalidParams("requestState is not what this server sent")
	}
	return tea(name, responses["tea"], responses["sugar"]), nil
}

func askOneByOne(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	var answers [3]mcp.InputResponse
	forms := []*mcp.ElicitParams{
		formOf("Who?", nameForm), formOf("How much sugar?", sugarForm), formOf("Which tea?", teaForm),
	}
	for i, form := range forms {
		answer, err := askNow(ctx, c.Session, form)
		if err != nil {
			return toolError("The client answered with an error: " + err.Error()), nil
		}
		answers[i] = answer
		if i == 0 {
			if _, ok := accepted(answer); !ok {
				return result(text("No tea was made.")), nil
			}
		}
	}
	who, _ := accepted(answers[0])
	return tea(asText(who["name"]), answers[2], answers[1]), nil
}

func formOf(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}
}

// accepted returns the content of an accepted form. It returns false for any other answer.
func accepted(answer mcp.InputResponse) (map[string]any, bool) {
	r, ok := answer.(*mcp.ElicitResult)
	if !ok || r.Action != "accept" {
		return nil, false
	}
	return r.Content, true
}

func tea(name string, kind, sugar mcp.InputResponse) *mcp.CallToolResult {
	leaves, ok := accepted(kind)
	sweet, sweetened := accepted(sugar)
	if !ok || !sweetened {
		return result(text("Then no tea for " + name + "."))
	}
	return result(text("Tea for " + name + ": " + asText(leaves["tea"]) + ", sugar " + asText(sweet["sugar"]) + "."))
}

// asText returns a value of a form as text.
func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return strings.TrimSpace(indented(v))
}
