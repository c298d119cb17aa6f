package liveview

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/mcp"
	"mcpc/internal/saved"
	"mcpc/internal/wire"
)

// Request sends a request for an offer of a server. The view.Sent has a question if the user must confirm
// it first.
func (a *Actor) Request(ctx context.Context, r view.Request) (view.Sent, error) {
	g := a.separateInvocation()
	server, err := a.callableServer(g, r.Target)
	if err != nil {
		return view.Sent{}, err
	}
	// A recorded secret is only a placeholder, which no server accepts.
	if out := recorded.RejectHidden("enter the secret again", string(r.Arguments)); !out.OK() {
		return view.Sent{}, userError(g, out)
	}
	o := outgoing{server: server, name: r.Name, consentKey: r.Kind + "\n" + r.Name + "\n" + string(r.Arguments)}
	if err := o.setRequest(g, r); err != nil {
		return view.Sent{}, userErrorOf(g, err)
	}
	return a.sendTo(ctx, o, r.Confirmed)
}

// sendTo sends a request over the kept connection to its server. If a consent is missing, it sends nothing,
// and the view.Sent has the question for the user.
func (a *Actor) sendTo(ctx context.Context, o outgoing, confirmed bool) (view.Sent, error) {
	ctx, release := a.contextOfView(ctx)
	defer release()
	given, question := a.checkConsent(o, confirmed)
	if question != nil {
		return *question, nil
	}
	g, c, out := a.connection(ctx, o.server)
	if !out.OK() {
		return view.Sent{}, userError(g, out)
	}
	ctx, end := a.begin(ctx, o.server)
	defer end()
	out, missing := o.send(ctx, c, given)
	sent, err := a.sentResult(g, o, connect.Explain(&g.Env, out), missing)
	if out.Kind == wire.Signal && sent.Key != "" { // by Cancel
		sent.Channel = exchange.ChannelCancelled
		sent.Text = ""
	}
	return sent, err
}

// setRequest sets the method and the function that sends a request. It returns an error for
// arguments that cannot be read.
func (o *outgoing) setRequest(g *cmdutil.Factory, r view.Request) error {
	// The arguments are one JSON object; nothing is given by --args ("") or as flat names (false).
	given, err := arguments.Parse(&g.Env, []string{string(jsonraw.OrEmpty(r.Arguments))}, "", false)
	if err != nil {
		return err
	}
	switch r.Kind {
	case view.KindTool:
		o.method = "tools/call"
		o.send = func(ctx context.Context, c *connect.Conn, agreed consents) (wire.Outcome, consents) {
			out, _ := toolcall.CallTool(ctx, c, &toolcall.Request{
				Name:       r.Name,
				Given:      given,
				NoValidate: agreed&toInvalidArguments != 0,
				Yes:        agreed&toDestructiveCall != 0,
			})
			return out, missingConsent(out)
		}
	case view.KindPrompt:
		o.method = "prompts/get"
		o.send = func(ctx context.Context, c *connect.Conn, agreed consents) (wire.Outcome, consents) {
			out := toolcall.GetPrompt(ctx, c, toolcall.PromptOptions{
				Name: r.Name, Arguments: jsonraw.OrEmpty(r.Arguments), NoValidate: agreed&toInvalidArguments != 0,
			})
			return out, missingConsent(out)
		}
	case view.KindResource, view.KindTemplate:
		o.method = "resources/read"
		uri := r.Name
		if r.Kind == view.KindTemplate {
			uri, err = expandTemplate(r)
		}
		o.send = func(ctx context.Context, c *connect.Conn, _ consents) (wire.Outcome, consents) {
			return toolcall.ReadResource(ctx, c, uri), 0
		}
	case view.KindTask:
		o.method = "tasks/get"
		o.send = func(ctx context.Context, c *connect.Conn, _ consents) (wire.Outcome, consents) {
			_, out := c.Task(ctx, r.Name)
			return out, 0
		}
	default:
		return errors.New("unknown kind: " + r.Kind)
	}
	return err
}

