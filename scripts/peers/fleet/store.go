package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage/remote/otlptranslator/prometheusremotewrite"
	"github.com/prometheus/prometheus/tsdb"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// A metricStore is the part of Prometheus that a dashboard uses: the translation of OTLP with
// default settings, the storage and the queries.
type metricStore struct {
	db     *tsdb.DB
	engine *promql.Engine
}

// store serves OTLP at /v1/metrics and queries at /api/v1/query until a signal. The response to a
// query is only the value.
func store(port, dir string) error {
	db, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	defer db.Close()
	s := &metricStore{
		db: db,
		engine: promql.NewEngine(
			promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})},
		),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/metrics", s.receive)
	mux.HandleFunc("GET /api/v1/query", s.query)
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { listener.Close() })
	if err := http.Serve(listener, mux); ctx.Err() == nil {
		return err
	}
	return nil
}

func (s *metricStore) receive(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	var err error
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, err = gzip.NewReader(body)
	}
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(body)
	}
	request := pmetricotlp.NewExportRequest()
	if err == nil {
		err = request.UnmarshalProto(raw)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	appender := s.db.AppenderV2(r.Context())
	_, err = prometheusremotewrite.NewPrometheusConverter(appender).
		FromMetrics(r.Context(), request.Metrics(), prometheusremotewrite.Settings{
			AddMetricSuffixes: true, LabelNameUnderscoreSanitization: true, LabelNamePreserveMultipleUnderscores: true, LookbackDelta: 5 * time.Minute,
		})
	if err == nil {
		err = appender.Commit()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (s *metricStore) query(w http.ResponseWriter, r *http.Request) {
	query, err := s.engine.NewInstantQuery(r.Context(), s.db, nil, r.FormValue("query"), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer query.Close()
	result := query.Exec(r.Context())
	if result.Err != nil {
		http.Error(w, result.Err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result.Value)
}
