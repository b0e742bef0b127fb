#!/usr/bin/env bash
# Puts `doubletap once` beside other programs that run a command for somebody,
# in ten situations in which such a program is trusted, and prints a Markdown
# table of what was seen.
#
#     benches/situations.sh [--check] [DOUBLETAP]
#
# DOUBLETAP is the program to look at: by default the one on PATH, else the
# newest release build of this repository. With --check only its column is made,
# and the exit status is 1 if one of its verdicts is not the good one.
#
# Every cell is observed, in a folder of its own. It begins with ✓ or ✗, with ◐
# where it is good but for what cannot be seen from outside of the command, or
# with – where nothing could be observed. Where the form of the column's head fails,
# and the program's own manual has an option for it, the cell tells of both.
# `chronic` shows output only of a command that fails, so there it fails.
#
# Needs Linux, bash 5, GNU coreutils and grep, and script (bsdutils) for the
# terminal. Peers that are missing are left out: flock comes with util-linux,
# timeout with coreutils, chronic with moreutils, bkt with `cargo install bkt`.
# Nothing is installed; nothing is left behind, neither files nor processes.

# The quoted texts below are for the shells that they are given to.
# shellcheck disable=SC2016
set -u
export LC_ALL=C
unset "${!DOUBLETAP_@}" "${!BKT_@}"

readonly TOOLS=(doubletap flock bkt chronic timeout)

# How many seconds something may take that is to happen soon, before it counts
# as never; and how many when nothing can be said without it.
readonly SOON=3 AT_LAST=15

# How many bytes a program may hold of an output that nobody wants.
readonly MUCH=$((64 << 20))

# --- Waiting -----------------------------------------------------------------

