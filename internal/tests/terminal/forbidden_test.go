package terminal

import "testing"

func TestForbiddenFindsControls(t *testing.T) {
	for _, text := range []string{
		"\x1b[2J", Concealed, "a\rEVIL", "\u009b31m", "\u202e", "\a", "\b", "\u200b", "\U000e0041", "\x7f",
	} {
		if Forbidden("x"+text+"x") == "" {
			t.Errorf("%q is let through", text)
		}
	}
	if bad := Forbidden("\x1b[1;31mmcpc:\x1b[0m ok\r\n\r[##--]\r      \r\tdone\r\n"); bad != "" {
		t.Errorf("%q is forbidden", bad)
	}
}
