package connect

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/jsonraw"
)

// ServerName is the Implementation as a person would say it: title, name,
// version.
func ServerName(raw json.RawMessage) string {
	info, err := jsonraw.Object(raw)
	if err != nil {
		return "(not given)"
	}
	name := info.Text("name")
	title := info.Text("title")
	version := info.Text("version")
	if title != "" && title != name {
		name = fmt.Sprintf("%s (%s)", title, name)
	}
	return strings.TrimSpace(name + " " + version)
}

// Label names the server for the user: its title, name and version, and where it is.
func (c *Conn) Label() string {
	if info := c.ServerInfo(); info != nil {
		return ServerName(info) + " (" + c.Where + ")"
	}
	return c.Where
}