now() { now=${EPOCHREALTIME//[!0-9]/}; }

# within SECONDS COMMAND…: until the command succeeds; fails at the deadline.
within() {
    local deadline now
    now
    deadline=$((now + $1 * 1000000))
    shift
    until "$@"; do
        now
        ((now < deadline)) || return 1
        sleep 0.02
    done
}

# Whether a process of this situation is gone. A zombie is, and so is one whose
# number belongs to somebody else by now: neither has our folder.
gone() { ! [[ /proc/$1/cwd -ef . ]]; }

# has_lines COUNT FILE
has_lines() {
    local lines=()
    [[ -e $2 ]] && mapfile -t lines <"$2"
    ((${#lines[@]} >= $1))
}

# --- Processes ---------------------------------------------------------------

# The processes that this script has started, one /proc/PID/environ a line: all
# of them, and nobody else, have our mark in their environment.
ours() { env -u SITUATIONS grep -lzsxF "SITUATIONS=$work" /proc/[0-9]*/environ; }

none_of_ours() { [[ -z $(ours) ]]; }

# Ends them by and by: children before their parents, so that each is reaped by
# its own, but for those who do not let go of theirs.
end_ours() {
    local path pid children
    while read -r path; do
        pid=${path//[!0-9]/}
        children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
        if [[ -z $children ]] || ((rounds > 20)); then kill -KILL "$pid" 2>/dev/null; fi
    done < <(ours)
    rounds=$((rounds + 1))
    none_of_ours
}

end_all_of_ours() {
    local rounds=0
    within "$AT_LAST" end_ours || echo "situations: cannot be ended: $(ours)" >&2
}

clean_up() {
    end_all_of_ours
    cd / && rm -rf -- "$work"
}

# Starts a wrapper in the background, with nobody but us to keep the gate open.
launch() {
    "$@" </dev/null >out 2>err 3>&- &
    wrapper=$!
}

# What the commands of a situation wait at: each reads one line from it.
make_gate() {
    mkfifo gate
    exec 3<>gate
}

open_gate() { echo go >&3; }

# Waits for the end of the wrapper, which must be soon; sets the status.
ends_soon() {
    within "$SOON" gone "$wrapper" || return 1
    wait "$wrapper"
    status=$?
}

# --- Verdicts ----------------------------------------------------------------

good() { printf '✓ %s\n' "$*"; }
partly() { printf '◐ %s\n' "$*"; }
bad() { printf '✗ %s\n' "$*"; }

# verdict_on_status EXPECTED WORDS…
verdict_on_status() {
    local expected=$1
    launch "${@:2}"
    if ! ends_soon; then
        bad hangs
    elif ((status == expected)); then
        good "$status"
    else
        bad "status $status"
    fi
}

# --- Situations: each takes the wrapper as words -----------------------------

term_to_the_wrapper() {
    make_gate
    launch "$@" sh -c 'echo $$ >pid; read -r line <gate'
    within "$AT_LAST" test -s pid || { bad 'does not start'; return; }
    kill -TERM "$wrapper"
    if ! ends_soon; then
        bad hangs
    elif ! within 1 gone "$(<pid)"; then
        bad 'command lives on'
    elif ((status != 143)); then
        bad "status $status"
    else
        good 'both end, 143'
    fi
}

# A command that says when it starts, and who runs beside it then.
readonly WITNESS='
    if [ "$1" = stubborn ]; then trap "" TERM; fi
    echo $$ >>started
    while read -r other; do
        if [ "$other" != $$ ] && [ "/proc/$other/cwd" -ef . ]; then echo "$other" >>beside; fi
    done <started
    echo $$ >>looked
    read -r line <gate'

the_next_call_is_settled() { has_lines 2 looked || gone "$wrapper"; }

# killed_and_called_again NATURE WORDS…
killed_and_called_again() {
    local first call=("${@:2}" sh -c "$WITNESS" sh "$1")
    mkdir "$1" && cd "$1" || return
    make_gate
    launch "${call[@]}"
    within "$AT_LAST" has_lines 1 looked || { bad 'does not start'; return; }
    first=$(<started)
    kill -KILL "$wrapper"
    within "$AT_LAST" gone "$wrapper"
    for _ in once 'and once more, if it was refused for a command that was just ending'; do
        launch "${call[@]}"
        within "$SOON" the_next_call_is_settled
        if [[ -s beside ]]; then
            bad 'runs twice at once'
            return
        elif has_lines 2 looked; then
            good 'command ended, runs again'
            return
        elif ! gone "$wrapper"; then
            break
        fi
        wait "$wrapper"
        status=$?
        within 1 gone "$first" || { good "refused while it lives, $status"; return; }
    done
    if gone "$wrapper"; then
        bad "refused for nobody, status $status"
    elif gone "$first"; then
        bad 'hangs'
    elif open_gate && within "$SOON" has_lines 2 looked && ! [[ -s beside ]]; then
        good 'waits while it lives'
    else
        bad 'hangs'
    fi
}

kill_and_the_same_call_again() {
    local meek stubborn mark=✓
    meek=$(killed_and_called_again meek "$@")
    stubborn=$(killed_and_called_again stubborn "$@")
    if [[ $meek == "$stubborn" ]]; then
        echo "$meek"
    else
        [[ $meek$stubborn == *✗* ]] && mark=✗
        echo "$mark ${meek#* }; if it ignores TERM: ${stubborn#* }"
    fi
}

a_daemon_keeps_the_output() {
    make_gate
    launch "$@" sh -c '
        (read -r line <gate; echo late && echo late >&2 && echo alive >alive) &
        echo $! >daemon'
    within "$AT_LAST" test -s daemon || { bad 'does not start'; return; }
    if ! ends_soon; then
        bad 'held by the daemon'
    elif gone "$(<daemon)"; then
        bad 'daemon is ended'
    elif ! { open_gate && within "$SOON" test -s alive; }; then
        bad 'daemon dies of its next write'
    elif ! within "$SOON" none_of_ours; then
        bad 'leaves a process behind'
    else
        good 'returns, daemon writes on'
    fi
}

# Whether the wrapper has ended, or holds too much to be left to go on.
is_full_or_gone() {
    gone "$wrapper" && return
    local pages=0
    read -r _ pages _ 2>/dev/null <"/proc/$wrapper/statm"
    ((pages * page > MUCH))
}

is_shown_or_full() { [[ -s first ]] || is_full_or_gone; }

a_reader_that_leaves() {
    local page
    page=$(getconf PAGESIZE)
    mkfifo pipe
    head -n 1 <pipe >first &
    "$@" yes </dev/null >pipe 2>err &
    wrapper=$!
    within "$AT_LAST" is_shown_or_full
    within "$SOON" is_full_or_gone
    if ! [[ -s first ]]; then
        if gone "$wrapper"; then bad 'shows nothing'; else bad 'shows nothing, runs on'; fi
    elif ! gone "$wrapper"; then
        bad 'runs on'
    elif ! within "$SOON" none_of_ours; then
        bad 'leaves a process behind'
    else
        good 'ends at once'
    fi
}

death_by_a_signal() { verdict_on_status 137 "$@" sh -c 'kill -9 $$'; }

command_not_found() { verdict_on_status 127 "$@" no-such-command-anywhere; }

binary_output() {
    local turn show='echo run >>runs; cat bytes; cat bytes >&2; exit "$1"'
    local call=("$@" sh -c "$show" sh "$ends_with")
    printf '%b' "$(printf '\\0%03o' {0..255})" >bytes
    for turn in first second; do
        launch "${call[@]}"
        ends_soon || { bad hangs; return; }
        if ! cmp -s bytes out || ! cmp -s bytes err; then
            bad "not exact the $turn time"
            return
        fi
    done
    if ! has_lines 2 runs; then
        good 'exact, replayed too'
    elif [[ $replays == yes ]]; then
        bad 'runs again'
    elif ((ends_with > 0)); then
        good 'exact, of a failure'
    else
        good exact
    fi
}

# launch_in_one: both streams into one file, as with 2>&1.
launch_in_one() {
    "$@" </dev/null >both 2>&1 3>&- &
    wrapper=$!
}

# What two pipes lose, and all that they may lose.
readonly BURST='kept when lines are apart, lost in a burst'

# What is kept of the order when each line arrives before the next is written.
order_of_slow_writes() {
    local turn turns=(live) line lines
    if [[ $replays == yes ]]; then turns+=(replay); fi
    mkdir slow && cd slow || return
    make_gate
    local call=("$@" sh -c '
        echo out; read -r line <gate; echo err >&2; read -r line <gate
        echo out; read -r line <gate; echo err >&2; exit "$1"' sh "$ends_with")
    for turn in "${turns[@]}"; do
        launch_in_one "${call[@]}"
        if [[ $turn == live ]]; then
            for line in 1 2 3; do
                if ! within "$SOON" has_lines "$line" both; then
                    echo 'lost, nothing comes in time'
                    return
                fi
                open_gate
            done
        fi
        ends_soon || { echo "hangs in the $turn"; return; }
        mapfile -t lines <both
        [[ ${lines[*]} == 'out err out err' ]] && continue
        if [[ $turn == live ]]; then echo lost; else echo 'lost in a burst, and in a replay'; fi
        return
    done
    echo "$BURST${turns[1]+, replayed too}"
}

# Luck may keep the order now and then; it has to be kept every time.
order_of_two_streams() {
    local turn slow burst='for i in 1 2 3 4 5 6 7 8 9 10; do
        echo out; echo err >&2; echo out; echo err >&2
    done'
    sh -c "$burst" >expected 2>&1
    for turn in {1..20}; do
        mkdir "$turn" && cd "$turn" || return
        launch_in_one "$@" sh -c "$burst; exit \"\$1\"" sh "$ends_with"
        ends_soon || { bad hangs; return; }
        if ! cmp -s ../expected both; then
            slow=$(order_of_slow_writes "$@")
            if [[ $slow == "$BURST"* ]]; then partly "$slow"; else bad "$slow"; fi
            return
        fi
        cd ..
    done
    good kept
}

# What is documented of a recorded command, and all that may be lost.
readonly PIPES='stdin kept, output is a pipe'

is_stopped() { [[ $(</proc/"$1"/stat) == *') T '* ]]; }

terminal_is_kept() {
    local kept=
    command -v script >/dev/null || { echo '– needs script (bsdutils)'; return; }
    echo '
        for fd in 0 1 2; do if test -t $fd; then kept=$kept$fd; fi; done
        echo $$ >pid; echo "kept $kept" >kept
        read -r line && echo "$line" >line' >look
    { printf '%q ' "$@" sh ./look; printf '\n%s\n' 'echo $? >ended'; } >call
    mkfifo keys
    exec 4<>keys
    SHELL=$BASH script -qefc 'bash ./call' /dev/null <keys >screen 2>err 4>&- &
    within "$AT_LAST" test -s kept || { bad 'does not start'; return; }
    echo typed >&4
    kept=$(<kept)
    if [[ ${kept#kept } != *0* ]]; then
        bad 'stdin is lost'
    elif ! within "$SOON" test -s line; then
        if is_stopped "$(<pid)"; then bad 'stopped when it reads'; else bad 'gets no input'; fi
    elif [[ $(<line) != typed ]]; then
        bad 'gets wrong input'
    elif ! within "$SOON" test -s ended; then
        bad hangs
    elif [[ $kept == 'kept 012' ]]; then
        good kept
    else
        bad "$PIPES"
    fi
}

arguments_are_exact() {
    local words=('' ' ' 'two  words' $'two\nlines\n' $'tab\tand\rreturn' "it's" '"quoted"' "\\" '\n'
        '$HOME `id` $(id)' '*' '?' '~' '#' '%s%n' '{}' ';' '&' '|' '>x' '-' '--' '--help' '-c' '-n'
        '--store' '--ttl=1s' '-F' '-e' $'\xff\xfe' $'caf\xe9' 'grüße' $'\x01\x1b[31m' '=' 'A=b' '')
    printf '%s\0' "${words[@]}" >expected
    launch "$@" sh -c 'printf "%s\0" "$@" >got' sh "${words[@]}"
    if ! ends_soon; then
        bad hangs
    elif cmp -s expected got; then
        good exact
    else
        bad changed
    fi
}

# What they are called in the table.
readonly SITUATIONS_AND_NAMES=(
    term_to_the_wrapper 'TERM to the wrapper: both end, 143'
    kill_and_the_same_call_again 'KILL to the wrapper, then the same call again: never two at once'
    a_daemon_keeps_the_output 'the command leaves a daemon that keeps its output open'
    a_reader_that_leaves '`… yes \| head -1`: ends at once, nothing left'
    death_by_a_signal '`kill -9 $$`: status 137'
    command_not_found 'command not found: status 127'
    binary_output 'binary output: every byte, no newline at the end'
    order_of_two_streams '`2>&1`: out, err, out, err in this order'
    terminal_is_kept 'a terminal: the command keeps it, and can read'
    arguments_are_exact 'odd arguments: empty, quotes, newlines, options, no UTF-8'
)

# --- The table ---------------------------------------------------------------

# The head of a tool's column.
head_of() {
    case $1 in
        doubletap) echo '`doubletap once KEY -- …`' ;;
        flock) echo '`flock FILE …`' ;;
        bkt) echo '`bkt --ttl=1d -- …`' ;;
        chronic) echo '`chronic …`' ;;
        timeout) echo '`timeout 60 …`' ;;
    esac
}

# The option that a tool's manual has for a situation, if it has one.
option_for() {
    case $1:$2 in
        doubletap:terminal_is_kept) echo --no-output ;;
        flock:*) echo --no-fork ;;
        timeout:terminal_is_kept) echo --foreground ;;
    esac
}

# observe TOOL SITUATION [OPTION]: sets the verdict.
observe() {
    local words here ends_with=0 replays=no
    case $1 in
        doubletap) words=("$doubletap" once situation --store store.db ${3:+"$3"} --) replays=yes ;;
        flock) words=(flock ${3:+"$3"} lock) ;;
        bkt) words=(bkt --ttl=1d --cache-dir=cache --) replays=yes ;;
        chronic) words=(chronic) ends_with=3 ;;
        timeout) words=(timeout ${3:+"$3"} 60) ;;
    esac
    here=$(mktemp -d "$work/$1-XXXXXX") || exit 2
    (
        export SITUATIONS=$work
        cd "$here" && "$2" "${words[@]}"
        end_all_of_ours
    ) </dev/null >"$here.verdict" 2>"$here.messages"
    verdict=$(<"$here.verdict")
    [[ -n $verdict ]] || verdict='– nothing was observed'
}

