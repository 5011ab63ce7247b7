// A command as every part of the program declares it: with what people ask for of many of them, said once.
import { Command, Option } from 'commander'
import { paint } from './colour.ts'

/** A line somebody would type; with what it is good for, in a few words. */
type Example = string | readonly [line: string, why: string]

export class OurCommand extends Command {
  override createCommand(name?: string): OurCommand {
    return new OurCommand(name)
  }

  /** Below the options: what they leave unsaid. */
  notes(text: string): this {
    return this.addHelpText('after', `\n${text}`)
  }

  /** Two or three lines, the last part of a declaration: shown in the help, the man page and docs/cli.md. */
  examples(...examples: Example[]): this {
    const list = examples.map((one) => (typeof one === 'string' ? ([one] as const) : one))
    return this.addHelpText('after', () => `\n${paint.bold('Examples:')}\n${exampleLines(list).join('\n')}`)
  }

  /** Of what prints a table; `what` of it, where it prints other things as well. */
  csv(what = '', otherwise: readonly string[] = []): this {
    const option = new Option('--csv', `${what}a table for a spreadsheet, with the fields of --json`)
    return this.addOption(option.conflicts(['json', ...otherwise]))
  }
}

/** The reason stands behind the line where there is room for it in 80 columns, else above. */
function exampleLines(list: readonly (readonly [line: string, why?: string])[]): string[] {
  const widest = Math.max(...list.map(([line]) => line.length))
  const isRoomy = list.every(([, why]) => widest + (why?.length ?? 0) + 8 <= 80)
  return list.flatMap(([line, why]) => {
    if (why === undefined) return [`  $ ${line}`]
    const reason = paint.dim(`# ${why}`)
    return isRoomy ? [`  $ ${line.padEnd(widest)}  ${reason}`] : [`  ${reason}`, `  $ ${line}`]
  })
}
