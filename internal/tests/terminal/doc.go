// Package terminal runs commands on pseudo-terminals and interprets what they draw.
package terminal
