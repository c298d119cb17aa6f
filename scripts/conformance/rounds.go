//lint:file-ignore SA1019 sampling and roots are deprecated and still spoken

package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/demo"
	"mcpc/internal/pause"
)

// answersOrRequest returns the answers to requests. If answers are missing, it returns the result that requires
// them. In revisions with a handshake the SDK sends the requests of that result to the client, and
// calls the tool again with the answers. A state other than "" is sent signed with the requests,
// and the client must return it.
func (f *fixtures) answersOrRequest(
	req *mcp.CallToolRequest,
	requests mcp.InputRequestMap,
	state string,
) (mcp.InputResponseMap, *mcp.CallToolResult, error) {
	p := req.Params
	if err := checkCapabilities(p.GetMeta(), req.ClientCapabilities(), requests); err != nil {
		return nil, nil, err
	}
	if state != "" && (p.InputResponses != nil || p.RequestState != "") {
		if known, ok := f.verifyState(p.Name, p.RequestState); !ok || known != state {
			return nil, nil, invalidParams("requestState is not what this server sent")
		}
	}
	if hasAllAnswers(requests, p.InputResponses) {
		return p.InputResponses, nil, nil
	}
	return nil, f.inputRequired(p.Name, requests, state), nil
}

func (f *fixtures) inputRequired(tool string, requests mcp.InputRequestMap, state string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{InputRequests: requests}
	if state != "" {
		res.RequestState = f.signState(tool, state)
	}
	return res
}

// askTwice requires two rounds. It stores nothing between the rounds: the first answer is in the
// state.
func (f *fixtures) askTwice(
	_ context.Context,
	req *mcp.CallToolRequest,
	_ map[string]any,
) (*mcp.CallToolResult, error) {
	p := req.Params
	first := mcp.InputRequestMap{"step1": newForm("Step 1: What is your name?", nameForm)}
	second := mcp.InputRequestMap{"step2": newForm("Step 2: What is your favorite color?", colorForm)}
	if err := checkCapabilities(p.GetMeta(), req.ClientCapabilities(), first); err != nil {
		return nil, err
	}
	if p.GetMeta()[mcp.MetaKeyProtocolVersion] == nil {
		return nil, errors.New("this tool needs a revision with multi round-trip requests")
	}
	const begun, named = "begun", "named:"
	if p.InputResponses == nil && p.RequestState == "" {
		return f.inputRequired(p.Name, first, begun), nil
	}
	state, ok := f.verifyState(p.Name, p.RequestState)
	name, isSecond := strings.CutPrefix(state, named)
	if !ok {
		return nil, invalidParams("requestState is not what this server sent")
	}
	if !isSecond && !hasAllAnswers(first, p.InputResponses) {
		return f.inputRequired(p.Name, first, begun), nil
	}
	if !isSecond {
		return f.inputRequired(p.Name, second, named+text(acceptedContent(p.InputResponses["step1"])["name"])), nil
	}
	if !hasAllAnswers(second, p.InputResponses) {
		return f.inputRequired(p.Name, second, state), nil
	}
	return says(name + " likes " + text(acceptedContent(p.InputResponses["step2"])["color"]) + "."), nil
}

// askByCapabilities sends the requests, of three, that the client declares support for. If the client
// supports no request, it sends all three.
func (f *fixtures) askByCapabilities(
	_ context.Context,
	req *mcp.CallToolRequest,
	_ map[string]any,
) (*mcp.CallToolResult, error) {
	possible := mcp.InputRequestMap{}
	for key, request := range threeRequests() {
		if checkCapabilities(req.Params.GetMeta(), req.ClientCapabilities(), mcp.InputRequestMap{key: request}) == nil {
			possible[key] = request
		}
	}
	if len(possible) == 0 {
		possible = threeRequests()
	}
	answers, pending, err := f.answersOrRequest(req, possible, "")
	if answers == nil {
		return pending, err
	}
	return says("All is answered."), nil
}

