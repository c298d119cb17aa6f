//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/tests/collector"
	"mcpc/internal/tests/fleet"
	"mcpc/internal/tests/program"
)

// startFleet starts a command of scripts/peers/fleet, which ends with the test.
func startFleet(t *testing.T, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(peersDir(t), "bin", "fleet"), args...)
	var log bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(program.CleanEnv(), env...), &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; run scripts/peers.sh install", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if _ = cmd.Wait(); t.Failed() {
			t.Logf("fleet %v: %s", args, log.String())
		}
	})
}

// The files of docs/fleet are read strictly by the programs that they are for.
func TestPeersFleetFiles(t *testing.T) {
	t.Parallel()
	for kind, pattern := range map[string]string{"manifests": "kubernetes-*.yaml", "dashboards": "grafana-*.json"} {
		files, err := filepath.Glob(fleet.File(t, pattern))
		if err != nil || len(files) != 2 {
			t.Fatalf("%v, %v", files, err)
		}
		if out, err := exec.Command(filepath.Join(peersDir(t), "bin", "fleet"), append([]string{kind}, files...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", kind, err, out)
		}
	}
	// systemd looks for the program, and finds it at the place of the tests.
	mcpc, err := exec.LookPath("mcpc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unit := strings.Replace(program.Read(t, fleet.File(t, "mcpc-proxy@.service")), "/usr/bin/mcpc ", mcpc+" ", 1)
	if err := os.WriteFile(filepath.Join(dir, "mcpc-proxy@.service"), []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify"}, {"security", "--offline=yes", "--no-pager", "--threshold=20"}} {
		out, err := exec.Command("systemd-analyze", append(args, filepath.Join(dir, "mcpc-proxy@files.service"))...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %v: %v\n%s", args, err, out)
		}
	}
}

// A metricsServer is a store of metrics that answers PromQL.
type metricsServer struct {
	t   *testing.T
	url string
}

// ask returns the values of a query.
func (s metricsServer) ask(query string) (all []float64) {
	s.t.Helper()
	response, err := http.Get(s.url + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil // it does not listen yet
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: HTTP %d, %v: %s", query, response.StatusCode, err, raw)
	}
	var series []struct{ Value [2]json.RawMessage }
	mustUnmarshal(s.t, string(raw), &series)
	for _, one := range series {
		var text string
		mustUnmarshal(s.t, string(one.Value[1]), &text)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, value)
	}
	return all
}

// await waits until a query has a value of at least.
func (s metricsServer) await(query string, least float64) {
	s.t.Helper()
	for end := time.Now().Add(program.Patience); ; time.Sleep(20 * time.Millisecond) {
		all := s.ask(query)
		if len(all) == 1 && all[0] >= least {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: %v, want %v", query, all, least)
		}
	}
}

// The metrics of two proxies reach a store by way of docs/fleet/collector.yaml, and each panel of the
// dashboards has something to show.
func TestPeersFleetDashboards(t *testing.T) {
	t.Parallel()
	ports := []string{program.FreePort(t), program.FreePort(t)}
	store, otlp := metricsServer{t, "http://127.0.0.1:" + ports[0]}, "http://127.0.0.1:"+ports[1]
	startFleet(t, nil, "store", ports[0], t.TempDir())
	traces := collector.Start(t)
	startFleet(t, []string{"LISTEN=127.0.0.1:" + ports[1], "TRACES=" + traces.URL, "METRICS=" + store.url}, "collector", fleet.File(t, "collector.yaml"))
	for end := time.Now().Add(program.Patience); ; time.Sleep(20 * time.Millisecond) {
		if status, _, err := post(otlp+"/v1/metrics", `{}`); err == nil && status == http.StatusOK {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the collector does not answer: HTTP %d, %v", status, err)
		}
	}
	peer := peerNamed(t, "go-sdk-http") // which has sessions, and a tool that fails
	for _, service := range []string{"one", "two"} {
		env := map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": otlp, "OTEL_METRIC_EXPORT_INTERVAL": "100", "OTEL_SERVICE_NAME": service,
			"OTEL_RESOURCE_ATTRIBUTES": "service.namespace=mcp",
		}
		proxy := program.Serve(t, env, "proxy", "--to", peer.start(t)[1], "--listen", "127.0.0.1:0", "--otlp", "env")
		job := fmt.Sprintf(`{job="mcp/%s"}`, service)
		for round := 1; round <= 2; round++ { // a rate needs two values that differ
			p := newRunner(t)
			p.want(0, "init", "-s", proxy.URL)
			p.want(0, "call", "get-sum", "a=1", "b=2")
			p.want(5, "call", "fail")
			p.want(0, "prompt", "greeting", "name=x")
			p.want(0, "close")
			for _, side := range []string{"server", "client"} {
				store.await("sum(mcp_"+side+"_session_duration_seconds_count"+job+")", float64(round))
				store.await("sum(mcp_"+side+`_operation_duration_seconds_count{gen_ai_tool_name="fail",error_type="tool_error",job="mcp/`+service+`"})`, float64(round))
			}
		}
	}
	for file, panels := range fleet.Dashboards(t) {
		for _, p := range panels {
			for _, target := range p.Targets {
				for _, side := range []string{"server", "client"} {
					query := strings.NewReplacer("${side}", side, "$identity", "job", "$service", ".*", "$tool", ".+", "$__rate_interval", "4m", "$__range", "6h").Replace(target.Expr)
					positive := 0
					for _, value := range store.ask(query) {
						if value > 0 {
							positive++
						}
					}
					if positive == 0 || strings.HasPrefix(query, "sum by (job)") && positive != 2 {
						t.Errorf("%s: panel %q shows nothing: %s is %v", file, p.Title, query, store.ask(query))
					}
				}
			}
		}
	}
}
