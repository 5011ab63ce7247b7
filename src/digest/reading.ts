// Commands that only look: they can neither have broken a thing nor mended it, and "nothing found" is no failure of
// theirs. Read off the first line of the command; what cannot be told apart counts as doing something.
const LOOKS =
  /^(?:cat|bat|head|tail|less|more|nl|ls|ll|tree|find|fd|rg|grep|egrep|fgrep|ag|ack|wc|pwd|which|whereis|type|command -v|stat|file|du|df|ps|pgrep|env|printenv|date|whoami|uname|hostname|id|echo|printf|jq|yq|awk|cut|sort|uniq|tr|column|diff|cmp|xxd|hexdump|od|strings|readlink|realpath|basename|dirname|true|test|\[|sleep|git (?:--no-pager )?(?:status|diff|log|show|blame|branch(?: -\S+)*$|remote -v|rev-parse|ls-files|grep|stash list|describe|config --get)|gh (?:pr|issue|run|repo) (?:view|list|diff|checks)|sed -n|Get-Content|Get-ChildItem|Get-Item|Get-Location|Get-Command|Select-String|Test-Path|dir|gc|gci)\b/i
/** Goes before a command without being one. */
const BEFORE = /^(?:\w+=\S*|sudo|time|env|nice|command|\(|\{)\s+/
const WRITES = /(?:^|[^0-9&>=-])>{1,2}(?!\s*(?:\/dev\/null|&))|\btee\b|-exec\b|-delete\b|\bxargs\b|\bsed -i/

const partsOf = (command: string): string[] =>
  command
    .split(/&&|\|\||[;|\n]/)
    .map((part) => {
      let rest = part.trim()
      while (BEFORE.test(rest)) rest = rest.replace(BEFORE, '')
      return rest
    })
    .filter((part) => part !== '' && !/^(?:cd|pushd|popd|set)\b/.test(part))

/** The beginning of a text or of a program: what it does is told elsewhere, or not at all. */
const NO_COMMAND = /^(?:const|let|var|await|import|export)\b|^\P{L}*$/u

/** Whether nothing in it changes anything. */
export function isReading(command: string): boolean {
  if (NO_COMMAND.test(command)) return true
  const parts = partsOf(command)
  return parts.length > 0 && !WRITES.test(command) && parts.every((part) => LOOKS.test(part))
}

const ASKS =
  /^(?:rg|grep|egrep|fgrep|ag|ack|diff|cmp|which|command -v|type|pgrep|test|\[|git (?:diff|grep)|fd|find|ls)\b/

/** A search that found nothing says so by exit code 1 and no word. */
export const isAsking = (command: string): boolean => ASKS.test(partsOf(command).at(-1) ?? '')
