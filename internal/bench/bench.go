// Package bench measures how fast a server answers: it schedules calls, keeps what each took,
// and judges the result. It knows nothing of MCP.
package bench
