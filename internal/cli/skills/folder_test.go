package skills

import (
	"errors"
	"testing"

	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/skill"
	"mcpc/internal/state"
)

// A folder is replaced only by the same skill of the same server.
func TestFolderOfDifferentSkillIsNotReplaced(t *testing.T) {
	t.Parallel()
	root, err := openOrCreate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	server := func(endpoint string) *connect.Conn {
		return &connect.Conn{Env: &host.Env{Shared: new(host.Shared)}, OneOff: &state.Session{Endpoint: endpoint}}
	}
	of := func(uri string) export { return export{Entry: &skill.Entry{URI: uri}, folder: "server/one"} }
	here := server("http://h.example/mcp")
	if there, err := of("skill://a/one/SKILL.md").checkExisting(root, here); there || err != nil {
		t.Errorf("an empty directory has it: %v", err)
	}
	if err := of("skill://a/one/SKILL.md").write(root, here); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, uri string
		c         *connect.Conn
		want      error
	}{
		{"the same", "skill://a/one/SKILL.md", here, nil},
		{"another skill", "skill://b/one/SKILL.md", here, errForeign},
		{"another server", "skill://a/one/SKILL.md", server("http://i.example/mcp"), errForeign},
	} {
		if there, err := of(c.uri).checkExisting(root, c.c); !errors.Is(err, c.want) || there != (c.want == nil) {
			t.Errorf("%s: %t, %v", c.name, there, err)
		}
	}
}
