//go:build programs

package cases_test

import "testing"

// TestCasesInBash runs the cases that need signals, limits, terminals or descriptors.
func TestCasesInBash(t *testing.T) {
	for _, c := range readCases(t) {
		if c.inBash() {
			t.Run(c.name, c.test)
		}
	}
}
