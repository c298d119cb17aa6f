//go:build peers

package web

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mcpc/internal/tests/chromium"
)

// accessFaults loads axe into a page, and returns a function that reports the page's new faults that keep
// people out, and a page that is wider than its window. where names the state of the page.
func accessFaults(t *testing.T, p *chromium.Page) func(where string) {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join(peersDir(), "page", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("run scripts/peers.sh install: %v", err)
	}
	p.Run(cdppage.SetBypassCSP(true), chromedp.Reload())
	p.Await(`document.querySelector('#filter')`)
	p.Eval(string(axe)+"; void 0", nil)
	seen := map[string]bool{}
	return func(where string) {
		t.Helper()
		var got []struct {
			ID, Impact, Help string
			Nodes            []struct {
				HTML           string
				FailureSummary string
			}
		}
		p.Eval(`axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(r => r.violations)`, &got)
		for _, v := range got {
			serious := v.Impact == "serious" || v.Impact == "critical" || slices.Contains([]string{"heading-order", "empty-table-header"}, v.ID)
			if serious && len(v.Nodes) > 0 && !seen[v.ID+v.Nodes[0].FailureSummary] {
				seen[v.ID+v.Nodes[0].FailureSummary] = true
				t.Errorf("%s: %s, %s: %s, %d times:\n%s\n%s", where, v.Impact, v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML[:min(300, len(v.Nodes[0].HTML))], v.Nodes[0].FailureSummary)
			}
		}
		var wide struct{ Page, Window float64 }
		p.Eval(`({ Page: document.documentElement.scrollWidth, Window: innerWidth })`, &wide)
		if wide.Page > wide.Window+1 {
			t.Errorf("%s: the page is %v wide in a window of %v", where, wide.Page, wide.Window)
		}
	}
}