// expandTemplate returns the URI of a template with the variables of a request.
func expandTemplate(r view.Request) (string, error) {
	template, err := mcp.ParseURITemplate(r.Name)
	if err != nil {
		return "", err
	}
	values, bad := jsonraw.Object(jsonraw.OrEmpty(r.Arguments))
	if bad != nil {
		return "", bad
	}
	if err := toolcall.UnknownVariable(template, values); err != nil {
		return "", err
	}
	return template.Expand(values)
}

// Complete returns the values that a server suggests for an argument.
func (a *Actor) Complete(ctx context.Context, r view.Completion) (view.Completed, error) {
	ctx, release := a.contextOfView(ctx)
	defer release()
	kind, _ := connect.KindNamed(r.Kind)
	if kind != connect.PromptKind && kind != connect.TemplateKind {
		return view.Completed{}, errors.New("only arguments of prompts and templates are completed")
	}
	server, err := a.agreedServer(r.Target)
	if err != nil {
		return view.Completed{}, err
	}
	g, c, out := a.connection(ctx, server)
	if !out.OK() {
		return view.Completed{}, userError(g, out)
	}
	completed := view.Completed{Values: []string{}}
	if declared, known := c.Declares("completions"); known && !declared {
		return completed, nil
	}
	params := toolcall.CompletionParams(kind, r.Name, r.Argument, r.Value)
	if others := jsonraw.Without(r.Arguments, r.Argument); len(others) > 0 && client.CompletesInContext(c.Revision()) {
		params = jsonraw.With(params, "context", jsonraw.With(nil, "arguments", others))
	}
	out = c.Do(ctx, client.Call{Method: "completion/complete", Params: params})
	if !out.OK() {
		return view.Completed{}, userError(g, connect.Explain(&g.Env, out))
	}
	completion := jsonraw.First(out.Result, "completion")
	values, _ := jsonraw.Array(jsonraw.First(completion, "values"))
	for _, raw := range values {
		if value, ok := jsonraw.Text(raw); ok {
			completed.Values = append(completed.Values, value)
		}
	}
	return completed, nil
}

// Step returns a request as a file of saved calls with one step. If file is not "", it appends the step to
// that file in the current directory, or creates the file.
func (a *Actor) Step(ctx context.Context, r view.Request, file string) (view.SavedStep, error) {
	verbs := map[string]saved.Verb{
		view.KindTool: saved.Call, view.KindPrompt: saved.Prompt,
		view.KindResource: saved.Read, view.KindTemplate: saved.Read,
	}
	verb, ok := verbs[r.Kind]
	if !ok {
		return view.SavedStep{}, errors.New("there is no step for a " + r.Kind)
	}
	if file != "" && !a.Powers().Files {
		return view.SavedStep{}, errors.New("this view writes no files")
	}
	hasExtension := strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
	if file != "" && (filepath.Base(file) != file || !hasExtension) {
		return view.SavedStep{}, errors.New("not the name of a file in this directory that ends with .mcpc.yaml")
	}
	ctx, release := a.contextOfView(ctx)
	defer release()
	server, err := a.agreedServer(r.Target)
	if err != nil {
		return view.SavedStep{}, err
	}
	g, c, out := a.connection(ctx, server)
	if !out.OK() {
		return view.SavedStep{}, userError(g, out)
	}
	if file == "" {
		text, err := recorded.StepText(g, c, verb, r.Name, r.Arguments)
		return view.SavedStep{Text: text, Run: recorded.RunLine(view.StepFile, c)}, err
	}
	const expectResult = false
	saver, err := recorded.NewCallSaver(file, expectResult)
	if err != nil {
		return view.SavedStep{}, userErrorOf(g, err)
	}
	text, err := saver.AddStep(g, c, verb, r.Name, r.Arguments)
	if err != nil {
		return view.SavedStep{}, userErrorOf(g, err)
	}
	return view.SavedStep{Text: text, Run: recorded.RunLine(file, c)}, nil
}
