// Every regular expression takes linear time: a transcript is written by others, and one that keeps an expression busy for
// hours would stop all capture. Two checks of each: a static one (scslre), and texts made to be hard for it, timed.
import { analyse } from 'scslre'
import { describe, expect, it } from 'vitest'
import { builtBy, expressionsIn, type Found } from './support/expressions.ts'
import { superLinear, unitsOf } from './support/pumps.ts'

const DIGITS = 'the digits of one number'
const TYPED = 'a message about what was typed on the command line'
const PATTERN = 'a regular expression that its user typed to search with'

/** What may take longer, because what it is given is short, whoever wrote it. */
const ALLOWED: { file: string; source: string; why: string }[] = [
  { file: 'src/figures.ts', source: String.raw`\B(?=(\d{3})+$)`, why: DIGITS },
  { file: 'src/usage/money.ts', source: String.raw`\B(?=(\d{3})+$)`, why: DIGITS },
  { file: 'src/cli/help.ts', source: String.raw`\(Did you mean (.*?)\?\)`, why: TYPED },
  { file: 'src/cli/help.ts', source: String.raw`^(.*) Allowed choices are (.*)\.$`, why: TYPED },
  { file: 'src/query/wanted.ts', source: String.raw`\[(?:[^\]])*\]`, why: PATTERN },
  { file: 'src/query/wanted.ts', source: String.raw`\(.*\)`, why: PATTERN },
  { file: 'src/query/wanted.ts', source: String.raw`.(?:[*?]|\{[^}]*\})`, why: PATTERN },
]

/** Built while the program runs, from what only its user can write, or from a few words. */
const BUILT_LATER: Record<string, string> = {
  'src/config.ts': 'task_ref.patterns, to see whether it is an expression: used on the first 2,000 letters',
  'src/sources/task.ts': 'task_ref.patterns of the settings, used on the first 2,000 letters',
  'src/digest/metrics.ts': 'digest.buckets of the settings, used on names of tools',
  'src/adapters/claude/mcp.ts': 'the output of a program that the user runs, a line of it',
  'src/query/line.ts': 'the words of a query that its user typed',
  'src/query/meant.ts': 'a pattern of names that its user typed, used on names',
  'src/query/wanted.ts':
    'what its user typed to search bodies with: words and texts are escaped, --regex is the own risk of whoever types it',
  'src/export/ends-open.ts': 'a list of tags, nothing in it repeats',
  'src/redact/rules-providers.ts': 'the rules themselves, for the self-test of a redactor',
  'src/capture/settings.ts': 'a name of ours in a command of the settings, nothing in it repeats',
  'src/event/test-command.ts': 'the first 4,000 letters of a command, each name in it with a bound',
}

const { literals, built } = expressionsIn()
const isAllowed = (one: Found): boolean =>
  ALLOWED.some(({ file, source }) => file === one.file && source === one.source)
const told = (one: Found): string => `${one.file}:${one.line} /${one.source}/${one.flags}`

describe('regular expressions', () => {
  it('are linear by their structure', () => {
    const wrong = literals
      .filter((one) => !isAllowed(one))
      .flatMap((one) =>
        analyse({ source: one.source, flags: one.flags }, { maxReports: 1 }).reports.map(
          (report) => `${told(one)}: ${report.type}${report.exponential ? ', exponential' : ''}`,
        ),
      )
    expect(wrong).toEqual([])
  })

  it('are linear over the texts that are hardest for them', () => {
    const wrong = literals
      .filter((one) => !isAllowed(one))
      .flatMap((one) => {
        const text = superLinear(one)
        return text === undefined ? [] : [`${told(one)}: ${text}`]
      })
    expect(wrong).toEqual([])
  })

  it('are linear where they are built of parts', async () => {
    const here = built.filter(({ file }) => !Object.hasOwn(BUILT_LATER, file))
    expect(here.filter((one) => one.isLater)).toEqual([])
    const found = await builtBy(new Set(here.map((one) => one.file)))
    expect(found.length).toBeGreaterThanOrEqual(here.length)
    const wrong = found.flatMap((one) => {
      const text = superLinear(one)
      return text === undefined ? [] : [`${told(one)}: ${text}`]
    })
    expect(wrong).toEqual([])
  })

  it('are still there where the rule makes an exception', () => {
    const gone = ALLOWED.filter(
      (one) => !literals.some((it) => it.file === one.file && it.source === one.source),
    )
    expect(gone).toEqual([])
    expect(Object.keys(BUILT_LATER).filter((file) => !built.some((one) => one.file === file))).toEqual([])
  })

  it('that were seen to take minutes are found out', () => {
    const old = [
      String.raw`https?:\/\/[^\s"'<>()[\]]+?\/(?:pull|pulls|merge_requests|pull-requests)\/\d+`,
      String.raw`'[^']*'|"(?:[^"\\]|\\.)*"`,
      String.raw`\{.*?"message": ?"((?:[^"\\]|\\.)+)".*\}`,
      String.raw`\bgit\b[^|]*\b(?:commit|cherry-pick)\b`,
    ]
    for (const source of old) expect(superLinear({ source, flags: 'g' }), source).toBeDefined()
    expect(unitsOf({ source: 'plain', flags: '' })).toEqual([])
  })
})
