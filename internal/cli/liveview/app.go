package liveview

import (
	"context"
	"errors"

	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/live/view"
	"mcpc/internal/wire"
)

// App reads the page of a tool. The view.App has a question if the user must confirm first that requests
// are sent to the server.
func (a *Actor) App(ctx context.Context, o view.AppOpening) (view.App, error) {
	g := a.separateInvocation()
	server, err := a.callableServer(g, o.Target)
	if err != nil {
		return view.App{}, err
	}
	var app view.App
	r := outgoing{server: server, method: "resources/read", consentKey: "page of " + o.Tool}
	r.send = func(ctx context.Context, c *connect.Conn, _ consents) (wire.Outcome, consents) {
		tool, out := c.DefineOnce(ctx, o.Tool)
		if !out.OK() {
			return out, 0
		}
		if tool.UI == "" {
			return c.Unsent("resources/read", "", "the tool "+o.Tool+" has no page", ""), 0
		}
		app.Definition = tool.Raw
		app.Declared, out = toolcall.ReadApp(ctx, c, tool.Tool)
		return out, 0
	}
	sent, err := a.sendTo(ctx, r, o.Confirmed)
	if err == nil && sent.Confirm != "" {
		return view.App{Confirm: sent.Confirm}, nil
	}
	if err == nil && sent.Text != "" && app.Declared.Page == nil {
		err = errors.New(sent.Text)
	}
	if err != nil {
		return view.App{}, err
	}
	if reason := app.Declared.Unrenderable(); reason != "" {
		return view.App{}, errors.New("the app is not shown: " + g.ErrStyle.Line(reason))
	}
	return app, nil
}

// AppRequest sends a request of a shown page to its server. A tool is called with the consents of any
// other call. The response has a question if the user must confirm the request first.
func (a *Actor) AppRequest(ctx context.Context, request view.AppRequest) (view.AppResponse, error) {
	g := a.separateInvocation()
	server, err := a.callableServer(g, request.Target)
	if err != nil {
		return view.AppResponse{}, err
	}
	var last wire.Outcome
	r := outgoing{server: server, method: request.Method, consentKey: request.Method + "\n" + string(request.Params)}
	r.send = func(ctx context.Context, c *connect.Conn, agreed consents) (wire.Outcome, consents) {
		last = toolcall.RequestOfApp(ctx, c, request.Method, request.Params, toolcall.Request{
			NoValidate: agreed&toInvalidArguments != 0,
			Yes:        agreed&toDestructiveCall != 0,
		})
		return last, missingConsent(last)
	}
	sent, err := a.sendTo(ctx, r, request.Confirmed)
	response := view.AppResponse{Sent: sent}
	if err != nil || sent.Confirm != "" {
		return response, err
	}
	response.Result = last.Result
	if rpc := last.RPCError(); rpc != nil {
		response.Error = rpc.Raw
	}
	return response, nil
}
