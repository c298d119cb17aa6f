// Command reverseproxy is httputil.ReverseProxy with nothing around it: what a proxy costs
// that only forwards.
//
//	reverseproxy -port N -to URL
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
)

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	to := flag.String("to", "", "URL of the server")
	flag.Parse()
	server, err := url.Parse(*to)
	if err != nil {
		log.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = server.Scheme, server.Host, ""
		},
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		FlushInterval: -1, // at once, as events need it
	}
	log.Fatal(http.ListenAndServe(net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)), proxy))
}
