// Package judge is a server that probes its clients: it has a tool for each probe, pages in each list,
// and faults of HTTP that a client should survive. It decides nothing: what the clients did is read
// from the recorded traffic (package capture/clients).
//
// "Call each tool once, in the order of the list" drives all probes.
package judge
