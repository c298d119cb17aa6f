package demo

import (
	"testing"
	"testing/synctest"
)

// TestChangeList adds an entry to each list and removes it: the client is notified of both.
func TestChangeList(t *testing.T) {
	for _, era := range []struct{ name, more string }{{"handshake", ""}, {"stateless", meta}} {
		t.Run(era.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p *peer
				var more []string
				if era.more == "" {
					p = handshake(t, "2025-11-25", `{}`)
				} else {
					p, more = serve(t), []string{meta}
					p.send(request(99, "subscriptions/listen",
						`"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true},`+meta))
					want(t, "acknowledged", p.recv().Method, "notifications/subscriptions/acknowledged")
				}
				for i, list := range []string{"tools", "prompts", "resources"} {
					before := len(walk(t, p, list+"/list", list, era.more))
					for j, args := range []string{`{"list":"` + list + `"}`, `{"list":"` + list + `","remove":true}`} {
						want(t, "answer", string(p.do(toolsCall(10*i+j, "change-list", args, more...)).ID) != "", true)
						want(t, "told", p.recv().Method, "notifications/"+list+"/list_changed")
						want(t, list, len(walk(t, p, list+"/list", list, era.more)), before+1-j)
					}
				}
				if _, err := p.close(); err != nil { // a subscription has a result to end with
					t.Error(err)
				}
			})
		})
	}
}
