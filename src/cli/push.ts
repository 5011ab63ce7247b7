// `recollect push`: sends what is due to the team server, or prints what would be sent.
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { harmless } from '../export/text.ts'
import { type PushReport, preview, push } from '../fleet/push/index.ts'
import { EXIT } from './exit.ts'
import { plural } from './format.ts'
import { printFolded, tell, write } from './print.ts'

export async function runPush(options: { level?: string; dryRun?: boolean }): Promise<void> {
  const config = new Config(options.level === undefined ? {} : { flags: { 'push.level': options.level } })
  if (options.dryRun) {
    for (const { push: body, segments } of preview(config)) {
      const held = Object.fromEntries([...segments].map(([name, bytes]) => [name, bytes.toString('base64')]))
      write(`${JSON.stringify({ session: body, segments: held })}\n`)
    }
    return
  }
  if (config.get('push.url') === '')
    throw new RecollectError('BAD_CONFIG', 'no team server is set', {
      where: config.place('push.url'),
      hint: 'set push.url; docs/fleet.md',
    })
  const report = await push(config)
  if (!report) {
    tell('another push is under way\n')
    process.exitCode = EXIT.busy
    return
  }
  printFolded(
    `${plural(report.acknowledged, 'session')} acknowledged, ${report.pending} still to be sent, ${report.forgotten} forgotten`,
  )
  reportPush(report)
  if (report.problems.length > 0) process.exitCode = EXIT.failed
}

/** After a sweep it is a warning: what was asked for is done, and nothing is lost. */
export function reportPush(report: PushReport | undefined): void {
  for (const { message, code, where, hint } of report?.problems ?? [])
    tell(harmless(`warning: ${message} [${code}]\nwhere: ${where}\ntry: ${hint}\n`))
}
