package liveview

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/live/view"
	"mcpc/internal/mcp"
)

func TestAppIsReadAndTalksToItsServer(t *testing.T) {
	t.Parallel()
	inBothEras(t, func(t *testing.T, v *View) {
		app, err := v.Actor.App(t.Context(), view.AppOpening{Target: "demo", Tool: "show-weather"})
		if err != nil {
			t.Fatal(err)
		}
		if page := app.Declared.Page; page == nil || page.MIMEType != mcp.PageType || !strings.Contains(page.HTML, "Weather") {
			t.Errorf("the app is %+v", app.Declared)
		}
		_, err = v.Actor.App(t.Context(), view.AppOpening{Target: "demo", Tool: "echo"})
		if err == nil || !strings.Contains(err.Error(), "the tool echo has no page") {
			t.Errorf("a tool without a page: %v", err)
		}
		request := func(method, params string, confirmed bool) view.AppResponse {
			t.Helper()
			r, err := v.Actor.AppRequest(t.Context(), view.AppRequest{
				Target: "demo", Method: method, Params: json.RawMessage(params), Confirmed: confirmed,
			})
			if err != nil {
				return view.AppResponse{Sent: view.Sent{Text: err.Error()}}
			}
			return r
		}
		if r := request("tools/call", `{"name":"echo","arguments":{"message":"hi"}}`, false); !strings.Contains(string(r.Result), "hi") {
			t.Errorf("a call: %+v", r)
		}
		if r := request("resources/read", `{"uri":"ui://demo/weather.html"}`, false); !strings.Contains(string(r.Result), "Weather") {
			t.Errorf("a resource: %+v", r)
		}
		if r := request("resources/read", `{"uri":"file:///etc/passwd"}`, false); r.Result != nil || r.Error == nil {
			t.Errorf("a file: %+v", r)
		}
		const destructive = `{"name":"forget-everything","arguments":{}}`
		if r := request("tools/call", destructive, false); r.Confirm == "" || r.Result != nil {
			t.Errorf("a destructive call without consent: %+v", r)
		}
		if r := request("tools/call", destructive, true); r.Result == nil {
			t.Errorf("a destructive call with consent: %+v", r)
		}
		for _, method := range []string{"tools/list", "logging/setLevel", "initialize", ""} {
			if r := request(method, `{}`, true); r.Result != nil || !strings.Contains(r.Text, "a page may not send this request") {
				t.Errorf("%s: %+v", method, r)
			}
		}
	})
}

// A request that is not sent has no exchange: the exchange of an earlier request is not shown in its place.
func TestRefusedRequestHasNoExchange(t *testing.T) {
	t.Parallel()
	v := tryView(t, "")
	call := view.AppRequest{
		Target: "demo", Method: "tools/call", Params: json.RawMessage(`{"name":"echo","arguments":{"message":"hi"}}`),
	}
	if sent, err := v.Actor.AppRequest(t.Context(), call); err != nil || sent.Key == "" {
		t.Fatal(sent, err)
	}
	call.Params = json.RawMessage(`{"name":"no-such-tool"}`)
	if sent, err := v.Actor.AppRequest(t.Context(), call); err == nil || sent.Key != "" {
		t.Errorf("%+v, %v", sent, err)
	}
}

// A request of a view that was closed does nothing.
func TestClosedViewConnectsToNoServer(t *testing.T) {
	t.Parallel()
	v := tryView(t, "")
	v.Actor.Close(t.Context())
	if c, err := v.Actor.Catalog(t.Context(), "demo"); err == nil {
		t.Errorf("%+v", c)
	}
}
