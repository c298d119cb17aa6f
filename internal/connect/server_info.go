package connect

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/jsonraw"
)

// ServerName returns "TITLE (NAME) VERSION" of an Implementation, or what it has of them. It returns
// "(not given)" if raw is not an object.
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

// Label names the server for the user: title, name, version and address.
func (c *Conn) Label() string {
	if info := c.ServerInfo(); info != nil {
		return ServerName(info) + " (" + c.Where + ")"
	}
	return c.Where
}