# cell TOOL SITUATION: sets the verdict, of both forms where an option helps.
cell() {
    local plain option
    observe "$1" "$2"
    plain=$verdict option=$(option_for "$1" "$2")
    [[ $plain == ✗* && -n $option ]] || return
    [[ $1 != doubletap || $plain == "✗ $PIPES" ]] || return
    observe "$1" "$2" "$option"
    if [[ $verdict == ✓* ]]; then
        verdict="$verdict with \`$option\`; without: ${plain#* }"
    else
        verdict=$plain
    fi
}

version_of() {
    local version=
    case $1 in
        doubletap) read -r version < <("$doubletap" --version) ;;
        chronic)
            # It does not know its own; ask those who may have installed it.
            version=$(dpkg-query -W -f='${Version}' moreutils 2>/dev/null) ||
                version=$(rpm -q --qf '%{VERSION}' moreutils 2>/dev/null) || version='?'
            version="chronic from moreutils $version"
            ;;
        *) read -r version < <("$1" --version) ;;
    esac
    echo "${version:-$1}"
}

package_of() {
    case $1 in
        flock) echo 'package util-linux' ;;
        bkt) echo '`cargo install bkt`' ;;
        chronic) echo 'package moreutils' ;;
        timeout) echo 'package coreutils' ;;
    esac
}

