// Package signals has what systems do differently about signals and child processes.
package signals
