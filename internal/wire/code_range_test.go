package wire

import "testing"

func TestRangeOfCode(t *testing.T) {
	for code, want := range map[int64]CodeRange{
		0: ApplicationCodes, 404: ApplicationCodes, 32000: ApplicationCodes, -31999: ApplicationCodes, -32769: ApplicationCodes,
		-32000: ServerCodes, -32019: ServerCodes, -32020: MCPCodes, -32099: MCPCodes, -32100: JSONRPCCodes, -32768: JSONRPCCodes,
	} {
		if got := RangeOfCode(code); got != want {
			t.Errorf("%d: got %d, want %d", code, got, want)
		}
	}
}