func (f *fixtures) promptThatAsks(req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	requests := mcp.InputRequestMap{"user_context": newForm("What context should the prompt use?", contextForm)}
	if err := checkCapabilities(req.Params.GetMeta(), req.ClientCapabilities(), requests); err != nil {
		if _, ok := errors.AsType[*jsonrpc.Error](err); !ok {
			err = invalidParams(err.Error()) // a prompt result cannot be an error
		}
		return nil, err
	}
	if !hasAllAnswers(requests, req.Params.InputResponses) {
		return &mcp.GetPromptResult{InputRequests: requests}, nil
	}
	return prompts("Use this context: " + text(acceptedContent(req.Params.InputResponses["user_context"])["context"])), nil
}

// hasAllAnswers reports whether each request has an answer of the right type. It ignores other answers.
func hasAllAnswers(requests mcp.InputRequestMap, answers mcp.InputResponseMap) bool {
	for key, request := range requests {
		if !demo.FitsRequest(request, answers[key]) {
			return false
		}
	}
	return true
}

// checkCapabilities returns the error for a client that lacks a capability for the requests, or nil. In
// revisions with input rounds it is a JSON-RPC error with code -32021, else a text.
func checkCapabilities(meta map[string]any, c *mcp.ClientCapabilities, requests mcp.InputRequestMap) error {
	if c == nil {
		c = &mcp.ClientCapabilities{}
	}
	required := map[string]any{}
	for _, request := range requests {
		switch request.(type) {
		case *mcp.ElicitParams:
			if c.Elicitation == nil || c.Elicitation.Form == nil && c.Elicitation.URL != nil {
				required["elicitation"] = map[string]any{"form": map[string]any{}}
			}
		case *mcp.CreateMessageWithToolsParams:
			if c.Sampling == nil {
				required["sampling"] = map[string]any{}
			}
		case *mcp.ListRootsParams:
			if c.RootsV2 == nil {
				required["roots"] = map[string]any{}
			}
		}
	}
	if len(required) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string]any{"requiredCapabilities": required})
	if err != nil {
		return err
	}
	if meta[mcp.MetaKeyProtocolVersion] == nil {
		return errors.New("this needs a client with other capabilities: " + string(data))
	}
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "This needs a client with other capabilities.",
		Data:    data,
	}
}

// signState returns a signed requestState with a text. It is valid for one tool until the process ends.
func (f *fixtures) signState(tool, state string) string {
	return base64.RawURLEncoding.EncodeToString(
		[]byte(state),
	) + "." + base64.RawURLEncoding.EncodeToString(
		f.mac(tool, state),
	)
}

// verifyState returns the text of a requestState that sign returned. It returns false if the signature
// is invalid.
func (f *fixtures) verifyState(tool, requestState string) (string, bool) {
	before, after, _ := strings.Cut(requestState, ".")
	state, err := base64.RawURLEncoding.DecodeString(before)
	if err != nil {
		return "", false
	}
	mac, err := base64.RawURLEncoding.DecodeString(after)
	return string(state), err == nil && hmac.Equal(mac, f.mac(tool, string(state)))
}

func (f *fixtures) mac(tool, state string) []byte {
	h := hmac.New(sha256.New, f.key)
	h.Write([]byte(tool + "\x00" + state))
	return h.Sum(nil)
}

// askThenRunTask requests input within the call and then becomes a task.
func (f *fixtures) askThenRunTask(
	ctx context.Context,
	req *mcp.CallToolRequest,
	_ map[string]any,
) (*mcp.CallToolResult, error) {
	requests := mcp.InputRequestMap{"user_name": newForm("What is your name?", nameForm)}
	answers, pending, err := f.answersOrRequest(req, requests, "name")
	if answers == nil {
		return pending, err
	}
	name := text(acceptedContent(answers["user_name"])["name"])
	ctx, err = demo.BeginTask(ctx)
	if err != nil {
		return nil, err
	}
	if pause.For(ctx, moment) != nil {
		return nil, ctx.Err()
	}
	return says("The task was done for " + name + "."), nil
}
