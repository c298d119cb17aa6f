package main

import "mcpc/internal/wire"

// notified shows progress and the server's log messages while a request runs.
func (c *conversation) notified(m *wire.Message) {
	params, err := m.ParamMembers()
	if err != nil {
		params = nil
	}
	switch m.Method {
	case "notifications/progress":
		if c.box == nil {
			c.a.progress.Update(params)
		}
	case "notifications/message":
		if c.heard != nil {
			break
		}
		data, _ := params.Get("data")
		c.a.progress.Log(params.Text("level"), params.Text("logger"), data)
	case "notifications/tools/list_changed":
		c.forgetTools()
	case "notifications/prompts/list_changed":
		c.forget(promptKind)
	}
	if c.heard != nil {
		c.heard(m)
	}
}

func (c *conversation) found(f wire.Finding) {
	if f.Level > wire.Info || c.a.verbose > 0 {
		c.a.warn(f.Text)
	}
}

func (c *conversation) renewed(why string) {
	c.changed = true
	c.forgetTools()
	c.forget(promptKind)
	c.a.note(why)
}
