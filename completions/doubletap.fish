# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_doubletap_global_optspecs
    string join \n store= namespace= q/quiet v/verbose log= source= store-timeout= h/help V/version
end

function __fish_doubletap_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_doubletap_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_doubletap_using_subcommand
    set -l cmd (__fish_doubletap_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c doubletap -n "__fish_doubletap_needs_command" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_needs_command" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_needs_command" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_needs_command" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_needs_command" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_needs_command" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_needs_command" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_needs_command" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_needs_command" -s V -l version -d 'Print version'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "once" -d 'Run a command once per key, and replay its output and exit status'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "lease" -d 'Run a command while holding a name, so that it never overlaps itself'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "begin" -d 'Claim a key for a script, which records the outcome with complete or fail'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "complete" -d 'Record the outcome of what was begun, or say how an interrupted attempt ended'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "fail" -d 'Give a key back for a retry, and say why'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "acquire" -d 'Hold a name for a script, which gives it back with release'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "release" -d 'Give back a name that was acquired'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "renew" -d 'Extend a claim or a lease from now on'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "assert" -d 'Ask whether a claim or a lease is still good, in the middle of a long script'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "step" -d 'Run a step of an operation, once, however often that is retried'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "cgi" -d 'Run a CGI handler once per idempotency key, and replay its HTTP response'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "show" -d 'Show what is known of a key'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "logs" -d 'Print the output of a key\'s newest attempt, also while it runs'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "list" -d 'List the keys, the newest first'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "forget" -d 'Drop a key on purpose: the next call runs again'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "prune" -d 'Remove old records'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "stats" -d 'Count keys, attempts and calls, and say how long they take'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "doctor" -d 'Look for what is wrong with the store and the machine, and change nothing'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "setup" -d 'Create or migrate the store, which one on a server wants once'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "completions" -d 'Print the completions of a shell'
complete -c doubletap -n "__fish_doubletap_needs_command" -f -a "keygen" -d 'Print a random key'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l key -d 'The key, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l key-env -d 'Take the key from this environment variable' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l ttl -d 'Replay the recorded outcome for this long, or forever [default: until it is pruned]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l per -d 'Once per calendar period: the record is good until the period ends' -r -f -a "hour\t'From one full hour to the next'
day\t'From midnight to midnight'
week\t'From Monday to Monday'
month\t'From the first to the first'
year\t'From the first of January to the next'"
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l tz -d 'The time zone of that period, such as Europe/Berlin [default: the system\'s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l record -d 'Record these ends: success, any, or exit statuses such as 0,3-5 [default: success]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l retry-after -d 'After a failure, keep the key busy for this long' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l fingerprint -d 'Compare this too, such as `cwd` or `env:NAME`; `none` drops the command line' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l on-crash -d 'What to do about an interrupted attempt [default: rerun]' -r -f -a "rerun\t'Say so and run again'
stop\t'Refuse until a person has decided'"
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l max-attempts -d 'Refuse after this many unsuccessful attempts' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l max-output -d 'Keep this much of the output, or none for no limit [default: 16MiB]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l validate -d 'Record a success only if this shell command, fed with its standard output, succeeds too' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l replay -d 'What a replay gives: the output and the status, or only the status [default: output; status for a once with --per]' -r -f -a "output\t'The output and the status'
status\t'Only the status'"
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l claim-ttl -d 'How long a claim lasts unless it is renewed [default: 60s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -s w -l wait -d 'While it is busy, wait up to this long, or forever' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -s E -l conflict-exit-code -d 'Exit with this status when it is busy [default: 75]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l timeout -d 'End the command after this long; that is a failure' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l kill-after -d 'Kill a command that was told to end and has not after this long [default: 10s after --timeout, never after a signal]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l report -d 'Write one JSON line about this call to FILE or fd:N' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l if-key -d 'If that variable is unset or empty, run unguarded and say so'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l no-output -d 'Keep only the exit status; the command keeps the terminal'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l rerun -d 'Run even if recorded; the record stays unless the rerun succeeds'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -l fail-open -d 'If the store cannot be used, run unguarded and say so'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -s n -l nonblock -d 'Do not wait (the default)'
complete -c doubletap -n "__fish_doubletap_using_subcommand once" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l key -d 'The name, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l ttl -d 'How long the lease lasts unless it is renewed [default: 60s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l slots -d 'Hold it while fewer than this many others do [default: 1]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l min-hold -d 'Keep the name at least this long, even if it is given back sooner' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -s w -l wait -d 'While it is busy, wait up to this long, or forever' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -s E -l conflict-exit-code -d 'Exit with this status when it is busy [default: 75]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l timeout -d 'End the command after this long; that is a failure' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l kill-after -d 'Kill a command that was told to end and has not after this long [default: 10s after --timeout, never after a signal]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l report -d 'Write one JSON line about this call to FILE or fd:N' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -l no-renew -d 'Do not renew it: the command is stopped before it ends'
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -s n -l nonblock -d 'Do not wait (the default)'
complete -c doubletap -n "__fish_doubletap_using_subcommand lease" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l key -d 'The key, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l pid -d 'Free it the moment this process is gone: --pid $$' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l claim-ttl -d 'Free it after this long, unless it is renewed; with --pid, if that process cannot be seen' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l fingerprint -d 'Compare this too, such as `cwd` or `env:NAME`' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l on-crash -d 'What to do about an interrupted attempt [default: rerun]' -r -f -a "rerun\t'Say so and run again'
stop\t'Refuse until a person has decided'"
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l max-attempts -d 'Refuse after this many unsuccessful attempts' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -s w -l wait -d 'While it is busy, wait up to this long, or forever' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -s E -l conflict-exit-code -d 'Exit with this status when it is busy [default: 75]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -l format -d 'What to print: text, json or sh [default: text]' -r -f -a "text\t'The token'
json\t'One JSON document'
sh\t'Lines for a shell to eval, which end with its status if it is not 0'"
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -s n -l nonblock -d 'Do not wait (the default)'
complete -c doubletap -n "__fish_doubletap_using_subcommand begin" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l key -d 'The key, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l token -d 'The token of the claim [default: that of the environment]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l exit-code -d 'The exit status to record: every call gets it from then on, a failure too' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l result -d 'Record what is in this file, or comes on standard input (-), as the output' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l ttl -d 'Replay the recorded outcome for this long, or forever [default: until it is pruned]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l per -d 'Once per calendar period: the record is good until the period ends' -r -f -a "hour\t'From one full hour to the next'
day\t'From midnight to midnight'
week\t'From Monday to Monday'
month\t'From the first to the first'
year\t'From the first of January to the next'"
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l tz -d 'The time zone of that period, such as Europe/Berlin [default: the system\'s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l validate -d 'Record a success only if this shell command, fed with the result, succeeds too' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l unresolved -d 'Instead of a token: settle an attempt whose holder died without recording an outcome'
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l upsert-missing -d 'Record it even if nothing is known of the key: it was pruned, or the store is new'
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand complete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l key -d 'The key, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l token -d 'The token of the claim [default: that of the environment]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l exit-code -d 'The exit status of what failed' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l reason -d 'Why it failed, for show' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l retry-after -d 'Keep the key busy for this long' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand fail" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l key -d 'The name, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l ttl -d 'How long the lease lasts unless it is renewed' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l pid -d 'Free it the moment this process is gone: --pid $$' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l slots -d 'Hold it while fewer than this many others do [default: 1]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l min-hold -d 'Keep the name at least this long, even if it is given back sooner' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -s w -l wait -d 'While it is busy, wait up to this long, or forever' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -s E -l conflict-exit-code -d 'Exit with this status when it is busy [default: 75]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -l format -d 'What to print: text, json or sh [default: text]' -r -f -a "text\t'The token'
json\t'One JSON document'
sh\t'Lines for a shell to eval, which end with its status if it is not 0'"
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -s n -l nonblock -d 'Do not wait (the default)'
complete -c doubletap -n "__fish_doubletap_using_subcommand acquire" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l key -d 'The name, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l token -d 'The token of the claim [default: that of the environment]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand release" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l token -d 'The token of the claim [default: that of the environment]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l claim-ttl -d 'How long it lasts from now on [default: as long as it was to last]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand renew" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -l token -d 'The token of the claim [default: that of the environment]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand assert" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l key -d 'The name, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l token -d 'The token of the claim [default: that of the environment]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l record -d 'Record these ends: success, any, or exit statuses such as 0,3-5 [default: success]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l retry-after -d 'After a failure, keep the key busy for this long' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l fingerprint -d 'Compare this too, such as `cwd` or `env:NAME`; `none` drops the command line' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l on-crash -d 'What to do about an interrupted attempt [default: rerun]' -r -f -a "rerun\t'Say so and run again'
stop\t'Refuse until a person has decided'"
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l max-attempts -d 'Refuse after this many unsuccessful attempts' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l max-output -d 'Keep this much of the output, or none for no limit [default: 16MiB]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l validate -d 'Record a success only if this shell command, fed with its standard output, succeeds too' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l replay -d 'What a replay gives: the output and the status, or only the status [default: output; status for a once with --per]' -r -f -a "output\t'The output and the status'
status\t'Only the status'"
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -s w -l wait -d 'While it is busy, wait up to this long, or forever' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -s E -l conflict-exit-code -d 'Exit with this status when it is busy [default: 75]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l timeout -d 'End the command after this long; that is a failure' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l kill-after -d 'Kill a command that was told to end and has not after this long [default: 10s after --timeout, never after a signal]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l report -d 'Write one JSON line about this call to FILE or fd:N' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -l no-output -d 'Keep only the exit status; the command keeps the terminal'
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -s n -l nonblock -d 'Do not wait (the default)'
complete -c doubletap -n "__fish_doubletap_using_subcommand step" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l key-env -d 'Take the key from this variable of the server [default: that of the header Idempotency-Key]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l scope-env -d 'Two values of this variable never share a key [default: the user\'s name]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l fingerprint -d 'Compare the body as JSON (`json`), or this too, such as `env:NAME`' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l max-body -d 'Refuse a larger body, or none for no limit [default: 16MiB]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l ttl -d 'Replay the recorded response for this long, or forever [default: until it is pruned]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l record-status -d 'Record these HTTP statuses [default: 2xx, 3xx, and 4xx but 408, 409, 425 and 429]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l max-output -d 'Keep this much of a response, or none for no limit [default: 16MiB]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -s w -l wait -d 'While the key is busy, wait up to this long, or forever' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l on-crash -d 'What to do about an interrupted attempt [default: rerun]' -r -f -a "rerun\t'Say so and run again'
stop\t'Refuse until a person has decided'"
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l max-attempts -d 'Refuse after this many unsuccessful attempts' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l retry-after -d 'After a failure, keep the key busy for this long' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l claim-ttl -d 'How long a claim lasts unless it is renewed [default: 60s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l timeout -d 'End the handler after this long; that is a failure' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l kill-after -d 'Kill a handler that was told to end and has not after this long [default: 10s after --timeout, never after a signal]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l report -d 'Write one JSON line about this call to FILE or fd:N' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l require-key -d 'Refuse a POST, PATCH or DELETE without a key'
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l require-random-key -d 'Of callers without a user, refuse keys that are short or could be guessed'
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l no-output -d 'Keep only the status of a response, for private answers'
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -l fail-open -d 'If the store cannot be used, run unguarded and say so'
complete -c doubletap -n "__fish_doubletap_using_subcommand cgi" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l key -d 'The key, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l kind -d 'What the key is about [default: once]' -r -f -a "once\t'A command that runs once'
lease\t'A name that is held'"
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l key -d 'The key, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l stdout -d 'Only its standard output'
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -l stderr -d 'Only its standard error, on standard output'
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -s f -l follow -d 'Go on until the attempt ends'
complete -c doubletap -n "__fish_doubletap_using_subcommand logs" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l state -d 'Only keys in this state; may be given more than once' -r -f -a "running\t''
orphaned\t''
done\t''
expired\t''
failed\t''
interrupted\t''
forgotten\t''
held\t''
released\t''
resting\t''"
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l kind -d 'Only what runs once, or only what is held [default: both]' -r -f -a "once\t'A command that runs once'
lease\t'A name that is held'"
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l since -d 'Only keys whose newest attempt started at most this long ago' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l key -d 'The key, if it begins with a dash' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l kind -d 'What the key is about [default: once]' -r -f -a "once\t'A command that runs once'
lease\t'A name that is held'"
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -l force -d 'Drop it even while its holder lives'
complete -c doubletap -n "__fish_doubletap_using_subcommand forget" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l older-than -d 'Remove keys whose newest attempt ended longer ago than this' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l dry-run -d 'Remove nothing, and say what would go'
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l force -d 'Also remove what is promised (--ttl, --per, --retry-after), and allow an age below the longest claim'
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand prune" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -l prometheus -d 'Print metrics in the text format of Prometheus'
complete -c doubletap -n "__fish_doubletap_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -l race -d 'Have N processes at once ask for one key, and as many test for a file, and count' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -l json -d 'Print one JSON document'
complete -c doubletap -n "__fish_doubletap_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand setup" -s h -l help -d 'Print help'
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -l store -d 'Keep the state in this file, or on this server' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -l namespace -d 'Separate equal keys [default: default]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -l log -d 'Append one JSON line for each `once`, `lease` and `step` to this file' -r -F
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -l source -d 'Label the caller in the report' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -l store-timeout -d 'Wait this long for the store itself [default: 10s]' -r
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -s q -l quiet -d 'Say nothing about a busy key or a take-over'
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -s v -l verbose -d 'Say on stderr what happened, replays included'
complete -c doubletap -n "__fish_doubletap_using_subcommand keygen" -s h -l help -d 'Print help'
