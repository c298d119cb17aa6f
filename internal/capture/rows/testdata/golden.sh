#!/usr/bin/env bash
# Records golden.jsonl anew: real commands, real servers. The numbers of its rows
# then stand in the tests of filters and statistics, and have to be looked at.
#
#   cd internal/capture/rows/testdata && ./golden.sh
#
# mcpc has to be in the PATH, and server-everything behind the words in $EVERYTHING.
set -uo pipefail
rm -f golden.jsonl
export MCPC_RECORD=golden.jsonl MCPC_STATE=$(mktemp -d)
trap 'kill $demo $mock; rm -rf "$MCPC_STATE"' EXIT

mcpc demo --listen 127.0.0.1:3901 2>/dev/null & demo=$!
mcpc mock --listen 127.0.0.1:3902 --script - 2>/dev/null <<'END' & mock=$!
speaks 2025-11-25
tool echo
on tools/list #1
    status 503
on tools/call #1
    json <html>not a message</html>
on tools/call #2
    hang
on tools/call #3
    sse
    send id: abc-1\nretry: 1\ndata:\n\n
    close
on GET
    sse
    event {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"behind ${Last-Event-ID}"}]}}
on tools/call #4
    sse
    event {"jsonrpc":"2.0","id":"s1","method":"ping"}
    event {"jsonrpc":"2.0","id":99,"result":{}}
    event {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"pong"}]}}
END
sleep 2
modern=http://127.0.0.1:3901/mcp
faulty=http://127.0.0.1:3902/mcp

mcpc -s $modern call get-sum '{"a":1,"b":2}'
mcpc -s $modern call fail '{"message":"Größe 世界 \"quoted\""}'
mcpc -s $modern call hang-up
mcpc -s $modern call trigger-long-running-operation '{"duration":1,"steps":4}'
mcpc -s $modern call trigger-elicitation-request
mcpc -s $modern call break-output-schema '{"break":true}'
mcpc -s $modern call get-sum '{"a":"one"}'
mcpc -s $modern --protocol 2025-06-18 raw no/such/method
mcpc -s $faulty call echo
mcpc -s $faulty --timeout 1 call echo
mcpc -s $faulty call echo
mcpc -s $faulty call echo
mcpc read demo://resource/static/document/extension.md -- $EVERYTHING
mcpc call echo '{"message":"over a pipe"}' -- $EVERYTHING
mcpc -s http://127.0.0.1:3903/mcp ping
mcpc -s $modern call trigger-elicitation-request --answer name=Ada --answer-defaults
mcpc -s $modern --protocol 2025-11-25 call trigger-elicitation-request --answer name=Ada --answer-defaults
