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
	visited := &pageVisits{asked: map[string]bool{}}
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
		hints: askingHints(),
		run:   visited.triggerURLElicitation,
	}, {
		name:        "order-tea",
		title:       "Order Tea Tool",
		description: "Requests input twice: a name, then two forms at once, and returns when it has all answers",
		input:       noInput,
		hints:       askingHints(),
		run:         orderTea,
	}}
}

// pageVisits records the sessions and URLs that the error -32042 was sent for. A second call means
// that the user has visited the page.
type pageVisits struct {
	mu    sync.Mutex
	asked map[string]bool
}

// isFirst reports whether this is the first of two calls for a key.
func (v *pageVisits) isFirst(key string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked[key] {
		delete(v.asked, key)
		return false
	}
	v.asked[key] = true
	return true
}

// triggerURLElicitation asks the user to visit a page, with a request or, if errorPath is set, with
// the error -32042.
func (v *pageVisits) triggerURLElicitation(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil || caps.Elicitation.URL == nil {
		return c.missingCapability("elicitation.url", `{"elicitation":{"url":{}}}`)
	}
	page := &mcp.ElicitParams{Mode: "url", Message: c.args.stringValue("message"), URL: c.args.stringValue("url")}
	if c.ProtocolVersion() < statelessRevision {
		page.ElicitationID = "demo-page"
		if c.args.boolValue("errorPath") && v.isFirst(c.Session.ID()+" "+page.URL) {
			return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{page})
		}
	}
	answer, pending, err := askClient[*mcp.ElicitResult](ctx, c, page)
	if answer == nil {
		return pending, err
	}
	if answer.Action == "accept" && page.ElicitationID != "" {
		done := &mcp.ElicitationCompleteParams{ElicitationID: page.ElicitationID}
		if err := c.Session.NotifyElicitationComplete(ctx, done); err != nil {
			return nil, err
		}
	}
	return result(textContent("The user's answer to visiting " + page.URL + ": " + answer.Action)), nil
}

// The forms of orderTea, and the states that record which answers are known.
const (
	nameForm = `{"type":"object","properties":{"name":{"type":"string","minLength":1,` +
		`"description":"Whose tea is it?"}},"required":["name"]}`
	teaForm = `{"type":"object","properties":{"tea":{"type":"string","enum":["green","black","mint"],` +
		`"default":"mint"}},"required":["tea"]}`
	sugarForm = `{"type":"object","properties":{"sugar":{"type":"integer","minimum":0,"maximum":9,"default":1}}}`
	nameState = "named:"
)

// orderTea requests a name, and then the tea and the sugar. In revisions without server requests,
// the client returns the name in the state, and the server stores nothing.
func orderTea(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return c.missingCapability("elicitation", `{"elicitation":{"form":{}}}`)
	}
	if c.ProtocolVersion() < statelessRevision {
		return askOneByOne(ctx, c)
	}
	name, hasName := strings.CutPrefix(c.Params.RequestState, nameState)
	responses := c.Params.InputResponses
	if c.Params.RequestState == "" || c.Params.RequestState == askedState && responses["who"] == nil {
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"who": newForm("Who?", nameForm)},
			RequestState:  askedState,
		}, nil
	}
	if c.Params.RequestState == askedState {
		who, ok := acceptedContent(responses["who"])
		if !ok {
			return result(textContent("No tea was made.")), nil
		}
		return &mcp.CallToolResult{RequestState: nameState + formatValue(who["name"]), InputRequests: mcp.InputRequestMap{
			"tea": newForm("Which tea?", teaForm), "sugar": newForm("How much sugar?", sugarForm),
		}}, nil
	}
	if !hasName {
		return nil, invalidParams("requestState is not what this server sent")
	}
	return makeTea(name, responses["tea"], responses["sugar"]), nil
}

// askOneByOne requests the three forms one after the other, as revisions with server requests do.
func askOneByOne(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	var answers [3]mcp.InputResponse
	forms := []*mcp.ElicitParams{
		newForm("Who?", nameForm), newForm("How much sugar?", sugarForm), newForm("Which tea?", teaForm),
	}
	for i, form := range forms {
		answer, err := sendRequest(ctx, c.Session, form)
		if err != nil {
			return toolError("The client answered with an error: " + err.Error()), nil
		}
		answers[i] = answer
		if i == 0 {
			if _, ok := acceptedContent(answer); !ok {
				return result(textContent("No tea was made.")), nil
			}
		}
	}
	who, _ := acceptedContent(answers[0])
	return makeTea(formatValue(who["name"]), answers[2], answers[1]), nil
}

func newForm(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}
}

// acceptedContent returns the content of an accepted form. It returns false if the answer is
// something else.
func acceptedContent(answer mcp.InputResponse) (map[string]any, bool) {
	r, ok := answer.(*mcp.ElicitResult)
	if !ok || r.Action != "accept" {
		return nil, false
	}
	return r.Content, true
}

// makeTea returns the result for the answers to the tea and sugar forms. Without both, it makes no tea.
func makeTea(name string, teaAnswer, sugarAnswer mcp.InputResponse) *mcp.CallToolResult {
	tea, hasTea := acceptedContent(teaAnswer)
	sugar, hasSugar := acceptedContent(sugarAnswer)
	if !hasTea || !hasSugar {
		return result(textContent("Then no tea for " + name + "."))
	}
	kind := formatValue(tea["tea"])
	spoons := formatValue(sugar["sugar"])
	return result(textContent("Tea for " + name + ": " + kind + ", sugar " + spoons + "."))
}

// formatValue returns a value of a form as text.
func formatValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return strings.TrimSpace(indentedJSON(v))
}