is_there() { [[ $1 == doubletap ]] || command -v "$1" >/dev/null; }

# Prints its words as a line of a table.
line() {
    printf '|'
    printf ' %s |' "$@"
    printf '\n'
}

describe() {
    local tool text
    text="$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr)"
    for tool in "$@"; do
        if is_there "$tool"; then
            text+=", $(version_of "$tool")"
        else
            text+=", $tool not installed ($(package_of "$tool"))"
        fi
    done
    printf '%s.\n\n' "$text"
}

# table TOOL…: prints it, and counts the verdicts on doubletap that are not good.
table() {
    local tool at heads=() rule='|---|' cells verdict
    not_good=0
    for tool in "$@"; do
        heads+=("$(head_of "$tool")")
        rule+='---|'
    done
    line situation "${heads[@]}"
    echo "$rule"
    for ((at = 0; at < ${#SITUATIONS_AND_NAMES[@]}; at += 2)); do
        cells=("${SITUATIONS_AND_NAMES[at + 1]}")
        for tool in "$@"; do
            verdict='not installed'
            if is_there "$tool"; then cell "$tool" "${SITUATIONS_AND_NAMES[at]}"; fi
            cells+=("$verdict")
            if [[ $tool == doubletap && $verdict != ✓* && $verdict != ◐* ]]; then not_good=$((not_good + 1)); fi
        done
        line "${cells[@]}"
    done
}

# The program to look at, whatever this repository is built into meanwhile.
find_doubletap() {
    local root found=${1-} build
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    [[ -n $found ]] || found=$(type -P doubletap)
    if [[ -z $found ]]; then
        for build in "${CARGO_TARGET_DIR:-$root/target}"/{,*/}release/doubletap; do
            if [[ -x $build && (-z $found || $build -nt $found) ]]; then found=$build; fi
        done
    fi
    if [[ -z $found ]]; then
        echo 'situations: no doubletap: name it, or `cargo build --locked --release`' >&2
        exit 2
    fi
    doubletap=$(realpath -- "$found") || exit 2
    # Where programs may not be run from temporary folders, the copy is no use.
    if cp -- "$doubletap" "$work/doubletap" && "$work/doubletap" --version >/dev/null 2>&1; then
        doubletap=$work/doubletap
    fi
    if ! "$doubletap" --version >/dev/null; then
        echo "situations: $found is no doubletap" >&2
        exit 2
    fi
}

main() {
    local check=no count=$((${#SITUATIONS_AND_NAMES[@]} / 2))
    if [[ ${1-} == --check ]]; then
        check=yes
        shift
    fi
    if (($# > 1)) || [[ ${1-} == -* ]]; then
        echo 'usage: situations.sh [--check] [DOUBLETAP]' >&2
        exit 2
    fi
    if ((BASH_VERSINFO[0] < 5)) || ! [[ -r /proc/self/environ ]]; then
        echo 'situations: needs Linux and bash 5' >&2
        exit 2
    fi
    work=$(mktemp -d) && work=$(realpath -- "$work") || exit 2
    trap clean_up EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    find_doubletap "${1-}"
    if [[ $check == no ]]; then
        describe "${TOOLS[@]}"
        table "${TOOLS[@]}"
    else
        describe doubletap
        table doubletap
        if ((not_good > 0)); then
            echo "situations: not the good verdict: $not_good of $count" >&2
            exit 1
        fi
    fi
}

main "$@"
