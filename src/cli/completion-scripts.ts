// The scripts that shells load for completions. What a shell is given comes from the memory, that is, from anybody: no
// script hands it to the shell to read again (no eval, no compgen -W, no Invoke-Expression, no -Q), and each takes only
// values of the letters below, whatever the program said. What was typed is handed on as it stands and never run.
import { SAFE_SIGNS } from './safe-value.ts'

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const
export type Shell = (typeof SHELLS)[number]

/** bash ends words at `=`, `:` and `@`, where recollect does not: they are put together again, and the reply is cut to
 *  fit: what stands before the last `=` or `:` stays in the line, but `@` is part of what is replaced. */
const BASH = `# bash completion for recollect
_recollect() {
    local at word value about before='' rest=$COMP_LINE words=()
    COMPREPLY=()
    for ((at = 0; at <= COMP_CWORD; at++)); do
        word=\${COMP_WORDS[at]}
        if [[ $at == 0 || $rest == [[:space:]]* ]]; then
            words+=('')
            rest=\${rest#"\${rest%%[![:space:]]*}"}
        fi
        before=\${words[\${#words[@]}-1]}
        [[ $word == *[!=:]* ]] || before+=$word
        words[\${#words[@]}-1]+=$word
        rest=\${rest#"$word"}
    done
    before=\${before%@}
    while IFS=$'\\t' read -r value about; do
        [[ -z $value || $value == *[!${SAFE_SIGNS}]* || $value == :* ]] && continue
        [[ $before == --*=* ]] && value=\${before%%=*}=$value
        [[ $value == "$before"* ]] && COMPREPLY+=("\${value#"$before"}")
    done < <(recollect complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _recollect recollect
`

/** zsh quotes what it inserts; descriptions are only shown. */
const ZSH = `#compdef recollect
# zsh completion for recollect
_recollect() {
    local line value
    local -a lines values shown
    lines=("\${(@f)$(recollect complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "\${lines[@]}"; do
        [[ $line == *$'\\t'* ]] || continue
        value=\${line%%$'\\t'*}
        [[ -z $value || $value == *[^${SAFE_SIGNS}]* ]] && continue
        values+=("$value")
        line=\${line#*$'\\t'}
        shown+=("$value\${line:+  -- $line}")
    done
    [[ $PREFIX == --*=* ]] && compset -P '*='
    compadd -l -d shown -a -- values
    return 0
}
compdef _recollect recollect
`

/** fish quotes what it inserts, and takes each line of a command as one value and its description. */
const FISH = `# fish completion for recollect
function __recollect_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -e typed[1]
    set -l flag (string match -r -- '^--[a-z-]+=' "$current")
    for line in (recollect complete -- $typed "$current" 2>/dev/null)
        string match -qr -- '^[${SAFE_SIGNS}]+\\t' $line; and echo -- "$flag$line"
    end
end
complete -c recollect -e
complete -c recollect -f -a '(__recollect_complete)'
`

/** PowerShell inserts what it is given: in quotes, but for the plainest words. It drops empty arguments, hence --next. */
const POWERSHELL = `# PowerShell completion for recollect
Register-ArgumentCompleter -Native -CommandName 'recollect' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $typed = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object {
            if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
        })
    $next = @()
    if ("$wordToComplete" -eq '') { $next = @('--next') }
    $flag = ''
    if ("$wordToComplete" -match '^(--[a-z-]+=)') { $flag = $Matches[1] }
    foreach ($line in @(& recollect complete @next '--' @typed 2>$null)) {
        $value, $about = "$line" -split "\`t", 2
        if ($null -eq $about -or $value -notmatch '^[${SAFE_SIGNS}]+\\z') { continue }
        $text = $flag + $value
        if ($text -notmatch '^[A-Za-z0-9_./=-]+\\z') { $text = "'" + $text.Replace("'", "''") + "'" }
        if ("$about" -eq '') { $about = $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', "$about")
    }
}
`

export const SCRIPTS: Record<Shell, string> = { bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL }
